"""Which style of tool calls a chat template has, by texts that stand in it."""

from __future__ import annotations

GUESSES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("harmony", ("<|channel|>", "commentary")),
    ("deepseek_v3_2", ("｜DSML｜function_calls",)),
    ("deepseek_v4", ("｜DSML｜tool_calls",)),
    ("deepseek_v4_1", ("｜DSML｜ calls",)),
    ("deepseek_r1", ("<｜tool▁sep｜>", "```json")),
    ("deepseek_v3_1", ("<｜tool▁sep｜>",)),
    ("kimi_k3", ("<|open|>call",)),
    ("kimi", ("<|tool_calls_section_begin|>",)),
    ("minimax_m3", ("]<]minimax[>[",)),
    ("minimax", ("<minimax:tool_call>",)),
    ("seed_oss", ("<seed:tool_call>",)),
    ("longcat", ("<longcat_tool_call>",)),
    ("cohere", ("<cofl:tool_call",)),
    ("command_a", ("<|START_ACTION|>",)),
    ("glm_4_7", ("<arg_key>",)),
    ("mimo", ("<tool_call><function=",)),
    ("qwen_3_5", ("<function=", "<tool_call>", "<think>")),
    ("qwen_3_coder", ("<function=", "<tool_call>")),
    ("exaone", ('<tool_call>{"name"',)),
    ("qwen_3", ("<tool_call>", "<think>")),
    ("hermes", ("<tool_call>",)),
    ("function_gemma", ("<start_function_call>",)),
    ("gemma", ("<|tool_call>",)),
    ("mistral", ("[TOOL_CALLS]", "[ARGS]")),
    ("mistral_v3", ("[TOOL_CALLS]",)),
    ("phi_4_mini", ("functools[",)),
    ("phi_4", ("<|tool_call|>", "<|/tool_call|>")),
    ("granite", ("<|tool_call|>",)),
    ("jamba", ("<tool_calls>",)),
    ("llama", ("<|start_header_id|>", "parameters")),
)
"""Styles and the texts that a template has if it writes calls in this style; the first that fits is taken."""


def guessed_style(template: str) -> str:
    """Return the name of the style that a chat template seems to have; "hermes" if it shows none."""
    for style, texts in GUESSES:
        if all([text in template for text in texts]):
            return style
    return "hermes"
