"""Sets of numbers, as `type`, bounds, `multipleOf`, `enum` and their negations make them.

A set is a finite list of values, or it holds all finite decimals x for which

    minimum <= x <= maximum (either bound may be exclusive or missing),
    x is a multiple of `multiple` (of 1 for integers), if there is one,
    x is a multiple of none of `non_multiples`, and x is none of `excluded`.

Besides, a set may restrict how its members are spelled, since draft 4 distinguishes spellings: as an integer, without
fraction and exponent, or in any other way. And it may note how plain spellings write its members (DUMPED, `own`), which
says nothing about which numbers are members.

The intersection of two sets is a set, the complement of a set is a union of a few sets, and whether a set is empty is
decided exactly. Arithmetic is exact, on ints and Fractions. A float counts as the number that its `repr` shows, which
is what the schema says, up to digits that a double does not have. A Decimal counts as it is. A number that is no finite
decimal (1/3) cannot be a bound, since JSON cannot spell it.

`number_set` makes sets in a normal form: bounds of multiples are multiples themselves and inclusive, conditions that
follow from others are dropped, and a set with few values becomes the list of them. Equal normal forms are equal sets.
Different normal forms may still denote the same set: the list of the multiples of 2 that are no multiples of 4 is not
equal to the set with these conditions, if there are many of them.

`number_spellings` has the spellings in JSON.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import gcd
from typing import TYPE_CHECKING, Any

from ...earley._large import untrack
from ...earley._meter import tick
from ...earley.errors import LimitError
from ..loading import in_order

if TYPE_CHECKING:
    from collections.abc import Iterable

Number = int | Fraction
"""A finite decimal: an int if it is whole, otherwise a Fraction with a denominator 2^i 5^j."""

MAX_EXPONENT = 10_000
"""The most digits of a number, and the greatest exponent of ten in it. Beyond it, the exact number would take too much
memory, and LimitError is raised."""

MAX_LISTED = 16
"""A set of multiples between two bounds with at most this many members is kept as the list of them."""

IN_ALL_SPELLINGS, AS_INTEGERS, AS_DECIMALS, DUMPED = 0, 1, 2, 4
"""How members may be spelled. Spellings without fraction and exponent are those as integers, all others as decimals.
DUMPED is a bit of its own: plain spellings write whole members without fraction and exponent, as `json.dumps` writes an
int. A complement drops it."""

RESTRICTED = AS_INTEGERS | AS_DECIMALS
"""The bits of `NumberSet.spelled` that are a condition."""

MAX_SCANNED = 1 << 16
"""The most multiples between two bounds that are tried to find the members of a set. If none of them is a member, and
there are further multiples, LimitError is raised."""


def exact(value: Any) -> Number:
    """Return the exact number that an int, a float, a Decimal or a Fraction denotes.

    Raises TypeError for other types (bool is one), ValueError for numbers that are no finite decimals, LimitError
    beyond MAX_EXPONENT."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float):
        value = Decimal(float.__repr__(value))  # subclasses, such as numpy's, have another `repr`
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise ValueError(f"{value} is no finite number")
        sign, digits, exponent = value.as_tuple()
        assert isinstance(exponent, int)
        if not any(digits):
            return 0
        if abs(exponent) > MAX_EXPONENT or len(digits) > MAX_EXPONENT:
            raise LimitError(f"number {value:.10e} has an exponent or a number of digits beyond {MAX_EXPONENT}")
        whole = 0
        for digit in digits:
            whole = whole * 10 + digit
        if sign:
            whole = -whole
        if exponent >= 0:
            power: int = 10**exponent
            return whole * power
        return _plain(Fraction(whole, 10**-exponent))
    if isinstance(value, Fraction):
        rest = value.denominator
        for prime in (2, 5):
            while rest % prime == 0:
                rest //= prime
        if rest != 1:
            raise ValueError(f"{value} has no finite decimal expansion")
        return _plain(value)
    raise TypeError(f"{value!r} is no number")


class NumberSet:
    """A set of numbers in normal form; made by `number_set`. Immutable, compared and hashed by content. Garbage
    collections do not visit it: there may be as many as schemas, and it holds numbers and texts.

    Attributes:
        minimum, maximum: the bounds, or None.
        above, below: whether minimum and maximum are exclusive.
        multiple: a positive number of which all members are multiples, or None; 1 for integers.
        non_multiples: positive numbers of which no member is a multiple, ascending.
        excluded: numbers that fulfil all the conditions above and yet are no members, ascending.
        listed: all members, ascending, if they are few or were given as a list; the attributes above then mean nothing.
        spelled: IN_ALL_SPELLINGS, AS_INTEGERS (then all members are whole) or AS_DECIMALS; or one of them with DUMPED.
        own: pairs of a listed member and a spelling that the schema itself has for it, sorted.
    """

    __slots__ = (
        "_hash",
        "above",
        "below",
        "excluded",
        "listed",
        "maximum",
        "minimum",
        "multiple",
        "non_multiples",
        "own",
        "spelled",
    )
    minimum: Number | None
    maximum: Number | None
    above: bool
    below: bool
    multiple: Number | None
    non_multiples: tuple[Number, ...]
    excluded: tuple[Number, ...]
    listed: tuple[Number, ...] | None
    spelled: int
    own: tuple[tuple[Number, str], ...]

    def __init__(
        self,
        minimum: Number | None,
        maximum: Number | None,
        above: bool,
        below: bool,
        multiple: Number | None,
        non_multiples: tuple[Number, ...],
        excluded: tuple[Number, ...],
        listed: tuple[Number, ...] | None,
        spelled: int = IN_ALL_SPELLINGS,
        own: tuple[tuple[Number, str], ...] = (),
    ) -> None:
        self.minimum = minimum
        self.maximum = maximum
        self.above = above
        self.below = below
        self.multiple = multiple
        self.non_multiples = non_multiples
        self.excluded = excluded
        self.listed = listed
        self.spelled = spelled
        self.own = own
        self._hash = hash(self.key())
        untrack(self)

    def key(self) -> tuple[Any, ...]:
        """Return what equality compares."""
        if self.listed is not None:
            return (*self.listed, None, self.spelled, self.own) if self.spelled or self.own else self.listed
        return (
            self.minimum,
            self.maximum,
            self.above,
            self.below,
            self.multiple,
            self.non_multiples,
            self.excluded,
            self.spelled,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NumberSet) and self.key() == other.key()

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        how = ("", " as integers", " as decimals")[self.spelled & RESTRICTED] + " dumped" * (self.spelled >= DUMPED)
        if self.listed is not None:
            return f"NumberSet({{{', '.join(map(written, self.listed))}}}{how})"
        parts = []
        if self.minimum is not None:
            parts.append(f"{'>' if self.above else '>='} {written(self.minimum)}")
        if self.maximum is not None:
            parts.append(f"{'<' if self.below else '<='} {written(self.maximum)}")
        if self.multiple is not None:
            parts.append(f"multiple of {written(self.multiple)}")
        parts += [f"no multiple of {written(value)}" for value in self.non_multiples]
        if self.excluded:
            parts.append(f"none of {', '.join(map(written, self.excluded))}")
        return f"NumberSet({'; '.join(parts) or 'all'}{how})"

    def is_empty(self) -> bool:
        """Tell whether there is no member. This is exact: an empty set has the normal form EMPTY."""
        return self.listed is not None and not self.listed

    def contains(self, value: Any) -> bool:
        """Tell whether the number, as `exact` reads it, is a member in some spelling."""
        number = exact(value)
        if self.listed is not None:
            return number in self.listed
        if self.minimum is not None and (number < self.minimum or (self.above and number == self.minimum)):
            return False
        if self.maximum is not None and (number > self.maximum or (self.below and number == self.maximum)):
            return False
        if self.multiple is not None and number % self.multiple:
            return False
        return all(number % value for value in self.non_multiples) and number not in self.excluded

    def values(self, limit: int) -> tuple[Number, ...] | None:
        """Return all members in ascending order, or None if there are more than `limit` of them or too many
        candidates."""
        if self.listed is not None:
            return self.listed if len(self.listed) <= limit else None
        if self.multiple is None or self.minimum is None or self.maximum is None:
            return None
        found: list[Number] = []
        first, last = _over(self.minimum, self.multiple), _under(self.maximum, self.multiple)
        if last - first >= MAX_SCANNED:
            return None
        excluded = set(self.excluded)
        for count in range(first, last + 1):
            value = _plain(count * self.multiple)
            if value not in excluded and all(value % other for other in self.non_multiples):
                found.append(value)
                if len(found) > limit:
                    return None
        return tuple(found)

    def intersection(self, other: NumberSet) -> NumberSet:
        """Return the set of the numbers that are in both sets."""
        spelled = self.spelled | other.spelled
        if spelled & RESTRICTED == RESTRICTED:
            return EMPTY
        if self.listed is not None:
            return listed([value for value in self.listed if other.contains(value)], spelled, self.own + other.own)
        if other.listed is not None:
            return other.intersection(self)
        minimum, above = self.minimum, self.above
        if other.minimum is not None and (minimum is None or other.minimum >= minimum):
            above = other.above or (above and other.minimum == minimum)
            minimum = other.minimum
        maximum, below = self.maximum, self.below
        if other.maximum is not None and (maximum is None or other.maximum <= maximum):
            below = other.below or (below and other.maximum == maximum)
            maximum = other.maximum
        multiples = [value for value in (self.multiple, other.multiple) if value is not None]
        return number_set(
            minimum,
            maximum,
            above,
            below,
            multiples,
            self.non_multiples + other.non_multiples,
            self.excluded + other.excluded,
            spelled,
        )

    def complement(self) -> list[NumberSet]:
        """Return sets whose union is all numbers that are not in this set."""
        restricted = self.spelled & RESTRICTED
        if restricted:
            alike = number_set(spelled=restricted)
            found = [other.intersection(alike) for other in self.in_all_spellings().complement()]
            found.append(number_set(spelled=RESTRICTED ^ restricted))
            return [other for other in found if not other.is_empty()]
        if self.listed is not None:
            return [number_set(excluded=self.listed)]
        found = []
        if self.minimum is not None:
            found.append(number_set(maximum=self.minimum, below=not self.above))
        if self.maximum is not None:
            found.append(number_set(minimum=self.maximum, above=not self.below))
        if self.multiple is not None:
            found.append(number_set(non_multiples=(self.multiple,)))
        found += [number_set(multiples=(value,)) for value in self.non_multiples]
        if self.excluded:
            found.append(listed(self.excluded))
        return found

    def is_within(self, other: NumberSet) -> bool:
        """Tell whether all members, in all their spellings, are in the other set. False if that takes too much work."""
        if other.spelled & ~self.spelled & DUMPED or not set(self.own) <= set(other.own):
            return False
        try:
            return all(self.intersection(outside).is_empty() for outside in other.complement())
        except LimitError:
            tick()  # raises if the time is used up
            return False

    def in_all_spellings(self) -> NumberSet:
        """Return the set of the same numbers without a note or a condition on how they are spelled."""
        if self.listed is not None:
            return listed(self.listed)
        return NumberSet(
            self.minimum,
            self.maximum,
            self.above,
            self.below,
            self.multiple,
            self.non_multiples,
            self.excluded,
            None,
        )


def number_set(
    minimum: Any = None,
    maximum: Any = None,
    above: bool = False,
    below: bool = False,
    multiples: Iterable[Any] = (),
    non_multiples: Iterable[Any] = (),
    excluded: Iterable[Any] = (),
    spelled: int = IN_ALL_SPELLINGS,
) -> NumberSet:
    """Return the set, in normal form, of the numbers that fulfil all conditions. `exact` reads the numbers given.

    Integers are the multiples of 1, other numbers the non-multiples of 1.

    Raises ValueError for multiples that are not positive. Raises LimitError if the first MAX_SCANNED multiples between
    two bounds are all excluded by other conditions, and there are more.
    """
    low = None if minimum is None else exact(minimum)
    high = None if maximum is None else exact(maximum)
    multiple: Number | None = 1 if spelled & AS_INTEGERS else None
    for value in multiples:
        number = _positive(value)
        multiple = number if multiple is None else _common_multiple(multiple, number)
    barred = {_positive(value) for value in non_multiples}
    if low is None:
        above = False
    if high is None:
        below = False
    if multiple is not None:
        if low is not None:
            count = _over(low, multiple)
            low = _plain((count + 1 if above and count * multiple == low else count) * multiple)
            above = False
        if high is not None:
            count = _under(high, multiple)
            high = _plain((count - 1 if below and count * multiple == high else count) * multiple)
            below = False
        # k * multiple is a multiple of b iff k is a multiple of the numerator of b / multiple.
        barred = {_plain(Fraction(value) / multiple).numerator * multiple for value in barred}
        barred = {_plain(value) for value in barred}
        if multiple in barred:
            return EMPTY
    barred = {value for value in barred if not any(value != other and not value % other for other in barred)}
    if low is not None and high is not None and (low > high or (low == high and (above or below))):
        return EMPTY
    result = NumberSet(low, high, above, below, multiple, tuple(sorted(barred)), (), None, spelled)
    dropped = in_order({number for number in map(exact, excluded) if result.contains(number)})
    if dropped:
        result = NumberSet(low, high, above, below, multiple, result.non_multiples, tuple(dropped), None, spelled)
    if low is None or high is None:
        return result  # not empty: without bounds, k * multiple is a member if k = 1 modulo the numerators above
    if low == high:
        return listed([low] if result.contains(low) else [], spelled)
    if multiple is None:
        return result  # not empty: decimals are dense, multiples and single numbers are not
    return _few(result, dropped)


def _few(members: NumberSet, dropped: list[Number]) -> NumberSet:
    """Return a set of multiples between two bounds as it is, or as the list of its members if they are few.

    `dropped` are the multiples that `members` excludes one by one.
    """
    assert members.multiple is not None and members.minimum is not None and members.maximum is not None
    multiple = members.multiple
    first, last = _over(members.minimum, multiple), _under(members.maximum, multiple)
    if last - first <= MAX_LISTED + len(dropped) and not members.non_multiples:
        out = set(dropped)
        values = [value for k in range(first, last + 1) if (value := _plain(k * multiple)) not in out]
        return listed(values, members.spelled)
    if not members.non_multiples:
        return members
    found: list[Number] = []
    for k in range(first, min(last + 1, first + MAX_SCANNED)):
        value = _plain(k * multiple)
        if members.contains(value):
            found.append(value)
            if len(found) > MAX_LISTED:
                return members
    if last - first < MAX_SCANNED:
        return listed(found, members.spelled)
    if found:
        return members
    raise LimitError(
        f"cannot decide whether any multiple of {written(multiple)} is allowed: there are more than {MAX_SCANNED} "
        "candidates; use a smaller range"
    )


def listed(values: Iterable[Any], spelled: int = IN_ALL_SPELLINGS, own: Iterable[tuple[Number, str]] = ()) -> NumberSet:
    """Return the set of these numbers, which `exact` reads. Numbers that are not whole are dropped if `spelled` has
    AS_INTEGERS. `own` may have spellings of other numbers, which are dropped."""
    numbers: set[Number] = set()
    for index, value in enumerate(values):
        number = exact(value)
        if isinstance(number, int) or not spelled & AS_INTEGERS:
            numbers.add(number)
        if not ~index & 0xFF:
            tick()
    if not numbers:
        return EMPTY
    kept = tuple(sorted({pair for pair in own if pair[0] in numbers}))
    return NumberSet(None, None, False, False, None, (), (), tuple(in_order(numbers)), spelled, kept)


def written(number: Number) -> str:
    """Return the number in digits, without an exponent."""
    if number.denominator == 1:
        return str(number.numerator)
    shift = 0
    while number.denominator != 1:  # 2^i 5^j divides 10^max(i, j)
        number *= 10
        shift += 1
    figures = str(abs(number.numerator)).rjust(shift + 1, "0")
    return f"{'-' if number < 0 else ''}{figures[:-shift]}.{figures[-shift:]}"


def _plain(number: Number) -> Number:
    """Return a whole number as an int."""
    return number.numerator if number.denominator == 1 else number


def _positive(value: Any) -> Number:
    number = exact(value)
    if number <= 0:
        raise ValueError(f"multiples of {written(number)}: the number must be positive")
    return number


def _over(number: Number, unit: Number) -> int:
    """Return the least k with k * unit >= number."""
    return -_under(-number, unit)


def _under(number: Number, unit: Number) -> int:
    """Return the greatest k with k * unit <= number."""
    return number // unit


def _common_multiple(a: Number, b: Number) -> Number:
    """Return the positive number whose multiples are the common multiples of both: for fractions in lowest terms, the
    lcm of the numerators over the gcd of the denominators."""
    top = a.numerator * b.numerator // gcd(a.numerator, b.numerator)
    return _plain(Fraction(top, gcd(a.denominator, b.denominator)))


EMPTY = NumberSet(None, None, False, False, None, (), (), ())
ALL = NumberSet(None, None, False, False, None, (), (), None)
INTEGERS = NumberSet(None, None, False, False, 1, (), (), None)
WRITTEN_INTEGERS = NumberSet(None, None, False, False, 1, (), (), None, AS_INTEGERS)
"""The integers of draft 4: whole numbers that are spelled without fraction and exponent."""
PLAIN_INTEGERS = NumberSet(None, None, False, False, 1, (), (), None, DUMPED)
"""The integers of other drafts, if spellings are plain."""
