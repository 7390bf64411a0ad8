"""What loading remembers of numbers and classes stays small, whatever numbers and classes come."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable

import pytest

from earleymask import Grammar
from earleymask.grammar.kept import kept_by_weight
from earleymask.grammar.regex.cells import divided


def test_results_are_remembered() -> None:
    made: list[int] = []

    @kept_by_weight(12, lambda number: number)
    def negative(number: int) -> int:
        made.append(number)
        return -number

    assert [negative(number) for number in (1, 2, 3, 2, 1)] == [-1, -2, -3, -2, -1]
    assert made == [1, 2, 3]
    assert [negative(4), negative(4)] == [-4, -4]
    assert made == [1, 2, 3, 4, 4]  # what weighs more than a quarter of 12 is not remembered


def test_the_oldest_results_are_dropped_first() -> None:
    made: list[str] = []

    @kept_by_weight(8, lambda text: 2)
    def upper(text: str) -> str:
        made.append(text)
        return text.upper()

    assert [upper(text) for text in "abcde"] == list("ABCDE")
    assert upper("e") == "E" and upper("b") == "B" and len(made) == 5
    assert upper("a") == "A" and len(made) == 6  # dropped when "e" came
    assert upper("b") == "B" and len(made) == 7  # dropped when "a" came again


def test_a_finalizer_may_call_while_results_are_dropped() -> None:
    @kept_by_weight(1000, lambda number: 1)
    def negative(number: int) -> int:
        return -number

    class Circle:
        """Is finalized by the garbage collector, at any allocation."""

        def __init__(self, number: int) -> None:
            self.number = number
            self.circle = self

        def __del__(self) -> None:
            assert negative(self.number) == -self.number

    thresholds = gc.get_threshold()
    gc.set_threshold(50, 2, 2)
    try:
        for number in range(1, 500):
            Circle(10_000 + number)
            assert negative(number) == -number
    finally:
        gc.set_threshold(*thresholds)


def test_few_divisions_of_short_classes_are_remembered() -> None:
    """What a division takes is more than its ranges, and each new one visits all that are remembered."""
    for first in range(3000):
        divided((((first, first),), ((first + 1, first + 0x8000),)))
    assert len(divided.results) < 1000


LOADS: dict[str, Callable[[int], Grammar]] = {
    "multiples": lambda n: Grammar.from_json_schema({"type": "integer", "multipleOf": 600 + n}),
    "multiples between bounds": lambda n: Grammar.from_json_schema(
        {"type": "integer", "multipleOf": 100 + n, "minimum": 0, "maximum": 10**9 + n}
    ),
    "listed numbers": lambda n: Grammar.from_json_schema(
        {"allOf": [{"enum": list(range(0, 2000 * (n + 1), n + 1))}, {"type": "number", "minimum": 5}]}
    ),
    "classes": lambda n: Grammar.from_regex(
        "".join(rf"[\w{chr(0x3000 + 200 * n + letter)}-{chr(0x3000 + 300 * n + letter)}]" for letter in range(8))
    ),
}


@pytest.mark.parametrize("kind", LOADS)
def test_many_loads_leave_few_objects(kind: str) -> None:
    """100 multiples with 600 and more remainders once left a million."""
    LOADS[kind](0)
    gc.collect()
    before = sys.getallocatedblocks()
    for n in range(100):
        LOADS[kind](n)
    gc.collect()
    assert sys.getallocatedblocks() - before < 300_000
