"""FunctionGemma: the calls of Gemma 4 with other tokens."""

from ..style import Style

STYLE = Style(
    name="function_gemma",
    call="<start_function_call>call:${name}{${arguments}}<end_function_call>",
    arguments="function_gemma",
    trigger="<start_function_call>",
    excludes=("<end_function_call>",),
)
