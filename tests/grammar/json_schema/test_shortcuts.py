"""What a schema shows without being computed must be true: `shortcuts.is_something`."""

from __future__ import annotations

from typing import Any

import pytest

import earleymask
from earleymask.earley.limits import DEFAULT
from earleymask.grammar.json_schema.documents import Documents
from earleymask.grammar.json_schema.load import scanned
from earleymask.grammar.json_schema.options import DEFAULT_OPTIONS
from earleymask.grammar.json_schema.shortcuts import is_something

NAME = {"type": "string"}
POINT = {"type": "object", "properties": {"x": {"type": "number"}, "y": {"type": "number"}}, "required": ["x", "y"]}


def shows(schema: Any) -> bool:
    algebra, _ = scanned(Documents(schema), DEFAULT_OPTIONS, DEFAULT)
    return is_something(algebra, algebra.place(algebra.documents.root))


@pytest.mark.parametrize(
    "schema",
    [
        POINT,
        {"type": "object", "properties": {"at": POINT}, "required": ["at", "unknown"]},
        {"type": "array", "items": POINT, "minItems": 2},
        {"type": "string", "minLength": 3, "maxLength": 3},
        {"type": "string", "pattern": "^[a-z]+$"},
        {"type": "string", "format": "date-time"},
        {"type": "integer", "minimum": 0, "maximum": 0},
        {"type": "number", "maximum": -5},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "required": ["a"], "$defs": {"a": NAME}},
    ],
)
def test_a_value_shows(schema: Any) -> None:
    assert shows(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": False}, "required": ["a"]},
        {"type": "object", "properties": {"a": NAME}, "required": ["a", "b"], "additionalProperties": False},
        {"type": "object", "properties": {"a": NAME}, "required": ["a"], "maxProperties": 0},
        {"type": "object", "properties": {"a": NAME}, "required": ["a"], "patternProperties": {"a": False}},
        {"type": "object", "properties": {"a": NAME}, "required": ["a"], "propertyNames": {"maxLength": 0}},
        {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
        {"type": "array", "items": False, "minItems": 1},
        {"type": "array", "items": POINT, "minItems": 2, "maxItems": 1},
        {"type": "array", "items": {"enum": ["a"]}, "minItems": 2, "uniqueItems": True},
        {"type": "array", "prefixItems": [False], "minItems": 1},
        {"type": "string", "minLength": 4, "maxLength": 3},
        {"type": "string", "pattern": "^a$", "minLength": 2},
        {"type": "string", "pattern": "a(?!.*)a"},
        {"type": "integer", "minimum": 1, "maximum": 0},
        {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    ],
)
def test_no_value_shows(schema: Any) -> None:
    assert not shows(schema)
    with pytest.raises(earleymask.GrammarError, match="no document"):
        earleymask.Grammar.from_json_schema(schema)
