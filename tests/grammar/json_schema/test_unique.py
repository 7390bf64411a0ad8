"""`uniqueItems` agrees with the oracle on all small arrays, whether the items are described beside it or elsewhere."""

from __future__ import annotations

import json
from itertools import pairwise, product
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("regress")
pytest.importorskip("jsonschema")

from campaign.schema_checks import Report, accepts, compare, compare_walk, loaded
from earleymask import Grammar, GrammarError
from earleymask.grammar.json_schema.unique import UniqueItems
from support.effort import effort
from support.schema_oracle import Oracle

VALUES: tuple[Any, ...] = (1, "a", None, [], [True], [1], {}, {"a": True}, {"a": 1, "b": 1})
ARRAYS: tuple[Any, ...] = tuple(list(items) for n in range(4) for items in product(VALUES, repeat=n))
FEW = {"type": "array", "items": {"type": "boolean"}, "maxItems": 1}
CLOSED = {"type": "object", "properties": {"a": {"enum": [True, 1]}, "b": {"const": 1}}, "additionalProperties": False}
ITEMS: tuple[Any, ...] = (
    *(FEW, CLOSED, {"enum": [[], [1], "a"]}, {"enum": [{}, {"a": True}, {"b": 1, "a": 1}, 1]}, {"const": [1]}),
    *(
        {"type": "array"},
        {"type": "object"},
        {"type": "string"},
        {"type": ["string", "number"]},
        {"type": "null"},
        True,
    ),
    *({"type": ["array", "string"]}, {"type": ["object", "null"]}, {"type": "array", "minItems": 1}, False),
    *(
        {"anyOf": [FEW, {"type": "string"}]},
        {"type": "object", "required": ["a"]},
        {"type": "object", "maxProperties": 0},
    ),
    *({"type": "array", "items": {"enum": [1, True]}, "minItems": 1, "maxItems": 2, "uniqueItems": True},),
)

WANTED: tuple[Any, ...] = (
    *ITEMS,
    *({"const": 1}, {"const": "a"}, {"enum": [1, None, []]}, {"not": {"const": 1}}, {"contains": {}}),
    *({"contains": {"const": True}}, {"additionalProperties": {"const": 1}}, {"required": ["b"]}, {"maxItems": 0}),
)
"""Schemas for `contains`; some are about items and members of an item."""


def parts(rng: Random) -> list[dict[str, Any]]:
    """Make schemas about one array, of which one says that the items are unique."""
    found: list[dict[str, Any]] = [{"uniqueItems": True}]
    if rng.random() < 0.8:
        found.append({"items": rng.choice(ITEMS)})
    if rng.random() < 0.5:
        found.append({"prefixItems": [rng.choice(ITEMS) for _ in range(rng.randint(1, 3))]})
    if rng.random() < 0.3:
        found.append({"maxItems": rng.randint(1, 3)})
    if rng.random() < 0.3:
        found.append({"minItems": rng.randint(1, 3)})
    if rng.random() < 0.4:
        found.append({"contains": rng.choice(WANTED)})
    rng.shuffle(found)
    return found


def schema_of(rng: Random) -> dict[str, Any]:
    """Put the parts into one schema, or into several that apply to the same value."""
    schema: dict[str, Any] = {"type": "array"}
    definitions: dict[str, Any] = {}
    branches: list[Any] = []
    for part in parts(rng):
        where = rng.choice(("here", "here", "allOf", "$ref", "anyOf", "then"))
        if where == "here" and schema.keys().isdisjoint(part):
            schema |= part
        elif where == "$ref":
            name = f"d{len(definitions)}"
            definitions[name] = part
            branches.append({"$ref": f"#/$defs/{name}"})
        elif where == "anyOf":
            branches.append({"anyOf": [part, {"type": "string"}]})
        elif where == "then":
            branches.append({"if": {"type": "array"}, "then": part})
        else:
            branches.append(part)
    if branches:
        schema["allOf"] = branches
    return {**schema, **({"$defs": definitions} if definitions else {})}


@pytest.mark.parametrize("seed", range(effort(3, 6)))
def test_items_that_differ_over_all_small_arrays(seed: int) -> None:
    rng = Random(f"unique {seed}")
    report = Report()
    n_enforced = 0
    while n_enforced < 15:
        schema = schema_of(rng)
        oracle = Oracle(schema)
        grammar = loaded(schema, "any", [array for array in ARRAYS if oracle.is_valid(array)], report)
        if grammar is None:
            continue
        n_enforced += 1
        for array in ARRAYS:
            compare(grammar, json.dumps(array), oracle.is_valid(array), f": {json.dumps(schema)}", report)
        for _ in range(2):
            compare_walk(rng, grammar, oracle, f": {json.dumps(schema)}", report)
    assert report.wrong == []
    assert not report.limits


@pytest.mark.parametrize(
    "schema",
    [
        {"uniqueItems": True, "allOf": [{"items": {"type": "string"}}]},
        {"allOf": [{"uniqueItems": True}, {"items": {"type": "string"}}]},
        {"allOf": [{"$ref": "#/$defs/u"}], "items": {"type": "string"}, "$defs": {"u": {"uniqueItems": True}}},
        {"uniqueItems": True, "$ref": "#/$defs/i", "$defs": {"i": {"items": {"type": "string"}}}},
        {"items": {"enum": [["a"], "b", {"c": 1}]}, "uniqueItems": True},
        {"items": FEW, "uniqueItems": True},
        {"prefixItems": [{"type": "object"}, {"type": "array"}], "items": {"type": "string"}, "uniqueItems": True},
        {
            "prefixItems": [
                {"properties": {"kind": {"const": kind}}, "required": ["kind"], "type": "object"} for kind in "ab"
            ],
            "items": False,
            "uniqueItems": True,
        },
    ],
)
def test_what_is_enforced(schema: dict[str, Any]) -> None:
    grammar = Grammar.from_json_schema(schema)
    assert {row.status for row in grammar.report if row.keyword == "uniqueItems"} == {"exact"}
    oracle = Oracle(schema)
    for array in ARRAYS:
        assert accepts(grammar, json.dumps(array)) == oracle.is_valid(array)


@pytest.mark.parametrize(
    "items", [{"contains": {"type": "string"}}, {"uniqueItems": True}, {"uniqueItems": True, "minItems": 2}]
)
def test_arrays_that_differ_and_are_enough(items: dict[str, Any]) -> None:
    schema = {"type": "array", "items": {"type": "array", **items}, "uniqueItems": True, "minItems": 2}
    grammar = Grammar.from_json_schema(schema)
    oracle = Oracle(schema)
    parts = [[], ["a"], ["a", "b"], ["b", "a"], [1, "a"], ["a", "a"]]
    arrays = [[one, *more] for one in parts for other in parts for more in ([], [other], [other, ["c", 2]])]
    assert any(map(oracle.is_valid, arrays))
    for array in arrays:
        assert accepts(grammar, json.dumps(array)) == oracle.is_valid(array)


COUNTED = {"type": "object", "properties": {"a": {"enum": [1, True]}, "b": {"enum": [1, 2]}}} | {
    "additionalProperties": False
}


@pytest.mark.parametrize(
    "schema",
    [
        {"items": {"enum": [1, "a", None]}, "contains": {"const": 1}, "minItems": 3},
        {"items": {"type": ["string", "null"]}, "contains": {"const": "a"}, "minItems": 2},
        {"items": {"type": ["integer", "null"]}, "contains": {"const": 1}, "minItems": 2},
        {"items": {"enum": [1, "a", None]}, "not": {"items": {"const": 1}}, "minItems": 2},
        {"items": FEW, "contains": {"contains": {}}},
        {"items": FEW, "contains": {"const": [True]}, "minItems": 2},
        {"items": {**FEW, "maxItems": 2}, "contains": {"contains": {"const": True}}},
        {"items": COUNTED, "contains": {"additionalProperties": {"const": 1}}},
        {"items": COUNTED, "contains": {"minProperties": 1}, "maxContains": 1},
    ],
)
@pytest.mark.parametrize("where", ["beside", "allOf"])
def test_items_that_differ_and_one_that_must_be_there(schema: dict[str, Any], where: str) -> None:
    unique: dict[str, Any] = {"type": "array", "uniqueItems": True}
    whole = {**schema, **unique} if where == "beside" else {"allOf": [unique, schema]}
    grammar, oracle = Grammar.from_json_schema(whole, property_order="any"), Oracle(whole)
    assert [a for a in ARRAYS if accepts(grammar, json.dumps(a)) != oracle.is_valid(a)] == []
    assert any(map(oracle.is_valid, ARRAYS))


@pytest.mark.parametrize("number_plain", [False, True])
def test_whole_numbers_that_are_no_integers_of_draft_4_keep_their_fraction(number_plain: bool) -> None:
    draft = {"$schema": "http://json-schema.org/draft-04/schema#"}
    for schema in ({"enum": [1, 2]}, {"type": "number", "multipleOf": 1}):
        whole = {**draft, "items": {**schema, "not": {"type": "integer"}}, "uniqueItems": True}
        grammar = Grammar.from_json_schema(whole, number_plain=number_plain)
        assert accepts(grammar, "[1.0, 2.0]")
        assert accepts(grammar, "[2.00]")
        assert not any(accepts(grammar, text) for text in ("[1]", "[1.0, 1.00]", "[1.5]"))


@pytest.mark.parametrize(
    ("schema", "pointer", "why"),
    [
        (
            {
                "items": {
                    "type": "object",
                    "additionalProperties": {"type": "boolean"},
                    "propertyNames": {"maxLength": 0},
                }
            }
            | {"uniqueItems": True, "minItems": 300},
            "/uniqueItems",
            "there may be too few items that differ",
        ),
        (
            {"not": {"prefixItems": [{"type": "object"}], "items": {"type": "array"}, "uniqueItems": True}},
            "/not/uniqueItems",
            "negation",
        ),
        (
            {"not": {"uniqueItems": True}, "contains": {"type": "object"}},
            "/not/uniqueItems",
            "negation",
        ),
    ],
)
def test_what_is_refused(schema: dict[str, Any], pointer: str, why: str) -> None:
    with pytest.raises(GrammarError) as caught:
        Grammar.from_json_schema(schema)
    assert caught.value.pointer == pointer
    assert why in caught.value.message


def test_what_was_left_out_is_not_counted_on() -> None:
    """An `enum` is left out because of a lone surrogate; then the items may be any, and must still differ."""
    schema = {"items": {"enum": ["\ud800", "a"]}, "uniqueItems": True}
    grammar = Grammar.from_json_schema(schema, strict=False)
    assert {row.keyword for row in grammar.report if row.status == "widened"} == {"enum"}
    assert accepts(grammar, "[[], {}]")
    assert not accepts(grammar, "[[], []]")


def test_objects_are_written_in_the_order_of_the_schema() -> None:
    grammar = Grammar.from_json_schema({"items": CLOSED, "uniqueItems": True})
    assert accepts(grammar, '[{"a": 1, "b": 1}, {"a": true, "b": 1}]')
    assert not accepts(grammar, '[{"b": 1, "a": 1}]')
    assert not accepts(grammar, '[{"a": 1, "b": 1}, {"a": 1.0, "b": 1}]')
    constants = {"items": {"enum": [{"a": 1, "b": 1}, {"b": 1, "a": 1}]}, "uniqueItems": True}
    grammar = Grammar.from_json_schema(constants)
    assert accepts(grammar, '[{"a": 1, "b": 1}]')
    assert accepts(grammar, '[{"b": 1, "a": 1}]')
    assert not accepts(grammar, '[{"b": 1, "a": 1}, {"a": 1, "b": 1}]')


def test_integers_of_draft_4_are_told_apart_as_they_are_spelled() -> None:
    inner = {"type": "array", "items": {"type": "integer", "enum": [1, 2]}, "maxItems": 1}
    schema = {"$schema": "http://json-schema.org/draft-04/schema#", "items": inner, "uniqueItems": True}
    grammar = Grammar.from_json_schema(schema)
    assert accepts(grammar, "[[1], [2], []]")
    assert not accepts(grammar, "[[1], [1]]")
    assert not accepts(grammar, "[[1.0]]")
    del inner["items"]["type"]
    grammar = Grammar.from_json_schema(schema, spellings="all")
    assert accepts(grammar, "[[1.0], [2]]")
    assert not accepts(grammar, "[[1.0], [1]]")


@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": [{"uniqueItems": True, "items": {"type": "string"}}, {"$ref": "#/$defs/more"}]},
        {"$ref": "#/$defs/more", "uniqueItems": True, "items": {"type": "string"}},
        {"allOf": [{"$ref": "#/$defs/unique"}], "if": {"type": "array"}, "then": {"$ref": "#/$defs/more"}},
    ],
)
def test_items_that_may_run_out_by_what_other_schemas_say_are_refused_at_once(schema: dict[str, Any]) -> None:
    few = {"type": "string", "pattern": "^[ab]$"}
    definitions = {
        "more": {"prefixItems": [{"type": "string"}, few, few], "minItems": 3},
        "unique": {"uniqueItems": True, "items": {"type": "string"}},
    }
    with pytest.raises(GrammarError, match="there may be too few items that differ") as caught:
        Grammar.from_json_schema({"properties": {"a": schema}, "$defs": definitions})
    assert (caught.value.pointer or "").endswith("/uniqueItems")
    definitions["more"]["minItems"] = 1
    Grammar.from_json_schema({"properties": {"a": schema}, "$defs": definitions})


def test_each_schema_around_a_place_is_met_once() -> None:
    """Along a chain of references: a list in which each place was looked up took 1.5 s for 21,000 of them."""
    compared = 0

    class Link:
        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return self is other

        __hash__ = object.__hash__

    chain: list[Any] = [Link() for _ in range(500)]
    edges = {one: [other] for one, other in pairwise(chain)}
    edges[chain[0]].append(chain[250])  # met in two ways
    known = UniqueItems(SimpleNamespace(is_dynamic=False), None, edges)  # type: ignore[arg-type]
    around = known.all_around(chain[-1])
    assert len(around) == len(chain) and set(map(id, around)) == set(map(id, chain))
    assert compared < 5 * len(chain)
