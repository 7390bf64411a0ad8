"""Run MaskBench, real JSON Schemas with instances, for earleymask and, interleaved, for installed peers.

    python -m bench.maskbench --data PATH --limit 300

The protocol is that of guidance-ai/jsonschemabench. An instance is written by `json.dumps(data, ensure_ascii=False)`,
cut into tokens, and followed token by token: compute the mask, check that it allows the token, accept the token. At the
end the mask must allow EOS. There are three kinds of error; a schema passes if it has none:

- *compile error*: the schema is refused.
- *validation error*: a valid instance is refused.
- *invalidation error*: an invalid instance is accepted to its end.

TTFM is the time from the schema in memory to its first mask, TBM the time of each further mask.

At each token, the engines fill their masks one after the other; the engine that begins changes from schema to schema.
So each finds the processor's caches as the other engines and the tokenizer left them. `--first-masks` measures TTFM
without that effect: each engine in turn has a block of schemas to itself, and fills their first masks one after the
other. With `--own-processes` each engine has a process of its own, and they take turns schema by schema
(`bench.own_processes`), as a server with one engine would work.

`--data` is a file with a JSON object on each line (`name`, `schema`, `tests`: `valid`, `data`), gzipped or not, or a
folder with such an object in each file, as in the public data set.
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
from functools import partial
from pathlib import Path
from typing import Any

from tqdm import tqdm

from . import ROOT, own_processes
from .engines import Earleymask, Engine, Session, engines
from .harness import vocabularies
from .harness.environment import environment
from .harness.figures import Record, distribution, write_json
from .harness.measure import no_garbage_collection

RESULTS = ROOT / "bench" / "results"
ENGINES = ("earleymask", "llguidance", "xgrammar")
BLOCK = 50
"""The number of schemas that an engine gets with `--first-masks` before the next engine gets the same ones."""
MAX_LISTED = 40
"""The most errors of one kind that the Markdown lists; the JSON file beside it has all."""
REASON_CHARS = 110
"""The most characters of a reason that a table shows."""


Given = tuple[str, Any, list[Mapping[str, Any]]]
"""The name, schema and tests of a case, as they are read."""


@dataclass
class Case:
    name: str
    schema: Any
    tests: list[tuple[bool, list[int]]]
    """For each instance, whether it is valid, and the tokens of its text."""


@dataclass
class Score:
    """The results of one engine."""

    ttfm_ns: list[int] = field(default_factory=list)
    tbm_ns: list[int] = field(default_factory=list)
    passing: int = 0
    compile_errors: dict[str, str] = field(default_factory=dict)
    """The reason by the name of the schema."""
    validation_errors: list[str] = field(default_factory=list)
    invalidation_errors: list[str] = field(default_factory=list)


def read(data: Path) -> Iterator[Given]:
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
    """Return at most `limit` cases, evenly spread over all, because a file may be sorted."""
    if limit is None or limit >= len(cases):
        return cases
    return [cases[i * len(cases) // limit] for i in range(limit)]


def tokenised(
    name: str, schema: Any, tests: Sequence[Mapping[str, Any]], encode: Callable[[str], list[int]]
) -> tuple[Case, int]:
    """Return a case with its instances as tokens, and how many instances could not be encoded or spelled."""
    case, left_out = Case(name, schema, []), 0
    for test in tests:
        try:
            case.tests.append((bool(test["valid"]), encode(json.dumps(test["data"], ensure_ascii=False))))
        except (UnicodeEncodeError, AssertionError):
            left_out += 1
    return case, left_out


def opened(name: str, schema: Any, engine: Engine, score: Score, order: str) -> Session | None:
    """Return a session of an engine with its first mask filled; None if the engine refuses the schema."""
    start = time.perf_counter_ns()
    try:
        session = engine.open_schema(schema, order)
        session.fill()
        taken = time.perf_counter_ns() - start
        if session.error():
            raise ValueError(session.error())
    except Exception as error:  # each engine has errors of its own
        score.compile_errors[name] = str(error)
        return None
    score.ttfm_ns.append(taken)
    return session


def run(case: Case, found: Sequence[Engine], scores: Mapping[str, Score], order: str, eos: int) -> None:
    """Run a case with all engines; the first of `found` begins."""
    sessions: dict[str, Session] = {}
    wrong: set[str] = set()
    for engine in found:
        session = opened(case.name, case.schema, engine, scores[engine.name], order)
        if session is not None:
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
    """Return where each engine refused the text; "" if it accepted all. `first`: the first mask was timed already."""
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
            except Exception as error:  # engines give up with various errors
                allowed, why = False, str(error)
            if not allowed:
                verdicts[name] = f"token {at} of {len(tokens)}{f': {shortened(why)}' if why else ''}"
                del live[name]
    return verdicts


def shortened(reason: str) -> str:
    """Return the first line of a reason, at most `REASON_CHARS` of it."""
    line = next(iter(reason.strip().splitlines()), "")
    return line if len(line) <= REASON_CHARS else line[: REASON_CHARS - 3] + "..."


def kind_of(reason: str) -> str:
    """Return the first reason of an error without what is specific to its schema, so that like reasons can be
    counted."""
    lines = [line for line in reason.splitlines() if line.strip()]
    if lines and re.fullmatch(r"\d+ errors in the (grammar|schema)", lines[0]):
        del lines[0]
    line = next(iter(lines), "")
    line = re.sub(r"\bat #\S*: ", "", line)
    line = re.sub(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'', '"…"', line)
    return shortened(re.sub(r"-?\d+(?:\.\d+)?", "N", line))


def summary(score: Score, n: int, only_first: bool = False) -> Record:
    opened: Record = {
        "schemas": n,
        "compile_errors": len(score.compile_errors),
        "ttfm_us": distribution(score.ttfm_ns),
        "compile_errors_by_reason": dict(Counter(map(kind_of, score.compile_errors.values())).most_common()),
        # Shortened, because engines quote the schema.
        "compile_errors_listed": {name: shortened(why) for name, why in score.compile_errors.items()},
    }
    if only_first:
        return opened
    return {
        **opened,
        "passing": score.passing,
        "validation_errors": len(score.validation_errors),
        "invalidation_errors": len(score.invalidation_errors),
        "tbm_us": distribution(score.tbm_ns),
        "validation_errors_listed": score.validation_errors,
        "invalidation_errors_listed": score.invalidation_errors,
    }


ROWS: tuple[tuple[str, str, Callable[[Record], str]], ...] = (
    (
        "passing",
        "passing",
        lambda s: f"{s['passing']:,} of {s['schemas']:,} ({100 * s['passing'] / max(1, s['schemas']):.1f}%)",
    ),
    ("compile errors", "compile_errors", lambda s: f"{s['compile_errors']:,}"),
    ("validation errors (instances)", "validation_errors", lambda s: f"{s['validation_errors']:,}"),
    ("invalidation errors (instances)", "invalidation_errors", lambda s: f"{s['invalidation_errors']:,}"),
    *(
        (f"TBM {name}, µs", "tbm_us", lambda s, k=key: _number(s["tbm_us"], k))
        for name, key in (("mean", "mean"), ("p50", "median"), ("p99", "p99"), ("max", "max"))
    ),
    *(
        (f"TTFM {name}, µs", "ttfm_us", lambda s, k=key: _number(s["ttfm_us"], k))
        for name, key in (("p50", "median"), ("p90", "p90"), ("p99", "p99"), ("max", "max"))
    ),
)
"""The rows of the table: a title, the entry of the summary that the row needs, and how to show it."""


def _number(figures: Record, key: str) -> str:
    return f"{figures[key]:,.1f}" if key in figures else "–"


def markdown(record: Record) -> str:
    where = record["environment"]
    names = list(record["engines"])
    what = f"{record['instances']:,} instances"
    if record["only_first"]:
        what = f"first masks only, in blocks of {BLOCK} with each engine in turn"
    versions = ", ".join(f"{name} {version}" for name, version in where["versions"].items())
    lines = [
        "# MaskBench",
        "",
        f"{where['date']}, revision {where['revision']}. {where['processor']}, {where['cores']} cores, "
        f"{where['system']}, Python {where['python']}; {versions}. Load average {where['load'][0]}. "
        f"{record['schemas']:,} schemas of {record['data']}, {what}, vocabulary "
        f"{record['vocabulary']}, order of keys: {record['order']}, "
        f"spellings: {record['spellings']}. Written by `{record['command']}`.",
        "",
        "| | " + " | ".join(names) + " |",
        "| --- |" + " --: |" * len(names),
    ]
    for title, needed, value in ROWS:
        if all(needed in engine for engine in record["engines"].values()):
            lines.append(f"| {title} | " + " | ".join(value(record["engines"][name]) for name in names) + " |")
    for name in names:
        summed = record["engines"][name]
        if summed["compile_errors_by_reason"]:
            lines += ["", f"## {name}: compile errors by reason", ""]
            lines += [
                f"- {count}: {reason}" for reason, count in _first(list(summed["compile_errors_by_reason"].items()))
            ]
        for kind in ("validation", "invalidation"):
            if summed.get(f"{kind}_errors_listed"):
                lines += ["", f"## {name}: {kind} errors", ""]
                lines += [f"- {line}" for line in _first(summed[f"{kind}_errors_listed"])]
    return "\n".join(lines) + "\n"


def _first(items: list[Any]) -> list[Any]:
    return items[:MAX_LISTED]


def follow_all(
    cases: Sequence[Given],
    spell: Callable[[str], list[int]],
    eos: int,
    found: Sequence[Engine],
    scores: Mapping[str, Score],
    order: str,
) -> tuple[int, int]:
    """Follow each instance of each schema. Return the number of instances, and of those that could not be encoded."""
    n_instances = n_left_out = 0
    for number, given in enumerate(tqdm(cases, unit="schema")):
        case, left_out = tokenised(*given, spell)
        n_instances += len(case.tests)
        n_left_out += left_out
        run(case, rotated(found, number), scores, order, eos)
    return n_instances, n_left_out


def first_masks(cases: Sequence[Given], found: Sequence[Engine], scores: Mapping[str, Score], order: str) -> None:
    """Fill the first mask of each schema. Each engine in turn has a block of schemas to itself."""
    for start in tqdm(range(0, len(cases), BLOCK), unit=f" blocks of {BLOCK}"):
        for engine in rotated(found, start // BLOCK):
            for name, schema, _ in cases[start : start + BLOCK]:
                opened(name, schema, engine, scores[engine.name], order)


def rotated(found: Sequence[Engine], number: int) -> list[Engine]:
    turn = number % len(found)
    return [*found[turn:], *found[:turn]]


def measured(
    data: Path,
    vocabulary_name: str,
    engine_names: Sequence[str],
    order: str,
    limit: int | None,
    only_first: bool,
    spellings: str,
) -> Record:
    vocabulary, encode = vocabularies.load(vocabulary_name)
    found, missing = engines(vocabulary, engine_names)
    for engine in found:
        if isinstance(engine, Earleymask):
            engine.spellings = spellings
    for name, why in missing.items():
        print(f"{name} is not measured: {why}", file=sys.stderr)
    scores = {engine.name: Score() for engine in found}
    cases = spread(list(read(data)), limit)
    n_instances = n_left_out = 0
    with no_garbage_collection():
        if only_first:
            first_masks(cases, found, scores, order)
        else:
            eos = next(iter(vocabulary.eos_token_ids))
            spell = partial(vocabularies.spelled, vocabulary, encode)
            n_instances, n_left_out = follow_all(cases, spell, eos, found, scores, order)
    return {
        "environment": environment(),
        "data": data.name,
        "vocabulary": f"{vocabulary_name} ({vocabulary.size:,} ids)",
        "order": order,
        "spellings": spellings,
        "only_first": only_first,
        "schemas": len(cases),
        "instances": n_instances,
        "instances_left_out": n_left_out,
        "engines": {name: summary(score, len(cases), only_first) for name, score in scores.items()},
    }


def _command(arguments: Sequence[str]) -> str:
    """Return the command that makes a record, with names of files in place of their paths."""
    return " ".join(["python -m bench.maskbench", *(Path(each).name if "/" in each else each for each in arguments)])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.maskbench", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, metavar="PATH", help="a .jsonl(.gz) file or a folder")
    parser.add_argument("--limit", type=int, metavar="N", help="run N schemas only, evenly spread over all")
    parser.add_argument(
        "--order", choices=("any", "schema"), default="schema", help="the order of keys (default: %(default)s)"
    )
    parser.add_argument(
        "--spellings", choices=("plain", "all"), default="plain", help="of earleymask (default: %(default)s)"
    )
    parser.add_argument("--vocabulary", default="tekken", choices=vocabularies.NAMES, help="(default: %(default)s)")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    parser.add_argument(
        "--first-masks", action="store_true", help="measure first masks only, one schema right after the other"
    )
    parser.add_argument("--own-processes", action="store_true", help="give each engine a process of its own")
    parser.add_argument(
        "--warm",
        type=float,
        default=0,
        metavar="MS",
        help="with --own-processes, let earleymask make masks ahead for so long before the first one is asked for",
    )
    parser.add_argument("--runs", type=int, default=3, help="with --own-processes (default: %(default)s)")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the Markdown here, and the JSON beside it")
    given = parser.parse_args(arguments)
    command = _command(sys.argv[1:] if arguments is None else arguments)
    if given.own_processes:
        jobs = [
            own_processes.Job(name, given.vocabulary, given.order, given.spellings, given.warm)
            for name in given.engines
        ]
        vocabulary, encode = vocabularies.load(given.vocabulary)
        spell = partial(vocabularies.spelled, vocabulary, encode)
        cases = [tokenised(*each, spell)[0] for each in spread(list(read(given.data)), given.limit)]
        record = own_processes.measured([(case.schema, case.tests) for case in cases], jobs, given.runs)
        name = f"own-processes-{given.order}{f'-warm-{given.warm:g}' if given.warm else ''}"
        write(record | {"command": command}, own_processes.markdown, given.output or RESULTS / f"maskbench-{name}.md")
        return
    record = measured(
        given.data,
        given.vocabulary,
        given.engines,
        given.order,
        given.limit,
        given.first_masks,
        given.spellings,
    )
    record["command"] = command
    kind = f"{'first-masks-' if given.first_masks else ''}{given.order}{'-all' if given.spellings == 'all' else ''}"
    write(record, markdown, given.output or RESULTS / f"maskbench-{kind}.md")


def write(record: Record, shown: Callable[[Record], str], output: Path) -> None:
    """Write a record as Markdown, and as JSON beside it, and print the former."""
    text = shown(record)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(text, encoding="utf-8")
    write_json(record, output.with_suffix(".json"))
    print(text)


if __name__ == "__main__":
    main()
