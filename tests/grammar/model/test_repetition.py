"""Repetitions of repetitions become one (`repetition.merged`), with the same texts, masks and captures.

The oracle is the same grammar with a rule of its own for each operator, because nothing merges rules, and counts by
enumeration.
"""

from __future__ import annotations

import itertools
import random

import pytest

from earleymask import Grammar, Matcher, Vocabulary
from earleymask.grammar.model import repetition
from earleymask.grammar.model.model import Model
from support.effort import effort

BYTES = Vocabulary.bytes()
BOUNDS = [(0, 1), (0, 2), (1, 1), (1, 2), (2, 2), (2, 3), (0, None), (1, None), (2, None), (3, 5), (0, 0)]


def counts(bounds: tuple[int, int | None], inner: set[int], most: int) -> set[int]:
    """Return how often something is repeated that is repeated `inner` times in each turn, up to `most` times."""
    least, last = bounds
    found: set[int] = set()
    reached = {0}
    for turn in range(most + 1 if last is None else last + 1):
        if turn >= least:
            found |= reached
        reached = {one + more for one in reached for more in inner if one + more <= most}
    if last is None and least > most:
        found |= reached
    return found


@pytest.mark.parametrize("outer", BOUNDS)
@pytest.mark.parametrize("inner", BOUNDS)
def test_two_bounds_become_one_only_if_no_count_is_missing(
    outer: tuple[int, int | None], inner: tuple[int, int | None]
) -> None:
    model = Model(None)  # type: ignore[arg-type]
    symbol = model.helper("x")
    most = 40
    written = counts(outer, counts(inner, {1}, most), most)
    symbols = repetition.counted(model, ((symbol,),), *inner)
    if not symbols or outer == (0, 0):
        return
    alternatives, minimum, maximum = repetition.merged(model, (symbols,), *outer)
    if alternatives == ((symbol,),):
        assert set(range(minimum, min(most, most if maximum is None else maximum) + 1)) == written
    else:
        assert alternatives == (symbols,) and (minimum, maximum) == outer
        assert len(written) < max(written) - min(written) + 1, "a gap is the only reason"


def expression(rng: random.Random, depth: int, rules: list[str]) -> tuple[str, str]:
    """Return a random expression, and the symbols that stand for it in rules of its own."""
    kind = rng.random()
    if depth == 0 or kind < 0.2:
        one = rng.choice(['"a"', '"b"', "x", "y"])
        return one, one
    if kind < 0.35:
        parts = [expression(rng, depth - 1, rules) for _ in range(2)]
        return " ".join(part[0] for part in parts), " ".join(part[1] for part in parts)
    if kind < 0.5:
        parts = [expression(rng, depth - 1, rules) for _ in range(rng.randint(2, 3))]
        name = f"r{len(rules)}"
        rules.append(f"{name}: " + " | ".join(part[1] for part in parts))
        return "(" + " | ".join(part[0] for part in parts) + ")", name
    inner, symbols = expression(rng, depth - 1, rules)
    least, most = rng.choice(BOUNDS[:-1])
    name = f"r{len(rules)}"
    turns = [f"({symbols}) " * n for n in range(least, (least if most is None else most) + 1)]
    rules.append(f"{name}: " + " | ".join(turns) + (f" | {name} {symbols}" if most is None else ""))
    operator = {(0, 1): "?", (0, None): "*", (1, None): "+"}.get((least, most))
    if operator is None and most is None:
        return f"(({inner})~{least} ({inner})*)", name
    return f"({inner})" + (operator or f"~{least}..{most}"), name


@pytest.mark.parametrize("seed", range(effort(60, 1500)))
def test_random_operators_are_as_rules_of_their_own(seed: int) -> None:
    rng = random.Random(seed)
    rules: list[str] = []
    written, symbols = expression(rng, 4, rules)
    captured = rng.random() < 0.5
    named = f'x{"[capture]" if captured else ""}: "a"{rng.choice(["", "?"])}\ny: "b" | "ab"\n'
    merged = Grammar.from_lark(f"start: {written}\n{named}")
    apart = Grammar.from_lark("\n".join([f"start: {symbols}", *rules, named]))
    for letters in itertools.chain.from_iterable(itertools.product(b"ab", repeat=n) for n in range(7)):
        one, other = Matcher(merged, BYTES), Matcher(apart, BYTES)
        for letter in letters:
            accepted = one.accept(letter)
            assert accepted == other.accept(letter), (written, letters)
            if not accepted:
                break
        assert list(one.mask()) == list(other.mask()), (written, letters)
        if captured:
            assert one.captures() == other.captures(), (written, letters)


@pytest.mark.parametrize(
    "operators", [("[", "]"), ("(", ")*"), ("(", ")+"), ("(", ")~0..9"), ("(", ")~1..3"), ("[(", ")+]")]
)
def test_deep_nests_take_no_more_work(operators: tuple[str, str]) -> None:
    """Ninety operators within each other are read as one is: the same rows, and a constant number of steps."""
    steps = []
    for depth in (1, 45, 90):
        before, after = (part * (depth // len(operators[0]) or 1) for part in operators)
        matcher = Matcher(Grammar.from_lark(f'start: ({before}"a"*{after} "b")'), BYTES)
        for byte in b"aaaaab":
            matcher.mask()
            assert matcher.accept(byte)
        steps.append(matcher.stats()["steps"])
    assert steps[2] <= 1.2 * steps[1] + 100 and steps[1] <= 3 * steps[0] + 2000, steps


def test_counts_that_no_text_reaches() -> None:
    """Sixteen counts up to 9 within each other: up to 9^16 letters. Forty: no bound that a text could meet."""
    for depth in (16, 40):
        text = f'start: {"(" * depth}"a"{")~0..9" * depth} "b"'
        matcher = Matcher(Grammar.from_lark(text), BYTES)
        assert matcher.validate(b"a" * 5000 + b"b") == 5001
