"""With lookarounds, atomic groups and ambiguous counts, masks from remembered parts equal those of the merged walk."""

from __future__ import annotations

import random

import numpy as np
import pytest

from earleymask import Grammar, Matcher, Vocabulary
from support.vocabularies import load

GRAMMARS = {
    "keywords": r"""
        start: (K | N | P)+
        K: /(?:if|else|for)\b/
        N: /(?!(?:if|else|for)\b)[a-z]+\b/
        P: /[;=]/
        %ignore / +/""",
    "comments": "start: (C | W)+\nC: /#.*(?m:$)/\nW: /\\w++/\n%ignore /\\s+/",
    "no doubles": 'start: T ";"\nT: /(?:(?!\\.\\.)[a-z.])+(?=;)/',
    "atomic": 'start: (A ",")+\nA: /(?>[a-z]+|[a-z0-9]+)(?:-[0-9]+)?/',
    "lookbehind": 'start: "<" T ">"\nT: /[a-z ]{3,}(?<=ing| to)/',
    "both ways": 'start: T T\nT: /(?=[a-z]*[0-9])(?=[0-9]*[a-z])[a-z0-9]{4,12}\\b/\n%ignore " "',
    "counts": 'start: T "."\nT: /(?:[a-z]|[a-z][a-z]){3,40}/',
    "lazy and ahead": 'start: S+\nS: /".*?(?<!\\\\)"(?!")/',
}


@pytest.mark.parametrize("name", GRAMMARS)
def test_masks_are_those_of_the_walk(name: str) -> None:
    tokens = [load("tekken").token_bytes(i) for i in range(1000, 40000)]
    vocabulary = Vocabulary.from_tokens([*tokens, b""], eos_token_id=len(tokens))
    grammar = Grammar.from_lark(GRAMMARS[name])
    row, walked = np.zeros((2, (vocabulary.size + 31) // 32), dtype=np.int32)
    compared = 0
    for seed in range(3):
        rng = random.Random(seed)
        matcher = Matcher(grammar, vocabulary)
        for _ in range(12):
            matcher.fill_bitmask(row)
            matcher.walk_bitmask(walked)
            assert np.array_equal(row, walked), [vocabulary.token_bytes(t) for t in matcher.tokens]
            assert row.any()
            compared += 1
            allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))
            texts = [int(t) for t in rng.sample(list(allowed), min(9, len(allowed))) if vocabulary.token_bytes(int(t))]
            if not texts or not matcher.accept(rng.choice(texts)):
                break
    assert compared > 10
