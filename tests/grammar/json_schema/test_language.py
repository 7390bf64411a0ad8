"""Each keyword agrees with `jsonschema` on all small documents, and walks through masks write valid documents."""

from __future__ import annotations

import json
import random
from itertools import permutations, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("regress")
pytest.importorskip("jsonschema")

import earleymask
from earleymask import Grammar, GrammarError, Matcher
from support.schema_grammars import BYTES, DOCUMENTS, EOS, accepts, made, wrong
from support.schema_oracle import Oracle, is_judged

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


@settings(max_examples=60)
@given(SUBSCHEMAS.filter(without_drafts))
def test_combinations(schema: Any) -> None:
    try:
        found = wrong(schema, DOCUMENTS[::3])
    except GrammarError as error:  # too many cases, or items that cannot be distinguished
        if not isinstance(error, earleymask.LimitError) and "uniqueItems" not in str(error):
            raise
        found = []
    assert found == []


# Walks through masks, whose texts must be valid.


def walk(grammar: Grammar, rng: random.Random, steps: int = 300) -> str | None:
    """Write a sentence by random allowed bytes, mostly closing ones; return None if it becomes too long."""
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
    assert wrong(schema, texts, spellings="all") == []


def test_names_with_lone_surrogates_beside_patterns() -> None:
    schema = r'{"properties": {"\ud800": true}, "patternProperties": {"^a": true}, "additionalProperties": false}'
    assert wrong(schema, [f"{{{key}: 1}}" for key in LONE if "b" not in key], spellings="all") == []


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
    """Keywords around the branches may distinguish them, also if several allow all values of a type."""
    members = [{}, *[{"kind": kind} for kind in ["a", 1, "b", "c", "d", "bc", None]]]
    documents = [None, True, 1, "a", "bc", [1], *members, *[{**one, "x": x} for one in members for x in (1, 2, "a")]]
    assert wrong(schema, [json.dumps(document) for document in documents]) == []


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
    assert wrong({"$schema": "http://json-schema.org/draft-04/schema#", **schema}, texts, spellings="all") == []


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
    assert [chr(token) for token in matcher.mask().nonzero()[0]] == ["b"]


@pytest.mark.parametrize("closed", [False, True])
def test_branches_are_told_apart_by_a_key_that_is_not_required(closed: bool) -> None:
    # Written out as a union, the values that only one branch allows have far more than 1,024 cases before cases within
    # others are dropped. All branches have a reference, which does not distinguish them.
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


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer", "exclusiveMaximum": 1e308},
        {"type": "integer", "not": {"minimum": 10**308}},
    ],
)
def test_bounds_of_integers_that_are_one_less_than_a_round_number(schema: dict[str, Any]) -> None:
    grammar = Grammar.from_json_schema(schema)
    every = Grammar.from_json_schema(schema, spellings="all")
    for number in (0, 5, 10**200, 10**307, 10**308 - 1):
        assert accepts(grammar, str(number)) and accepts(every, str(number))
    assert accepts(every, str(-(10**308)))
    for number in (10**308, 10**308 + 1, 10**309 - 1, 10**309):
        assert not accepts(grammar, str(number)) and not accepts(every, str(number))


def test_each_of_many_contains_is_met() -> None:
    n = 10
    grammar = Grammar.from_json_schema({"allOf": [{"contains": {"const": i}} for i in range(n)]})
    items: list[Any] = list(range(n))
    random.Random(1).shuffle(items)
    assert accepts(grammar, json.dumps(items)) and accepts(grammar, json.dumps(["x", *items, 3, None, 7]))
    for at in (0, n // 2, n - 1):
        assert not accepts(grammar, json.dumps([*items[:at], *items[at + 1 :], "x"]))


NAMED_BY_ITSELF: list[dict[str, Any]] = [
    {"propertyNames": {"$ref": "#"}},
    {"propertyNames": {"$ref": "#"}, "maxLength": 2},
    {"type": ["object", "integer"], "propertyNames": {"anyOf": [{"pattern": "^a"}, {"$ref": "#"}]}},
    {"not": {"propertyNames": {"not": {"anyOf": [{"maxLength": 1}, {"not": {"$ref": "#"}}]}}}},
    {"additionalProperties": {"$ref": "#/$defs/a"}, "$defs": {"a": {"propertyNames": {"$ref": "#/$defs/a"}}}},
    {"then": {"propertyNames": {"$ref": "#/then"}}},
    {"properties": {"x": {"type": "string", "propertyNames": {"$ref": "#/properties/x"}}}},
    {"additionalProperties": {"propertyNames": {"$ref": "#"}, "maxLength": 1}, "propertyNames": {"minLength": 2}},
]


@pytest.mark.parametrize("schema", NAMED_BY_ITSELF)
def test_a_schema_of_names_may_refer_to_itself(schema: dict[str, Any]) -> None:
    """A name is a text, of which `propertyNames` says nothing, so this is no circle."""
    oracle = Oracle(schema)
    grammar = Grammar.from_json_schema(schema)
    for document in (
        {},
        {"a": 1},
        {"abc": {}},
        {"b": {"abc": 1}},
        {"x": "abc"},
        {"xy": "abc"},
        "ab",
        "abc",
        1,
        [{"ab": 1}],
    ):
        text = json.dumps(document)
        matcher = Matcher(grammar, BYTES)
        is_accepted = all(map(matcher.accept, text.encode())) and matcher.is_accepting()
        assert is_accepted == oracle.is_valid(document), text
