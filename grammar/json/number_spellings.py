"""The JSON spellings (RFC 8259, section 6) of the members of a `NumberSet`, as one regex tree.

A number has many spellings: 150 is `150`, `150.0`, `1.5e2`, `15E+01`, `1500e-1`. The tree has all spellings of all
members, with one restriction: beside an exponent, only a bounded number of digits before and after the point is
counted, see `number_tree`. Without it, the length of `10000...0e-n` would have to be compared with n, which no
context-free grammar can do. The exponent itself is not bounded, and neither are the digits of a spelling without
exponent, nor those of zero.

How a number is read: its digits without sign, point, exponent and leading zeros are its *significand*. The *place* of
its first digit is the p for which 10^(p-1) <= |x| < 10^p.

- A bound is a window of places. At the edge of the window it is a comparison of significands, which ignores point and
  exponent.
- "A multiple of 10^-q" is a statement about the place of the last digit.
- "A multiple of a number without factors 2 and 5" is a statement about the significand alone, since 10 has an inverse
  modulo such a number. It becomes an automaton of remainders.
- The powers of 2 and 5 remain: x * 10^q is divisible by 2^r if, for some v <= r, it is divisible by 10^v, and its
  significand without trailing zeros is divisible by 2^(r-v).

So only two families of trees depend on point and exponent, `number_bounds.window` and `number_multiples._tens`. All
others are simple languages of digits that are intersected with these. Each is made for positive numbers; zero and the
sign are added at the end.

Trees are cached, since many schemas ask for the same ones, such as that of `"minimum": 1`.
"""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from math import lcm
from typing import NamedTuple

from ...earley.errors import LimitError
from ..kept import kept_by_weight
from ..regex.ast import And, Chars, Literal, Multiples, Node, Not, Union
from ..regex.lower import Lowered
from .multiples import DECIMAL, EXPONENT, FRACTION, ZEROS, multiples_tree
from .number_bounds import any_number, between, counted, rounded, zero_tree
from .number_lists import dumped_tree, listed_tree, of_sign, values_tree
from .number_multiples import (
    KEPT_STATES,
    MAX_MODULUS,
    MAX_STATES,
    MAX_WRITTEN,
    ManyRemainders,
    by_place,
    multiples_of,
    n_remainders,
)
from .number_parts import (
    ANY,
    DIGIT,
    E_CHAR,
    FAR,
    LARGEST,
    MAX_FIGURES,
    MINUS,
    MOST_PLACES,
    NOTHING,
    PLAIN,
    REST,
    SIGN,
    SOME_DIGITS,
    WHOLE,
    ZERO_DIGIT,
    Bound,
    all_of,
    any_of,
    opt,
    seq,
    some,
)
from .numbers import ALL, AS_DECIMALS, AS_INTEGERS, DUMPED, INTEGERS, Number, NumberSet, number_set, written

MAX_DIGITS = 100
"""The most that `digits` and `shift` may be: the number of nodes of a tree grows with them."""

SHORT_PLACES = MAX_FIGURES // 2
"""The most digits before the point of numbers that are computed and `short`."""

DIGITS = 17
"""The default for `digits`: a double has no more digits in any of its usual spellings."""

SHIFT = 8
"""The default for `shift`. Programs write numbers with an exponent with one digit before the point."""


class NumberStyle(NamedTuple):
    """How numbers are spelled.

    digits, shift: how many digits are counted beside an exponent, see `number_tree`.
    exponents: numbers may have an exponent.
    fractions: whole numbers may have a fraction of zeros, whatever says that they are whole.
    short: numbers whose multiples are computed (`multiples`) have at most MAX_FIGURES characters without their sign.
    plain: listed members are written as `json.dumps` or the schema writes them, and those of DUMPED sets without
        fraction and exponent if all are whole. Others are finite numbers in double precision, see MOST_PLACES.
    """

    digits: int = DIGITS
    shift: int = SHIFT
    exponents: bool = True
    fractions: bool = True
    plain: bool = False
    short: bool = False


ALL_SPELLINGS = NumberStyle()

_PARTS = (FRACTION | EXPONENT | ZEROS, FRACTION | ZEROS, 0)
"""What `multiples` calls these styles."""

_SHORT_EXPONENT = seq(some(Chars(((46, 46), (48, 57)))), opt(seq(E_CHAR, opt(SIGN), some(DIGIT, 1, 3))))
_AS_DECIMAL = seq(MINUS, SOME_DIGITS, Chars(((46, 46), (69, 69), (101, 101))), REST)


def _weight(numbers: NumberSet, spelling: NumberStyle = ALL_SPELLINGS) -> int:
    """Return about how many states and values the tree of a set holds, and no less than 32, so that 256 are kept."""
    weight = 32 + len(numbers.listed or ()) + len(numbers.excluded) + len(numbers.own)
    if numbers.multiple is not None and numbers.listed is None:
        bounds = [number for number in (numbers.minimum, numbers.maximum) if number is not None]
        n_digits = max(map(_n_whole_digits, bounds)) if len(bounds) == 2 else 2
        weight += min(n_remainders(numbers.multiple), MAX_MODULUS) * n_digits * (n_digits + 1) // 2
    return weight


@kept_by_weight(KEPT_STATES, _weight)
def lowered_numbers(numbers: NumberSet, spelling: NumberStyle) -> Lowered:
    """Return what `number_tree` returns, with its regex nodes if several grammars have had it."""
    return Lowered(number_tree(numbers, spelling), recurs=False)


@kept_by_weight(KEPT_STATES, _weight)
def number_tree(numbers: NumberSet, spelling: NumberStyle = ALL_SPELLINGS) -> Node:
    """Return the JSON spellings of the members of `numbers`; for the empty set, a tree that matches nothing.

    A spelling with an exponent is certainly included if

    - it has at most `digits` digits after the point, and
    - before the point it has from 1 to `shift` digits without a leading zero, or a single 0, after which fewer than
      `shift` zeros follow the point.

    Other spellings with an exponent are included only if their digits need not be counted: `digits` matters only for
    multiples, `shift` only for bounds other than 0 and for trailing zeros of multiples, and neither for zero.

    Multiples that are computed (`_computed`) have exponents of at most three digits, and none if the set excludes
    single numbers.

    Without `exponents`, only spellings without an exponent are included. Without `fractions`, a set of whole numbers
    has only spellings without fraction and exponent (`-0` is an integer), unless its members are spelled as decimals.
    With `plain`, this holds for sets that are DUMPED, and `dumped_tree` says how listed members are spelled.

    Raises LimitError if a bound has too many digits or `multipleOf` has too many remainders, see `multiples`.
    """
    digits, shift, exponents, fractions, plain, short = spelling
    if not 1 <= shift <= digits <= MAX_DIGITS:
        raise ValueError(
            f"number_shift={shift} and number_digits={digits}: both must be from 1 to {MAX_DIGITS}, and number_shift "
            "must not be the greater one"
        )
    bound = (digits, shift, SHORT_PLACES if short else MOST_PLACES if plain else None)
    style = ANY if exponents else PLAIN
    if numbers.spelled & AS_DECIMALS:
        return _as_decimals(_tree(numbers.in_all_spellings(), bound, style))
    if plain and numbers.listed is not None:
        return dumped_tree(numbers, exponents, fractions)
    if numbers.spelled & AS_INTEGERS or not fractions or (plain and numbers.spelled & DUMPED):
        are_whole = numbers.multiple is not None and numbers.multiple % 1 == 0
        if are_whole or numbers.listed is not None:
            style = WHOLE
    return _tree(numbers.in_all_spellings() if numbers.spelled else numbers, bound, style)


def _as_decimals(tree: Node) -> Node:
    """Return the texts of a tree of numbers that have a point or an exponent."""
    if isinstance(tree, Multiples):
        return Multiples((tree.words[0] | DECIMAL, *tree.words[1:]))
    if is_computed(tree):
        assert isinstance(tree, And)
        return And((_as_decimals(tree.parts[0]), *tree.parts[1:]))
    return all_of([tree, _AS_DECIMAL])


def is_computed(tree: Node) -> bool:
    """Whether a tree of numbers is one whose multiples are computed: another `short` one may be needed."""
    return isinstance(tree, Multiples) or (isinstance(tree, And) and isinstance(tree.parts[0], Multiples))


def _tree(numbers: NumberSet, bound: Bound, style: int) -> Node:
    """Return the spellings of the members in a style, as `number_tree` does."""
    if numbers.listed is not None:
        return listed_tree(numbers.listed, bound, style)
    if numbers == ALL:
        return any_number(bound, style)
    zero = numbers.contains(0)
    if _are_combined(numbers) or _are_many(numbers):
        with suppress(LimitError):
            return _computed(numbers, bound, style)
    try:
        positive = _positive(numbers, False, zero, bound, style)
        negative = _positive(numbers, True, zero, bound, style)
    except ManyRemainders:
        return _computed(numbers, bound, style)
    parts: list[Node] = []
    if positive is not None and positive == negative:
        if zero and style == WHOLE and bound[2] is not None:
            return seq(MINUS, Union((ZERO_DIGIT, positive)))
        parts.append(seq(MINUS, positive))
    else:
        if positive is not None:
            parts.append(positive)
        if negative is not None:
            parts.append(seq(Literal("-"), negative))
    if zero and not (style == WHOLE and numbers == INTEGERS and bound[2] is None):
        parts.append(zero_tree(bound, style))
    return any_of(parts) if parts else NOTHING


def _are_combined(numbers: NumberSet) -> bool:
    """Whether a multiple and barred numbers have so many remainders together that one automaton for each of them would
    leave the core a long search for a number that all of them allow."""
    if numbers.multiple is None or not numbers.non_multiples:
        return False
    ratios = [Fraction(value) / numbers.multiple for value in numbers.non_multiples]  # these are whole
    return numbers.multiple.numerator * lcm(*[ratio.numerator for ratio in ratios]) > MAX_MODULUS


def _n_whole_digits(number: Number) -> int:
    return len(written(max(number, -number)).partition(".")[0])


def _are_many(numbers: NumberSet) -> bool:
    """Whether these are multiples between two bounds, without some numbers, and too many for `by_place`. The core
    would have to search long for one that is not excluded."""
    multiple, low, high = numbers.multiple, numbers.minimum, numbers.maximum
    if not numbers.excluded or multiple is None or low is None or high is None:
        return False
    n_digits = max(_n_whole_digits(low), _n_whole_digits(high))
    return n_remainders(multiple) * n_digits > MAX_STATES and (high - low) // multiple > MAX_WRITTEN


def _computed(numbers: NumberSet, bound: Bound, style: int) -> Node:
    """Return the members, of a set with a `multiple`, by arithmetic on their digits. If some numbers are excluded,
    there are no exponents: many of their spellings would begin like many of a member."""
    others = [number for number in numbers.excluded if number]
    if others:
        style = max(style, PLAIN)
    if bound[2] == SHORT_PLACES:
        tree: Node = multiples_tree(numbers, _PARTS[style] & ~ZEROS, SHORT_PLACES, 10**SHORT_PLACES)
    else:
        tree = multiples_tree(numbers, _PARTS[style], bound[2], FAR)
    if others:
        tree = all_of([tree, Not(listed_tree(tuple(others), bound, PLAIN))])
    return tree


def _positive(numbers: NumberSet, negative: bool, zero: bool, bound: Bound, style: int) -> Node | None:
    """Return the spellings, without their sign, of the positive members or, if `negative`, of the negative ones. Return
    None if there are no such members.

    With `zero`, spellings of zero may be among them.
    """
    if negative:
        low = None if numbers.maximum is None else -numbers.maximum
        high = None if numbers.minimum is None else -numbers.minimum
        above, below = numbers.below, numbers.above
    else:
        low, high, above, below = numbers.minimum, numbers.maximum, numbers.above, numbers.below
    if low is not None and low <= 0:
        low = None
    if high is not None and high <= 0:
        return None
    if (low is not None and low >= FAR) or (numbers.multiple is not None and numbers.multiple >= FAR):
        bound = (bound[0], bound[1], None)
    if numbers.multiple is not None:
        low, above = rounded(low, -numbers.multiple)
        high, below = rounded(high, numbers.multiple)
    excluded = of_sign(numbers.excluded, negative)
    last = None
    if high is not None and bound[2] is not None and high >= 10 ** bound[2]:
        last = None if high >= int(LARGEST) * 10 ** (bound[2] + 1 - len(LARGEST)) else bound[2]
        high = None
    bounded = low is not None or high is not None or bound[2] is not None
    parts = []
    placed = None
    if numbers.multiple is not None and high is not None and not (above or below):
        placed = by_place(numbers.multiple, low, high, bound, style)
    if placed is not None:
        parts.append(placed)
    elif bounded or numbers.multiple is None:
        parts.append(between(low, above, high, below, last, bound, style))
    if numbers.multiple is not None and placed is None and not (bounded and style == WHOLE and numbers.multiple == 1):
        parts += multiples_of(numbers.multiple, zero or bounded, high, bound, style)
    if excluded or numbers.non_multiples:
        # If a number has more digits than are counted, it cannot be decided whether it is one of these.
        parts.append(counted(bound, style))
        for value in numbers.non_multiples:
            try:
                parts.append(Not(all_of(multiples_of(value, True, None, bound, min(style, PLAIN)))))
            except ManyRemainders:
                if numbers.multiple is not None:
                    raise  # `_computed` counts members and needs no search for one
                parts += _no_multiples(value, bound, style)
        if excluded:
            parts.append(Not(values_tree(excluded, bound, min(style, PLAIN))))
    return all_of(parts)


def _no_multiples(value: Number, bound: Bound, style: int) -> list[Node]:
    """Return languages whose intersection with numbers, without sign, are those that are no multiples of a number."""
    multiples = multiples_tree(number_set(multiples=[value]), _PARTS[min(style, PLAIN)], None, FAR)
    return [Not(multiples)] if style or bound[2] is not None else [Not(multiples), _SHORT_EXPONENT]
