"""Structural tags mean what their twin reads, on all short texts, for random tags; and on a real vocabulary."""

from __future__ import annotations

import pickle
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest

from earleymask import Grammar, GrammarError, Matcher, Vocabulary
from support import vocabularies
from support.effort import effort
from support.random_tags import EBNF, random_format
from support.tags_twin import Special, TagsTwin, Unit

NAMES = ("<a>", "b>")
"""Special tokens: one that constants contain whole, and one that overlaps it."""
IDS = {Special("<a>"): 257, Special("b>"): 258}
VOCABULARY = Vocabulary.from_tokens(
    [bytes([byte]) for byte in range(256)] + [b"", b"", b""],
    eos_token_id=256,
    special_tokens={"<a>": 257, "b>": 258},
)
DOCUMENTS = {"{'enum': [1]}": {"1"}, EBNF: {"a", "aba", "ababa"}}


def accepted(grammar: Grammar | None, units: list[Unit], longest: int) -> dict[tuple[Unit, ...], bool]:
    """Return, for each text of up to `longest` units, whether the grammar accepts it."""
    found = {}
    texts = [text for n in range(longest + 1) for text in product(units, repeat=n)]
    matcher = None if grammar is None else Matcher(grammar, VOCABULARY)
    for text in texts:
        if matcher is None:
            found[text] = False
            continue
        ids = [IDS[unit] if isinstance(unit, Special) else ord(unit) for unit in text]
        n = matcher.validate([*ids, 256])
        found[text] = n == len(ids) + 1
    return found


def check(format: Any, units: list[Unit], longest: int, vocabulary: Vocabulary | None) -> int:
    """Compare a structural tag with its twin. Return how many texts it has; -1 if it is refused for a good reason."""
    try:
        grammar = Grammar.from_structural_tag({"type": "structural_tag", "format": format}, vocabulary)
    except GrammarError as error:
        message = str(error)
        if "no sentence" in message:
            grammar = None
        elif any(why in message for why in ("has no end", "can never stand", "must begin with one trigger")):
            return -1
        else:
            raise
    twin = TagsTwin(format, NAMES if vocabulary is not None else (), DOCUMENTS)
    n = 0
    for text, is_accepted in accepted(grammar, units, longest).items():
        assert is_accepted == twin.accepts(text), (format, text)
        n += is_accepted
    if grammar is not None:
        assert pickle.loads(pickle.dumps(grammar)) == grammar
    return n


@pytest.mark.parametrize("seed", range(12))
def test_random_tags_equal_their_twin(seed: int) -> None:
    rng = Random(seed)
    words = ["a", "b", "<", "<a", "<a>", "b>", "ab", "aa", "aba"]
    compared = 0
    for _ in range(effort(25, 400)):
        format = random_format(rng, 2, words)
        compared += check(format, list("ab<>1"), 4, None) > 0
    assert compared > 5


@pytest.mark.parametrize("seed", range(12))
def test_random_tags_with_special_tokens_equal_their_twin(seed: int) -> None:
    rng = Random(1000 + seed)
    words = ["a", "<a>", "b>", "<a>b", "a<a>", "b><a>", "<a>b>", "ab>"]
    compared = 0
    for _ in range(effort(25, 400)):
        format = random_format(rng, 2, words)
        compared += check(format, [*"ab<>", *IDS], 3, VOCABULARY) > 0
    assert compared > 5


HERMES = {
    "type": "triggered_tags",
    "triggers": ["<tool_call>"],
    "tags": [
        {
            "begin": '<tool_call>\n{"name": "weather", "arguments": ',
            "content": {
                "type": "json_schema",
                "json_schema": {
                    "type": "object",
                    "properties": {"city": {"type": "string"}, "days": {"type": "integer", "maximum": 14}},
                    "required": ["city"],
                },
            },
            "end": "}\n</tool_call>",
        }
    ],
}


def cuts(text: str, tokens: dict[bytes, int]) -> list[list[int]]:
    """Return all ways to spell a text in tokens."""
    data = text.encode()
    found: list[list[list[int]]] = [[[]]] + [[] for _ in data]
    for end in range(1, len(data) + 1):
        for begin in range(end):
            token = tokens.get(data[begin:end])
            if token is not None:
                found[end] += [[*before, token] for before in found[begin]]
    return found[-1]


@pytest.mark.parametrize("name", ["tekken", "deepseek", "llama3"])
def test_a_trigger_binds_wherever_tokens_cut_it(name: str) -> None:
    vocabulary = vocabularies.load(name)
    tokens = {vocabulary.token_bytes(id_): id_ for id_ in reversed(range(vocabulary.size))}
    tokens.pop(b"", None)
    grammar = Grammar.from_structural_tag({"format": HERMES}, vocabulary)
    row = np.zeros((vocabulary.size + 31) // 32, dtype=np.int32)
    spellings = cuts("a<tool_call>", tokens)
    assert len(spellings) > 50
    before = Matcher(grammar, vocabulary)
    assert before.validate(cuts("a<tool_cal>", tokens)[0]) == len(cuts("a<tool_cal>", tokens)[0])
    for spelling in spellings:
        matcher = Matcher(grammar, vocabulary)
        assert all(matcher.accept(token) for token in spelling), spelling
        matcher.fill_bitmask(row)
        allowed = {id_ for id_ in range(vocabulary.size) if row[id_ // 32] >> (id_ % 32) & 1}
        rest = b'\n{"name": "weather", "arguments": '
        assert allowed == {id_ for token, id_ in all_ids(vocabulary) if token and rest.startswith(token)}


def all_ids(vocabulary: Vocabulary) -> list[tuple[bytes, int]]:
    return [(vocabulary.token_bytes(id_), id_) for id_ in range(vocabulary.size)]


@pytest.mark.parametrize("name", ["tekken", "deepseek"])
def test_masks_of_tags_hold_what_their_bytes_allow(name: str) -> None:
    """At places of a random walk, every token of a real vocabulary against a matcher that reads single bytes."""
    vocabulary = vocabularies.load(name)
    special = {"tekken": "[TOOL_CALLS]", "deepseek": "<｜User｜>"}[name]
    tag = dict(HERMES, triggers=[*HERMES["triggers"], special])
    tag["tags"] = [*HERMES["tags"], {"begin": special + "[", "content": {"type": "any_text"}, "end": "]"}]
    grammar = Grammar.from_structural_tag({"format": tag}, vocabulary)
    letters = Vocabulary.from_tokens(
        [bytes([byte]) for byte in range(256)] + [b""] * (2 + len(vocabulary.special_tokens)),
        eos_token_id=256,
        special_tokens={name: 257 + n for n, name in enumerate(vocabulary.special_tokens)},
    )
    rng = Random(7)
    row = np.zeros((vocabulary.size + 31) // 32, dtype=np.int32)
    matcher, single = Matcher(grammar, vocabulary), Matcher(grammar, letters)
    names = {id_: name for name, id_ in vocabulary.special_tokens.items()}
    compared = 0
    for step in range(60):
        matcher.fill_bitmask(row)
        allowed = [id_ for id_ in range(vocabulary.size) if row[id_ // 32] >> (id_ % 32) & 1]
        if step % 12 == 0:
            for token, id_ in all_ids(vocabulary):
                spelled = list(token) if token else [letters.special_tokens[names[id_]]] if id_ in names else None
                is_allowed = spelled is not None and single.validate(spelled) == len(spelled)
                if id_ in vocabulary.eos_token_ids:
                    is_allowed = single.validate([256]) == 1
                assert (row[id_ // 32] >> (id_ % 32) & 1) == is_allowed, (step, token, id_)
            compared += 1
        likely = [id_ for id_ in allowed if vocabulary.token_bytes(id_)[:1] in b'<{"[' or id_ in names]
        token_id = rng.choice(likely if likely and rng.random() < 0.3 else allowed)
        if token_id in vocabulary.eos_token_ids:
            continue
        assert matcher.accept(token_id)
        token = vocabulary.token_bytes(token_id)
        for each in list(token) or [letters.special_tokens[names[token_id]]]:
            assert single.accept(each)
    assert compared == 5
