"""Applicators in place: the schemas that a place applies to the same value (2020-12 core, 10.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .branches import exactly_one, kinds_of
from .constants import have_own_constants, in_one, in_some
from .keywords import APPLICATORS
from .own_values import TYPES, constants, own_values
from .places import is_reference
from .shapes import ALL_VALUES, FALSE, TRUE, ObjectShape, Values

if TYPE_CHECKING:
    from .algebra import Algebra
    from .places import Place

_DEPENDENCIES = frozenset(["dependentRequired", "dependentSchemas", "dependencies"])
_UNEVALUATED = frozenset(["unevaluatedItems", "unevaluatedProperties"])


def conjuncts(algebra: Algebra, place: Place) -> list[Values]:
    """All that a place says, part by part. What a `oneOf` in one of them says, it says of what the others allow: the
    branches may be told apart by a member that is required there."""
    own = own_values(algebra, place)
    found = [own]
    if APPLICATORS.isdisjoint(place.schema):
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
    around = algebra.sets.all_of([values for values in found if len(values.objects) < 2]) if choices else own
    for term in choices:
        inner = algebra.place_of(term)
        if inner is not None and around.objects and around.objects[0].required:
            found += conjuncts_with(algebra, inner, around)
        else:
            found.append(algebra.values(term))
    return found


def is_choice(algebra: Algebra, term: int) -> bool:
    place = algebra.place_of(term)
    return place is not None and "oneOf" in algebra.keywords(place) and _UNEVALUATED.isdisjoint(place.schema)


def conjuncts_with(algebra: Algebra, place: Place, around: Values) -> list[Values]:
    """What a place with `oneOf` says of values `around`, part by part."""
    own = own_values(algebra, place)
    found = [own]
    for keyword in algebra.keywords(place):
        if keyword == "oneOf":
            found.append(algebra.values(algebra.any_of(cases(algebra, place, algebra.sets.both(around, own)))))
        elif keyword in APPLICATORS:
            found += map(algebra.values, applied_by(algebra, place, keyword))
    return found


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
    """What a reference leads to, in the end: a chain of mere references is as good as one."""
    if keyword == "$dynamicRef":
        place = place.dynamic_ref()
    else:
        place = place.ref() if keyword == "$ref" else place.recursive_ref()
    while is_reference(place.schema) and algebra.keywords(place):  # it may be left out
        place = place.ref()
    return algebra.place(place)


def applied_by(algebra: Algebra, place: Place, keyword: str) -> list[int]:
    """The terms of one keyword in `APPLICATORS`."""
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
        return [algebra.any_of(algebra.children(place, keyword, range(len(value))))]
    if keyword == "oneOf":
        return [algebra.any_of(cases(algebra, place, own_values(algebra, place)))]
    if keyword == "not":
        return [algebra.child(place, keyword) ^ 1]
    if keyword == "if":
        condition = algebra.child(place, "if")
        found = []
        if "then" in schema and "else" in schema:
            holds = algebra.both(condition, algebra.child(place, "then"))
            return [algebra.any_of([holds, algebra.both(condition ^ 1, algebra.child(place, "else"))])]
        if "then" in schema:
            found.append(algebra.any_of([condition ^ 1, algebra.child(place, "then")]))
        if "else" in schema:
            found.append(algebra.any_of([condition, algebra.child(place, "else")]))
        return found
    if keyword in _DEPENDENCIES:
        return [dependency(algebra, place, keyword, name, demanded) for name, demanded in value.items()]
    return []  # `then` and `else`, which `if` has spoken of; `unevaluated...`, see `evaluated`


def cases(algebra: Algebra, place: Place, around: Values) -> list[int]:
    """Of values `around`, the terms one of which is what `oneOf` says."""
    values = None if algebra.dropped else in_one(place.schema["oneOf"], place.resource.keywords)
    if values is not None:
        return [algebra.meaning(constants(algebra, values))]
    branches = algebra.children(place, "oneOf", range(len(place.schema["oneOf"])))
    if have_own_constants(place.schema["oneOf"], place.resource.keywords):
        return branches
    return exactly_one(algebra, branches, around)


def dependency(
    algebra: Algebra, place: Place, keyword: str, name: str, demanded: Any, around: Values = ALL_VALUES
) -> int:
    """What is demanded, of values `around`, of an object that has a member `name`."""
    if isinstance(demanded, str):
        demanded = [demanded]
    if isinstance(demanded, list):
        named = tuple([(one, TRUE) for one in dict.fromkeys(demanded)])
        then = objects(algebra, ObjectShape(named, (), frozenset(demanded)))
    else:
        then = algebra.place(place.grandchild(keyword, name))
    if kinds_of(around) == TYPES["object"] and all(name in shape.required for shape in around.objects):
        return then
    return algebra.any_of([objects(algebra, ObjectShape(((name, FALSE),))), then])


def objects(algebra: Algebra, shape: ObjectShape) -> int:
    """Objects of the shape, and all that are no objects."""
    return algebra.meaning(ALL_VALUES._replace(objects=(shape,)))
