"""What a schema allows, type by type: `Values`, and the shapes of arrays and objects.

A set of JSON values is the union of its nulls, booleans, numbers, strings, arrays and objects. Each part is closed
under intersection, union and complement by itself. `text_sets` has the sets of strings, `json/numbers` those of
numbers. A set of arrays or objects is a union of *shapes*; a value has a shape if it satisfies all demands of the
shape. The negation of one demand is a shape again ("some item is no S", "more than 3 members"). So the complement of a
shape is a union of shapes, and the complement of a union is an intersection of such unions: the disjunctive normal
form, whose size `MAX_SHAPES` bounds.

What is demanded of items and members is a *term* (`terms`), a number. The meaning of a term is computed when the parser
or another shape needs it. So recursion ends: the shapes of a schema refer to finitely many terms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ...earley._large import untrack
from ..errors import GrammarLimitError
from ..json.numbers import ALL, NumberSet
from .text_sets import ALL_TEXTS, NO_TEXTS, Texts, Words

T = TypeVar("T")

MAX_SHAPES = 1 << 10
"""The most shapes of one type in a union that an intersection or a complement makes; more are an error."""

TRUE, FALSE = 0, 1
"""The terms that allow everything and nothing. The complement of a term `t` is `t ^ 1`."""


UNIQUE, REPEATS = 1, 2


class Untracked:
    """The first base of a named tuple that garbage collections do not visit. A schema with thousands of names has tens
    of thousands, and a full collection holds the interpreter's lock while it visits them all. Nothing in them may refer
    to what could refer to them: they hold numbers, texts, sets of texts, regex trees, and each other."""

    __slots__ = ()

    if not TYPE_CHECKING:  # the named tuple's own ones have the types

        def __new__(cls, *parts, **named):
            return cls._untracked(super().__new__(cls, *parts, **named))

        @classmethod
        def _make(cls, iterable):
            return cls._untracked(super()._make(iterable))

    @staticmethod
    def _untracked(made: tuple[Any, ...]) -> tuple[Any, ...]:
        untrack(made)
        for part in made:
            if type(part) in (tuple, frozenset):
                untrack(part)
        return made


class Contains(NamedTuple):
    """From `least` to `most` items (None: without bound), from the index `begin` on, are in the term `item`."""

    item: int
    least: int
    most: int | None
    begin: int


class _ArrayShape(NamedTuple):
    prefix: tuple[int, ...] = ()
    rest: int = TRUE
    least: int = 0
    most: int | None = None
    contains: tuple[Contains, ...] = ()
    unique: int = 0


class ArrayShape(Untracked, _ArrayShape):
    """Arrays whose first items are in the terms of `prefix`, one by one, and whose other items are all in `rest`. They
    have at least `least` and at most `most` items.

    unique: UNIQUE, no two items are equal; REPEATS, some items are equal; 0, either.
    """

    __slots__ = ()

    def item(self, index: int) -> int:
        return self.prefix[index] if index < len(self.prefix) else self.rest


class _ForAll(NamedTuple):
    keys: Texts
    value: int


class ForAll(Untracked, _ForAll):
    """Every member whose key is in `keys` has a value in `value`."""

    __slots__ = ()


class _Exists(NamedTuple):
    keys: Texts
    value: int


class Exists(Untracked, _Exists):
    """Some member whose key is in `keys` has a value in `value`."""

    __slots__ = ()


class _ObjectShape(NamedTuple):
    named: tuple[tuple[str, int], ...] = ()
    for_all: tuple[ForAll, ...] = ()
    required: Words = frozenset()
    exists: tuple[Exists, ...] = ()
    least: int = 0
    most: int | None = None
    is_constant: bool = False
    clauses: tuple[tuple[ObjectShape, ...], ...] = ()


class ObjectShape(Untracked, _ObjectShape):
    """Objects in which

    - the value of a `named` key is in the term beside it,
    - all other members satisfy each part of `for_all`, which is only about keys that are not named,
    - the `required` keys, which are all named, are there,
    - for each part of `exists` some member satisfies it, whatever its key is,
    - there are from `least` to `most` members,
    - the object has some shape of each of the `clauses`, too (see `object_sets`).

    is_constant: the shape is made of one constant, maybe with more demands, and the names are in the constant's order.

    A shape keeps its hash. Python would otherwise visit all names and clauses again whenever a shape, or a union of
    shapes, is looked up: 40 ms at a time for some dozens of shapes with a hundred clauses each. Nor do garbage
    collections visit shapes and their clauses: nothing in them refers to what could refer to them.
    """

    _hash: int | None = None

    def __getstate__(self) -> None:
        """Leave the hash out of pickles: another process has another one."""

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = super().__hash__()
        return self._hash


Clause = tuple[ObjectShape, ...]

ANY_NUMBER = ALL
ANY_ARRAY = ArrayShape()
ANY_OBJECT = ObjectShape()


class _Values(NamedTuple):
    null: bool
    booleans: int  # 1: false is in it; 2: true
    numbers: tuple[NumberSet, ...]
    texts: Texts
    arrays: tuple[ArrayShape, ...]
    objects: tuple[ObjectShape, ...]


class Values(Untracked, _Values):
    """A set of JSON values."""

    __slots__ = ()


ALL_VALUES = Values(True, 3, (ANY_NUMBER,), ALL_TEXTS, (ANY_ARRAY,), (ANY_OBJECT,))
NO_VALUES = Values(False, 0, (), NO_TEXTS, (), ())


def is_nothing(values: Values) -> bool:
    """Whether no value is among them, as far as this shows without following terms."""
    return not (values.null or values.booleans or values.numbers or values.arrays or values.objects) and (
        values.texts.words is not None and not values.texts.words
    )


def smaller(left: int | None, right: int | None) -> int | None:
    """Return the smaller of two upper bounds; None stands for no bound."""
    if left is None or right is None:
        return right if left is None else left
    return min(left, right)


def bounded(shapes: tuple[T, ...]) -> tuple[T, ...]:
    if len(shapes) > MAX_SHAPES:
        raise GrammarLimitError(
            f"a combination of schemas becomes a union of more than {MAX_SHAPES} cases; combine fewer of them"
        )
    return shapes
