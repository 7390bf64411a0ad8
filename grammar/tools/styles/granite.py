"""Granite 3: a JSON array of calls after a token."""

from ..style import Style

STYLE = Style(
    name="granite",
    section="<|tool_call|>[${calls}]",
    call='{"name": "${name}", "arguments": ${arguments}}',
    between=", ",
)
