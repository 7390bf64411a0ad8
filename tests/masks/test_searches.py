"""Masks of strings in which a pattern is searched, which are made from those of any string, are right."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import numpy as np
import pytest

from earleymask import Grammar, Matcher, Vocabulary
from support import vocabularies
from support.mask_paths import agreed, all_strings, cut, limits

PATTERNS = [
    "b",
    "ab",
    "ab$",
    "aab|ba",
    "[ab]{3}",
    "(a|b)\\s?\\\\",
    '"',
    'a"b',
    "é",
    "[0-9a-f]{8}-[0-9a-f]{4}",
    "a.b.{3}$",
    "^a|b",
    "\\n.",
    "😀",
    "a?",
    "^[^a]*a",
]


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("options", [{}, {"string_escapes": "shortest"}, {"ensure_ascii": True, "spellings": "all"}])
@pytest.mark.parametrize("is_key", [False, True])
def test_every_short_string(pattern: str, options: dict[str, Any], is_key: bool) -> None:
    """At each position that some tokens lead to, with tokens that go on in, end and leave the string."""
    tokens = [
        'a"',
        '"',
        '",',
        'b"}',
        '\\"',
        '\\"b',
        "\\",
        "\\\\",
        "\\u00",
        "e9",
        '":1',
        'ab":',
        '": 1}',
        "\\n",
        "é",
        "😀",
        "\\n\\",
    ]
    pieces = ["é".encode()[:1], "é".encode()[1:], "😀".encode()[:2], "😀".encode()[2:] + b'"']
    vocabulary = all_strings(
        "ab", 3, [*[token.encode() for token in tokens], *pieces, b"{", b"[", b"]", b"}", b"0", b"1"]
    )
    of_text = {"type": "string", "pattern": pattern}
    schema = {"patternProperties": {pattern: {"const": 1}}, "additionalProperties": False, "minProperties": 1}
    rng = Random(f"{pattern} {options}")
    with limits(split_nodes=1, small_nodes=1):
        grammar = Grammar.from_json_schema({"type": "object", **schema} if is_key else of_text, **options)
        start = b'{"' if is_key else b'"'
        for _ in range(6):
            matcher = Matcher(grammar, vocabulary)
            for byte in start:
                assert matcher.accept(ids_of(vocabulary)[bytes([byte])])
            for _ in range(8):
                mask = agreed(matcher)
                allowed = [t for t in np.flatnonzero(mask).tolist() if t not in vocabulary.eos_token_ids]
                if not allowed:
                    break
                assert matcher.accept(rng.choice(allowed))
    assert vocabulary.stats()["parts_taken_over"] > 0 or pattern == "^[^a]*a"


def ids_of(vocabulary: Vocabulary) -> dict[bytes, int]:
    return {vocabulary.token_bytes(t): t for t in range(vocabulary.size)}


@pytest.mark.parametrize("name", ["llama3", "tekken"])
def test_parts_are_those_of_any_string(name: str) -> None:
    """With a real vocabulary, few nodes of the trie are looked at beside those of any string."""
    vocabulary = vocabularies.load(name)
    schema = {"type": "string", "pattern": "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}"}
    matcher = Matcher(Grammar.from_json_schema(schema), vocabulary)
    twin = Grammar.from_json_schema(schema)
    ids = ids_of(vocabulary)
    visited = []
    for character in json.dumps("x01234567-89ab-cdef"):
        before = vocabulary.stats().get("part_nodes_visited", 0)
        agreed(matcher, twin)
        visited.append(vocabulary.stats()["part_nodes_visited"] - before)
        assert matcher.accept(ids[character.encode()])
    assert max(visited[2:-1]) < 40_000 < vocabulary.stats()["trie_nodes"] / 4
    assert vocabulary.stats()["parts_taken_over"] >= 16


def test_random_patterns() -> None:
    rng = Random(1)
    vocabulary = Vocabulary.from_tokens([*cut("tekken", 20_000), b""], eos_token_id=20_000)
    n_taken = 0
    for _ in range(60):
        pattern = "".join(
            rng.choice(["a", "e", "[a-f]", "[0-9]", "\\d+", ".", "(in|on)", "t?", "s*", "-", " ", "\\w"])
            for _ in range(rng.randint(1, 5))
        )
        pattern += rng.choice(["", "", "$"])
        matcher = Matcher(Grammar.from_json_schema({"pattern": pattern, "type": "string"}), vocabulary)
        before = vocabulary.stats().get("parts_taken_over", 0)
        for _ in range(6):
            mask = agreed(matcher)
            allowed = [
                t for t in np.flatnonzero(mask).tolist() if t != 20_000 and b'"' not in vocabulary.token_bytes(t)[1:]
            ]
            if not allowed:
                break
            assert matcher.accept(rng.choice(allowed))
        n_taken += vocabulary.stats()["parts_taken_over"] > before
    assert n_taken > 20
