"""The keywords of JSON Schema: in which drafts each is known, which values it takes, what it is for.

Sources: the specifications of drafts 4, 6, 7, 2019-09 and 2020-12 and their metaschemas. A draft is written as the
number 4, 6, 7, 2019 or 2020, so that `draft <= 7` reads as it is meant.

`keywords(draft)` returns the names that a draft knows. A keyword that is not among them constrains nothing, and the
report says so; `KNOWN_ELSEWHERE` has those that another draft knows. `fault` says what a value must be. It allows more
than the metaschemas if nothing can be misread: lists of names and values may be empty or hold something twice, and the
values of annotations are not checked.
"""

from __future__ import annotations

from decimal import Decimal
from functools import cache
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import TypeGuard

DRAFT_4, DRAFT_6, DRAFT_7, DRAFT_2019, DRAFT_2020 = 4, 6, 7, 2019, 2020
DRAFTS = (DRAFT_4, DRAFT_6, DRAFT_7, DRAFT_2019, DRAFT_2020)

# Kinds of values. Those up to `LAST_APPLICATOR` hold schemas, which the walk goes into.
SCHEMA = 0
SCHEMA_MAP = 1  # name -> schema
SCHEMA_LIST = 2
SCHEMA_OR_LIST = 3
DEPENDENCIES = 4  # name -> schema or list of names
PATTERN_MAP = 5  # pattern -> schema
DEFINITIONS = 6  # name -> schema, which nothing reaches but references
UNUSED_SCHEMA = 7  # a schema of which nothing is asserted
LAST_APPLICATOR = 7
ANY = 8
STRING = 9
REFERENCE = 10
NAMES = 11
COUNT = 12
NUMBER = 13
POSITIVE = 14
BOOLEAN = 15
TYPE = 16
LIST = 17
NAMES_MAP = 18  # name -> list of names
PATTERN = 19
FLAGS = 20  # name -> boolean

# What a keyword is for.
IDENTITY = "identity"  # says where in the world of schemas this one is
ASSERTION = "assertion"
ANNOTATION = "annotation"  # constrains nothing, in any draft


class Keyword(NamedTuple):
    """One keyword in a range of drafts. A name has several rows if a later draft gives it another kind of value."""

    name: str
    first: int
    last: int
    kind: int
    role: str
    vocabulary: str
    """The last part of the URIs of its vocabulary in 2019-09 and 2020-12."""


def _rows(
    role: str, vocabulary: str, kind: int, names: str, first: int = DRAFT_4, last: int = DRAFT_2020
) -> list[Keyword]:
    return [Keyword(name, first, last, kind, role, vocabulary) for name in names.split()]


KEYWORDS: tuple[Keyword, ...] = (
    *_rows(IDENTITY, "core", STRING, "$schema"),
    *_rows(IDENTITY, "core", STRING, "id", last=DRAFT_4),
    *_rows(IDENTITY, "core", STRING, "$id", DRAFT_6),
    *_rows(IDENTITY, "core", STRING, "$anchor", DRAFT_2019),
    *_rows(IDENTITY, "core", STRING, "$dynamicAnchor", DRAFT_2020),
    *_rows(IDENTITY, "core", BOOLEAN, "$recursiveAnchor", DRAFT_2019, DRAFT_2019),
    *_rows(IDENTITY, "core", FLAGS, "$vocabulary", DRAFT_2019),
    *_rows(IDENTITY, "core", DEFINITIONS, "definitions"),
    *_rows(IDENTITY, "core", DEFINITIONS, "$defs", DRAFT_2019),
    *_rows(ASSERTION, "core", REFERENCE, "$ref"),
    *_rows(ASSERTION, "core", REFERENCE, "$dynamicRef", DRAFT_2020),
    *_rows(ASSERTION, "core", REFERENCE, "$recursiveRef", DRAFT_2019, DRAFT_2019),
    *_rows(ANNOTATION, "core", ANY, "$comment", DRAFT_7),
    *_rows(ASSERTION, "applicator", SCHEMA_MAP, "properties"),
    *_rows(ASSERTION, "applicator", PATTERN_MAP, "patternProperties"),
    *_rows(ASSERTION, "applicator", SCHEMA, "additionalProperties not"),
    *_rows(ASSERTION, "applicator", SCHEMA, "propertyNames contains", DRAFT_6),
    *_rows(ASSERTION, "applicator", SCHEMA, "if then else", DRAFT_7),
    *_rows(ASSERTION, "applicator", SCHEMA_LIST, "allOf anyOf oneOf"),
    # Later drafts split it in two and let implementations keep it.
    *_rows(ASSERTION, "applicator", DEPENDENCIES, "dependencies"),
    *_rows(ASSERTION, "applicator", SCHEMA_MAP, "dependentSchemas", DRAFT_2019),
    *_rows(ASSERTION, "applicator", SCHEMA_OR_LIST, "items", last=DRAFT_2019),
    *_rows(ASSERTION, "applicator", SCHEMA, "items", DRAFT_2020),
    *_rows(ASSERTION, "applicator", SCHEMA_LIST, "prefixItems", DRAFT_2020),
    *_rows(ASSERTION, "applicator", SCHEMA, "additionalItems", last=DRAFT_2019),
    *_rows(ASSERTION, "unevaluated", SCHEMA, "unevaluatedItems unevaluatedProperties", DRAFT_2019),
    *_rows(ASSERTION, "validation", TYPE, "type"),
    *_rows(ASSERTION, "validation", LIST, "enum"),
    *_rows(ASSERTION, "validation", ANY, "const", DRAFT_6),
    *_rows(ASSERTION, "validation", NUMBER, "minimum maximum"),
    *_rows(ASSERTION, "validation", BOOLEAN, "exclusiveMinimum exclusiveMaximum", last=DRAFT_4),
    *_rows(ASSERTION, "validation", NUMBER, "exclusiveMinimum exclusiveMaximum", DRAFT_6),
    *_rows(ASSERTION, "validation", POSITIVE, "multipleOf"),
    *_rows(ASSERTION, "validation", COUNT, "minLength maxLength minItems maxItems minProperties maxProperties"),
    *_rows(ASSERTION, "validation", COUNT, "minContains maxContains", DRAFT_2019),
    *_rows(ASSERTION, "validation", PATTERN, "pattern"),
    *_rows(ASSERTION, "validation", BOOLEAN, "uniqueItems"),
    *_rows(ASSERTION, "validation", NAMES, "required"),
    *_rows(ASSERTION, "validation", NAMES_MAP, "dependentRequired", DRAFT_2019),
    *_rows(ASSERTION, "format", STRING, "format"),
    *_rows(ANNOTATION, "content", ANY, "contentMediaType contentEncoding", DRAFT_7),
    *_rows(ANNOTATION, "content", UNUSED_SCHEMA, "contentSchema", DRAFT_2019),
    *_rows(ANNOTATION, "meta-data", ANY, "title description default"),
    *_rows(ANNOTATION, "meta-data", ANY, "examples", DRAFT_6),
    *_rows(ANNOTATION, "meta-data", ANY, "readOnly writeOnly", DRAFT_7),
    *_rows(ANNOTATION, "meta-data", ANY, "deprecated", DRAFT_2019),
)

KNOWN_ELSEWHERE = frozenset(row.name for row in KEYWORDS)

METASCHEMAS = {
    "http://json-schema.org/draft-04/schema": DRAFT_4,
    "http://json-schema.org/draft-06/schema": DRAFT_6,
    "http://json-schema.org/draft-07/schema": DRAFT_7,
    "https://json-schema.org/draft/2019-09/schema": DRAFT_2019,
    "https://json-schema.org/draft/2020-12/schema": DRAFT_2020,
    # Always the latest, says json-schema.org.
    "http://json-schema.org/schema": DRAFT_2020,
}
"""The drafts by the URIs of their metaschemas, without the empty fragment that some end in."""

DRAFT_NAMES = {DRAFT_4: "4", DRAFT_6: "6", DRAFT_7: "7", DRAFT_2019: "2019-09", DRAFT_2020: "2020-12"}

VOCABULARIES = {
    DRAFT_2019: ("core", "applicator", "validation", "meta-data", "format", "content"),
    DRAFT_2020: (
        "core",
        "applicator",
        "unevaluated",
        "validation",
        "meta-data",
        "format-annotation",
        "format-assertion",
        "content",
    ),
}
"""The vocabularies of a draft, by the last parts of their URIs."""


@cache
def rows(draft: int) -> dict[str, Keyword]:
    """Return the keywords that a draft knows."""
    return {row.name: row for row in KEYWORDS if row.first <= draft <= row.last}


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
"""Keywords that apply schemas to the same value (2020-12 core, 10.2, 11)."""

SAYS_NOTHING = frozenset(
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
"""Keywords that some draft knows, and that allow everything in all drafts."""


@cache
def keywords(draft: int, vocabularies: frozenset[str] | None = None) -> dict[str, int]:
    """Return the keywords that a draft knows and the kinds of their values. The caller must not change them.

    `vocabularies`: those of a custom metaschema, by the last parts of their URIs. Then only keywords of these and
    of the core are known.
    """
    found = rows(draft).values()
    if vocabularies is None:
        return {row.name: row.kind for row in found}
    used = set(vocabularies) | {"core"}
    if used & {"format-annotation", "format-assertion"}:
        used.add("format")
    if draft == DRAFT_2019 and "applicator" in used:
        used.add("unevaluated")  # it was no vocabulary of its own yet
    return {row.name: row.kind for row in found if row.vocabulary in used}


MAX_COUNT = 1 << 62

PLAIN_TYPES: tuple[type | None, ...] = (
    *(None, dict, list, None, None, dict, None, None, None),  # up to ANY
    *(str, str, None, None, None, None, bool, None, list, None, str, None),
)
"""For each kind of value: the Python type whose values are all well formed unless they are empty; None if the type
alone does not decide."""

TYPES = frozenset(("null", "boolean", "integer", "number", "string", "array", "object"))


def fault(kind: int, value: object, draft: int) -> str:
    """Return what a keyword's value of this kind must be, if it is something else; nothing if it is well formed.

    Schemas within the value are not checked.
    """
    if kind == ANY:
        return ""
    if kind == TYPE:
        if isinstance(value, str):
            ok = value in TYPES
        else:
            ok = (
                isinstance(value, list)
                and bool(value)
                and all(isinstance(name, str) and name in TYPES for name in value)
            )
        return "" if ok else f"must be one of {', '.join(sorted(TYPES))}, or a list of them"
    if kind in (STRING, REFERENCE, PATTERN):
        return "" if isinstance(value, str) else "must be a string"
    if kind == NAMES:
        return "" if _is_names(value) else "must be a list of strings"
    if kind == COUNT:
        return "" if is_number(value) and value >= 0 and is_whole(value) else "must be a whole number from 0 up"
    if kind == NUMBER:
        return "" if is_number(value) else "must be a number"
    if kind == POSITIVE:
        return "" if is_number(value) and value > 0 else "must be a number above 0"
    if kind == BOOLEAN:
        return "" if value is True or value is False else "must be true or false"
    if kind == LIST:
        return "" if isinstance(value, list) else "must be a list"
    if kind == SCHEMA_LIST:
        return "" if isinstance(value, list) and value else "must be a list of at least one schema"
    if kind in (SCHEMA_MAP, PATTERN_MAP, DEFINITIONS, DEPENDENCIES):
        return "" if isinstance(value, dict) else "must be an object whose values are schemas"
    if kind == NAMES_MAP:
        ok = isinstance(value, dict) and all(map(_is_names, value.values())) and _is_names(list(value))
        return "" if ok else "must be an object whose values are lists of strings"
    if kind == FLAGS:
        ok = isinstance(value, dict) and all(isinstance(flag, bool) for flag in value.values())
        return "" if ok else "must be an object whose values are true or false"
    return ""


def is_whole(value: int | float | Decimal) -> bool:
    """Whether a number of JSON has no fraction."""
    if isinstance(value, Decimal):
        exponent = value.as_tuple().exponent
        return isinstance(exponent, int) and (exponent >= 0 or value == value.to_integral_value())
    return isinstance(value, int) or value.is_integer()


def count(value: int | float | Decimal) -> int:
    """Return a whole number from 0 up as an int: at most MAX_COUNT, beyond which nothing can be counted."""
    return int(value) if value < MAX_COUNT else MAX_COUNT


def is_number(value: object) -> TypeGuard[int | float | Decimal]:
    """Whether a value is a number of JSON. Python counts True and False as numbers too."""
    if type(value) is int:
        return True
    if isinstance(value, float):
        return isfinite(value)
    if isinstance(value, Decimal):
        return value.is_finite()
    return isinstance(value, int) and not isinstance(value, bool)  # such as members of an IntEnum


def _is_names(value: object) -> bool:
    return isinstance(value, list) and all(type(name) is str for name in value)
