"""Grammars, patterns, vocabularies and walks to try: one maker for Hypothesis and for `campaign.py`.

Everything is drawn from a `random.Random`.  The campaign gives one seeded by a number; Hypothesis gives its own
(`st.randoms`), whose choices it records and shrinks.  A grammar is kept as data (`GrammarSketch`), so that a
difference can also be shrunk here, by leaving parts out (`smaller`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import Any, Iterator, Mapping, Sequence

from hypothesis import strategies as st

# --- patterns --------------------------------------------------------------------------------------------------------

LETTERS = "abcA_1é"
CLASSES = [
    "[a-c]", "[^a]", "[^b-z]", r"\w", r"\d", r"[\w-]", "[à-ü]", "[a1é]", ".", r"[^\"\\\n]", r"[一-龥ぁ-ん]", r"[^\x00-\x7f]",
    "(?i:b)", "(?i:é)", r"[\U0001f300-\U0001faff]", r"\s", r"[\S]", r"[^\W\d]",
]  # fmt: skip
LITERALS = [
    "a",
    "b",
    "ab",
    "aa",
    "abc",
    "ba",
    "é",
    "日本",
    "😀",
    "0",
    "1",
    "12",
    "_",
    " ",
    "ß",
    "(?i:ab)",
    r"\+",
    r"\.",
    "the",
]


def make_pattern(rng: Random, depth: int = 2, lazy: bool = True) -> str:
    """A pattern of Python's `re` without lookarounds; it may match the empty text."""
    roll = rng.randrange(10) if depth else rng.randrange(5)
    if roll < 3:
        return rng.choice(LITERALS)
    if roll < 5:
        return rng.choice(CLASSES)
    if roll < 7:
        return "".join(make_pattern(rng, depth - 1, lazy) for _ in range(rng.randint(2, 3)))
    if roll < 8:
        return "(?:" + "|".join(make_pattern(rng, depth - 1, lazy) for _ in range(rng.randint(2, 3))) + ")"
    counts = ["*", "+", "?", "{2}", "{1,3}", "{0,2}", "{2,}"]
    repeated = f"(?:{make_pattern(rng, depth - 1, lazy)}){rng.choice(counts)}"
    return repeated + ("?" if lazy and rng.randrange(4) == 0 else "")


@st.composite
def patterns(draw: st.DrawFn, lazy: bool = True) -> str:
    return make_pattern(draw(st.randoms(use_true_random=False)), draw(st.integers(0, 3)), lazy)
