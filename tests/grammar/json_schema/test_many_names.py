"""Objects of many names: their keys are one followed terminal, with the masks that a key for each name has."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from earleymask import Grammar, GrammarError, Matcher, Vocabulary
from earleymask.grammar.json_schema import load, object_rules
from support.effort import effort

NAMES = ["a", "ab", "abc", "b", "b c", "é", 'q"', ""]
VALUES: list[Any] = [
    {"type": "integer"},
    {"type": "string"},
    {"type": "boolean", "title": "yes or no"},
    {"enum": [1, "x", None]},
    {"const": {"a": [1]}},
    {"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "integer"}}, "additionalProperties": False},
    {"type": "array", "items": {"type": "integer"}, "maxItems": 2},
    {"$ref": "#"},
    {"type": "string", "not": {}},
    {},
]
KEYWORDS: list[dict[str, Any]] = [
    {},
    {"additionalProperties": False},
    {"additionalProperties": {"type": "integer"}},
    {"patternProperties": {"^z": {"type": "null"}}, "additionalProperties": False},
    {"patternProperties": {"b": {"type": "integer"}}},
    {"propertyNames": {"maxLength": 2}},
    {"maxProperties": 2},
    {"minProperties": 1},
    {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
]


def random_schema(rng: random.Random) -> dict[str, Any]:
    names = rng.sample(NAMES, rng.randint(1, 6))
    found: dict[str, Any] = {"type": "object", "properties": {name: rng.choice(VALUES) for name in names}}
    if rng.random() < 0.4:
        found["required"] = rng.sample(names, rng.randint(1, min(2, len(names))))
    return found | rng.choice(KEYWORDS[:3] if rng.random() < 0.6 else KEYWORDS)


def documents(rng: random.Random, grammar: Grammar, n: int) -> list[bytes]:
    """Return random texts of a grammar, and the beginnings of others."""
    found = []
    every_byte = Vocabulary.bytes()
    for _ in range(n):
        matcher = Matcher(grammar, every_byte)
        text = b""
        while len(text) < 60:
            allowed = [int(byte) for byte in matcher.mask().nonzero()[0]]
            closing = [byte for byte in allowed if byte == 256 or byte in b'"},:]1at']
            byte = rng.choice(closing if closing and rng.random() < 0.7 else allowed)
            if byte == 256:
                break
            assert matcher.accept(byte)
            text += bytes([byte])
        found.append(text)
    return found


def with_tokens_of(rng: random.Random, texts: list[bytes]) -> Vocabulary:
    """Return all bytes, and random parts of the texts, so that tokens cross the ends of keys in many ways."""
    tokens = {bytes([byte]): True for byte in range(256)}
    for text in texts:
        for _ in range(25):
            begin = rng.randrange(len(text))
            tokens[text[begin : begin + rng.randint(1, 14)]] = True
            tokens[text[begin : begin + rng.randint(1, 5)] + rng.choice([b'": 1', b'":"', b'": {', b"}", b', "a'])] = (
                True
            )
    return Vocabulary.from_tokens([*tokens, b""], eos_token_id=len(tokens))


@pytest.mark.parametrize("seed", range(effort(80, 2000)))
def test_masks_are_those_of_separate_keys(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    schema = random_schema(rng)
    options = rng.choice([{}, {}, {"whitespace": "compact"}, {"whitespace": "any", "max_whitespace": 1}])
    order = rng.choice(["any", "schema"])
    if rng.random() < 0.2:
        schema = {"type": "array", "items": schema, "uniqueItems": rng.random() < 0.5, "maxItems": 2}
    try:
        apart = Grammar.from_json_schema(schema, property_order=order, strict=False, **options)
    except GrammarError:
        return  # a required member has no value
    for module in (load, object_rules):
        monkeypatch.setattr(module, "MIN_NAMES", 1)
    listed = Grammar.from_json_schema(schema, property_order=order, strict=False, **options)
    texts = [text for grammar in (apart, listed) for text in documents(rng, grammar, 4)]
    vocabulary = with_tokens_of(rng, texts)
    tokens = [vocabulary.token_bytes(token) for token in range(vocabulary.size)]
    for text in texts:
        one, other = Matcher(apart, vocabulary), Matcher(listed, vocabulary)
        at = 0
        while True:
            expected = one.mask()
            found = other.mask()
            assert [tokens[i] for i in (expected != found).nonzero()[0]] == [], (schema, text[:at])
            if at == len(text):
                break
            following = [i for i in expected.nonzero()[0] if tokens[i] and text.startswith(tokens[i], at)]
            token = int(rng.choice(following))
            assert one.accept(token) and other.accept(token)
            at += len(tokens[token])


def test_an_object_of_many_names_has_few_symbols() -> None:
    names = [f"name{i}" for i in range(20_000)]
    schema = {
        "type": "object",
        "properties": {name: {"type": ["integer", "null", "string"][i % 3]} for i, name in enumerate(names)},
        "required": names[:2],
        "additionalProperties": False,
    }
    grammar = Grammar.from_json_schema(schema, property_order="any")
    matcher = Matcher(grammar, Vocabulary.bytes())
    text = json.dumps({names[i]: [1, None, "x"][i % 3] for i in (19_999, 5, 1, 7, 3, 0)}).encode()
    for byte in text:
        assert matcher.mask()[byte] and matcher.accept(byte)
    assert matcher.is_accepting()
    assert grammar.stats()["symbols"] < 200
    wrong = [('{"name5": ', "1"), ('{"name3": 1, "name3', '"'), ('{"name2000', "0"), ('{"name3": 1', "}")]
    for allowed, refused in wrong:
        assert Matcher(grammar, Vocabulary.bytes()).validate((allowed + refused).encode()) == len(allowed)


def test_tokens_that_begin_and_end_within_characters() -> None:
    """A token that ends a key may begin within a character of it, and end within one of the next key."""
    schema = {"type": "object", "patternProperties": {"^[éè]$": {"type": "integer"}}, "additionalProperties": False}
    grammar = Grammar.from_json_schema(schema, property_order="any")
    tokens = [bytes([byte]) for byte in range(256)]
    tokens += [b'\xa9": 1, "', b'\xa9": 1, "\xc3', b'\xa9": 1, "\xc3\xa9', b'": 1, "\xc3', b'": 1, "\xc3\xa8']
    vocabulary = Vocabulary.from_tokens([*tokens, b""], eos_token_id=len(tokens))
    for written, allowed in (('{"', [1, 1, 0, 1, 1]), ('{"è": 1, "', [0, 0, 0, 0, 0])):
        matcher = Matcher(grammar, vocabulary)
        for byte in written.encode() + b"\xc3":
            assert matcher.accept(byte)
        assert list(matcher.mask()[256:259]) == [bool(one) for one in allowed[:3]]
        assert matcher.accept(0xA9)
        assert list(matcher.mask()[259:261]) == [bool(one) for one in allowed[3:]]
