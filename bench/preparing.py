"""Measure what `earleymask.prepare` costs, and what it saves the first request of a process.

Each process is new. It loads the vocabulary, prepares it in one of `WAYS`, reads its first grammar and follows the
beginning of a text, without peers. The parts are built, or read from a file that another process wrote, or not
prepared, so that the first masks make what they need.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypedDict

from tqdm import tqdm

from .engines import Earleymask
from .harness import children, memory, vocabularies
from .harness.figures import Record, distribution
from .harness.measure import no_garbage_collection

WAYS = ("built", "file", "none")
N_PROCESSES = 4
"""The number of processes that are measured for each way and grammar."""
REPEATS = 5
"""The number of later calls of `prepare` that are timed in each process."""


class Job(TypedDict):
    vocabulary: str
    way: str
    """One of `WAYS`."""
    folder: str
    """The folder of the file. The way "file" reads the file, or writes it if it is missing."""
    kind: str
    tokens: list[int]


def work(job: Job) -> Record:
    """Run one process.

    Returns the nanoseconds of the first call of `prepare`, of later calls that do everything again, from grammar text
    to session, and of each mask; the bytes by which the first call made the process grow; and the counts of parts.
    """
    vocabulary = vocabularies.load_saved(job["vocabulary"])
    engine = Earleymask(vocabulary, prepare=False)
    folder = job["folder"] if job["way"] == "file" else None
    # The trie is part of the vocabulary and not of what is prepared, so it is made before the timing.
    trie = vocabulary.trie
    found: Record = {"prepare_ns": 0, "again_ns": 0, "parts": {}}
    before = memory.resident_bytes()
    if job["way"] != "none":
        start = time.perf_counter_ns()
        found["parts"] = engine.module.prepare(vocabulary, folder)
        found["prepare_ns"] = time.perf_counter_ns() - start
    found["resident_bytes"] = memory.resident_bytes() - before
    grammar = engine.grammar(job["kind"])
    fill_ns = []
    with no_garbage_collection():
        start = time.perf_counter_ns()
        session = engine.open(grammar)
        open_ns = time.perf_counter_ns() - start
        for token in job["tokens"]:
            start = time.perf_counter_ns()
            session.fill()
            fill_ns.append(time.perf_counter_ns() - start)
            if not session.accept(token):
                raise AssertionError("earleymask refuses a text of the bench")
        if job["way"] != "none":
            again = []
            for _ in range(REPEATS):
                trie.learned = None
                start = time.perf_counter_ns()
                engine.module.prepare(vocabulary, folder)
                again.append(time.perf_counter_ns() - start)
            found["again_ns"] = statistics.median(again)
    return {**found, "open_ns": open_ns, "fill_ns": fill_ns}


def measured(file: Path, folder: Path, texts: Mapping[str, Sequence[int]], n_processes: int = N_PROCESSES) -> Record:
    """Measure the vocabulary in `file` with the first tokens of `texts`, by grammar. Its parts are saved in
    `folder`."""
    job = {"vocabulary": str(file), "folder": str(folder)}
    first = next(iter(texts))
    written = children.run("bench.preparing", {**job, "way": "file", "kind": first, "tokens": []})
    figures: Record = {
        "parts": sum(written["parts"].values()),
        "file_bytes": sum(path.stat().st_size for path in folder.iterdir()),
        "first_masks": {},
    }
    # The ways take turns, so that a disturbance of the machine affects all of them.
    found: dict[tuple[str, str], list[Record]] = {(kind, way): [] for kind in texts for way in WAYS}
    for _ in tqdm(range(n_processes), desc="prepared or not", unit="turn", leave=False):
        for (kind, way), results in found.items():
            results.append(
                children.run("bench.preparing", {**job, "way": way, "kind": kind, "tokens": list(texts[kind])})
            )
    for way in WAYS[:2]:
        results = [result for (_, other), some in found.items() if other == way for result in some]
        assert not any(result["parts"]["built" if way == "file" else "taken"] for result in results)
        figures[way] = {
            "first_ms": _ms(result["prepare_ns"] for result in results),
            "again_ms": _ms(result["again_ns"] for result in results),
            "resident_bytes": int(statistics.median(result["resident_bytes"] for result in results)),
        }
    for (kind, way), results in found.items():
        figures["first_masks"].setdefault(kind, {})[way] = {
            "processes": len(results),
            "first_mask_us": distribution([result["open_ns"] + result["fill_ns"][0] for result in results]),
            "mask_us": distribution([ns for result in results for ns in result["fill_ns"]]),
        }
    return figures


def _ms(times_ns: Iterable[float]) -> float:
    return round(statistics.median(times_ns) / 1e6, 2)
