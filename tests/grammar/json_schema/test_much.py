"""Short schemas with huge meanings: those that turn out small are loaded, and all others are refused soon."""

from __future__ import annotations

import json
import random
import time
from itertools import product
from typing import Any

import pytest

pytest.importorskip("regress")
pytest.importorskip("jsonschema")

import earleymask
from earleymask import Grammar, GrammarError, LimitError, Matcher, Vocabulary
from support.schema_oracle import Oracle

BYTES = Vocabulary.bytes()
WHOLE = {"type": "integer"}
TYPES = ("string", "integer", "boolean", "null", "number", "array", "object")


def compare(schema: Any, documents: list[Any]) -> None:
    """Compare the grammar with the oracle on these documents."""
    oracle = Oracle(schema)
    grammar = Grammar.from_json_schema(schema, property_order="any")
    verdicts = set()
    for document in documents:
        text = json.dumps(document)
        is_valid = oracle.accepts(text)
        data = text.encode()
        verdicts.add(is_valid)
        assert (Matcher(grammar, BYTES).validate([*data, 256]) == len(data) + 1) == is_valid, text
    assert verdicts == {True, False}


KEYS = ["", "x", "p", "p0", "p1", "p7", "p8", "p0p7", "xp7p0p0", "p1p8", "p0p1", "p6p5", "p9p2p2p9", "p4p1", "p4p8p11"]
VALUES: list[Any] = ["a", 1, -1, 1.5, True, None, [], [1], {}, {"p0": 1}, 12, 7]


@pytest.mark.parametrize(
    "patterns",
    [
        {f"p{i}": {"type": "string"} for i in range(40)},
        {f"p{i}": {"type": TYPES[i % 7]} for i in range(24)},
        {f"p{i}": {"minimum": 5} if i % 2 else {"type": ["integer", "array"]} for i in range(12)},
        {f"p{i}": {"type": "integer", "minimum": i} for i in range(6)},
        {f"p{i}": i % 3 > 0 for i in range(20)},
        {"^p0": WHOLE, "p1$": WHOLE, "p": {"minimum": 0}, "7": WHOLE, "8$": {"minLength": 1}},
    ],
)
@pytest.mark.parametrize("others", [True, False, {"type": ["null", "string"]}])
def test_patterns_that_overlap(patterns: dict[str, Any], others: Any) -> None:
    begin = time.thread_time()
    compare(
        {"type": "object", "patternProperties": patterns, "additionalProperties": others},
        [{key: value} for key, value in product(KEYS, VALUES)] + [{"p1": 12, "p0": "a"}, {"p1": "a", "x": None}],
    )
    assert time.thread_time() - begin < 20  # work that doubles with each pattern would take far longer


def items(rng: random.Random) -> Any:
    return rng.choice(
        [
            {"const": rng.choice([0, 1, "a", None])},
            {"enum": rng.sample([0, 1, 2, "a", "b", None], 3)},
            {"minimum": (low := rng.randint(-1, 2)), "maximum": low + rng.randint(0, 2)},
            {"type": rng.choice(["integer", "string", "null"])},
            {"minLength": 1},
            {"type": "object", "required": ["k"]},
            {"pattern": "a"},
        ]
    )


@pytest.mark.parametrize("seed", range(40))
def test_several_contains_of_one_array(seed: int) -> None:
    """They agree with the oracle on all short arrays of few values."""
    rng = random.Random(seed)
    demands: list[Any] = []
    for _ in range(rng.randint(4, 6)):
        demand: dict[str, Any] = {"contains": items(rng)}
        if rng.random() < 0.2:
            demand |= rng.choice([{"minContains": 2}, {"maxContains": 2}, {"minContains": 0}])
        demands.append(demand)
    schema = {"type": "array", "allOf": demands}
    more: list[Any] = [{}, {}, {"minItems": 2}, {"maxItems": 3}, {"items": items(rng)}, {"prefixItems": [items(rng)]}]
    schema |= rng.choice(more)
    oracle = Oracle(schema)
    values: list[Any] = [0, 1, 2, "a", "", None, {"k": 1}]
    documents = [list(array) for n in range(4) for array in product(values, repeat=n)]
    documents += [rng.choices(values, k=rng.randint(4, 8)) for _ in range(200)]
    valid = {text for text in map(json.dumps, documents) if oracle.accepts(text)}
    if not valid:
        return
    grammar = Grammar.from_json_schema(schema)
    for text in map(json.dumps, documents):
        data = text.encode()
        assert (Matcher(grammar, BYTES).validate([*data, 256]) == len(data) + 1) == (text in valid), text


def test_ranges_that_items_must_be_in_overlap() -> None:
    """However many ranges are combined, numbers are of few kinds. A value that is no number is in all ranges."""
    n = 30
    schema = {"type": "array", "allOf": [{"contains": {"minimum": i, "maximum": i + 5}} for i in range(n)]}
    every_sixth = list(range(5, n + 5, 6))
    compare(schema, [[], list(range(n)), [*range(12), *range(13, n)], every_sixth, every_sixth[:-1], ["a"], [1, None]])


def test_words_that_must_be_items() -> None:
    schema = {"allOf": [{"contains": {"const": f"w{i}"}} for i in range(20)]}
    words = [f"w{i}" for i in range(20)]
    compare(schema, [words, words[::-1], words[1:], ["x", *words], {}, [*words[:-1], "w"]])


@pytest.mark.parametrize(
    ("schema", "text", "pointer"),
    [
        ({"patternProperties": {f"p{i}": {"minLength": i + 1} for i in range(40)}}, '{"', ""),
        (
            {"properties": {"a": {"patternProperties": {f"p{i}": {"required": [f"k{i}"]} for i in range(40)}}}},
            '{"a": {"',
            "/properties/a",
        ),
        (
            {"items": {"allOf": [{"contains": {"required": [f"k{i}"]}} for i in range(20)]}},
            "[[{",
            "/items",
        ),
    ],
)
def test_what_is_too_much_names_its_place(schema: Any, text: str, pointer: str) -> None:
    begin = time.thread_time()
    with pytest.raises(LimitError) as caught:
        Matcher(Grammar.from_json_schema(schema), BYTES).validate(text.encode())
    assert isinstance(caught.value, GrammarError)
    assert caught.value.pointer == pointer
    assert time.thread_time() - begin < 20


@pytest.mark.parametrize(
    "schema",
    [
        {"patternProperties": {f"p{i}": {"minLength": i + 1} for i in range(8)}},
        {"type": "array", "allOf": [{"contains": {"required": [f"k{i}"]}} for i in range(10)]},
        {"dependentRequired": {f"p{i}": [f"p{i + 1}"] for i in range(300)}},
    ],
)
def test_a_schema_that_means_too_much_is_given_up_in_time(schema: Any) -> None:
    text = '{"' if "type" not in schema else json.dumps([{f"k{i}": 1} for i in range(10)])
    limits = earleymask.Limits(load_seconds=0.005, seconds=0.005)
    begin = time.thread_time()
    with pytest.raises(LimitError) as caught:
        Matcher(Grammar.from_json_schema(schema, limits=limits), BYTES).validate(text.encode())
    assert caught.value.limit in ("load_seconds", "seconds") and caught.value.limit in str(caught.value)
    assert time.thread_time() - begin < 5


def test_a_limit_met_while_loading_is_an_error_of_the_grammar() -> None:
    """Also if the engine reaches it: here, in a search for an array that has all items and is short enough."""
    schema = {"type": "array", "maxItems": 12, "allOf": [{"contains": {"const": i}} for i in range(14)]}
    with pytest.raises(GrammarError) as caught:
        Grammar.from_json_schema(schema, limits=earleymask.Limits.trusted())  # the search takes two seconds
    assert isinstance(caught.value, LimitError)
    assert "10000 lazy symbols" in caught.value.message
    assert caught.value.pointer == ""


def test_remainders_of_numbers_that_are_among_others_are_not_counted() -> None:
    """The schema allows multiples of 3 that are none of 5, 7 or 8, and those among them that are multiples of 11."""
    either = {"anyOf": [{"multipleOf": 3}, {"multipleOf": 5}, {"multipleOf": 7}]}
    neither = {"not": {"anyOf": [{"multipleOf": 5}, {"multipleOf": 7}]}}
    no_eight = {"not": {"multipleOf": 8}}
    parts = [either, {"anyOf": [neither, {"multipleOf": 48}]}, {"anyOf": [no_eight, {"multipleOf": 11}]}, no_eight]
    begin = time.thread_time()
    compare({"type": "number", "allOf": parts}, [*range(-60, 400), 0.5, 1.5, 3e3, 685923, 6859233, 685923.25, "a"])
    assert time.thread_time() - begin < 10
