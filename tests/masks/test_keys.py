"""Tokens in which a key, its value and the next key end: the same key may not come twice.

Masks are made as if the text of a key did not matter, and then doubtful tokens are tried. Here each token is tried.
"""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from earleymask import Grammar, Matcher, Vocabulary

PIECES = [
    '"',
    "a",
    "b",
    "n",
    ":",
    ",",
    "1",
    "{",
    "}",
    "[",
    "]",
    " ",
    "\\",
    '"a":',
    '"b":1',
    '":',
    '","',
    "\\u0061",
    '""',
    "},",
]
VALUES = ("1", '""', "{}", "[]")

OPEN = {"type": "object"}
SCHEMAS: list[Any] = [
    OPEN,
    {"type": "object", "additionalProperties": OPEN},
    {"type": "object", "properties": {"a": OPEN, "b": {"type": "integer"}}, "required": ["b"]},
    {"type": "object", "properties": {"a": OPEN}, "additionalProperties": False},
    {"type": "object", "patternProperties": {"^a|b$": OPEN}, "maxProperties": 2},
    {"type": "object", "propertyNames": {"pattern": "^(a|b.*)$"}, "minProperties": 2},
    {"type": "object", "propertyNames": {"maxLength": 1}},
    {"type": "array", "items": OPEN, "uniqueItems": True},
    {
        "type": "object",
        "additionalProperties": {"type": "array", "items": {"type": ["string", "object"]}, "uniqueItems": True},
    },
]


def tokens(rng: Random) -> list[bytes]:
    found = {"".join(rng.choices(PIECES, k=rng.randint(2, 6))) for _ in range(1500)}
    for key in ("a", "b", "n", "ab"):
        for value in VALUES:
            document = f'{{"{key}":{value},"{key}":{value}}},{{"{key}":{value}}}'
            for _ in range(40):
                begin = rng.randrange(len(document))
                found.add(document[begin : begin + rng.randint(2, 14)])
    texts = sorted({text.encode() for text in found})
    return [bytes([byte]) for byte in range(256)] + [text for text in texts if len(text) > 1]


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize("number", range(len(SCHEMAS)))
def test_a_mask_has_the_tokens_that_are_accepted(number: int, order: str) -> None:
    rng = Random(f"keys {number} {order}")
    spelled = tokens(rng)
    vocabulary = Vocabulary.from_tokens([*spelled, b"<eos>"], eos_token_id=len(spelled))
    for spellings in ("plain", "all"):
        grammar = Grammar.from_json_schema(SCHEMAS[number], strict=False, property_order=order, spellings=spellings)
        for _ in range(2):
            matcher = Matcher(grammar, vocabulary)
            for _ in range(12):
                mask = matcher.mask()
                trial = matcher.fork()
                accepted = np.array([trial.validate([token]) == 1 for token in range(vocabulary.size)])
                wrong = np.flatnonzero(mask != accepted)
                assert not len(wrong), [(spelled[token], bool(mask[token])) for token in wrong[:5]]
                likely = [t for t in np.flatnonzero(accepted) if t < len(spelled) and b'"' in spelled[t]]
                if not likely:
                    break
                assert matcher.accept(int(rng.choice(likely)))
