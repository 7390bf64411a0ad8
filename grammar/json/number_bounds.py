"""The spellings of numbers between two bounds, and of all numbers: windows of places, and comparisons of significands
(`number_spellings`)."""

from __future__ import annotations

from ..regex.ast import Literal, Node, Union
from .number_parts import (
    ANY_DIGITS,
    ANY_EXPONENT,
    ANY_FRACTION,
    DIGIT,
    E_CHAR,
    FIRST,
    LARGEST,
    LEADING,
    MAX_FIGURES,
    MINUS,
    MOST_PLACES,
    NONZERO,
    NOTHING,
    POINT,
    POINT_HERE,
    REST,
    SIGN,
    SOME_DIGITS,
    WHOLE,
    WHOLE_PART,
    ZERO_DIGIT,
    ZERO_FRACTION,
    ZERO_REST,
    Bound,
    all_of,
    any_of,
    digit_from,
    exponent_tree,
    kept,
    n_figures,
    opt,
    same_length,
    scientific,
    seq,
    some,
)
from .numbers import Number

NUMBER: Node = seq(MINUS, WHOLE_PART, ANY_FRACTION, ANY_EXPONENT)
"""Any number, as RFC 8259 spells it."""

_PLAIN_NUMBER = seq(MINUS, WHOLE_PART, ANY_FRACTION)


@kept
def any_number(bound: Bound, style: int) -> Node:
    """Return all numbers. With plain spellings and the usual bound it is the regex that `prepare` prepares."""
    _, shift, most = bound
    if most is None:
        return _PLAIN_NUMBER if style else NUMBER
    plain = seq(Union((ZERO_DIGIT, seq(FIRST, some(DIGIT, 0, most - 1)))), ANY_FRACTION)
    if style:
        return seq(MINUS, plain)
    cap = _greatest_exponent(shift)
    few = seq(Union((ZERO_DIGIT, seq(FIRST, some(DIGIT, 0, shift - 1)))), ANY_FRACTION, E_CHAR)
    one = seq(FIRST, ANY_FRACTION, E_CHAR, opt(Literal("+")), any_of(same_length(str(cap + 1), str(most - 1))))
    exponents = exponent_tree(None, cap, True)
    return seq(MINUS, Union((plain, seq(few, exponents), one, _nearly_largest(most))))


def _greatest_exponent(shift: int) -> int:
    """Return the greatest exponent that plain spellings have after up to `shift` digits."""
    return min(300, MOST_PLACES - shift)


def zero_tree(bound: Bound, style: int) -> Node:
    if style == WHOLE:
        return seq(MINUS, ZERO_DIGIT)
    if style:
        return seq(MINUS, ZERO_DIGIT, ZERO_FRACTION)
    if bound[2] is None:
        return seq(MINUS, ZERO_DIGIT, ZERO_FRACTION, ANY_EXPONENT)
    return seq(
        MINUS, ZERO_DIGIT, ZERO_FRACTION, opt(seq(E_CHAR, exponent_tree(None, _greatest_exponent(bound[1]), True)))
    )


@kept
def counted(bound: Bound, style: int) -> Node:
    """Return the spellings in which all digits are counted."""
    if style:
        return seq(WHOLE_PART, ANY_FRACTION)
    digits, shift, _ = bound
    whole = seq(FIRST, some(DIGIT, 0, shift - 1), opt(seq(POINT, some(DIGIT, 1, digits))))
    fractions = [seq(Literal("0." + "0" * n), FIRST, some(DIGIT, 0, digits - n - 1)) for n in range(shift)]
    exponent = seq(E_CHAR, opt(SIGN), SOME_DIGITS)
    return Union((seq(WHOLE_PART, ANY_FRACTION), seq(Union((whole, *fractions)), exponent)))


def between(
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
        first, figures = scientific(low)
        at_low = None if figures == "1" and not above else compared(figures, True, above)
    if high is not None:
        last, figures = scientific(high)
        if low is not None and first == last:
            parts = [window(first, last, bound, style)]
            if at_low is not None:
                parts.append(at_low)
            return all_of([*parts, compared(figures, False, below)])
        alternatives.append(all_of([window(last, last, bound, style), compared(figures, False, below)]))
        last -= 1
    if low is not None and at_low is not None:
        assert first is not None
        alternatives.append(all_of([window(first, first, bound, style), at_low]))
        first += 1
    if first is None or last is None or first <= last:
        alternatives.insert(0, window(first, last, bound, style))
    return any_of(alternatives)


def rounded(bound: Number | None, step: Number) -> tuple[Number | None, bool]:
    """Return a bound of multiples with few digits, and whether it is exclusive.

    `bound` is an inclusive bound and a multiple itself. If it has too many digits, and the multiple one `step` beyond
    it has few, that one is returned as an exclusive bound: less than 10^308 instead of at most 999...9."""
    if bound is None or n_figures(bound) <= MAX_FIGURES or n_figures(bound + step) > MAX_FIGURES:
        return bound, False
    return bound + step, True


@kept
def compared(figures: str, more: bool, strictly: bool) -> Node:
    """Return the texts whose significand is at least `figures` (or, unless `more`, at most), if both are read as the
    digits after a point. `strictly` excludes equal ones."""
    if more:
        node = NONZERO if strictly else REST
    else:
        node = NOTHING if strictly else ZERO_REST
    for i in range(len(figures) - 1, -1, -1):
        figure = ord(figures[i]) - 48
        alternatives = []
        if node is not NOTHING:
            alternatives.append(seq(POINT_HERE, digit_from(figure, figure), node))
        if more and figure < 9:
            alternatives.append(seq(POINT_HERE, digit_from(figure + 1, 9), REST))
        least = 1 if i == 0 else 0  # a significand begins with no zero
        if not more and figure > least:
            alternatives.append(seq(POINT_HERE, digit_from(least, figure - 1), REST))
        if not more and i > 0:
            alternatives.append(ZERO_REST)  # a proper prefix of `figures` is less
        node = any_of(alternatives) if alternatives else NOTHING
    return seq(LEADING, node)


@kept
def window(first: int | None, last: int | None, bound: Bound, style: int) -> Node:
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
        whole = seq(FIRST, some(DIGIT, more, None if last is None else last - 1))
        if style == WHOLE:
            return whole
        alternatives.append(seq(whole, ANY_FRACTION))
    elif style == WHOLE:
        return NOTHING
    if first is None or first <= 0:
        zeros = 0 if last is None else max(-last, 0)
        zero_run = some(ZERO_DIGIT, zeros, None if first is None else -first)
        alternatives.append(seq(Literal("0."), zero_run, FIRST, ANY_DIGITS))
    return any_of(alternatives)


def _with_exponent(first: int | None, last: int | None, bound: Bound) -> list[Node]:
    """Return the alternatives of `window` that have an exponent. It moves the first digit, which is at place n with n
    digits before the point, and at place -n with n zeros after it."""
    _, shift, most = bound
    is_short = most is not None
    found: list[Node] = []
    if last is None and most is not None:
        last = most
        found.append(_nearly_largest(most))
    cap = _greatest_exponent(shift) if is_short else None
    node: Node = NOTHING
    for n in range(shift, 0, -1):
        here = seq(
            ANY_FRACTION,
            E_CHAR,
            exponent_tree(_less(first, n), _capped(_less(last, n), None if n == 1 else cap), is_short),
        )
        node = here if n == shift else Union((here, seq(DIGIT, node)))
    found.append(seq(FIRST, node))
    for n in range(shift - 1, -1, -1):
        here = seq(FIRST, ANY_DIGITS, E_CHAR, exponent_tree(_less(first, -n), _capped(_less(last, -n), cap), is_short))
        node = here if n == shift - 1 else Union((here, seq(ZERO_DIGIT, node)))
    found.append(seq(Literal("0."), node))
    return found


def _capped(last: int | None, cap: int | None) -> int | None:
    return last if cap is None or last is None else min(last, cap)


def _nearly_largest(most: int) -> Node:
    """Return the numbers from 10^most up to the largest double."""
    return seq(_up_to_largest(), E_CHAR, opt(Literal("+")), Literal(str(most)))


@kept
def _up_to_largest() -> Node:
    """Return the numbers with one digit before the point, a 1, that are at most LARGEST, read with that point."""
    body = NOTHING
    for char in reversed(LARGEST[1:]):
        figure = ord(char) - 48  # never 0
        rest = some(ZERO_DIGIT) if body is NOTHING else opt(body)
        body = Union((seq(digit_from(0, figure - 1), ANY_DIGITS), seq(digit_from(figure, figure), rest)))
    return seq(Literal(LARGEST[0]), opt(seq(POINT, body)))


@kept
def _nonzero(style: int) -> Node:
    mantissa = Union((seq(FIRST, ANY_DIGITS, ANY_FRACTION), seq(Literal("0."), some(ZERO_DIGIT), FIRST, ANY_DIGITS)))
    return mantissa if style else seq(mantissa, ANY_EXPONENT)


def _less(place: int | None, n: int) -> int | None:
    return None if place is None else place - n
