"""Schemas as documents: values of any kind are read, references are resolved, mistakes are reported with places."""

from __future__ import annotations

import json
import pickle
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from enum import Enum, IntEnum
from itertools import count
from typing import Any, Literal

import jsonschema
import pytest
import referencing
from jsonschema.validators import validator_for
from referencing.jsonschema import DRAFT202012

import earleymask
from campaign import schema_suite
from earleymask import Grammar, Limits
from earleymask.grammar.errors import GrammarError, GrammarLimitError
from earleymask.grammar.json_schema.check import check_schema
from earleymask.grammar.json_schema.documents import Documents
from earleymask.grammar.json_schema.keywords import DRAFTS, KEYWORDS, METASCHEMAS, keywords, rows
from earleymask.grammar.json_schema.read import read
from earleymask.grammar.json_schema.tree import Place


def scanned(schema: Any, **options: Any) -> Documents:
    documents = Documents(read(schema), **options)
    check_schema(documents)
    return documents


def errors(schema: Any, **options: Any) -> list[tuple[str | None, str]]:
    with pytest.raises(GrammarError) as caught:
        scanned(schema, **options)
    return [(error.pointer, error.message) for error in caught.value.errors]


# Which values are read as schemas.


def test_numbers_of_a_text_are_exact() -> None:
    text = '{"const": [0.1, 1e400, 12345678901234567890123, -0.0]}'
    assert read(text) == {"const": [Decimal("0.1"), Decimal("1e400"), 12345678901234567890123, Decimal("-0.0")]}
    assert read(text.encode()) == read(text)


def test_a_dict_is_not_touched_and_not_shared() -> None:
    given = {"properties": {"a": {"enum": [1, 0.5, None, True, "é"]}}}
    before = json.dumps(given)
    made = read(given)
    assert made == given
    given["properties"]["a"]["enum"].append("later")
    assert json.dumps(made) == before


def test_other_mappings_and_sequences_are_copied() -> None:
    made = read(OrderedDict(enum=(1, Decimal("0.1")), items=OrderedDict(type="null")))
    assert made == {"enum": [1, Decimal("0.1")], "items": {"type": "null"}}
    assert type(made) is type(made["items"]) is dict
    assert list(made) == ["enum", "items"]


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ('{"a": 1,\n "a": 2}', 2, 2, 'the key "a" stands twice in one object'),
        ('{"a": {"b": 1},\n "c": {"a": [{"a": 1, "x": "a", "\\u0061": 2}]}}', 2, 33, 'the key "a" stands twice'),
        ('{"a": }', 1, 7, "the schema is not JSON"),
        ("", 1, 1, "the schema is not JSON"),
        ("\n", 2, 1, "the schema is not JSON"),
        ("\u2028{\n1}", 1, 1, "the schema is not JSON"),
        ("[1,\n2", 2, 2, "the schema is not JSON"),
    ],
)
def test_a_malformed_text_is_told_with_its_place(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(GrammarError, match=message) as caught:
        read(text)
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize("text", ['{"const": NaN}', '{"const": -Infinity}'])
def test_what_json_has_no_numbers_for(text: str) -> None:
    with pytest.raises(GrammarError, match=r"JSON has no number -?(NaN|Infinity)"):
        read(text)


def test_texts_that_are_too_much() -> None:
    with pytest.raises(GrammarLimitError, match="nested too deeply"):
        read("[" * 100_000)
    with pytest.raises(GrammarLimitError, match="too many digits"):
        read('{"const": ' + "9" * 5000 + "}")


def test_a_dict_that_holds_itself_is_refused() -> None:
    given: dict[str, Any] = {"not": {}}
    given["not"]["not"] = given
    with pytest.raises(GrammarLimitError, match="holds itself"):
        read(given)


def test_as_much_is_copied_as_a_text_may_have() -> None:
    given = {"enum": ["abc", 1, [], {}, ("x", [2])], "": {}}
    n = len(json.dumps(given, separators=(",", ":")))
    assert read(given, Limits(source_characters=n)) == json.loads(json.dumps(given))
    with pytest.raises(GrammarLimitError, match=f"more than {n - 1} characters when it is written as JSON") as caught:
        read(given, Limits(source_characters=n - 1))
    assert caught.value.limit == "source_characters"


class Endless(dict[str, Any]):
    """A mapping of the caller's own."""

    def __iter__(self) -> Iterator[str]:
        return map(str, count())

    def __getitem__(self, name: str) -> Any:
        return 1

    keys = __iter__  # type: ignore[assignment]


class EndlessList(list[Any]):
    def __iter__(self) -> Iterator[int]:
        return count()


def shared(n: int) -> Any:
    """Make lists of which each has the next one twice: 2ⁿ when they are walked."""
    made: Any = []
    for _ in range(n):
        made = [made, made]
    return made


@pytest.mark.parametrize(
    "given",
    [{"enum": shared(60)}, {"enum": EndlessList()}, {"properties": Endless()}, Endless(), {"not": {"a": Endless()}}],
)
def test_schemas_without_an_end_are_refused(given: Any) -> None:
    with pytest.raises(GrammarLimitError, match="characters when it is written") as caught:
        Grammar.from_json_schema(given, limits=Limits(source_characters=100_000))
    assert caught.value.limit == "source_characters" and "limits=Limits(source_characters=...)" in str(caught.value)


class Counted(dict[str, Any]):
    """Counts how many of its values are copied."""

    copied = 0

    def __getitem__(self, name: str) -> Any:
        Counted.copied += 1
        return super().__getitem__(name)


def test_hardly_more_is_copied_than_a_schema_may_have() -> None:
    """Also if each item of one list is the same large part."""
    part = Counted.fromkeys(map(str, range(1_000)), 1)
    with pytest.raises(GrammarLimitError, match="characters when it is written"):
        read({"enum": [part] * 1_000}, Limits(source_characters=10_000))
    assert Counted.copied <= 11_000


def test_other_values_are_no_schemas() -> None:
    with pytest.raises(TypeError, match="not float"):
        read(1.5)
    with pytest.raises(GrammarError, match="must be an object, true or false, not a list of 1"):
        Documents(read("[1]"))


def test_models() -> None:
    pydantic = pytest.importorskip("pydantic")
    model = pydantic.create_model("Point", x=(int, ...), y=(int, 0))
    assert read(model) == read(model(x=1)) == model.model_json_schema()
    assert read(pydantic.TypeAdapter(list[int])) == {"type": "array", "items": {"type": "integer"}}


@dataclass
class Point:
    x: int
    y: float = 0.0


def test_dataclasses() -> None:
    pydantic = pytest.importorskip("pydantic")
    made = read(Point)
    assert made == read(Point(1)) == pydantic.TypeAdapter(Point).json_schema()
    assert made["required"] == ["x"]


# References. A `const` in each target shows which one a reference leads to.


def walked(documents: Documents, *keywords: str) -> Place:
    """The place that keywords lead to from the root, references followed."""
    place = documents.root
    for keyword in keywords:
        place = (
            documents.target(place, keyword) if keyword.endswith(("ref", "Ref")) else documents.child(place, keyword)
        )
    return place


def leads(documents: Documents, *keywords: str) -> Any:
    return walked(documents, *keywords).schema.get("const")


@pytest.mark.parametrize(
    ("reference", "schema", "pointer"),
    [
        ("#/$defs/a", {"$defs": {"a": {"const": 1}}}, "/$defs/a"),
        ("#/unknown/0/deep", {"unknown": [{"deep": {"const": 1}}]}, "/unknown/0/deep"),
        ("#/$defs/a~1b~0c%25%22", {"$defs": {'a/b~c%"': {"const": 1}}}, '/$defs/a~1b~0c%"'),
        ("#/$defs/~01", {"$defs": {"~1": {"const": 1}}}, "/$defs/~01"),
        ("#/definitions//x", {"definitions": {"": {"x": {"const": 1}}}}, "/definitions//x"),
        ("#here", {"$defs": {"a": {"$anchor": "here", "const": 1}}}, "/$defs/a"),
        ("#here", {"$defs": {"a": {"$dynamicAnchor": "here", "const": 1}}}, "/$defs/a"),
        ("http://h/b", {"$defs": {"a": {"$id": "http://h/b", "const": 1}}}, "/$defs/a"),
        (
            "b#/$defs/c",
            {"$id": "http://h/a", "$defs": {"a": {"$id": "b", "$defs": {"c": {"const": 1}}}}},
            "/$defs/a/$defs/c",
        ),
        (
            "b#d",
            {"$id": "http://h/a", "$defs": {"a": {"$id": "b", "$defs": {"c": {"$anchor": "d", "const": 1}}}}},
            "/$defs/a/$defs/c",
        ),
        ("urn:x:y", {"$defs": {"a": {"$id": "urn:x:y", "const": 1}}}, "/$defs/a"),
    ],
)
def test_what_references_lead_to(reference: str, schema: dict[str, Any], pointer: str) -> None:
    documents = scanned({"items": {"$ref": reference}, **schema})
    assert leads(documents, "items", "$ref") == 1
    assert walked(documents, "items", "$ref").pointer == pointer


def test_a_reference_to_the_whole() -> None:
    documents = scanned({"$id": "http://h/a", "const": 1, "items": {"$ref": "#"}, "not": {"$ref": "http://h/a"}})
    for keyword in ("items", "not"):
        assert walked(documents, keyword, "$ref") is documents.root


def test_references_are_relative_to_the_resource_they_stand_in() -> None:
    inner = {"$id": "/b/", "items": {"$ref": "#/$defs/x"}, "not": {"$ref": "c"}, "$defs": {"x": {"const": "inner"}}}
    documents = scanned(
        {
            "$id": "http://h/a",
            "items": inner,
            "$defs": {"x": {"const": "outer"}, "c": {"$id": "b/c", "const": "c"}},
            "not": {"$ref": "#/items/items"},
        }
    )
    assert leads(documents, "items", "items", "$ref") == "inner"
    assert leads(documents, "items", "not", "$ref") == "c"
    # A pointer that goes into a resource ends up in it.
    assert leads(documents, "not", "$ref", "$ref") == "inner"


def test_a_name_within_a_constant_or_an_unknown_keyword_names_nothing() -> None:
    for keyword in ("const", "enum", "unknown", "default"):
        value = {"$id": "http://h/b", "$anchor": "here", "const": 1}
        schema = {keyword: [value], "items": {"$ref": "http://h/b"}}
        assert errors(schema) == [("/items/$ref", "the reference leads to a schema that was not given: http://h/b")]
        schema["items"] = {"$ref": "#here"}
        assert errors(schema) == [("/items/$ref", "the reference '#here' leads nowhere: there is no anchor 'here'")]


@pytest.mark.parametrize("draft", [4, 6, 7])
def test_what_stands_beside_a_reference_counts_only_in_later_drafts(draft: int) -> None:
    schema = {
        "definitions": {"a": {"const": 1}},
        "items": {"$ref": "#/definitions/a", "type": "strin", "$id": "http://h/x", "id": "http://h/x"},
    }
    documents = scanned(schema, draft=draft)
    assert walked(documents, "items").keywords == {"$ref": "#/definitions/a"}
    assert leads(documents, "items", "$ref") == 1
    del schema["items"]["$id"]
    assert [pointer for pointer, _ in errors(schema, draft=2020)] == ["/items/type"]


def test_identifiers_by_draft() -> None:
    for draft, keyword in ((4, "id"), (6, "$id"), (7, "$id")):
        schema = {"definitions": {"a": {keyword: "#here", "const": 1}}, "items": {"$ref": "#here"}}
        assert leads(scanned(schema, draft=draft), "items", "$ref") == 1
    assert errors({"$defs": {"a": {"$id": "#here"}}, "items": {"$ref": "#here"}})[0][0] == "/items/$ref"


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"$id": "http://h/a", "$defs": {"a": {"$id": "//["}}, "items": {"$ref": "#/$defs/a"}}, "/$defs/a/$id"),
        ({"$id": "http://h/a", "items": {"$ref": "//[b"}}, "/items/$ref"),
    ],
)
def test_what_is_no_uri_reference_is_an_error_at_its_place(schema: dict[str, Any], pointer: str) -> None:
    assert errors(schema) == [
        (pointer, f'"{"//[b" if "items" in pointer else "//["}" is no URI reference: Invalid IPv6 URL')
    ]


def test_registries() -> None:
    remote = {"$id": "http://h/other", "$defs": {"a": {"$anchor": "x", "const": 1}}, "not": {"$ref": "third"}}
    third = {"const": 3}
    schema = {"items": {"$ref": "http://h/r#x"}, "not": {"$ref": "http://h/r"}}
    plain = {"http://h/r": remote, "http://h/third": third}
    specification = DRAFT202012
    registry = referencing.Registry().with_resources(
        [(uri, specification.create_resource(contents)) for uri, contents in plain.items()]
    )
    for given in (plain, registry):
        documents = scanned(schema, registry=given)
        assert leads(documents, "items", "$ref") == 1
        assert walked(documents, "items", "$ref").pointer == "http://h/r#/$defs/a"
        assert leads(documents, "not", "$ref", "not", "$ref") == 3
        assert documents.remote == plain
    assert ("/items/$ref", "the reference leads to a schema that was not given: http://h/r") in errors(schema)


@pytest.mark.parametrize("uri", [uri for uri in METASCHEMAS if "draft" in uri])
def test_the_metaschemas_are_known_and_well_formed(uri: str) -> None:
    pytest.importorskip("jsonschema_specifications")
    documents = scanned({"$ref": uri + "#"})
    assert walked(documents, "$ref").draft == METASCHEMAS[uri]
    assert documents.is_dynamic == (METASCHEMAS[uri] > 7)


def test_dynamic_references_look_at_how_a_place_was_reached() -> None:
    tree = {
        "$id": "http://h/tree",
        "$dynamicAnchor": "node",
        "const": "tree",
        "items": {"$dynamicRef": "#node"},
    }
    strict = {"$id": "http://h/strict", "$dynamicAnchor": "node", "$ref": "tree", "const": "strict"}
    documents = scanned(strict, registry={"http://h/tree": tree})
    assert leads(documents, "$ref", "items", "$dynamicRef") == "strict"
    documents = scanned(tree)
    assert leads(documents, "items", "$dynamicRef") == "tree"
    # Without a dynamic anchor at its start it means what it says.
    plain = {**tree, "items": {"$dynamicRef": "#/$defs/node"}, "$defs": {"node": {"const": "plain"}}}
    documents = scanned(strict, registry={"http://h/tree": plain})
    assert leads(documents, "$ref", "items", "$dynamicRef") == "plain"


@pytest.mark.parametrize("anchored", [True, False])
def test_recursive_references_look_at_how_a_place_was_reached(anchored: bool) -> None:
    tree = {"$id": "http://h/tree", "$recursiveAnchor": anchored, "const": "tree", "items": {"$recursiveRef": "#"}}
    strict = {"$id": "http://h/strict", "$recursiveAnchor": True, "$ref": "tree", "const": "strict"}
    documents = scanned(strict, registry={"http://h/tree": tree}, draft=2019)
    assert leads(documents, "$ref", "items", "$recursiveRef") == ("strict" if anchored else "tree")


def test_scopes_close() -> None:
    tree = {"$id": "http://h/tree", "$dynamicAnchor": "node", "items": {"$dynamicRef": "#node"}}
    strict = {"$id": "http://h/strict", "$dynamicAnchor": "node", "$ref": "tree"}
    documents = scanned(strict, registry={"http://h/tree": tree})
    around = ("$ref", "items", "$dynamicRef")
    assert walked(documents, *around) is walked(documents, *around, *around) is documents.root


# Drafts and vocabularies.


@pytest.mark.parametrize(("uri", "draft"), METASCHEMAS.items())
def test_drafts(uri: str, draft: int) -> None:
    for spelled in (uri, uri + "#"):
        assert scanned({"$schema": spelled}, draft=4).root.draft == draft


def test_an_embedded_resource_may_be_of_another_draft() -> None:
    inner = {"$schema": "http://json-schema.org/draft-04/schema#", "id": "http://h/b", "exclusiveMinimum": True}
    documents = scanned({"items": inner, "exclusiveMinimum": 3})
    assert walked(documents, "items").draft == 4
    # One that is no resource may not.
    del inner["id"]
    assert errors({"items": inner})[0][0] == "/items/exclusiveMinimum"


def test_an_embedded_resource_of_an_unknown_draft_is_one_error() -> None:
    """Also if several references lead to it: none of them may find a resource of which the draft is not known."""
    inner = {"$id": "http://h/x", "$schema": "http://h/nowhere", "type": "text"}
    schema = {"$defs": {"x": inner}, "properties": {"a": {"$ref": "#/$defs/x"}, "b": {"$ref": "#/$defs/x"}}}
    found = [("/$defs/x/$schema", "`$schema` names a metaschema that is not known: http://h/nowhere")]
    assert errors(schema) == found


def test_vocabularies_take_keywords_away() -> None:
    base = "https://json-schema.org/draft/2020-12/"
    vocabulary = {base + "vocab/core": True, base + "vocab/applicator": True, base + "vocab/format-assertion": False}
    meta = {"$schema": base + "schema", "$vocabulary": vocabulary}
    schema = {"$schema": "http://h/meta", "minimum": 3, "properties": {"a": {"type": "strin"}}, "format": "date"}
    documents = scanned(schema, registry={"http://h/meta": meta})
    root = documents.root
    assert documents.remote == {"http://h/meta": meta}
    assert root.keywords.keys() == {"$schema", "properties", "format"}
    assert root.resource.asserts_format is True
    vocabulary["http://h/mine"] = False
    scanned(schema, registry={"http://h/meta": meta})
    vocabulary["http://h/mine"] = True
    assert errors(schema, registry={"http://h/meta": meta})[0] == (
        "/$schema",
        "the metaschema http://h/meta requires a vocabulary that is not known: http://h/mine",
    )
    assert errors(schema)[0] == ("/$schema", "`$schema` names a metaschema that is not known: http://h/meta")


@pytest.mark.parametrize(
    ("uri", "hint"),
    [
        ("https://json-schema.org/draft-07/schema#", 'did you mean "http://json-schema.org/draft-07/schema#"?'),
        ("https://json-schema.org/draft-04/schema", 'did you mean "http://json-schema.org/draft-04/schema#"?'),
        (
            "http://json-schema.org/draft/2020-12/schema",
            'did you mean "https://json-schema.org/draft/2020-12/schema"?',
        ),
        ("http://h/meta", 'give the metaschema in `registry`, or leave out "$schema"'),
    ],
)
def test_a_metaschema_that_is_not_known_may_be_meant_for_one_that_is(uri: str, hint: str) -> None:
    with pytest.raises(GrammarError) as caught:
        scanned({"$schema": uri})
    assert caught.value.hint == hint


def test_a_reference_that_leads_nowhere_in_another_document() -> None:
    schema = {"properties": {"c#": {"$ref": "http://r/a#/$defs/nope"}}}
    with pytest.raises(GrammarError) as caught:
        scanned(schema, registry={"http://r/a": {"$defs": {}}})
    assert str(caught.value) == (
        "at #/properties/c#/$ref: the reference 'http://r/a#/$defs/nope' leads nowhere: "
        "there is no 'nope' at http://r/a#/$defs"
    )


# Names that two schemas claim.

OLD = {"$schema": "http://json-schema.org/draft-07/schema#"}
TWO = {"a": {"$anchor": "x", "type": "null"}, "b": {"$anchor": "x", "type": "string"}}
TWO_IDS = {"a": {"$id": "http://h/x", "type": "null"}, "b": {"$id": "http://h/x", "type": "string"}}


@pytest.mark.parametrize(
    ("schema", "pointer", "message"),
    [
        (
            {"$ref": "#x", "$defs": TWO},
            "/$ref",
            "the anchor 'x' is that of two schemas, at #/$defs/a and at #/$defs/b",
        ),
        (
            {"$ref": "#x", "$defs": {"a": {"$dynamicAnchor": "x"}, "b": {"$anchor": "x", "type": "null"}}},
            "/$ref",
            "the anchor 'x' is that of two schemas, at #/$defs/a and at #/$defs/b",
        ),
        (
            OLD | {"not": {"$ref": "#x"}, "definitions": {"a": {"$id": "#x", "minimum": 1}, "b": {"$id": "#x"}}},
            "/not/$ref",
            "the anchor 'x' is that of two schemas, at #/definitions/a and at #/definitions/b",
        ),
        (
            {"$ref": "http://h/x", "$defs": TWO_IDS},
            "/$ref",
            "the identifier http://h/x is that of two schemas, at #/$defs/a and at #/$defs/b",
        ),
        # Also if one of them was read before.
        (
            {"properties": TWO_IDS, "items": {"$ref": "http://h/x"}},
            "/items/$ref",
            "the identifier http://h/x is that of two schemas, at #/properties/a and at #/properties/b",
        ),
        (
            {"$id": "http://h/x", "properties": {"a": {"$ref": "x#/$defs/b"}}, "$defs": {"b": {"$id": "http://h/x"}}},
            "/properties/a/$ref",
            "the identifier http://h/x is that of two schemas, at #/$defs/b and at #",
        ),
        (
            {
                "$id": "http://h/root",
                "$ref": "http://h/leaf",
                "$defs": {
                    "leaf": {"$id": "http://h/leaf", "$dynamicAnchor": "n", "items": {"$dynamicRef": "#n"}},
                    "one": {"$dynamicAnchor": "n", "type": "array"},
                    "two": {"$dynamicAnchor": "n", "type": "null"},
                },
            },
            "/$defs/two",
            "the anchor 'n' is that of two schemas, at #/$defs/one and at #/$defs/two",
        ),
    ],
)
def test_a_name_of_two_schemas_is_not_referred_to(schema: Any, pointer: str, message: str) -> None:
    assert errors(schema) == [(pointer, message)]


def test_a_name_of_two_schemas_may_stand_there_or_mean_the_same() -> None:
    scanned({"$defs": TWO, "properties": TWO_IDS})
    alike = {"$id": "http://h/x", "items": {"$ref": "x"}}
    scanned({"properties": {"a": alike, "b": dict(alike), "c": {"$ref": "http://h/x"}}})
    inner = {"$id": "http://h/a", "$defs": {"x": TWO["a"]}}  # a resource of its own
    scanned({"$defs": {"a": inner, "b": TWO["b"]}, "$ref": "#x"})
    # In old drafts, `$id` with a fragment names a part of the document.
    old = {"$id": "http://h/x", "definitions": {"a": {"$id": "http://h/x#a"}}, "items": {"$ref": "http://h/x"}}
    scanned(OLD | old)


# Malformed schemas.


@pytest.mark.parametrize(
    ("schema", "pointer", "message"),
    [
        (
            {"type": "strin"},
            "/type",
            "`type` must be one of array, boolean, integer, null, number, object, string, "
            'or a list of them, not "strin"',
        ),
        ({"items": {"required": "a"}}, "/items/required", '`required` must be a list of strings, not "a"'),
        ({"properties": {"a/b": {"minimum": "3"}}}, "/properties/a~1b/minimum", '`minimum` must be a number, not "3"'),
        ({"maximum": True}, "/maximum", "`maximum` must be a number, not true"),
        ({"minLength": -1}, "/minLength", "`minLength` must be a whole number from 0 up, not -1"),
        ({"minLength": 1.5}, "/minLength", "`minLength` must be a whole number from 0 up, not 1.5"),
        ({"multipleOf": 0}, "/multipleOf", "`multipleOf` must be a number above 0, not 0"),
        ({"uniqueItems": 1}, "/uniqueItems", "`uniqueItems` must be true or false, not 1"),
        ({"enum": "a"}, "/enum", '`enum` must be a list, not "a"'),
        ({"allOf": []}, "/allOf", "`allOf` must be a list of at least one schema, not the empty list"),
        ({"allOf": [{}, 1]}, "/allOf/1", "a schema must be an object, true or false, not 1"),
        ({"not": None}, "/not", "a schema must be an object, true or false, not null"),
        (
            {"properties": []},
            "/properties",
            "`properties` must be an object whose values are schemas, not the empty list",
        ),
        (
            {"dependentRequired": {"a": "b"}},
            "/dependentRequired",
            "`dependentRequired` must be an object whose values are lists of strings, not an object of 1",
        ),
        (
            {"dependencies": {"a": ["b", 1]}},
            "/dependencies/a",
            "a dependency must be a schema or a list of strings, not a list of 2",
        ),
        ({"$ref": 1}, "/$ref", "`$ref` must be a string, not 1"),
        ({"const": {"a": [float("nan")]}}, "/const/a/0", "must be a value of JSON, not NaN"),
        ({"enum": [{1: 2}]}, "/enum/0", "the names in an object must be strings, not 1"),
        ({"$ref": "#/a/b", "a": {}}, "/$ref", "the reference '#/a/b' leads nowhere: there is no 'b' at #/a"),
        ({"$ref": "#/a/01", "a": [1, 2]}, "/$ref", "the reference '#/a/01' leads nowhere: there is no '01' at #/a"),
        (
            {"$ref": "#/title", "title": "t"},
            "/$ref",
            "the reference '#/title' leads to \"t\", which is no schema",
        ),
        ({"$ref": "#/a", "a": [1]}, "/$ref", "the reference '#/a' leads to a list of 1, which is no schema"),
    ],
)
def test_malformed_schemas(schema: Any, pointer: str, message: str) -> None:
    assert errors(schema) == [(pointer, message)]


def test_a_list_in_items_is_told_the_keyword_of_its_draft() -> None:
    lists: list[Any] = [[], [{}, {"type": "string"}]]
    for items in lists:
        for schema in ({"items": items}, {"$schema": schema_suite.DRAFTS["2020-12"], "items": items}):
            with pytest.raises(GrammarError, match="in draft 2020-12 `items` must be one schema") as caught:
                scanned(schema)
            assert caught.value.pointer == "/items"
            assert caught.value.hint is not None and '"prefixItems"' in caught.value.hint
            assert '"$schema"' in caught.value.hint
        scanned({"$schema": schema_suite.DRAFTS["2019-09"], "items": items})
    several = {"items": [{}], "type": "strin", "properties": {"items": [{}]}}
    assert {pointer for pointer, _ in errors(several)} == {"/items", "/type", "/properties/items"}


def test_all_errors_are_told_with_their_pointers() -> None:
    schema = {"items": {"type": 1}, "properties": {"a": {"pattern": 2}, "b": {"$ref": "#/c"}}}
    found = errors(schema)
    assert {pointer for pointer, _ in found} == {"/items/type", "/properties/a/pattern", "/properties/b/$ref"}
    with pytest.raises(GrammarError, match="3 errors in the schema\nat #/") as caught:
        scanned(schema)
    again = pickle.loads(pickle.dumps(caught.value))
    assert [error.pointer for error in again.errors] == [pointer for pointer, _ in found]


def test_what_nothing_reaches_is_not_looked_at() -> None:
    scanned({"$defs": {"a": {"type": "strin", "$ref": "http://h/nowhere"}}, "title": ["not", "a", "title"]})


def test_booleans_in_draft_4() -> None:
    scanned({"additionalProperties": False, "additionalItems": True, "items": {}}, draft=4)
    assert errors({"not": True}, draft=4) == [("/not", "in draft 4 a schema must be an object, not true")]


def test_visitors_see_each_schema_that_is_reached_once() -> None:
    schema = {
        "properties": {"a": {"$ref": "#/$defs/x"}, "b": {"$ref": "#/$defs/x"}, "c": True},
        "$defs": {"x": {"items": {"$ref": "#"}}, "y": {}},
    }
    documents = Documents(schema)

    for _ in range(2):  # and again in a second check
        seen: list[Place] = []
        check_schema(documents, seen.append)
        pointers = [place.pointer for place in seen]
        assert sorted(pointers) == ["", "/$defs/x", "/$defs/x/items", "/properties/a", "/properties/b"]
        assert list(documents.reached) == seen


# The table of keywords, compared with the metaschemas.


@pytest.mark.parametrize("draft", DRAFTS)
def test_the_table_has_what_the_metaschemas_have(draft: int) -> None:
    specifications = pytest.importorskip("jsonschema_specifications")
    uri = next(uri for uri, of in METASCHEMAS.items() if of == draft)
    known: set[str] = set()
    for name in specifications.REGISTRY:
        if name.startswith(uri.removesuffix("schema")):
            known |= specifications.REGISTRY[name].contents.get("properties", {}).keys()
    if draft == 2020:
        known -= {"$recursiveAnchor", "$recursiveRef"}  # listed there as removed
    if draft == 7:
        known.add("writeOnly")  # in the specification (validation, 10.3), but missing in some copies
    if draft == 4:
        known.add("$ref")  # another specification then, "JSON Reference"
    assert set(rows(draft)) == known


SAMPLES: list[Any] = [
    *(None, True, 0, 1, -1, 1.5, "a", "string", [], ["a"], [1], ["a", "b"], ["null"], [{}]),
    *({}, {"a": {}}, {"a": 1}, {"a": ["b"]}),
]


@pytest.mark.parametrize("draft", DRAFTS)
def test_values_of_assertions_are_judged_as_the_metaschema_does(draft: int) -> None:
    uri = next(uri for uri, of in METASCHEMAS.items() if of == draft)
    validator = validator_for({"$schema": uri + ("#" if draft <= 7 else "")})
    judged = 0
    for row in rows(draft).values():
        if row.role != "assertion" or row.name.endswith("Ref") or row.name == "$ref":
            continue
        for value in SAMPLES:
            # In draft 4, `exclusiveMaximum` and its like require the bound beside them. Without it they say nothing.
            beside = {"minimum": 0, "maximum": 1} if draft == 4 and row.name.startswith("exclusive") else {}
            schema = {row.name: value, **beside}
            try:
                validator.check_schema(schema)
                well = True
            except jsonschema.SchemaError:
                well = False
            # Lists of names and values may be empty, and lists of schemas that then say nothing may be, too.
            if value == [] and row.name in ("required", "enum", "prefixItems", "items", "dependencies"):
                continue
            try:
                scanned(schema, draft=draft)
                ours = True
            except GrammarError:
                ours = False
            assert ours == well, (row.name, value)
            judged += 1
    assert judged > 300


def test_keywords_are_looked_up_by_draft() -> None:
    for row in KEYWORDS:
        for draft in DRAFTS:
            if row.first <= draft <= row.last:
                assert keywords(draft)[row.name] == row.kind
    for draft, name in ((4, "const"), (6, "if"), (7, "$defs"), (2019, "prefixItems"), (2020, "additionalItems")):
        assert name not in keywords(draft)


@pytest.mark.parametrize(("draft", "number"), list(zip(reversed(schema_suite.DRAFTS), DRAFTS, strict=True)))
def test_every_schema_of_the_suite_is_well_formed(draft: str, number: int) -> None:
    suite = schema_suite.folder(draft)
    n = 0
    for group in schema_suite.groups(suite, draft):
        scanned(group.schema, registry=schema_suite.remotes(suite), draft=number)
        n += 1
    if not n:
        pytest.skip(f"no tests of draft {draft} in {suite}; .ci/suite fetches them")
    assert n > 150


def deep(n: int) -> Any:
    value: Any = 1
    for _ in range(n):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("schema", "pointer", "said"),
    [
        ({"properties": {1: True}}, "/properties", "names in an object must be strings, not 1"),
        ({"dependencies": {None: ["a"]}}, "/dependencies", "names in an object must be strings, not null"),
        ({"dependentRequired": {1: ["a"]}}, "/dependentRequired", "lists of strings"),
        ('{"const": 1e99999999999999999999}', None, "beyond what Python reads"),
        ('{"properties": {"a": {"const": [1e20000]}}}', "/properties/a/const", "beyond 10000"),
        ('{"items": {"maximum": 1e20000}}', "/items/maximum", "beyond 10000"),
        ('{"items": {"maximum": 1' + "1" * 20_000 + ".5}}", "/items/maximum", "beyond 10000"),
        ({"items": {"enum": ["a", {"b": 10**3000}]}}, "/items/enum", "2000 digits"),
        ({"items": {"const": 7**20_000}}, "/items/const", "2000 digits"),
        ({"items": {"not": {"maxItems": 10**9}}}, "/items/not/maxItems", "may stand under a negation"),
        ({"if": {"maxProperties": 10**9}, "then": True}, "/if/maxProperties", "may stand under a negation"),
        ('{"minItems": 1e2000000000}', "/minItems", "can be counted"),
        ({"const": deep(1000)}, None, "nested"),
        ({"default": deep(1000)}, None, "nested"),
        ('{"const": ' + "[" * 100_000 + "]" * 100_000 + "}", None, "nested"),
    ],
)
def test_what_is_out_of_bounds_is_refused_before_anything_is_written(
    schema: Any, pointer: str | None, said: str
) -> None:
    with pytest.raises(GrammarError, match=said) as caught:
        earleymask.Grammar.from_json_schema(schema)
    assert caught.value.pointer == pointer


@pytest.mark.parametrize(
    "annotation", [float("nan"), [float("inf")], {"a": 7**20_000}, {1, 2}, Decimal("1.10"), "\ud800"]
)
def test_annotations_may_be_what_no_text_holds(annotation: Any) -> None:
    grammar = earleymask.Grammar.from_json_schema({"type": "null", "default": annotation})
    copy = pickle.loads(pickle.dumps(grammar))
    assert copy == grammar
    assert [row.pointer for row in copy.report] == [row.pointer for row in grammar.report]


def test_counts_are_numbers_of_all_kinds() -> None:
    vocabulary = earleymask.Vocabulary.bytes()
    for schema in ({"maxLength": Size.LARGE}, {"maxLength": 2.0}, '{"maxLength": 0.2e1}'):
        grammar = earleymask.Grammar.from_json_schema(schema)
        assert earleymask.Matcher(grammar, vocabulary).validate(b'"ab"') == 4
        assert earleymask.Matcher(grammar, vocabulary).validate(b'"abc"') == 3
    for schema in ('{"maxLength": 1e2000000000}', {"maxItems": 1e300, "maxLength": 10**12}):
        grammar = earleymask.Grammar.from_json_schema(schema)
        assert earleymask.Matcher(grammar, vocabulary).validate(b'"abc"') == 5
    for schema in ({"type": "string", "minLength": 10**12}, {"type": "string", "not": {"maxLength": 10**12}}):
        with pytest.raises(GrammarError, match="no document satisfies"):
            earleymask.Grammar.from_json_schema(schema)


def test_what_pydantic_makes_no_schema_of_is_an_error_of_the_grammar() -> None:
    pydantic = pytest.importorskip("pydantic")
    odd = pydantic.create_model("Odd", x=("NotThere", ...))

    @dataclass
    class WithFunction:
        function: Callable[[int], int]

    for given in (odd, WithFunction, WithFunction(abs)):
        with pytest.raises(GrammarError, match="pydantic makes no schema of "):
            read(given)
    for given in (list[int], int, None):
        with pytest.raises(TypeError, match=r"Grammar\.from_type"):
            read(given)


def test_dataclasses_of_all_that_they_may_hold() -> None:
    pytest.importorskip("pydantic")
    vocabulary = earleymask.Vocabulary.bytes()
    grammar = earleymask.Grammar.from_json_schema(Whole)
    for text, is_valid in [
        ('{"name":"a","part":{"x":1}}', True),
        (
            '{"name":"a","part":{"x":1,"next":{"x":2,"next":null}},"color":"blue","kind":3,"size":2,"more":{"k":{"x":1}}}',
            True,
        ),
        ('{"name":"a","part":{"x":1},"pair":[1,"a"],"distinct":[1,2],"day":"2024-02-29"}', True),
        ('{"name":"a"}', False),
        ('{"name":"a","part":{"x":1,"next":{}}}', False),
        ('{"name":"a","part":{"x":1},"color":"green"}', False),
        ('{"name":"a","part":{"x":1},"size":3}', False),
        ('{"name":"a","part":{"x":1},"pair":[1]}', False),
        ('{"name":"a","part":{"x":1},"distinct":[1,1]}', False),
        ('{"name":"a","part":{"x":1},"day":"2023-02-29"}', False),
    ]:
        data = text.encode()
        matcher = earleymask.Matcher(grammar, vocabulary)
        assert (matcher.validate([*data, 256]) == len(data) + 1) == is_valid, text


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Size(IntEnum):
    SMALL = 1
    LARGE = 2


@dataclass
class Part:
    x: int
    next: Part | None = None


@dataclass
class Whole:
    name: str
    part: Part
    color: Color = Color.RED
    kind: Literal["a", "b", 3] = "a"
    size: Size = Size.SMALL
    more: dict[str, Part] = field(default_factory=dict)
    pair: tuple[int, str] = (1, "a")
    distinct: set[int] = field(default_factory=set)
    day: date | None = None


def test_errors_come_in_the_order_of_the_document() -> None:
    wrong = {f"p{index}": {"minimum": "x", "maxLength": -1} for index in range(100)}
    schema = {
        "properties": wrong,
        "items": {"$ref": "http://h/x"},
        "allOf": [{"type": "strin"}, {"$ref": "#/nowhere"}],
        "required": 3,
        "a~/b": 1,
        "$defs": {"a~/b": {"pattern": "("}},
        "not": {"$ref": "#/$defs/a~0~1b"},
    }
    pointers = [f"/properties/p{index}/{keyword}" for index in range(100) for keyword in ("minimum", "maxLength")]
    pointers += ["/allOf/0/type", "/allOf/1/$ref", "/required", "/$defs/a~0~1b/pattern"]
    pointers += ["http://h/x#/items/type", "http://h/x#/format"]
    registry = {"http://h/x": {"items": {"type": 1}, "format": 2}}
    for visit in (None, lambda place: None):
        with pytest.raises(GrammarError) as caught:
            check_schema(Documents(read(schema), registry=registry), visit)
        found = [error.pointer for error in caught.value.errors]
        assert [pointer for pointer in pointers if "pattern" not in pointer] == found
    with pytest.raises(GrammarError) as caught:
        earleymask.Grammar.from_json_schema(schema, registry=registry)
    assert [error.pointer for error in caught.value.errors] == pointers
    message = str(caught.value).splitlines()
    assert message[0] == f"{len(pointers)} errors in the schema"
    assert message[1].startswith("at #/properties/p0/minimum: ")
    # Three have their hints. The others, up to twenty, have a line each with the pointer.
    listed = [line.partition(": ")[0] for line in message[1:] if line.startswith("at #")]
    assert listed == [f"at #{pointer}" for pointer in pointers[:20]]
    assert message[-1] == f"and {len(pointers) - 20} more errors"


def test_what_cannot_be_enforced_comes_in_the_order_of_the_document() -> None:
    schema = {f"p{index}": {"format": "idn-hostname", "pattern": r"(a)\1"} for index in range(3)}
    with pytest.raises(GrammarError) as caught:
        earleymask.Grammar.from_json_schema({"properties": schema})
    assert [error.pointer for error in caught.value.errors] == [
        f"/properties/p{index}/{keyword}" for index in range(3) for keyword in ("format", "pattern")
    ]


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({1: 2}, ""),
        ({"properties": {"a": {None: 2}}}, "/properties/a"),
        ({"properties": {2: {}}}, "/properties"),
        ({"const": {1: 2}}, "/const"),
    ],
)
def test_keys_that_are_no_strings_are_refused_with_their_place(schema: Any, pointer: str) -> None:
    with pytest.raises(GrammarError, match="the names in an object must be strings") as caught:
        earleymask.Grammar.from_json_schema(schema)
    assert caught.value.pointer == pointer


def test_a_byte_order_mark_is_passed_over() -> None:
    text = '\ufeff{"type": "null"}'
    for given in (text, text.encode()):
        grammar = earleymask.Grammar.from_json_schema(given)
        assert pickle.loads(pickle.dumps(grammar)) == grammar
        assert [row.keyword for row in grammar.report if row.keyword] == ["type"]
    with pytest.raises(GrammarError, match="line 1, column 10: the key"):
        earleymask.Grammar.from_json_schema('\ufeff{"a": 1, "a": 2}')
