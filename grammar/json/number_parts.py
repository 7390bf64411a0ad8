"""The parts of which the spellings of numbers are made (`number_spellings`): digits, signs and exponents as trees,
numbers in scientific notation, and the bounds that all trees share."""

from __future__ import annotations

from functools import lru_cache

from ...earley.errors import LimitError
from ..regex.ast import And, Chars, Concat, Literal, Node, Repeat, Union
from .numbers import Number, written

MAX_PLACE = 2000
"""The most digits of a bound before its point, and the most zeros after it: each of them costs a node or is counted.
Beyond it, LimitError is raised."""

MAX_FIGURES = 150
"""The most significant digits of a number in a schema: a tree becomes as deep as the number is long. Beyond it,
LimitError is raised."""

MOST_PLACES = 308
"""With plain spellings, the most digits before the point: all numbers below 10^308 are finite in double precision.
Beside an exponent of at most three digits, `shift` digits stand before the point, and the exponent is at most 300 (less
by as much as `shift` is above 8); with one digit before the point, numbers up to the largest double are spelled. Where
a schema demands greater numbers, there is no such bound."""

FAR = 10**290
"""Bounds and multiples from here on are too close to 10^308 to show at once that there are numbers below it."""

LARGEST = "17976931348623157"
"""The digits of the largest double, which is about 1.8 * 10^308."""

MOST_EXPONENT = 999
"""With plain spellings, the greatest exponent, and the smallest one without its sign: of three digits."""

Bound = tuple[int, int, int | None]  # digits, shift; MOST_PLACES, or None if the places are not bounded

ANY, PLAIN, WHOLE = range(3)
"""Styles: all spellings; those without an exponent; those without an exponent in which integers have no fraction."""

kept = lru_cache(maxsize=256)


def digit_from(first: int, last: int) -> Node:
    return Chars(((48 + first, 48 + last),))


def some(body: Node, minimum: int = 0, maximum: int | None = None) -> Node:
    return Repeat(body, minimum, maximum)


def seq(*parts: Node) -> Node:
    return Concat(parts)


def any_of(alternatives: list[Node]) -> Node:
    return alternatives[0] if len(alternatives) == 1 else Union(tuple(alternatives))


def all_of(parts: list[Node]) -> Node:
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def opt(body: Node) -> Node:
    return Repeat(body, 0, 1)


NOTHING: Node = Chars(())
DIGIT = digit_from(0, 9)
FIRST = digit_from(1, 9)
ZERO_DIGIT = Literal("0")
E_CHAR = Chars(((69, 69), (101, 101)))
SIGN = Chars(((43, 43), (45, 45)))
ANY_DIGITS = some(DIGIT)
SOME_DIGITS = some(DIGIT, 1)
ANY_EXPONENT = opt(seq(E_CHAR, opt(SIGN), SOME_DIGITS))
WHOLE_PART = Union((ZERO_DIGIT, seq(FIRST, ANY_DIGITS)))
MINUS = opt(Literal("-"))
POINT = Literal(".")
POINT_HERE = opt(POINT)
ANY_FRACTION = opt(seq(POINT, SOME_DIGITS))
ZERO_FRACTION = opt(seq(POINT, some(ZERO_DIGIT, 1)))  # a fraction of zero
REST = some(Chars(((43, 43), (45, 46), (48, 57), (69, 69), (101, 101))))  # if another tree checks the syntax
LEADING = some(Chars(((46, 46), (48, 48))))  # zeros, and a point somewhere
ZERO_REST = seq(LEADING, opt(seq(E_CHAR, REST)))
NONZERO = seq(LEADING, FIRST, REST)


def check_places(number: Number) -> None:
    """Raise LimitError for a number with far more digits than the limit, before its digits are written and counted."""
    if max(abs(number.numerator), number.denominator).bit_length() > 4 * MAX_PLACE:  # a digit takes 3.3 bits
        raise LimitError(f"a number has more than {MAX_PLACE} digits before or after its point")


def n_figures(number: Number) -> int:
    check_places(number)
    return len(written(number).replace(".", "").strip("-0"))


def scientific(number: Number) -> tuple[int, str]:
    """Return the place of a positive number's first digit, and its significand without trailing zeros."""
    check_places(number)
    whole, _, fraction = written(number).partition(".")
    figures = (whole + fraction).lstrip("0")
    place = len(figures) - len(fraction)
    if abs(place) > MAX_PLACE:
        raise LimitError(f"a number has more than {MAX_PLACE} digits before or after its point")
    figures = figures.rstrip("0")
    if len(figures) > MAX_FIGURES:
        raise LimitError(f"a number has {len(figures)} significant digits, limit {MAX_FIGURES}; round it")
    return place, figures


@lru_cache(maxsize=1024)
def exponent_tree(first: int | None, last: int | None, is_short: bool = False) -> Node:
    """Return the integers from `first` to `last` as exponents may be written, with signs and leading zeros. None is no
    bound. is_short: with at most as many digits as MOST_EXPONENT."""
    if is_short:
        return _short_exponents(-MOST_EXPONENT if first is None else first, MOST_EXPONENT if last is None else last)
    if first is None and last is None:
        return seq(opt(SIGN), SOME_DIGITS)
    alternatives: list[Node] = []
    if last is None or last >= 0:
        alternatives.append(seq(opt(Literal("+")), _naturals(0 if first is None else max(first, 0), last)))
    if first is None or first <= 0:
        least = 0 if last is None else max(-last, 0)
        alternatives.append(seq(Literal("-"), _naturals(least, None if first is None else -first)))
    return any_of(alternatives)


def _short_exponents(first: int, last: int) -> Node:
    alternatives: list[Node] = []
    for sign, least, most in ((opt(Literal("+")), first, last), (Literal("-"), -last, -first)):
        low = max(least, 0)
        parts: list[Node] = []
        widths = range(1, len(str(MOST_EXPONENT)) + 1)
        whole = max([width for width in widths if low == 0 and most >= 10**width - 1], default=0)
        if whole:
            parts.append(some(DIGIT, 1, whole))
        for width in widths[whole:]:
            high = min(most, 10**width - 1)
            if low <= high:
                parts += same_length(f"{low:0{width}}", f"{high:0{width}}")
        if parts:
            alternatives.append(seq(sign, any_of(parts)))
    return any_of(alternatives) if alternatives else NOTHING


def _naturals(first: int, last: int | None) -> Node:
    """Return the natural numbers from `first` to `last`, with leading zeros; `last` None is no bound."""
    if last is None:
        if first == 0:
            return SOME_DIGITS
        length = len(str(first))
        alternatives = same_length(str(first), "9" * length)
        alternatives.append(seq(FIRST, some(DIGIT, length)))
        return seq(some(ZERO_DIGIT), any_of(alternatives))
    alternatives = []
    length = len(str(first))
    while length < len(str(last)):
        alternatives += same_length(str(first), "9" * length)
        first = 10**length
        length += 1
    alternatives += same_length(str(first), str(last))
    return seq(some(ZERO_DIGIT), any_of(alternatives))


def same_length(low: str, high: str) -> list[Node]:
    """Return the digit strings from `low` to `high`, which have the same length."""
    if low == high:
        return [Literal(low)]
    head, rest = ord(low[0]) - 48, low[1:]
    end, other = ord(high[0]) - 48, high[1:]
    length = len(rest)
    if not length:
        return [digit_from(head, end)]
    if head == end:
        return [seq(digit_from(head, head), any_of(same_length(rest, other)))]
    alternatives: list[Node] = []
    if rest != "0" * length:
        alternatives.append(seq(digit_from(head, head), any_of(same_length(rest, "9" * length))))
        head += 1
    if other != "9" * length:
        alternatives.append(seq(digit_from(end, end), any_of(same_length("0" * length, other))))
        end -= 1
    if head <= end:
        alternatives.append(seq(digit_from(head, end), some(DIGIT, length, length)))
    return alternatives
