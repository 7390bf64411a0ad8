"""Keywords without an effect: their status, the warnings about them, and what is quiet."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from earleymask import Grammar, cli
from earleymask.grammar.json_schema.keywords import KEYWORDS

DRAFT_4 = {"$schema": "http://json-schema.org/draft-04/schema#"}
DRAFT_7 = {"$schema": "http://json-schema.org/draft-07/schema#"}


def warned(schema: Any, **options: Any) -> list[tuple[str | None, str]]:
    """Return the warnings about a schema, and assert that they are the rows of its report that are ignored."""
    grammar = Grammar.from_json_schema(schema, **options)
    rows = [row for row in grammar.report if row.status == "ignored"]
    assert [warning.pointer for warning in grammar.warnings] == [row.pointer for row in rows]
    for row, warning in zip(rows, grammar.warnings, strict=True):
        assert row.why and warning.message == f"`{row.keyword}` has no effect: {row.why}"
        assert str(warning) == f"at #{row.pointer}: {warning.message}"
        assert (warning.line, warning.column, warning.text, row.reason) == (None, None, "", "no effect")
    return [(row.pointer, row.why) for row in rows]


@pytest.mark.parametrize(
    ("wrong", "value", "meant"),
    [
        ("proprties", {"a": {"type": "string"}}, "properties"),
        ("maxlength", 3, "maxLength"),
        ("max_length", 3, "maxLength"),
        ("MAXLENGTH", "three", "maxLength"),  # whatever the value is
        ("additionalproperties", False, "additionalProperties"),
        ("additional_properties", False, "additionalProperties"),
        ("additonalProperties", False, "additionalProperties"),
        ("dependantRequired", {"a": ["b"]}, "dependentRequired"),
        ("anyof", [{}], "anyOf"),
        ("require", ["a"], "required"),
        ("itens", {"type": "string"}, "items"),
        ("enums", ["a"], "enum"),
        ("ref", "#/$defs/a", "$ref"),
    ],
)
def test_a_slip_of_the_pen(wrong: str, value: Any, meant: str) -> None:
    why = f"no draft knows this keyword; did you mean `{meant}`?"
    assert warned({wrong: value}) == [(f"/{wrong}", why)]
    assert warned({"$defs": {"a": {wrong: value}}, "items": {"$ref": "#/$defs/a"}}) == [(f"/$defs/a/{wrong}", why)]


@pytest.mark.parametrize(
    ("keyword", "value", "why"),
    [
        ("nullable", True, "OpenAPI 3.0 has this keyword"),
        ("divisibleBy", 3, "write `multipleOf`"),
        ("name", {"type": "string"}, "a member of an object is described in `properties`"),
        ("order", 1, "begin its name with `x-`"),
        ("schema", {"a": 1}, "begin its name with `x-`"),  # `$schema` would be a string
        ("k" * 100, 1, "begin its name with `x-`"),
    ],
)
def test_what_to_write_instead(keyword: str, value: Any, why: str) -> None:
    [(_, said)] = warned({keyword: value})
    assert why in said


@pytest.mark.parametrize(
    ("schema", "pointer", "why"),
    [
        (DRAFT_4 | {"const": 1}, "/const", "drafts from 6 on know this keyword, and the schema is read as one of 4"),
        (DRAFT_7 | {"prefixItems": [{}]}, "/prefixItems", "only draft 2020-12 knows this keyword"),
        (DRAFT_7 | {"items": {"minContains": 1}}, "/items/minContains", "drafts from 2019-09 on know"),
        ({"prefixItems": [{}], "additionalItems": False}, "/additionalItems", "or write `items` beside `prefixItems`"),
        ({"$recursiveRef": "#"}, "/$recursiveRef", "or write `$dynamicRef`"),
        (DRAFT_7 | {"$ref": "#/definitions/a", "maxLength": 3}, "/maxLength", "stands beside `$ref`"),
    ],
)
def test_keywords_of_other_drafts_and_beside_references(schema: dict[str, Any], pointer: str, why: str) -> None:
    [(at, said)] = warned({**schema, "definitions": {"a": {"type": "string"}}})
    assert at == pointer and why in said


@pytest.mark.parametrize(
    ("name", "meant"), [("datetime", "date-time"), ("emial", "email"), ("ip-v4", "ipv4"), ("host-name", "hostname")]
)
def test_a_slip_in_a_format(name: str, meant: str) -> None:
    assert warned({"format": name}) == [
        ("/format", f"no draft knows this format, so it is an annotation; did you mean `{meant}`?")
    ]
    assert warned({"format": name}, format_assertion=False) == []


@pytest.mark.parametrize(
    "schema",
    [
        {"x-order": 1, "X-Own": 2, "_comment": "a", "@type": "b", "//": "c", "#note": 1, "ui:widget": "d"},
        {"xml": {}, "externalDocs": {}, "example": 1, "discriminator": {"propertyName": "a"}, "nullable": False},
        {"comment": "a", "decription": "b", "readonly": True, "Title": "c"},  # slips of annotations change nothing
        {"markdownDescription": "a", "enumNames": ["b"], "errorMessage": "c", "links": []},
        {"items": {}, "additionalItems": False, "id": "http://example.com/x"},  # says nothing in its own drafts, either
        {"format": "int32"},
        {"format": "password"},
        {"format": "float"},
        {"format": "binary"},
        {"properties": {"proprties": True}, "const": {"maxlength": 3}, "enum": [{"maxlength": 3}], "default": {"a": 1}},
        {"$defs": {"unused": {"maxlength": 3}}},
        DRAFT_4 | {"examples": [1], "readOnly": True, "$comment": "a", "$defs": {}, "deprecated": True},
        DRAFT_7 | {"$ref": "#/definitions/a", "title": "b", "default": 1, "definitions": {"a": {}}},
        True,
    ],
)
def test_what_is_quiet(schema: Any) -> None:
    assert warned(schema) == []


def test_no_keyword_of_any_draft_is_a_slip_in_its_own() -> None:
    names = {4: "draft-04", 6: "draft-06", 7: "draft-07", 2019: "2019-09", 2020: "2020-12"}
    values: dict[str, Any] = {"title": "a", "description": "a", "default": 1, "examples": [1], "$comment": "a"}
    values |= {"deprecated": True, "readOnly": True, "contentEncoding": "base64", "multipleOf": 2, "minimum": 1}
    for draft, part in names.items():
        uri = f"http{'' if draft < 8 else 's'}://json-schema.org/{'' if draft < 8 else 'draft/'}{part}/schema"
        known = {row.name for row in KEYWORDS if row.first <= draft <= row.last}
        assert warned({"$schema": uri, **{name: value for name, value in values.items() if name in known}}) == []


def test_many_warnings_are_counted() -> None:
    found = Grammar.from_json_schema({f"k{i}": 1 for i in range(130)}).warnings
    assert len(found) == 101 and found[-1].message == "and 30 more warnings"


def test_pickles_and_schemas_within_lark_grammars_have_the_same_warnings() -> None:
    grammar = Grammar.from_json_schema({"proprties": {}})
    assert pickle.loads(pickle.dumps(grammar)).warnings == grammar.warnings
    text = 'start: "a"\n  | %json {"items": {"proprties": {}}} | @x'
    lark = Grammar.from_lark(text, grammars={"x": grammar})
    assert [(warning.line, warning.column, warning.pointer) for warning in lark.warnings] == [
        (2, 5, "/items/proprties"),
        (2, text.splitlines()[1].index("@x") + 1, "/proprties"),
    ]
    assert str(lark.warnings[0]).startswith("line 2, column 5, at #/items/proprties: `proprties` has no effect")
    # What only holds a schema is a schema here, though one with strange keywords.
    tool = Grammar.from_lark('start: %json {"name": "x", "parameters": {"type": "object"}}')
    assert [warning.pointer for warning in tool.warnings] == ["/name", "/parameters"]


def test_the_command_shows_them(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text(json.dumps({"type": "null", "maxlength": 3}), encoding="utf-8")
    said = (
        "warning: at #/maxlength: `maxlength` has no effect: no draft knows this keyword; did you mean `maxLength`?\n"
    )
    assert cli.main(["schema", str(path)]) == 0
    assert capsys.readouterr().out.startswith(said)
    assert cli.main(["schema", str(path), "--report"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(said) and "\nignored   /maxlength" in out and "1 ignored\n" in out
    assert "ignored: the keyword has no effect, although its author may expect one\n" in out
