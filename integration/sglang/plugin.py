"""What SGLang calls in each of its processes: the entry point `earleymask` of `sglang.srt.plugins`.

It adds a choice to `--grammar-backend` and does nothing else. SGLang logs errors of a plugin and goes on, so the
version is checked when the backend is made. That affects only servers that have chosen earleymask.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection

    from sglang.srt.constrained.base_grammar_backend import BaseGrammarBackend

__all__ = ["KNOWN_VERSIONS", "NAME", "make_backend", "register"]

KNOWN_VERSIONS = ("0.5.23",)
"""Versions of SGLang in which the adapter has run."""

NAME = "earleymask"


def register() -> None:
    """Add `earleymask` to the choices of `--grammar-backend`."""
    from sglang.srt.constrained.base_grammar_backend import register_grammar_backend
    from sglang.srt.server_args import GRAMMAR_BACKEND_CHOICES, add_grammar_backend_choices

    register_grammar_backend(NAME, make_backend)
    if NAME not in GRAMMAR_BACKEND_CHOICES:
        add_grammar_backend_choices([NAME])


def make_backend(
    server_args: Any, tokenizer: Any, vocab_size: int, eos_token_ids: Collection[int] | None = None
) -> BaseGrammarBackend:
    """Make the backend of a scheduler, with SGLang's wrapper for reasoning around it if a parser for that is set.

    Raises RuntimeError for a version of SGLang that is not known; ValueError for a tokenizer that cannot be read.
    """
    import sglang

    version = sglang.__version__.partition("+")[0]
    if version not in KNOWN_VERSIONS:
        raise RuntimeError(
            f"--grammar-backend {NAME}: this is SGLang {sglang.__version__}, and this version of earleymask knows "
            f"{', '.join(KNOWN_VERSIONS)}; install one of these, or another earleymask, or choose another backend"
        )
    from sglang.srt.runtime_context import get_serving

    from .backend import make_backend

    return make_backend(get_serving(), tokenizer, vocab_size, eos_token_ids)
