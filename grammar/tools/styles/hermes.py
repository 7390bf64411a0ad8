"""Hermes 2 and 3, Qwen 2.5 and many models that follow them: a JSON object in tags."""

from ..style import Style

STYLE = Style(
    name="hermes",
    call=(
        '<tool_call>\n{"name": "${name}", "arguments": ${arguments}}\n</tool_call>',
        '<tool_call>{"name": "${name}", "arguments": ${arguments}}</tool_call>',
    ),
    between="\n",
    lead="\n",
    trigger="<tool_call>",
    reasoning="<think>${text}</think>\n\n",
)
