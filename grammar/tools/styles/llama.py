"""Llama 3.1 to 3.3: a JSON object in the midst of the text."""

from ..style import Style

STYLE = Style(
    name="llama",
    call='{"name": "${name}", "parameters": ${arguments}}',
    between="; ",
    trigger='{"name": ',
    reasoning="<think>${text}</think>",
)
