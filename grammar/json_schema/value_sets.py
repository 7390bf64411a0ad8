"""Sets of JSON values, and of arrays: conjunction, choice and negation, type by type."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, TypeVar

from ...earley._meter import tick
from ..json.numbers import RESTRICTED, listed
from .object_sets import ObjectSets
from .shapes import (
    ALL_VALUES,
    ANY_ARRAY,
    ANY_NUMBER,
    ANY_OBJECT,
    FALSE,
    REPEATS,
    TRUE,
    UNIQUE,
    ArrayShape,
    Contains,
    Values,
    bounded,
    smaller,
)
from .terms import OfAlgebra

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..json.numbers import NumberSet
    from .terms import Meaning

T = TypeVar("T")

MAX_COMPARED = 8
"""The most sets of numbers of a union that are compared with each other. In larger unions, none is dropped."""


class ValueSets(OfAlgebra):
    """The operations on values."""

    def __init__(self, algebra: Meaning) -> None:
        super().__init__(algebra)
        self.arrays = ArraySets(algebra)
        self.objects = ObjectSets(algebra)

    def intersection(self, left: Values, right: Values) -> Values:
        if left is ALL_VALUES:
            return right
        if right is ALL_VALUES:
            return left
        return Values(
            left.null and right.null,
            left.booleans & right.booleans,
            self.intersection_of_numbers(left.numbers, right.numbers),
            left.texts.intersection(right.texts),
            self.product(left.arrays, right.arrays, self.arrays.intersection, ANY_ARRAY),
            self.objects.intersection_of([left.objects, right.objects]),
        )

    def intersection_of(self, parts: list[Values]) -> Values:
        """Return what is in all of the parts."""
        if not any(len(part.objects) > 1 for part in parts):
            return reduce(self.intersection, parts, ALL_VALUES)
        # All objects are intersected at once: which clauses are multiplied out depends on all of them.
        found = reduce(self.intersection, [part._replace(objects=()) for part in parts])
        return found._replace(objects=self.objects.intersection_of([part.objects for part in parts]))

    def union(self, left: Values, right: Values) -> Values:
        return Values(
            left.null or right.null,
            left.booleans | right.booleans,
            widest(one_list(self.union_of_shapes(left.numbers, right.numbers, ANY_NUMBER))),
            left.texts.union(right.texts),
            self.union_of_shapes(left.arrays, right.arrays, ANY_ARRAY),
            self.objects.absorbed(self.union_of_shapes(left.objects, right.objects, ANY_OBJECT)),
        )

    def complement(self, values: Values) -> Values:
        numbers: tuple[NumberSet, ...] = (ANY_NUMBER,)
        for number in values.numbers:
            others = () if number == ANY_NUMBER else tuple(number.complement())
            numbers = self.intersection_of_numbers(numbers, others)
        arrays: tuple[ArrayShape, ...] = (ANY_ARRAY,)
        for array in values.arrays:
            arrays = self.product(arrays, self.arrays.complement(array), self.arrays.intersection, ANY_ARRAY)
        objects = self.objects.complement_of(values.objects)
        return Values(not values.null, 3 & ~values.booleans, numbers, values.texts.complement(), arrays, objects)

    def intersection_of_numbers(
        self, left: tuple[NumberSet, ...], right: tuple[NumberSet, ...]
    ) -> tuple[NumberSet, ...]:
        return widest(self.product(left, right, _intersection_of_numbers, ANY_NUMBER))

    def union_of_shapes(self, left: tuple[T, ...], right: tuple[T, ...], anything: T) -> tuple[T, ...]:
        if not left or right == (anything,):
            return right
        if not right or left == (anything,):
            return left
        return bounded(tuple(dict.fromkeys(left + right)))

    def product(
        self, left: tuple[T, ...], right: tuple[T, ...], both: Callable[[T, T], T | None], anything: T
    ) -> tuple[T, ...]:
        """Return what is in one of `left` and one of `right`."""
        if left == (anything,):
            return right
        if right == (anything,):
            return left
        # A shape of both unions is in the result, and with it all its intersections with other shapes.
        found = {one: True for one in left if one in right}
        others = [one for one in right if one not in found]
        for one in left:
            if one in found:
                continue
            tick()
            for other in others:
                shape = both(one, other)
                if shape is not None:
                    found[shape] = True
            bounded(tuple(found))
        return tuple(found)


class ArraySets(OfAlgebra):
    """The operations on shapes of arrays."""

    def intersection(self, left: ArrayShape, right: ArrayShape) -> ArrayShape | None:
        """Return the arrays of both shapes; None if it is quick to see that there are none."""
        intersection = self.algebra.intersection
        n = max(len(left.prefix), len(right.prefix))
        prefix = [intersection(left.item(index), right.item(index)) for index in range(n)]
        contains = left.contains + tuple([part for part in right.contains if part not in left.contains])
        return self.shape(
            prefix,
            intersection(left.rest, right.rest),
            max(left.least, right.least),
            smaller(left.most, right.most),
            contains,
            left.unique | right.unique,
        )

    def shape(
        self,
        prefix: list[int],
        rest: int,
        least: int,
        most: int | None,
        contains: tuple[Contains, ...],
        unique: int,
    ) -> ArrayShape | None:
        """Return the shape in a simple form; None if it is quick to see that no array has it."""
        is_nothing = self.algebra.is_nothing
        if unique == UNIQUE | REPEATS:
            return None
        for index, item in enumerate(prefix):
            if is_nothing(item):
                most = smaller(most, index)
                break
        if is_nothing(rest):
            most = smaller(most, len(prefix))
        if most is not None:
            if least > most:
                return None
            del prefix[most:]
            if len(prefix) == most:
                rest = FALSE
            if most <= 1:  # there are no two items
                if unique == REPEATS:
                    return None
                unique = 0
        while prefix and prefix[-1] == rest:
            del prefix[-1]
        needed = []
        for part in contains:
            if part.least == 0:
                if part.most is None:
                    continue
                if part.most == 0:  # no item from there on is of it
                    items = prefix + [rest] * (part.begin - len(prefix))
                    for index in range(part.begin, len(items)):
                        items[index] = self.algebra.intersection(items[index], part.item ^ 1)
                    others = tuple([one for one in contains if one is not part])
                    return self.shape(
                        items, self.algebra.intersection(rest, part.item ^ 1), least, most, others, unique
                    )
            if part.most is not None and part.least > part.most:
                return None
            if part.least > 0 and is_nothing(part.item):
                return None
            if most is not None and part.least > max(most - part.begin, 0):
                return None
            needed.append(part)
        return ArrayShape(tuple(prefix), rest, least, most, tuple(needed), unique)

    def complement(self, shape: ArrayShape) -> tuple[ArrayShape, ...]:
        """Return the arrays that do not have the shape."""
        found = []
        for index, item in enumerate(shape.prefix):
            if item != TRUE:
                found.append(ArrayShape((TRUE,) * index + (item ^ 1,), least=index + 1))
        if shape.rest != TRUE:
            n = len(shape.prefix)
            if shape.rest == FALSE:
                found.append(ArrayShape(least=n + 1))
            else:
                found.append(ArrayShape(least=n + 1, contains=(Contains(shape.rest ^ 1, 1, None, n),)))
        if shape.least > 0:
            found.append(ArrayShape(most=shape.least - 1, rest=FALSE if shape.least == 1 else TRUE))
        if shape.most is not None and shape.rest != FALSE:
            found.append(ArrayShape(least=shape.most + 1))
        for item, least, most, begin in shape.contains:
            if least > 0:
                made = self.shape([], TRUE, 0, None, (Contains(item, 0, least - 1, begin),), 0)
                if made is not None:
                    found.append(made)
            if most is not None:
                found.append(ArrayShape(contains=(Contains(item, most + 1, None, begin),)))
        if shape.unique:
            # Arrays whose items are not as demanded are in the other shapes, so here the items remain few.
            found.append(shape._replace(contains=(), unique=UNIQUE ^ REPEATS ^ shape.unique))
        return bounded(tuple(dict.fromkeys(found)))


def one_list(numbers: tuple[NumberSet, ...]) -> tuple[NumberSet, ...]:
    """Return the union with all listed numbers that are written in the same way in one set."""
    if len(numbers) < 2:
        return numbers
    lists: dict[int, list[NumberSet]] = {}
    others = []
    for one in numbers:
        if one.listed is None or one.spelled & RESTRICTED:
            others.append(one)
        else:
            lists.setdefault(one.spelled, []).append(one)
    if len(lists) + len(others) == len(numbers):
        return numbers
    found = []
    for spelled, alike in lists.items():
        values = [value for one in alike for value in one.listed or ()]
        found.append(listed(values, spelled, [pair for one in alike for pair in one.own]))
    return (*found, *others)


def widest(numbers: tuple[NumberSet, ...]) -> tuple[NumberSet, ...]:
    """Return a union of few sets without those that are within others: a parser follows all of them, and remainders
    multiply."""
    if not 1 < len(numbers) <= MAX_COMPARED:
        return numbers
    left = list(numbers)
    for one in numbers:
        if any(other is not one and one.is_within(other) for other in left):
            left.remove(one)
    return tuple(left)


def _intersection_of_numbers(left: NumberSet, right: NumberSet) -> NumberSet | None:
    both = left.intersection(right)
    return None if both.is_empty() else both
