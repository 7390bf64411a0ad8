"""Long enumerations of arrays and objects: one terminal has the texts and masks that a symbol for each constant has."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import pytest

from earleymask import Grammar, Matcher, Vocabulary
from earleymask.earley._regex import Regexes
from earleymask.grammar.json_schema import enumerations
from support.effort import effort

BYTES = Vocabulary.bytes()
NAMES = ["a", "b", "ab", "é", 'q"', ""]
OPTIONS: list[dict[str, Any]] = [
    {},
    {},
    {"whitespace": "compact"},
    {"whitespace": "any", "max_whitespace": 2},
    {"separators": (" , ", ":")},
    {"property_order": "any"},
    {"spellings": "all"},
    {"number_plain": False},
    {"ensure_ascii": True},
    {"closed": True},
    {"indent": 2},
]


def constant(rng: random.Random, depth: int) -> Any:
    kind = rng.random()
    if depth and kind < 0.35:
        return [constant(rng, depth - 1) for _ in range(rng.choice([0, 1, 1, 2]))]
    if depth and kind < 0.7:
        return {rng.choice(NAMES): constant(rng, depth - 1) for _ in range(rng.choice([0, 1, 2, 2]))}
    return rng.choice([None, True, False, 0, 7, -12, 10**15, 1.5, 2.0, 1e30, "a", "ab", "é", 'q"', "\n", ""])


def walk(rng: random.Random, one: Matcher, other: Matcher) -> bytes:
    """Follow a random text with both matchers, and compare all masks."""
    text = b""
    while True:
        allowed = one.mask()
        assert (allowed == other.mask()).all(), text
        (found,) = allowed.nonzero()
        byte = int(rng.choice(list(found)))
        if byte == 256 or len(text) > 300:
            return text
        assert one.accept(byte) and other.accept(byte)
        text += bytes([byte])


@pytest.mark.parametrize("seed", range(effort(60, 1500)))
def test_masks_are_those_of_separate_constants(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    values = [constant(rng, 3) for _ in range(rng.randint(1, 9))]
    options = rng.choice(OPTIONS)
    schema: Any = {"enum": values, "title": "constants"}
    if rng.random() < 0.3:
        schema = {"type": "array", "items": schema, "maxItems": 3, "uniqueItems": rng.random() < 0.5}
    given: Any = json.dumps(schema, indent=rng.choice([None, 1])) if rng.random() < 0.5 else schema
    apart = Grammar.from_json_schema(given, **options)
    monkeypatch.setattr(enumerations, "MIN_LISTED", 1)
    together = Grammar.from_json_schema(given, **options)
    for _ in range(12):
        walk(rng, Matcher(apart, BYTES), Matcher(together, BYTES))


def test_a_long_enumeration_is_one_terminal() -> None:
    values: list[Any] = [{"name": f"n{i}", "codes": [i, None, {}]} for i in range(5000)]
    grammar = Grammar.from_json_schema({"enum": values})
    for value in (values[0], values[2500], values[4999]):
        for text in (json.dumps(value), json.dumps(value, separators=(",", ":")), json.dumps(value, indent=4)):
            matcher = Matcher(grammar, BYTES)
            assert matcher.validate(text.encode()) == len(text)
            assert all(matcher.accept(byte) for byte in text.encode()) and matcher.is_accepting()
    matcher = Matcher(grammar, BYTES)
    text = json.dumps({"name": "n17", "codes": [18]}).encode()
    assert matcher.validate(text) == text.index(b"18") + 1
    assert grammar.stats()["symbols"] < 10


@pytest.mark.parametrize(
    "keyword",
    [{"type": "object"}, {"not": {"required": ["b"]}}, {"minProperties": 2}, {"allOf": [{"required": ["b"]}]}],
)
def test_what_else_is_demanded_counts(keyword: dict[str, Any]) -> None:
    """Only a place that is nothing but an enumeration becomes one terminal."""
    values: list[Any] = (
        [{"a": i} for i in range(100)] + [{"a": i, "b": 1} for i in range(100)] + [[i] for i in range(100)]
    )
    grammar = Grammar.from_json_schema({"enum": values, **keyword})
    for value in values:
        expected = {
            "type": isinstance(value, dict),
            "not": isinstance(value, dict) and "b" not in value,
            "minProperties": not isinstance(value, dict) or len(value) > 1,
            "allOf": not isinstance(value, dict) or "b" in value,
        }[next(iter(keyword))]
        matcher = Matcher(grammar, BYTES)
        text = json.dumps(value).encode()
        assert (matcher.validate(text) == len(text)) == expected, value


def test_marks_stand_for_their_texts() -> None:
    """All texts of up to six letters, of lists of texts with marks, are judged as the union of what they stand for."""
    rng = random.Random(1)
    for _ in range(effort(25, 300)):
        regexes = Regexes()
        marks = [
            regexes.literal(b"x"),
            regexes.concat([regexes.literal(b"x"), regexes.repeat(regexes.byte_set(b"a"), 0, 2)]),
            regexes.repeat(regexes.byte_set(b"xy"), 1, None),
        ]
        texts = sorted({bytes(rng.choices([0, 1, 2, ord("a"), ord("y")], k=rng.randint(1, 4))) for _ in range(6)})
        node = regexes.marked(texts, marks)
        each = [[marks[b] if b < 3 else regexes.byte_set([b]) for b in text] for text in texts]
        expected = regexes.union([regexes.concat(parts) for parts in each])
        for n in range(7):
            for letters in itertools.product(b"axy", repeat=n):
                assert regexes.matches(node, bytes(letters)) == regexes.matches(expected, bytes(letters)), texts
    with pytest.raises(ValueError, match="nullable"):
        regexes.marked([b"\0"], [regexes.repeat(marks[0], 0, 1)])
    with pytest.raises(ValueError, match="9 marks"):
        regexes.marked([b"\0"], [marks[0]] * 9)
