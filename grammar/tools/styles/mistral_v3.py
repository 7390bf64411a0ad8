"""Mistral with tokenizers of versions 3 to 7: a JSON array of calls."""

from ..style import Style

STYLE = Style(
    name="mistral_v3",
    section="[TOOL_CALLS] [${calls}]",
    call='{"name": "${name}", "arguments": ${arguments}}',
    between=", ",
)
