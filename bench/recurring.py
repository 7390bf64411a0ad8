"""Measure masks at a position that recurs: a batch of 1,000 masks at one position, beside copies of a bitmask.

Three loops differ only in their call: `fill_bitmask(row)`, a copy of one bitmask into another, and a copy of a single
word, which has the cost of a call alone. Positions are spread evenly over the text, which has been followed to its end
before. Each time is that of the fastest of several batches, divided by the size of a batch.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypedDict

import numpy as np

from earleymask.trie import Vocabulary

from .engines import Earleymask, new_row
from .harness import vocabularies
from .harness.figures import distribution
from .harness.measure import no_garbage_collection

BATCH = 1000
"""The number of masks that a batch fills in one loop, so that the time of the timer itself does not matter."""
REPEATS = 7
"""The number of batches that are timed at each position; the fastest counts."""
N_POSITIONS = 25
"""About the number of positions that are measured, at even distances in the text."""
LONG_NS = 100_000_000
"""A batch that takes longer than this is not repeated: it is far slower than copies."""
ALLOWED = 1.5
"""The target: the number of copies whose time a mask may take, in addition to the time of the call."""


class Job(TypedDict):
    vocabulary: str
    kind: str
    tokens: list[int]
    batch: int


def work(job: Job) -> dict[str, Any]:
    vocabulary = vocabularies.load_saved(job["vocabulary"])
    engine, tokens, batch = Earleymask(vocabulary), job["tokens"], job["batch"]
    session = engine.open(engine.grammar(job["kind"]))
    for token in tokens:
        session.fill()
        if not session.accept(token):
            raise AssertionError("earleymask refuses a text of the bench")
    assert session.again is not None
    session = session.again()
    copy, call = floor(vocabulary, batch)
    times = []
    with no_garbage_collection():
        for position, token in enumerate(tokens):
            if position % max(1, len(tokens) // N_POSITIONS) == 0:
                times.append(_least(session.fill, batch))
            session.accept(token)
    bound = ALLOWED * (copy - call) + call
    return {
        "batch": batch,
        "copy_us": round(copy / 1000, 4),
        "call_us": round(call / 1000, 4),
        "bound_us": round(bound / 1000, 4),
        "mask_us": distribution(times),
        "within_bound": sum(ns <= bound for ns in times),
    }


def floor(vocabulary: Vocabulary, batch: int) -> tuple[float, float]:
    """Return the nanoseconds of copying one bitmask, and of the same call with a single word."""
    source, target = new_row(vocabulary), new_row(vocabulary)
    copies = partial(np.copyto, target, source)
    calls = partial(np.copyto, target[:1], source[:1])
    return _least(copies, batch), _least(calls, batch)


def _least(call: Callable[[], object], batch: int) -> int:
    least = None
    for _ in range(REPEATS):
        start = time.perf_counter_ns()
        for _ in range(batch):
            call()
        elapsed = time.perf_counter_ns() - start
        least = elapsed if least is None else min(least, elapsed)
        if elapsed > LONG_NS:
            break
    assert least is not None
    return round(least / batch)
