"""Applicators in place: the schemas that a place applies to the same value (2020-12 core, 10.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .schema_own_values import own_values
from .schema_shapes import ALL_VALUES, FALSE, TRUE, ObjectShape, Values, is_nothing

if TYPE_CHECKING:
    from .schema_algebra import Algebra
    from .schema_places import Place

FEW_BRANCHES = 16
"""Of a oneOf, that are compared one with the other without more ado."""

APPLICATORS = frozenset(
    [
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "if",
        "then",
        "else",
        "$ref",
        "$dynamicRef",
        "$recursiveRef",
        "dependentRequired",
        "dependentSchemas",
        "dependencies",
        "unevaluatedItems",
        "unevaluatedProperties",
    ]
)


def applied(algebra: Algebra, place: Place) -> list[int]:
    """The terms of what else applies to the value, in the order of the document."""
    if APPLICATORS.isdisjoint(place.schema):
        return []
    found: list[int] = []
    for keyword in algebra.keywords(place):
        if keyword in APPLICATORS:
            found += applied_by(algebra, place, keyword)
    return found


def target(algebra: Algebra, place: Place, keyword: str) -> int:
    """What a reference leads to."""
    if keyword == "$ref":
        return algebra.place(place.ref())
    return algebra.place(place.dynamic_ref() if keyword == "$dynamicRef" else place.recursive_ref())


def applied_by(algebra: Algebra, place: Place, keyword: str) -> list[int]:
    """The terms of one keyword in `APPLICATORS`."""
    schema = algebra.keywords(place)
    value = schema[keyword]
    if keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
        return [target(algebra, place, keyword)]
    if keyword == "allOf":
        return algebra.children(place, keyword, range(len(value)))
    if keyword == "anyOf":
        return [algebra.any_of(algebra.children(place, keyword, range(len(value))))]
    if keyword == "oneOf":
        return [algebra.any_of(exactly_one(algebra, algebra.children(place, keyword, range(len(value))), place))]
    if keyword == "not":
        return [algebra.child(place, keyword) ^ 1]
    if keyword == "if":
        condition = algebra.child(place, "if")
        found = []
        if "then" in schema:
            found.append(algebra.any_of([condition ^ 1, algebra.child(place, "then")]))
        if "else" in schema:
            found.append(algebra.any_of([condition, algebra.child(place, "else")]))
        return found
    if keyword in ("dependentRequired", "dependentSchemas", "dependencies"):
        return [dependency(algebra, place, keyword, name, demanded) for name, demanded in value.items()]
    return []  # `then` and `else`, which `if` has spoken of; `unevaluated...`, see `schema_evaluated`


def dependency(algebra: Algebra, place: Place, keyword: str, name: str, demanded: Any) -> int:
    """What is demanded of an object that has a member `name`."""
    if isinstance(demanded, str):
        demanded = [demanded]
    if isinstance(demanded, list):
        named = tuple([(one, TRUE) for one in dict.fromkeys(demanded)])
        then = objects(algebra, ObjectShape(named, (), frozenset(demanded)))
    else:
        then = algebra.place(place.grandchild(keyword, name))
    return algebra.any_of([objects(algebra, ObjectShape(((name, FALSE),))), then])


def exactly_one(algebra: Algebra, terms: list[int], place: Place) -> list[int]:
    """For each of the terms, which apply at a place, that it holds and no other does.

    What excludes the others by itself, given what else the place says, need not have them negated: as a rule, the
    branches of `oneOf` are told apart by a type or by a constant.
    """
    around = own_values(algebra, place)
    within = [algebra.sets.both(around, algebra.values(term)) for term in terms]
    cases = []
    rivals = sharing(within) if len(terms) > FEW_BRANCHES else None
    for index, term in enumerate(terms):
        algebra.look()
        others = [
            terms[at] ^ 1
            for at in (range(len(terms)) if rivals is None else rivals[index])
            if at != index and not is_nothing(algebra.sets.both(within[index], algebra.values(terms[at])))
        ]
        cases.append(algebra.all_of([term, *others]))
    return cases


def objects(algebra: Algebra, shape: ObjectShape) -> int:
    """Objects of the shape, and all that are no objects."""
    return algebra.meaning(ALL_VALUES._replace(objects=(shape,)))


def sharing(branches: list[Values]) -> list[list[int]]:
    """For each of the branches those that may share a value with it: of those of mere words and listed numbers, which a
    oneOf may have hundreds of, only those that list the same one."""
    listing: dict[object, list[int]] = {}
    keys: list[list[object] | None] = []
    others: list[int] = []
    for index, values in enumerate(branches):
        words = values.texts.words
        found: list[object] | None = None
        if words is not None and not (values.null or values.booleans or values.arrays or values.objects):
            found = list(words)
            for numbers in values.numbers:
                if numbers.listed is None:
                    found = None
                    break
                found += numbers.listed
        keys.append(found)
        if found is None:
            others.append(index)
        else:
            for key in found:
                listing.setdefault(key, []).append(index)
    return [
        list(range(len(branches)))
        if found is None
        else sorted({*others, *[index for key in found for index in listing[key]]})
        for found in keys
    ]
