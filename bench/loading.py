"""Measure how long a grammar takes from its text to the first mask, with a vocabulary of some 130,000 tokens.

    python -m bench.loading [--repeat 500]

The grammars: one of 50 rules; queries in which a name may stand next to another and is none of so many keywords, which
is a lookahead by a list of words; and lists of names after which a blank and one of so many words must not stand,
though a blank must follow.

The vocabulary is tekken, prepared as in a server (`earleymask.prepare`). Each repetition reads the text anew; only what
the vocabulary has learned about terminals is kept. *Hot*: one repetition right after the other. *Cold*: 32 MB are
written before each, which empties the caches of most processors.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from random import Random

import numpy as np

import earleymask

from . import ROOT
from .engines import n_words
from .harness import vocabularies
from .harness.measure import no_garbage_collection

GRAMMAR = ROOT / "bench" / "grammars" / "fifty.lark"
KEYWORDS = (4, 16, 100, 1000)
QUERY = """\
start: "select"i NAME ("," NAME)* "from"i NAME NAME? ("where"i NAME "=" NAME)?
NAME: /(?!(?:{})\\b)[A-Za-z_][A-Za-z_0-9]*/i
WS: /[ \\t\\n]+/
%ignore WS
"""
LIST = """\
start: NAME (" " NAME)+
NAME: /[A-Za-z]+(?! (?:{})\\b)/i
"""
EVICTED_BYTES = 32 << 20
"""The number of bytes that are written to empty the processor's caches; most processors have smaller ones."""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.loading", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--repeat", type=int, default=500, help="repetitions (default: %(default)s)")
    parser.add_argument(
        "--vocabulary", default="tekken", help="a name from bench.harness.vocabularies (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    vocabulary, _ = vocabularies.load(options.vocabulary)
    earleymask.prepare(vocabulary)
    texts = {GRAMMAR.name: GRAMMAR.read_text(encoding="utf-8")}
    texts |= {f"{n} keywords": QUERY.format("|".join(keywords(n))) for n in KEYWORDS}
    texts |= {f"{n} words after names": LIST.format("|".join(keywords(n))) for n in KEYWORDS}
    for title, text in texts.items():
        print(f"{title}, {vocabulary.size:,} tokens, microseconds")
        for name, evicted in (("hot", 0), ("cold", EVICTED_BYTES)):
            loads, firsts = measure(text, vocabulary, options.repeat, evicted)
            for what, times in (("to the grammar", loads), ("to the first mask", firsts)):
                microseconds = [round(time / 1000) for time in times]
                print(f"{name}, {what}: least {min(microseconds)}, median {statistics.median(microseconds):.0f}")


def keywords(n: int) -> list[str]:
    """Return n different words, some of which are beginnings of others."""
    rng = Random(n)
    words = dict.fromkeys(["SELECT", "FROM", "WHERE", "ORDER"])
    while len(words) < n:
        word = "".join(rng.choices("EAINORSTLUCDPM", k=rng.randint(3, 9)))
        words |= dict.fromkeys([word, word[:-1]] if rng.randrange(4) == 0 else [word])
    return list(words)[:n]


def measure(text: str, vocabulary: earleymask.Vocabulary, repeat: int, evicted: int) -> tuple[list[int], list[int]]:
    """Return the nanoseconds from the text to the grammar, and to the first mask. Write `evicted` bytes before each."""
    row = np.empty(n_words(vocabulary), np.int32)
    expected = row.copy()
    earleymask.Matcher(earleymask.Grammar.from_lark(text), vocabulary).walk_bitmask(expected)
    junk = np.zeros(evicted, np.uint8)
    loads, firsts = [], []
    with no_garbage_collection():
        for i in range(repeat):
            junk[:] = i & 1
            began = time.perf_counter_ns()
            grammar = earleymask.Grammar.from_lark(text)
            loaded = time.perf_counter_ns()
            earleymask.Matcher(grammar, vocabulary).fill_bitmask(row)
            ended = time.perf_counter_ns()
            loads.append(loaded - began)
            firsts.append(ended - began)
    if not np.array_equal(row, expected):
        raise AssertionError("the first mask is wrong")
    return loads, firsts


if __name__ == "__main__":
    main()
