"""Sets of JSON values, type by type: conjunction, choice and negation."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, TypeVar

from ..json.numbers import listed
from .array_sets import ArraySets
from .object_sets import ObjectSets
from .shapes import ALL_VALUES, ANY_ARRAY, ANY_NUMBER, ANY_OBJECT, OfAlgebra, Values, bounded

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..json.numbers import NumberSet
    from .algebra import Algebra
    from .shapes import ArrayShape

T = TypeVar("T")

MAX_COMPARED = 8
"""Sets of numbers of a union that are compared with one another."""


class ValueSets(OfAlgebra):
    """The operations on values."""

    def __init__(self, algebra: Algebra) -> None:
        super().__init__(algebra)
        self.arrays = ArraySets(algebra)
        self.objects = ObjectSets(algebra)

    def both(self, left: Values, right: Values) -> Values:
        if left is ALL_VALUES:
            return right
        if right is ALL_VALUES:
            return left
        return Values(
            left.null and right.null,
            left.booleans & right.booleans,
            self.both_numbers(left.numbers, right.numbers),
            left.texts & right.texts,
            self.product(left.arrays, right.arrays, self.arrays.both, ANY_ARRAY),
            self.objects.all_of([left.objects, right.objects]),
        )

    def all_of(self, parts: list[Values]) -> Values:
        """What is in all of the parts."""
        if not any(len(part.objects) > 1 for part in parts):
            return reduce(self.both, parts, ALL_VALUES)
        # Of objects all are looked at together: what is multiplied out depends on what is known of them.
        found = reduce(self.both, [part._replace(objects=()) for part in parts])
        return found._replace(objects=self.objects.all_of([part.objects for part in parts]))

    def either(self, left: Values, right: Values) -> Values:
        return Values(
            left.null or right.null,
            left.booleans | right.booleans,
            widest(one_list(self.united(left.numbers, right.numbers, ANY_NUMBER))),
            left.texts | right.texts,
            self.united(left.arrays, right.arrays, ANY_ARRAY),
            self.objects.absorbed(self.united(left.objects, right.objects, ANY_OBJECT)),
        )

    def none(self, values: Values) -> Values:
        """The complement."""
        numbers: tuple[NumberSet, ...] = (ANY_NUMBER,)
        for number in values.numbers:
            others = () if number == ANY_NUMBER else tuple(number.complement())
            numbers = self.both_numbers(numbers, others)
        arrays: tuple[ArrayShape, ...] = (ANY_ARRAY,)
        for array in values.arrays:
            arrays = self.product(arrays, self.arrays.complement(array), self.arrays.both, ANY_ARRAY)
        objects = self.objects.none_of(values.objects)
        return Values(not values.null, 3 & ~values.booleans, numbers, ~values.texts, arrays, objects)

    def both_numbers(self, left: tuple[NumberSet, ...], right: tuple[NumberSet, ...]) -> tuple[NumberSet, ...]:
        return widest(self.product(left, right, _both_numbers, ANY_NUMBER))

    def united(self, left: tuple[T, ...], right: tuple[T, ...], anything: T) -> tuple[T, ...]:
        if not left or right == (anything,):
            return right
        if not right or left == (anything,):
            return left
        return bounded(tuple(dict.fromkeys(left + right)))

    def product(
        self, left: tuple[T, ...], right: tuple[T, ...], both: Callable[[T, T], T | None], anything: T
    ) -> tuple[T, ...]:
        """What is in one of `left` and one of `right`."""
        if left == (anything,):
            return right
        if right == (anything,):
            return left
        # What is in both is in the conjunction, and all that is within it by what it meets there is, too.
        found = {one: True for one in left if one in right}
        others = [one for one in right if one not in found]
        for one in left:
            if one in found:
                continue
            self.algebra.look()
            for other in others:
                shape = both(one, other)
                if shape is not None:
                    found[shape] = True
            bounded(tuple(found))
        return tuple(found)


def one_list(numbers: tuple[NumberSet, ...]) -> tuple[NumberSet, ...]:
    """The union with what is listed in one set."""
    if len(numbers) < 2 or sum([one.listed is not None and not one.spelled for one in numbers]) < 2:
        return numbers
    values = [value for one in numbers if one.listed is not None and not one.spelled for value in one.listed]
    return (listed(values), *[one for one in numbers if one.listed is None or one.spelled])


def widest(numbers: tuple[NumberSet, ...]) -> tuple[NumberSet, ...]:
    """The union without sets that are within others, if it is one of few: a parser follows all of them, and remainders
    multiply."""
    if not 1 < len(numbers) <= MAX_COMPARED:
        return numbers
    left = list(numbers)
    for one in numbers:
        if any(other is not one and one.is_within(other) for other in left):
            left.remove(one)
    return tuple(left)


def _both_numbers(left: NumberSet, right: NumberSet) -> NumberSet | None:
    both = left.intersection(right)
    return None if both.is_empty() else both
