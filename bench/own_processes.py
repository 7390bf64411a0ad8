"""MaskBench with each engine in a process of its own: `python -m bench.maskbench --own-processes`.

The engines take turns, schema by schema; only one works at a time. Each loads a schema, makes the first mask, and then
follows all instances. So between two masks of an engine no other one empties the caches of the processor. What an
engine has learned from earlier schemas stays in its process.

Each run has new processes. A figure is the median of all runs, but for the longest one: for each mask, the shortest
time of all runs counts, because whatever else the machine does only adds to it.

All figures are over the schemas that every engine passes.
"""

from __future__ import annotations

import multiprocessing
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from tqdm import tqdm

from . import ROOT
from .engines import Earleymask, Engine, engines
from .harness import vocabularies
from .harness.children import keep_to_one_core
from .harness.environment import environment
from .harness.figures import Record
from .harness.measure import no_garbage_collection

QUANTILES = {"p50": 50.0, "p75": 75.0, "p90": 90.0, "p95": 95.0, "p99": 99.0, "p99.9": 99.9}

Tests = list[tuple[bool, list[int]]]
"""For each instance, whether it is valid, and the tokens of its text."""


@dataclass
class Job:
    """What the process of one engine is started with."""

    engine: str
    vocabulary: str
    order: str
    spellings: str
    warm_ms: float = 0
    """Milliseconds of processor time for which the engine makes masks ahead, if it can, before the first one is asked
    for."""


@dataclass
class Followed:
    """What one engine did with one schema."""

    why: str = ""
    """Why the schema was refused, or which instance was judged wrongly; empty if the engine passes."""
    open_ns: int = 0
    """From the schema in memory to a session, without its first mask."""
    first_ns: int = 0
    """The first mask alone."""
    step_ns: list[int] = field(default_factory=list)
    """Each mask with the token that is accepted after it, if one is; not the first mask."""


def follow(engine: Engine, schema: Any, tests: Tests, order: str, eos: int, warm_ms: float = 0) -> Followed:
    """Load a schema, make its first mask, and follow the instances. The time of `warm_ms` is not counted."""
    clock = time.perf_counter_ns
    begin = clock()
    try:
        session = engine.open_schema(schema, order)
        opened = clock() - begin
        if warm_ms and session.warm is not None:
            session.warm(warm_ms / 1000)
        begin = clock()
        session.fill()
        found = Followed(session.error(), opened, clock() - begin)
    except Exception as error:  # each engine has errors of its own
        return Followed(str(error) or type(error).__name__)
    for number, (is_valid, tokens) in enumerate(tests if not found.why else ()):
        if number:
            assert session.again is not None
            session = session.again()
        refused = ""
        for at, token in enumerate([*tokens, eos]):
            try:
                begin = clock()
                session.fill()
                is_allowed = bool(session.row[token >> 5] >> (token & 31) & 1)
                if is_allowed and at < len(tokens):
                    is_allowed = bool(session.accept(token))
                taken = clock() - begin
                refused = session.error()
            except Exception as error:
                is_allowed, taken, refused = False, 0, str(error) or type(error).__name__
            if (at or number) and taken:
                found.step_ns.append(taken)
            if not is_allowed:
                refused = f"token {at} of {len(tokens)} is refused {refused}"
                break
        if bool(refused) == is_valid and not found.why:
            found.why = f"instance {number}: {refused or 'accepted, and invalid'}"
    return found


# --- the processes ---------------------------------------------------------------------------------------------------


def serve(connection: Connection, job: Job) -> None:
    """Be the process of one engine: answer each schema and its instances with `Followed`."""
    keep_to_one_core()
    vocabulary, _ = vocabularies.load(job.vocabulary)
    found, missing = engines(vocabulary, [job.engine])
    connection.send(missing.get(job.engine, ""))
    if missing:
        return
    (engine,) = found
    if isinstance(engine, Earleymask):
        engine.spellings = job.spellings
    eos = next(iter(vocabulary.eos_token_ids))
    with no_garbage_collection():
        while (given := connection.recv()) is not None:
            connection.send(follow(engine, *given, job.order, eos, job.warm_ms))


@contextmanager
def root_importable() -> Iterator[None]:
    """Let new processes import `bench`, which takes the root off `sys.path` again, as it did here."""
    sys.path.append(str(ROOT))
    try:
        yield
    finally:
        sys.path.remove(str(ROOT))


@contextmanager
def processes(jobs: Sequence[Job]) -> Iterator[tuple[dict[str, Connection], dict[str, str]]]:
    """Start a process for each job. Return the connections by engine, and why other engines are missing."""
    context = multiprocessing.get_context("spawn")
    started = []
    connections: dict[str, Connection] = {}
    missing: dict[str, str] = {}
    try:
        for job in jobs:
            connection, theirs = context.Pipe()
            process = context.Process(target=serve, args=(theirs, job), daemon=True)
            with root_importable():
                process.start()
            theirs.close()
            started.append(process)
            why = connection.recv()
            if why:
                missing[job.engine] = why
            else:
                connections[job.engine] = connection
        yield connections, missing
        for connection in connections.values():
            connection.send(None)
        for process in started:
            process.join()
    finally:
        for process in started:
            process.terminate()


def one_run(
    cases: Sequence[tuple[Any, Tests]], connections: Mapping[str, Connection], title: str
) -> dict[str, list[Followed]]:
    """Let the engines take turns. The one that begins changes from schema to schema."""
    found: dict[str, list[Followed]] = {name: [] for name in connections}
    for number, case in enumerate(tqdm(cases, unit="schema", desc=title)):
        names = list(connections)
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            connections[name].send(case)
            found[name].append(connections[name].recv())
    return found


# --- figures ---------------------------------------------------------------------------------------------------------


def figures(runs: Sequence[Sequence[Followed]], passed: Sequence[int]) -> Record:
    """Return the figures of one engine in microseconds. `passed`: the numbers of the schemas that all engines pass."""

    def quantiles(times: list[list[int]], names: Mapping[str, float]) -> Record:
        """Return the median over the runs of each quantile, and the longest of the shortest times."""
        if not times[0]:
            return {"n": 0}
        rows = [np.asarray(each, np.float64) / 1000 for each in times]
        found = {
            name: statistics.median(float(np.percentile(row, at, method="inverted_cdf")) for row in rows)
            for name, at in names.items()
        }
        found["mean"] = statistics.median(float(row.mean()) for row in rows)
        alike = len({len(row) for row in rows}) == 1  # else an engine gave up at different places
        found["longest"] = float(np.min(rows, axis=0).max() if alike else min(row.max() for row in rows))
        return {"n": len(times[0]), **{name: round(value, 2) for name, value in found.items()}}

    steps = [[ns for number in passed for ns in run[number].step_ns] for run in runs]
    return {
        "step_us": quantiles(steps, QUANTILES),
        "to_first_mask_us": quantiles(
            [[run[number].open_ns + run[number].first_ns for number in passed] for run in runs], QUANTILES
        ),
        "first_mask_us": quantiles([[run[number].first_ns for number in passed] for run in runs], QUANTILES),
    }


def measured(cases: Sequence[tuple[Any, Tests]], jobs: Sequence[Job], n_runs: int) -> Record:
    """Follow all cases n times. A case is a schema and its instances."""
    runs: list[dict[str, list[Followed]]] = []
    for number in range(n_runs):
        with processes(jobs) as (connections, missing):
            runs.append(one_run(cases, connections, f"run {number + 1} of {n_runs}"))
    names = list(runs[0])
    passing = {name: [number for number, each in enumerate(runs[0][name]) if not each.why] for name in names}
    passed = sorted(set.intersection(*map(set, passing.values()))) if names else []
    for name, why in missing.items():
        print(f"{name} is not measured: {why}", file=sys.stderr)
    return {
        "environment": environment(),
        "vocabulary": jobs[0].vocabulary,
        "order": jobs[0].order,
        "spellings": jobs[0].spellings,
        "warm_ms": jobs[0].warm_ms,
        "schemas": len(cases),
        "passed_by_all": len(passed),
        "runs": n_runs,
        "engines": {
            name: {"passing": len(passing[name]), **figures([run[name] for run in runs], passed)} for name in names
        },
    }


def markdown(record: Record) -> str:
    """Return the record as a table, with the ratio of our figures to each peer's."""
    names = list(record["engines"])
    peers = [name for name in names if name != "earleymask"] if "earleymask" in names else []
    warmed = f"; earleymask makes masks ahead for {record['warm_ms']:g} ms" if record.get("warm_ms") else ""
    lines = [
        f"{record['schemas']:,} schemas, figures over the {record['passed_by_all']:,} that all engines pass; "
        f"{record['runs']} runs, vocabulary {record['vocabulary']}, order of keys: {record['order']}, "
        f"spellings: {record['spellings']}{warmed}. Written by `{record['command']}`.",
        "",
        "| µs | " + " | ".join(names) + "".join(f" | earleymask / {name}" for name in peers) + " |",
        "| --- |" + " --: |" * (len(names) + len(peers)),
        "| schemas that pass | "
        + " | ".join(f"{record['engines'][name]['passing']:,}" for name in names)
        + " |" * (1 + len(peers)),
    ]
    for title, key in (
        ("mask + accept", "step_us"),
        ("schema to first mask", "to_first_mask_us"),
        ("first mask alone", "first_mask_us"),
    ):
        for figure in ("mean", *QUANTILES, "longest"):
            values = [record["engines"][name][key].get(figure) for name in names]
            if None in values:
                continue
            row = [f"{value:,.1f}" for value in values]
            ours = record["engines"]["earleymask"][key][figure] if peers else 0.0
            row += [f"{ours / record['engines'][name][key][figure]:.2f}" for name in peers]
            lines.append(f"| {title}, {figure} | " + " | ".join(row) + " |")
    return "\n".join(lines) + "\n"
