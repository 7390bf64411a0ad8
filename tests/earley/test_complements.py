"""A regex less some words: whether it matches anything, and its masks, agree with lists of all its texts."""

from __future__ import annotations

import itertools
import json

from hypothesis import given, settings
from hypothesis import strategies as st

import earleymask
from earleymask.earley._regex import Regexes
from support import vocabularies
from support.mask_paths import agree_along

LETTERS = "ab"
WORDS = ["".join(word) for n in range(4) for word in itertools.product(LETTERS, repeat=n)]


@settings(max_examples=400)
@given(
    st.integers(0, 2),
    st.integers(0, 3),
    st.sets(st.sampled_from(WORDS)),
    st.sampled_from(["", '"', "a", '"b']),
    st.booleans(),
)
def test_it_is_known_whether_a_text_is_left(
    least: int, more: int, words: set[str], rest: str, is_escaped: bool
) -> None:
    """`(x & ~words) rest`, where x are the texts of some lengths, and after each of its beginnings."""
    most = min(least + more, 3)
    regexes = Regexes()
    x = regexes.repeat(regexes.byte_set(LETTERS.encode()), least, most)
    y = regexes.union([regexes.literal(word.encode()) for word in sorted(words)])
    left = {word + rest for word in WORDS if least <= len(word) <= most and word not in words}
    node = regexes.concat(
        [regexes.difference(x, regexes.escaped(y) if is_escaped else y), regexes.literal(rest.encode())]
    )
    for beginning in ["", *WORDS]:
        derived = node
        for byte in beginning.encode():
            derived = next((to for to, by in regexes.derivatives(derived).items() if byte in by), Regexes.EMPTY)
        assert regexes.is_empty(derived) == (not any(text.startswith(beginning) for text in left)), beginning


@settings(max_examples=30, deadline=None)
@given(st.sets(st.text(st.sampled_from('abé"\\ '), max_size=4), min_size=1, max_size=6), st.booleans())
def test_masks_of_keys_without_a_name(names: set[str], has_pattern: bool) -> None:
    """Keys that begin like names, and continue otherwise, are the keys of any other member."""
    schema: dict[str, object] = {"properties": {name: {"type": "integer"} for name in names}, "type": "object"}
    if has_pattern:
        schema["patternProperties"] = {"^a": {"type": "boolean"}}
    grammar = earleymask.Grammar.from_json_schema(schema)
    longest = max(sorted(names), key=len)
    others = [other for other in (longest + "b", longest[:-1], "b" + longest) if other not in names]
    texts = [json.dumps({other: True}, ensure_ascii=False).encode() for other in others]
    agree_along(grammar, vocabularies.load("llama3"), texts)
