"""What callers hand over where a grammar and a vocabulary are needed, checked at the door.

A wrong object would otherwise come to light layers below, as an attribute that it lacks.
"""

from __future__ import annotations

from .grammar import Grammar
from .trie import Vocabulary


def as_grammar(grammar: object) -> Grammar:
    """A `Grammar`, made from Lark text where it is not one yet."""
    if isinstance(grammar, Grammar):
        return grammar
    if isinstance(grammar, str):
        return Grammar.from_lark(grammar)
    hint = "; decode the text first" if isinstance(grammar, bytes | bytearray) else ""
    raise TypeError(f"grammar must be Lark text (a str) or a Grammar, not {type(grammar).__name__}{hint}")


def as_vocabulary(vocabulary: object) -> Vocabulary:
    """The same object, if it is a `Vocabulary`."""
    if isinstance(vocabulary, Vocabulary):
        return vocabulary
    raise TypeError(
        f"vocabulary must be a Vocabulary, not {type(vocabulary).__name__}; make one with "
        "Vocabulary.from_transformers(tokenizer) or another of its from_... methods"
    )
