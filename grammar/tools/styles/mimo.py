"""MiMo: the tags of Qwen 3 Coder without line breaks between them, and values as they are."""

from ..style import Style

STYLE = Style(
    name="mimo",
    call="<tool_call><function=${name}>${arguments}</function></tool_call>",
    arguments="mimo_xml",
    between="\n",
    trigger="<tool_call>",
    reasoning="<think>${text}</think>",
    excludes=("</tool_call>", "<function="),
)
