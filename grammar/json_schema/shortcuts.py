"""What a term shows without computing what it means: most schemas are plain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...earley._meter import tick
from ..json.numbers import AS_DECIMALS
from .constants import scalars_of
from .keywords import APPLICATORS, SAYS_NOTHING
from .own_values import NUMBERS, STRINGS, types_of
from .shapes import TRUE
from .terms import BOTH, PLACE

if TYPE_CHECKING:
    from .shapes import Values
    from .terms import Meaning
    from .tree import Place

MAX_LOOKED = 4
"""The most references and branches within each other that are followed to see that a value satisfies a schema."""
MAX_NEAR = 8
"""The most branches, or parts of an intersection, whose meanings are computed to see that no value is in it."""


def plain_scalars(algebra: Meaning, term: int) -> Values | None:
    """Return what a place means if it only says one type of scalars, as most places do; otherwise None."""
    index = term >> 1
    if term & 1 or algebra.kinds[index] != PLACE:
        return None
    place = algebra.parts[index]
    schema = place.schema
    kind = schema.get("type")
    if type(kind) is not str or kind == "object" or kind == "array":
        return None
    known = place.resource.keywords
    for keyword in schema:
        if keyword != "type" and keyword not in SAYS_NOTHING and keyword in known:
            return None
    if "type" not in known or (algebra.dropped and place.written in algebra.dropped):
        return None
    return types_of(algebra, place)[kind]


def is_structured(algebra: Meaning, term: int) -> bool:
    """Whether a term is a place with the type "array" or "object"."""
    index = term >> 1
    if term & 1 or algebra.kinds[index] != PLACE:
        return False
    place = algebra.parts[index]
    kind = place.schema.get("type")
    is_left_out = bool(algebra.dropped) and place.written in algebra.dropped
    return (kind == "object" or kind == "array") and "type" in place.resource.keywords and not is_left_out


def is_shallow(algebra: Meaning, term: int) -> bool:
    """Whether the meaning of a term can be computed without following other places."""
    kind = algebra.kinds[term >> 1]
    part = algebra.parts[term >> 1]
    if kind != BOTH:
        return kind != PLACE or part.schema.keys().isdisjoint(APPLICATORS)
    if len(part) > MAX_NEAR:
        return False
    return not [one for one in part if not is_shallow(algebra, one)]


def is_something(algebra: Meaning, term: int) -> bool:
    """Whether it is quick to see that the term allows some value. That is usual. For other terms the engine decides it
    from what they mean."""
    if plain_scalars(algebra, term) is not None:
        return True
    if algebra.options.closed:
        return False  # a value that shows may not be written
    place = algebra.place_of(term)
    return term == TRUE or (place is not None and _has_value(algebra, place, 0))


def have_scalar(algebra: Meaning, values: Values) -> bool:
    """Whether it is quick to see that some scalar is among the values."""
    if values.null or values.booleans:
        return True
    if values.numbers and not values.numbers[0].spelled & AS_DECIMALS:  # with `number_plain` integers are not
        return True
    texts = values.texts
    if texts.words is not None:
        return bool(texts.words)
    if texts.trees:
        is_alone = len(texts.trees) == 1 and not texts.least and texts.most is None and not texts.but
        return is_alone and id(texts.trees[0]) in algebra.inhabited
    return not texts.but or texts.most is None


def _has_value(algebra: Meaning, place: Place, depth: int) -> bool:
    tick()
    if place.schema is True or place.schema is False:
        return place.schema is True
    schema = algebra.keywords(place)
    if "$ref" in schema or "anyOf" in schema:
        if (
            depth > MAX_LOOKED
            or not schema.keys() <= SAYS_NOTHING | {"$ref", "anyOf"}
            or ("$ref" in schema and "anyOf" in schema)
        ):
            return False
        if "$ref" in schema:
            return _has_value(algebra, algebra.documents.target(place, "$ref"), depth + 1)
        for index in range(len(schema["anyOf"])):
            if _has_value(algebra, algebra.documents.grandchild(place, "anyOf", index), depth + 1):
                return True
        return False
    kind = schema.get("type", "null")
    if "const" in schema or "enum" in schema:
        values = scalars_of(schema, place.resource.keywords)
        if not values:
            return False
        return values[0] is None or isinstance(values[0], bool) or (isinstance(values[0], str) and values[0].isascii())
    if not schema.keys().isdisjoint(APPLICATORS):
        return False
    for one in (kind,) if isinstance(kind, str) else kind:
        if one in ("null", "boolean"):
            return True
        if one == "string" and schema.keys().isdisjoint(STRINGS):
            return True
        if one in ("number", "integer") and schema.keys().isdisjoint(NUMBERS):
            return True
        if one == "array" and not schema.get("minItems") and "contains" not in schema:
            return True
        if one == "object" and not schema.get("required") and not schema.get("minProperties"):
            return True
    return False


def is_near(algebra: Meaning, term: int) -> bool:
    """Whether the meaning of a term can be computed by following branches of an `anyOf` or `oneOf` at most."""
    index = term >> 1
    if index in algebra.far or (term, "values") in algebra.in_work or (term ^ 1, "values") in algebra.in_work:
        return False
    part = algebra.parts[index]
    if algebra.kinds[index] == BOTH:
        if len(part) <= MAX_NEAR:
            for one in part:
                if not is_near(algebra, one):
                    if one >> 1 in algebra.far:
                        algebra.far.add(index)
                    return False
            return True
    elif algebra.kinds[index] != PLACE or _is_near_place(algebra, part):
        return True
    algebra.far.add(index)
    return False


def _is_near_place(algebra: Meaning, place: Place) -> bool:
    if place.schema.keys().isdisjoint(APPLICATORS):
        return True
    schema = algebra.keywords(place)
    for keyword in APPLICATORS & schema.keys():
        branches = schema[keyword]
        if keyword not in ("anyOf", "oneOf") or len(branches) > MAX_NEAR:
            return False
        if not all([isinstance(one, bool) or APPLICATORS.isdisjoint(one) for one in branches]):
            return False
    return True
