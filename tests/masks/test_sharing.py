"""A grammar uses what earlier ones left on the vocabulary only if it fits exactly.

The key of a part is its regex, whatever grammar it came from. The regexes here differ a little: in a bound, a class,
the order of alternatives. The expected mask is that of a vocabulary without other grammars, and that of the walk.
"""

from __future__ import annotations

import json
from random import Random

import numpy as np
import pytest

from earleymask import Grammar, Matcher, Vocabulary
from support.mask_paths import agreed, all_strings, filled, limits, pieces_of
from support.vocabularies import load

ALIKE = [
    "/a+/", "/a*b/", "/a{1,3}/", "/a{1,4}/", "/a{2,}/", "/[ab]+/", "/[abc]+/", "/[a-é]+/", "/[a-è]+/", "/[^a]+/",
    "/[^ab]+/", "/a.*?b/", "/a.*?c/", "/ab*?c/", "/(a|ab)+?c/", "/(ab|a)+?c/", "/c.*?(?<=a)b/", "/[abc]+(?<!a)/",
    "/[abc]+(?<!b)/", "/é{1,2}/", "/(?:éa?){1,2}/", '"abc"', '"abca"', "/(?i:ab)+/", "/abc|é/",
]  # fmt: skip


def same_as_alone(text: str, shared: Vocabulary, rng: Random, n_tokens: int) -> None:
    """Compare the masks of a random walk on the shared vocabulary and on a new one with the same tokens."""
    tokens = [shared.token_bytes(i) for i in range(shared.size)]
    alone = Vocabulary.from_tokens(tokens, eos_token_id=shared.eos_token_ids)
    matchers = [Matcher(Grammar.from_lark(text), vocabulary) for vocabulary in (shared, alone)]
    for _ in range(n_tokens):
        mask, expected = agreed(matchers[0]), agreed(matchers[1])
        assert np.array_equal(mask, expected), text
        choices = [t for t in np.flatnonzero(mask).tolist() if t not in shared.eos_token_ids]
        if not choices:
            break
        choice = min(rng.sample(choices, min(2, len(choices))), key=lambda t: len(tokens[t]))
        assert all(matcher.accept(choice) for matcher in matchers)


@pytest.mark.parametrize("split_nodes", [1, 5])
def test_terminals_that_differ_by_little(split_nodes: int) -> None:
    rng = Random(split_nodes)
    shared = all_strings("abcé", 3, pieces_of("é"))
    with limits(split_nodes=split_nodes):
        for _ in range(60):
            first, second, ignored = rng.sample(ALIKE, 3)
            text = f'start: (A | B C)+\nA: {first}\nB: {second}\nC: "c"\n'
            text += f"%ignore {ignored}\n" if rng.randrange(2) else ""
            same_as_alone(text, shared, rng, 5)


BODIES = [r'[^"]', r'[^"\x00-\x1f]', r'[^"a]', r'(?:[^"a]|aa)', r'(?:[^"0]|0[^0])', r'[^"]0']
BOUNDS = ["{0,3}", "{1,3}", "{0,4}", "{2,}", "{3}", "{3,}", "*", "+", "{0,18}", "{17,19}", "{20}"]
TAILS = ['"', '",*', '"(?:a"|0)?', '"{1,2}']


def long_tokens() -> list[bytes]:
    """Return tokens of repetitions around the number up to which a family counts in bitmaps, closed and not."""
    return [head + body * n + tail for n in (14, 16, 17, 18, 20, 30) for body in (b"a", b",", b"a0", "é".encode())
            for head in (b"", b'"') for tail in (b"", b'"', b'",', b'"a"', b'""')]  # fmt: skip


@pytest.mark.parametrize("split_nodes", [1, 40])
def test_bounds_bodies_and_tails_of_repetitions(split_nodes: int) -> None:
    """All bounds of one body and tail share a walk; other bodies and tails must not use it."""
    rng = Random(split_nodes)
    shared = all_strings('"a0,é', 3, [*pieces_of("é"), *long_tokens()])
    with limits(split_nodes=split_nodes):
        for _ in range(45):
            body, tail = rng.choice(BODIES), rng.choice(TAILS)
            first, second = (f"/{rng.choice(['', chr(34)])}{body}{rng.choice(BOUNDS)}{tail}/" for _ in range(2))
            same_as_alone(f'start: (A "," | B)+\nA: {first}\nB: {second}\n', shared, rng, 6)
        assert shared.stats()["part_families"] > 10


@pytest.mark.parametrize("split_nodes", [1, 5])
def test_all_but_some_words(split_nodes: int) -> None:
    """A terminal without some words uses what is known of the whole terminal, except along these words."""
    rng = Random(split_nodes)
    shared = all_strings('"abé', 3, [b'a","', b'ab"b', b'"a""b"', *pieces_of("é")])
    bodies = ['"[^"]*"', '"[^"]*"a*', "[ab]*", "[^b]+", '"[^"]{0,4}"', "a*b*", ".*"]
    with limits(split_nodes=split_nodes):
        for _ in range(60):
            words = {"".join(rng.choices("abé", k=rng.randrange(4))) for _ in range(rng.randrange(1, 6))}
            quote = rng.choice(["", '"'])
            without = "|".join(f"{quote}{word}{quote}" for word in sorted(words) if quote or word) or "a"
            text = f"start: (A | B C)+\nA: /{rng.choice(bodies)}/ & ~/{without}/\nB: /{rng.choice(bodies)}/\n"
            same_as_alone(text + f"C: /{rng.choice(bodies)}/ & ~/{without}|{rng.choice(bodies)}/\n", shared, rng, 6)
        assert shared.stats()["parts_taken_over"] > 100


@pytest.mark.parametrize("split_nodes", [1, 5])
def test_bounds_that_no_token_comes_near(split_nodes: int) -> None:
    """Bounds far beyond what a token can spell share the part of an unbounded repetition; nearer bounds do not."""
    rng = Random(split_nodes)
    words = [b"a ", b"a a ", b"a a a", b"b b b b b ", b"a a a a a a a a", b"b" * 30, b"a b  " * 12]
    words += [b'a "', b' "', b' a" b']
    shared = all_strings('ab" ', 3, words)
    bodies = [r"(?:[^ \"]+ +)", r"(?:[^b\"]+ )", r"[^\"]", r"(?:[^ \"]+ +|b)", r"(?:(?:[^ b]+ ){0,5}b)"]
    with limits(split_nodes=split_nodes):
        for _ in range(40):
            body, tail = rng.choice(bodies), rng.choice(["", "[ab]+", '"', ' *"'])
            n = rng.choice([3, 5, 9, 17, 40, 70, 100])
            text = f'start: (A | B "b")+\nA: /{body}{{{rng.choice([0, 1])},{n}}}{tail}/'
            text += f" & /.{{0,{rng.choice([5, 50, 100, 120])}}}/\n" if rng.randrange(2) else "\n"
            same_as_alone(text + f"B: /{body}{{0,{n - 1}}}{tail}/\n", shared, rng, 7)
        assert shared.stats()["parts_unbounded"] > 10


def test_grammars_in_any_order() -> None:
    """The same grammars in another order, on a vocabulary of their own each time, have the same masks."""
    texts = [
        'start: (A | "b" start "c")+\nA: /[^bc]{1,4}b/\n%ignore / +/',
        "start: (A B)+\nA: /a.*?b/\nB: /[^bc]{1,3}b| +/",
        'start: A+\nA: /[^bc]{2,}b|a.+?b/\n%ignore " "',
        "start: (A | B)+\nA: /(?:ab|a)*?c/\nB: /(?:a|ab)*?c/\n%ignore / +/",
        'start: "a" start "b" | / +/ | /[^bc]{0,5}c/',
    ]
    for seed in range(8):
        rng = Random(seed)
        shared = all_strings("abc ", 4)
        with limits(split_nodes=rng.choice([1, 5, 30])):
            for text in rng.sample(texts, len(texts)):
                same_as_alone(text, shared, rng, 5)


def test_answers_within_strings_share_the_bitmap_of_the_string() -> None:
    """After each of these strings something else follows, so each has answers of its own. Their bitmaps are all that of
    the part of any string, and what differs is a list of tokens."""
    vocabulary = load("tekken")
    names = [f"name{i}" for i in range(12)]
    grammar = Grammar.from_json_schema({"properties": {name: {"type": "string"} for name in names}, "required": names})
    matcher = Matcher(grammar, vocabulary)
    by_bytes = {vocabulary.token_bytes(i): i for i in range(vocabulary.size)}
    for byte in json.dumps(dict.fromkeys(names, "words")).encode():
        filled(matcher)
        assert matcher.accept(by_bytes[bytes([byte])])
    stats = matcher.stats()
    assert stats["answers"] > 40 and stats["bitmaps"] <= 4
