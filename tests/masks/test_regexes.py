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


# {0} and {1} become a letter, {2} a few of them.
FORMS = (
    "[a-z ]*{0}[a-z ]*",
    "[^{0},]*",
    "(?:[^{0},]|{0}[a-z])*",
    "(?:[^,]*{0}{1})?[^{1},]*",
    "[^{2},]*{0}?",
    "(?:[a-z]|[{2}][0-9,])+",
    "[^{0}]*{0}{1}[^{0}]*",
    "[a-z]+(?:{0}[^,]*{1})?",
    "(?:[^{2}]|[{2}][^{2}])*",
    "(?:[a-z]{{1,2}}|{0}[0-9 ]+)*{1}?",
    "(?:[ a-z]|{0},[{2}])*",
    "(?:[a-z][a-m][a-z]{{2}}|[a-z][n-z][a-z]{{3}}|{0}[a-z]{{4}})*,?",
)


@pytest.mark.parametrize("form", FORMS)
def test_masks_where_a_few_letters_differ_from_the_others(form: str) -> None:
    rng = random.Random(form)
    texts = {"".join(rng.choices("aeinorstx ,.0", k=rng.randint(1, 6))).encode() for _ in range(8000)}
    tokens = sorted(texts | {load("tekken").token_bytes(i) for i in range(1000, 8000)})
    vocabulary = Vocabulary.from_tokens([*tokens, b""], eos_token_id=len(tokens))
    row, walked = np.zeros((2, (vocabulary.size + 31) // 32), dtype=np.int32)
    for _ in range(6):
        pattern = form.format(*rng.sample("aeinorst", 2), "".join(rng.sample("aeinorst", 3)))
        followed = f'T "," T | T " " /[a-z]+/ | T /{rng.choice("aeinorst")}[a-z]/ "."'
        grammar = Grammar.from_lark(f"start: {followed}\nT: /{pattern}/\n")
        matcher = Matcher(grammar, vocabulary)
        for _ in range(6):
            matcher.fill_bitmask(row)
            matcher.walk_bitmask(walked)
            assert np.array_equal(row, walked), (pattern, [vocabulary.token_bytes(t) for t in matcher.tokens])
            allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))
            token = int(rng.choice(list(allowed)))
            if not vocabulary.token_bytes(token) or not matcher.accept(token):
                break


def test_a_search_walks_few_nodes() -> None:
    """Whatever is searched: the letters of "rocket" do not make a string's mask a walk of the whole trie."""
    tokens = [load("tekken").token_bytes(i) for i in range(1000, 40000)]
    vocabulary = Vocabulary.from_tokens([*tokens, b""], eos_token_id=len(tokens))
    grammar = Grammar.from_json_schema({"type": "string", "pattern": "rocket"})
    matcher = Matcher(grammar, vocabulary)
    row = np.zeros((vocabulary.size + 31) // 32, dtype=np.int32)
    for text in (b'"', b"a", b" ", b"r", b"o"):
        assert matcher.accept(tokens.index(text))
        before = vocabulary.trie.learned.stats()["part_nodes_visited"]
        matcher.fill_bitmask(row)
        visited = vocabulary.trie.learned.stats()["part_nodes_visited"] - before
        assert visited < vocabulary.trie.n_nodes / 3, text
