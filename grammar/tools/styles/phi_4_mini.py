"""Phi-4-mini: a JSON array of calls after `functools`."""

from ..style import Style

STYLE = Style(
    name="phi_4_mini",
    section="functools[${calls}]",
    call='{"name": "${name}", "arguments": ${arguments}}',
    between=", ",
)
