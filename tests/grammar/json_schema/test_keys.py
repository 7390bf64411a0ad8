"""Keys that run out: if few of the demanded keys can have a value, masks depend on which were written."""

from __future__ import annotations

import json
from itertools import permutations, product
from random import Random
from time import thread_time
from typing import Any

import pytest

pytest.importorskip("regress")
pytest.importorskip("jsonschema")

import earleymask
from campaign.schema_checks import BYTES, Report, compare, compare_walk, loaded
from earleymask import Grammar, Matcher
from earleymask.grammar.json_schema import object_rules as schema_objects
from support.effort import effort
from support.schema_grammars import accepts, made
from support.schema_oracle import Oracle

NAMES = ("a", "b", "ab", "x")
PATTERNS = ("^(?!a)", "^(?!a$)", "^(?!x$)", "^(?!(a|b)$)", "^.$", "b$", "^(?!.$)", "^a?b?$")
VALUES: tuple[dict[str, Any], ...] = (
    {"const": 1},
    {"type": "integer"},
    {"type": "string"},
    {"type": ["null", "string"]},
    {"maxLength": 0},
    {"$ref": "#/$defs/endless"},
    {},
)
ENDLESS = {"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#/$defs/endless"}}}
"""No document satisfies this, but only following the reference shows it."""


def documents() -> list[Any]:
    """Return objects of up to four members, those of up to two in all orders."""
    found: list[Any] = []
    for n in range(3):
        for keys in permutations(NAMES, n):
            found += [dict(zip(keys, values, strict=True)) for values in product((1, "", "s", None), repeat=n)]
    for keys in (("a", "b", "ab"), ("x", "b", "a"), ("ab", "x", "b", "a")):
        found += [dict(zip(keys, values, strict=True)) for values in product((1, "s"), repeat=len(keys))]
    return found


DOCUMENTS = documents()


def patterns(rng: Random) -> dict[str, Any]:
    """Make a schema about all keys, or all but a few."""
    found: dict[str, Any] = {"patternProperties": {one: rng.choice(VALUES) for one in rng.sample(PATTERNS, 1)}}
    if rng.random() < 0.3:
        found["patternProperties"][rng.choice(PATTERNS)] = rng.choice(VALUES)
    if rng.random() < 0.3:
        found["additionalProperties"] = rng.choice(VALUES)
    if rng.random() < 0.2:
        found["properties"] = {rng.choice(NAMES): rng.choice(VALUES)}
    return found


def random_schema(rng: Random) -> dict[str, Any]:
    found = {"$defs": {"endless": ENDLESS}, "type": "object", **patterns(rng)}
    word = rng.choice(("not", "not", "nots", "nots", "oneOf", "allOf", "minProperties"))
    if word == "minProperties":
        found["allOf"] = [patterns(rng)]
    elif word == "nots":
        found["allOf"] = [{"not": patterns(rng)} for _ in range(rng.randint(2, 3))]
        if rng.random() < 0.3:
            found["required"] = rng.sample(NAMES, 1)
        if rng.random() < 0.4:
            found["maxProperties"] = rng.randint(1, 3)
    else:
        found[word] = patterns(rng) if word == "not" else [patterns(rng) for _ in range(rng.randint(1, 2))]
    if word == "minProperties" or rng.random() < 0.2:
        found["minProperties"] = rng.randint(1, 4)
    return found


@pytest.mark.parametrize("part", range(4))
def test_random_demands_that_few_keys_can_meet(part: int) -> None:
    report = Report()
    for number in range(12):
        rng = Random(f"keys {part} {number}")
        schema = random_schema(rng)
        oracle = Oracle(schema)
        judged = [oracle.is_valid(document) for document in DOCUMENTS]
        valid = [document for document, is_valid in zip(DOCUMENTS, judged, strict=True) if is_valid]
        where = f": {json.dumps(schema)}"
        for order in ("any", "schema"):
            grammar = loaded(schema, order, valid, report)
            if grammar is None:
                continue
            for document, is_valid in zip(DOCUMENTS, judged, strict=True):
                if order == "any":
                    compare(grammar, json.dumps(document), is_valid, where, report)
                elif not is_valid and accepts(grammar, json.dumps(document)):
                    report.wrong.append(f"{document} is accepted, though invalid (order schema){where}")
            for _ in range(4):
                compare_walk(rng, grammar, oracle, where, report)
    assert report.wrong == []
    assert report.counts["limit"] == 0, report.limits
    assert report.counts["valid"] > 20 and report.counts["invalid"] > 20 and report.counts["walked"] > 10, report.counts


BUT_A = {"^(?!a$)": {"type": "integer"}}
DEMANDS: dict[str, Any] = {
    "a negation": {"patternProperties": {"^(?!a)": {"const": 1}}, "not": {"patternProperties": {"^.$": {"const": 1}}}},
    "oneOf": {
        "oneOf": [
            {"patternProperties": {"b$": {"maxLength": 0}}},
            {"patternProperties": {"^.$": {}}, "additionalProperties": {"type": ["null"]}},
        ]
    },
    "a named key beside it": {
        "type": "object",
        "properties": {"ab": {"type": "string"}},
        "patternProperties": {"^(?!x$)": {"type": "integer"}},
        "not": {"additionalProperties": {"type": "integer"}},
    },
    # In any order, there are 2**16 combinations of optional keys.
    "many others": {
        "type": "object",
        "properties": {f"p{index}": {} for index in range(16)},
        "patternProperties": {"^(?!a)": {"const": 1}},
        "not": {"patternProperties": {"^.$": {"const": 1}}},
    },
    "a number of them": {
        "$defs": {"endless": ENDLESS},
        "type": "object",
        "patternProperties": {"^(?!(a|b|x)$)": {"$ref": "#/$defs/endless"}},
        "minProperties": 2,
    },
}


@pytest.mark.parametrize("order", ["any", "schema"])
@pytest.mark.parametrize("name", DEMANDS)
def test_a_key_is_opened_only_if_a_demand_can_be_met_behind_it(name: str, order: str) -> None:
    schema = DEMANDS[name]
    oracle = Oracle(schema)
    report = Report()
    grammar = Grammar.from_json_schema(schema, property_order=order)
    judged = [(document, oracle.is_valid(document)) for document in DOCUMENTS]
    for document, is_valid in judged:
        if order == "any" or not is_valid:
            compare(grammar, json.dumps(document), is_valid, order, report)
    for number in range(5):
        compare_walk(Random(number), grammar, oracle, order, report)
    assert report.wrong == [] and report.counts["limit"] == 0
    assert {is_valid for _, is_valid in judged} == {True, False}


@pytest.mark.parametrize("value", [{"type": "string"}, {"$ref": "#/$defs/endless"}])
def test_members_that_are_more_than_keys_with_a_value(value: Any) -> None:
    other = {"patternProperties": {"^(?!a$)": value}}
    schema = {"$defs": {"endless": ENDLESS}, "type": "object", "patternProperties": BUT_A, "allOf": [other]}
    assert made({**schema, "minProperties": 2}) is None
    grammar = made({**schema, "minProperties": 1})
    assert grammar is not None
    assert accepts(grammar, '{"a": 1}') and not accepts(grammar, "{}") and not accepts(grammar, '{"b": 1}')


def test_members_that_are_as_many_as_keys_with_a_value() -> None:
    """Requiring all of a hundred keys, or all but one, does not need a state for each set of them."""
    nothing = {"patternProperties": {"^(?!k[0-9]{2}$)": {"type": "string"}}}
    schema = {"type": "object", "patternProperties": {"^(?!k[0-9]{2}$)": {"type": "integer"}}, "allOf": [nothing]}
    members = {f"k{index:02}": index for index in range(100)}
    for least in (99, 100):
        grammar = made({**schema, "minProperties": least}, property_order="any")
        assert grammar is not None
        assert accepts(grammar, json.dumps(members))
        assert not accepts(grammar, json.dumps(dict(list(members.items())[2:])))
    assert made({**schema, "minProperties": 101}) is None


KEYS_OF_TWO_DIGITS = {"patternProperties": {"^k[0-9]{2}$": True}, "additionalProperties": False}


def some_member(value: Any) -> dict[str, Any]:
    return {"not": {"additionalProperties": {"not": value}}}


@pytest.mark.parametrize("order", ["any", "schema"])
def test_several_demands_that_any_of_many_keys_can_meet(order: str) -> None:
    """With a hundred keys there is no state for each set of them, whether one demand cannot be met or all can."""
    endless = {"$ref": "#/$defs/endless"}
    schema = {"$defs": {"endless": ENDLESS}, "type": "object", **KEYS_OF_TWO_DIGITS}
    begin = thread_time()
    assert (
        made({**schema, "allOf": [some_member({"type": "array"}), some_member(endless)]}, property_order=order) is None
    )
    demands = [{"type": "array"}, {"anyOf": [endless, {"const": "a"}]}, {"type": "integer"}, {"minimum": 5}]
    whole = {**schema, "allOf": list(map(some_member, demands))}
    grammar = made(whole, property_order=order)
    assert grammar is not None and thread_time() - begin < 2
    for members in permutations([1, 2, 6, "a", "b", []], 3):
        document = {f"k0{index}": member for index, member in enumerate(members)}
        assert accepts(grammar, json.dumps(document)) == Oracle(whole).is_valid(document), document
    # With fewer members than demands, one member must meet several.
    for most, is_some in ((3, True), (2, False)):
        assert (made({**whole, "maxProperties": most}, property_order=order) is not None) == is_some


def test_what_is_met_behind_a_key_names_the_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit that comes after a key is reported with the place of the schema that needs it."""
    monkeypatch.setattr(schema_objects, "MAX_NAMED", 1)
    inner = {
        "type": "object",
        "patternProperties": {"^(?!(a|b)$)": {"$ref": "#/$defs/endless"}},
        "not": {"additionalProperties": {"type": "integer"}},
    }
    grammar = Grammar.from_json_schema({"$defs": {"endless": ENDLESS}, "properties": {"v": inner}})
    matcher = Matcher(grammar, BYTES)
    for _ in range(2):
        assert matcher.validate(b'{"v": {"a": 1, "b"') == len(b'{"v": {"a": 1, "b"')
        with pytest.raises(earleymask.LimitError, match='the key "b"') as caught:
            matcher.validate(b'{"v": {"a": 1, "b": ')
        assert "#/properties/v" in str(caught.value)


@pytest.mark.parametrize("n", [31, 32, 40, 70])
@pytest.mark.parametrize("order", ["schema", "any"])
def test_more_names_than_a_word_has_bits(n: int, order: str) -> None:
    schema = {
        "type": "object",
        "properties": {f"k{i}": {"type": "integer"} for i in range(n)},
        "additionalProperties": False,
        "minProperties": n - 1,
    }
    grammar = Grammar.from_json_schema(schema, property_order=order)
    for written in (n, n - 1, n - 2):
        text = json.dumps({f"k{i}": i for i in range(written)})
        assert accepts(grammar, text) == (written >= n - 1), written


FILLERS: tuple[dict[str, Any], ...] = (
    {"type": ["null", "boolean"]},
    {"enum": [None, 1]},
    {"enum": [1, None]},
    {"const": True},
    {"type": "null"},
    {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/endless"}]},
    {"$ref": "#/$defs/endless"},
)


def test_members_that_must_come_beside_a_demand_for_one() -> None:
    """Names that surely have a value, that have none, and that are alike: exactly the valid documents are accepted."""
    names = ("a", "b", "c", "d", "e")
    values: tuple[Any, ...] = (None, True, 1)
    documents = [
        dict(zip(keys, chosen, strict=True))
        for n in range(5)
        for keys in permutations(names, n)
        if n < 3 or keys == tuple(sorted(keys))
        for chosen in product(values, repeat=n)
    ]
    report = Report()
    n_limited = 0
    for number in range(60):
        rng = Random(f"fillers {number}")
        few = rng.sample(FILLERS, rng.randint(1, 3))
        demands = [some_member({"type": rng.choice(["boolean", "integer", "null"])}) for _ in range(rng.randint(1, 2))]
        schema: dict[str, Any] = {
            "$defs": {"endless": ENDLESS},
            "type": "object",
            "properties": {name: dict(rng.choice(few)) for name in names[: rng.randint(3, 5)]},
            "additionalProperties": rng.choice([False, False, {"type": "null"}, {"$ref": "#/$defs/endless"}]),
            "minProperties": rng.randint(0, 4),
            "allOf": demands,
        }
        if rng.random() < 0.4:
            schema["maxProperties"] = rng.randint(1, 4)
            n_limited += 1
        if rng.random() < 0.3:
            schema["required"] = rng.sample(names, rng.randint(1, 2))
        oracle = Oracle(schema)
        judged = [oracle.is_valid(document) for document in documents]
        valid = [document for document, is_valid in zip(documents, judged, strict=True) if is_valid]
        where = f": {json.dumps(schema)}"
        for order in ("any", "schema"):
            grammar = loaded(schema, order, valid, report)
            if grammar is None:
                continue
            for document, is_valid in zip(documents, judged, strict=True):
                if order == "any" or tuple(document) == tuple(name for name in names if name in document):
                    compare(grammar, json.dumps(document), is_valid, where, report)
            for _ in range(3):
                compare_walk(rng, grammar, oracle, where, report)
    assert report.wrong == []
    assert report.counts["limit"] == 0, report.limits
    assert n_limited > 10 and report.counts["valid"] > 1000 and report.counts["walked"] > 60, report.counts


@pytest.mark.parametrize(("order", "n", "least"), [("schema", effort(120, 200), effort(40, 66)), ("any", 60, 20)])
@pytest.mark.parametrize("value", [FILLERS[0], FILLERS[1], FILLERS[5]], ids=json.dumps)
def test_many_names_that_must_come_beside_a_demand_for_one(order: str, n: int, least: int, value: Any) -> None:
    schema = {
        "$defs": {"endless": ENDLESS},
        "properties": {f"n{index}": dict(value) for index in range(n)},
        "additionalProperties": False,
        "minProperties": least,
        "not": {"additionalProperties": {"type": "boolean"}},
    }
    limits = earleymask.Limits(symbols=150_000)
    grammar = Grammar.from_json_schema({"type": "object", **schema}, property_order=order, limits=limits)
    for written, is_valid in ((n, True), (least, True), (least - 1, False)):
        assert accepts(grammar, json.dumps({f"n{index}": None for index in range(written)})) == is_valid


@pytest.mark.parametrize("n", [31, 32, 33, 64, 65])
def test_more_demands_than_a_word_has_bits(n: int) -> None:
    """Some key must begin with each of n beginnings."""
    schema = {"type": "object", "allOf": [{"not": {"patternProperties": {f"^k{i:02d}": False}}} for i in range(n)]}
    grammar = Grammar.from_json_schema(schema, whitespace="compact")
    for text in (b"{}", b'{"k00":1}', b'{"k00":1,"k01":1}', b'{"k%02d":1}' % (n - 1)):
        assert Matcher(grammar, BYTES).validate(text) == len(text) - 1, "all but the bracket at the end"
