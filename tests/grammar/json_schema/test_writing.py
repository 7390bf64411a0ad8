"""Documents are written with the order of keys, white space and spellings of strings that the options demand."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import numpy as np
import pytest

pytest.importorskip("regress")
pytest.importorskip("jsonschema")

from earleymask import Grammar
from support.schema_grammars import accepts

A = {"type": "integer"}


@pytest.mark.parametrize(
    ("schema", "orders"),
    [
        ({"required": ["b"], "properties": {"a": A, "c": A}}, "acb"),
        ({"properties": {"b": A}, "allOf": [{"properties": {"a": A}}]}, "ba"),
        ({"allOf": [{"properties": {"a": A}}], "properties": {"b": A}}, "ab"),
        ({"anyOf": [{"properties": {"a": A}}, {"properties": {"c": A}}], "properties": {"b": A}}, "acb"),
        ({"$ref": "#/$defs/x", "$defs": {"x": {"properties": {"c": A}}}, "properties": {"a": A}}, "ca"),
        ({"required": ["b", "a"], "dependentSchemas": {"c": {"required": ["a", "b"]}}}, "ba"),
        ({"dependentSchemas": {"c": {"required": ["a", "b"]}}, "required": ["b", "a"]}, "ab"),
    ],
)
def test_keys_come_in_the_order_of_the_schema(schema: Any, orders: str) -> None:
    grammar = Grammar.from_json_schema({"type": "object", **schema})
    for keys in permutations(orders):
        text = json.dumps(dict.fromkeys(keys, 1))
        assert accepts(grammar, text) == ("".join(keys) == orders), text
    assert accepts(grammar, json.dumps({**dict.fromkeys(orders, 1), "z": 1, "y": 1}))
    assert not accepts(grammar, json.dumps({"z": 1, **dict.fromkeys(orders, 1)}))


def test_required_names_come_behind_the_properties_of_all_schemas_that_apply() -> None:
    both = {
        "properties": {"m": {"required": ["x", "b"]}},
        "patternProperties": {"^m": {"properties": {"a": A, "b": A}}},
    }
    for schema in (
        both,
        {"properties": {"m": {"allOf": [{"required": ["x", "b"]}, {"properties": {"a": A, "b": A}}]}}},
    ):
        grammar = Grammar.from_json_schema(schema)
        for keys in permutations("abx"):
            text = json.dumps({"m": dict.fromkeys(keys, 1)})
            assert accepts(grammar, text) == ("".join(keys) == "abx"), text


@pytest.mark.parametrize(
    "schema",
    [
        {
            "oneOf": [
                {"type": "object"},
                {"enum": [1], "properties": {"b": {}}},
                {"properties": {"a": {}}, "required": ["c"]},
            ]
        },
        {"else": {"properties": {"b": {}}}, "if": {"required": ["c"], "properties": {"a": {}}}},
    ],
)
def test_the_order_of_branches_is_that_of_the_document(schema: Any) -> None:
    grammar = Grammar.from_json_schema(schema)
    assert accepts(grammar, '{"b": 1, "a": 1}')
    assert not accepts(grammar, '{"a": 1, "b": 1}')


SAMPLE = {"a": [1, "x", {}, []], "b": {"c": None}}


@pytest.mark.parametrize("indent", [None, 0, 1, 4, "\t"])
def test_flexible_white_space_is_what_json_dumps_writes(indent: int | str | None) -> None:
    grammar = Grammar.from_json_schema(True)
    assert accepts(grammar, json.dumps(SAMPLE, indent=indent))
    assert accepts(grammar, json.dumps(SAMPLE, indent=indent, separators=(",", ":")))


def test_white_space_is_bounded() -> None:
    grammar = Grammar.from_json_schema({"type": "array"}, max_indent=3)
    assert accepts(grammar, "[\n   1\n]")
    assert not accepts(grammar, "[\n    1\n]")
    assert not accepts(grammar, "[  1]")
    assert not accepts(grammar, " []")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"whitespace": "compact"}, json.dumps(SAMPLE, separators=(",", ":"))),
        ({"whitespace": "spaced"}, json.dumps(SAMPLE)),
        ({"whitespace": "compact", "separators": (" ,", " : ")}, json.dumps(SAMPLE, separators=(" ,", " : "))),
    ],
)
def test_white_space_options(options: dict[str, Any], text: str) -> None:
    grammar = Grammar.from_json_schema(True, **options)
    assert accepts(grammar, text)
    assert not accepts(grammar, json.dumps(SAMPLE, indent=1))
    others = {json.dumps(SAMPLE), json.dumps(SAMPLE, separators=(",", ":"))} - {text}
    assert not any(accepts(grammar, other) for other in others)


STRINGS = ["a", "\u00e9", "/", '"', "\\", "\n", "\x01", "\U0001f600", "a\u2028b"]


def spellings(text: str) -> set[str]:
    whole = "".join(f"\\u{unit:04x}" for unit in np.frombuffer(text.encode("utf-16-le"), "<u2").tolist())
    return {
        json.dumps(text),
        json.dumps(text, ensure_ascii=False),
        f'"{whole}"',
        f'"{whole.upper()}"'.replace("U", "u"),
    }


@pytest.mark.parametrize("ascii_only", [False, True])
@pytest.mark.parametrize("escapes", ["all", "shortest"])
@pytest.mark.parametrize("schema", [{"type": "string"}, {"enum": STRINGS}, {"maxLength": 3}, {"pattern": "^[^]*$"}])
def test_spellings_of_strings(schema: Any, escapes: str, ascii_only: bool) -> None:
    grammar = Grammar.from_json_schema(schema, string_escapes=escapes, ensure_ascii=ascii_only)
    for text in STRINGS:
        shortest = json.dumps(text, ensure_ascii=ascii_only)
        for spelled in spellings(text) | {'"\\/"'}:
            expected = spelled == shortest if escapes == "shortest" else not ascii_only or spelled.isascii()
            if spelled == '"\\/"':
                expected = escapes == "all"
            assert accepts(grammar, spelled) == expected, spelled


def test_keys_have_all_spellings_too() -> None:
    grammar = Grammar.from_json_schema(
        {"properties": {"ab": {"const": 1}}, "additionalProperties": False}, spellings="all"
    )
    assert accepts(grammar, '{"\\u0061b":1}')
    assert not accepts(grammar, '{"\\u0062b":1}')
    others = Grammar.from_json_schema({"properties": {"ab": False}})
    assert accepts(others, '{"\\u0062b":1}')
    assert not accepts(others, '{"a\\u0062":1}')
