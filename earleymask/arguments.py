"""Checks of the grammar and the vocabulary that a caller gives.

Without them, a wrong object would fail in a lower layer, as a missing attribute.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TypeGuard

from .grammar import Grammar
from .trie import Vocabulary

if TYPE_CHECKING:
    import lark


def as_grammar(grammar: object) -> Grammar:
    """Return a `Grammar`: the object itself, or one made from Lark text or a `lark.Lark`."""
    if isinstance(grammar, Grammar):
        return grammar
    if isinstance(grammar, str) or _is_lark(grammar):
        return Grammar.from_lark(grammar)
    hint = "; decode the text first" if isinstance(grammar, bytes | bytearray) else ""
    raise TypeError(f"grammar must be Lark text (a str), a lark.Lark or a Grammar, not {type(grammar).__name__}{hint}")


def _is_lark(value: object) -> TypeGuard[lark.Lark]:
    """Tell whether a value is a `lark.Lark`. No caller can have one before lark is imported."""
    package = sys.modules.get("lark")
    return package is not None and isinstance(value, package.Lark)


def as_vocabulary(vocabulary: object) -> Vocabulary:
    """Return the object itself if it is a `Vocabulary`."""
    if isinstance(vocabulary, Vocabulary):
        return vocabulary
    raise TypeError(
        f"vocabulary must be a Vocabulary, not {type(vocabulary).__name__}; make one with "
        "Vocabulary.from_transformers(tokenizer) or another of its from_... methods"
    )
