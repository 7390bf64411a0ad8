"""Exaone 4: a JSON object in tags, on one line."""

from ..style import Style

STYLE = Style(
    name="exaone",
    call='<tool_call>{"name": "${name}", "arguments": ${arguments}}</tool_call>',
    between="\n",
    lead="\n",
    trigger="<tool_call>",
    reasoning="<think>${text}</think>\n\n",
)
