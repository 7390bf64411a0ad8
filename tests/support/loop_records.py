"""What the adapters and their tests rely on in `outlines`, `mlx_lm` and onnxruntime-genai: names, and parameters.

The test suite compares its stand-ins with the record, and the programs that run the adapters in the real packages
compare the record with these.
"""

from __future__ import annotations

import importlib
import inspect
from typing import Any

OTHERS = "**"
"""Any further named arguments."""

RECORD: dict[str, dict[str, tuple[str, ...] | None]] = {
    "outlines": {
        "outlines.generator:SteerableGenerator.__call__": ("self", "prompt", OTHERS),
        "outlines.generator:SteerableGenerator.batch": ("self", "prompts", OTHERS),
        "outlines.generator:SteerableGenerator.stream": ("self", "prompt", OTHERS),
        "outlines.generator:Generator": ("model", "output_type", "backend", "processor"),
    },
    "mlx_lm": {
        "mlx.core:array": None,
        "mlx.core:where": None,
        "mlx_lm.tokenizer_utils:TokenizerWrapper.eos_token_ids": None,
        "mlx_lm.generate:stream_generate": (
            *("model", "tokenizer", "prompt", "max_tokens", "draft_model", "stream"),
            OTHERS,
        ),
        "mlx_lm.generate:BatchGenerator.insert": (
            *("self", "prompts", "max_tokens", "caches", "all_tokens", "samplers"),
            *("logits_processors", "stop_sequences"),
        ),
    },
    "onnxruntime_genai": {
        f"onnxruntime_genai:Generator.{name}": None
        for name in (
            *("append_tokens", "generate_next_token", "get_logits", "get_sequence", "is_done", "rewind_to"),
            *("set_logits", "token_count"),
        )
    },
}
"""By package, the parameters of each function, or None for what has no signature."""


def find(path: str) -> Any:
    module, _, names = path.partition(":")
    found: Any = importlib.import_module(module)
    for name in names.split("."):
        found = getattr(found, name)
    return found


def parameters(function: Any) -> tuple[str, ...]:
    """Return the names of the parameters of a function."""
    return tuple(
        [
            OTHERS if each.kind is each.VAR_KEYWORD else each.name
            for each in inspect.signature(function).parameters.values()
        ]
    )


def check_record(package: str) -> None:
    """Raise AssertionError if an installed package differs from its record, or AttributeError if it lacks a name."""
    for path, recorded in RECORD[package].items():
        found = find(path)
        assert recorded is None or parameters(found) == recorded, f"{path}: {parameters(found)}, recorded: {recorded}"
