"""Grammars whose terminals look at the text after them, by definition: `re` with the whole text in view."""

from __future__ import annotations

import itertools
import re
import warnings
from functools import lru_cache


class Definition:
    """The meaning of a grammar with such terminals, by brute force: all ways to cut a text into lexemes are tried, and
    a lexeme counts if `re` matches it there with the whole rest of the text in view.

    `rules`: name -> alternatives of symbols; a symbol that is no name is the regexp of a terminal.
    """

    def __init__(self, rules: dict[str, list[list[str]]], ignored: list[str]) -> None:
        self.rules = rules
        self.ignored = ignored

    def lexeme(self, pattern: str, text: str, begin: int, end: int) -> bool:
        return compiled(pattern, len(text) - end).match(text, begin) is not None

    def accepts(self, text: str) -> bool:
        n = len(text)
        skips = [{i} for i in range(n + 1)]  # the places at which ignored text that begins at i may end
        for i in reversed(range(n)):
            for j in range(i + 1, n + 1):
                if any(self.lexeme(pattern, text, i, j) for pattern in self.ignored):
                    skips[i] |= skips[j]
        ends: dict[tuple[str, int], set[int]] = {}
        patterns = {part for rules in self.rules.values() for rule in rules for part in rule if part not in self.rules}
        for pattern, i in itertools.product(patterns, range(n + 1)):
            ends[pattern, i] = set()
            for begin in skips[i]:  # even an empty lexeme may follow ignored text
                ends[pattern, i] |= {j for j in range(begin, n + 1) if self.lexeme(pattern, text, begin, j)}
        changed = True
        while changed:
            changed = False
            for (name, rules), i in itertools.product(self.rules.items(), range(n + 1)):
                known = ends.setdefault((name, i), set())
                before = len(known)
                for rule in rules:
                    places = {i}
                    for part in rule:
                        places = {end for place in places for end in ends.get((part, place), ())}
                    known |= places
                changed |= len(known) > before
        return any(n in skips[end] for end in ends["start", 0])

    def text(self) -> str:
        def shown(part: str) -> str:
            return part if part in self.rules else f"/{part}/"

        lines = [
            f"{name}: {' | '.join(' '.join(map(shown, rule)) for rule in rules)}" for name, rules in self.rules.items()
        ]
        return "\n".join([*lines, *(f"%ignore /{pattern}/" for pattern in self.ignored)])


@lru_cache(maxsize=4096)
def compiled(pattern: str, left: int) -> re.Pattern[str]:
    """Return the regexp of those texts of `pattern` after which `left` characters are left."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return re.compile(rf"(?:{pattern})(?=(?s:.{{{left}}})\Z)")
