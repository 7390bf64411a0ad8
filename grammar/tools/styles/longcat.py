"""LongCat: the calls of Hermes in tags of another name."""

from ..style import Style

STYLE = Style(
    name="longcat",
    call='<longcat_tool_call>\n{"name": "${name}", "arguments": ${arguments}}\n</longcat_tool_call>',
    between="\n",
    lead="\n",
    trigger="<longcat_tool_call>",
    reasoning="<longcat_think>${text}</longcat_think>",
)
