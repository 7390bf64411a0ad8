"""Cohere's models with `cofl` tags: a tag for each value, with its type."""

from ..style import Style

STYLE = Style(
    name="cohere",
    section="<cofl:tool_calls>${calls}</cofl:tool_calls>",
    call='<cofl:tool_call id="${index}" name="${name}">${arguments}</cofl:tool_call>',
    arguments="cohere_xml",
    reasoning="<|START_THINKING|>${text}<|END_THINKING|>",
)
