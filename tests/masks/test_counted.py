"""Masks of bounded repetitions, whose answers for all bounds come from one walk of the vocabulary, are right."""

from __future__ import annotations

import random
import re
from itertools import product

import numpy as np
import pytest

from earleymask import Grammar, Matcher, Vocabulary
from earleymask.earley._masks import set_limits
from support import mask_paths
from support.vocabularies import load

CHARACTER = r'[^"\\\x00-\x1f]'
JSON = rf'({CHARACTER}|\\(["\\\/bfnrt]|u[0-9a-fA-F]{{4}}))'
COUNTED = {
    "characters": rf'"{CHARACTER}{{0,20}}"',
    "at least": rf'"{CHARACTER}{{9,}}"',
    "escapes": rf'"{JSON}{{3,12}}"',
    "exactly": rf'"{JSON}{{7}}"',
    "long tail": r"<[^<>]{1,9}>( ?[;,])*\n",
    "a tail of many": r"#[^#\n]{0,6}(##[^\n]*)?\n",
    "pairs": r"([a-z][0-9!-~ ]){2,30};",
    "beyond ASCII": r"[^ -~]{2,5}[ -~]",
    "no start of its own": r"[^,]{0,40},",
}
PLAIN = {
    "nothing ends it": r"[a-zA-Z_][a-zA-Z0-9_]{0,30}",
    "ends as it goes on": r'"[^\n]{0,9}"',
    "one body begins another": r"<([a-z]|[a-z]x){0,9}>",
    "two ways": r"<([a-z]|abc){2,9}>",
}


def families(vocabulary: Vocabulary) -> int:
    return vocabulary.stats().get("part_families", 0)


def agree_on_the_way(
    grammar: Grammar, vocabulary: Vocabulary, seed: int, steps: int, *, by_long_tokens: bool = False
) -> None:
    """Compare the masks of a random walk by `fill_bitmask` with those of the merged walk. It prefers short
    tokens, or long ones, but none that end a string."""
    rng = random.Random(seed)
    matcher = Matcher(grammar, vocabulary)
    row, walked = np.zeros((2, (vocabulary.size + 31) // 32), dtype=np.int32)
    for _ in range(steps):
        matcher.fill_bitmask(row)
        matcher.walk_bitmask(walked)
        assert np.array_equal(row, walked), [vocabulary.token_bytes(t) for t in matcher.tokens]
        allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))
        texts = {int(t): vocabulary.token_bytes(int(t)) for t in rng.sample(list(allowed), min(9, len(allowed)))}
        texts = {t: text for t, text in texts.items() if text and not (by_long_tokens and b'"' in text[1:])}
        if not texts or not matcher.accept((max if by_long_tokens else min)(texts, key=lambda t: len(texts[t]))):
            break
    assert matcher.stats()["masks_walked"] == 0  # else the walk was compared with itself


@pytest.mark.parametrize("name", [*COUNTED, *PLAIN])
def test_masks_within_bounded_repetitions(name: str) -> None:
    """With real tokens, grammars with other bounds share one walk, although what follows differs."""
    pattern = (COUNTED | PLAIN)[name]
    tokens = [load("tekken").token_bytes(i) for i in range(1000, 60000)]
    vocabulary = Vocabulary.from_tokens([*tokens, b""], eos_token_id=len(tokens))
    other = re.sub(r"\{(\d+),(\d*)\}", lambda m: f"{{{int(m[1]) // 2},{int(m[2] or 30) + 1}}}", pattern)
    for seed, ending in enumerate(['"]"', '(" " | "." T)']):
        for text in (pattern, other):
            agree_on_the_way(Grammar.from_lark(f"start: T {ending}\nT: /{text}/"), vocabulary, seed, 24)
    assert (families(vocabulary) > 0) == (name in COUNTED)


@pytest.mark.parametrize("split_nodes", [1, 9])
@pytest.mark.parametrize("pattern", [r"a?[bc]{2,4}a", r"([b-d]|a[b-d]){1,3}(e|ea)", r"[^a]{0,3}(a[ab])*a"])
def test_every_short_text(pattern: str, split_nodes: int) -> None:
    """The tokens are all strings of five letters up to length 4; the classes are broad enough for a family."""
    pattern = re.sub(r"\[b", r"[b\\x30-\\x39", pattern)
    letters = "abcde1é"
    tokens = ["".join(word) for length in range(1, 5) for word in product(letters, repeat=length)]
    vocabulary = Vocabulary.from_tokens([t.encode() for t in tokens] + [b""], eos_token_id=len(tokens))
    before = set_limits(split_nodes=split_nodes)
    try:
        for seed in range(12):
            agree_on_the_way(Grammar.from_lark(f'start: (T ","? )+\nT: /{pattern}/'), vocabulary, seed, 12)
    finally:
        set_limits(**before)
    assert families(vocabulary) > 0


def test_strings_of_a_schema_are_counted() -> None:
    """Texts with bounds on their length share one walk, whatever the bounds are: a character in a JSON string can be
    spelled by escapes, one of them a pair of surrogates, and each byte must still select the spelling."""
    tokens = [load("tekken").token_bytes(i) for i in range(1000, 60000)]
    vocabulary = Vocabulary.from_tokens([*tokens, b""], eos_token_id=len(tokens))
    row = np.zeros((vocabulary.size + 31) // 32, dtype=np.int32)
    text = b'"ab 1 cd\\ud83d\\ude00'
    for number, (least, most) in enumerate([(2, 40), (0, 9), (7, 200), (1, 64)]):
        schema = {"type": "string", "minLength": least, "maxLength": most}
        matcher = Matcher(Grammar.from_json_schema(schema), vocabulary)
        for at, byte in enumerate(text):
            before = vocabulary.stats().get("part_nodes_visited", 0)
            assert matcher.accept(tokens.index(bytes([byte])))
            matcher.fill_bitmask(row)
            if (at or number) and b"\\" not in text[: at + 1]:  # a spelling that has begun is not counted
                assert vocabulary.stats()["part_nodes_visited"] == before, (least, most, text[: at + 1])
        assert np.array_equal(mask_paths.filled(matcher), mask_paths.walked(matcher))
    assert families(vocabulary) > 0


PATTERNS = [
    r"^(?:\S+\s+){0,9}\S+$",
    r"^[a-zA-Z0-9 _.-]+$",
    r"^[A-Z][a-z]+( [A-Z][a-z]+)*$",
    r"^\S(.*\S)?$",
    r"[a-z]",
    r"^(/[^/ ]+)+/?$",
    r"^[a-z]{2,40}(-[a-z0-9]{1,20}){0,30}$",
    r"^[^é]*[é€😀][^0-9]{3}$",
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_with_a_bound_on_the_length(pattern: str) -> None:
    """The masks of most lengths are made from the one without the bound; those near the bound are not."""
    tokens = [load("tekken").token_bytes(i) for i in range(1000, 60000)]
    vocabulary = Vocabulary.from_tokens([*tokens, b""], eos_token_id=len(tokens))
    for longest in (70, 150):
        grammar = Grammar.from_json_schema({"type": "string", "pattern": pattern, "maxLength": longest})
        for seed in range(3):
            agree_on_the_way(grammar, vocabulary, seed, 40, by_long_tokens=True)
    stats = vocabulary.stats()
    assert stats["parts_taken_over"] > 10 and stats["parts_unbounded"] > 0, stats
