"""Measure the profile of a text: in which way each mask was found, and what the ways take.

`Matcher.stats()` counts masks by the way in which they were found (`masks_known`, `masks_new_part`, ...). This bench
reads it after each mask, so that each time has its way. Reading it disturbs the processor's caches, so times are a
little above those of `requests.py`; compare the shares only.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TypedDict

from .engines import Earleymask, Session
from .harness import memory, vocabularies
from .harness.figures import Record, distribution
from .harness.measure import no_garbage_collection

PREFIX = "masks_"
# The names of the counters of `Matcher.stats()` in tables. Others have their own names there.
NAMES = {
    "masks_known": "whole position known",
    "masks_union_known": "known union of answers",
    "masks_answers_known": "answers (skeletons) known",
    "masks_parts_known": "parts known",
    "masks_new_part": "new part",
    "masks_new_state": "new lexer state",
    "masks_walked": "merged walk (fall-back)",
}


class Job(TypedDict):
    vocabulary: str
    kind: str
    tokens: list[int]


def work(job: Job) -> Record:
    """Profile the first request of a process, then the same text again.

    Returns also by how much the process, which has no other engine, has grown since before it loaded the vocabulary.
    """
    before = memory.resident_bytes()
    engine = Earleymask(vocabularies.load_saved(job["vocabulary"]))
    loaded = memory.resident_bytes()
    session = engine.open(engine.grammar(job["kind"]))
    cold = profile(session, job["tokens"])
    assert session.again is not None
    session = session.again()
    warm = profile(session, job["tokens"])
    grown = {"vocabulary": loaded - before, "end": memory.resident_bytes() - before}
    return {"cold": cold, "warm": warm, "resident_bytes": grown}


def profile(session: Session, tokens: Sequence[int]) -> Record:
    """Return for each way the distribution of the times of its masks, and their sum in microseconds."""
    times: dict[str, list[int]] = {}
    before = session.stats()
    with no_garbage_collection():
        for token in tokens:
            start = time.perf_counter_ns()
            session.fill()
            elapsed = time.perf_counter_ns() - start
            after = session.stats()
            times.setdefault(_way(before, after), []).append(elapsed)
            before = after
            if not session.accept(token):
                raise AssertionError("earleymask refuses a text of the bench")
    order = [*NAMES, *(name for name in times if name not in NAMES)]
    return {
        name: {**distribution(times[name]), "sum": round(sum(times[name]) / 1000, 1)} for name in order if name in times
    }


def _way(before: dict[str, int], after: dict[str, int]) -> str:
    """Return the counter that was incremented; "masks" if the engine does not distinguish ways."""
    return next((name for name in after if name.startswith(PREFIX) and after[name] > before.get(name, 0)), "masks")
