"""Smaller versions of a text, list, pattern, tree or grammar; those that lack most come first.

`campaign.cases.shrunk` tries them one after the other. A smaller version need not make sense: if neither side loads it,
it is skipped.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any


def fewer(items: list[Any]) -> Iterator[list[Any]]:
    """Yield the list without one run of items, halves first (Zeller and Hildebrandt 2002, delta debugging)."""
    length = (len(items) + 1) // 2
    while length:
        for i in range(0, len(items), length):
            yield items[:i] + items[i + length :]
        length = length // 2 if length > 1 else 0


def shorter(text: str) -> Iterator[str]:
    """Yield the text without one stretch, long ones first."""
    length = len(text)
    while length:
        for i in range(len(text) - length + 1):
            yield text[:i] + text[i + length :]
        length //= 2


def smaller_patterns(pattern: str) -> Iterator[str]:
    """Yield the pattern without one stretch of characters, if `re` still compiles it."""
    for length in (16, 8, 4, 2, 1):
        for i in range(len(pattern) - length + 1):
            candidate = pattern[:i] + pattern[i + length :]
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error")  # `re` warns of a pattern that may change its meaning
                    re.compile(candidate)
            except (re.error, FutureWarning):
                continue
            if candidate:
                yield candidate


def smaller_trees(tree: list[Any]) -> Iterator[list[Any]]:
    """Yield smaller versions of `[kind, part, ...]`, where a part that is a list is a tree.

    They are each subtree alone, the tree without one part, and the tree with one subtree, or its pattern, made smaller.
    """
    kind, *parts = tree
    yield from (part for part in parts if isinstance(part, list))
    if kind == "re":
        yield from (["re", pattern] for pattern in smaller_patterns(parts[0]))
    if kind in ("and", "or", "cat") and len(parts) > 1:
        yield from ([kind, *parts[:i], *parts[i + 1 :]] for i in range(len(parts)))
    for i, part in enumerate(parts):
        if isinstance(part, list):
            yield from ([kind, *parts[:i], less, *parts[i + 1 :]] for less in smaller_trees(part))


def smaller_grammar_texts(text: str) -> Iterator[str]:
    """Yield a grammar's text without some lines, alternatives or words, which both syntaxes separate alike."""
    for separator in ("\n", "|", " "):
        pieces = text.split(separator)
        if len(pieces) > 1:
            yield from (separator.join(kept) for kept in fewer(pieces))
