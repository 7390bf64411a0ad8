"""Sets of arrays: unions of shapes, and what conjunction and negation make of them."""

from __future__ import annotations

from .shapes import FALSE, REPEATS, TRUE, UNIQUE, ArrayShape, Contains, OfAlgebra, bounded, smaller


class ArraySets(OfAlgebra):
    """The operations on shapes of arrays."""

    def both(self, left: ArrayShape, right: ArrayShape) -> ArrayShape | None:
        """Arrays of both shapes; None if there are none, as far as is seen at once."""
        both = self.algebra.both
        n = max(len(left.prefix), len(right.prefix))
        prefix = [both(left.item(index), right.item(index)) for index in range(n)]
        contains = left.contains + tuple([part for part in right.contains if part not in left.contains])
        return self.shape(
            prefix,
            both(left.rest, right.rest),
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
        """The shape in a simple form; None if no array has it, as far as is seen at once."""
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
                        items[index] = self.algebra.both(items[index], part.item ^ 1)
                    others = tuple([one for one in contains if one is not part])
                    return self.shape(items, self.algebra.both(rest, part.item ^ 1), least, most, others, unique)
            if part.most is not None and part.least > part.most:
                return None
            if part.least > 0 and is_nothing(part.item):
                return None
            if most is not None and part.least > max(most - part.begin, 0):
                return None
            needed.append(part)
        return ArrayShape(tuple(prefix), rest, least, most, tuple(needed), unique)

    def complement(self, shape: ArrayShape) -> tuple[ArrayShape, ...]:
        """Arrays that are not of the shape."""
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
            # Those whose items are not as demanded are among the others: so the values remain few.
            found.append(shape._replace(contains=(), unique=UNIQUE ^ REPEATS ^ shape.unique))
        return bounded(tuple(dict.fromkeys(found)))
