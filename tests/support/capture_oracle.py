"""Captures by enumeration: every reading of a short text, the first of them in the order of `docs/extensions.md`.

Slow, for tests alone. A grammar is a dict from names of rules to alternatives: tuples of names, and of patterns in
slashes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

Capture = tuple[int, int, str]  # begin, minus end, name
Captures = tuple[Capture, ...]  # of one reading, sorted
Part = tuple[int, int, Captures]  # where the first lexeme begins and the last one ends (-1: there is none)
Rules = Mapping[str, Sequence[tuple[str, ...]]]

LETTERS = "ab "


def lark_text(rules: Rules, captured: set[str], ignored: str) -> str:
    lines = [
        f"{name}{'[capture]' if name in captured else ''}: {' | '.join(' '.join(rhs) for rhs in alternatives)}"
        for name, alternatives in rules.items()
    ]
    return "\n".join(lines + ([f"%ignore {ignored}"] if ignored else []))


class Oracle:
    def __init__(self, rules: Rules, captured: set[str], ignored: str, text: str) -> None:
        self.rules = productive(rules)
        self.captured = captured
        self.ignored = re.compile(f"(?:{ignored[1:-1]})*" if ignored else "")
        self.text = text

    def captures(self) -> list[tuple[str, bytes]] | None:
        """Return the captures that a matcher must report; None if the text is no viable prefix."""
        n = len(self.text)
        readings = {
            part[2]
            for end in range(n + 1)
            if self.ignored.fullmatch(self.text, end)
            for part in self.whole("start", 0, end, frozenset())
        }
        for lexeme_under_way in (True, False):
            readings = readings or set(self.begun("start", 0, lexeme_under_way, frozenset()))
        if not readings:
            return None
        return [(name, self.text[begin:-end].encode()) for begin, end, name in min(readings, key=Order)]

    def whole(self, symbol: str, begin: int, end: int, within: frozenset[object]) -> set[Part]:
        """Return all ways in which `symbol` derives a part of the text, with the ignored text before its lexemes."""
        if symbol[0] == "/":
            return {
                (start, end, ())
                for start in range(begin, end)
                if self.ignored.fullmatch(self.text, begin, start)
                if re.compile(symbol[1:-1]).fullmatch(self.text, start, end)
            }
        node = (symbol, begin, end)
        if node in within:  # a rule that contains itself over the same text adds no new captures
            return set()
        found = set()
        for rhs in self.rules[symbol]:
            for first, last, captures in self.sequence(rhs, begin, end, within | {node}):
                if symbol in self.captured:
                    here = (first, -last, symbol) if first >= 0 else (begin, -begin, symbol)
                    captures = tuple(sorted((*captures, here)))
                found.add((first, last, captures))
        return found

    def sequence(self, rhs: tuple[str, ...], begin: int, end: int, within: frozenset[object]) -> Iterator[Part]:
        if not rhs:
            if begin == end:
                yield (-1, -1, ())
            return
        for middle in range(begin, end + 1):
            for first, last, captures in self.whole(rhs[0], begin, middle, within):
                for next_first, next_last, more in self.sequence(rhs[1:], middle, end, within):
                    yield (
                        first if first >= 0 else next_first,
                        max(last, next_last),
                        tuple(sorted(captures + more)),
                    )

    def begun(self, symbol: str, begin: int, lexeme_under_way: bool, within: frozenset[object]) -> set[Captures]:
        """Return all ways in which the text from `begin` on is the beginning of a text of `symbol`."""
        n = len(self.text)
        if symbol[0] == "/":
            if not lexeme_under_way:
                return {()} if self.ignored.fullmatch(self.text, begin) else set()
            for start in range(begin, n):
                if self.ignored.fullmatch(self.text, begin, start) and self.goes_on(symbol[1:-1], self.text[start:]):
                    return {()}
            return set()
        if (symbol, begin) in within:
            return set()
        found = set()
        for rhs in self.rules[symbol]:
            for i, part in enumerate(rhs):
                for middle in range(begin, n + 1):
                    before = {each[2] for each in self.sequence(rhs[:i], begin, middle, frozenset())}
                    if before:
                        inner = within | {(symbol, begin)} if middle == begin else frozenset()
                        for captures in self.begun(part, middle, lexeme_under_way, inner):
                            found |= {tuple(sorted(each + captures)) for each in before}
        return found

    def goes_on(self, pattern: str, text: str) -> bool:
        """Return whether the pattern matches a longer text that begins with this one."""
        more = [""]
        for _ in range(3):
            more = [each + letter for each in more for letter in LETTERS]
            if any(re.fullmatch(pattern, text + each) for each in more):
                return True
        return False


def productive(rules: Rules) -> Rules:
    """Drop the alternatives that derive no text."""
    known: set[str] = set()
    for _ in rules:
        known |= {name for name, alternatives in rules.items() if any(is_made_of(rhs, known) for rhs in alternatives)}
    return {name: [rhs for rhs in alternatives if is_made_of(rhs, known)] for name, alternatives in rules.items()}


def is_made_of(rhs: tuple[str, ...], names: set[str]) -> bool:
    return all(part[0] == "/" or part in names for part in rhs)


class Order:
    """A key by which the captures to be reported are the least."""

    def __init__(self, captures: Captures) -> None:
        self.found = [each for each in captures if each[0] < -each[1]]
        self.empty = [each for each in captures if each[0] == -each[1]]

    def __lt__(self, other: Order) -> bool:
        for left, right in zip(self.found, other.found, strict=False):
            if left != right:
                return left < right
        if len(self.found) != len(other.found):
            return len(self.found) > len(other.found)
        if len(self.empty) != len(other.empty):
            return len(self.empty) < len(other.empty)
        return self.empty < other.empty
