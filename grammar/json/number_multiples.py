"""The spellings of multiples of a number: automata of remainders, and statements about the last digits
(`number_spellings`)."""

from __future__ import annotations

from functools import lru_cache

from ...earley._meter import tick
from ...earley.errors import LimitError
from ..kept import kept_by_weight
from ..regex.ast import And, Automaton, Chars, Node, Union
from .number_bounds import compared, window
from .number_lists import values_tree
from .number_parts import (
    ANY_DIGITS,
    DIGIT,
    E_CHAR,
    FIRST,
    LEADING,
    NONZERO,
    NOTHING,
    POINT,
    POINT_HERE,
    WHOLE,
    WHOLE_PART,
    ZERO_DIGIT,
    ZERO_FRACTION,
    ZERO_REST,
    Bound,
    any_of,
    check_places,
    exponent_tree,
    kept,
    opt,
    scientific,
    seq,
    some,
)
from .numbers import Number, written

MAX_MODULUS = 1024
"""The most remainders that an automaton of multiples may distinguish. Beyond it, remainders are computed while a text
is read (`multiples`), unless the multiples are between two bounds and few."""

MAX_STATES = 4096
"""The most states of an automaton of remainders that counts digits, see `by_place`. Beyond it, the multiples are
written out one by one, or read by an automaton that does not count."""

KEPT_STATES = 8192
"""The most states of the automata that each cache remembers. A state takes about a kilobyte."""

MAX_PLACES = 20
"""The most places between two bounds of multiples for which `by_place` makes automata, one for each place."""

MAX_WRITTEN = 1024
"""The most multiples between two bounds that are written out one by one, if automata would be too large."""

SHOWN_DIGITS = 60
"""The most digits of a number that a message shows."""


class ManyRemainders(LimitError):
    """A `multipleOf` has more than MAX_MODULUS remainders."""


def _shown(number: Number) -> str:
    text = written(number)
    return text if len(text) <= SHOWN_DIGITS else f"{text[:SHOWN_DIGITS]}..."


def multiples_of(multiple: Number, zero: bool, high: Number | None, bound: Bound, style: int) -> list[Node]:
    """Return languages whose intersection is the multiples of a number, without sign, and zero if `zero`.

    Multiples above `high` may be missing; the caller excludes them anyway. For these, the core would have to search all
    digits that may follow for a multiple that does not exist.
    """
    q, factor, base, powers = _factored(multiple)
    if factor > MAX_MODULUS or base**powers > MAX_MODULUS:
        check_places(multiple)
        many = _shown(factor * base**powers)
        raise ManyRemainders(
            f"multiples of {_shown(multiple)}: {many} remainders, limit {MAX_MODULUS}; use a number with fewer digits"
        )
    alternatives: list[Node] = [
        And((_tens(q - v, zero, bound, style), _divisible(base ** (powers - v), True))) for v in range(powers)
    ]
    alternatives.append(_tens(q - powers, zero, bound, style))
    parts = [any_of(alternatives)]
    if factor != 1:
        parts.append(_divisible(factor, False))
    if high is not None:
        parts.append(_figures(max(scientific(high)[0] + q, 1)))  # as many digits as the greatest multiple has
    return parts


def _factored(multiple: Number) -> tuple[int, int, int, int]:
    """Return q, factor, base and powers of a positive number, which is factor * base^powers * 10^-q. The factor is
    divisible by neither 2 nor 5, and the base is 2 or 5."""
    place, figures = scientific(multiple)
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


@kept
def _figures(length: int) -> Node:
    """Return the texts whose significand has at most `length` digits without its trailing zeros."""
    return seq(LEADING, FIRST, some(seq(POINT_HERE, DIGIT), 0, length - 1), ZERO_REST)


@kept
def _tens(q: int, zero: bool, bound: Bound, style: int) -> Node:
    """Return the multiples of 10^-q without sign, and zero if `zero`. Without an exponent, these have at most q digits
    after the point, apart from trailing zeros."""
    if q >= 0:
        if q == 0 and style == WHOLE:
            return WHOLE_PART if zero else seq(FIRST, ANY_DIGITS)
        figures = some(ZERO_DIGIT, 1) if q == 0 else seq(some(DIGIT, 1, q), some(ZERO_DIGIT))
        fraction: Node = seq(POINT, figures)
        whole = seq(FIRST, ANY_DIGITS)
        below_one = seq(ZERO_DIGIT, opt(fraction) if zero else And((fraction, NONZERO)))
        alternatives: list[Node] = [seq(whole, opt(fraction))]
        if zero or q > 0:
            alternatives.append(below_one)
    else:
        whole = seq(FIRST, ANY_DIGITS, some(ZERO_DIGIT, -q, -q))
        alternatives = [whole if style == WHOLE else seq(whole, ZERO_FRACTION)]
        if zero:
            alternatives.append(ZERO_DIGIT if style == WHOLE else seq(ZERO_DIGIT, ZERO_FRACTION))
    if style:
        return any_of(alternatives)
    # With an exponent. If only zeros follow after n digits of the fraction, the exponent must be n - q or more. These n
    # digits may end in zeros as well, so a fraction may be read with several n.
    digits, shift, _ = bound
    node: Node = NOTHING
    for n in range(digits, -1, -1):
        here = seq(some(ZERO_DIGIT, 1 if n == 0 else 0), E_CHAR, exponent_tree(n - q, None))
        node = here if n == digits else Union((here, seq(DIGIT, node)))
    fraction = seq(POINT, node)
    # Without a fraction, the exponent must be -q or more; it may be less by n if the last n digits are zeros.
    for n in range(shift, 0, -1):
        here = seq(ZERO_FRACTION, E_CHAR, exponent_tree(-q - n, -q - n))
        node = here if n == shift else Union((here, seq(ZERO_DIGIT, node)))
    straight = seq(E_CHAR, exponent_tree(-q, None))
    alternatives.append(seq(FIRST, ANY_DIGITS, Union((straight, fraction, seq(ZERO_DIGIT, node)))))
    alternatives.append(seq(ZERO_DIGIT, Union((straight, fraction)) if zero else And((fraction, NONZERO))))
    return Union(tuple(alternatives))


@kept_by_weight(KEPT_STATES, lambda modulus, stripped: 2 * modulus)
def _divisible(modulus: int, stripped: bool) -> Node:
    """Return the texts whose significand is divisible by `modulus`; if `stripped`, without its trailing zeros.

    The state is the remainder of the digits read so far. If `stripped`, states from `modulus` on say that the digits up
    to the last one that was not zero were not divisible. The last state is that after `e`: it skips the exponent.
    """
    exponent = 2 * modulus if stripped else modulus
    states = []
    for state in range(exponent):
        tick()
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
            edges.append((E_CHAR, exponent))
        states.append((accepts, tuple(edges)))
    states.append((True, ((_REST_CHAR, exponent),)))
    return Automaton(tuple(states))


def by_place(multiple: Number, low: Number | None, high: Number, bound: Bound, style: int) -> Node | None:
    """Return the positive multiples between two bounds that are multiples themselves, as a union over the places of the
    first digit; None if this does not pay and `between` and `multiples_of` must be used.

    The place of the first digit determines how many digits follow. The multiples are the numbers whose significand,
    written with that many digits, leaves no remainder. This also covers powers of 2 and 5, and for every beginning of a
    number the automaton knows at once whether a multiple begins so.
    """
    place, figures = scientific(multiple)
    factor, q = int(figures), len(figures) - place  # multiple = factor * 10^-q
    last, _ = scientific(high)
    first = place if low is None else scientific(low)[0]
    if factor == 1:
        return None
    if last - first >= MAX_PLACES or (last + q) * factor > MAX_STATES:
        least = 1 if low is None else low // multiple
        most = high // multiple
        if most - least >= MAX_WRITTEN:
            return None
        return values_tree([count * multiple for count in range(least, most + 1)], bound, style)
    alternatives: list[Node] = []
    for place in range(first, last + 1):
        parts = [window(place, place, bound, style), _divisible_padded(factor, place + q)]
        if low is not None and place == first:
            parts.append(compared(scientific(low)[1], True, False))
        if place == last:
            parts.append(compared(scientific(high)[1], False, False))
        if style == WHOLE:
            parts.append(WHOLE_PART)
        alternatives.append(And(tuple(parts)))
    return any_of(alternatives)


@kept_by_weight(KEPT_STATES, lambda modulus, length: modulus * (length + 1))
def _divisible_padded(modulus: int, length: int) -> Node:
    """Return the texts whose significand has at most `length` digits, and is divisible when zeros are appended up to
    that length."""
    alive = [[remainder == 0 for remainder in range(modulus)]]  # by number of digits to come: may the text still end?
    while len(alive) <= length:
        alive.append([_leads(alive[-1], remainder) for remainder in range(modulus)])
    alive.reverse()  # now by number of digits read
    order = [(0, 0)]  # states: digits read, their remainder
    numbers = {(0, 0): 0}
    leaving: list[list[tuple[Chars, int]]] = []
    for n, remainder in order:  # grows while it is read
        tick()
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
        tick()
        if n and remainder * 10 ** (length - n) % modulus == 0:
            states.append((True, (*edges, (E_CHAR, exponent))))
        else:
            states.append((False, tuple(edges)))
    states.append((True, ((_REST_CHAR, exponent),)))
    return Automaton(tuple(states))


def _leads(alive: list[bool], remainder: int) -> bool:
    """Whether some digit leads from a remainder to one that is alive."""
    tick()
    modulus = len(alive)
    return any(alive[(remainder * 10 + digit) % modulus] for digit in range(10))


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
