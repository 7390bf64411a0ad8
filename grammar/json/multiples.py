"""Multiples with very many remainders: the words from which the core computes what may follow (`earley/_multiples`).

`number_spellings` makes automata of remainders. Where these are too many, it asks here for one node that holds all
conditions on the number but its excluded values: the multiple, numbers of which it is no multiple, both bounds, the
sign and the spelling. The core computes with 64 bits, so the least common multiple of all these numbers is bounded.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from math import lcm
from typing import TYPE_CHECKING

from ...earley.errors import LimitError
from ..regex.ast import Multiples
from .numbers import written

if TYPE_CHECKING:
    from .numbers import Number, NumberSet

MAX_MODULUS = 1 << 59
"""The least common multiple of `multipleOf` and of all numbers that a number must not be a multiple of is less than
this, when all are scaled to integers: the core multiplies remainders by ten, in 64 bits. Beyond it, LimitError."""

MAX_BARRED = 6
"""The most numbers that a number must not be a multiple of: members are counted for all their combinations. Beyond it,
LimitError."""

MAX_DIGITS = 900
"""The most digits of a bound and of the fraction of a multiple. An exponent, which has three digits, then reaches each
number. Beyond it, LimitError."""

MAX_SKIPPED = 1000
"""The most multiples at a bound that are tried to find one that is a member. Beyond it, LimitError."""

UNBOUNDED = 1 << 29
"""As the most digits of a number: any number."""

FRACTION, EXPONENT, ZERO, ZEROS, DECIMAL = 1, 2, 4, 8, 16
"""What numbers may have: a fraction, an exponent; whether zero is a member; whether zeros may end a fraction; whether
numbers must have a point or an exponent."""

_POWERS = 80
"""So many powers of ten beyond those of the bounds are asked for: see `exponents` in the core."""


@lru_cache(maxsize=256)
def multiples_tree(numbers: NumberSet, parts: int, most: int | None, far: int) -> Multiples:
    """Return the spellings of a set of multiples of a number, without its excluded values.

    parts: FRACTION, EXPONENT, ZEROS, DECIMAL. most: the most digits before the point, or None. Numbers from `far` on,
    if there are no others, may have more digits.

    Raises LimitError if the core cannot compute with these numbers.
    """
    multiple = numbers.multiple
    assert multiple is not None
    scale = len(written(multiple).partition(".")[2])
    if scale > MAX_DIGITS:
        raise LimitError(f"a multiple has more than {MAX_DIGITS} digits after its point; round it")
    unit = int(multiple * 10**scale)
    barred = [int(value * 10**scale) for value in numbers.non_multiples]
    modulus = lcm(unit, *barred)
    if modulus >= MAX_MODULUS:
        raise LimitError(
            f"multiples of {_shown(multiple)}: with the numbers that are excluded, there are {_shown(modulus)} or more "
            f"remainders, limit {MAX_MODULUS - 1}; use numbers with fewer digits"
        )
    if len(barred) > MAX_BARRED:
        raise LimitError(
            f"multiples of {_shown(multiple)} that are no multiples of {len(barred)} other numbers: the limit is "
            f"{MAX_BARRED} numbers if there are many remainders"
        )
    terms = [(0, unit)]
    for size in range(1, len(barred) + 1):
        terms += [((size & 1), lcm(*chosen)) for chosen in combinations(barred, size)]
    # The numbers come first: the core asks each of them alone.
    words = [parts | ZERO * numbers.contains(0), scale, len(barred), len(terms), 0, *_wide(modulus), 0, 0]
    for sign, value in terms:
        words += [sign, *_wide(value)]
    sides = [
        _side(numbers, False, multiple, scale, modulus, most, far),
        _side(numbers, True, multiple, scale, modulus, most, far),
    ]
    n_powers = max(scale, *[len(side[1]) for side in sides]) + _POWERS
    words[4] = n_powers
    power = 1 % modulus
    for _ in range(n_powers):
        words += _wide(power)
        power = power * 10 % modulus
    for i, (side, _) in enumerate(sides):
        if side:
            words[7 + i] = len(words) + 1  # the core puts the kind of the node before the words
            words += side
    return Multiples(tuple(words))


def _side(
    numbers: NumberSet, negative: bool, multiple: Number, scale: int, modulus: int, most: int | None, far: int
) -> tuple[list[int], str]:
    """Return the words for the positive members or, without their sign, the negative ones: none if there are none. And
    the digits of the longer bound."""
    low, high = numbers.minimum, numbers.maximum
    if negative:
        low, high = (None if high is None else -high), (None if low is None else -low)
    if low is None or low <= 0:
        low = multiple
    if most is not None and low >= far:
        most = None
    if most is not None and high is not None and high >= 10**most:
        high = None
    low = _member_from(numbers, low, multiple, high)
    if low is None:
        return [], ""
    least = str(int(low * 10**scale))
    greatest = "" if high is None else str(int(high * 10**scale))
    length = UNBOUNDED if most is None else most + scale
    if greatest:
        length = len(greatest)
    if max(len(least), len(greatest)) > MAX_DIGITS:
        raise LimitError(f"a bound of multiples has more than {MAX_DIGITS} digits; use a smaller one")
    if len(least) > length:
        return [], ""
    words = [len(least), length, int(bool(greatest)), len(least.rstrip("0")), *map(int, least + greatest)]
    for i in range(max(len(least), len(greatest)) + 1):
        rest, end = int(least[i:] or 0), int(greatest[i:] or 0)
        above = 10 ** max(len(least) - i, 0) - 1 - rest
        words += _wide(rest % modulus)
        for size in (above, end, end - rest):
            words += _wide(min(max(size, 0), modulus))
    return words, max(least, greatest, key=len)


def _member_from(numbers: NumberSet, low: Number, step: Number, high: Number | None) -> Number | None:
    """Return the first number from `low` on that is no multiple of the `non_multiples`, without its sign; None if it is
    greater than `high`."""
    for _ in range(MAX_SKIPPED):
        if high is not None and low > high:
            return None
        if all(low % value for value in numbers.non_multiples):
            return low
        low += step
    raise LimitError(
        f"multiples of {_shown(step)}: of more than {MAX_SKIPPED} successive ones none is allowed; use fewer "
        "numbers in `not`"
    )


def _wide(number: int) -> tuple[int, int]:
    return number & 0xFFFFFFFF, number >> 32


def _shown(number: Number) -> str:
    text = written(number)
    return text if len(text) <= 60 else f"{text[:60]}..."
