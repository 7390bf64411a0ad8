"""Qwen 3 Coder: a tag for each parameter, with the value on lines of its own."""

from ..style import Style

STYLE = Style(
    name="qwen_3_coder",
    call="<tool_call>\n<function=${name}>\n${arguments}\n</function>\n</tool_call>",
    arguments="qwen_xml",
    between="\n",
    lead="\n",
    trigger="<tool_call>",
    reasoning="<think>${text}</think>\n\n",
)
