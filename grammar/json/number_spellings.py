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

So only two families of trees depend on point and exponent, `_window` and `_tens`. All others are simple languages of
digits that are intersected with these. Each is made for positive numbers; zero and the sign are added at the end.

Trees are cached, since many schemas ask for the same ones, such as that of `"minimum": 1`.
"""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from math import lcm
from typing import NamedTuple

from ...earley.errors import LimitError
from ..regex.ast import And, Automaton, Chars, Concat, Literal, Multiples, Node, Not, Repeat, Union
from .multiples import DECIMAL, EXPONENT, FRACTION, ZEROS, multiples_tree
from .numbers import ALL, AS_DECIMALS, AS_INTEGERS, DUMPED, INTEGERS, Number, NumberSet, exact, number_set, written

MAX_MODULUS = 1024
"""The most remainders that an automaton of multiples may distinguish. Beyond it, remainders are computed while a text
is read (`multiples`), unless the multiples are between two bounds and few."""

MAX_STATES = 4096
"""The most states of an automaton of remainders that counts digits, see `_by_place`. Beyond it, the multiples are
written out one by one, or read by an automaton that does not count."""

MAX_PLACES = 20
"""The most places between two bounds of multiples for which `_by_place` makes automata, one for each place."""

MAX_WRITTEN = 1024
"""The most multiples between two bounds that are written out one by one, if automata would be too large."""

MAX_PLACE = 2000
"""The most digits of a bound before its point, and the most zeros after it: each of them costs a node or is counted.
Beyond it, LimitError is raised."""

SHOWN_DIGITS = 60
"""The most digits of a number that a message shows."""

MAX_FIGURES = 150
"""The most significant digits of a number in a schema: a tree becomes as deep as the number is long. Beyond it,
LimitError is raised."""

MAX_DIGITS = 100
"""The most that `digits` and `shift` may be: the number of nodes of a tree grows with them."""

MOST_PLACES = 308
"""With plain spellings, the most digits before the point: all numbers below 10^308 are finite in double precision.
Beside an exponent of at most three digits, `shift` digits stand before the point, and the exponent is at most 300 (less
by as much as `shift` is above 8); with one digit before the point, numbers up to the largest double are spelled. Where
a schema demands greater numbers, there is no such bound."""

SHORT_PLACES = MAX_FIGURES // 2
"""The most digits before the point of numbers that are computed and `short`."""

FAR = 10**290
"""Bounds and multiples from here on are too close to 10^308 to show at once that there are numbers below it."""

LARGEST = "17976931348623157"
"""The digits of the largest double, which is about 1.8 * 10^308."""

MOST_EXPONENT = 999
"""With plain spellings, the greatest exponent, and the smallest one without its sign: of three digits."""

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


class ManyRemainders(LimitError):
    """A `multipleOf` has more than MAX_MODULUS remainders."""


Bound = tuple[int, int, int | None]  # digits, shift; MOST_PLACES, or None if the places are not bounded

ANY, PLAIN, WHOLE = range(3)
"""Styles: all spellings; those without an exponent; those without an exponent in which integers have no fraction."""
_PARTS = (FRACTION | EXPONENT | ZEROS, FRACTION | ZEROS, 0)
"""What `multiples` calls these styles."""

_kept = lru_cache(maxsize=256)


def _digit(first: int, last: int) -> Node:
    return Chars(((48 + first, 48 + last),))


def _some(body: Node, minimum: int = 0, maximum: int | None = None) -> Node:
    return Repeat(body, minimum, maximum)


def _seq(*parts: Node) -> Node:
    return Concat(parts)


def _any(alternatives: list[Node]) -> Node:
    return alternatives[0] if len(alternatives) == 1 else Union(tuple(alternatives))


def _all(parts: list[Node]) -> Node:
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _opt(body: Node) -> Node:
    return Repeat(body, 0, 1)


_NONE: Node = Chars(())
_DIGIT = _digit(0, 9)
_FIRST = _digit(1, 9)
_ZERO_DIGIT = Literal("0")
_E = Chars(((69, 69), (101, 101)))
_SIGN = Chars(((43, 43), (45, 45)))
_DIGITS = _some(_DIGIT)
_SOME_DIGITS = _some(_DIGIT, 1)
_EXPONENT = _opt(_seq(_E, _opt(_SIGN), _SOME_DIGITS))
_WHOLE = Union((_ZERO_DIGIT, _seq(_FIRST, _DIGITS)))
_MINUS = _opt(Literal("-"))
_POINT = Literal(".")
_POINT_HERE = _opt(_POINT)
_FRACTION = _opt(_seq(_POINT, _SOME_DIGITS))
_ZEROS = _opt(_seq(_POINT, _some(_ZERO_DIGIT, 1)))  # a fraction of zero
_REST = _some(Chars(((43, 43), (45, 46), (48, 57), (69, 69), (101, 101))))  # if another tree checks the syntax
_LEADING = _some(Chars(((46, 46), (48, 48))))  # zeros, and a point somewhere
_ZERO_REST = _seq(_LEADING, _opt(_seq(_E, _REST)))

_NONZERO = _seq(_LEADING, _FIRST, _REST)
_SHORT_EXPONENT = _seq(_some(Chars(((46, 46), (48, 57)))), _opt(_seq(_E, _opt(_SIGN), _some(_DIGIT, 1, 3))))

NUMBER: Node = _seq(_MINUS, _WHOLE, _FRACTION, _EXPONENT)
"""Any number, as RFC 8259 spells it."""

_PLAIN_NUMBER = _seq(_MINUS, _WHOLE, _FRACTION)
_AS_DECIMAL = _seq(_MINUS, _SOME_DIGITS, Chars(((46, 46), (69, 69), (101, 101))), _REST)


@_kept
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
    With `plain`, this holds for sets that are DUMPED, and `_dumped` says how listed members are spelled.

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
        return _dumped(numbers, exponents, fractions)
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
    return _all([tree, _AS_DECIMAL])


def is_computed(tree: Node) -> bool:
    """Whether a tree of numbers is one whose multiples are computed: another `short` one may be needed."""
    return isinstance(tree, Multiples) or (isinstance(tree, And) and isinstance(tree.parts[0], Multiples))


def _tree(numbers: NumberSet, bound: Bound, style: int) -> Node:
    """Return the spellings of the members in a style, as `number_tree` does."""
    if numbers.listed is not None:
        return _listed(numbers.listed, bound, style)
    if numbers == ALL:
        return _any_number(bound, style)
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
            return _seq(_MINUS, Union((_ZERO_DIGIT, positive)))
        parts.append(_seq(_MINUS, positive))
    else:
        if positive is not None:
            parts.append(positive)
        if negative is not None:
            parts.append(_seq(Literal("-"), negative))
    if zero and not (style == WHOLE and numbers == INTEGERS and bound[2] is None):
        parts.append(_zero(bound, style))
    return _any(parts) if parts else _NONE


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
    """Whether these are multiples between two bounds, without some numbers, and too many for `_by_place`. The core
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
        tree = _all([tree, Not(_listed(tuple(others), bound, PLAIN))])
    return tree


@_kept
def _any_number(bound: Bound, style: int) -> Node:
    """Return all numbers. With plain spellings and the usual bound it is the regex that `prepare` prepares."""
    _, shift, most = bound
    if most is None:
        return _PLAIN_NUMBER if style else NUMBER
    plain = _seq(Union((_ZERO_DIGIT, _seq(_FIRST, _some(_DIGIT, 0, most - 1)))), _FRACTION)
    if style:
        return _seq(_MINUS, plain)
    cap = _greatest_exponent(shift)
    few = _seq(Union((_ZERO_DIGIT, _seq(_FIRST, _some(_DIGIT, 0, shift - 1)))), _FRACTION, _E)
    one = _seq(_FIRST, _FRACTION, _E, _opt(Literal("+")), _any(_same_length(str(cap + 1), str(most - 1))))
    exponents = _exponents(None, cap, True)
    return _seq(_MINUS, Union((plain, _seq(few, exponents), one, _nearly_largest(most))))


def _greatest_exponent(shift: int) -> int:
    """Return the greatest exponent that plain spellings have after up to `shift` digits."""
    return min(300, MOST_PLACES - shift)


def _zero(bound: Bound, style: int) -> Node:
    if style == WHOLE:
        return _seq(_MINUS, _ZERO_DIGIT)
    if style:
        return _seq(_MINUS, _ZERO_DIGIT, _ZEROS)
    if bound[2] is None:
        return _seq(_MINUS, _ZERO_DIGIT, _ZEROS, _EXPONENT)
    return _seq(_MINUS, _ZERO_DIGIT, _ZEROS, _opt(_seq(_E, _exponents(None, _greatest_exponent(bound[1]), True))))


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
        low, above = _rounded(low, -numbers.multiple)
        high, below = _rounded(high, numbers.multiple)
    excluded = _of_sign(numbers.excluded, negative)
    last = None
    if high is not None and bound[2] is not None and high >= 10 ** bound[2]:
        last = None if high >= int(LARGEST) * 10 ** (bound[2] + 1 - len(LARGEST)) else bound[2]
        high = None
    bounded = low is not None or high is not None or bound[2] is not None
    parts = []
    placed = None
    if numbers.multiple is not None and high is not None and not (above or below):
        placed = _by_place(numbers.multiple, low, high, bound, style)
    if placed is not None:
        parts.append(placed)
    elif bounded or numbers.multiple is None:
        parts.append(_between(low, above, high, below, last, bound, style))
    if numbers.multiple is not None and placed is None and not (bounded and style == WHOLE and numbers.multiple == 1):
        parts += _multiples(numbers.multiple, zero or bounded, high, bound, style)
    if excluded or numbers.non_multiples:
        # If a number has more digits than are counted, it cannot be decided whether it is one of these.
        parts.append(_counted(bound, style))
        for value in numbers.non_multiples:
            try:
                parts.append(Not(_all(_multiples(value, True, None, bound, min(style, PLAIN)))))
            except ManyRemainders:
                if numbers.multiple is not None:
                    raise  # `_computed` counts members and needs no search for one
                parts += _no_multiples(value, bound, style)
        if excluded:
            parts.append(Not(_values(excluded, bound, min(style, PLAIN))))
    return _all(parts)


def _no_multiples(value: Number, bound: Bound, style: int) -> list[Node]:
    """Return languages whose intersection with numbers, without sign, are those that are no multiples of a number."""
    multiples = multiples_tree(number_set(multiples=[value]), _PARTS[min(style, PLAIN)], None, FAR)
    return [Not(multiples)] if style or bound[2] is not None else [Not(multiples), _SHORT_EXPONENT]


def _of_sign(values: tuple[Number, ...], negative: bool) -> list[Number]:
    """Return the positive ones of these numbers or, if `negative`, the negative ones without their sign."""
    return [-value for value in values if value < 0] if negative else [value for value in values if value > 0]


@_kept
def _counted(bound: Bound, style: int) -> Node:
    """Return the spellings in which all digits are counted."""
    if style:
        return _seq(_WHOLE, _FRACTION)
    digits, shift, _ = bound
    whole = _seq(_FIRST, _some(_DIGIT, 0, shift - 1), _opt(_seq(_POINT, _some(_DIGIT, 1, digits))))
    fractions = [_seq(Literal("0." + "0" * n), _FIRST, _some(_DIGIT, 0, digits - n - 1)) for n in range(shift)]
    exponent = _seq(_E, _opt(_SIGN), _SOME_DIGITS)
    return Union((_seq(_WHOLE, _FRACTION), _seq(Union((whole, *fractions)), exponent)))


# Bounds


def _between(
    low: Number | None,
    above: bool,
    high: Number | None,
    below: bool,
    last: int | None,
    bound: Bound,
    style: int,
) -> Node:
    """Return the positive numbers between two positive bounds. `above` and `below` make the bounds exclusive. last:
    without `high`, the last place of a first digit."""
    first = None
    alternatives: list[Node] = []
    if low is not None:
        first, figures = _scientific(low)
        at_low = None if figures == "1" and not above else _compared(figures, True, above)
    if high is not None:
        last, figures = _scientific(high)
        if low is not None and first == last:
            parts = [_window(first, last, bound, style)]
            if at_low is not None:
                parts.append(at_low)
            return _all([*parts, _compared(figures, False, below)])
        alternatives.append(_all([_window(last, last, bound, style), _compared(figures, False, below)]))
        last -= 1
    if low is not None and at_low is not None:
        assert first is not None
        alternatives.append(_all([_window(first, first, bound, style), at_low]))
        first += 1
    if first is None or last is None or first <= last:
        alternatives.insert(0, _window(first, last, bound, style))
    return _any(alternatives)


def _rounded(bound: Number | None, step: Number) -> tuple[Number | None, bool]:
    """Return a bound of multiples with few digits, and whether it is exclusive.

    `bound` is an inclusive bound and a multiple itself. If it has too many digits, and the multiple one `step` beyond
    it has few, that one is returned as an exclusive bound: less than 10^308 instead of at most 999...9."""
    if bound is None or _n_figures(bound) <= MAX_FIGURES or _n_figures(bound + step) > MAX_FIGURES:
        return bound, False
    return bound + step, True


def _check_places(number: Number) -> None:
    """Raise LimitError for a number with far more digits than the limit, before its digits are written and counted."""
    if max(abs(number.numerator), number.denominator).bit_length() > 4 * MAX_PLACE:  # a digit takes 3.3 bits
        raise LimitError(f"a number has more than {MAX_PLACE} digits before or after its point")


def _n_figures(number: Number) -> int:
    _check_places(number)
    return len(written(number).replace(".", "").strip("-0"))


def _scientific(number: Number) -> tuple[int, str]:
    """Return the place of a positive number's first digit, and its significand without trailing zeros."""
    _check_places(number)
    whole, _, fraction = written(number).partition(".")
    figures = (whole + fraction).lstrip("0")
    place = len(figures) - len(fraction)
    if abs(place) > MAX_PLACE:
        raise LimitError(f"a number has more than {MAX_PLACE} digits before or after its point")
    figures = figures.rstrip("0")
    if len(figures) > MAX_FIGURES:
        raise LimitError(f"a number has {len(figures)} significant digits, limit {MAX_FIGURES}; round it")
    return place, figures


@_kept
def _compared(figures: str, more: bool, strictly: bool) -> Node:
    """Return the texts whose significand is at least `figures` (or, unless `more`, at most), if both are read as the
    digits after a point. `strictly` excludes equal ones."""
    if more:
        node = _NONZERO if strictly else _REST
    else:
        node = _NONE if strictly else _ZERO_REST
    for i in range(len(figures) - 1, -1, -1):
        figure = ord(figures[i]) - 48
        alternatives = []
        if node is not _NONE:
            alternatives.append(_seq(_POINT_HERE, _digit(figure, figure), node))
        if more and figure < 9:
            alternatives.append(_seq(_POINT_HERE, _digit(figure + 1, 9), _REST))
        least = 1 if i == 0 else 0  # a significand begins with no zero
        if not more and figure > least:
            alternatives.append(_seq(_POINT_HERE, _digit(least, figure - 1), _REST))
        if not more and i > 0:
            alternatives.append(_ZERO_REST)  # a proper prefix of `figures` is less
        node = _any(alternatives) if alternatives else _NONE
    return _seq(_LEADING, node)


@_kept
def _window(first: int | None, last: int | None, bound: Bound, style: int) -> Node:
    """Return the positive numbers whose first digit is at a place from `first` to `last`; None is no bound but that of
    `bound`. In the style WHOLE, only whole numbers are returned."""
    most = bound[2]
    if first is None and last is None and most is None:
        return _nonzero(style)
    alternatives = [] if style else _with_exponent(first, last, bound)
    if last is None:
        last = most
    if last is None or last >= 1:
        more = 0 if first is None else max(first - 1, 0)
        whole = _seq(_FIRST, _some(_DIGIT, more, None if last is None else last - 1))
        if style == WHOLE:
            return whole
        alternatives.append(_seq(whole, _FRACTION))
    elif style == WHOLE:
        return _NONE
    if first is None or first <= 0:
        zeros = 0 if last is None else max(-last, 0)
        zero_run = _some(_ZERO_DIGIT, zeros, None if first is None else -first)
        alternatives.append(_seq(Literal("0."), zero_run, _FIRST, _DIGITS))
    return _any(alternatives)


def _with_exponent(first: int | None, last: int | None, bound: Bound) -> list[Node]:
    """Return the alternatives of `_window` that have an exponent. It moves the first digit, which is at place n with n
    digits before the point, and at place -n with n zeros after it."""
    _, shift, most = bound
    is_short = most is not None
    found: list[Node] = []
    if last is None and most is not None:
        last = most
        found.append(_nearly_largest(most))
    cap = _greatest_exponent(shift) if is_short else None
    node: Node = _NONE
    for n in range(shift, 0, -1):
        here = _seq(
            _FRACTION, _E, _exponents(_less(first, n), _capped(_less(last, n), None if n == 1 else cap), is_short)
        )
        node = here if n == shift else Union((here, _seq(_DIGIT, node)))
    found.append(_seq(_FIRST, node))
    for n in range(shift - 1, -1, -1):
        here = _seq(_FIRST, _DIGITS, _E, _exponents(_less(first, -n), _capped(_less(last, -n), cap), is_short))
        node = here if n == shift - 1 else Union((here, _seq(_ZERO_DIGIT, node)))
    found.append(_seq(Literal("0."), node))
    return found


def _capped(last: int | None, cap: int | None) -> int | None:
    return last if cap is None or last is None else min(last, cap)


def _nearly_largest(most: int) -> Node:
    """Return the numbers from 10^most up to the largest double."""
    return _seq(_up_to_largest(), _E, _opt(Literal("+")), Literal(str(most)))


@_kept
def _up_to_largest() -> Node:
    """Return the numbers with one digit before the point, a 1, that are at most LARGEST, read with that point."""
    body = _NONE
    for char in reversed(LARGEST[1:]):
        figure = ord(char) - 48  # never 0
        rest = _some(_ZERO_DIGIT) if body is _NONE else _opt(body)
        body = Union((_seq(_digit(0, figure - 1), _DIGITS), _seq(_digit(figure, figure), rest)))
    return _seq(Literal(LARGEST[0]), _opt(_seq(_POINT, body)))


@_kept
def _nonzero(style: int) -> Node:
    mantissa = Union((_seq(_FIRST, _DIGITS, _FRACTION), _seq(Literal("0."), _some(_ZERO_DIGIT), _FIRST, _DIGITS)))
    return mantissa if style else _seq(mantissa, _EXPONENT)


def _less(place: int | None, n: int) -> int | None:
    return None if place is None else place - n


# Multiples


def _shown(number: Number) -> str:
    text = written(number)
    return text if len(text) <= SHOWN_DIGITS else f"{text[:SHOWN_DIGITS]}..."


def _multiples(multiple: Number, zero: bool, high: Number | None, bound: Bound, style: int) -> list[Node]:
    """Return languages whose intersection is the multiples of a number, without sign, and zero if `zero`.

    Multiples above `high` may be missing; the caller excludes them anyway. For these, the core would have to search all
    digits that may follow for a multiple that does not exist.
    """
    q, factor, base, powers = _factored(multiple)
    if factor > MAX_MODULUS or base**powers > MAX_MODULUS:
        _check_places(multiple)
        many = _shown(factor * base**powers)
        raise ManyRemainders(
            f"multiples of {_shown(multiple)}: {many} remainders, limit {MAX_MODULUS}; use a number with fewer digits"
        )
    alternatives: list[Node] = [
        And((_tens(q - v, zero, bound, style), _divisible(base ** (powers - v), True))) for v in range(powers)
    ]
    alternatives.append(_tens(q - powers, zero, bound, style))
    parts = [_any(alternatives)]
    if factor != 1:
        parts.append(_divisible(factor, False))
    if high is not None:
        parts.append(_figures(max(_scientific(high)[0] + q, 1)))  # as many digits as the greatest multiple has
    return parts


def _factored(multiple: Number) -> tuple[int, int, int, int]:
    """Return q, factor, base and powers of a positive number, which is factor * base^powers * 10^-q. The factor is
    divisible by neither 2 nor 5, and the base is 2 or 5."""
    place, figures = _scientific(multiple)
    factor, q = int(figures), len(figures) - place
    base, powers = 2, 0
    while factor % 2 == 0:
        factor //= 2
        powers += 1
    while factor % 5 == 0:  # not both: `figures` has no trailing zeros
        base = 5
        factor //= 5
        powers += 1
    return q, factor, base, powers


def n_remainders(multiple: Number) -> int:
    """Return how many remainders an automaton of the multiples of a number must distinguish. Raises LimitError for a
    number with too many digits."""
    _, factor, base, powers = _factored(multiple)
    return int(factor * base**powers)


@_kept
def _figures(length: int) -> Node:
    """Return the texts whose significand has at most `length` digits without its trailing zeros."""
    return _seq(_LEADING, _FIRST, _some(_seq(_POINT_HERE, _DIGIT), 0, length - 1), _ZERO_REST)


@_kept
def _tens(q: int, zero: bool, bound: Bound, style: int) -> Node:
    """Return the multiples of 10^-q without sign, and zero if `zero`. Without an exponent, these have at most q digits
    after the point, apart from trailing zeros."""
    if q >= 0:
        if q == 0 and style == WHOLE:
            return _WHOLE if zero else _seq(_FIRST, _DIGITS)
        figures = _some(_ZERO_DIGIT, 1) if q == 0 else _seq(_some(_DIGIT, 1, q), _some(_ZERO_DIGIT))
        fraction: Node = _seq(_POINT, figures)
        whole = _seq(_FIRST, _DIGITS)
        below_one = _seq(_ZERO_DIGIT, _opt(fraction) if zero else And((fraction, _NONZERO)))
        alternatives: list[Node] = [_seq(whole, _opt(fraction))]
        if zero or q > 0:
            alternatives.append(below_one)
    else:
        whole = _seq(_FIRST, _DIGITS, _some(_ZERO_DIGIT, -q, -q))
        alternatives = [whole if style == WHOLE else _seq(whole, _ZEROS)]
        if zero:
            alternatives.append(_ZERO_DIGIT if style == WHOLE else _seq(_ZERO_DIGIT, _ZEROS))
    if style:
        return _any(alternatives)
    # With an exponent. If only zeros follow after n digits of the fraction, the exponent must be n - q or more. These n
    # digits may end in zeros as well, so a fraction may be read with several n.
    digits, shift, _ = bound
    node: Node = _NONE
    for n in range(digits, -1, -1):
        here = _seq(_some(_ZERO_DIGIT, 1 if n == 0 else 0), _E, _exponents(n - q, None))
        node = here if n == digits else Union((here, _seq(_DIGIT, node)))
    fraction = _seq(_POINT, node)
    # Without a fraction, the exponent must be -q or more; it may be less by n if the last n digits are zeros.
    for n in range(shift, 0, -1):
        here = _seq(_ZEROS, _E, _exponents(-q - n, -q - n))
        node = here if n == shift else Union((here, _seq(_ZERO_DIGIT, node)))
    straight = _seq(_E, _exponents(-q, None))
    alternatives.append(_seq(_FIRST, _DIGITS, Union((straight, fraction, _seq(_ZERO_DIGIT, node)))))
    alternatives.append(_seq(_ZERO_DIGIT, Union((straight, fraction)) if zero else And((fraction, _NONZERO))))
    return Union(tuple(alternatives))


@lru_cache(maxsize=64)
def _divisible(modulus: int, stripped: bool) -> Node:
    """Return the texts whose significand is divisible by `modulus`; if `stripped`, without its trailing zeros.

    The state is the remainder of the digits read so far. If `stripped`, states from `modulus` on say that the digits up
    to the last one that was not zero were not divisible. The last state is that after `e`: it skips the exponent.
    """
    exponent = 2 * modulus if stripped else modulus
    states = []
    for state in range(exponent):
        remainder = state % modulus
        accepts = state == 0 if not stripped else state < modulus
        targets: dict[int, list[int]] = {}
        for digit in range(10):
            target = (remainder * 10 + digit) % modulus
            if stripped and (state >= modulus if digit == 0 else target != 0):
                target += modulus
            targets.setdefault(target, []).append(digit)
        targets.setdefault(state, []).append(-2)  # the point
        edges = [(_characters(read), target) for target, read in targets.items()]
        if accepts:
            edges.append((_E, exponent))
        states.append((accepts, tuple(edges)))
    states.append((True, ((_REST_CHAR, exponent),)))
    return Automaton(tuple(states))


def _by_place(multiple: Number, low: Number | None, high: Number, bound: Bound, style: int) -> Node | None:
    """Return the positive multiples between two bounds that are multiples themselves, as a union over the places of the
    first digit; None if this does not pay and `_between` and `_multiples` must be used.

    The place of the first digit determines how many digits follow. The multiples are the numbers whose significand,
    written with that many digits, leaves no remainder. This also covers powers of 2 and 5, and for every beginning of a
    number the automaton knows at once whether a multiple begins so.
    """
    place, figures = _scientific(multiple)
    factor, q = int(figures), len(figures) - place  # multiple = factor * 10^-q
    last, _ = _scientific(high)
    first = place if low is None else _scientific(low)[0]
    if factor == 1:
        return None
    if last - first >= MAX_PLACES or (last + q) * factor > MAX_STATES:
        least = 1 if low is None else low // multiple
        most = high // multiple
        if most - least >= MAX_WRITTEN:
            return None
        return _values([count * multiple for count in range(least, most + 1)], bound, style)
    alternatives: list[Node] = []
    for place in range(first, last + 1):
        parts = [_window(place, place, bound, style), _divisible_padded(factor, place + q)]
        if low is not None and place == first:
            parts.append(_compared(_scientific(low)[1], True, False))
        if place == last:
            parts.append(_compared(_scientific(high)[1], False, False))
        if style == WHOLE:
            parts.append(_WHOLE)
        alternatives.append(And(tuple(parts)))
    return _any(alternatives)


@lru_cache(maxsize=64)
def _divisible_padded(modulus: int, length: int) -> Node:
    """Return the texts whose significand has at most `length` digits, and is divisible when zeros are appended up to
    that length."""
    alive = [[remainder == 0 for remainder in range(modulus)]]  # by number of digits to come: may the text still end?
    while len(alive) <= length:
        last = alive[-1]
        alive.append(
            [any(last[(remainder * 10 + digit) % modulus] for digit in range(10)) for remainder in range(modulus)]
        )
    alive.reverse()  # now by number of digits read
    order = [(0, 0)]  # states: digits read, their remainder
    numbers = {(0, 0): 0}
    leaving: list[list[tuple[Chars, int]]] = []
    for n, remainder in order:  # grows while it is read
        targets: dict[int, list[int]] = {}
        for digit in range(10):
            if digit == 0 and n in (0, length):  # leading and trailing zeros
                target = (n, remainder)
            elif n < length:
                target = (n + 1, (remainder * 10 + digit) % modulus)
            else:
                continue
            if alive[target[0]][target[1]]:
                if target not in numbers:
                    numbers[target] = len(order)
                    order.append(target)
                targets.setdefault(numbers[target], []).append(digit)
        targets.setdefault(numbers[n, remainder], []).append(-2)  # the point
        leaving.append([(_characters(read), target) for target, read in targets.items()])
    exponent = len(order)
    states = []
    for (n, remainder), edges in zip(order, leaving, strict=True):
        if n and remainder * 10 ** (length - n) % modulus == 0:
            states.append((True, (*edges, (_E, exponent))))
        else:
            states.append((False, tuple(edges)))
    states.append((True, ((_REST_CHAR, exponent),)))
    return Automaton(tuple(states))


_REST_CHAR = Chars(((43, 43), (45, 45), (48, 57)))


@lru_cache(maxsize=1024)
def _chars_of(codes: tuple[int, ...]) -> Chars:
    ranges: list[tuple[int, int]] = []
    for code in codes:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1] = (ranges[-1][0], code)
        else:
            ranges.append((code, code))
    return Chars(tuple(ranges))


def _characters(digits: list[int]) -> Chars:
    return _chars_of(tuple(sorted(digit + 48 for digit in digits)))


# Lists of values


def _listed(values: tuple[Number, ...], bound: Bound, style: int) -> Node:
    """Return the spellings of these numbers. In the style WHOLE, whole numbers have no fraction, even if others
    have."""
    parts: list[Node] = []
    for negative in (False, True):
        group = _of_sign(values, negative)
        if group:
            body = _values(group, bound, style)
            parts.append(_seq(Literal("-"), body) if negative else body)
    if 0 in values:
        parts.append(_zero(bound, style))
    return _any(parts) if parts else _NONE


def _dumped(numbers: NumberSet, exponents: bool, fractions: bool) -> Node:
    """Return the listed members as `json.dumps` writes them, and in the schema's own spellings.

    A whole number is written as an int and, unless the set is DUMPED or has only integers, as a float as well. Others
    are written as a float, if one is equal, and without an exponent.
    """
    found: set[str] = set()
    for value in numbers.listed or ():
        is_whole = value.denominator == 1
        _check_places(value)
        figures = written(value)
        if len(figures) > MAX_FIGURES:
            _scientific(value if value > 0 else -value)  # raises LimitError if the digits are too many
        as_float = _float_text(value)
        if as_float is not None and _has_e(as_float) and not exponents:
            as_float = None
        found.add(figures)
        if not is_whole:
            found.add(as_float or figures)
        elif fractions and not numbers.spelled:
            found.add(as_float or f"{figures}.0")
    if not numbers.spelled & AS_INTEGERS:
        for value, text in numbers.own:
            if fractions or value.denominator != 1:
                found.update([one for one in (text, _float_text(value)) if one and (exponents or not _has_e(one))])
    return _one_text_of(sorted(found), 0) if found else _NONE


def _float_text(value: Number) -> str | None:
    """Return what `json.dumps` writes for the float that equals the number; None if no float does."""
    try:
        nearest = float(value)
    except OverflowError:
        return None
    return repr(nearest) if exact(nearest) == value else None


def _has_e(text: str) -> bool:
    return "e" in text or "E" in text


def _one_text_of(texts: list[str], start: int) -> Node:
    """Return the ends, from index `start` on, of these texts, which are sorted and equal before `start`."""
    first, last = texts[0], texts[-1]
    end = start
    while end < len(first) and first[end] == last[end]:
        end += 1
    head = Literal(first[start:end])
    if len(texts) == 1:
        return head
    alternatives: list[Node] = []
    if len(first) == end:
        alternatives.append(Literal(""))
        texts = texts[1:]
    while texts:
        n = sum([text[end] == texts[0][end] for text in texts])
        alternatives.append(_one_text_of(texts[:n], end))
        texts = texts[n:]
    return _seq(head, _any(alternatives))


def _values(values: list[Number], bound: Bound, style: int) -> Node:
    """Return the spellings of these positive numbers."""
    alternatives: list[Node] = []
    if style == ANY:
        by_place: dict[int, list[str]] = {}
        for value in values:
            place, figures = _scientific(value)
            by_place.setdefault(place, []).append(figures)
        for place, group in by_place.items():
            alternatives.append(And((_window(place, place, bound, ANY), _seq(_LEADING, _one_of(sorted(group), 0)))))
        return _any(alternatives)
    for value in values:
        place, figures = _scientific(value)
        if place <= 0:
            alternatives.append(_seq(Literal("0." + "0" * -place + figures), _some(_ZERO_DIGIT)))
        elif len(figures) > place:
            alternatives.append(_seq(Literal(f"{figures[:place]}.{figures[place:]}"), _some(_ZERO_DIGIT)))
        else:
            text = Literal(figures + "0" * (place - len(figures)))
            alternatives.append(text if style == WHOLE else _seq(text, _ZEROS))
    return _any(alternatives)


def _one_of(group: list[str], start: int) -> Node:
    """Return the texts that continue one of these significands from index `start`, with only zeros after it. The
    significands are sorted, and equal before `start`."""
    alternatives: list[Node] = []
    if len(group[0]) == start:
        alternatives.append(_ZERO_REST)
        group = group[1:]
    while group:
        first = group[0][start]
        n = sum([figures[start] == first for figures in group])
        alternatives.append(_seq(_POINT_HERE, Literal(first), _one_of(group[:n], start + 1)))
        group = group[n:]
    return _any(alternatives)


# Exponents


@lru_cache(maxsize=1024)
def _exponents(first: int | None, last: int | None, is_short: bool = False) -> Node:
    """Return the integers from `first` to `last` as exponents may be written, with signs and leading zeros. None is no
    bound. is_short: with at most as many digits as MOST_EXPONENT."""
    if is_short:
        return _short_exponents(-MOST_EXPONENT if first is None else first, MOST_EXPONENT if last is None else last)
    if first is None and last is None:
        return _seq(_opt(_SIGN), _SOME_DIGITS)
    alternatives: list[Node] = []
    if last is None or last >= 0:
        alternatives.append(_seq(_opt(Literal("+")), _naturals(0 if first is None else max(first, 0), last)))
    if first is None or first <= 0:
        least = 0 if last is None else max(-last, 0)
        alternatives.append(_seq(Literal("-"), _naturals(least, None if first is None else -first)))
    return _any(alternatives)


def _short_exponents(first: int, last: int) -> Node:
    alternatives: list[Node] = []
    for sign, least, most in ((_opt(Literal("+")), first, last), (Literal("-"), -last, -first)):
        low = max(least, 0)
        parts: list[Node] = []
        widths = range(1, len(str(MOST_EXPONENT)) + 1)
        whole = max([width for width in widths if low == 0 and most >= 10**width - 1], default=0)
        if whole:
            parts.append(_some(_DIGIT, 1, whole))
        for width in widths[whole:]:
            high = min(most, 10**width - 1)
            if low <= high:
                parts += _same_length(f"{low:0{width}}", f"{high:0{width}}")
        if parts:
            alternatives.append(_seq(sign, _any(parts)))
    return _any(alternatives) if alternatives else _NONE


def _naturals(first: int, last: int | None) -> Node:
    """Return the natural numbers from `first` to `last`, with leading zeros; `last` None is no bound."""
    if last is None:
        if first == 0:
            return _SOME_DIGITS
        length = len(str(first))
        alternatives = _same_length(str(first), "9" * length)
        alternatives.append(_seq(_FIRST, _some(_DIGIT, length)))
        return _seq(_some(_ZERO_DIGIT), _any(alternatives))
    alternatives = []
    length = len(str(first))
    while length < len(str(last)):
        alternatives += _same_length(str(first), "9" * length)
        first = 10**length
        length += 1
    alternatives += _same_length(str(first), str(last))
    return _seq(_some(_ZERO_DIGIT), _any(alternatives))


def _same_length(low: str, high: str) -> list[Node]:
    """Return the digit strings from `low` to `high`, which have the same length."""
    if low == high:
        return [Literal(low)]
    head, rest = ord(low[0]) - 48, low[1:]
    end, other = ord(high[0]) - 48, high[1:]
    length = len(rest)
    if not length:
        return [_digit(head, end)]
    if head == end:
        return [_seq(_digit(head, head), _any(_same_length(rest, other)))]
    alternatives: list[Node] = []
    if rest != "0" * length:
        alternatives.append(_seq(_digit(head, head), _any(_same_length(rest, "9" * length))))
        head += 1
    if other != "9" * length:
        alternatives.append(_seq(_digit(end, end), _any(_same_length("0" * length, other))))
        end -= 1
    if head <= end:
        alternatives.append(_seq(_digit(head, end), _some(_DIGIT, length, length)))
    return alternatives
