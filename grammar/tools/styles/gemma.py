"""Gemma 4: keys without quotes, strings between tokens of their own."""

from ..style import Style

STYLE = Style(
    name="gemma",
    call="<|tool_call>call:${name}{${arguments}}<tool_call|>",
    arguments="gemma",
    trigger="<|tool_call>",
    reasoning="<|channel>thought\n${text}<channel|>",
    excludes=("<tool_call|>",),
)
