"""What callers hand over where a grammar and a vocabulary are needed, checked at the door.

A wrong object would otherwise come to light layers below, as an attribute that it lacks.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TypeGuard

from .grammar import Grammar
from .trie import Vocabulary

if TYPE_CHECKING:
    import lark


def as_grammar(grammar: object) -> Grammar:
    """A `Grammar`, made from Lark text or a `lark.Lark` where it is not one yet."""
    if isinstance(grammar, Grammar):
        return grammar
    if isinstance(grammar, str) or _is_lark(grammar):
        return Grammar.from_lark(grammar)
    hint = "; decode the text first" if isinstance(grammar, bytes | bytearray) else ""
    raise TypeError(f"grammar must be Lark text (a str), a lark.Lark or a Grammar, not {type(grammar).__name__}{hint}")


def _is_lark(value: object) -> TypeGuard[lark.Lark]:
    """Whether it is a `lark.Lark`. Nobody has one before the package is imported."""
    package = sys.modules.get("lark")
    return package is not None and isinstance(value, package.Lark)


def as_vocabulary(vocabulary: object) -> Vocabulary:
    """The same object, if it is a `Vocabulary`."""
    if isinstance(vocabulary, Vocabulary):
        return vocabulary
    raise TypeError(
        f"vocabulary must be a Vocabulary, not {type(vocabulary).__name__}; make one with "
        "Vocabulary.from_transformers(tokenizer) or another of its from_... methods"
    )
