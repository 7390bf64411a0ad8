"""The error of an unsatisfiable schema names the place that makes it so."""

from __future__ import annotations

from typing import Any

import pytest

from earleymask import Grammar, GrammarError


def member(schema: Any) -> dict[str, Any]:
    return {"type": "object", "required": ["a"], "properties": {"a": schema}}


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        (False, None),
        (member({"$ref": "#"}), "/properties/a/$ref"),
        ({"type": "string", "minLength": 2, "maxLength": 1}, None),
        ({"not": {}}, "/not"),
        ({"enum": [1, 2], "type": "string"}, "/enum"),
        ({"const": 1, "minimum": 2}, "/const"),
        (member(False), "/properties/a"),
        (member(member(member(False))), "/properties/a/properties/a/properties/a"),
        (member({"type": "integer", "enum": ["a"]}), "/properties/a/enum"),
        (member({"type": "string", "pattern": "a(?!a)a"}), "/properties/a"),
        ({"type": "object", "required": ["b"], "additionalProperties": False}, "/required"),
        ({"type": "array", "minItems": 1, "items": False}, "/items"),
        ({"type": "array", "minItems": 2, "prefixItems": [{}, {"enum": []}]}, "/prefixItems/1/enum"),
        ({"type": "array", "minItems": 2, "prefixItems": [{}], "items": {"not": True}}, "/items/not"),
        ({"type": "array", "contains": {"const": 1, "type": "null"}}, "/contains/const"),
        ({"$ref": "#/$defs/x", "$defs": {"x": member({"not": {}})}}, "/$defs/x/properties/a/not"),
        ({"allOf": [{"type": "string"}, member(False) | {"type": "object"}]}, "/allOf/1/properties/a"),
        ({"allOf": [{"type": "string"}, {"type": "null"}]}, "/allOf"),
        ({"anyOf": [False, {"not": True}]}, "/anyOf"),
        ({"anyOf": [{"not": True}]}, "/anyOf/0/not"),
        ({"type": "object", "required": ["a", "b"], "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, "/oneOf"),
        ({"type": "string", "if": {}, "then": {"type": "null"}}, "/if"),
    ],
)
def test_the_error_names_the_place_that_makes_it_impossible(schema: Any, pointer: str | None) -> None:
    with pytest.raises(GrammarError) as caught:
        Grammar.from_json_schema(schema)
    assert caught.value.message == "no document satisfies the schema"
    assert caught.value.pointer == pointer


NAME = "xn--4gbwdl.xn--wgbh1c"


@pytest.mark.parametrize(
    "schema",
    [
        {"const": NAME, "format": "hostname"},
        member({"$ref": "#/$defs/n", "enum": [NAME]}) | {"$defs": {"n": {"format": "hostname"}}},
    ],
)
def test_documents_that_are_only_not_written(schema: Any) -> None:
    with pytest.raises(GrammarError) as caught:
        Grammar.from_json_schema(schema)
    assert caught.value.message.startswith(
        'no document that satisfies the schema is written: labels that begin with "xn--" are not written'
    )
    with pytest.raises(GrammarError, match="no document satisfies the schema"):
        Grammar.from_json_schema(schema | {"allOf": [{"type": "null"}]})


def test_the_place_may_be_in_another_document() -> None:
    schema = {"type": "array", "minItems": 1, "items": {"$ref": "http://h/x"}}
    with pytest.raises(GrammarError) as caught:
        Grammar.from_json_schema(schema, registry={"http://h/x": member({"not": {}})})
    assert caught.value.pointer == "http://h/x#/properties/a/not"
