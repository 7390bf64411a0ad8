"""`anyOf` and `oneOf` with constants as branches agree with `jsonschema` on a list of small documents."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from jsonschema.validators import validator_for

from earleymask import Grammar, GrammarError, Matcher
from support.schema_grammars import accepts
from support.sentences import BYTES

SCALARS: list[Any] = ["a", "b", "ab", "é", 1, 1.0, 2, True, False, None]
DOCUMENTS: list[Any] = [*SCALARS, 3, "c", [], [1], {}, {"a": 1}]
DRAFTS = [
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2020-12/schema",
]


def branch(rng: random.Random) -> dict[str, Any]:
    kind = rng.random()
    found: dict[str, Any] = {"type": rng.choice(["string", "null", "boolean"])}
    if kind < 0.5:
        found = {"const": rng.choice(SCALARS if rng.random() < 0.9 else DOCUMENTS)}
    elif kind < 0.85:
        found = {"enum": rng.choices(SCALARS, k=rng.randint(1, 3))}
    for chance, beside in [
        (0.3, {"title": "x"}),
        (0.2, {"type": rng.choice(["string", "string", ["string", "null"], "number"])}),
        (0.1, {"x-foo": 1}),
        (0.05, {"minLength": 2}),
    ]:
        if rng.random() < chance:
            found |= beside
    return found


def schema_of(rng: random.Random) -> dict[str, Any]:
    choice: dict[str, Any] = {rng.choice(["anyOf", "oneOf"]): [branch(rng) for _ in range(rng.randint(1, 5))]}
    around: list[dict[str, Any]] = [
        choice,
        {"not": choice},
        {"anyOf": [choice, {"type": "boolean"}]},
        {"allOf": [choice, {"type": ["string", "boolean"]}]},
        {"type": "string", **choice},
        {"oneOf": [choice, {"type": ["string", "null"]}]},
    ]
    return {"$schema": rng.choice(DRAFTS), **rng.choice(around)}


def tagged_branch(rng: random.Random) -> dict[str, Any]:
    """Make an object that a constant distinguishes from others, or nearly does."""
    tag: dict[str, Any] = {"const": rng.choice("abcd")}
    if rng.random() < 0.2:
        tag = {"enum": rng.choices("abcd", k=2)}
    found: dict[str, Any] = {"type": "object", "properties": {"t": tag}, "required": ["t"]}
    for chance, beside in [
        (0.3, {"properties": {"t": tag, "v": {"type": rng.choice(["integer", "string"])}}}),
        (0.2, {"required": rng.choice([["v"], ["v", "t"], []])}),
        (0.1, {"type": ["object", "null"]}),
        (0.1, {"$id": f"http://example.com/{rng.random()}"}),
        (0.1, {"additionalProperties": False}),
    ]:
        if rng.random() < chance:
            found |= beside
    return found


@pytest.mark.parametrize("seed", range(300))
def test_branches_that_are_constants(seed: int) -> None:
    agree(schema_of(random.Random(seed)), DOCUMENTS)


@pytest.mark.parametrize("seed", range(200))
def test_branches_that_constants_tell_apart(seed: int) -> None:
    rng = random.Random(seed)
    choice = {"oneOf": [tagged_branch(rng) for _ in range(rng.randint(1, 4))]}
    schema = {"$schema": rng.choice(DRAFTS), **rng.choice([choice, {"not": choice}, {"required": ["v"], **choice}])}
    tags: list[dict[str, Any]] = [{}, {"t": 1}, *({"t": tag} for tag in "abcd")]
    agree(schema, [tag | beside for tag in tags for beside in ({}, {"v": 1}, {"v": "x"}, {"w": 1})] + [None, 1])


def agree(schema: dict[str, Any], documents: list[Any]) -> None:
    oracle = validator_for(schema)(schema)
    wanted = [document for document in documents if oracle.is_valid(document)]
    try:
        grammar = Grammar.from_json_schema(schema, property_order="any", spellings="all")
    except GrammarError:
        assert not wanted
        return
    for document in documents:
        text = json.dumps(document, ensure_ascii=False).encode()
        is_valid = Matcher(grammar, BYTES).validate([*text, 256]) == len(text) + 1
        assert is_valid == oracle.is_valid(document), document


CORE = {f"https://json-schema.org/draft/2020-12/vocab/{name}": True for name in ("core", "applicator")}
PLAIN = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "http://m.example/m", "$vocabulary": CORE}


@pytest.mark.parametrize(
    "branches",
    [
        [{"type": "object", "required": [["x"]], "properties": {}}, {"not": {}}],
        [{"type": {"a": 1}, "properties": {"a": {"not": {}}}}, {"type": [[1]], "not": {}}],
        [{"required": ["k"], "type": "object", "properties": {"k": {"const": float("nan")}}}, {"not": {}}],
    ],
    ids=str,
)
def test_what_is_no_keyword_does_not_tell_branches_apart(branches: list[Any]) -> None:
    """Without the vocabulary of assertions, these names are no keywords, and their values are not checked."""
    registry = {"http://m.example/m": PLAIN}
    schema = {"$schema": "http://m.example/m", "oneOf": branches}
    grammar = Grammar.from_json_schema(schema, registry=registry)
    assert accepts(grammar, "1") and accepts(grammar, '{"k": 1}')
