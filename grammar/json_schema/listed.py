"""Sets of few values, listed: what can be told apart by state, value by value.

Scalars are listed where they are few; arrays and objects where they are constants, or made of few values in few ways:
an array of up to three booleans, a closed object whose members have an enumeration each.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from .key_order import in_order
from .shapes import ANY_ARRAY, ANY_OBJECT, FALSE, UNIQUE, Values
from .terms import as_written, canonical
from .text_sets import NO_TEXTS

if TYPE_CHECKING:
    from .algebra import Algebra
    from .shapes import ArrayShape, ObjectShape

MAX_LISTED = 256
"""Values that are told apart by state, for `uniqueItems`."""
MAX_DEPTH = 8
"""Of arrays and objects within each other that are listed."""

STRUCTURED = Values(False, 0, (), NO_TEXTS, (ANY_ARRAY,), (ANY_OBJECT,))
"""All arrays and objects."""


def listed(algebra: Algebra, term: int) -> list[Any] | None:
    """All values of a term, or None where they are more than `MAX_LISTED`, or not found out to be few."""
    scalars = listed_scalars(algebra.values(term))
    if scalars is None:
        return None
    others = listed_structured(algebra, term)
    return None if others is None or len(scalars) + len(others) > MAX_LISTED else scalars + others


def listed_scalars(values: Values) -> list[Any] | None:
    """As `listed`, of all values but arrays and objects."""
    words = values.texts.words
    if words is None or len(words) > MAX_LISTED:
        return None
    found: list[Any] = [None] if values.null else []
    found += [False] if values.booleans & 1 else []
    found += [True] if values.booleans & 2 else []
    found += sorted(words)
    for numbers in values.numbers:
        known = numbers.values(MAX_LISTED)
        if known is None:
            return None
        found += known
    distinct = {canonical(value): value for value in found}
    return list(distinct.values()) if len(distinct) <= MAX_LISTED else None


def listed_structured(algebra: Algebra, term: int, depth: int = 0) -> list[Any] | None:
    """As `listed`, of arrays and objects. An object is there once for each order of its keys in which it is written."""
    values = algebra.values(term)
    if not values.arrays and not values.objects:
        return []
    if depth > MAX_DEPTH:
        return None
    if any(shape.most is None for shape in values.arrays) or not all(map(_is_closed, values.objects)):
        return None
    found: dict[object, Any] = {}
    for array in values.arrays:
        arrays = _arrays(algebra, array, depth)
        if arrays is None:
            return None
        found |= {as_written(value): value for value in arrays}
    objects = [(shape, len(shape.named)) for shape in values.objects]
    if objects and algebra.options.property_order == "schema":
        objects = in_order(algebra, values.objects, term)
    for shape, n_ordered in objects:
        made = _objects(algebra, shape, n_ordered, depth)
        if made is None:
            return None
        found |= {as_written(value): value for value in made}
    return list(found.values()) if len(found) <= MAX_LISTED else None


def _listed(algebra: Algebra, term: int, depth: int) -> list[Any] | None:
    scalars = listed_scalars(algebra.values(term))
    others = None if scalars is None else listed_structured(algebra, term, depth + 1)
    return None if scalars is None or others is None else scalars + others


def _arrays(algebra: Algebra, shape: ArrayShape, depth: int) -> list[Any] | None:
    if shape.contains or shape.most is None or shape.most > MAX_LISTED:
        return None
    items: list[list[Any]] = []
    found: list[Any] = []
    for length in range(shape.most + 1):
        if length:
            known = _listed(algebra, shape.item(length - 1), depth)
            if known is None:
                return None
            items.append(known)
        if length < shape.least:
            continue
        if _product([len(known) for known in items]) > MAX_LISTED:
            return None
        for value in map(list, product(*items)):
            n_different = len({canonical(item) for item in value})
            if not shape.unique or (n_different == length) == (shape.unique == UNIQUE):
                found.append(value)
    return found


def _is_closed(shape: ObjectShape) -> bool:
    """Whether no members but those that are named are allowed, and nothing is said beyond what each of them is."""
    if shape.exists or shape.clauses:
        return False
    return any(part.value == FALSE and part.keys.is_all() for part in shape.for_all)


def _objects(algebra: Algebra, shape: ObjectShape, n_ordered: int, depth: int) -> list[Any] | None:
    choices: list[list[Any]] = []  # of each name: the members, and () where it may be absent
    for name, value in shape.named[:n_ordered]:
        known = _listed(algebra, value, depth)
        if known is None:
            return None
        members: list[Any] = [(name, one) for one in known]
        choices.append(members if name in shape.required else [(), *members])
    if any(value != FALSE for _, value in shape.named[n_ordered:]):
        return None  # in any order, in which an object is written in many ways
    if _product([len(one) for one in choices]) > MAX_LISTED:
        return None
    made = [dict(filter(None, members)) for members in product(*choices)]
    return [one for one in made if shape.least <= len(one) and (shape.most is None or len(one) <= shape.most)]


def _product(numbers: list[int]) -> int:
    """The product, or something beyond MAX_LISTED if it is that."""
    found = 1
    for number in numbers:
        found = min(found * number, MAX_LISTED + 1) if number else 0
    return found


def n_different(values: list[Any]) -> int:
    return len(set(map(canonical, values)))
