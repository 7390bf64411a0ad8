"""Qwen 3: the calls of Hermes, after reasoning that ends in an empty line."""

from ..style import Style

STYLE = Style(
    name="qwen_3",
    call='<tool_call>\n{"name": "${name}", "arguments": ${arguments}}\n</tool_call>',
    between="\n",
    lead="\n",
    trigger="<tool_call>",
    reasoning="<think>${text}</think>\n\n",
)
