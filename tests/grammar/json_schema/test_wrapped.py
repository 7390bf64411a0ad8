"""Tools and response formats hold a schema and are none; the error leads to it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from earleymask import Grammar, GrammarError

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"type": "function", "function": {"name": "f", "parameters": SCHEMA}}, '["function"]["parameters"]'),
        ({"type": "function", "name": "f", "parameters": SCHEMA, "strict": True}, '["parameters"]'),
        ({"name": "f", "description": "d", "parameters": SCHEMA}, '["parameters"]'),
        (
            {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": SCHEMA}},
            '["json_schema"]["schema"]',
        ),
        ({"type": "json_schema", "name": "x", "schema": SCHEMA}, '["schema"]'),
        ({"name": "x", "strict": True, "schema": SCHEMA}, '["schema"]'),
        ({"name": "f", "description": "d", "input_schema": SCHEMA}, '["input_schema"]'),
        ({"name": "f", "title": "F", "inputSchema": SCHEMA, "annotations": {}}, '["inputSchema"]'),
    ],
)
def test_the_error_leads_to_the_schema(given: dict[str, Any], path: str) -> None:
    for form in (given, json.dumps(given)):
        with pytest.raises(GrammarError, match="not a JSON Schema") as caught:
            Grammar.from_json_schema(form)
        assert caught.value.hint == f"give the schema that it holds, given{path}"
    # What the hint names is the schema.
    assert eval(f"given{path}", {"given": given}) is SCHEMA


def test_lists_of_tools() -> None:
    with pytest.raises(TypeError, match="not a list; give one of its items"):
        Grammar.from_json_schema([{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}])


def test_a_response_format_without_a_schema() -> None:
    with pytest.raises(GrammarError, match="response format") as caught:
        Grammar.from_json_schema({"type": "json_object"})
    assert "Grammar.json(object=True)" in (caught.value.hint or "")


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"name": {}, "parameters": {}}, "parameters": {"type": "object"}, "name": "x"},
        {"parameters": SCHEMA},  # unknown keywords alone
        {"name": "x", "$ref": "#/schema", "schema": SCHEMA},  # which holds a definition in an unknown keyword
        {"name": {"type": "string"}, "schema": SCHEMA},
        {"name": "x", "schema": 3},
    ],
)
def test_schemas_are_not_mistaken(schema: dict[str, Any]) -> None:
    Grammar.from_json_schema(schema)


def test_without_strict_nothing_is_refused() -> None:
    Grammar.from_json_schema({"name": "f", "parameters": SCHEMA}, strict=False)
