"""Qwen 3.5: the calls of Qwen 3 Coder."""

from ..style import Style

STYLE = Style(
    name="qwen_3_5",
    call="<tool_call>\n<function=${name}>\n${arguments}\n</function>\n</tool_call>",
    arguments="qwen_xml",
    between="\n",
    lead="\n\n",
    trigger="<tool_call>",
    reasoning="<think>${text}</think>\n\n",
)
