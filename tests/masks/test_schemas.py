"""Masks of JSON Schemas over whole real vocabularies are equal by answers, by the walk, and token by token."""

from __future__ import annotations

from random import Random

import pytest

from earleymask import Grammar, Matcher
from support import vocabularies
from support.mask_paths import filled, walked

OPEN = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "tags": {"items": {"type": "string"}, "uniqueItems": True}},
    "required": ["id"],
    "additionalProperties": {"type": ["number", "boolean"]},
}
TEXT = (
    '{"id": 12, "tags": ["new", "newer", "né", "n\\u0065xt"], "size": 1.5, "si": true, "sizes": 12e3,'
    ' "\\u0073ized": false, "a": 0, "b":1,"c":2,"d":3}'
)


@pytest.mark.parametrize("name", ["tekken", "deepseek"])
@pytest.mark.parametrize("order", ["any", "schema"])
def test_keys_and_items_that_come_once(name: str, order: str) -> None:
    vocabulary = vocabularies.load(name)
    tokens = vocabularies.load_encoder(name).encode(TEXT)
    matcher = Matcher(Grammar.from_json_schema(OPEN, property_order=order), vocabulary)
    rng = Random(name)
    quoted = [token for token in range(vocabulary.size) if vocabulary.token_bytes(token).count(b'"') > 1]
    n_refused = 0
    for token in tokens:
        mask = filled(matcher)
        if rng.random() < 0.3:
            assert (walked(matcher) == mask).all()
        tried = [
            *rng.sample(range(vocabulary.size), 20),
            *rng.sample(mask.nonzero()[0].tolist(), min(20, mask.sum())),
            *quoted,
        ]
        for other in tried:
            assert (matcher.validate([other]) == 1) == mask[other], (matcher.tokens, vocabulary.token_bytes(other))
        n_refused += int((~mask[quoted]).sum())
        assert matcher.accept(token)
    assert matcher.is_accepting() and n_refused > 1000


def test_a_token_that_writes_a_key_twice() -> None:
    """Only the token in which a key ends, gets its value and begins again is refused."""
    spelled = [b'{"a":1', b',"a":2', b',"b":2', b',"b":3,"b"', b',"b":3,"c"', b'":1,"a"', b'":1,"b"', b',"a', b"}"]
    vocabulary = vocabularies.Vocabulary.from_tokens(
        [*spelled, *(bytes([b]) for b in range(256)), b""], eos_token_id=265
    )
    matcher = Matcher(Grammar.from_json_schema({"additionalProperties": {"type": "integer"}}), vocabulary)
    assert matcher.accept(0)
    assert matcher.mask()[: len(spelled)].tolist() == [False, False, True, False, True, False, False, True, True]
    assert matcher.accept(spelled.index(b',"a'))  # the beginning of another key
    for byte in b"b":
        assert matcher.accept(len(spelled) + byte)
    assert matcher.mask()[: len(spelled)].tolist() == [False] * 6 + [True, False, True]  # "ab}" may be a key
