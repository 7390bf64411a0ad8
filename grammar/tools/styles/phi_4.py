"""Phi-4-mini as its chat template has it: a JSON array of calls in tags."""

from ..style import Style

STYLE = Style(
    name="phi_4",
    section="<|tool_call|>[${calls}]<|/tool_call|>",
    call='{"name": "${name}", "arguments": ${arguments}}',
    between=", ",
)
