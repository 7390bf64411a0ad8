"""Conditions: what the terminals of one grammar demand of the text after them.

A condition says whether the text may end here, and for each next code point, which condition the text after that code
point must meet. So conditions are the states of a deterministic automaton. It has no loops, since a lookahead looks at
a bounded number of code points. Each condition is a number, and equal conditions have the same number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...earley.errors import LimitError
from . import codepoints
from .ast import Ranges

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...earley._regex import Regexes

MAX_CONDITIONS = 4096
"""The most different conditions of one grammar, in numbers. Beyond it, LimitError is raised while the grammar is
loaded."""

Definition = tuple[bool, tuple[tuple[Ranges, int], ...]]
"""What a number stands for: whether the text may end, and pairs of (code points, the condition after one of them). A
code point is in at most one pair. One that is in no pair does not meet the condition."""

NOTHING = 0
"""The condition that no text meets."""
ANYTHING = 1
"""The condition that every text meets."""


class Conditions:
    """The conditions of one grammar.

    `definitions[number - 2]` defines all numbers but NOTHING and ANYTHING. A definition refers to smaller numbers only.
    """

    def __init__(self, regexes: Regexes) -> None:
        self.regexes = regexes
        self.definitions: list[Definition] = []
        self.numbers: dict[tuple[Definition, bool], int] = {}
        self.strict: set[int] = set()
        """Conditions that demand more than any terminal, see `witnesses`. They keep numbers of their own."""
        self.intersections: dict[tuple[int, int], int] = {}
        self.reached: dict[int, dict[int, int]] = {}
        any_char = regexes.char_class(codepoints.ALL)
        self.anything = regexes.repeat(any_char, 0)
        self.something = regexes.concat([any_char, self.anything])

    def definition(self, number: int) -> Definition:
        if number < 2:
            return number == ANYTHING, ((codepoints.ALL, ANYTHING),) if number == ANYTHING else ()
        return self.definitions[number - 2]

    def is_strict(self, number: int) -> bool:
        return number in self.strict

    def make(self, end: bool, branches: Iterable[tuple[Ranges, int]], strict: bool = False) -> int:
        """Return the number of the condition with this definition; code points may come in any order."""
        pairs: dict[int, Ranges] = {}
        for ranges, after in branches:
            if after != NOTHING:
                pairs[after] = pairs.get(after, ()) + ranges
        definition = end, tuple(sorted([(codepoints.normalize(ranges), after) for after, ranges in pairs.items()]))
        for number in (NOTHING, ANYTHING):
            if definition == self.definition(number):
                return number
        number = self.numbers.get((definition, strict), 0)
        if not number:
            if len(self.definitions) == MAX_CONDITIONS:
                raise LimitError(
                    f"the terminals have more than {MAX_CONDITIONS} different demands on the text after them; "
                    "let terminals end in \\b or (?!...), so that one character decides"
                )
            self.definitions.append(definition)
            self.numbers[definition, strict] = number = 1 + len(self.definitions)
            if strict:
                self.strict.add(number)
        return number

    def read(self, definitions: tuple[Definition, ...]) -> list[int]:
        """Return the list of NOTHING, ANYTHING and the numbers of `definitions`, which refer to earlier entries of this
        list by their index in it."""
        numbers = [NOTHING, ANYTHING]
        for end, branches in definitions:
            numbers.append(self.make(end, [(ranges, numbers[after]) for ranges, after in branches]))
        return numbers

    def intersection(self, left: int, right: int) -> int:
        """Return the condition of the texts that meet both conditions."""
        if left == right or right == ANYTHING:
            return left
        if left == ANYTHING:
            return right
        key = min(left, right), max(left, right)
        known = self.intersections.get(key)
        if known is None:
            (end, branches), (other_end, others) = self.definition(left), self.definition(right)
            after = [
                (codepoints.intersection(ranges, other), self.intersection(this, that))
                for ranges, this in branches
                for other, that in others
            ]
            strict = self.is_strict(left) or self.is_strict(right)
            self.intersections[key] = known = self.make(end and other_end, [pair for pair in after if pair[0]], strict)
        return known

    def ways(self, number: int) -> list[tuple[int, int]]:
        """Return pairs of (condition, regex node): what is still demanded after one of the non-empty texts of the
        node."""
        if number == ANYTHING:
            return [(ANYTHING, self.something)]
        return [(after, texts) for after, texts in self.leading(number).items() if after != number]

    def leading(self, number: int) -> dict[int, int]:
        """Return, by condition, the texts after which it is still demanded, as a regex node. The empty text is one."""
        known = self.reached.get(number)
        if known is None:
            texts: dict[int, list[int]] = {}
            if number > ANYTHING:
                for ranges, after in self.definition(number)[1]:
                    first = self.regexes.char_class(ranges)
                    for last, rest in self.leading(after).items():
                        texts.setdefault(last, []).append(self.regexes.concat([first, rest]))
            known = {last: self.regexes.union(nodes) for last, nodes in texts.items()}
            known[number] = self.anything if number == ANYTHING else self.regexes.EPSILON
            self.reached[number] = known
        return known
