"""Grammars of JSON Schemas against `jsonschema`: each keyword over all small documents; and walks through masks."""

from __future__ import annotations

import gc
import json
import pickle
import random
import time
import weakref
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("regress")
pytest.importorskip("jsonschema")

from schema_oracle import Oracle, is_judged

import earleymask
from earleymask import Grammar, GrammarError, Matcher, Vocabulary

BYTES = Vocabulary.bytes()
EOS = 256

SCALARS = [None, True, False, 0, 1, 2, 2.5, -3, "", "a", "b", "ab", "\u00e9", "\U0001f600b"]
ITEMS = [None, True, 1, 2, "a", "b"]
MEMBERS = [None, 1, "a", True]


def documents() -> list[Any]:
    """Scalars; arrays of up to three; objects of up to three members, in all orders; a few within each other."""
    found = list(SCALARS)
    for n in range(3):
        found += [list(items) for items in product(ITEMS, repeat=n)]
    found += [list(items) for items in product([1, 2, "a"], repeat=3)]
    for n in range(4):
        for keys in permutations(["a", "b", "c", "ab"], n):
            values = product(MEMBERS, repeat=n) if n < 2 else product([1, "a"], repeat=n)
            found += [dict(zip(keys, chosen, strict=True)) for chosen in values]
    inner = [[], {}, [1], {"a": 1}, {"b": "a"}, {"a": {"a": 1}}]
    found += [[one] for one in inner] + [{"a": one} for one in inner] + [{"a": 1, "b": one} for one in inner]
    return found


DOCUMENTS = [json.dumps(document, ensure_ascii=False) for document in documents()]


def accepts(grammar: Grammar, text: str) -> bool:
    data = text.encode()
    return Matcher(grammar, BYTES).validate([*data, EOS]) == len(data) + 1


def made(schema: Any, **options: Any) -> Grammar | None:
    """The grammar, or None where it says that no document satisfies the schema."""
    try:
        return Grammar.from_json_schema(schema, **options)
    except GrammarError as error:
        if "no document satisfies" not in str(error):
            raise
        return None


def wrong(schema: Any, texts: list[str], **options: Any) -> list[str]:
    """The documents about which the grammar and the oracle do not agree."""
    oracle = Oracle(schema)
    valid = {text for text in texts if oracle.accepts(text)}
    grammar = made(schema, property_order="any", **options)
    if grammar is None:
        return sorted(valid)
    return [text for text in texts if accepts(grammar, text) != (text in valid)]


A, B, C = {"type": "integer"}, {"type": "string"}, {"const": 1}

SCHEMAS: dict[str, list[Any]] = {
    "type": [{"type": kind} for kind in ("null", "boolean", "integer", "number", "string", "array", "object")]
    + [{"type": ["integer", "string"]}, {"type": ["array", "null", "number"]}],
    "enum and const": [
        {"enum": [1, "a", None]},
        {"enum": [[1, 2], {"a": 1}, 2.5]},
        {"const": {"a": {"a": 1}}},
        {"const": False},
        {"enum": [0, False, 1.0]},
        {"enum": ["a", "ab", 1], "type": "string", "minLength": 2},
        {"enum": [{"a": 1}, {"b": 1}], "required": ["a"]},
    ],
    "numbers": [
        {"minimum": 1},
        {"exclusiveMinimum": 1, "maximum": 2},
        {"multipleOf": 2},
        {"type": "number", "multipleOf": 0.5, "not": {"type": "integer"}},
        {"minimum": 1, "exclusiveMinimum": 1},
    ],
    "strings": [
        {"minLength": 1},
        {"maxLength": 1},
        {"minLength": 2, "maxLength": 2},
        {"pattern": "b$"},
        {"pattern": "^a", "maxLength": 1},
        {"type": "string", "not": {"pattern": "a"}},
        {"allOf": [{"pattern": "a"}, {"pattern": "b"}]},
    ],
    "objects": [
        {"properties": {"a": A, "b": B}},
        {"properties": {"a": A}, "required": ["a", "b"]},
        {"properties": {"a": A}, "additionalProperties": False},
        {"properties": {"a": A}, "additionalProperties": B},
        {"patternProperties": {"^a": A}},
        {"patternProperties": {"^a": A, "b$": B}},
        {"properties": {"ab": C}, "patternProperties": {"^a": A}, "additionalProperties": False},
        {"propertyNames": {"pattern": "a"}},
        {"propertyNames": {"enum": ["a", "c"]}},
        {"propertyNames": {"maxLength": 1}, "required": ["ab"]},
        {"minProperties": 2},
        {"maxProperties": 1},
        {"minProperties": 1, "maxProperties": 2, "required": ["a"], "properties": {"b": A}},
        {"required": ["a"], "properties": {"a": False}},
        {"properties": {"a": {"$ref": "#"}}, "additionalProperties": False, "type": "object"},
        {"properties": {"a": A, "b": B}, "additionalProperties": False, "not": {"const": {}}},
        {"properties": {"a": A}, "additionalProperties": B, "not": {"additionalProperties": B}},
    ],
    "dependencies": [
        {"dependentRequired": {"a": ["b"]}},
        {"dependentRequired": {"a": ["b"], "b": ["c"]}},
        {"dependentSchemas": {"a": {"properties": {"b": A}}}},
        {"$schema": "http://json-schema.org/draft-07/schema#", "dependencies": {"a": ["b"], "c": {"required": ["a"]}}},
    ],
    "arrays": [
        {"items": A},
        {"prefixItems": [A, B]},
        {"prefixItems": [A], "items": B},
        {"prefixItems": [A], "items": False, "minItems": 1},
        {"minItems": 2},
        {"maxItems": 1},
        {"items": False},
        {"contains": A},
        {"contains": A, "minContains": 2},
        {"contains": A, "maxContains": 1},
        {"contains": A, "minContains": 0, "maxContains": 1},
        {"contains": A, "minContains": 2, "maxContains": 2, "items": {"type": ["integer", "string"]}},
        {"allOf": [{"contains": {"const": 1}}, {"contains": {"const": 2}}]},
        {"items": {"enum": [1, 2, "a"]}, "uniqueItems": True},
        {"prefixItems": [{"enum": [1, 2]}, {"enum": [1, "a"]}], "items": False, "uniqueItems": True},
        {"items": {"type": ["string", "number", "null", "boolean"]}, "uniqueItems": True},
        {"items": {"type": "string", "minLength": 1}, "uniqueItems": True, "minItems": 2},
        {"prefixItems": [{"const": 1}, {"const": "a"}], "items": {"type": ["integer", "string"]}, "uniqueItems": True},
        {"$schema": "http://json-schema.org/draft-07/schema#", "items": [A, B], "additionalItems": False},
        {"uniqueItems": True, "maxItems": 1},
        {"uniqueItems": True, "prefixItems": [True, False]},
        {"not": {"uniqueItems": True, "maxItems": 1}},
    ],
    "combinations": [
        {"allOf": [{"properties": {"a": A}}, {"required": ["a"]}]},
        {"allOf": [{"type": ["integer", "string"]}, {"type": ["string", "null"]}]},
        {"anyOf": [{"type": "integer"}, {"required": ["a"]}]},
        {"oneOf": [{"type": "integer"}, {"minimum": 2}]},
        {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {"oneOf": [{"properties": {"a": A}}, {"properties": {"a": B}}, {"required": ["b"]}]},
        {"oneOf": [{"items": A}, {"minItems": 2}], "type": "array"},
        {"not": {"type": ["integer", "object"]}},
        {"not": {"required": ["a"]}, "type": "object"},
        {"not": {"properties": {"a": A}}},
        {"not": {"patternProperties": {"^a": A}}},
        {"not": {"additionalProperties": A, "properties": {"b": True}}},
        {"not": {"items": A}},
        {"not": {"prefixItems": [A], "items": B}},
        {"not": {"contains": A}},
        {"not": {"contains": A, "minContains": 2}},
        {"not": {"minProperties": 2}},
        {"not": {"maxProperties": 1}},
        {"not": {"minItems": 1, "maxItems": 2}},
        {"not": {"enum": [1, "a", [1], {"a": 1}]}},
        {"not": {"items": {"enum": [1, 2, "a"]}, "uniqueItems": True}},
        {"not": {"minLength": 1, "maxLength": 2}},
        {"not": {"minimum": 1, "maximum": 2}},
        {"not": {"propertyNames": {"maxLength": 1}}},
        {"not": {"dependentRequired": {"a": ["b"]}}},
        {"not": {"not": {"anyOf": [A, {"required": ["a"]}]}}},
        {"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"required": ["c"]}},
        {"if": {"properties": {"a": {"const": 1}}, "required": ["a"]}, "then": {"required": ["b"]}},
        {"if": {"type": "string"}, "else": {"type": "array"}},
    ],
    "references": [
        {"$ref": "#/$defs/x", "$defs": {"x": {"type": "string"}}, "minLength": 1},
        {"$defs": {"tree": {"properties": {"a": {"$ref": "#/$defs/tree"}}, "additionalProperties": False}}}
        | {"$ref": "#/$defs/tree"},
        {"type": "array", "items": {"$ref": "#"}},
        {"anyOf": [A, {"type": "array", "items": {"$ref": "#"}}]},
        {"properties": {"a": {"not": {"$ref": "#"}}}, "type": "object"},
    ],
    "unevaluated": [
        {"properties": {"a": A}, "unevaluatedProperties": False},
        {"anyOf": [{"properties": {"a": A}}, {"properties": {"b": B}}], "unevaluatedProperties": False},
        {
            "oneOf": [{"required": ["a"], "properties": {"a": True}}, {"properties": {"b": B}}],
            "unevaluatedProperties": A,
        },
        {"if": {"properties": {"a": C}, "required": ["a"]}, "then": {"properties": {"b": True}}}
        | {"unevaluatedProperties": False},
        {"prefixItems": [A], "unevaluatedItems": False},
        {"contains": A, "unevaluatedItems": B},
        {"dependentSchemas": {"a": {"items": A}}, "unevaluatedItems": False},
        {"anyOf": [{"prefixItems": [A]}, {"prefixItems": [True, B]}], "unevaluatedItems": False},
        {"not": {"properties": {"a": A}, "unevaluatedProperties": False}},
        {"anyOf": [True, {"type": "array", "allOf": [A, B], "unevaluatedItems": False}]},
    ],
    "nothing and everything": [True, {}, False, {"not": {}}, {"allOf": [A, B]}, {"type": "object", "required": ["a"]}],
}


@pytest.mark.parametrize("keyword", SCHEMAS)
def test_small_documents(keyword: str) -> None:
    for schema in SCHEMAS[keyword]:
        assert wrong(schema, DOCUMENTS) == [], schema


SUBSCHEMAS = st.deferred(
    lambda: st.one_of(
        st.sampled_from([schema for found in SCHEMAS.values() for schema in found if "$ref" not in json.dumps(schema)]),
        st.builds(lambda parts: {"allOf": parts}, st.lists(SUBSCHEMAS, min_size=2, max_size=2)),
        st.builds(lambda parts: {"anyOf": parts}, st.lists(SUBSCHEMAS, min_size=2, max_size=2)),
        st.builds(lambda parts: {"oneOf": parts}, st.lists(SUBSCHEMAS, min_size=2, max_size=2)),
        st.builds(lambda part: {"not": part}, SUBSCHEMAS),
        st.builds(lambda part: {"properties": {"a": part}, "required": ["a"]}, SUBSCHEMAS),
    )
)


def without_drafts(schema: Any) -> bool:
    return "draft-07" not in json.dumps(schema)


@settings(max_examples=60, deadline=None)
@given(SUBSCHEMAS.filter(without_drafts))
def test_combinations(schema: Any) -> None:
    try:
        found = wrong(schema, DOCUMENTS[::3])
    except GrammarError as error:  # too many cases, or items that cannot be told apart
        if not isinstance(error, earleymask.LimitError) and "uniqueItems" not in str(error):
            raise
        found = []
    assert found == []


# Walks through masks: whatever is written is valid.


def walk(grammar: Grammar, rng: random.Random, steps: int = 300) -> str | None:
    """A sentence made by choosing among allowed bytes, those preferred that end things; None if it becomes too long."""
    matcher = Matcher(grammar, BYTES)
    text = bytearray()
    for step in range(steps):
        allowed = matcher.mask().nonzero()[0].tolist()
        assert allowed, bytes(text)
        closing = [token for token in allowed if token in (*b'"}]', EOS)]
        token = rng.choice(closing if closing and (step > 60 or rng.random() < 0.4) else allowed)
        assert matcher.accept(token)
        if token == EOS:
            return text.decode()
        text.append(token)
    return None


@pytest.mark.parametrize("order", ["any", "schema"])
@pytest.mark.parametrize("keyword", SCHEMAS)
def test_walks_are_valid(keyword: str, order: str) -> None:
    rng = random.Random(f"{keyword} {order}")
    n_whole = 0
    for schema in SCHEMAS[keyword]:
        grammar = made(schema, property_order=order)
        if grammar is None:
            continue
        oracle = Oracle(schema)
        for _ in range(4):
            text = walk(grammar, rng)
            if text is not None and is_judged(text):
                n_whole += 1
                assert oracle.accepts(text), (schema, text)
    assert n_whole > len(SCHEMAS[keyword])


@pytest.mark.parametrize("order", ["any", "schema"])
@pytest.mark.parametrize(
    "schema", [True, {"properties": {"a": True}}, {"patternProperties": {"^k": {"type": "integer"}}}]
)
def test_no_key_repeats(schema: Any, order: str) -> None:
    grammar = Grammar.from_json_schema(schema, property_order=order, whitespace="compact")
    keys = ["a", "k", "k2", "\\u006b", "\u00e9", "\\u00e9", "\U0001f600", "\\uD83D\\ude00"]
    for chosen in permutations(keys, 3):
        text = "{" + ",".join(f'"{key}":1' for key in chosen) + "}"
        decoded = [json.loads(f'"{key}"') for key in chosen]
        if order == "any" or "a" not in decoded[1:] or schema is True:
            assert accepts(grammar, text) == (len(set(decoded)) == 3), text
    nested = '{"k":{"k":1,"l":{"k":1}},"l":[{"k":1},{"k":1}]}'
    if schema is True:
        assert accepts(grammar, nested)
        assert not accepts(grammar, nested.replace('"l":{"k":1}', '"l":{"k":1,"k":1}'))


LONE = [r'"\ud800"', r'"\uD800"', r'"a\udc00b"', r'"\udc00"', r'"\ud83d\ude00"', '"a"']


@pytest.mark.parametrize(
    "schema",
    [
        r'{"properties": {"\ud800": {"const": 1}}}',
        r'{"properties": {"a\udc00b": {"const": 2}}, "additionalProperties": {"const": 1}}',
        r'{"required": ["\ud800"]}',
        r'{"type": "object", "not": {"required": ["\udc00"]}}',
        r'{"dependentRequired": {"\ud800": ["a"]}}',
        '{"additionalProperties": {"type": "integer"}, "minProperties": 2}',
        '{"items": {"type": "string"}, "uniqueItems": true}',
    ],
)
def test_lone_surrogates_in_keys_and_in_items_that_differ(schema: str) -> None:
    texts = [f"[{one}, {other}]" for one, other in product(LONE, repeat=2)]
    texts += [f"{{{one}: 1, {other}: {value}}}" for one, other in product(LONE, repeat=2) for value in (1, 2)]
    texts += [f"{{{one}: {value}}}" for one in LONE for value in (1, 2)]
    assert wrong(schema, texts) == []


def test_names_with_lone_surrogates_beside_patterns() -> None:
    schema = r'{"properties": {"\ud800": true}, "patternProperties": {"^a": true}, "additionalProperties": false}'
    assert wrong(schema, [f"{{{key}: 1}}" for key in LONE if "b" not in key]) == []


@pytest.mark.parametrize(
    "schema",
    [
        {"patternProperties": {f"p{i}": {"type": "integer"} for i in range(40)}},
        {"type": "array", "allOf": [{"contains": {"minimum": i, "maximum": i + 5}} for i in range(30)]},
        {"dependentRequired": {f"p{i}": [f"p{i + 1}"] for i in range(300)}},
    ],
)
def test_a_schema_that_means_too_much_is_given_up_in_time(schema: Any) -> None:
    begin = time.monotonic()
    with pytest.raises(earleymask.LimitError) as caught:
        Matcher(Grammar.from_json_schema(schema, limits=earleymask.Limits(seconds=0.5)), BYTES).validate(b'{"')
    assert caught.value.limit == "seconds" and "seconds" in str(caught.value)
    assert time.monotonic() - begin < 20


def test_combinations_of_strings_are_bounded() -> None:
    """Each of them has the one before it twice, so that all of it is far larger than what it is made of."""
    definitions = {f"d{i}": {"oneOf": [{"$ref": f"#/$defs/d{i + 1}"}, {"minLength": i}]} for i in range(60)}
    for i in range(60):
        definitions[f"d{i}"]["oneOf"][1]["not"] = {"$ref": f"#/$defs/d{i + 1}"}
    with pytest.raises(earleymask.LimitError, match="sets of strings"):
        Grammar.from_json_schema({"$ref": "#/$defs/d0", "$defs": {**definitions, "d60": {"type": "null"}}})


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
@pytest.mark.parametrize("name", ["", "v"])
def test_enumerations_by_constants_are_quick(keyword: str, name: str) -> None:
    values: list[Any] = [f"{name}{i}" if name else i for i in range(3000)]
    begin = time.monotonic()
    grammar = Grammar.from_json_schema({keyword: [*[{"const": value} for value in values], {"const": values[7]}]})
    assert time.monotonic() - begin < 5
    for value, is_one in [(values[0], True), (values[7], keyword == "anyOf"), (values[2999], True), ("w", False)]:
        assert accepts(grammar, json.dumps(value)) == is_one, value


def test_oneof_of_many_branches_that_share_values() -> None:
    branches: list[Any] = [{"enum": [i, f"v{i}", None]} for i in range(20)] + [{"enum": [3, "v4"]}, {"minimum": 18}]
    branches += [{"type": ["boolean", "null"]}, {"enum": [[1], 2.0]}]
    texts = [json.dumps(value) for value in [*range(25), *[f"v{i}" for i in range(22)], None, True, [1], 2.0, 18.5, {}]]
    assert wrong({"oneOf": branches}, texts) == []


KIND = {"kind": {"enum": ["a", 1]}, "x": {"type": "integer"}}
KINDS = [
    {"properties": KIND},
    {"properties": {"kind": {"pattern": "^[bc]$"}}},
    {"properties": {"kind": {"const": "d"}}},
]
KINDS += [{"properties": {"kind": {"enum": ["b", None]}, "x": False}}, {"properties": {"x": {"const": 1}}}]


@pytest.mark.parametrize(
    "schema",
    [
        {"oneOf": KINDS},
        {"oneOf": [{"type": "object", **one} for one in KINDS]},
        {"required": ["kind"], "oneOf": KINDS},
        {"required": ["kind"], "allOf": [{"oneOf": KINDS[:4]}]},
        {"type": "object", "required": ["kind"], "allOf": [{"oneOf": KINDS}]},
        {
            "type": "object",
            "allOf": [{"required": ["kind"]}, {"$ref": "#/$defs/one"}],
            "$defs": {"one": {"oneOf": KINDS}},
        },
        {
            "$ref": "#/$defs/one",
            "properties": {"kind": {"type": "string"}},
            "required": ["kind"],
            "$defs": {"one": {"oneOf": KINDS}},
        },
        {
            "type": "object",
            "required": ["kind"],
            "dependentSchemas": {"kind": {"oneOf": KINDS}, "x": {"maxProperties": 1}},
        },
        {"required": ["kind"], "dependentSchemas": {"kind": {"oneOf": KINDS, "type": "object"}}},
        {"type": "object", "required": ["x"], "dependentSchemas": {"kind": {"oneOf": KINDS}}},
        {"not": {"type": "object", "required": ["kind"], "allOf": [{"oneOf": KINDS}]}},
        {
            "oneOf": [
                *KINDS[:4],
                {"type": ["null", "boolean"]},
                {"type": "boolean"},
                {"type": "string", "pattern": "^(a|bc)$"},
            ]
        },
        {
            "oneOf": [
                {"type": ["string", "object"]},
                {"type": ["object", "number"]},
                {"properties": KIND},
                {"enum": [None, "a"]},
            ]
        },
    ],
)
def test_oneof_of_branches_that_are_told_apart(schema: Any) -> None:
    """By what stands around them, too, and where several allow all values of a type."""
    members = [{}, *[{"kind": kind} for kind in ["a", 1, "b", "c", "d", "bc", None]]]
    documents = [None, True, 1, "a", "bc", [1], *members, *[{**one, "x": x} for one in members for x in (1, 2, "a")]]
    assert wrong(schema, [json.dumps(document) for document in documents]) == []


def test_oneof_of_many_objects_that_are_told_apart_is_no_work() -> None:
    """There are no cases to be worked out: the constants, or the types, decide."""
    parts = [{"properties": {"kind": {"const": f"k{i}"}, "v": {"properties": {f"p{i}": True}}}} for i in range(100)]
    for schema in [
        {"oneOf": [{"allOf": [one, {"required": ["kind"]}]} for one in parts]},
        {
            "type": "object",
            "required": ["kind"],
            "allOf": [{"oneOf": parts}, {"properties": {"v": {"type": "object"}}}],
        },
        {"oneOf": [{"properties": {"kind": {"pattern": f"^k{i}$"}}, "required": ["kind"]} for i in range(100)]},
    ]:
        begin = time.monotonic()
        grammar = Grammar.from_json_schema(schema)
        assert time.monotonic() - begin < 2
        for text, is_one in [('{"kind": "k7"}', True), ('{"v": 1}', False), ('{"kind": "l"}', False), ("1", False)]:
            assert accepts(grammar, text) == is_one, text


def test_many_items_that_differ_are_no_work() -> None:
    items = {"type": "integer", "minimum": 1, "maximum": 256}
    grammar = Grammar.from_json_schema({"type": "array", "minItems": 200, "uniqueItems": True, "items": items})
    for n, repeated in ((199, 0), (200, 0), (256, 0), (200, 7)):
        text = json.dumps([*range(1, n + 1), *([repeated] if repeated else [])])
        assert accepts(grammar, text) == (n >= 200 and not repeated)
    left = {"type": "array", "minItems": 200, "uniqueItems": True, "items": items}
    matcher = Matcher(Grammar.from_json_schema(left, number_plain=True), BYTES)
    text = json.dumps(list(range(2, 257)))[:-1] + ", "
    assert matcher.validate(text.encode()) == len(text)
    for token in text.encode():
        assert matcher.accept(token)
    assert [chr(token) for token in matcher.mask().nonzero()[0]] == ["1"]


def test_integers_of_draft_4_are_written_as_such() -> None:
    schema = {"$schema": "http://json-schema.org/draft-04/schema#", "items": [{"type": "integer"}, {"type": "number"}]}
    texts = [f"[{one}, {other}]" for one in ("1", "1.0", "1e0", "0", "-3") for other in ("1", "1.0", "2.5e1")]
    assert wrong(schema, texts) == []


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer"},
        {"not": {"type": "integer"}},
        {"type": "number", "not": {"type": "integer"}, "enum": [1, 2.5]},
        {"allOf": [{"type": "integer"}, {"enum": [1.0, 2]}]},
        {"anyOf": [{"type": "integer"}, {"enum": [1.0, 2.5]}]},
        {"oneOf": [{"type": "integer"}, {"minimum": 2}]},
        {"not": {"type": "integer", "minimum": 2}},
        {"type": ["integer", "null"], "multipleOf": 2},
        {"multipleOf": 2},
        {"enum": [1, 2]},
        {"not": {"enum": [1.0, 2]}},
        {"items": {"type": "integer", "enum": [1, 2]}, "uniqueItems": True},
        {"items": {"enum": [1, 2, 2.5]}, "uniqueItems": True},
        {"items": {"enum": [1, 2, 2.5], "not": {"type": "integer"}}, "uniqueItems": True},
    ],
)
def test_in_draft_4_integers_are_told_by_their_spelling(schema: Any) -> None:
    numbers = ("1", "1.0", "10e-1", "0.1E1", "2", "2.0", "2.5", "250e-2", "3", "3.0", "-1", "null")
    texts = [*numbers, *[f"[{one}, {other}]" for one in numbers for other in ("1", "2.0", "2.5")]]
    assert wrong({"$schema": "http://json-schema.org/draft-04/schema#", **schema}, texts) == []


# The order of keys.


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


# How it is written.

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
    grammar = Grammar.from_json_schema({"properties": {"ab": {"const": 1}}, "additionalProperties": False})
    assert accepts(grammar, '{"\\u0061b":1}')
    assert not accepts(grammar, '{"\\u0062b":1}')
    others = Grammar.from_json_schema({"properties": {"ab": False}})
    assert accepts(others, '{"\\u0062b":1}')
    assert not accepts(others, '{"a\\u0062":1}')


# Refusals, reports, pickles.


@pytest.mark.parametrize(
    ("schema", "pointer", "said"),
    [
        ({"items": {"uniqueItems": True}}, "/items/uniqueItems", "told apart"),
        ({"not": {"items": {"type": "string"}, "uniqueItems": True}}, "/not/uniqueItems", "negation"),
        ({"properties": {"a": {"pattern": "("}}}, "/properties/a/pattern", "pattern"),
        ({"patternProperties": {"(": True}}, "/patternProperties", "patternProperties"),
        ({"multipleOf": 0.123456789}, "/multipleOf", "remainders"),
        ({"const": "\ud800"}, "/const", "surrogate"),
        ({"$ref": "#"}, "", "circle"),
        ({"properties": {"a": {"anyOf": [True, {"$ref": "#/properties/a"}]}}}, "/properties/a", "circle"),
        ({"$ref": "#/nowhere"}, "/$ref", "nowhere"),
        ({"type": "text"}, "/type", "must be"),
    ],
)
def test_refusals_name_the_place(schema: Any, pointer: str, said: str) -> None:
    with pytest.raises(GrammarError, match=said) as caught:
        Grammar.from_json_schema(schema)
    assert caught.value.pointer == pointer


@pytest.mark.parametrize(
    "schema",
    [
        False,
        {"allOf": [{"type": "string"}, {"type": "null"}]},
        {"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}},
        {"type": "array", "items": {"enum": [1, 2]}, "minItems": 3, "uniqueItems": True},
        {"type": "string", "pattern": "^a$", "minLength": 2},
        {"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 2},
    ],
)
def test_schemas_that_nothing_satisfies(schema: Any) -> None:
    with pytest.raises(GrammarError, match="no document satisfies"):
        Grammar.from_json_schema(schema)


def test_keys_that_cannot_be_finished_are_never_opened() -> None:
    grammar = Grammar.from_json_schema(
        {
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/never"}, "b": {"type": "null"}},
            "additionalProperties": False,
            "$defs": {"never": {"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#/$defs/never"}}}},
        },
        whitespace="compact",
    )
    matcher = Matcher(grammar, BYTES)
    assert matcher.validate(b'{"') == 2
    assert matcher.accept(ord("{"))
    assert matcher.accept(ord('"'))
    assert [chr(token) for token in matcher.mask().nonzero()[0]] == ["\\", "b"]


def test_report_has_a_row_for_each_keyword() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "x",
        "type": "object",
        "properties": {"a": {"uniqueItems": True, "x-own": 1, "format": "no-format"}},
    }
    grammar = Grammar.from_json_schema(schema, strict=False)
    rows = {row.pointer: (row.keyword, row.status) for row in grammar.report if row.keyword}
    assert rows == {
        "/$schema": ("$schema", "exact"),
        "/title": ("title", "exact"),
        "/type": ("type", "exact"),
        "/properties": ("properties", "exact"),
        "/properties/a/uniqueItems": ("uniqueItems", "widened"),
        "/properties/a/x-own": ("x-own", "exact"),
        "/properties/a/format": ("format", "exact"),
    }
    assert accepts(grammar, '{"a": [1, 1]}')


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


DRAFT_4 = {"$schema": "http://json-schema.org/draft-04/schema#"}


@pytest.mark.parametrize(
    ("schema", "narrowed", "not_written"),
    [
        ({"type": "string", "minLength": 1}, {"/minLength"}, r'"\ud800"'),
        ({"pattern": "."}, {"/pattern"}, r'"\ud800"'),
        ({"format": "hostname"}, {"/format"}, '"xn--ihqwcrb4cv8a8dqg056pqjye"'),
        ({"items": {"type": "number"}, "uniqueItems": True}, {"/uniqueItems"}, "[1e0]"),
        ({"type": "integer"}, {"/type"}, "0." + 30 * "0" + "1e31"),
        ({"enum": ["a", [1]]}, {"/enum"}, "[0." + 30 * "0" + "1e31]"),
        ({"const": {"a": 1}}, {"/const"}, '{"a": 0.' + 30 * "0" + "1e31}"),
        ({"multipleOf": 7}, {"/multipleOf"}, "0." + 30 * "0" + "7e31"),
        (DRAFT_4 | {"enum": [1, 2]}, {"/enum"}, "0." + 30 * "0" + "1e31"),
    ],
)
def test_what_is_valid_and_not_written_has_its_row(schema: Any, narrowed: set[str], not_written: str) -> None:
    grammar = Grammar.from_json_schema(schema)
    assert {row.pointer for row in grammar.report if row.status == "narrowed" and row.keyword} == narrowed
    assert all(row.why for row in grammar.report if row.status == "narrowed")
    if "format" not in schema:  # the oracle does not decode Punycode either
        assert Oracle(schema).accepts(not_written)
    assert not accepts(grammar, not_written)


def test_a_format_of_which_some_is_left_out_is_not_negated() -> None:
    for schema in ({"not": {"format": "hostname"}}, {"oneOf": [{"$ref": "#/$defs/a"}, {"minLength": 3}]}):
        with pytest.raises(GrammarError, match="under a negation"):
            Grammar.from_json_schema(schema | {"$defs": {"a": {"format": "hostname"}}})
    Grammar.from_json_schema({"anyOf": [{"format": "hostname"}, {"format": "ipv4"}]})


def test_pickles_read_the_schema_again() -> None:
    grammar = Grammar.from_json_schema(
        {"$ref": "http://example.org/x"},
        registry={"http://example.org/x": {"properties": {"a": {"type": "null"}}}},
        property_order="any",
        separators=(",", ":"),
    )
    copy = pickle.loads(pickle.dumps(grammar))
    assert copy == grammar
    assert copy.report == grammar.report
    for text in ('{"a":null}', '{"a":1}', '{"a": null}'):
        assert accepts(copy, text) == accepts(grammar, text)
    assert grammar != Grammar.from_json_schema(True)


def test_schemas_within_lark_grammars() -> None:
    grammar = Grammar.from_lark(
        r"""
        start: "call " NAME "(" arguments ")" tail
        arguments: %json {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
        tail: (" then " @again)*
        NAME: /[a-z]+/
        %ignore "~"
        """,
        grammars={"again": Grammar.from_json_schema({"enum": [[1], "x"]}, whitespace="compact")},
    )
    for text in ('call f({"a": 1})', '~call ~f({"a": 1, "b": {}})~', 'call f({"a":1}) then [1]~ then "\\u0078"'):
        assert accepts(grammar, text), text
    wrong_ones = [
        'call f({"a": "1"})',
        'call f({"a": 1, "b": 1, "b": 2})',
        'call f({~"a": 1})',
        'call f({"a":1}) then [ 1]',
    ]
    for text in wrong_ones:
        assert not accepts(grammar, text), text
    copy = pickle.loads(pickle.dumps(grammar))
    assert copy == grammar
    assert accepts(copy, 'call f({"a": 1})')


@pytest.mark.parametrize(
    ("block", "said"),
    [
        ('{"type": "strin"}', "at #/type: `type` must be"),
        ('{"not": {}}', "no document satisfies"),
        ('{"type": }', "no JSON"),
        ('{"items": {"type": "object"}, "uniqueItems": true}', "told apart"),
    ],
)
def test_faults_of_schemas_within_lark_grammars(block: str, said: str) -> None:
    with pytest.raises(GrammarError, match=said) as caught:
        Grammar.from_lark(f'start: "x"\n  | %json {block}\n')
    assert caught.value.line == 2


def test_what_is_learned_is_forgotten_and_learned_again() -> None:
    """Terminals that come late keep their regexes when the engine forgets."""
    schema = {"properties": {f"k{i}": {"type": "string", "pattern": f"^(a|b)*a(a|b){{{i}}}$"} for i in range(8)}}
    limits = earleymask.Limits(lexer_states=600)
    grammar = Grammar.from_json_schema(schema, limits=limits)
    rng = random.Random(1)
    for _ in range(6):
        document = {}
        for i in range(8):
            document[f"k{i}"] = "".join(rng.choices("ab", k=40)) + "a" + "".join(rng.choices("ab", k=i))
        assert accepts(grammar, json.dumps(document))
        document["k7"] = "b" * 60
        assert not accepts(grammar, json.dumps(document))
    assert grammar.stats()["grammar_collections"]


@pytest.mark.parametrize("closed", [False, True])
def test_branches_are_told_apart_by_a_key_that_is_not_required(closed: bool) -> None:
    # Written out as a union, what only one branch allows has far more than 1,024 cases before those within others are
    # left out. A reference stands in all of them, and is no way to tell them apart.
    branches = [
        {
            "properties": {
                "kind": {"const": f"k{index}"},
                "size": {"$ref": "#/$defs/size"},
                f"p{index}": {"type": "integer"},
            },
            **({"additionalProperties": False} if closed else {}),
        }
        for index in range(12)
    ]
    schema = {"$defs": {"size": {"type": "integer", "minimum": 1}}, "type": "object", "oneOf": branches}
    oracle = Oracle(schema)
    grammar = Grammar.from_json_schema(schema, property_order="any")
    kinds = ({}, {"kind": "k1"}, {"kind": "x"})
    sizes = ({}, {"size": 3}, {"size": 0})
    others = ({}, {"p1": 1}, {"p2": 1}, {"p2": "a"})
    found = set()
    for members in product(kinds, sizes, others):
        text = json.dumps({name: value for part in members for name, value in part.items()})
        assert accepts(grammar, text) == oracle.accepts(text), text
        found.add(accepts(grammar, text))
    assert found == {False, True}


def test_what_is_made_of_a_schema_is_freed_with_it() -> None:
    # Not by the garbage collector: nothing refers to itself, but for what is kept for all grammars.
    schema = {
        "$id": "https://example.org/root",
        "$defs": {
            "node": {"properties": {"next": {"$ref": "#/$defs/node"}}, "unevaluatedProperties": False},
            "leaf": {"$anchor": "leaf", "$id": "leaf", "pattern": "^a+$"},
        },
        "properties": {
            "node": {"$ref": "#/$defs/node"},
            "leaf": {"$ref": "leaf"},
            "few": {"items": {"type": "string"}, "uniqueItems": True, "minItems": 2},
            "one": {"oneOf": [{"type": "object", "required": ["b"]}, {"minimum": 2}, {"not": {"type": "number"}}]},
        },
        "patternProperties": {"^x": {"enum": [1, [2], {"a": 3}]}},
        "propertyNames": {"maxLength": 9},
    }
    text = json.dumps({"node": {"next": {}}, "leaf": "aa", "few": ["a", "b"], "one": 3, "x1": [2], "y": 1})

    def engine() -> weakref.ref[Any]:
        grammar = Grammar.from_json_schema(schema, registry={})
        assert accepts(grammar, text)
        matcher = Matcher(grammar, BYTES)
        for byte in text.encode():
            matcher.mask()
            assert matcher.accept(byte)
        return weakref.ref(grammar.engine)

    engine()
    gc.collect()
    gc.disable()
    try:
        assert engine()() is None
        assert gc.collect() == 0
    finally:
        gc.enable()


LEFT_OUT: list[dict[str, Any]] = [
    {"properties": {"a": {"not": {"type": "array", "uniqueItems": True}}}},
    {"oneOf": [{"type": "array", "uniqueItems": True}, {"type": "array", "minItems": 2}]},
    {"oneOf": [{"enum": ["aa", "a"], "pattern": "^(a)\\1"}, {"enum": ["a", "ab"]}]},
    {"allOf": [{"not": {"enum": ["a", 1], "pattern": "^(a)\\1"}}, {"enum": ["a", "ab"]}]},
    {"if": {"type": "array", "uniqueItems": True}, "then": {"maxItems": 1}},
    {"if": {"type": "array", "uniqueItems": True}, "then": {"maxItems": 1}, "else": {"type": "string"}},
    {"not": {"type": "array", "minItems": 3000}},
    {"type": "array", "contains": {"pattern": "^(a)\\1"}, "maxContains": 1},
    {"type": "array", "contains": {"pattern": "^(a)\\1"}, "unevaluatedItems": {"type": "integer"}},
    {"patternProperties": {"^(a)\\1": {"type": "integer"}}, "unevaluatedProperties": {"type": "string"}},
    {"not": {"patternProperties": {"^(a)\\1": {"type": "integer"}}, "unevaluatedProperties": False}},
    {"type": "integer", "not": {"multipleOf": 4099}},
    {"dependentSchemas": {"aa": {"not": {"properties": {"aa": {"multipleOf": 4099}}}}}},
]


@pytest.mark.parametrize("schema", LEFT_OUT, ids=json.dumps)
def test_what_is_left_out_never_makes_a_valid_document_invalid(schema: dict[str, Any]) -> None:
    with pytest.raises(GrammarError, match="cannot be enforced"):
        Grammar.from_json_schema(schema)
    grammar = Grammar.from_json_schema(schema, strict=False, property_order="any")
    oracle = Oracle(schema)
    found = [*documents(), [1, 1], [1, 1, 1], ["aa", "b"], ["aa", "aa"], {"a": [1, 1]}, {"aa": 1}, {"aa": "x"}, 8198]
    valid = [document for document in found if oracle.is_valid(document)]
    assert valid and [document for document in valid if not accepts(grammar, json.dumps(document))] == []


def test_what_stands_in_a_keyword_that_is_left_out_is_reported_as_left_out() -> None:
    schema = {"patternProperties": {"(a)\\1": True, "^b": {"type": "string"}}, "additionalProperties": {"type": "null"}}
    grammar = Grammar.from_json_schema(schema, strict=False)
    assert accepts(grammar, '{"b": 1}') and accepts(grammar, '{"c": 1}')
    assert {row.pointer: row.status for row in grammar.report if row.pointer} == dict.fromkeys(
        [
            "/additionalProperties",
            "/additionalProperties/type",
            "/patternProperties",
            "/patternProperties/^b/type",
        ],
        "widened",
    )


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer", "exclusiveMaximum": 1e308},
        {"type": "integer", "not": {"minimum": 10**308}},
    ],
)
def test_bounds_of_integers_that_are_one_less_than_a_round_number(schema: dict[str, Any]) -> None:
    grammar = Grammar.from_json_schema(schema)
    for number in (0, 5, -(10**308), 10**200, 10**307, 10**308 - 1):
        assert accepts(grammar, str(number))
    for number in (10**308, 10**308 + 1, 10**309 - 1, 10**309):
        assert not accepts(grammar, str(number))


def test_each_of_many_contains_is_met() -> None:
    n = 10
    grammar = Grammar.from_json_schema({"allOf": [{"contains": {"const": i}} for i in range(n)]})
    items: list[Any] = list(range(n))
    random.Random(1).shuffle(items)
    assert accepts(grammar, json.dumps(items)) and accepts(grammar, json.dumps(["x", *items, 3, None, 7]))
    for at in (0, n // 2, n - 1):
        assert not accepts(grammar, json.dumps([*items[:at], *items[at + 1 :], "x"]))
