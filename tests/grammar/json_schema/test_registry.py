"""Documents of a registry are read once and copied, and mistakes in a registry are errors."""

from __future__ import annotations

import json
import pickle
from collections import ChainMap
from decimal import Decimal
from typing import Any

import pytest
import referencing

from earleymask import Grammar, GrammarError, Matcher, Vocabulary

BYTES = Vocabulary.bytes()
URI = "http://h/list"
REFERRING = {"properties": {"a": {"$ref": URI}}}


def accepts(matcher: Matcher, document: object) -> bool:
    text = json.dumps(document).encode()
    return matcher.validate([*text, 256]) == len(text) + 1


def document() -> dict[str, Any]:
    """Return a schema that is a list of items, of which a text can reach the middle."""
    item = {"properties": {"b": {"$ref": "#/$defs/c"}}, "required": ["b"]}
    return {"items": item, "$defs": {"c": {"enum": [1, 2]}}}


def as_registry(contents: dict[str, Any]) -> referencing.Registry[Any]:
    return referencing.Registry().with_resource(URI, referencing.Resource.opaque(contents))


@pytest.mark.parametrize("make", [lambda one: {URI: one}, as_registry, lambda one: ChainMap({URI: one})])
def test_a_document_that_is_changed_later_does_not_change_the_grammar(make: Any) -> None:
    given = document()
    grammar = Grammar.from_json_schema(REFERRING, registry=make(given), spellings="all")
    matcher = Matcher(grammar, BYTES)
    assert matcher.validate(list(b'{"a": [')) == 7
    given["items"]["properties"]["b"]["$ref"] = "#/$defs/nowhere"
    given["$defs"].clear()
    given["items"]["required"].append("x")
    assert accepts(matcher, {"a": [{"b": 1}, {"b": 2}]})
    assert not accepts(matcher, {"a": [{"b": 3}]})
    rows = {row.pointer: row.status for row in grammar.report}
    assert rows[f"{URI}#/items/required"] == "exact"
    assert rows[f"{URI}#/$defs/c/enum"] == "narrowed"
    again = pickle.loads(pickle.dumps(grammar))
    assert again == grammar
    assert accepts(Matcher(again, BYTES), {"a": [{"b": 1}]})


@pytest.mark.parametrize("number", [2.5, Decimal("2.50"), 2])
def test_a_pickle_keeps_the_text_of_its_documents(number: object) -> None:
    """What is read again would be written differently: a float becomes a Decimal with its spelling."""
    document = {"items": {"type": "number", "minimum": number}, "properties": {"é": {"minimum": number}}}
    grammar = Grammar.from_json_schema(REFERRING, registry={URI: document})
    again = pickle.loads(pickle.dumps(grammar))
    assert again == grammar and pickle.loads(pickle.dumps(again)) == grammar
    assert not accepts(Matcher(again, BYTES), {"a": [1]}) and accepts(Matcher(again, BYTES), {"a": [3]})


def test_what_is_left_out_of_a_document_is_reported() -> None:
    twice = {"pattern": r"^(a|b)\1$"}
    grammar = Grammar.from_json_schema(REFERRING, registry={URI: twice}, strict=False)
    twice["pattern"] = "a"
    assert [row.pointer for row in grammar.report if row.status == "widened"] == [f"{URI}#/pattern"]


def test_the_report_goes_over_schemas_of_unknown_drafts_that_nothing_reaches() -> None:
    schema = {"$defs": {"x": {"$id": "http://h/x", "$schema": "http://h/meta"}}}
    meta = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    for registry in (None, {"http://h/meta": meta}):
        grammar = Grammar.from_json_schema(schema, registry=registry)
        rows = {row.pointer: row.why for row in grammar.report}
        assert rows["/$defs/x/$schema"] == "in a schema that nothing applies, asserts nothing"
        assert grammar == Grammar.from_json_schema(schema)  # the schema needs nothing of the registry


def test_the_report_goes_over_schemas_of_other_documents_that_nothing_reaches() -> None:
    schema = {"$ref": URI + "#/$defs/a"}
    grammar = Grammar.from_json_schema(
        schema, registry={URI: {"$defs": {"a": {"type": "string"}, "b": {"type": "integer"}}}}
    )
    rows = {row.pointer: row.why for row in grammar.report}
    unreached = "in a schema that nothing applies, asserts nothing"
    assert rows.pop("")
    assert rows == {
        "/$ref": "",
        f"{URI}#/$defs": unreached,
        f"{URI}#/$defs/a/type": "",
        f"{URI}#/$defs/b/type": unreached,
    }


@pytest.mark.parametrize(
    "unreached",
    [
        {"$id": "http://h/x", "$schema": "http://h/meta"},
        {"$id": "http://h/x", "$schema": "http://h/nowhere"},
        {"$ref": "http://h/meta"},
    ],
)
@pytest.mark.parametrize("around", [lambda large: large, lambda large: {"properties": {"a": large}}])
def test_nothing_is_read_for_schemas_that_nothing_reaches(unreached: dict[str, Any], around: Any) -> None:
    schema = {"not": {"type": "string", "$defs": {"x": unreached}}, **around({"minItems": 100000})}
    meta = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "http://h/meta",
        "$vocabulary": {"https://json-schema.org/draft/2020-12/vocab/core": True},
    }
    grammar = Grammar.from_json_schema(schema, registry={"http://h/meta": meta}, strict=False)
    before = pickle.dumps(grammar)
    rows = grammar.report
    assert {row.pointer: row.status for row in rows}["/not"] == ("exact" if "$ref" in unreached else "widened")
    assert pickle.dumps(grammar) == before
    assert grammar._schema.documents.remote == {}
    again = pickle.loads(before)
    assert (again.fingerprint, again.report) == (grammar.fingerprint, rows)
    assert again == Grammar.from_json_schema(schema, strict=False)  # the schema needs nothing of the registry


@pytest.mark.parametrize("key", [URI, URI + "#"])
@pytest.mark.parametrize("reference", [URI, URI + "#", URI + "#/$defs/c"])
def test_an_empty_fragment_says_nothing(key: str, reference: str) -> None:
    """An empty fragment is ignored, as in `referencing`."""
    contents = {"$id": "http://h/other#", "const": 1, "$defs": {"c": {"const": 1}}}
    for registry in ({key: contents}, as_registry(contents)):
        matcher = Matcher(Grammar.from_json_schema({"$ref": reference}, registry=registry), BYTES)
        assert accepts(matcher, 1)
        assert not accepts(matcher, 2)


@pytest.mark.parametrize("draft", ["07", "04"])
def test_an_empty_fragment_of_an_identifier_says_nothing(draft: str) -> None:
    name = "id" if draft == "04" else "$id"
    schema = {
        "$schema": f"http://json-schema.org/draft-{draft}/schema#",
        name: "http://h/root#",
        "definitions": {"a": {name: "a#", "enum": [1]}},
        "allOf": [{"$ref": "http://h/a"}, {"$ref": "a#"}],
    }
    matcher = Matcher(Grammar.from_json_schema(schema), BYTES)
    assert accepts(matcher, 1)
    assert not accepts(matcher, 2)


@pytest.mark.parametrize(
    ("registry", "message"),
    [
        (5, "registry must be a mapping from URIs to schemas, or a referencing.Registry, not int"),
        ([], "registry must be a mapping from URIs to schemas, or a referencing.Registry, not list"),
        ("http://h/list", "registry must be a mapping from URIs to schemas, or a referencing.Registry, not str"),
        ({1: {}}, "the keys of registry must be URIs as strings, not int 1"),
    ],
)
@pytest.mark.parametrize("schema", [{}, REFERRING])
def test_what_is_no_registry_is_refused(registry: Any, message: str, schema: dict[str, Any]) -> None:
    with pytest.raises(TypeError) as caught:
        Grammar.from_json_schema(schema, registry=registry)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("contents", "shown"),
    [
        (None, "null"),
        ("{}", '"{}"'),
        ([{}], "a list of 1"),
        (3, "3"),
        (referencing.Resource.opaque({}), "a Python Resource"),
    ],
)
def test_what_is_no_schema_in_a_registry_is_refused_where_it_is_used(contents: Any, shown: str) -> None:
    Grammar.from_json_schema({"type": "null"}, registry={URI: contents})
    registries: list[Any] = [{URI: contents}]
    if not isinstance(contents, referencing.Resource):
        registries.append(as_registry(contents))
    for registry in registries:
        with pytest.raises(GrammarError) as caught:
            Grammar.from_json_schema(REFERRING, registry=registry)
        assert caught.value.pointer == "/properties/a/$ref"
        assert caught.value.message == f"the registry has {shown} for {URI}, which is no schema"
        assert "json.loads" in (caught.value.hint or "")


def test_documents_that_are_not_had() -> None:
    def error(registry: Any) -> GrammarError:
        with pytest.raises(GrammarError) as caught:
            Grammar.from_json_schema(REFERRING, registry=registry)
        assert caught.value.pointer == "/properties/a/$ref"
        return caught.value

    def retrieve(uri: str) -> Any:
        raise OSError("no such server")

    with_fragment = error({URI + "#a": {}})
    assert with_fragment.message == f"the reference leads to a schema that was not given: {URI}"
    assert with_fragment.hint == (
        f"the registry has {URI}#a: a URI there is that of a whole document, without a fragment"
    )
    assert error(referencing.Registry()).message == f"the reference leads to a schema that was not given: {URI}"
    assert error(referencing.Registry(retrieve=retrieve)).message == (
        f"the registry did not retrieve {URI}: OSError: no such server"
    )
    deep: dict[str, Any] = {}
    for _ in range(600):
        deep = {"not": deep}
    assert error({URI: deep}).message.startswith(f"the schema at {URI} is nested more than 500 deep")
