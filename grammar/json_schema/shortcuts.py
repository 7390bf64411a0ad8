"""What a term shows without computing what it means: most schemas are plain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...earley._meter import tick
from ..json.numbers import AS_DECIMALS
from .constants import scalars_of
from .keywords import APPLICATORS, SAYS_NOTHING
from .own_values import MAX_LENGTH, NUMBERS, STRINGS, types_of
from .shapes import TRUE
from .terms import BOTH, PLACE

if TYPE_CHECKING:
    from typing import Any

    from .shapes import Values
    from .terms import Meaning
    from .text_sets import Texts
    from .tree import Place

_REFERS = SAYS_NOTHING | {"$ref", "anyOf"}
_LENGTHS = frozenset(["minLength", "maxLength"])
_STRICT = frozenset(["exclusiveMinimum", "exclusiveMaximum", "multipleOf"])
_KEYS = frozenset(["patternProperties", "propertyNames"])

MAX_LOOKED = 16
"""The most references, branches, items and members within each other that are followed to see that a value satisfies a
schema. Each place is looked at once."""
MAX_BOUND = 10**9
"""The greatest bound of numbers within which it is quick to see that there is an integer: with any option, so many
digits are written."""
MAX_LEAST = 64
"""The most items that are seen to be possible without counting them."""
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
    if place.schema is True or place.schema is False:
        return place.schema is True
    known = algebra.something.get(place)
    if known is None:
        tick()
        algebra.something[place] = False  # while it is looked at: no value may hold itself
        known = algebra.something[place] = depth <= MAX_LOOKED and _has_plain_value(algebra, place, depth)
    return known


def _has_plain_value(algebra: Meaning, place: Place, depth: int) -> bool:
    schema = algebra.keywords(place)
    documents = algebra.documents
    if "$ref" in schema or "anyOf" in schema:
        if not schema.keys() <= _REFERS or ("$ref" in schema and "anyOf" in schema):
            return False
        if "$ref" in schema:
            return _has_value(algebra, documents.target(place, "$ref"), depth + 1)
        for index in range(len(schema["anyOf"])):
            if _has_value(algebra, documents.grandchild(place, "anyOf", index), depth + 1):
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
        if one == "string" and (schema.keys().isdisjoint(STRINGS) or _has_text(algebra, schema)):
            return True
        if one in ("number", "integer") and (schema.keys().isdisjoint(NUMBERS) or _has_number(schema)):
            return True
        if one == "array" and "contains" not in schema:
            if not schema.get("minItems") or _has_array(algebra, place, schema, depth + 1):
                return True
        if one == "object" and not schema.get("minProperties"):
            if not schema.get("required") or _has_object(algebra, place, schema, depth + 1):
                return True
    return False


def _has_text(algebra: Meaning, schema: dict[str, Any]) -> bool:
    """Whether it is quick to see that some text has the length, or the pattern or format, that a schema demands."""
    said = STRINGS & schema.keys()
    if said <= _LENGTHS:
        return bool(schema.get("minLength", 0) <= schema.get("maxLength", MAX_LENGTH - 1) < MAX_LENGTH)
    if len(said) > 1:
        return False
    if "format" in said:
        return True  # all formats match something
    texts = algebra.patterns.get(schema["pattern"])
    return texts is not None and _has_word(algebra, texts)


def _has_word(algebra: Meaning, texts: Texts) -> bool:
    """Whether it is quick to see that a pattern has texts."""
    if texts.words is not None:
        return bool(texts.words)
    return len(texts.trees) == 1 and id(texts.trees[0]) in algebra.inhabited


def _has_number(schema: dict[str, Any]) -> bool:
    """Whether it is quick to see that some integer is within the bounds of a schema."""
    if not _STRICT.isdisjoint(schema):
        return False
    least, most = schema.get("minimum", 0), schema.get("maximum", 0)
    if type(least) is not int or type(most) is not int or not -MAX_BOUND <= least <= MAX_BOUND >= most >= -MAX_BOUND:
        return False
    return least <= most or "minimum" not in schema or "maximum" not in schema


def _has_array(algebra: Meaning, place: Place, schema: dict[str, Any], depth: int) -> bool:
    """Whether it is quick to see that some array has as many items as a schema demands."""
    least = schema["minItems"]
    if least > schema.get("maxItems", least) or (schema.get("uniqueItems") and least > 1):
        return False
    if "prefixItems" in schema or isinstance(schema.get("items"), list) or least > MAX_LEAST:
        return False
    return "items" not in schema or _has_value(algebra, algebra.documents.child(place, "items"), depth)


def _has_object(algebra: Meaning, place: Place, schema: dict[str, Any], depth: int) -> bool:
    """Whether it is quick to see that some object has the members that a schema requires."""
    required = schema["required"]
    if not isinstance(required, list) or not _KEYS.isdisjoint(schema):
        return False
    if len(required) > schema.get("maxProperties", MAX_LENGTH):
        return False
    members = schema.get("properties", ())
    for index, name in enumerate(required):
        if not ~index & 0xFFF:
            tick()
        if name not in members:
            if "additionalProperties" in schema:
                return False
        elif not _has_value(algebra, algebra.documents.grandchild(place, "properties", name), depth):
            return False
        if not name.isascii():
            return False
    return True


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
