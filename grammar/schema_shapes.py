"""What a schema allows, type by type: `Values`, and the shapes of arrays and objects.

A set of JSON values is the union of its nulls, booleans, numbers, strings, arrays and objects; each part is closed
under `&`, `|` and `~` by itself. Sets of texts are so by themselves (`schema_strings`). Of numbers, arrays and
objects a set is a union of *shapes*, each of which is what all of its demands allow (of numbers: `json_numbers`). A
demand that is negated is a shape again ("some item is no S", "more than 3 members"), so the complement of a shape is
a union of shapes and that of a union is the intersection of such: the disjunctive normal form, whose size is bounded
(`MAX_SHAPES`).

What is demanded of items and members is a *term* of `schema_algebra`, a number; what it means is worked out when a
text or another shape comes to it. So recursion closes: the shapes of a schema refer to finitely many terms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar
from weakref import ref

from .errors import GrammarLimitError
from .json_numbers import ALL, NumberSet
from .schema_strings import ALL_TEXTS, NO_TEXTS, Texts, Words

if TYPE_CHECKING:
    from collections.abc import Callable

    from .schema_algebra import Algebra

T = TypeVar("T")

MAX_SHAPES = 1 << 10
"""Of one type, of one schema: in a union that a conjunction or a negation makes."""

MANY_SHAPES = 8
"""Where a conjunction makes more shapes of objects, those within others are looked for. Their number may double
before that is done again."""

TRUE, FALSE = 0, 1
"""The terms that allow everything and nothing. The negation of a term `t` is `t ^ 1`."""


UNIQUE, REPEATS = 1, 2


class Contains(NamedTuple):
    """From `least` to `most` items (None: without bound) at `begin` and behind it are `item`."""

    item: int
    least: int
    most: int | None
    begin: int


class ArrayShape(NamedTuple):
    """Arrays with items `prefix`, one by one, and then `rest` each; as many as `least` and `most` say.

    unique: UNIQUE, no item is equal to another; REPEATS, some items are equal; 0, no matter.
    """

    prefix: tuple[int, ...] = ()
    rest: int = TRUE
    least: int = 0
    most: int | None = None
    contains: tuple[Contains, ...] = ()
    unique: int = 0

    def item(self, index: int) -> int:
        return self.prefix[index] if index < len(self.prefix) else self.rest


class ForAll(NamedTuple):
    """Every member whose key is in `keys` has a value in `value`."""

    keys: Texts
    value: int


class Exists(NamedTuple):
    """Some member whose key is in `keys` has a value in `value`."""

    keys: Texts
    value: int


class ObjectShape(NamedTuple):
    """Objects in which

    - the value of a key that is `named` is in the term there,
    - the other members are as `for_all` says, each of which speaks of keys that are not named,
    - `required` keys, which are named, are there,
    - `exists`: members that are there, of any key,
    - there are from `least` to `most` members.

    is_constant: it is one constant, maybe with more demanded of it, and names are in the order of the constant.
    """

    named: tuple[tuple[str, int], ...] = ()
    for_all: tuple[ForAll, ...] = ()
    required: Words = frozenset()
    exists: tuple[Exists, ...] = ()
    least: int = 0
    most: int | None = None
    is_constant: bool = False


ANY_NUMBER = ALL
ANY_ARRAY = ArrayShape()
ANY_OBJECT = ObjectShape()


class Values(NamedTuple):
    """A set of JSON values."""

    null: bool
    booleans: int  # 1: false is in it; 2: true
    numbers: tuple[NumberSet, ...]
    texts: Texts
    arrays: tuple[ArrayShape, ...]
    objects: tuple[ObjectShape, ...]


ALL_VALUES = Values(True, 3, (ANY_NUMBER,), ALL_TEXTS, (ANY_ARRAY,), (ANY_OBJECT,))
NO_VALUES = Values(False, 0, (), NO_TEXTS, (), ())


class Shapes:
    """The operations on values, which make terms of terms. The algebra has them, and not the other way round."""

    def __init__(self, algebra: Algebra) -> None:
        self.the_algebra = ref(algebra)

    @property
    def algebra(self) -> Algebra:
        algebra = self.the_algebra()
        assert algebra is not None
        return algebra

    def both(self, left: Values, right: Values) -> Values:
        if left is ALL_VALUES:
            return right
        if right is ALL_VALUES:
            return left
        return Values(
            left.null and right.null,
            left.booleans & right.booleans,
            self.product(left.numbers, right.numbers, both_numbers, ANY_NUMBER),
            left.texts & right.texts,
            self.product(left.arrays, right.arrays, self.both_arrays, ANY_ARRAY),
            self.product(left.objects, right.objects, self.both_objects, ANY_OBJECT),
        )

    def either(self, left: Values, right: Values) -> Values:
        return Values(
            left.null or right.null,
            left.booleans | right.booleans,
            self.united(left.numbers, right.numbers, ANY_NUMBER),
            left.texts | right.texts,
            self.united(left.arrays, right.arrays, ANY_ARRAY),
            self.united(left.objects, right.objects, ANY_OBJECT),
        )

    def none(self, values: Values) -> Values:
        """The complement."""
        numbers: tuple[NumberSet, ...] = (ANY_NUMBER,)
        for number in values.numbers:
            others = () if number == ANY_NUMBER else tuple(number.complement())
            numbers = self.product(numbers, others, both_numbers, ANY_NUMBER)
        arrays: tuple[ArrayShape, ...] = (ANY_ARRAY,)
        for array in values.arrays:
            arrays = self.product(arrays, self.not_array(array), self.both_arrays, ANY_ARRAY)
        objects: tuple[ObjectShape, ...] = (ANY_OBJECT,)
        for object_ in values.objects:
            objects = self.product(objects, self.not_object(object_), self.both_objects, ANY_OBJECT)
        return Values(not values.null, 3 & ~values.booleans, numbers, ~values.texts, arrays, objects)

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
        found: dict[T, bool] = {}
        many = MANY_SHAPES
        for one in left:
            self.algebra.look()
            for other in right:
                shape = one if one == other else both(one, other)
                if shape is not None:
                    found[shape] = True
            if len(found) > many:
                if anything is ANY_OBJECT and len(found) <= MANY_SHAPES**2:
                    found = dict.fromkeys(self.maximal(list(found)), True)  # type: ignore[arg-type]
                many = max(MANY_SHAPES, 2 * len(found))
                bounded(tuple(found))
        return tuple(found)

    # Arrays.

    def both_arrays(self, left: ArrayShape, right: ArrayShape) -> ArrayShape | None:
        both = self.algebra.both
        n = max(len(left.prefix), len(right.prefix))
        prefix = [both(left.item(index), right.item(index)) for index in range(n)]
        contains = left.contains + tuple([part for part in right.contains if part not in left.contains])
        return self.array(
            prefix,
            both(left.rest, right.rest),
            max(left.least, right.least),
            smaller(left.most, right.most),
            contains,
            left.unique | right.unique,
        )

    def array(
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
            if unique and most <= 1:
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
                    return self.array(items, self.algebra.both(rest, part.item ^ 1), least, most, others, unique)
            if part.most is not None and part.least > part.most:
                return None
            if part.least > 0 and is_nothing(part.item):
                return None
            if most is not None and part.least > max(most - part.begin, 0):
                return None
            needed.append(part)
        return ArrayShape(tuple(prefix), rest, least, most, tuple(needed), unique)

    def not_array(self, shape: ArrayShape) -> tuple[ArrayShape, ...]:
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
                made = self.array([], TRUE, 0, None, (Contains(item, 0, least - 1, begin),), 0)
                if made is not None:
                    found.append(made)
            if most is not None:
                found.append(ArrayShape(contains=(Contains(item, most + 1, None, begin),)))
        if shape.unique:
            # Those whose items are not as demanded are among the others: so the values remain few.
            found.append(shape._replace(contains=(), unique=UNIQUE ^ REPEATS ^ shape.unique))
        return bounded(tuple(dict.fromkeys(found)))

    # Objects.

    def value_of(self, shape: ObjectShape, key: str) -> int:
        """What is demanded of the value of `key`."""
        for name, value in shape.named:
            if name == key:
                return value
        value = TRUE
        for keys, demanded in shape.for_all:
            if keys.has(key):
                value = self.algebra.both(value, demanded)
        return value

    def both_objects(self, left: ObjectShape, right: ObjectShape) -> ObjectShape | None:
        if right.is_constant and not left.is_constant:
            return self.both_objects(right, left)
        both = self.narrowed
        in_left = dict(left.named)
        in_right = dict(right.named)
        named = {}
        for name, value in left.named:
            other = in_right.get(name)
            named[name] = both(value, self.value_of(right, name) if other is None else other)
        for name, value in right.named:
            if name not in in_left:
                named[name] = both(self.value_of(left, name), value)
        for_all = left.for_all + tuple([part for part in right.for_all if part not in left.for_all])
        exists = left.exists + tuple([part for part in right.exists if part not in left.exists])
        return self.object(
            named,
            for_all,
            left.required | right.required,
            exists,
            max(left.least, right.least),
            smaller(left.most, right.most),
            left.is_constant,
        )

    def object(
        self,
        named: dict[str, int],
        for_all: tuple[ForAll, ...],
        required: Words,
        exists: tuple[Exists, ...],
        least: int,
        most: int | None,
        is_constant: bool = False,
    ) -> ObjectShape | None:
        """The shape in a simple form; None if no object has it, as far as is seen at once."""
        is_nothing = self.algebra.is_nothing
        for name in required:
            if is_nothing(named[name]):
                return None
        if exists:
            for keys, value in for_all:
                if any(value ^ 1 == exist.value and keys == exist.keys for exist in exists):
                    return None
            if any(value == FALSE and keys.is_all() for keys, value in for_all):
                met = self.met_by_names(named, required, exists)
                if met is None:
                    return None
                required, exists = met
        if most is not None and (least > most or len(required) > most):
            return None
        for exist in exists:
            if is_nothing(exist.value) or most == 0:
                return None
        least = max(least, len(required))
        if least == len(required):
            least = 0  # said by `required`
        return ObjectShape(tuple(named.items()), for_all, required, exists, least, most, is_constant)

    def met_by_names(
        self, named: dict[str, int], required: Words, exists: tuple[Exists, ...]
    ) -> tuple[Words, tuple[Exists, ...]] | None:
        """`required` and `exists` in a simple form, where there are only named members; `named` is changed with them.
        None if no object is so.

        What oneOf makes of closed objects is mostly of this kind: one has a member whose name another does not know.
        """
        both = self.narrowed
        is_nothing = self.algebra.is_nothing
        left: dict[Exists, bool] = {}
        for keys, value in exists:
            words = [name for name, own in named.items() if keys.has(name) and not is_nothing(both(own, value))]
            if not words:
                return None
            if len(words) == 1:
                named[words[0]] = both(named[words[0]], value)
                required |= {words[0]}
            else:
                left[Exists(Texts(frozenset(words)), value)] = True
        return required, tuple([part for part in left if not self.is_met(part, named, required)])

    def is_met(self, exist: Exists, named: dict[str, int], required: Words) -> bool:
        """Whether a required member is as demanded of some."""
        return any(exist.keys.has(name) and self.implies(named[name], exist.value) for name in required)

    def narrowed(self, term: int, other: int) -> int:
        """What is in both terms: one of them, where a negation says nothing more than it. So a value is one of "a" and
        not one of "b", "c" and "d" in as many shapes as it is one of "a"."""
        both = self.algebra.both(term, other)
        if (term | other) & 1 and term > FALSE and other > FALSE:
            if self.algebra.meant(term) == self.algebra.meant(other) ^ 1 or self.algebra.is_surely_nothing(both):
                return FALSE
            if other & 1 and self.implies(term, other):
                return term
            if term & 1 and self.implies(other, term):
                return other
        return both

    def implies(self, term: int, other: int) -> bool:
        """Whether all values of a term are in the other, as far as that is seen soon."""
        return term == other or other == TRUE or self.algebra.is_surely_nothing(self.algebra.both(term, other ^ 1))

    def maximal(self, shapes: list[ObjectShape]) -> list[ObjectShape]:
        """The shapes without those that are within others, as far as that is seen at once.

        Branches of a oneOf with a discriminator that is not required need it: where there is one, and a value is told
        by it, nothing else that tells it from the other branches matters.
        """
        found: list[ObjectShape] = []
        for shape in sorted(shapes, key=lambda shape: (len(shape.exists), len(shape.required))):
            if not any(self.is_within(shape, other) for other in found):
                found.append(shape)
        kept = frozenset(found)
        return [shape for shape in shapes if shape in kept]

    def is_within(self, shape: ObjectShape, other: ObjectShape) -> bool:
        """Whether all objects of the shape have the other one, as far as that is seen at once."""
        if not other.required <= shape.required or shape.is_constant != other.is_constant:
            return False
        if other.least > max(shape.least, len(shape.required)):
            return False
        if other.most is not None and (shape.most is None or shape.most > other.most):
            return False
        if not all(part in shape.for_all for part in other.for_all):
            return False
        named = dict(shape.named)
        if not all(part in shape.exists or self.is_met(part, named, shape.required) for part in other.exists):
            return False
        wanted = dict(other.named)
        for name, value in shape.named:
            demanded = wanted.pop(name, None)
            if not self.implies(value, self.value_of(other, name) if demanded is None else demanded):
                return False
        return all(self.implies(self.value_of(shape, name), value) for name, value in wanted.items())

    def not_object(self, shape: ObjectShape) -> tuple[ObjectShape, ...]:
        """Objects that are not of the shape."""
        found = []
        names = frozenset([name for name, _ in shape.named])
        for name, value in shape.named:
            if value != TRUE:
                found.append(ObjectShape(((name, value ^ 1),), required=frozenset((name,))))
        for keys, value in shape.for_all:
            if value != TRUE:
                others = keys & ~Texts(names)
                if others.words is None:
                    found.append(ObjectShape(exists=(Exists(others, value ^ 1),)))
                else:
                    found += [ObjectShape(((word, value ^ 1),), required=frozenset((word,))) for word in others.words]
        for name in sorted(shape.required):
            found.append(ObjectShape(((name, FALSE),)))
        for keys, value in shape.exists:
            if keys.words is None:
                found.append(ObjectShape(for_all=(ForAll(keys, value ^ 1),)))
            else:
                found.append(ObjectShape(tuple([(word, value ^ 1) for word in keys.words])))
        if shape.least > 0:
            found.append(ObjectShape(most=shape.least - 1))
        if shape.most is not None:
            found.append(ObjectShape(least=shape.most + 1))
        return bounded(tuple(dict.fromkeys(found)))


def both_numbers(left: NumberSet, right: NumberSet) -> NumberSet | None:
    both = left.intersection(right)
    return None if both.is_empty() else both


def smaller(left: int | None, right: int | None) -> int | None:
    """The smaller of two upper bounds, None being none."""
    if left is None or right is None:
        return right if left is None else left
    return min(left, right)


def bounded(shapes: tuple[T, ...]) -> tuple[T, ...]:
    if len(shapes) > MAX_SHAPES:
        raise GrammarLimitError(
            f"a combination of schemas becomes a union of more than {MAX_SHAPES} cases; combine fewer of them"
        )
    return shapes
