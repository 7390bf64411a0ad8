"""Jamba: a JSON array of calls in tags."""

from ..style import Style

STYLE = Style(
    name="jamba",
    section="<tool_calls>[\n    ${calls}\n]</tool_calls>",
    call='{"name": "${name}", "arguments": ${arguments}}',
    between=",\n    ",
)
