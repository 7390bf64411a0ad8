"""How a warm mask grows with the vocabulary: real vocabularies united and cut to 32, 64, 128 and 256 thousand ids.

A warm mask may grow as its bitmask does, eightfold over these sizes. All follow the same tokens, those into which the
smallest one cuts a text: once, then again by a new matcher of the same grammar, whose masks are reported. Of several
processes the one in the middle is.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TypedDict

from .engines import Earleymask, n_words
from .harness import vocabularies
from .harness.figures import Record, distribution
from .harness.measure import floor_ns, no_garbage_collection

SIZES = (32_000, 64_000, 128_000, 256_000)
REPEATS = 3


class Job(TypedDict):
    vocabulary: str
    kind: str
    tokens: list[int]


def work(job: Job) -> Record:
    vocabulary = vocabularies.load_saved(job["vocabulary"])
    engine = Earleymask(vocabulary)
    session = engine.open(engine.grammar(job["kind"]))
    passes = []
    for _ in range(2):
        times = []
        with no_garbage_collection():
            for token in job["tokens"]:
                start = time.perf_counter_ns()
                session.fill()
                times.append(time.perf_counter_ns() - start)
                if not session.accept(token):
                    raise AssertionError("earleymask refuses a text of the bench")
        passes.append(distribution(times))
        assert session.again is not None
        session = session.again()
    return {
        "size": vocabulary.size,
        "tokens": len(job["tokens"]),
        "floor_us": floor_ns(n_words(vocabulary)) / 1000,
        "first_us": passes[0],
        "warm_us": passes[1],
    }


def middle(results: Sequence[Record]) -> Record:
    """Of the results of several processes, the one whose warm median is the median of theirs."""
    return sorted(results, key=lambda result: float(result["warm_us"]["median"]))[(len(results) - 1) // 2]
