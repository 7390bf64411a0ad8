"""How long a mask takes: earleymask, llguidance and xgrammar on three grammars, generated texts and real vocabularies.

    python -m bench.latency              all of it, a few minutes; writes bench/results/latency.{json,md,png}
    python -m bench.latency --quick      a smoke test on tiny texts and a made-up vocabulary; writes nothing

Cases: `json` is where constrained decoding has been tuned for years (long strings, few terminals); `language` has many
terminals allowed at most places, names, comments and ignored white space; `sql` has dozens of keywords that are also
names, where exact and greedy lexing part. Texts are those of `texts.py`: a seed and a size name them.

Every mask of earleymask is checked against the peers (`measure.py` says how); the exit code is 1 where one is wrong.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from earleymask.trie import Vocabulary

from . import ROOT, measure, report, texts
from . import vocabularies as bench_vocabularies
from .engines import Encode, Engine, engines, n_words

ENGINES = ("earleymask", "llguidance", "xgrammar")
VOCABULARIES = ("tekken", "llama3")
RESULTS = ROOT / "bench" / "results"

# Every n-th mask only, where all of them would take minutes: xgrammar needs up to a second for some.
STRIDES: dict[tuple[str, str], int] = {("xgrammar", "language"): 8, ("xgrammar", "sql"): 20}


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    record = run(
        vocabularies=options.vocabularies,
        kinds=options.texts,
        engine_names=options.engines,
        seed=options.seed,
        size=options.size,
        repeats=options.repeats,
        strides={} if options.quick else STRIDES,
        max_asked=sys.maxsize if options.thorough else measure.MAX_ASKED,
    )
    record["command"] = "python -m bench.latency" + (" " + " ".join(sys.argv[1:]) if len(sys.argv) > 1 else "")
    if options.output is None:
        print(report.markdown(record, None))
    else:
        options.output.mkdir(parents=True, exist_ok=True)
        report.draw(record, options.output / "latency.png")
        (options.output / "latency.json").write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
        table = report.markdown(record, "latency.png")
        (options.output / "latency.md").write_text(table)
        print(table)
    return _verdict(record)


def run(
    *,
    vocabularies: Sequence[str],
    kinds: Sequence[str],
    engine_names: Sequence[str],
    seed: int,
    size: int,
    repeats: int,
    strides: dict[tuple[str, str], int],
    max_asked: int = measure.MAX_ASKED,
) -> report.Record:
    """All cases, one after the other; the record that is written as JSON."""
    environment = report.environment()
    cases: list[report.Record] = []
    missing: dict[str, str] = {}
    for name in tqdm(vocabularies, desc="vocabularies", disable=len(vocabularies) < 2):
        vocabulary, encode = bench_vocabularies.load(name)
        found, absent = engines(vocabulary, encode, engine_names)
        missing |= absent
        about = {
            "name": name,
            "size": vocabulary.size,
            "fingerprint": vocabulary.fingerprint,
            "floor_us": measure.floor_ns(n_words(vocabulary)) / 1000,
        }
        for kind in kinds:
            text = texts.generate(kind, seed, size)
            case = _case(found, vocabulary, encode, kind, text, repeats, strides, max_asked, label=f"{kind}, {name}")
            cases.append({"vocabulary": about, "kind": kind, "seed": seed, **case})
    load = [round(value, 2) for value in os.getloadavg()]
    return {"environment": environment, "load_at_end": load, "missing_engines": missing, "cases": cases}


def _case(
    found: Sequence[Engine],
    vocabulary: Vocabulary,
    encode: Encode,
    kind: str,
    text: str,
    repeats: int,
    strides: dict[tuple[str, str], int],
    max_asked: int,
    label: str,
) -> report.Record:
    tokens = list(encode(text))
    token_bytes = [vocabulary.token_bytes(token) for token in range(vocabulary.size)]
    if b"".join(token_bytes[token] for token in tokens) != text.encode():
        raise AssertionError(f"{label}: the tokenizer's ids do not spell the text")
    first_masks = measure.time_first_masks(found, kind, repeats)
    own_strides = {engine.name: strides.get((engine.name, kind), 1) for engine in found}
    sessions = {engine.name: engine.open(engine.grammar(kind)) for engine in found}
    tracks, checks = measure.follow(
        sessions, tokens, own_strides, token_bytes=token_bytes, size=vocabulary.size, max_asked=max_asked, label=label
    )
    return {
        "text": {
            "characters": len(text),
            "tokens": len(tokens),
            "sha256": hashlib.sha256(text.encode()).hexdigest(),
        },
        "engines": {
            name: report.engine_record(track, first_masks[name], own_strides[name]) for name, track in tracks.items()
        },
        "checks": report.checks_record(checks),
    }


def _verdict(record: report.Record) -> int:
    """0 where every check held; otherwise 1, after saying what did not."""
    for name, why in record["missing_engines"].items():
        print(f"{name} was left out: {why}", file=sys.stderr)
    failed = [case for case in record["cases"] if not case["checks"]["clean"]]
    for case in failed:
        print(f"\nmasks that failed their check: {case['kind']}, {case['vocabulary']['name']}", file=sys.stderr)
        for example in case["checks"]["examples"]:
            print(f"  {example}", file=sys.stderr)
    return 1 if failed else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.latency", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="tiny texts, a made-up vocabulary, nothing written")
    parser.add_argument(
        "--thorough", action="store_true", help="let xgrammar decide about every token in dispute (minutes more)"
    )
    parser.add_argument("--vocabularies", nargs="+", choices=bench_vocabularies.NAMES)
    parser.add_argument("--texts", nargs="+", choices=sorted(texts.GENERATORS), default=list(texts.GENERATORS))
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--size", type=int, help="characters of each text, or a little more (12,000; --quick: 300)")
    parser.add_argument("--repeats", type=int, help="measurements of the first mask (11; --quick: 2)")
    parser.add_argument("--output", type=Path, help="folder for latency.{json,md,png} (bench/results; --quick: none)")
    options = parser.parse_args(arguments)
    options.vocabularies = options.vocabularies or (["small"] if options.quick else list(VOCABULARIES))
    options.size = options.size or (300 if options.quick else 12_000)
    options.repeats = options.repeats or (2 if options.quick else 11)
    if options.output is None and not options.quick:
        options.output = RESULTS
    return options


if __name__ == "__main__":
    sys.exit(main())
