"""The types that a schema allows for an argument, as far as reading needs them: never too few."""

from __future__ import annotations

from typing import Any

import pytest

from earleymask.grammar.arguments.styles import TYPES
from earleymask.grammar.arguments.views import ANYTHING, NOTHING, Views

DEFS = {"s": {"type": "string"}, "loop": {"$ref": "#/$defs/loop"}, "a/b": {"const": None}}


@pytest.mark.parametrize(
    ("schema", "types"),
    [
        (True, TYPES),
        (False, ()),
        ({}, TYPES),
        ({"type": "integer"}, ["number"]),
        ({"type": ["string", "null"]}, ["string", "null"]),
        ({"enum": ["a", 1.5, True]}, ["string", "number", "boolean"]),
        ({"const": [1]}, ["array"]),
        ({"type": "string", "enum": ["a", 1]}, ["string"]),
        ({"allOf": [{"type": ["string", "null"]}, {"type": ["null", "object"]}]}, ["null"]),
        ({"anyOf": [{"type": "string"}, {"const": {}}]}, ["string", "object"]),
        ({"oneOf": [{"type": "string"}, {"type": "number"}], "type": "number"}, ["number"]),
        ({"$ref": "#/$defs/s"}, ["string"]),
        ({"$ref": "#/$defs/a~1b"}, ["null"]),
        ({"$ref": "#/$defs/loop"}, TYPES),
        ({"$ref": "#/$defs/missing"}, TYPES),
        ({"$ref": "other.json"}, TYPES),
        ({"not": {"type": "string"}}, TYPES),  # not followed: it allows every type, which is never too few
    ],
)
def test_types(schema: Any, types: Any) -> None:
    views = Views({"properties": {"a": schema}, "$defs": DEFS})
    assert views.types(views.member(views.root, "a")) == frozenset(types)


def types_of(schema: Any, name: str | None) -> list[str]:
    views = Views(schema)
    return sorted(views.types(views.member(views.root, name)))


def test_members() -> None:
    schema = {
        "properties": {"a": {"type": "string"}},
        "patternProperties": {"^n": {"type": "number"}},
        "additionalProperties": {"type": "null"},
    }
    assert types_of(schema, "a") == ["string"]
    assert types_of(schema, None) == types_of(schema, "n") == ["null", "number"]
    both = {"allOf": [schema, {"properties": {"b": {"type": ["null", "string"]}}}]}
    assert types_of(both, "b") == ["null"]
    # In one branch `b` is a string, in the other one it is as `schema` says.
    either = {"anyOf": [schema, {"properties": {"b": {"type": "string"}}}]}
    assert types_of(either, "b") == ["null", "number", "string"]
    assert types_of({"anyOf": [schema, {"type": "array"}]}, "a") == ["string"]  # an array has no members


def test_names_and_items() -> None:
    schema = {
        "properties": {"b": True},
        "anyOf": [{"properties": {"a": True}}, {"$ref": "#"}],
        "items": {"type": "string"},
        "prefixItems": [{"type": "null"}],
    }
    views = Views(schema)
    assert views.names(views.root) == ["b", "a"]
    # The reference leads to the schema itself, of which nothing more is known while it is looked at.
    assert views.types(views.item(views.root)) == {"string", "null"}
    assert views.item(views.place({"type": "object"})) == NOTHING
    assert views.item(views.place({"prefixItems": [{"type": "null"}]})) == ANYTHING


def test_references_within_resources_of_their_own_are_not_followed() -> None:
    inner = {"$id": "https://example.org/inner", "$defs": {"s": {"type": "null"}}}
    schema = {"properties": {"a": {"$ref": "#/$defs/s"}}, "$defs": {"s": {"type": "string"}, "inner": inner}}
    assert types_of(schema, "a") == sorted(TYPES)
