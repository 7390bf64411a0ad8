"""Measure batches: how long a step of a server takes with one thread and with two, with one grammar or many.

    python -m bench.batches [--vocabulary llama3] [--output FILE]

Each sequence of a batch writes a document of a schema with names of its own. All sequences take a step together: the
masks of all are made, then each accepts its next token. The grammars are new, so the first masks of each are made, not
remembered. The last column shows a batch whose grammars have made masks of likely texts for 20 ms each before.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

import earleymask
from earleymask import Grammar, Matcher, Vocabulary, fill_bitmasks

from . import ROOT
from .engines.session import n_words
from .harness import vocabularies
from .harness.environment import environment
from .harness.figures import Record, write_json
from .harness.measure import no_garbage_collection

SIZES = (1, 4, 16, 64, 256, 512)
REPEATS = 3
"""Each batch is followed so often with each number of threads, taking turns; the median counts."""
WARM_SECONDS = 0.02
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def word(rng: random.Random) -> str:
    return "".join(rng.choices(LETTERS, k=rng.randint(3, 12)))


def made_up(rng: random.Random) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a schema with names of its own, and a document of it."""
    properties: dict[str, Any] = {}
    document: dict[str, Any] = {}
    for _ in range(rng.randint(4, 10)):
        name = word(rng)
        kind = rng.randrange(5)
        if kind == 0:
            properties[name], document[name] = {"type": "string", "maxLength": rng.randint(20, 60)}, word(rng)
        elif kind == 1:
            properties[name], document[name] = {"type": "integer", "minimum": 0}, rng.randrange(10**6)
        elif kind == 2:
            texts = [word(rng) for _ in range(6)]
            properties[name], document[name] = {"enum": texts}, texts[3]
        elif kind == 3:
            properties[name] = {"type": "array", "items": {"type": "string"}, "maxItems": 9}
            document[name] = [word(rng), word(rng)]
        else:
            properties[name] = {"type": "string", "format": "date"}
            document[name] = f"20{rng.randrange(10, 30)}-0{rng.randint(1, 9)}-1{rng.randrange(10)}"
    return {"type": "object", "properties": properties, "required": list(properties)}, document


def follow(cases: list[tuple[Any, list[int]]], vocabulary: Vocabulary, threads: int, warm: bool) -> list[float]:
    """Follow all documents together. Return the seconds of each step, in which the masks of all are made."""
    known: dict[str, Grammar] = {}
    for schema, _ in cases:
        text = json.dumps(schema)
        if text not in known:
            known[text] = Grammar.from_json_schema(schema)
            if warm:
                known[text].warm(vocabulary, seconds=WARM_SECONDS).wait()
    matchers = [Matcher(known[json.dumps(schema)], vocabulary) for schema, _ in cases]
    rows = np.zeros((len(cases), n_words(vocabulary)), dtype=np.int32)
    times = []
    with no_garbage_collection():
        for step in range(min(len(tokens) for _, tokens in cases)):
            begin = time.perf_counter()
            fill_bitmasks(matchers, rows, threads=threads)
            times.append(time.perf_counter() - begin)
            for matcher, (_, tokens) in zip(matchers, cases, strict=True):
                if not matcher.accept(tokens[step]):
                    raise AssertionError("earleymask refuses a document of the bench")
    return times


def measured(name: str) -> Record:
    vocabulary, encode = vocabularies.load(name)
    earleymask.prepare(vocabulary)
    rng = random.Random(7)
    follow([case(rng, encode)], vocabulary, 2, False)  # imports, and starts the threads
    found: list[Record] = []
    for size in tqdm(SIZES, unit="size"):
        for is_same in (True, False):
            one = case(rng, encode)
            cases = [one if is_same else case(rng, encode) for _ in range(size)]
            times: dict[str, list[list[float]]] = {"1": [], "2": [], "ahead": []}
            for _ in range(REPEATS):
                times["1"].append(follow(cases, vocabulary, 1, False))
                times["2"].append(follow(cases, vocabulary, 2, False))
            times["ahead"].append(follow(cases, vocabulary, 1, True))
            figures = {}
            for key, runs in times.items():
                steps = np.median(np.asarray(runs), axis=0) * 1e3
                figures[key] = {"mean": float(steps.mean()), "longest": float(steps.max()), "total": float(steps.sum())}
            long = np.median(np.asarray(times["1"]), axis=0) >= 0.002
            ratio = None
            if long.any():
                ratio = float(
                    np.median(np.asarray(times["1"]), axis=0)[long].sum()
                    / np.median(np.asarray(times["2"]), axis=0)[long].sum()
                )
            found.append(
                {"size": size, "same": is_same, "figures": figures, "long_steps": int(long.sum()), "ratio": ratio}
            )
    return {"environment": environment(), "vocabulary": name, "batches": found}


def case(rng: random.Random, encode: Any) -> tuple[Any, list[int]]:
    schema, document = made_up(rng)
    return schema, encode(json.dumps(document))


def markdown(record: Record) -> str:
    lines = [
        f"Vocabulary {record['vocabulary']}. Milliseconds of a step, in which the masks of all sequences are made: "
        "mean, and the longest. *Gain*: over the steps that take one thread 2 ms and more, how many times as "
        f"long one thread takes as two. *Ahead*: one thread, after {WARM_SECONDS * 1000:g} ms of `Grammar.warm` for "
        "each grammar.",
        "",
        "| sequences | grammars | 1 thread | 2 threads | gain (steps) | ahead |",
        "| --: | --- | --: | --: | --: | --: |",
    ]
    for each in record["batches"]:
        one, two, ahead = (each["figures"][key] for key in ("1", "2", "ahead"))
        gain = "–" if each["ratio"] is None else f"{each['ratio']:.2f} ({each['long_steps']})"
        grammars = "the same" if each["same"] else "different"
        lines.append(
            f"| {each['size']} | {grammars} | {one['mean']:.3f}, {one['longest']:.2f} "
            f"| {two['mean']:.3f}, {two['longest']:.2f} | {gain} | {ahead['mean']:.3f}, {ahead['longest']:.2f} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.batches", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--vocabulary", default="llama3", choices=vocabularies.NAMES, help="(default: %(default)s)")
    parser.add_argument("--output", type=Path, default=ROOT / "bench" / "results" / "batches.md", metavar="FILE")
    given = parser.parse_args()
    record = measured(given.vocabulary)
    text = markdown(record)
    given.output.write_text(text, encoding="utf-8")
    write_json(record, given.output.with_suffix(".json"))
    print(text)


if __name__ == "__main__":
    main()
