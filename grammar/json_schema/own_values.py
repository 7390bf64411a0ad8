"""What the keywords of one place say about a value, but for those that apply other schemas to the same value.

These are the assertions of a schema, and the applicators for members and items (2020-12 core, 7.6 and 10). `own_values`
returns their meaning, type by type. Members and items remain terms.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

from ...earley._meter import tick
from ..json.numbers import (
    DUMPED,
    IN_ALL_SPELLINGS,
    INTEGERS,
    PLAIN_INTEGERS,
    WRITTEN_INTEGERS,
    NumberSet,
    exact,
    listed,
    number_set,
)
from ..loading import distinct, frozen
from .keywords import DRAFT_4, DRAFT_NAMES, count
from .read import own_spelling
from .shapes import (
    ALL_VALUES,
    ANY_ARRAY,
    ANY_NUMBER,
    ANY_OBJECT,
    FALSE,
    TRUE,
    UNIQUE,
    ArrayShape,
    Contains,
    ForAll,
    ObjectShape,
    Values,
)
from .text_sets import ALL_TEXTS, NO_TEXTS, Texts

if TYPE_CHECKING:
    from ..regex.ast import Node
    from .terms import Meaning
    from .tree import Place

MAX_LENGTH = 1 << 31
"""The least bound on the length of a text, in code points, that is ignored: no text is so long."""

TYPES = {
    "null": Values(True, 0, (), NO_TEXTS, (), ()),
    "boolean": Values(False, 3, (), NO_TEXTS, (), ()),
    "number": Values(False, 0, (ANY_NUMBER,), NO_TEXTS, (), ()),
    "integer": Values(False, 0, (INTEGERS,), NO_TEXTS, (), ()),
    "string": Values(False, 0, (), ALL_TEXTS, (), ()),
    "array": Values(False, 0, (), NO_TEXTS, (ANY_ARRAY,), ()),
    "object": Values(False, 0, (), NO_TEXTS, (), (ANY_OBJECT,)),
}
"""The values of each type."""

TYPES_4 = {**TYPES, "integer": Values(False, 0, (WRITTEN_INTEGERS,), NO_TEXTS, (), ())}
"""The values of each type in draft 4. There, a number is an integer only if it is written as one."""

PLAIN_TYPES = {**TYPES, "integer": Values(False, 0, (PLAIN_INTEGERS,), NO_TEXTS, (), ())}
"""What each type allows in other drafts, if spellings are plain."""

STRINGS = frozenset(["minLength", "maxLength", "pattern", "format"])
NUMBERS = frozenset(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"])
ARRAYS = frozenset(
    [
        "items",
        "prefixItems",
        "additionalItems",
        "minItems",
        "maxItems",
        "contains",
        "minContains",
        "maxContains",
        "uniqueItems",
    ]
)
_OBJECTS = frozenset(
    [
        "properties",
        "patternProperties",
        "additionalProperties",
        "propertyNames",
        "required",
        "minProperties",
        "maxProperties",
    ]
)


def types_of(algebra: Meaning, place: Place) -> dict[str, Values]:
    """Return what each type allows at a place."""
    if place.draft == DRAFT_4:
        return TYPES_4
    return PLAIN_TYPES if algebra.is_plain else TYPES


def own_values(algebra: Meaning, place: Place, is_negated: bool = False) -> Values:
    """Return what the keywords of a place say, without its applicators in place. `is_negated`: the result will be
    negated; it is the same unless keywords are dropped within `propertyNames`."""
    schema = algebra.keywords(place)
    kind = schema.get("type")
    if kind is None:
        found = ALL_VALUES
    else:
        types = types_of(algebra, place)
        found = types[kind] if isinstance(kind, str) else reduce(algebra.sets.union, [types[one] for one in kind])
    is_number = kind is not None and "number" in kind
    if "enum" in schema:
        found = algebra.sets.intersection(found, constants(algebra, schema["enum"], is_number))
    if "const" in schema:
        found = algebra.sets.intersection(found, constants(algebra, [schema["const"]], is_number))
    keys = schema.keys()
    if found.objects and not _OBJECTS.isdisjoint(keys):
        objects = _only(algebra, found.objects, object_shape(algebra, place, is_negated), True)
        found = Values(found.null, found.booleans, found.numbers, found.texts, found.arrays, objects)
    if found.arrays and not ARRAYS.isdisjoint(keys):
        arrays = _only(algebra, found.arrays, array_shape(algebra, place), False)
        found = Values(found.null, found.booleans, found.numbers, found.texts, arrays, found.objects)
    if found.texts is not NO_TEXTS and not STRINGS.isdisjoint(keys):
        found = found._replace(texts=found.texts.intersection(own_texts(algebra, place)))
    if found.numbers and not NUMBERS.isdisjoint(keys):
        demanded = numbers_of(schema, place.draft)
        numbers = () if demanded.is_empty() else (demanded,)
        found = found._replace(numbers=algebra.sets.intersection_of_numbers(found.numbers, numbers))
    return found


def _only(algebra: Meaning, shapes: Any, demanded: Any, objects: bool) -> Any:
    """Return the intersection of shapes with the one that is demanded; None stands for no shape."""
    if demanded is None:
        return ()
    if objects:
        return algebra.sets.objects.intersection_of([shapes, (demanded,)])
    return algebra.sets.product(shapes, (demanded,), algebra.sets.arrays.intersection, ANY_ARRAY)


def object_shape(algebra: Meaning, place: Place, is_negated: bool = False) -> ObjectShape | None:
    schema = algebra.keywords(place)
    documents = algebra.documents
    named: dict[str, int] = {}
    for_all: list[ForAll] = []
    # Patterns, and keywords for all other keys, say something about names, too.
    others = TRUE
    if "additionalProperties" in schema:
        others = algebra.child(place, "additionalProperties")
    patterns = [
        (algebra.pattern(pattern), algebra.place(documents.grandchild(place, "patternProperties", pattern)))
        for pattern in schema.get("patternProperties", ())
    ]
    for name in schema.get("properties", ()):
        tick()
        value = algebra.place(documents.grandchild(place, "properties", name))
        for keys, demanded in patterns:
            if keys.has(name):
                value = algebra.intersection(value, demanded)
        named[name] = value
    for keys, demanded in patterns:
        if demanded != TRUE:
            for_all.append(ForAll(keys, demanded))
    if others != TRUE:
        left = ALL_TEXTS
        for keys, _ in patterns:
            left = left.difference(keys)
        for_all.append(ForAll(left, others))
    if "propertyNames" in schema and not algebra.is_of_names:
        of_names = algebra.of_names()
        names = of_names.child(place, "propertyNames")
        # Both the names and their complement are too large if keywords are dropped.
        refused = (
            of_names.values(names ^ 1).texts
            if is_negated and algebra.dropped
            else of_names.values(names).texts.complement()
        )
        if refused != NO_TEXTS:
            for name in named:
                tick()
                if refused.has(name):
                    named[name] = FALSE
            for_all.append(ForAll(refused, FALSE))
    required = frozen(schema.get("required", ()) if isinstance(schema.get("required"), list) else ())
    for name in schema.get("required", ()) if required else ():
        tick()
        if name not in named:
            value = TRUE
            for keys, demanded in for_all:
                if keys.has(name):
                    value = algebra.intersection(value, demanded)
            named[name] = value
    least = count(schema.get("minProperties", 0))
    most = count(schema["maxProperties"]) if "maxProperties" in schema else None
    return algebra.sets.objects.shape(named, tuple(for_all), required, (), least, most)


def array_shape(algebra: Meaning, place: Place) -> ArrayShape | None:
    schema = algebra.keywords(place)
    prefix: list[int] = []
    rest = TRUE
    first = schema.get("prefixItems")
    if first is not None:
        prefix = algebra.children(place, "prefixItems", range(len(first)))
    items = schema.get("items")
    if isinstance(items, list):
        prefix = algebra.children(place, "items", range(len(items)))
        if "additionalItems" in schema:
            rest = algebra.child(place, "additionalItems")
    elif items is not None:
        rest = algebra.child(place, "items")
    contains: tuple[Contains, ...] = ()
    if "contains" in schema:
        least = count(schema.get("minContains", 1))
        most = count(schema["maxContains"]) if "maxContains" in schema else None
        contains = (Contains(algebra.child(place, "contains"), least, most, 0),)
    return algebra.sets.arrays.shape(
        prefix,
        rest,
        count(schema.get("minItems", 0)),
        count(schema["maxItems"]) if "maxItems" in schema else None,
        contains,
        UNIQUE if schema.get("uniqueItems") is True else 0,
    )


def own_texts(algebra: Meaning, place: Place) -> Texts:
    schema = algebra.keywords(place)
    least = count(schema.get("minLength", 0))
    most = count(schema["maxLength"]) if "maxLength" in schema else None
    if most is not None and most >= MAX_LENGTH:
        most = None
    if least >= MAX_LENGTH or (most is not None and least > most):
        return NO_TEXTS
    found = Texts(least=least, most=most) if least or most is not None else ALL_TEXTS
    if "pattern" in schema:
        found = found.intersection(algebra.pattern(schema["pattern"]))
    if "format" in schema and algebra.asserts_format(place.resource):
        tree = format_tree(schema["format"], place.draft)
        if tree is not None:
            found = found.intersection(Texts(trees=(tree,)))
    return found


def constants(algebra: Meaning, values: list[Any], is_number: bool = False) -> Values:
    """Return exactly these values. is_number: numbers among them have the type "number", so that plain spellings write
    whole ones with and without a fraction."""
    null = False
    booleans = 0
    numbers = []
    words = []
    arrays: list[ArrayShape] = []
    objects: list[ObjectShape] = []
    for value in values:
        tick()
        if isinstance(value, str):
            words.append(value)
        elif value is None:
            null = True
        elif value is True or value is False:
            booleans |= 2 if value else 1
        elif isinstance(value, list):
            items = tuple(map(algebra.constant, value))
            arrays.append(ArrayShape(items, FALSE, len(items), len(items)))
        elif isinstance(value, dict):
            members = tuple([(name, algebra.constant(member)) for name, member in value.items()])
            objects.append(ObjectShape(members, (ForAll(ALL_TEXTS, FALSE),), frozenset(value), is_constant=True))
        else:
            numbers.append(value)
    found: tuple[NumberSet, ...] = ()
    if numbers and algebra.is_plain:
        own = []
        for value in numbers:
            tick()
            spelling = own_spelling(value)
            if spelling:
                own.append((exact(value), spelling))
        found = (listed(numbers, IN_ALL_SPELLINGS if is_number else DUMPED, own),)
    elif numbers:
        found = (listed(numbers),)
    return Values(
        null,
        booleans,
        found,
        Texts(frozen(words)) if words else NO_TEXTS,
        tuple(distinct(arrays)),
        tuple(distinct(objects)),
    )


def format_tree(name: str, draft: int) -> Node | None:
    """Return the texts of a format; None if no draft knows it. Raises FormatRefusal.

    People use formats of later drafts than theirs, and mean them; the drafts leave that to implementations.
    """
    from ..json.formats import tree

    found = tree(name, DRAFT_NAMES[draft])
    return tree(name) if found is None else found


def numbers_of(schema: dict[str, Any], draft: int) -> NumberSet:
    """Return what the keywords about numbers say. Raises LimitError and ValueError; `refusals` has met these before."""
    minimum = schema.get("minimum")
    maximum = schema.get("maximum")
    above = schema.get("exclusiveMinimum")
    below = schema.get("exclusiveMaximum")
    if draft == DRAFT_4:
        above, below = above is True, below is True
    else:
        # The greater one of two lower bounds counts; if they are equal, the exclusive one.
        if above is not None and (minimum is None or above >= minimum):
            minimum, above = above, True
        else:
            above = False
        if below is not None and (maximum is None or below <= maximum):
            maximum, below = below, True
        else:
            below = False
    multiples = [schema["multipleOf"]] if "multipleOf" in schema else []
    return number_set(minimum, maximum, above, below, multiples)
