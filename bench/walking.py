"""Measure the time of the merged walk for each trie node that it visits, inside a JSON string, where it visits most."""

from __future__ import annotations

import time
from typing import TypedDict

from .engines import Earleymask, new_row
from .harness import vocabularies
from .harness.figures import Record
from .harness.measure import no_garbage_collection

TEXT = '["a'
REPEATS = 20
"""The number of walks that are timed; the fastest counts."""


class Job(TypedDict):
    vocabulary: str


def work(job: Job) -> Record:
    """Return the least time of a walk in microseconds, the nodes that it visits, and the nanoseconds per node."""
    vocabulary = vocabularies.load_saved(job["vocabulary"])
    engine = Earleymask(vocabulary)
    session = engine.open(engine.grammar("json"))
    assert session.walk is not None
    ids = {vocabulary.token_bytes(token): token for token in reversed(range(vocabulary.size))}
    for letter in TEXT:
        if not session.accept(ids[letter.encode()]):
            raise AssertionError("earleymask refuses a text of the bench")
    row, times = new_row(vocabulary), []
    session.walk(row)
    before = session.stats()["nodes_visited"]
    with no_garbage_collection():
        for _ in range(REPEATS):
            start = time.perf_counter_ns()
            session.walk(row)
            times.append(time.perf_counter_ns() - start)
    nodes = (session.stats()["nodes_visited"] - before) // REPEATS
    return {"walk_us": min(times) / 1000, "nodes": nodes, "ns_per_node": round(min(times) / nodes, 3)}
