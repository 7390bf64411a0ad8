"""Measure how time and memory grow with the size of clumsy grammars (`bench.clumsy`).

    python -m bench.scaling [NAME ...] [--seconds 1] [--load-seconds 2] [--repeat 1] [--vocabulary llama3]

Each grammar is loaded in a process of its own, and one of its texts is followed: a mask, then a token, until the text
ends. The table has the processor time of loading, of the first mask, of all masks and tokens of the text, of the
longest call among them, and the memory by which the process grew at most. The last column is the exponent of growth: e
means that the time of loading and of the whole text grows like the e-th power of the size, in the last step for which
both are known. If a limit is met, the row names it. Several repetitions take the least of each figure.
"""

from __future__ import annotations

import argparse
import math
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypedDict

import earleymask

from .clumsy import FAMILIES
from .engines import new_row
from .harness import children, vocabularies
from .harness.figures import Record
from .harness.measure import no_garbage_collection
from .harness.memory import resident_bytes

COLUMNS = ("load", "first mask", "text", "longest call")
LEAST_MS = 2.0
"""Below this time, in milliseconds, the exponent of growth is not shown: what does not grow dominates."""


class Job(TypedDict):
    vocabulary: str
    family: str
    size: int
    load_seconds: float
    seconds: float


def work(job: Job) -> Record:
    """Measure one grammar. The times are in milliseconds."""
    vocabulary = vocabularies.load_saved(job["vocabulary"])
    earleymask.prepare(vocabulary)
    earleymask.Matcher(earleymask.Grammar.from_json_schema({"enum": ["a"]}), vocabulary).mask()
    earleymask.Matcher(earleymask.Grammar.from_lark('start: "a" [/b+/]'), vocabulary).mask()
    pieces = [vocabulary.token_bytes(token) for token in range(vocabulary.size)]
    encode = vocabularies.longest_match(pieces)
    case = FAMILIES[job["family"]].make(job["size"])
    limits = earleymask.Limits(load_seconds=job["load_seconds"], seconds=job["seconds"])
    tokens = list(encode(case.text))
    row = new_row(vocabulary)
    found: Record = {"limit": ""}
    before = resident_bytes()
    forget_peak()
    try:
        with no_garbage_collection():
            loads: list[float] = []
            grammar = timed(loads, case.load, limits)
            found["load"] = loads[0]
            matcher = earleymask.Matcher(grammar, vocabulary)
            calls: list[float] = []
            for token in tokens:
                timed(calls, matcher.fill_bitmask, row)
                found["first mask"] = calls[0]
                if not timed(calls, matcher.accept, token):
                    raise AssertionError(f"{job['family']}: its text is refused")
            timed(calls, matcher.fill_bitmask, row)
            found |= {"first mask": calls[0], "text": sum(calls), "longest call": max(calls)}
    except earleymask.LimitError as error:
        found["limit"] = f"{type(error).__name__} {error.limit}".strip()
    found["memory"] = max(peak_bytes() - before, 0) / 1e6
    found["tokens"] = len(tokens)
    return found


def timed(times: list[float], call: Callable[[Any], Any], argument: Any) -> Any:
    """Return what the call returns; append its milliseconds to `times`."""
    begin = time.thread_time_ns()
    answer = call(argument)
    times.append((time.thread_time_ns() - begin) / 1e6)
    return answer


def forget_peak() -> None:
    """Let the peak of this process's memory begin anew, where the system can."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def peak_bytes() -> int:
    with suppress(OSError):
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def least(results: Sequence[Record]) -> Record:
    """Return the least of each figure of several processes; only of those that met no limit, if there are any."""
    results = [one for one in results if not one["limit"]] or results
    found: Record = dict(results[0])
    for one in results[1:]:
        for name in (*COLUMNS, "memory"):
            if name in one and name in found:
                found[name] = min(float(found[name]), float(one[name]))
    return found


def exponent(sizes: Sequence[int], figures: Sequence[float | None]) -> float | None:
    """Return the exponent of growth in the last step at which both figures are known; None if they are too small."""
    known = [(size, figure) for size, figure in zip(sizes, figures, strict=True) if figure is not None]
    if len(known) < 2 or known[-2][1] <= 0 or known[-1][1] < LEAST_MS:
        return None
    (size, figure), (larger, grown) = known[-2:]
    return math.log(grown / figure) / math.log(larger / size)


def rows(name: str, sizes: Sequence[int], results: Sequence[Record]) -> list[str]:
    """Return the rows of the table for one family."""
    found = []
    whole = [None if one["limit"] else float(one["load"]) + float(one["text"]) for one in results]
    for i, (size, one) in enumerate(zip(sizes, results, strict=True)):
        times = [f"{float(one[column]):,.2f}" if column in one else "" for column in COLUMNS]
        power = exponent(sizes[: i + 1], whole[: i + 1]) if i and not one["limit"] else None
        last = one["limit"] or ("" if power is None else f"{power:.1f}")
        found.append(f"| {name} | {size:,} | {' | '.join(times)} | {float(one['memory']):.1f} | {last} |")
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.scaling", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("names", nargs="*", help="parts of names of families (default: all)")
    parser.add_argument("--seconds", type=float, default=1.0, help="Limits.seconds (default: %(default)s)")
    parser.add_argument("--load-seconds", type=float, default=2.0, help="Limits.load_seconds (default: %(default)s)")
    parser.add_argument("--repeat", type=int, default=1, help="processes for each grammar (default: %(default)s)")
    parser.add_argument("--sizes", type=int, help="only so many of the sizes, from the smallest (default: all)")
    parser.add_argument("--vocabulary", default="llama3", choices=vocabularies.NAMES, help="(default: %(default)s)")
    options = parser.parse_args(arguments)
    vocabulary, _ = vocabularies.load(options.vocabulary)
    print("| family | size |", *[f"{column}, ms |" for column in COLUMNS], "MB | exponent or limit |")
    print("| --- |", *["--: |"] * (len(COLUMNS) + 3))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "vocabulary"
        vocabularies.save(vocabulary, file)
        for name, family in FAMILIES.items():
            if options.names and not any(part in name for part in options.names):
                continue
            sizes = family.sizes[: options.sizes]
            results = []
            for size in sizes:
                job: Job = {
                    "vocabulary": str(file),
                    "family": name,
                    "size": size,
                    "load_seconds": options.load_seconds,
                    "seconds": options.seconds,
                }
                results.append(least([children.run("bench.growth", job) for _ in range(options.repeat)]))
                print(rows(f"{name} ({family.what})", sizes[: len(results)], results)[-1], flush=True)
