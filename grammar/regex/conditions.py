"""Conditions on how the text goes on, as numbers: what the terminals of one grammar ask of what follows them.

A condition says whether the text may end and, by its next code point, which condition the text after that has to meet:
a deterministic automaton without loops, for a lookahead looks at boundedly many code points. Equal ones are one number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...earley.errors import LimitError
from . import codepoints
from .ast import Ranges

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...earley._regex import Regexes

MAX_CONDITIONS = 4096

Row = tuple[bool, tuple[tuple[Ranges, int], ...]]
"""Whether the text may end; the condition after a next code point. No code point stands twice; others are refused."""

NOTHING = 0
"""What no text meets."""
ANYTHING = 1
"""What every text meets."""


class Conditions:
    """The conditions of one grammar; `rows[number - 2]` are all but NOTHING and ANYTHING, after those they refer to."""

    def __init__(self, regexes: Regexes) -> None:
        self.regexes = regexes
        self.rows: list[Row] = []
        self.numbers: dict[Row, int] = {}
        self.joined: dict[tuple[int, int], int] = {}
        self.reached: dict[int, dict[int, int]] = {}
        any_char = regexes.char_class(codepoints.ALL)
        self.anything = regexes.repeat(any_char, 0)
        self.something = regexes.concat([any_char, self.anything])

    def row(self, number: int) -> Row:
        if number < 2:
            return number == ANYTHING, ((codepoints.ALL, ANYTHING),) if number == ANYTHING else ()
        return self.rows[number - 2]

    def make(self, end: bool, branches: Iterable[tuple[Ranges, int]]) -> int:
        """The number of a condition, by what a Row says."""
        pairs: dict[int, Ranges] = {}
        for ranges, after in branches:
            if after != NOTHING:
                pairs[after] = pairs.get(after, ()) + ranges
        row = end, tuple(sorted([(codepoints.normalize(ranges), after) for after, ranges in pairs.items()]))
        for number in (NOTHING, ANYTHING):
            if row == self.row(number):
                return number
        number = self.numbers.get(row, 0)
        if not number:
            if len(self.rows) == MAX_CONDITIONS:
                raise LimitError(
                    f"terminals ask for more than {MAX_CONDITIONS} different things of the text after them; "
                    "let them end in \\b or (?!...) so that one character decides"
                )
            self.rows.append(row)
            self.numbers[row] = number = 1 + len(self.rows)
        return number

    def read(self, rows: tuple[Row, ...]) -> list[int]:
        """The numbers of NOTHING, ANYTHING and conditions that refer to each other by their place in this very list."""
        numbers = [NOTHING, ANYTHING]
        for end, branches in rows:
            numbers.append(self.make(end, [(ranges, numbers[after]) for ranges, after in branches]))
        return numbers

    def both(self, left: int, right: int) -> int:
        """The condition that is met where both are."""
        if left == right or right == ANYTHING:
            return left
        if left == ANYTHING:
            return right
        key = min(left, right), max(left, right)
        known = self.joined.get(key)
        if known is None:
            (end, branches), (other_end, others) = self.row(left), self.row(right)
            after = [
                (codepoints.intersection(ranges, other), self.both(this, that))
                for ranges, this in branches
                for other, that in others
            ]
            self.joined[key] = known = self.make(end and other_end, [pair for pair in after if pair[0]])
        return known

    def ways(self, number: int) -> list[tuple[int, int]]:
        """(a condition that is left, the texts that leave it): texts that are not empty, as regex nodes."""
        if number == ANYTHING:
            return [(ANYTHING, self.something)]
        return [(after, texts) for after, texts in self.leading(number).items() if after != number]

    def leading(self, number: int) -> dict[int, int]:
        """The texts that lead from a condition to each that may be left."""
        known = self.reached.get(number)
        if known is None:
            texts: dict[int, list[int]] = {}
            if number > ANYTHING:
                for ranges, after in self.row(number)[1]:
                    first = self.regexes.char_class(ranges)
                    for last, rest in self.leading(after).items():
                        texts.setdefault(last, []).append(self.regexes.concat([first, rest]))
            known = {last: self.regexes.union(nodes) for last, nodes in texts.items()}
            known[number] = self.anything if number == ANYTHING else self.regexes.EPSILON
            self.reached[number] = known
        return known
