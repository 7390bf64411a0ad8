"""Applicators in place: the schemas that a place applies to the same value (2020-12 core, 10.2).

`oneOf` needs most of the work. That exactly one of n branches holds is a union of n cases: one branch, and the negation
of every other one. A negation makes a schema large, so `exactly_one` adds only those that say something. As a rule a
type or a constant already separates two branches, and a type that several branches allow without a condition is in no
case.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...earley._meter import tick
from .constants import have_own_constants, in_one, in_some
from .keywords import APPLICATORS
from .own_values import TYPES, constants, own_values
from .shapes import ALL_VALUES, ANY_ARRAY, ANY_NUMBER, ANY_OBJECT, FALSE, TRUE, ObjectShape, Values, is_nothing
from .shortcuts import is_near
from .text_sets import ALL_TEXTS, NO_TEXTS, NO_WORDS
from .tree import is_reference

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .terms import Meaning
    from .tree import Place

_DEPENDENCIES = frozenset(["dependentRequired", "dependentSchemas", "dependencies"])
_UNEVALUATED = frozenset(["unevaluatedItems", "unevaluatedProperties"])

FEW_BRANCHES = 3
"""The most branches that are all compared with each other. If there are more, only those that may share a value are
compared (`meeting`)."""
MAX_TRIED = 3
"""The most names of members that are tried as the discriminator of the branches."""

Keys = list[object] | None
"""Keys of a set of values, such that two sets without a common key are disjoint. None: the set may have any key."""


def conjuncts(algebra: Meaning, place: Place) -> list[Values]:
    """Return all that a place says, part by part. A `oneOf` in one part is read together with what the other parts
    allow: a member that they require may distinguish its branches."""
    own = own_values(algebra, place)
    found = [own]
    if place.schema.keys().isdisjoint(APPLICATORS):  # visits the shorter one
        return found
    choices: list[int] = []
    for keyword, value in algebra.keywords(place).items():
        if keyword not in APPLICATORS:
            continue
        if keyword in _DEPENDENCIES:
            terms = [dependency(algebra, place, keyword, name, demanded, own) for name, demanded in value.items()]
        else:
            terms = applied_by(algebra, place, keyword)
        for term in terms:
            if term not in algebra.meanings and is_choice(algebra, term):
                choices.append(term)
            else:
                found.append(algebra.values(term))
    around = algebra.sets.intersection_of([values for values in found if len(values.objects) < 2]) if choices else own
    for term in choices:
        inner = algebra.place_of(term)
        if inner is not None and around.objects and around.objects[0].required:
            found += conjuncts_with(algebra, inner, around)
        else:
            found.append(algebra.values(term))
    return found


def is_choice(algebra: Meaning, term: int) -> bool:
    place = algebra.place_of(term)
    return place is not None and "oneOf" in algebra.keywords(place) and _UNEVALUATED.isdisjoint(place.schema)


def conjuncts_with(algebra: Meaning, place: Place, around: Values) -> list[Values]:
    """Return what a place with `oneOf` says about the values `around`, part by part."""
    own = own_values(algebra, place)
    found = [own]
    for keyword in algebra.keywords(place):
        if keyword == "oneOf":
            found.append(
                algebra.values(algebra.union_of(cases(algebra, place, algebra.sets.intersection(around, own))))
            )
        elif keyword in APPLICATORS:
            found += map(algebra.values, applied_by(algebra, place, keyword))
    return found


def applied(algebra: Meaning, place: Place) -> list[int]:
    """Return the terms of the schemas that apply to the same value, in the order of the document."""
    if place.schema.keys().isdisjoint(APPLICATORS):
        return []
    found: list[int] = []
    for keyword in algebra.keywords(place):
        if keyword in APPLICATORS:
            found += applied_by(algebra, place, keyword)
    return found


def target(algebra: Meaning, place: Place, keyword: str) -> int:
    """Return what a reference leads to in the end: references that say nothing else are followed."""
    documents = algebra.documents
    place = documents.target(place, keyword)
    while is_reference(place.schema) and algebra.keywords(place):  # it may be left out
        place = documents.target(place, "$ref")
    return algebra.place(place)


def applied_by(algebra: Meaning, place: Place, keyword: str) -> list[int]:
    """Return the terms of one keyword in `APPLICATORS`."""
    schema = algebra.keywords(place)
    value = schema[keyword]
    if keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
        return [target(algebra, place, keyword)]
    if keyword == "allOf":
        return algebra.children(place, keyword, range(len(value)))
    if keyword == "anyOf":
        values = None if algebra.dropped else in_some(value, place.resource.keywords)
        if values is not None:
            return [algebra.meaning(constants(algebra, values))]
        return [algebra.union_of(algebra.children(place, keyword, range(len(value))))]
    if keyword == "oneOf":
        return [algebra.union_of(cases(algebra, place, own_values(algebra, place)))]
    if keyword == "not":
        return [algebra.child(place, keyword) ^ 1]
    if keyword == "if":
        condition = algebra.child(place, "if")
        found = []
        if "then" in schema and "else" in schema:
            holds = algebra.intersection(condition, algebra.child(place, "then"))
            return [algebra.union_of([holds, algebra.intersection(condition ^ 1, algebra.child(place, "else"))])]
        if "then" in schema:
            found.append(algebra.union_of([condition ^ 1, algebra.child(place, "then")]))
        if "else" in schema:
            found.append(algebra.union_of([condition, algebra.child(place, "else")]))
        return found
    if keyword in _DEPENDENCIES:
        return [dependency(algebra, place, keyword, name, demanded) for name, demanded in value.items()]
    return []  # `then` and `else` belong to `if`; for `unevaluated...` see `evaluated`


def cases(algebra: Meaning, place: Place, around: Values) -> list[int]:
    """Return the terms whose union is what `oneOf` says about the values `around`."""
    values = None if algebra.dropped else in_one(place.schema["oneOf"], place.resource.keywords)
    if values is not None:
        return [algebra.meaning(constants(algebra, values))]
    branches = algebra.children(place, "oneOf", range(len(place.schema["oneOf"])))
    if have_own_constants(place.schema["oneOf"], place.resource.keywords):
        return branches
    return exactly_one(algebra, branches, around)


def dependency(
    algebra: Meaning, place: Place, keyword: str, name: str, demanded: Any, around: Values = ALL_VALUES
) -> int:
    """Return what is demanded of an object with a member `name`, among the values `around`."""
    if isinstance(demanded, str):
        demanded = [demanded]
    if isinstance(demanded, list):
        named = tuple([(one, TRUE) for one in dict.fromkeys(demanded)])
        then = objects(algebra, ObjectShape(named, (), frozenset(demanded)))
    else:
        then = algebra.place(algebra.documents.grandchild(place, keyword, name))
    if kinds_of(around) == TYPES["object"] and all([name in shape.required for shape in around.objects]):
        return then
    return algebra.union_of([objects(algebra, ObjectShape(((name, FALSE),))), then])


def objects(algebra: Meaning, shape: ObjectShape) -> int:
    """Return the objects of the shape and all values that are not objects."""
    return algebra.meaning(ALL_VALUES._replace(objects=(shape,)))


# `oneOf`.


def exactly_one(algebra: Meaning, terms: list[int], around: Values) -> list[int]:
    """Return for each of the terms the values `around` in it and in no other one."""
    sets = algebra.sets
    branches = [algebra.values(term) for term in terms]
    within = [sets.intersection(around, values) for values in branches]
    # (If keywords are dropped, a branch may seem to allow everything.)
    masks = [None] * len(branches) if algebra.dropped else unshared(branches)
    left = [
        values if mask is None else sets.intersection(values, mask) for values, mask in zip(within, masks, strict=True)
    ]
    rivals: Iterable[Iterable[int]] = [range(len(terms))] * len(terms)
    if len(terms) > FEW_BRANCHES:
        rivals = meeting(algebra, left, within)
    cases = []
    for index, others in enumerate(rivals):
        tick()
        term, values = terms[index], left[index]
        parts = [term]
        if values != within[index]:
            parts.append(algebra.meaning(kinds_of(values)))
        for at in others:
            if at != index and not is_nothing(sets.intersection(values, branches[at])):
                parts.append(terms[at] ^ 1)
        cases.append(algebra.intersection_of(parts))
    return cases


def unshared(branches: list[Values]) -> list[Values | None]:
    """Return for each branch the types of which no other branch allows everything; None if these are all types."""
    whole = [
        (
            values.null,
            values.booleans & 1 > 0,
            values.booleans & 2 > 0,
            values.numbers == (ANY_NUMBER,),
            values.texts.is_all(),
            values.arrays == (ANY_ARRAY,),
            values.objects == (ANY_OBJECT,),
        )
        for values in branches
    ]
    n_whole = [sum(column) for column in zip(*whole, strict=True)]
    if not any(n_whole):
        return [None] * len(branches)
    return [allowing(*[n <= is_whole for n, is_whole in zip(n_whole, row, strict=True)]) for row in whole]


def allowing(null: bool, false: bool, true: bool, numbers: bool, texts: bool, arrays: bool, objects: bool) -> Values:
    """Return all values of some types."""
    return Values(
        null,
        int(false) + 2 * int(true),
        (ANY_NUMBER,) if numbers else (),
        ALL_TEXTS if texts else NO_TEXTS,
        (ANY_ARRAY,) if arrays else (),
        (ANY_OBJECT,) if objects else (),
    )


def kinds_of(values: Values) -> Values:
    """Return all values of the types that these values have."""
    return allowing(
        values.null,
        values.booleans & 1 > 0,
        values.booleans & 2 > 0,
        bool(values.numbers),
        values.texts.words != NO_WORDS,
        bool(values.arrays),
        bool(values.objects),
    )


def meeting(algebra: Meaning, left: list[Values], right: list[Values]) -> Iterator[list[int]]:
    """Yield for each of the sets on the left the indexes of the sets on the right that may share a value with it."""
    scalars = meeting_keys(
        [scalar_keys(values._replace(objects=())) for values in left],
        [scalar_keys(values._replace(objects=())) for values in right],
    )
    name = discriminator(algebra, right)
    objects = meeting_keys(
        [object_keys(algebra, values, name) for values in left],
        [object_keys(algebra, values, name) for values in right],
    )
    for one, other in zip(scalars, objects, strict=True):
        yield sorted(one | other)


def meeting_keys(left: list[Keys], right: list[Keys]) -> Iterator[set[int]]:
    having: dict[object, list[int]] = {}
    unknown: list[int] = []
    for index, keys in enumerate(right):
        if keys is None:
            unknown.append(index)
        else:
            for key in keys:
                having.setdefault(key, []).append(index)
    some = {index for index, keys in enumerate(right) if keys is None or keys}
    for keys in left:
        if keys is None:
            yield some
        else:
            yield {*(unknown if keys else ()), *[at for key in keys for at in having.get(key, ())]}


def scalar_keys(values: Values) -> Keys:
    words = values.texts.words
    if values.arrays or values.objects or words is None:
        return None
    found: list[object] = [(None,)] if values.null else []
    found += [(bit,) for bit in (1, 2) if values.booleans & bit]
    found += words
    for numbers in values.numbers:
        if numbers.listed is None:
            return None
        found += numbers.listed
    return found


def discriminator(algebra: Meaning, branches: list[Values]) -> str | None:
    """Return the name for which most branches with objects demand one of some constants; None if there is none."""
    n_branches: dict[str, int] = {}
    for values in branches:
        if values.objects:
            for name in values.objects[0].required:
                n_branches[name] = n_branches.get(name, 0) + 1
    best, n_best = None, 1
    for name in sorted(n_branches, key=lambda name: (-n_branches[name], name))[:MAX_TRIED]:
        if n_branches[name] > n_best:
            n = sum([bool(object_keys(algebra, values, name)) for values in branches])
            if n > n_best:
                best, n_best = name, n
    return best


def object_keys(algebra: Meaning, values: Values, name: str | None) -> Keys:
    """Return the constants that the member `name` of an object may be; none if there are no objects."""
    found: list[object] = []
    for shape in values.objects:
        if name is None or name not in shape.required:
            return None
        term = algebra.sets.objects.value_of(shape, name)
        keys = scalar_keys(algebra.values(term)) if is_near(algebra, term) else None
        if keys is None:
            return None
        found += keys
    return found
