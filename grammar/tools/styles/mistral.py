"""Mistral with tokenizers of version 11 and later: the name, then the arguments."""

from ..style import Style

STYLE = Style(
    name="mistral",
    call="[TOOL_CALLS]${name}[ARGS]${arguments}",
    reasoning="[THINK]${text}[/THINK]",
    excludes=("[ARGS]",),
)
