"""Schemas as terms, and what terms mean: conjunction, negation and choice, worked out as far as somebody asks.

A *term* is a number that stands for a set of JSON values: all values (`TRUE`), a place in a schema document, one
constant, or the conjunction of other terms; `t ^ 1` is the negation of `t`. (An and-inverter graph, as circuits are
written in logic synthesis.) Terms are interned: equal ones are the same number, so what is known about one is known
for all its uses, and recursion closes.

`values(term)` is the meaning, type by type (`schema_shapes`). For a place it is the conjunction of two things: what
its own keywords say (`own_values`), and the terms of its *applicators in place* (`applied`): `allOf`, `anyOf`,
`oneOf`, `not`, `if`, `$ref` and what else speaks about the same value. Items and members remain terms, so a value is
worked out one level deep, and a reference is followed only where a text comes to it, or another schema at the same
place must be united with it.
"""

from __future__ import annotations

from functools import reduce
from time import monotonic
from typing import TYPE_CHECKING, Any

from .errors import GrammarError, GrammarLimitError
from .json_numbers import INTEGERS, NumberSet, exact, listed, number_set
from .regex_dialects import parse_regex, whole_text
from .schema_keywords import DRAFT_4, DRAFT_NAMES, count
from .schema_shapes import (
    ALL_VALUES,
    ANY_ARRAY,
    ANY_NUMBER,
    ANY_OBJECT,
    FALSE,
    NO_VALUES,
    TRUE,
    UNIQUE,
    ArrayShape,
    Contains,
    ForAll,
    ObjectShape,
    Values,
)
from .schema_strings import ALL_TEXTS, NO_TEXTS, Texts
from .schema_value_sets import ValueSets, both_numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .regex_ast import Node
    from .schema_documents import Documents, Place, Resource
    from .schema_evaluated import Evaluation
    from .schema_options import Options

MAX_TERMS = 1 << 20
MAX_LOOKED = 4
"""References that are followed to see that something satisfies a schema."""
MAX_LENGTH = 1 << 31
"""Code points: no text of so many is written."""
MAX_LISTED = 256
"""Values that are told apart by state, for `uniqueItems`."""
FEW_BRANCHES = 16
"""Of a oneOf, that are compared one with the other without more ado."""
MAX_NEAR = 8
"""Branches, or parts of a conjunction, that are looked at to see that a combination is empty."""
MAX_UNFOLDED = 200
"""Applicators in place, and references, within each other."""

_TYPES = {
    "null": Values(True, 0, (), NO_TEXTS, (), ()),
    "boolean": Values(False, 3, (), NO_TEXTS, (), ()),
    "number": Values(False, 0, (ANY_NUMBER,), NO_TEXTS, (), ()),
    "integer": Values(False, 0, (INTEGERS,), NO_TEXTS, (), ()),
    "string": Values(False, 0, (), ALL_TEXTS, (), ()),
    "array": Values(False, 0, (), NO_TEXTS, (ANY_ARRAY,), ()),
    "object": Values(False, 0, (), NO_TEXTS, (), (ANY_OBJECT,)),
}

_STRINGS = frozenset(["minLength", "maxLength", "pattern", "format"])
_NUMBERS = frozenset(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"])
_ARRAYS = frozenset(
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
_APPLIED = frozenset(
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
_SAYS_NOTHING = frozenset(
    [
        "title",
        "description",
        "$comment",
        "default",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
        "definitions",
        "$defs",
        "$schema",
        "$id",
        "id",
        "$anchor",
        "$dynamicAnchor",
        "$vocabulary",
    ]
)

_UNEVALUATED = frozenset(["unevaluatedItems", "unevaluatedProperties"])

PLACE, BOTH, CONSTANT, VALUES = range(4)


class Algebra:
    """The terms of one schema."""

    def __init__(
        self, documents: Documents, options: Options, dropped: Mapping[tuple[int, str], str], seconds: float
    ) -> None:
        self.seconds = seconds  # for loading, and then for each symbol that is worked out
        self.deadline = monotonic() + seconds
        self.is_loading = True
        self.documents = documents
        self.options = options
        self.is_draft_4 = documents.root.draft == DRAFT_4
        self.decimals: set[object] = set()  # constants of draft 4 that are written with a fraction or an exponent
        self.sets = ValueSets(self)
        # By term // 2: what it is, and of what.
        self.kinds: list[int] = [BOTH]
        self.parts: list[Any] = [()]
        self.known: dict[object, int] = {(BOTH, ()): TRUE}
        self.patterns: dict[str, Texts] = {}
        self.inhabited: set[int] = set()  # `id` of the trees of patterns and formats that match something
        self._evaluation: Evaluation | None = None
        self.has_unique_items = False  # out of so many values that the parser must read which there are
        self.dropped = dropped  # keywords that are left out: see `schema_report`
        self.meanings: dict[int, Values] = {TRUE: ALL_VALUES, FALSE: NO_VALUES}
        self.first: dict[int, int] = {}  # places -> the first ones that mean the same
        self.alike: dict[object, int] = {}  # by what stands there: the first place
        self.in_work: set[tuple[int, str]] = set()

    # Time.

    def begin(self) -> None:
        """A symbol is worked out from here on."""
        if not self.is_loading:
            self.deadline = monotonic() + self.seconds
        self.look()

    def look(self) -> None:
        """Raises GrammarLimitError where the work takes too long. What a schema means may be far larger than it."""
        if monotonic() > self.deadline:
            raise GrammarLimitError(f"working out the schema takes longer than {self.seconds} seconds").of("seconds")

    # Terms.

    def place(self, place: Place) -> int:
        schema = place.schema
        if schema is True or schema is False:
            return TRUE if schema else FALSE
        return self._term(PLACE, place.key(), place)

    def keywords(self, place: Place) -> dict[str, Any]:
        """The keywords that count at a place, which is no bool."""
        known = place.keywords
        if known is None:
            known = place.applied()
            if self.dropped:
                schema = place.schema
                known = {name: value for name, value in known.items() if (id(schema), name) not in self.dropped}
            place.keywords = known
        return known

    def child(self, place: Place, keyword: str) -> int:
        return self.place(place.child(keyword))

    def children(self, place: Place, keyword: str, keys: Iterable[Any]) -> list[int]:
        return [self.place(place.grandchild(keyword, key)) for key in keys]

    def constant(self, value: Any) -> int:
        return self._term(CONSTANT, canonical(value), value)

    def meaning(self, values: Values) -> int:
        """A term for these values."""
        return self._term(VALUES, values, values)

    def both(self, left: int, right: int) -> int:
        if left == right or right == TRUE:
            return left
        if left == TRUE:
            return right
        if left ^ 1 == right or left == FALSE or right == FALSE:
            return FALSE
        return self.all_of((left, right))

    def all_of(self, terms: Iterable[int]) -> int:
        """The conjunction. The order is kept, for the names of members come in it; what is said twice counts once."""
        found: dict[int, bool] = {}
        for term in terms:
            if not term & 1 and self.kinds[term >> 1] == BOTH:
                for part in self.parts[term >> 1]:
                    found[part] = True
            else:
                found[term] = True
        for term in found:
            if term ^ 1 in found:
                return FALSE
        if len(found) == 1:
            return next(iter(found))
        parts = tuple(found)
        return self._term(BOTH, parts, parts)

    def any_of(self, terms: Iterable[int]) -> int:
        return self.all_of([term ^ 1 for term in terms]) ^ 1

    def _term(self, kind: int, key: object, part: Any) -> int:
        whole = (kind, key)
        term = self.known.get(whole)
        if term is None:
            if len(self.kinds) >= MAX_TERMS:
                raise GrammarLimitError(f"the schema has more than {MAX_TERMS} combinations of sub-schemas")
            term = self.known[whole] = 2 * len(self.kinds)
            self.kinds.append(kind)
            self.parts.append(part)
        return term

    # Meanings.

    def values(self, term: int) -> Values:
        """What the term allows."""
        known = self.meanings.get(term)
        if known is not None:
            return known
        self.look()
        self.enter(term)
        try:
            known = self._values(term)
        except GrammarLimitError as error:
            place = self.place_of(term & ~1)
            if place is not None and error.pointer is None:
                error.pointer = place.pointer
            raise
        finally:
            self.leave(term)
        self.meanings[term] = known
        return known

    def enter(self, term: int, what: str = "values") -> None:
        """From here on the term's meaning is being worked out. Raises GrammarError where it already is."""
        task = (term, what)
        if task in self.in_work or len(self.in_work) > MAX_UNFOLDED:
            raise self.circle(term, task in self.in_work)
        self.in_work.add(task)

    def leave(self, term: int, what: str = "values") -> None:
        self.in_work.discard((term, what))

    def circle(self, term: int, is_circle: bool) -> GrammarError:
        part = self.parts[term >> 1]
        where = f"{part.pointer}: " if self.kinds[term >> 1] == PLACE else ""
        if is_circle:
            return GrammarError(
                f"{where}the schema refers to itself without an item or a member between",
                hint="take the reference out of the circle; it says nothing",
            )
        return GrammarLimitError(f"{where}more than {MAX_UNFOLDED} schemas apply to one value within each other")

    def _values(self, term: int) -> Values:
        index = term >> 1
        kind = self.kinds[index]
        part = self.parts[index]
        sets = self.sets
        if kind == BOTH:
            if term & 1:
                return self.united([self.values(one ^ 1) for one in part])
            return sets.all_of([self.values(one) for one in part])
        if kind != PLACE:
            if term & 1:
                return sets.none(self.values(term ^ 1))
            return self.constants([part]) if kind == CONSTANT else part
        if not _UNEVALUATED.isdisjoint(part.schema):
            found = self.evaluation().values(part)
            return sets.none(found) if term & 1 else found
        if term & 1:
            found = sets.none(self.own_values(part))
            for one in self.applied(part):
                found = sets.either(found, self.values(one ^ 1))
        else:
            found = sets.all_of([self.own_values(part), *map(self.values, self.applied(part))])
        return found

    def united(self, values: list[Values]) -> Values:
        """The union: of halves, for an enumeration may be written as an anyOf of a thousand constants."""
        while len(values) > 1:
            self.look()
            pairs = range(0, len(values) - 1, 2)
            made = [self.sets.either(values[index], values[index + 1]) for index in pairs]
            values = made + values[2 * len(made) :]
        return values[0]

    def members(self, values: Values) -> list[Any] | None:
        """All of the values, or None where they are more than MAX_LISTED, or arrays or objects."""
        words = values.texts.words
        if values.arrays or values.objects or words is None or len(words) > MAX_LISTED:
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

    def distinguished(self, place: Place) -> list[Values]:
        """What the items of arrays at a place may be, where `uniqueItems` has to tell them apart."""
        shape = self.array_shape(place)
        if shape is None or (shape.most is not None and shape.most <= 1):
            return []
        n = len(shape.prefix) if shape.rest == FALSE else len(shape.prefix) + 1
        n = n if shape.most is None else min(n, shape.most)
        return [self.values(shape.item(index)) for index in range(n)]

    def constants(self, values: list[Any]) -> Values:
        """Exactly these values."""
        null = False
        booleans = 0
        numbers = []
        words = []
        arrays: list[ArrayShape] = []
        objects: list[ObjectShape] = []
        for value in values:
            if isinstance(value, str):
                words.append(value)
            elif value is None:
                null = True
            elif value is True or value is False:
                booleans |= 2 if value else 1
            elif isinstance(value, list):
                items = tuple(map(self.constant, value))
                arrays.append(ArrayShape(items, FALSE, len(items), len(items)))
            elif isinstance(value, dict):
                members = tuple([(name, self.constant(member)) for name, member in value.items()])
                objects.append(ObjectShape(members, (ForAll(ALL_TEXTS, FALSE),), frozenset(value), is_constant=True))
            else:
                numbers.append(value)
                if self.is_draft_4 and not isinstance(value, int):
                    self.decimals.add(exact(value))
        return Values(
            null,
            booleans,
            (listed(numbers),) if numbers else (),
            Texts(frozenset(words)) if words else NO_TEXTS,
            tuple(dict.fromkeys(arrays)),
            tuple(dict.fromkeys(objects)),
        )

    def is_nothing(self, term: int) -> bool:
        """Whether the term allows no value, as far as that is seen without following it: what is not seen here, the
        engine proves when the parser comes to it."""
        if term <= FALSE:
            return term == FALSE
        known = self.meanings.get(term)
        if known is None:
            if self.plain_scalars(term) is not None or not self.is_shallow(term) or self.is_something(term):
                return False
            known = self.values(term)
        return is_nothing(known)

    def is_empty(self, values: Values) -> bool:
        return is_nothing(values)

    def meant(self, term: int) -> int:
        """The term; of a place that is a mere reference, what that leads to, and of places with the same schema the
        first one. (There are no circles of references: see `Scan`.)"""
        place = self.place_of(term & ~1)
        if place is None:
            return term
        known = self.first.get(term & ~1)
        if known is None:
            if len(place.schema) == 1 and "$ref" in place.schema:
                known = self.meant(self.place(place.ref()))
            elif self.dropped:
                known = term & ~1
            else:
                content = (canonical(place.schema), id(place.resource), place.scope)
                known = self.alike.setdefault(content, term & ~1)
            self.first[term & ~1] = known
        return known ^ (term & 1)

    def is_surely_nothing(self, term: int) -> bool:
        """As `is_nothing`; more is looked at, for combinations that become large otherwise."""
        if term <= FALSE:
            return term == FALSE
        return self.is_near(term) and is_nothing(self.values(term))

    def is_near(self, term: int) -> bool:
        """Whether the meaning can be worked out with what stands in the branches of an `anyOf` or `oneOf` at most."""
        if (term, "values") in self.in_work or (term ^ 1, "values") in self.in_work:
            return False
        kind = self.kinds[term >> 1]
        part = self.parts[term >> 1]
        if kind == BOTH:
            return len(part) <= MAX_NEAR and all(self.is_near(one) for one in part)
        if kind != PLACE or _APPLIED.isdisjoint(part.schema):
            return True
        schema = self.keywords(part)
        for keyword in _APPLIED & schema.keys():
            branches = schema[keyword]
            if keyword not in ("anyOf", "oneOf") or len(branches) > MAX_NEAR:
                return False
            if not all(isinstance(one, bool) or _APPLIED.isdisjoint(one) for one in branches):
                return False
        return True

    def place_of(self, term: int) -> Place | None:
        """The place that the term is, if it is one."""
        if term & 1 or self.kinds[term >> 1] != PLACE:
            return None
        place: Place = self.parts[term >> 1]
        return place

    def asserts_format(self, resource: Resource) -> bool:
        said = resource.asserts_format
        return self.options.format_assertion if said is None else said

    def evaluation(self) -> Evaluation:
        if self._evaluation is None:
            from .schema_evaluated import Evaluation  # almost no schema needs it

            self._evaluation = Evaluation(self)
        return self._evaluation

    def pattern(self, pattern: str) -> Texts:
        """The texts in which a pattern of ECMA-262 is found."""
        known = self.patterns.get(pattern)
        if known is None:
            tree = whole_text(parse_regex(pattern, "ecma"), search=True)
            known = self.patterns[pattern] = Texts(trees=(tree,))
        return known

    def is_something(self, term: int) -> bool:
        """Whether some value is in the term, as far as that is seen at once: as a rule it is. Of the others the engine
        proves it, and for that looks at what they mean."""
        if self.plain_scalars(term) is not None:
            return True
        place = self.place_of(term)
        return term == TRUE or (place is not None and self._has_value(place, 0))

    def have_scalar(self, values: Values) -> bool:
        """Whether some scalar is among the values, as far as that is seen at once."""
        if values.null or values.booleans or values.numbers:
            return True
        texts = values.texts
        if texts.words is not None:
            return bool(texts.words)
        if texts.trees:
            is_alone = len(texts.trees) == 1 and not texts.least and texts.most is None and not texts.but
            return is_alone and id(texts.trees[0]) in self.inhabited
        return not texts.but or texts.most is None

    def _has_value(self, place: Place, depth: int) -> bool:
        if place.schema is True or place.schema is False:
            return place.schema is True
        schema = self.keywords(place)
        if "$ref" in schema or "anyOf" in schema:
            if (
                depth > MAX_LOOKED
                or not schema.keys() <= _SAYS_NOTHING | {"$ref", "anyOf"}
                or ("$ref" in schema and "anyOf" in schema)
            ):
                return False
            if "$ref" in schema:
                return self._has_value(place.ref(), depth + 1)
            n = len(schema["anyOf"])
            return any(self._has_value(place.grandchild("anyOf", index), depth + 1) for index in range(n))
        kind = schema.get("type", "null")
        if not _APPLIED.isdisjoint(schema) or "const" in schema or "enum" in schema:
            return False
        for one in (kind,) if isinstance(kind, str) else kind:
            if one in ("null", "boolean"):
                return True
            if one == "string" and _STRINGS.isdisjoint(schema):
                return True
            if one in ("number", "integer") and _NUMBERS.isdisjoint(schema):
                return True
            if one == "array" and not schema.get("minItems") and "contains" not in schema:
                return True
            if one == "object" and not schema.get("required") and not schema.get("minProperties"):
                return True
        return False

    def plain_scalars(self, term: int) -> Values | None:
        """What a place means that says no more than one type of scalars, as most places do; else None."""
        index = term >> 1
        if term & 1 or self.kinds[index] != PLACE:
            return None
        place = self.parts[index]
        schema = place.schema
        kind = schema.get("type")
        if type(kind) is not str or kind == "object" or kind == "array":
            return None
        known = place.resource.keywords
        for keyword in schema:
            if keyword != "type" and keyword not in _SAYS_NOTHING and keyword in known:
                return None
        return _TYPES[kind] if "type" in known else None

    def is_structured(self, term: int) -> bool:
        """Whether a place says of itself that all its values are arrays, or objects."""
        index = term >> 1
        if term & 1 or self.kinds[index] != PLACE:
            return False
        place = self.parts[index]
        kind = place.schema.get("type")
        return (kind == "object" or kind == "array") and "type" in place.resource.keywords

    def is_shallow(self, term: int) -> bool:
        """Whether the meaning can be worked out without looking at other places."""
        kind = self.kinds[term >> 1]
        part = self.parts[term >> 1]
        if kind != BOTH:
            return kind != PLACE or _APPLIED.isdisjoint(part.schema)
        if len(part) > MAX_NEAR:
            return False
        return False not in map(self.is_shallow, part)

    # The keywords of one place.

    def own_values(self, place: Place) -> Values:
        """What the keywords of a place say that are no applicators in place."""
        schema = self.keywords(place)
        kind = schema.get("type")
        if kind is None:
            found = ALL_VALUES
        elif isinstance(kind, str):
            found = _TYPES[kind]
        else:
            found = reduce(self.sets.either, [_TYPES[one] for one in kind])
        if "enum" in schema:
            found = self.sets.both(found, self.constants(schema["enum"]))
        if "const" in schema:
            found = self.sets.both(found, self.constants([schema["const"]]))
        keys = schema.keys()
        if found.objects and not _OBJECTS.isdisjoint(keys):
            objects = self._only(found.objects, self.object_shape(place), True)
            found = Values(found.null, found.booleans, found.numbers, found.texts, found.arrays, objects)
        if found.arrays and not _ARRAYS.isdisjoint(keys):
            arrays = self._only(found.arrays, self.array_shape(place), False)
            found = Values(found.null, found.booleans, found.numbers, found.texts, arrays, found.objects)
        if found.texts is not NO_TEXTS and not _STRINGS.isdisjoint(keys):
            found = found._replace(texts=found.texts & self.texts(place))
        if found.numbers and not _NUMBERS.isdisjoint(keys):
            demanded = numbers_of(schema, place.draft)
            numbers = () if demanded.is_empty() else (demanded,)
            found = found._replace(numbers=self.sets.product(found.numbers, numbers, both_numbers, ANY_NUMBER))
        return found

    def _only(self, shapes: Any, demanded: Any, objects: bool) -> Any:
        """Those of the shapes that are as demanded, a shape or None for none."""
        if demanded is None:
            return ()
        if objects:
            return self.sets.objects.all_of([shapes, (demanded,)])
        return self.sets.product(shapes, (demanded,), self.sets.arrays.both, ANY_ARRAY)

    def object_shape(self, place: Place) -> ObjectShape | None:
        schema = self.keywords(place)
        named: dict[str, int] = {}
        for_all: list[ForAll] = []
        # Patterns and what is left by them say something about names, too.
        others = TRUE
        if "additionalProperties" in schema:
            others = self.child(place, "additionalProperties")
        patterns = [
            (self.pattern(pattern), self.place(place.grandchild("patternProperties", pattern)))
            for pattern in schema.get("patternProperties", ())
        ]
        for name in schema.get("properties", ()):
            value = self.place(place.grandchild("properties", name))
            for keys, demanded in patterns:
                if keys.has(name):
                    value = self.both(value, demanded)
            named[name] = value
        for keys, demanded in patterns:
            if demanded != TRUE:
                for_all.append(ForAll(keys, demanded))
        if others != TRUE:
            left = ALL_TEXTS
            for keys, _ in patterns:
                left = left & ~keys
            for_all.append(ForAll(left, others))
        if "propertyNames" in schema:
            allowed = self.values(self.child(place, "propertyNames")).texts
            if not allowed.is_all():
                for name in named:
                    if not allowed.has(name):
                        named[name] = FALSE
                for_all.append(ForAll(~allowed, FALSE))
        required = frozenset(schema.get("required", ()) if isinstance(schema.get("required"), list) else ())
        for name in schema.get("required", ()) if required else ():
            if name not in named:
                value = TRUE
                for keys, demanded in for_all:
                    if keys.has(name):
                        value = self.both(value, demanded)
                named[name] = value
        least = count(schema.get("minProperties", 0))
        most = count(schema["maxProperties"]) if "maxProperties" in schema else None
        return self.sets.objects.shape(named, tuple(for_all), required, (), least, most)

    def array_shape(self, place: Place) -> ArrayShape | None:
        schema = self.keywords(place)
        prefix: list[int] = []
        rest = TRUE
        first = schema.get("prefixItems")
        if first is not None:
            prefix = self.children(place, "prefixItems", range(len(first)))
        items = schema.get("items")
        if isinstance(items, list):
            prefix = self.children(place, "items", range(len(items)))
            if "additionalItems" in schema:
                rest = self.child(place, "additionalItems")
        elif items is not None:
            rest = self.child(place, "items")
        contains: tuple[Contains, ...] = ()
        if "contains" in schema:
            least = count(schema.get("minContains", 1))
            most = count(schema["maxContains"]) if "maxContains" in schema else None
            contains = (Contains(self.child(place, "contains"), least, most, 0),)
        return self.sets.arrays.shape(
            prefix,
            rest,
            count(schema.get("minItems", 0)),
            count(schema["maxItems"]) if "maxItems" in schema else None,
            contains,
            UNIQUE if schema.get("uniqueItems") is True else 0,
        )

    def texts(self, place: Place) -> Texts:
        schema = self.keywords(place)
        least = count(schema.get("minLength", 0))
        most = count(schema["maxLength"]) if "maxLength" in schema else None
        if most is not None and most >= MAX_LENGTH:
            most = None
        if least >= MAX_LENGTH or (most is not None and least > most):
            return NO_TEXTS
        found = Texts(least=least, most=most) if least or most is not None else ALL_TEXTS
        if "pattern" in schema:
            found = found & self.pattern(schema["pattern"])
        if "format" in schema and self.asserts_format(place.resource):
            tree = format_tree(schema["format"], place.draft)
            if tree is not None:
                found = found & Texts(trees=(tree,))
        return found

    def applied(self, place: Place) -> list[int]:
        """The terms of what else applies to the value, in the order of the document."""
        if _APPLIED.isdisjoint(place.schema):
            return []
        found: list[int] = []
        for keyword in self.keywords(place):
            if keyword in _APPLIED:
                found += self.applied_by(place, keyword)
        return found

    def target(self, place: Place, keyword: str) -> int:
        """What a reference leads to."""
        if keyword == "$ref":
            return self.place(place.ref())
        return self.place(place.dynamic_ref() if keyword == "$dynamicRef" else place.recursive_ref())

    def applied_by(self, place: Place, keyword: str) -> list[int]:
        """The terms of one keyword in `_APPLIED`."""
        schema = self.keywords(place)
        value = schema[keyword]
        if keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            return [self.target(place, keyword)]
        if keyword == "allOf":
            return self.children(place, keyword, range(len(value)))
        if keyword == "anyOf":
            return [self.any_of(self.children(place, keyword, range(len(value))))]
        if keyword == "oneOf":
            return [self.any_of(self.exactly_one(self.children(place, keyword, range(len(value))), place))]
        if keyword == "not":
            return [self.child(place, keyword) ^ 1]
        if keyword == "if":
            condition = self.child(place, "if")
            found = []
            if "then" in schema:
                found.append(self.any_of([condition ^ 1, self.child(place, "then")]))
            if "else" in schema:
                found.append(self.any_of([condition, self.child(place, "else")]))
            return found
        if keyword in ("dependentRequired", "dependentSchemas", "dependencies"):
            return [self.dependency(place, keyword, name, demanded) for name, demanded in value.items()]
        return []  # `then` and `else`, which `if` has spoken of; `unevaluated...`, see `schema_evaluated`

    def dependency(self, place: Place, keyword: str, name: str, demanded: Any) -> int:
        """What is demanded of an object that has a member `name`."""
        if isinstance(demanded, str):
            demanded = [demanded]
        if isinstance(demanded, list):
            named = tuple([(one, TRUE) for one in dict.fromkeys(demanded)])
            then = self.objects(ObjectShape(named, (), frozenset(demanded)))
        else:
            then = self.place(place.grandchild(keyword, name))
        return self.any_of([self.objects(ObjectShape(((name, FALSE),))), then])

    def exactly_one(self, terms: list[int], place: Place) -> list[int]:
        """For each of the terms, which apply at a place, that it holds and no other does.

        What excludes the others by itself, given what else the place says, need not have them negated: as a rule, the
        branches of `oneOf` are told apart by a type or by a constant.
        """
        around = self.own_values(place)
        within = [self.sets.both(around, self.values(term)) for term in terms]
        cases = []
        rivals = sharing(within) if len(terms) > FEW_BRANCHES else None
        for index, term in enumerate(terms):
            self.look()
            others = [
                terms[at] ^ 1
                for at in (range(len(terms)) if rivals is None else rivals[index])
                if at != index and not is_nothing(self.sets.both(within[index], self.values(terms[at])))
            ]
            cases.append(self.all_of([term, *others]))
        return cases

    def objects(self, shape: ObjectShape) -> int:
        """Objects of the shape, and all that are no objects."""
        return self.meaning(ALL_VALUES._replace(objects=(shape,)))

    # The order of keys.

    def order(self, term: int) -> list[str]:
        """The names of members, in the order in which the document has them: in `properties`, in applicators in place
        where they stand, references followed; then those that are only required."""
        found: dict[str, bool] = {}
        required: dict[str, bool] = {}
        self._order(term, found, required, set())
        return list(found | required)

    def in_order(self, shapes: tuple[ObjectShape, ...], term: int) -> list[tuple[ObjectShape, int]]:
        """The shapes of a term with their names in the order of the document, and with names that only others have; and
        how many names have such an order. Constants have their own."""
        # (In the shape of a conjunction, the required names of one schema stand before the properties of the next.)
        if len(shapes) == 1 and self.kinds[term >> 1] == PLACE and self.is_shallow(term) and not shapes[0].clauses:
            return [(shapes[0], len(shapes[0].named))]
        order = self.order(term)
        found = []
        for shape in shapes:
            n_ordered = len(shape.named)
            if not shape.is_constant:
                n_ordered = len(order)
                known = dict(shape.named)
                named = [
                    (name, known[name] if name in known else self.sets.objects.value_of(shape, name)) for name in order
                ]
                named += [(name, value) for name, value in shape.named if name not in order]
                shape = shape._replace(named=tuple(named))
            found.append((shape, n_ordered))
        return found

    def _order(self, term: int, found: dict[str, bool], required: dict[str, bool], met: set[int]) -> None:
        if term >> 1 in met:
            return
        met.add(term >> 1)
        kind = self.kinds[term >> 1]
        part = self.parts[term >> 1]
        if kind == BOTH:
            for one in part:
                self._order(one, found, required, met)
        elif kind == PLACE:
            self._order_of_place(part, found, required, met)

    def _order_of_place(self, place: Place, found: dict[str, bool], required: dict[str, bool], met: set[int]) -> None:
        schema = self.keywords(place)
        for keyword, value in schema.items():
            # Not `applied_by`: what a keyword means may speak of its schemas in another order, as `oneOf` does.
            terms: list[int] = []
            if keyword == "properties":
                found |= dict.fromkeys(value, True)
            elif keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
                terms = [self.target(place, keyword)]
            elif keyword in ("allOf", "anyOf", "oneOf"):
                terms = self.children(place, keyword, range(len(value)))
            elif keyword in ("not", "if", "then", "else"):
                terms = [self.child(place, keyword)]
            elif keyword in ("dependentSchemas", "dependencies"):
                names = [name for name, one in value.items() if not isinstance(one, (list, str))]
                terms = self.children(place, keyword, names)
            for term in terms:
                self._order(term, found, required, met)
        if isinstance(schema.get("required"), list):
            required |= dict.fromkeys(schema["required"], True)


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


def is_nothing(values: Values) -> bool:
    """Whether no value is among them, as far as that is seen without following terms."""
    return not (values.null or values.booleans or values.numbers or values.arrays or values.objects) and (
        values.texts.words is not None and not values.texts.words
    )


def format_tree(name: str, draft: int) -> Node | None:
    """The texts of a format; None where no draft knows it. Raises FormatRefusal.

    People write formats that came with a later draft than theirs, and mean them; drafts leave that to implementations.
    """
    from .json_formats import tree

    found = tree(name, DRAFT_NAMES[draft])
    return tree(name) if found is None else found


def numbers_of(schema: dict[str, Any], draft: int) -> NumberSet:
    """What the keywords about numbers say. Raises LimitError and ValueError, which the scan has met before."""
    minimum = schema.get("minimum")
    maximum = schema.get("maximum")
    above = schema.get("exclusiveMinimum")
    below = schema.get("exclusiveMaximum")
    if draft == DRAFT_4:
        above, below = above is True, below is True
    else:
        # Of two lower bounds the greater one counts, and of equal ones the exclusive one.
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


def canonical(value: Any) -> object:
    """A key that is equal for values that are equal as JSON: 1 and 1.0 are, 1 and true are not."""
    if isinstance(value, str):
        return value
    if value is None or value is True or value is False:
        return (value,)
    if isinstance(value, list):
        return ("array", *map(canonical, value))
    if isinstance(value, dict):
        return ("object", frozenset([(name, canonical(member)) for name, member in value.items()]))
    return exact(value)
