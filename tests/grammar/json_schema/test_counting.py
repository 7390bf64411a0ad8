"""Keys and items that can run out are counted right, by brute force, and no walk through the masks gets stuck."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from earleymask import Grammar, GrammarError, Matcher, Vocabulary
from earleymask.earley.errors import LimitError
from earleymask.earley.limits import DEFAULT
from earleymask.grammar.json_schema.algebra import Algebra
from earleymask.grammar.json_schema.documents import Documents
from earleymask.grammar.json_schema.finite import MAX_COUNTED, N_CHARACTERS, n_any, n_texts, words
from earleymask.grammar.json_schema.options import DEFAULT_OPTIONS
from earleymask.grammar.json_schema.text_sets import Texts
from earleymask.grammar.regex import parse_regex, whole_text
from support.schema_oracle import Oracle

BYTES = Vocabulary.bytes()
EOS = 256


def of_pattern(pattern: str, **more: Any) -> Texts:
    return Texts(trees=(whole_text(parse_regex(pattern, "ecma"), search=True),), **more)


@pytest.mark.parametrize(
    ("pattern", "letters", "longest"),
    [
        ("^[ab]{0,3}$", "ab", 3),
        ("^(a|é|ab|b?c)$", "abcé", 2),
        ("^(?!aa)[ab]{2}$", "ab", 2),
        ("^$", "", 0),
        ("^\U0001f600?$", "\U0001f600", 1),
    ],
)
def test_all_texts_of_a_pattern(pattern: str, letters: str, longest: int) -> None:
    texts = of_pattern(pattern)
    every = ["".join(chosen) for n in range(longest + 1) for chosen in itertools.product(letters, repeat=n)]
    wanted = {text for text in every if texts.has(text)}
    assert wanted
    assert set(words(texts, 100) or []) == wanted
    for limit in range(len(wanted) + 2):
        assert (words(texts, limit) is None) == (limit < len(wanted))
        assert n_texts(texts, limit) == min(limit, len(wanted))
    some = sorted(wanted)[:1]
    assert n_texts(of_pattern(pattern, but=frozenset(some)), 100) == len(wanted) - 1


@pytest.mark.parametrize(
    "schema",
    [
        {"maxItems": 3},
        {"minItems": 2, "maxItems": 3},
        {"contains": {"const": 1}, "maxItems": 3},
        {"contains": {"type": "integer"}, "minContains": 2, "maxItems": 3},
        {"contains": {"type": "integer"}, "maxContains": 1, "maxItems": 3},
        {"contains": {"const": "a"}, "minContains": 0, "maxContains": 1, "minItems": 1, "maxItems": 4},
        {"contains": {"const": "a"}, "minContains": 3, "maxItems": 2},
        {"uniqueItems": True},
        {"uniqueItems": True, "minItems": 2},
        {"uniqueItems": True, "minItems": 4},
        {"uniqueItems": True, "contains": {"type": "integer"}, "minContains": 2},
        {"prefixItems": [{"const": 1}], "contains": {"const": 2}, "maxItems": 3},
        {"prefixItems": [{"const": 1}, {"const": "a"}], "uniqueItems": True, "maxItems": 3},
    ],
)
def test_no_more_arrays_are_counted_than_there_are(schema: dict[str, Any]) -> None:
    values = [1, 2, "a"]
    whole = {"type": "array", "items": {"enum": values}, **schema}
    oracle = Oracle(whole)
    n = sum(oracle.is_valid(list(array)) for length in range(5) for array in itertools.product(values, repeat=length))
    documents = Documents(whole)
    algebra = Algebra(documents, DEFAULT_OPTIONS, {}, DEFAULT)
    counted = n_any(algebra, algebra.place(documents.root), 1000)
    assert counted <= n and (counted > 0) == (n > 0)


def test_texts_without_end_and_texts_by_length() -> None:
    assert words(of_pattern("^(ab)*$"), 1000) is None
    assert words(of_pattern("a"), 1000) is None
    assert words(of_pattern("^.{1,100000}$"), 1000) is None
    assert n_texts(of_pattern("^[ab]{12}$"), MAX_COUNTED) == 1 << 12
    assert n_texts(of_pattern("^(?=.*a)[abé]{3}$"), MAX_COUNTED) == 3**3 - 2**3
    assert words(of_pattern("(?=b)a"), 10) == []
    assert n_texts(Texts(), 1 << 40) == 1 << 40
    assert n_texts(Texts(most=1), 1 << 40) == N_CHARACTERS + 1
    assert n_texts(Texts(most=1, but=frozenset(["", "a", "ab"])), 1 << 40) == N_CHARACTERS - 1
    assert n_texts(Texts(least=1, most=2), 1 << 60) == N_CHARACTERS + N_CHARACTERS**2
    assert n_texts(Texts(frozenset(["a", "\ud800"])), 5) == 1  # a lone surrogate cannot be written
    with pytest.raises(LimitError):
        n_texts(of_pattern("^a*$"), MAX_COUNTED + 1)


# Each schema with all valid documents that consist of these values.

AB = {"type": "string", "pattern": "^[ab]$"}
KEYS = {"patternProperties": {"^[ab]$": {"enum": [None, ""]}}, "additionalProperties": False, "type": "object"}


def arrays(items: list[Any], least: int, most: int) -> list[list[Any]]:
    """Return the arrays of `least` to `most` different items."""
    return [list(chosen) for n in range(least, most + 1) for chosen in itertools.permutations(items, n)]


def objects(keys: str) -> list[dict[str, Any]]:
    return [
        dict(zip(names, values, strict=True))
        for n in range(len(keys) + 1)
        for names in itertools.permutations(keys, n)
        for values in itertools.product([None, ""], repeat=n)
    ]


@pytest.mark.parametrize(
    ("schema", "documents"),
    [
        ({"type": "array", "items": AB, "uniqueItems": True}, arrays(["a", "b"], 0, 2)),
        ({"type": "array", "items": AB, "uniqueItems": True, "minItems": 2}, arrays(["a", "b"], 2, 2)),
        (
            {"type": "array", "items": {"type": "string", "pattern": "^[abc]$"}, "uniqueItems": True}
            | {"contains": {"const": "a"}},
            [items for items in arrays(["a", "b", "c"], 0, 3) if "a" in items],
        ),
        (
            {"type": "array", "items": {"type": "string", "pattern": "^[abc]$"}, "uniqueItems": True}
            | {"contains": AB, "minContains": 2},
            [items for items in arrays(["a", "b", "c"], 0, 3) if {"a", "b"} <= set(items)],
        ),
        (KEYS | {"minProperties": 1}, [found for found in objects("ab") if found]),
        (KEYS | {"minProperties": 2}, [found for found in objects("ab") if len(found) == 2]),
        (
            KEYS | {"not": {"patternProperties": {"^[ab]$": {"type": "string"}}}},
            [found for found in objects("ab") if None in found.values()],
        ),
        (
            KEYS | {"not": {"patternProperties": {"^[abc]$": {"const": None}}}, "minProperties": 2},
            [found for found in objects("ab") if len(found) == 2 and "" in found.values()],
        ),
        (
            {"properties": {"x": {"type": "array", "items": AB, "uniqueItems": True, "minItems": 3}}}
            | {"type": "object", "additionalProperties": False},
            [{}],
        ),
        (
            {"properties": {"x": KEYS | {"minProperties": 3}}, "type": "object", "additionalProperties": False},
            [{}],
        ),
    ],
)
def test_every_way_through_the_masks_is_finished(schema: Any, documents: list[Any]) -> None:
    grammar = Grammar.from_json_schema(
        schema, property_order="any", whitespace="compact", string_escapes="shortest", number_plain=True
    )
    found = set()
    ways = [b""]
    while ways:
        text = ways.pop()
        matcher = Matcher(grammar, BYTES)
        assert all(map(matcher.accept, text))
        allowed = matcher.mask().nonzero()[0].tolist()
        assert allowed, text
        ways += [text + bytes([token]) for token in allowed if token != EOS]
        if EOS in allowed:
            found.add(text.decode())
    assert found == {json.dumps(document, separators=(",", ":")) for document in documents}


def test_names_that_were_passed_are_not_counted_on() -> None:
    schema = {
        "properties": {"a": True, "b": True, "c": True},
        "patternProperties": {"^z$": True},
        "additionalProperties": False,
        "minProperties": 3,
    }
    grammar = Grammar.from_json_schema(schema)
    for text, is_beginning in [
        ('{"b":1,"c":2,"z":3}', True),
        ('{"b":1,"z"', False),
        ('{"c"', False),
        ('{"a":1,"c"', True),
    ]:
        matcher = Matcher(grammar, BYTES)
        assert all(map(matcher.accept, text.encode())) == is_beginning


@pytest.mark.parametrize(
    "schema",
    [
        {"items": {"type": "string", "maxLength": 1}, "minItems": 2_000, "maxItems": 1_999},
        {"items": {"type": "string", "pattern": "^[0-9a-f]{2}$"}, "minItems": 257},
        {"items": {"type": "integer", "minimum": 1, "maximum": 999}, "minItems": 1000},
        {"items": {"type": "string"}, "contains": {"pattern": "^[ab]$"}, "minContains": 3},
    ],
)
def test_too_few_items_that_differ(schema: Any) -> None:
    with pytest.raises(GrammarError, match="no document satisfies"):
        Grammar.from_json_schema({"type": "array", "uniqueItems": True} | schema)


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"minItems": 1_000_000}, "/minItems"),
        ({"properties": {"x": {"minProperties": 1_000_000}}}, "/properties/x/minProperties"),
        (
            {"type": "array", "prefixItems": [{"type": "string"}], "items": AB, "minItems": 3, "uniqueItems": True},
            "/uniqueItems",
        ),
    ],
)
def test_what_is_not_known_to_be_enough_is_refused(schema: Any, pointer: str) -> None:
    with pytest.raises(GrammarError, match="cannot be enforced") as caught:
        Grammar.from_json_schema(schema)
    assert caught.value.pointer == pointer
