"""Kimi K2: numbered calls."""

from ..style import Style

STYLE = Style(
    name="kimi",
    section="<|tool_calls_section_begin|>${calls}<|tool_calls_section_end|>",
    call=("<|tool_call_begin|>functions.${name}:${index}<|tool_call_argument_begin|>${arguments}<|tool_call_end|>"),
    reasoning="<think>${text}</think>",
    excludes=("<|tool_call_begin|>",),
    not_in_names=":",
)
