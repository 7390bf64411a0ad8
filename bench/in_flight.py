"""Measure many schemas in flight: what a mask takes, and how much memory, while so many sequences take turns.

    python -m bench.in_flight [--vocabulary llama3] [--most 4096] [--output FILE]

Each sequence writes a document of a schema with names of its own, as in `bench.batches`. All take turns, token by
token, until their documents are complete; so between two masks of a sequence all the others empty the caches of the
processor, and use the memory in which earleymask remembers what it has found. That memory has two sizes here. With
`ahead`, each grammar has made masks of likely texts for 20 ms before.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

import earleymask
from earleymask import Grammar, Matcher, Vocabulary

from . import ROOT
from .batches import WARM_SECONDS, case
from .engines import new_row
from .harness import children, vocabularies
from .harness.environment import environment
from .harness.figures import Record, write_json
from .harness.measure import no_garbage_collection
from .harness.memory import resident_bytes

MEGABYTES = (64, 256)
MOST_WARMED = 512
"""More grammars are not warmed: that would take minutes."""
TIMES = ("mean", "p50", "p99", "longest")
N_TOKENS = 6000
"""At least so many masks are made, by repeating with new schemas."""


def work(job: Record) -> Record:
    """Follow documents in a process of its own. Times are in microseconds."""
    vocabulary = vocabularies.load_saved(job["vocabulary"])
    earleymask.prepare(vocabulary, memory=job["megabytes"] << 20)
    pieces = [vocabulary.token_bytes(token) for token in range(vocabulary.size)]
    encode = vocabularies.longest_match(pieces)
    rng = random.Random(job["size"])
    follow([case(rng, encode)], vocabulary, warm=False)  # imports
    before = resident_bytes()
    masks: list[float] = []
    loads: list[float] = []
    grown = 0
    while len(masks) < N_TOKENS:
        cases = [case(rng, encode) for _ in range(job["size"])]
        found = follow(cases, vocabulary, warm=job["ahead"])
        masks += found["masks"]
        loads += found["loads"]
        grown = max(grown, found["bytes"] - before)
    p50, p99, longest = np.percentile(masks, [50, 99, 100])
    figures = {"mean": np.mean(masks), "p50": p50, "p99": p99, "longest": longest, "load": np.median(loads)}
    return {**{name: float(value) for name, value in figures.items()}, "megabytes": grown / 2**20}


def follow(cases: list[tuple[Any, list[int]]], vocabulary: Vocabulary, *, warm: bool) -> Record:
    """Load all grammars, then follow all documents, taking turns. Return the times, and the memory at the end."""
    loads: list[float] = []
    matchers: list[Matcher] = []
    masks: list[float] = []
    row = new_row(vocabulary)
    with no_garbage_collection():
        for schema, _ in cases:
            begin = time.perf_counter()
            grammar = Grammar.from_json_schema(schema)
            loads.append((time.perf_counter() - begin) * 1e6)
            if warm:
                grammar.warm(vocabulary, seconds=WARM_SECONDS).wait()
            matchers.append(Matcher(grammar, vocabulary))
        for step in range(max(len(tokens) for _, tokens in cases)):
            for matcher, (_, tokens) in zip(matchers, cases, strict=True):
                if step < len(tokens):
                    begin = time.perf_counter()
                    matcher.fill_bitmask(row)
                    masks.append((time.perf_counter() - begin) * 1e6)
                    if not matcher.accept(tokens[step]):
                        raise AssertionError("earleymask refuses a document of the bench")
        return {"loads": loads, "masks": masks, "bytes": resident_bytes()}


def measured(name: str, most: int) -> Record:
    vocabulary, _ = vocabularies.load(name)
    sizes = [size for size in (1, 4, 16, 64, 256, 1024, 4096, 10_000) if size <= most]
    found: list[Record] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vocabulary"
        vocabularies.save(vocabulary, path)
        jobs = [
            {"size": size, "ahead": ahead, "megabytes": megabytes}
            for size in sizes
            for ahead in (False, True)
            for megabytes in MEGABYTES
            if not ahead or size <= MOST_WARMED
        ]
        for job in tqdm(jobs, unit="case"):
            figures = children.run("bench.in_flight", {**job, "vocabulary": str(path)})
            found.append({**job, "figures": figures})
    return {"environment": environment(), "vocabulary": name, "cases": found}


def markdown(record: Record) -> str:
    lines = [
        f"Vocabulary {record['vocabulary']}. Microseconds of a mask: mean, p50, p99, longest; microseconds of loading "
        "a schema (median); megabytes by which the process grew, with all grammars and matchers. *Memory*: what "
        f"`prepare(memory=...)` has set. *Ahead*: {WARM_SECONDS * 1000:g} ms of `Grammar.warm` for each grammar.",
        "",
        "| in flight | memory | ahead | mean | p50 | p99 | longest | load | grew by |",
        "| --: | --: | --- | --: | --: | --: | --: | --: | --: |",
    ]
    for each in record["cases"]:
        figures = each["figures"]
        times = " | ".join(f"{figures[name]:,.{1 if figures[name] < 100 else 0}f}" for name in TIMES)
        lines.append(
            f"| {each['size']:,} | {each['megabytes']} MB | {'yes' if each['ahead'] else 'no'} | {times} "
            f"| {figures['load']:,.0f} | {figures['megabytes']:,.0f} MB |"
        )
    return "\n".join(lines) + "\n"


def draw(record: Record, path: Path) -> None:
    """Draw the mean and p99 of masks, and the memory, by the number of schemas in flight."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (times, memory) = pyplot.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for colour, megabytes in zip(("#d1495b", "#2e6f95"), MEGABYTES, strict=True):
        for ahead in (False, True):
            some = [each for each in record["cases"] if each["megabytes"] == megabytes and each["ahead"] == ahead]
            sizes = [each["size"] for each in some]
            style = "solid" if ahead else (0, (4, 2))
            label = f"{megabytes} MB" + (", made ahead" if ahead else "")
            times.plot(sizes, [each["figures"]["mean"] for each in some], color=colour, ls=style, label=label)
            times.plot(sizes, [each["figures"]["p99"] for each in some], color=colour, ls=style, alpha=0.4)
            memory.plot(sizes, [each["figures"]["megabytes"] for each in some], color=colour, ls=style)
    for axis in (times, memory):
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlabel("schemas in flight")
        axis.grid(True, which="major", color="#dddddd", lw=0.6)
    times.set_ylabel("a mask, µs: mean, and p99 (pale)")
    memory.set_ylabel("memory, MB")
    times.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=130)
    pyplot.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.in_flight", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--vocabulary", default="llama3", choices=vocabularies.NAMES, help="(default: %(default)s)")
    parser.add_argument("--most", type=int, default=4096, help="schemas in flight at most (default: %(default)s)")
    parser.add_argument("--output", type=Path, default=ROOT / "bench" / "results" / "in-flight.md", metavar="FILE")
    given = parser.parse_args()
    record = measured(given.vocabulary, given.most)
    text = markdown(record)
    given.output.write_text(text, encoding="utf-8")
    write_json(record, given.output.with_suffix(".json"))
    draw(record, given.output.with_suffix(".png"))
    print(text)


if __name__ == "__main__":
    main()
