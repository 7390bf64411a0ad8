"""MaskBench: real JSON Schemas with instances, for earleymask and, interleaved, for installed peers.

    python -m bench.maskbench --data ../shared/data/maskbench-open.jsonl.gz --limit 300

The protocol is that of guidance-ai/jsonschemabench: an instance is serialised with
`json.dumps(data, ensure_ascii=False)`, cut into tokens, and followed token by token: compute the mask, see that the
token is in it, accept it; at the end EOS must be allowed. A valid instance that is refused is a *validation error*, an
invalid one that is accepted whole an *invalidation error*, a refused schema a *compile error*; a schema passes without
any. TTFM is the time from the schema in memory to its first mask, TBM that of each further mask.

All engines stand at the same token and fill their masks one after the other; who begins changes from schema to schema.
`--data` is a file with one JSON object a line (`name`, `schema`, `tests`: `valid`, `data`), gzipped or not, or a folder
with one such object a file, as the public data set has them.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

from . import ROOT, vocabularies
from .engines import Engine, Session, engines
from .environment import environment
from .figures import Record, distribution, write_json
from .measure import no_garbage_collection

RESULTS = ROOT / "bench" / "results"
ENGINES = ("earleymask", "llguidance", "xgrammar")
MAX_LISTED = 40
"""Errors of one kind that the Markdown lists; the JSON beside it has all."""
REASON_CHARS = 110


@dataclass
class Case:
    name: str
    schema: Any
    tests: list[tuple[bool, list[int]]]
    """Whether the instance is valid, and the tokens of its text."""


@dataclass
class Score:
    """What one engine did."""

    ttfm_ns: list[int] = field(default_factory=list)
    tbm_ns: list[int] = field(default_factory=list)
    passing: int = 0
    compile_errors: dict[str, str] = field(default_factory=dict)
    """Name of the schema -> reason."""
    validation_errors: list[str] = field(default_factory=list)
    invalidation_errors: list[str] = field(default_factory=list)


def read(data: Path) -> Iterator[tuple[str, Any, list[Mapping[str, Any]]]]:
    """Name, schema and tests of each case."""
    if data.is_dir():
        for path in sorted(data.rglob("*.json")):
            case = json.loads(path.read_text(encoding="utf-8"))
            if isinstance(case, dict) and "schema" in case and "tests" in case:
                yield path.stem, case["schema"], case["tests"]
        return
    with gzip.open(data, "rt", encoding="utf-8") if data.suffix == ".gz" else data.open(encoding="utf-8") as file:
        for line in file:
            case = json.loads(line)
            yield case["name"], case["schema"], case["tests"]


def spread(cases: list[Any], limit: int | None) -> list[Any]:
    """At most `limit` of them, evenly from all: files may be sorted."""
    if limit is None or limit >= len(cases):
        return cases
    return [cases[i * len(cases) // limit] for i in range(limit)]


def tokenised(
    name: str, schema: Any, tests: Sequence[Mapping[str, Any]], encode: Callable[[str], list[int]]
) -> tuple[Case, int]:
    """A case with its instances as tokens, and how many were left out: texts that are no UTF-8, or not spelled."""
    case, left_out = Case(name, schema, []), 0
    for test in tests:
        try:
            case.tests.append((bool(test["valid"]), encode(json.dumps(test["data"], ensure_ascii=False))))
        except (UnicodeEncodeError, AssertionError):
            left_out += 1
    return case, left_out


def run(case: Case, found: Sequence[Engine], scores: Mapping[str, Score], order: str, eos: int) -> None:
    """One case with all engines; the first of `found` begins."""
    sessions: dict[str, Session] = {}
    wrong: set[str] = set()
    for engine in found:
        start = time.perf_counter_ns()
        try:
            session = engine.open_schema(case.schema, order)
            session.fill()
            taken = time.perf_counter_ns() - start
            if session.error():
                raise ValueError(session.error())
        except Exception as error:  # each engine has its own
            scores[engine.name].compile_errors[case.name] = str(error)
        else:
            scores[engine.name].ttfm_ns.append(taken)
            sessions[engine.name] = session
    for number, (valid, tokens) in enumerate(case.tests):
        if number:
            again = {}
            for name, session in sessions.items():
                assert session.again is not None
                again[name] = session.again()
            sessions = again
        verdicts = follow(sessions, tokens, eos, {name: score.tbm_ns for name, score in scores.items()}, not number)
        for name, verdict in verdicts.items():
            if valid and verdict:
                scores[name].validation_errors.append(f"{case.name} #{number}: {verdict}")
                wrong.add(name)
            elif not valid and not verdict:
                scores[name].invalidation_errors.append(f"{case.name} #{number}")
                wrong.add(name)
    for name in sessions:
        scores[name].passing += name not in wrong


def follow(
    sessions: Mapping[str, Session], tokens: Sequence[int], eos: int, times: Mapping[str, list[int]], first: bool
) -> dict[str, str]:
    """Where each engine refused the text; "" where it accepted it whole. `first`: the first mask was timed already."""
    verdicts = dict.fromkeys(sessions, "")
    live = dict(sessions)
    for at, token in enumerate([*tokens, eos]):
        for name, session in list(live.items()):
            try:
                start = time.perf_counter_ns()
                session.fill()
                taken = time.perf_counter_ns() - start
                if at or not first:
                    times[name].append(taken)
                allowed = bool(session.row[token >> 5] >> (token & 31) & 1)
                if allowed and at < len(tokens):
                    allowed = bool(session.accept(token))
                why = session.error()
            except Exception as error:  # an engine that gives up says so in its own way
                allowed, why = False, str(error)
            if not allowed:
                verdicts[name] = f"token {at} of {len(tokens)}{f': {shortened(why)}' if why else ''}"
                del live[name]
    return verdicts


def shortened(reason: str) -> str:
    """The first line of a reason, as far as a table takes it."""
    line = next(iter(reason.strip().splitlines()), "")
    return line if len(line) <= REASON_CHARS else line[: REASON_CHARS - 3] + "..."


def kind_of(reason: str) -> str:
    """A reason, the first of several, without what belongs to one schema: alike ones are counted together."""
    lines = [line for line in reason.splitlines() if line.strip()]
    if lines and re.fullmatch(r"\d+ errors in the grammar", lines[0]):
        del lines[0]
    line = next(iter(lines), "")
    line = re.sub(r"\bat #\S*: ", "", line)
    line = re.sub(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'', '"…"', line)
    return shortened(re.sub(r"-?\d+(?:\.\d+)?", "N", line))


def summary(score: Score, n: int) -> Record:
    return {
        "schemas": n,
        "passing": score.passing,
        "compile_errors": len(score.compile_errors),
        "validation_errors": len(score.validation_errors),
        "invalidation_errors": len(score.invalidation_errors),
        "tbm_us": distribution(score.tbm_ns),
        "ttfm_us": distribution(score.ttfm_ns),
        "compile_errors_by_reason": dict(Counter(map(kind_of, score.compile_errors.values())).most_common()),
        # Without the schemas, which engines quote.
        "compile_errors_listed": {name: shortened(why) for name, why in score.compile_errors.items()},
        "validation_errors_listed": score.validation_errors,
        "invalidation_errors_listed": score.invalidation_errors,
    }


ROWS: tuple[tuple[str, Callable[[Record], Any]], ...] = (
    ("passing", lambda s: f"{s['passing']:,} of {s['schemas']:,} ({100 * s['passing'] / max(1, s['schemas']):.1f}%)"),
    ("compile errors", lambda s: f"{s['compile_errors']:,}"),
    ("validation errors (instances)", lambda s: f"{s['validation_errors']:,}"),
    ("invalidation errors (instances)", lambda s: f"{s['invalidation_errors']:,}"),
    *(
        (f"TBM {name}, µs", lambda s, k=key: _number(s["tbm_us"], k))
        for name, key in (("mean", "mean"), ("p50", "median"), ("p99", "p99"), ("max", "max"))
    ),
    *(
        (f"TTFM {name}, µs", lambda s, k=key: _number(s["ttfm_us"], k))
        for name, key in (("p50", "median"), ("p90", "p90"), ("p99", "p99"), ("max", "max"))
    ),
)


def _number(figures: Record, key: str) -> str:
    return f"{figures[key]:,.1f}" if key in figures else "–"


def markdown(record: Record) -> str:
    where = record["environment"]
    names = list(record["engines"])
    versions = ", ".join(f"{name} {version}" for name, version in where["versions"].items())
    lines = [
        "# MaskBench",
        "",
        f"{where['date']}, revision {where['revision']}. {where['processor']}, {where['cores']} cores, "
        f"{where['system']}, Python {where['python']}; {versions}. Load average {where['load'][0]}. "
        f"{record['schemas']:,} schemas of {record['data']}, {record['instances']:,} instances, vocabulary "
        f"{record['vocabulary']}, order of keys: {record['order']}. Written by `{record['command']}`.",
        "",
        "| | " + " | ".join(names) + " |",
        "| --- |" + " --: |" * len(names),
    ]
    for title, value in ROWS:
        lines.append(f"| {title} | " + " | ".join(value(record["engines"][name]) for name in names) + " |")
    for name in names:
        summed = record["engines"][name]
        if summed["compile_errors_by_reason"]:
            lines += ["", f"## {name}: compile errors by reason", ""]
            lines += [
                f"- {count}: {reason}" for reason, count in _first(list(summed["compile_errors_by_reason"].items()))
            ]
        for what in ("validation", "invalidation"):
            if summed[f"{what}_errors_listed"]:
                lines += ["", f"## {name}: {what} errors", ""]
                lines += [f"- {line}" for line in _first(summed[f"{what}_errors_listed"])]
    return "\n".join(lines) + "\n"


def _first(items: list[Any]) -> list[Any]:
    return items[:MAX_LISTED]


def measured(
    data: Path, vocabulary_name: str, engine_names: Sequence[str], order: str, limit: int | None, progress: bool = True
) -> Record:
    vocabulary, encode = vocabularies.load(vocabulary_name)
    found, missing = engines(vocabulary, engine_names)
    for name, why in missing.items():
        print(f"{name} is left out: {why}", file=sys.stderr)
    eos = next(iter(vocabulary.eos_token_ids))
    scores = {engine.name: Score() for engine in found}
    cases = spread(list(read(data)), limit)
    n_instances = n_left_out = 0
    with no_garbage_collection():
        for number, (name, schema, tests) in enumerate(tqdm(cases, unit="schema", disable=not progress)):
            case, left_out = tokenised(name, schema, tests, lambda text: vocabularies.spelled(vocabulary, encode, text))
            n_instances += len(case.tests)
            n_left_out += left_out
            turn = number % len(found)
            run(case, [*found[turn:], *found[:turn]], scores, order, eos)
    return {
        "environment": environment(),
        "data": data.name,
        "vocabulary": f"{vocabulary_name} ({vocabulary.size:,} ids)",
        "order": order,
        "schemas": len(cases),
        "instances": n_instances,
        "instances_left_out": n_left_out,
        "engines": {name: summary(score, len(cases)) for name, score in scores.items()},
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.maskbench", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, metavar="PATH", help="a .jsonl(.gz) file or a folder")
    parser.add_argument("--limit", type=int, metavar="N", help="N schemas only, evenly from all")
    parser.add_argument("--order", choices=("any", "schema"), default="schema", help="of keys (%(default)s)")
    parser.add_argument("--vocabulary", default="tekken", choices=vocabularies.NAMES, help="(%(default)s)")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    parser.add_argument("--output", type=Path, metavar="FILE", help="the Markdown; a .json goes beside it")
    given = parser.parse_args(arguments)
    record = measured(given.data, given.vocabulary, given.engines, given.order, given.limit)
    record["command"] = " ".join(["python -m bench.maskbench", *(sys.argv[1:] if arguments is None else arguments)])
    text = markdown(record)
    output = given.output or RESULTS / f"maskbench-{given.order}.md"
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(text, encoding="utf-8")
    write_json(record, output.with_suffix(".json"))
    print(text)


if __name__ == "__main__":
    main()
