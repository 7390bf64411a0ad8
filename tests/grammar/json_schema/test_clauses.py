"""Combinations of objects that are decided member by member, not multiplied out, are right in each way to do so."""

from __future__ import annotations

import json
import sys
from itertools import product
from random import Random
from typing import Any

import pytest

pytest.importorskip("regress")
pytest.importorskip("jsonschema")

import earleymask
from campaign.schema_checks import Report, check, walk
from campaign.schema_random import Schemas
from campaign.schema_suite import DRAFTS
from earleymask import Grammar, Matcher, Vocabulary
from earleymask.grammar.json_schema import clauses as schema_clauses
from earleymask.grammar.json_schema import object_sets as schema_object_sets
from support.effort import effort
from support.schema_oracle import Oracle

BYTES = Vocabulary.bytes()
EOS = 256

# How many cases are multiplied out, and how many ways there may be before values are distinguished.
WAYS = {"usual": (64, 8), "free": (0, 64), "apart": (0, 0), "few": (2, 1), "at once": (0, 0)}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    opened, free = WAYS[request.param]
    monkeypatch.setattr(schema_object_sets, "MAX_OPENED", opened)
    monkeypatch.setattr(schema_clauses, "MAX_FREE", free)
    if request.param == "at once":
        monkeypatch.setattr(schema_clauses.Clauses, "make_ways", lambda *_: None)
    return str(request.param)


def accepts(grammar: Grammar, text: str) -> bool:
    data = text.encode()
    return Matcher(grammar, BYTES).validate([*data, EOS]) == len(data) + 1


def walks(rng: Random, schema: Any, report: Report) -> None:
    """Walk as `check` does, but without exponents: the oracle reads no number of thousands of digits."""
    try:
        order = rng.choice(("any", "schema"))
        limits = earleymask.Limits.trusted()  # the ways that split schemas early take long
        grammar = Grammar.from_json_schema(schema, property_order=order, number_plain=True, limits=limits)
    except earleymask.GrammarError:
        return
    for _ in range(3):
        text = walk(rng, grammar, BYTES)
        if text is not None and not Oracle(schema).accepts(text):
            report.wrong.append(f"{text} was written, though invalid: {json.dumps(schema)}")


@pytest.mark.parametrize("draft", DRAFTS)
def test_random_objects_that_overlap(way: str, draft: str) -> None:
    report = Report()
    for number in range(effort(6, 12)):
        rng = Random(f"{number} {draft}")
        schemas = Schemas(rng, draft)
        words = ("allOf", "anyOf", "oneOf", "not", "if") if schemas.year >= 7 else ("allOf", "anyOf", "oneOf", "not")
        schema: dict[str, Any] = {"$schema": DRAFTS[draft], "type": "object"}
        schema[schemas.definitions] = {"d": {"type": "integer"}, "e": {"maxProperties": 1}}
        schema |= schemas.overlapping(rng.choice(words), 1)
        check(rng, schema, report, n_walks=0)
        walks(rng, schema, report)
    assert report.wrong == []
    assert report.counts["loaded"] > effort(1, 8) and report.counts["limit"] == 0, report.counts
    assert min(report.counts["valid"], report.counts["invalid"]) > effort(10, 20), report.counts


def members(*choices: tuple[dict[str, Any], ...]) -> list[str]:
    """Return texts of objects with one member of each choice."""
    return [
        json.dumps({name: value for part in chosen for name, value in part.items()}) for chosen in product(*choices)
    ]


BRANCHES = [
    {"properties": {"kind": {"const": f"k{i}"}, "size": {"minimum": i}, "name": {"maxLength": i}}} for i in range(12)
]
ENUMERATED = [
    {"properties": {"country": {"enum": [f"c{i}"]}, "state": {"enum": [f"s{i}", f"s{i + 1}", f"s{2 * i}"]}}}
    for i in range(10)
]
SCHEMAS: dict[str, Any] = {
    # 12 branches, none of which excludes another: without the key that distinguishes them, there are 2**12 cases.
    "oneOf": {"type": "object", "oneOf": BRANCHES},
    "not": {"type": "object", "not": {"anyOf": [{**branch, "required": ["kind", "size"]} for branch in BRANCHES]}},
    "within each other": {"type": "object", "anyOf": [{"oneOf": BRANCHES[:6]}, {"not": {"oneOf": BRANCHES[4:]}}]},
    "if": {
        "type": "object",
        "allOf": [
            {"if": {"properties": {"kind": {"const": f"k{i}"}}, "required": ["kind"]}, "then": BRANCHES[i]}
            for i in range(12)
        ],
    },
    "counted": {
        "type": "object",
        "oneOf": [{**branch, "minProperties": i % 3, "maxProperties": i} for i, branch in enumerate(BRANCHES)],
    },
    "enumerated": {"type": "object", "required": ["state"], "oneOf": ENUMERATED},
    "dependencies": {
        "type": "object",
        "dependentSchemas": {f"d{i}": {"required": [f"d{i + 1}"]} for i in range(9)},
        "maxProperties": 3,
    },
    "other keys": {
        "type": "object",
        "oneOf": [
            {"patternProperties": {f"^{name}": {"minimum": 2}}, "properties": {"kind": {"const": f"k{i}"}}}
            for i, name in enumerate("abcdn")
        ],
    },
}
TEXTS = members(
    ({}, {"kind": "k1"}, {"kind": "k7"}, {"kind": "x"}),
    ({}, {"size": 0}, {"size": 3.5}, {"size": 20}, {"size": "a"}),
    ({}, {"name": "abc"}, {"name": "abcdefgh"}, {"name": 1}),
    ({}, {"country": "c3"}, {"state": "s4"}, {"state": "s9", "country": "c9"}, {"d8": 1}, {"d7": 1, "d8": 2, "d9": 3}),
)
TEXTS = Random(1).sample(TEXTS, effort(160, len(TEXTS)))


@pytest.mark.parametrize("name", SCHEMAS)
def test_combinations_of_many_objects(way: str, name: str) -> None:
    schema = SCHEMAS[name]
    oracle = Oracle(schema)
    valid = {text for text in TEXTS if oracle.accepts(text)}
    grammar = Grammar.from_json_schema(schema, property_order="any", limits=earleymask.Limits.trusted())
    try:
        wrong = [text for text in TEXTS if accepts(grammar, text) != (text in valid)]
    except earleymask.LimitError:
        assert way in ("free", "at once")  # there may be too many ways
        return
    assert wrong == []
    assert valid and len(valid) < len(TEXTS)


PATIENT = earleymask.Limits(load_seconds=30)
"""For what takes a second to load, and longer on a slow machine."""


def test_what_is_beyond_reach_is_refused_before_anything_is_written() -> None:
    # Each value matches each of the 12 patterns or not, so after `a` there are 2**12 cases.
    branches = [{"properties": {"a": {"pattern": f"x{i}"}, "b": {"pattern": f"y{i}"}}} for i in range(12)]
    schema = {"properties": {"v": {"type": "object", "oneOf": branches}}}
    with pytest.raises(earleymask.LimitError, match=r"more than 128 ways|not known after") as caught:
        Grammar.from_json_schema(schema, limits=PATIENT)
    assert "#/properties/v" in str(caught.value)


def test_combinations_within_each_other_are_refused_before_anything_is_written() -> None:
    # No single place combines many: there are two oneOf, each over negations of patterns.
    inner = [
        {"oneOf": [{"properties": {"a": {"pattern": f"x{i}{j}"}, "b": {"pattern": f"y{i}{j}"}}} for j in range(3)]}
        for i in range(4)
    ]
    with pytest.raises(earleymask.LimitError, match=r"more than 128 ways|not known after") as caught:
        Grammar.from_json_schema({"properties": {"v": {"type": "object", "oneOf": inner}}}, limits=PATIENT)
    assert "#/properties/v" in str(caught.value)
    multiples = {"anyOf": [{"multipleOf": 10**6 + 3}, {"multipleOf": 12}, {"multipleOf": 77}]}
    others = {"anyOf": [{"not": {"anyOf": [{"multipleOf": 10**6 + 33}, {"multipleOf": 7}]}}, {"multipleOf": 44}]}
    last = {"anyOf": [{"not": {"multipleOf": 10**6 + 37}}, {"multipleOf": 13}]}
    schema = {"properties": {"v": {"type": "number", "allOf": [multiples, others, last, {"not": {"multipleOf": 8}}]}}}
    with pytest.raises(earleymask.LimitError, match="remainders") as caught:
        Grammar.from_json_schema(schema)
    assert "#/properties/v" in str(caught.value)


class Tick:
    """Stands for `tick`. The time runs out when it is called for the n-th time."""

    def __init__(self) -> None:
        self.n_calls = 0
        self.fails_at = 0

    def __call__(self) -> int:
        self.n_calls += 1
        if self.n_calls == self.fails_at:
            raise earleymask.LimitError("the time is used up").at_limit("seconds")
        return 0


def branch(**values: int | None) -> dict[str, Any]:
    """Return a schema that requires members with these values, and excludes those with None."""
    properties = {name: False if value is None else {"const": value} for name, value in values.items()}
    return {"properties": properties, "required": [name for name, value in values.items() if value is not None]}


def test_a_limit_on_time_loses_no_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the time runs out while the first mask within an object is made, the same call succeeds when there is
    time, and allows the same tokens. The object is an item: loading makes the rules of one that is all of a
    document."""
    monkeypatch.setattr(schema_object_sets, "MAX_OPENED", 1)
    monkeypatch.setattr(schema_clauses, "MAX_FREE", 1)
    tick = Tick()
    for name, module in sorted(sys.modules.items()):
        if name.startswith("earleymask.grammar.json_schema.") and hasattr(module, "tick"):
            monkeypatch.setattr(module, "tick", tick)
    item = {
        "type": "object",
        "properties": {"a": {"enum": [1, 2]}, "b": {"enum": [1, 2]}, "c": {"enum": [1, 2, 3]}},
        "additionalProperties": False,
        "required": ["c"],
        "allOf": [
            {"anyOf": [branch(a=1, c=3), branch(b=1, c=2), branch(a=2, b=2)]},
            {"anyOf": [branch(b=2, c=3), branch(a=1, b=1), branch(a=None)]},
            {"anyOf": [branch(c=1, b=2), branch(c=3), branch(b=None)]},
        ],
    }
    schema = {"type": "array", "items": item, "minItems": 1, "maxItems": 1}
    oracle = Oracle(schema)
    objects = members(
        ({}, {"a": 1}, {"a": 2}),
        ({}, {"b": 1}, {"b": 2}),
        ({}, {"c": 1}, {"c": 2}, {"c": 3}),
    )
    texts = [f"[{text}]" for text in objects]
    valid = [text for text in texts if oracle.accepts(text)]
    assert 1 < len(valid) < len(texts)
    n_failed = 0
    for fails_at in range(1, 1000):
        matcher = Matcher(Grammar.from_json_schema(schema), BYTES)
        tick.n_calls, tick.fails_at = 0, fails_at
        try:
            for byte in b"[{":
                matcher.accept(byte)
            matcher.mask()
        except earleymask.LimitError:
            n_failed += 1
        if tick.n_calls < fails_at:
            break
        tick.fails_at = 0
        assert [text for text in texts if accepts(matcher.grammar, text)] == valid
    assert n_failed > 20 and tick.n_calls < fails_at


def test_clauses_of_a_single_shape_are_kept_beside_others() -> None:
    """A negation of many shapes, which is one shape with clauses, keeps its clauses beside two unions."""
    closed = {
        "anyOf": [
            {"patternProperties": {"c$": False}},
            {"properties": {"a": {"type": "object"}}},
            {"enum": [{"b": 1}]},
        ],
        "unevaluatedProperties": False,
    }
    one = {"oneOf": [{"additionalProperties": {"type": "string"}}, {"properties": {"a": {"const": 1}}}]}
    schema = {"dependentRequired": {"c": ["ab"]}, "allOf": [{"not": closed}, {"not": one}]}
    grammar = Grammar.from_json_schema(schema, property_order="any")
    oracle = Oracle(schema)
    texts = [
        json.dumps(dict(zip(names, values, strict=True)))
        for names in ((), ("a",), ("b",), ("a", "c"), ("ab", "c"), ("a", "ab", "c"), ("a", "b"))
        for values in product((1, "x", {}), repeat=len(names))
    ]
    assert {text: accepts(grammar, text) for text in texts} == {text: oracle.accepts(text) for text in texts}
    assert any(map(oracle.accepts, texts)) and not all(map(oracle.accepts, texts))


def test_a_grammar_is_made_anew_before_texts_have_added_all_that_they_may(monkeypatch: pytest.MonkeyPatch) -> None:
    """The states of objects with many clauses are few and large: `load_bytes` is met before the number of symbols."""
    names = [f"{letter}{i}" for i in range(10) for letter in "ab"]
    schema = {
        "type": "object",
        "properties": {name: {"const": 1} for name in names},
        "additionalProperties": False,
        "allOf": [{"anyOf": [{"required": [f"a{i}", f"b{(i * 7 + j) % 10}"]} for i in range(10)]} for j in range(3)],
    }

    def along_texts() -> int:
        """Make the masks of texts with random members; return how many engines were used."""
        rng = Random(1)
        grammar = Grammar.from_json_schema(schema, property_order="any", limits=earleymask.Limits(load_bytes=16 << 20))
        engines = []
        for _ in range(20):
            matcher = Matcher(grammar, BYTES)
            engines += [grammar.engine] if grammar.engine not in engines else []
            for byte in ("{" + ",".join(f'"{name}":1' for name in rng.sample(names, 10))).encode():
                matcher.mask()
                if not matcher.accept(byte):
                    break
        return len(engines)

    assert along_texts() > 1
    monkeypatch.setattr(Grammar, "_renewed", lambda self: self.engine)
    with pytest.raises(earleymask.LimitError, match="load_bytes"):
        along_texts()
