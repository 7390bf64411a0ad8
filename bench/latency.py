"""Measure masks of earleymask, llguidance and xgrammar on three families of grammars and real vocabularies.

    python -m bench.latency              everything, in some minutes; writes bench/results/latency.{json,md,png}
    python -m bench.latency --quick      a smoke test on tiny texts and a made-up vocabulary; writes nothing
    python -m bench.latency --heldout    the grammars that were written after tuning; writes bench/results/heldout.*

The cases are texts of three grammars. `json` has long strings and few terminals; engines have been tuned for it for
years. `language` has many terminals that are allowed at most places, names, comments and ignored white space. `sql` has
dozens of keywords that are also names, where exact and greedy lexing differ. `texts/families.py` has the grammars of
the second requests. A seed and a size determine a text.

Each case runs in fresh processes (`requests.py`) that follow the text with earleymask and llguidance in lockstep; their
times are pooled. xgrammar, which is slow, takes part in two more processes. One of them checks all masks
(`harness/checks.py`), which disturbs times; the other one measures xgrammar. The exit code is 1 if a mask is wrong.

The other parts: the way in which each mask was found (`ways.py`), masks at a recurring position (`recurring.py`), what
`prepare` costs and saves (`preparing.py`), a long output (`long_output.py`), growing vocabularies (`scaling.py`).
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

from . import ROOT, long_output, preparing, scaling
from .engines import n_words
from .harness import checks, children, environment, measure, pool, vocabularies
from .harness.figures import Record
from .reports import tables
from .texts import families

ENGINES = ("earleymask", "llguidance", "xgrammar")
POOLED = ("earleymask", "llguidance")
VOCABULARIES = ("llama3", "tekken")
PARTS = ("requests", "profile", "recurring", "prepare", "long", "scaling")
RESULTS = ROOT / "bench" / "results"

# xgrammar fills only every n-th mask of these texts: it needs up to a second for some, and minutes for all.
STRIDES: dict[str, dict[str, int]] = {
    "language": {"xgrammar": 16},
    "script": {"xgrammar": 16},
    "sql": {"xgrammar": 40},
    "changes": {"xgrammar": 16},
    "cells": {"xgrammar": 16},
    "upsert": {"xgrammar": 40},
}


@dataclass
class Plan:
    """The measurements of a run."""

    kinds: Sequence[str] = families.FIRST
    engines: Sequence[str] = ENGINES
    seed: int = 1
    size: int = 8000
    """The least number of characters of a text."""
    processes: int = 10
    strides: Mapping[str, Mapping[str, int]] = field(default_factory=lambda: STRIDES)
    max_asked: int = checks.MAX_ASKED
    parts: Sequence[str] = PARTS
    batch: int = 1000
    long_tokens: int = long_output.N_TOKENS
    sizes: Sequence[int] = scaling.SIZES
    repeats: int = scaling.REPEATS
    """The number of processes that are measured for each size of a vocabulary."""


class Loaded:
    """A vocabulary, its tokenizer, and the file from which other processes load the vocabulary."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.vocabulary, self.encode = vocabularies.load(name)
        self.file = folder / f"{name}.pickle"
        vocabularies.save(self.vocabulary, self.file)

    def tokens(self, text: str) -> list[int]:
        return vocabularies.spelled(self.vocabulary, self.encode, text)

    def job(self, kind: str, text: str) -> dict[str, Any]:
        return {"vocabulary": str(self.file), "kind": kind, "tokens": self.tokens(text)}

    def about(self) -> Record:
        return {
            "name": self.name,
            "size": self.vocabulary.size,
            "fingerprint": self.vocabulary.fingerprint,
            "floor_us": measure.floor_ns(n_words(self.vocabulary)) / 1000,
        }


def run(names: Sequence[str], plan: Plan) -> Record:
    """Run all cases, one after the other, and return the record that is written as JSON."""
    record: Record = {"environment": environment.environment(), "missing_engines": {}, "cases": []}
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            loaded = Loaded(name, Path(folder))
            about = loaded.about()
            for kind in plan.kinds:
                case: Record = {"vocabulary": about, "kind": kind, "second_kind": families.second(kind)}
                case["seed"] = plan.seed
                if "requests" in plan.parts:
                    case |= _requests(loaded, kind, plan, record["missing_engines"])
                if "profile" in plan.parts:
                    text = families.generate(kind, plan.seed, plan.size)
                    case["profile"] = children.run("bench.ways", loaded.job(kind, text))
                if "recurring" in plan.parts:
                    text = families.generate(kind, plan.seed, min(plan.size, 4000))
                    case["recurring"] = children.run("bench.recurring", loaded.job(kind, text) | {"batch": plan.batch})
                record["cases"].append(case)
            if "prepare" in plan.parts:
                record.setdefault("prepare", {})[name] = _prepare(loaded, plan, Path(folder) / f"{name}.prepared")
        first = Loaded(names[0], Path(folder))
        if "profile" in plan.parts:
            record["walk"] = children.run("bench.walking", {"vocabulary": str(first.file)})
        if "long" in plan.parts and set(plan.kinds) & set(long_output.JOINS):
            record["long_output"] = {"vocabulary": names[0], "texts": _long(first, plan)}
        if "scaling" in plan.parts:
            record["scaling"] = _scaling(plan, Path(folder))
    record["load_at_end"] = [round(value, 2) for value in os.getloadavg()]
    return record


def _requests(loaded: Loaded, kind: str, plan: Plan, missing: dict[str, str]) -> Record:
    """Return the pooled requests of a case, and its checks."""
    second = families.second(kind)
    text = families.generate(kind, plan.seed, plan.size)
    second_text = families.generate(second, plan.seed, min(plan.size, 1500))
    tokens, second_tokens = loaded.tokens(text), loaded.tokens(second_text)[: pool.N_FIRST - 1]
    job = {
        "vocabulary": str(loaded.file),
        "engines": [name for name in plan.engines if name in POOLED],
        "kind": kind,
        "tokens": tokens,
        "second_kind": second,
        "second_tokens": second_tokens,
        "strides": plan.strides,
        "check": False,
        "max_asked": plan.max_asked,
    }
    label = f"{kind}, {loaded.name}"
    all_of_them = job | {"engines": list(plan.engines), "number": 0}
    checked = children.run("bench.requests", all_of_them | {"check": True})
    missing |= checked["missing"]
    slow = [name for name in plan.engines if name not in POOLED and name not in missing]
    undisturbed = [children.run("bench.requests", all_of_them)] if slow else []
    results = [
        children.run("bench.requests", job | {"number": number})
        for number in tqdm(range(plan.processes), desc=label, unit="process", leave=False)
    ]
    own = results[0]
    engines = {}
    for name in plan.engines:
        if name in missing:
            continue
        strides = {"cold": plan.strides.get(kind, {}).get(name, 1), "second": plan.strides.get(second, {}).get(name, 1)}
        from_ = results if name in POOLED else undisturbed
        engines[name] = pool.engine_figures(from_, name, strides | {"warm": strides["cold"]})
    return {
        "text": {
            "characters": len(text),
            "tokens": len(tokens),
            "sha256": hashlib.sha256(text.encode()).hexdigest(),
        },
        "engines": engines,
        "checks": pool.added(part["checks"] for part in checked["requests"].values()),
        "counters": own["counters"],
        "counters_warm": own["end_counters"],
        "memory": own["ready_bytes"],
        "vocabulary_ms": round(min(result["ready_ns"]["vocabulary"] for result in results) / 1e6, 2),
        "interruptions": sum(result["interruptions"] for result in results),
    }


def _prepare(loaded: Loaded, plan: Plan, folder: Path) -> Record:
    texts = {kind: loaded.tokens(families.generate(kind, plan.seed, min(plan.size, 1500))) for kind in plan.kinds}
    firsts = {kind: tokens[: pool.N_FIRST] for kind, tokens in texts.items()}
    return preparing.measured(loaded.file, folder, firsts, min(plan.processes, preparing.N_PROCESSES))


def _long(loaded: Loaded, plan: Plan) -> Record:
    return {
        kind: children.run(
            "bench.long_output",
            long_output.job(loaded.vocabulary, loaded.encode, loaded.file, kind, plan.long_tokens),
        )
        for kind in tqdm([kind for kind in plan.kinds if kind in long_output.JOINS], desc="long outputs", leave=False)
    }


def _scaling(plan: Plan, folder: Path) -> Record:
    """Return the figures of each size, by text."""
    found: Record = {kind: [] for kind in plan.kinds}
    jobs: dict[str, dict[str, Any]] = {}
    for size in tqdm(sorted(plan.sizes), desc="sizes of the vocabulary", leave=False):
        loaded = Loaded(f"united-{size}", folder)
        for kind in plan.kinds:
            # Each size has the ids of the smallest, so all follow the same tokens.
            if kind not in jobs:
                jobs[kind] = loaded.job(kind, families.generate(kind, plan.seed, min(plan.size, 4000)))
            job = jobs[kind] | {"vocabulary": str(loaded.file)}
            found[kind].append(scaling.middle([children.run("bench.scaling", job) for _ in range(plan.repeats)]))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    plan = Plan(
        kinds=options.texts,
        engines=options.engines,
        seed=options.seed,
        size=options.size,
        processes=options.processes,
        parts=options.parts,
        long_tokens=options.long_tokens,
    )
    if options.quick:
        plan.strides, plan.batch, plan.sizes = {}, 10, ()
    if options.thorough:
        plan.max_asked = sys.maxsize
    record = run(options.vocabularies, plan)
    given = sys.argv[1:] if arguments is None else arguments
    record["command"] = " ".join(["python -m bench.latency", *_that_matter(given)])
    if options.output is None:
        print(tables.markdown(record, None))
    else:
        print(tables.write(record, options.output, "heldout" if options.heldout else "latency"))
    return _verdict(record)


def _that_matter(arguments: Sequence[str]) -> list[str]:
    """Return the arguments without `--output` and its folder, which do not matter for the results."""
    kept = list(arguments)
    while "--output" in kept:
        at = kept.index("--output")
        del kept[at : at + 2]
    return kept


def _verdict(record: Record) -> int:
    """Print which engines were missing and which masks failed their check. Return 1 if there are such masks, else 0."""
    for name, why in record["missing_engines"].items():
        print(f"{name} was not measured: {why}", file=sys.stderr)
    failed = [case for case in record["cases"] if "checks" in case and not case["checks"]["clean"]]
    for case in failed:
        print(f"\nmasks that failed their check: {case['kind']}, {case['vocabulary']['name']}", file=sys.stderr)
        for example in case["checks"]["examples"]:
            print(f"  {example}", file=sys.stderr)
    return 1 if failed else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.latency", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="tiny texts and a made-up vocabulary; writes nothing")
    parser.add_argument("--heldout", action="store_true", help="measure the grammars that were written after tuning")
    parser.add_argument(
        "--thorough", action="store_true", help="ask xgrammar about every differing token (takes minutes more)"
    )
    parser.add_argument("--vocabularies", nargs="+", choices=vocabularies.NAMES)
    parser.add_argument("--texts", nargs="+", choices=(*families.FIRST, *families.HELD_OUT))
    parser.add_argument("--engines", nargs="+", choices=ENGINES)
    parser.add_argument(
        "--parts", nargs="+", choices=PARTS, help="what to measure (default: all; --quick: all but scaling)"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--size", type=int, help="the least characters of each text (default: 8,000; --quick: 300)")
    parser.add_argument("--processes", type=int, help="fresh processes that are pooled (default: 10; --quick: 2)")
    parser.add_argument("--long-tokens", type=int, help="tokens of a long output (default: 100,000; --quick: 500)")
    parser.add_argument("--output", type=Path, help="folder for the results (default: bench/results; --quick: none)")
    options = parser.parse_args(arguments)
    narrowed = [name for name in ("parts", "texts", "engines", "vocabularies") if getattr(options, name)]
    if narrowed and options.output is None and not options.quick:
        parser.error(
            f"--{narrowed[0]} measures a part, which must not replace the whole results in bench/results; "
            "name another folder with --output"
        )
    options.engines = options.engines or list(ENGINES)
    options.texts = options.texts or list(families.HELD_OUT if options.heldout else families.FIRST)
    options.vocabularies = options.vocabularies or (["small"] if options.quick else list(VOCABULARIES))
    options.size = options.size or (300 if options.quick else 8000)
    options.processes = options.processes or (2 if options.quick else 10)
    options.long_tokens = options.long_tokens or (500 if options.quick else long_output.N_TOKENS)
    options.parts = options.parts or [part for part in PARTS if part != "scaling" or not options.quick]
    if options.output is None and not options.quick:
        options.output = RESULTS
    return options


if __name__ == "__main__":
    sys.exit(main())
