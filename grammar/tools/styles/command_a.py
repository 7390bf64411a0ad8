"""Cohere's Command R7B and Command A: a JSON array of actions, or an answer."""

from ..style import Style

STYLE = Style(
    name="command_a",
    section="<|START_ACTION|>[\n    ${calls}\n]<|END_ACTION|>",
    call='{"tool_call_id": "${index}", "tool_name": "${name}", "parameters": ${arguments}}',
    between=",\n    ",
    reasoning="<|START_THINKING|>${text}<|END_THINKING|>",
    content="<|START_RESPONSE|>${text}<|END_RESPONSE|>",
    layout="either",
    excludes=("<|START_RESPONSE|>", "<|END_RESPONSE|>"),
)
