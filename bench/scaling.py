"""Measure how times grow.

    python -m bench.scaling      with the size of clumsy grammars (`bench.growth`)

`bench.latency` uses this module to measure how warm masks grow with the vocabulary: 32, 64, 128 and 256 thousand ids of
a union of real vocabularies.

A warm mask may grow like its bitmask, eightfold over these sizes. With each size, the same tokens are followed, those
into which the smallest vocabulary cuts a text: once, then again with a new matcher of the same grammar. The report has
the masks of the second time, from the process whose median is in the middle of several.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TypedDict

from . import growth
from .engines import Earleymask, n_words
from .harness import vocabularies
from .harness.figures import Record, distribution
from .harness.measure import floor_ns, no_garbage_collection

SIZES = (32_000, 64_000, 128_000, 256_000)
REPEATS = 3
"""The number of processes that are measured for each size."""


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
    """Return the result whose warm median is the median of those of all processes."""
    return sorted(results, key=lambda result: float(result["warm_us"]["median"]))[(len(results) - 1) // 2]


if __name__ == "__main__":
    growth.main()
