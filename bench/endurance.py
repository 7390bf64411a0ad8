"""Measure whether requests take longer, or the process grows, while one process serves thousands of them.

    python -m bench.endurance [schemas] [grammars] [matchers] [--requests N] [--vocabulary llama3]

Each request of `schemas` and `grammars` brings a JSON Schema or a Lark grammar whose names no earlier one had: it is
loaded, a matcher follows a random text of at most 40 tokens and makes a mask at each, and both are dropped. The
table has a row for each tenth of the requests. `matchers` keeps 10,000 matchers of one schema alive at the same time,
which take turns. `bench.long_output` follows one long text.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np
from tqdm import tqdm

import earleymask

from .engines import new_row
from .harness import vocabularies
from .harness.figures import Record, distribution
from .harness.memory import resident_bytes

N_REQUESTS = {"schemas": 10_000, "grammars": 20_000, "matchers": 10_000}
N_TOKENS = 40
"""The most tokens of a request: enough to pass several keys, words or operators."""
LETTERS = "abcdefghijklmnopqrstuvwxyz"


# --- grammars that nobody has sent before ----------------------------------------------------------------------------


def name(rng: Random) -> str:
    """Return a name. There are enough that few return within a run."""
    return "_".join("".join(rng.choices(LETTERS, k=rng.randint(3, 8))) for _ in range(rng.randint(1, 2)))


def schema(rng: Random, depth: int = 2) -> dict[str, Any]:
    """Make the schema of an object, such as tools have, with objects within it up to a depth."""
    members = {name(rng): member(rng, depth) for _ in range(rng.randint(1, 6))}
    return {
        "type": "object",
        "properties": members,
        "required": rng.sample(list(members), rng.randint(0, len(members))),
        "additionalProperties": rng.random() < 0.3,
    }


def member(rng: Random, depth: int) -> dict[str, Any]:
    """Make the schema of a plain value, of a list, or of an object."""
    kinds: list[Callable[[], dict[str, Any]]] = [
        lambda: {"type": "string"},
        lambda: {"type": "string", "minLength": rng.randint(0, 3), "maxLength": rng.randint(4, 400)},
        lambda: {"type": "string", "pattern": f"^{name(rng)}-[0-9]{{{rng.randint(1, 9)}}}$"},
        lambda: {"type": "string", "format": rng.choice(["date", "time", "date-time", "uuid", "email", "ipv4"])},
        lambda: {"type": "integer", "minimum": rng.randint(-1000, 0), "maximum": rng.randint(1, 100_000)},
        lambda: {"type": "number"},
        lambda: {"type": ["boolean", "null"]},
        lambda: {"enum": [name(rng) for _ in range(rng.randint(1, 20))]},
        lambda: {"const": name(rng)},
    ]
    if depth and rng.random() < 0.2:
        return {"type": "array", "items": member(rng, depth - 1), "maxItems": rng.randint(1, 50)}
    if depth and rng.random() < 0.3:
        return schema(rng, depth - 1)
    return rng.choice(kinds)()


def grammar(rng: Random) -> str:
    """Make a grammar of a small language with keywords, names, numbers, calls and white space of its own."""
    keywords = [name(rng) for _ in range(rng.randint(1, 8))]
    operators = rng.sample(["+", "-", "*", "/", "=", "<", ">", "and", "or", "||", "=>", "->"], rng.randint(1, 6))
    bodies = ["expression", "NAME", "NAME expression?", "list", '(NAME ",")* NAME']
    statements = " | ".join(f'"{keyword}" {rng.choice(bodies)}' for keyword in keywords)
    number = rng.choice(["/[0-9]+/", r"/[0-9]+(\.[0-9]+)?/", "/0|[1-9][0-9]{0,8}/"])
    words = rng.choice([r"/[a-z_][a-z_0-9]*/", r"/[A-Z][A-Za-z]{0,20}/", rf"/(?!(?:{'|'.join(keywords)})\b)[a-z_]+/"])
    return (
        f'start: (statement "{rng.choice([";", ".", "!"])}")+\n'
        f"statement: {statements}\n"
        f"expression: value | expression OPERATOR value\n"
        f'value: NAME | NUMBER | TEXT | "(" expression ")" | NAME list\n'
        f'list: "[" [expression ("," expression)*] "]"\n'
        f"OPERATOR: {' | '.join(json.dumps(operator) for operator in operators)}\n"
        f"NAME: {words}\nNUMBER: {number}\n"
        f'TEXT: /"[^"\\\\\\n]{{0,{rng.randint(1, 200)}}}"/\n'
        f"%ignore /[ \\n]+/\n"
    )


def load_schema(number: int) -> earleymask.Grammar:
    return earleymask.Grammar.from_json_schema(schema(Random(f"schema {number}")))


def load_grammar(number: int) -> earleymask.Grammar:
    return earleymask.Grammar.from_lark(grammar(Random(f"grammar {number}")))


LOADERS: dict[str, Callable[[int], earleymask.Grammar]] = {"schemas": load_schema, "grammars": load_grammar}


# --- requests --------------------------------------------------------------------------------------------------------


class Times:
    """The nanoseconds of the calls of a tenth of the requests, by kind of call."""

    def __init__(self) -> None:
        self.of: dict[str, list[int]] = {}

    def call(self, kind: str, work: Callable[..., Any], *arguments: Any) -> Any:
        begin = time.perf_counter_ns()
        answer = work(*arguments)
        self.of.setdefault(kind, []).append(time.perf_counter_ns() - begin)
        return answer

    def record(self) -> Record:
        return {kind: distribution(times) for kind, times in self.of.items()}


def serve(
    load: Callable[[int], earleymask.Grammar], number: int, vocabulary: earleymask.Vocabulary, row: Any, times: Times
) -> int:
    """Answer one request, and return the number of its tokens."""
    rng = Random(number)
    loaded = times.call("load", load, number)
    matcher = earleymask.Matcher(loaded, vocabulary)
    for position in range(N_TOKENS):
        times.call("mask" if position else "first mask", matcher.fill_bitmask, row)
        if matcher.is_finished():
            break
        times.call("accept", matcher.accept, chosen(rng, row, vocabulary))
    return matcher.n_tokens


def chosen(rng: Random, row: Any, vocabulary: earleymask.Vocabulary) -> int:
    """Choose an allowed token: the shortest of three, so that more texts come to their ends."""
    words = np.flatnonzero(row)
    some = []
    for _ in range(3):
        index = int(words[rng.randrange(len(words))])
        some.append(32 * index + rng.choice([bit for bit in range(32) if row[index] >> bit & 1]))
    return min(some, key=lambda token: len(vocabulary.token_bytes(token)))


def run(kind: str, n: int, vocabulary: earleymask.Vocabulary) -> list[Record]:
    """Serve n requests. Return a record for each tenth of them."""
    row, found = new_row(vocabulary), []
    progress = tqdm(total=n, desc=kind, mininterval=1.0)
    for tenth in range(10):
        times, tokens = Times(), 0
        numbers = range(n * tenth // 10, n * (tenth + 1) // 10)
        for number in numbers:
            tokens += serve(LOADERS[kind], number, vocabulary, row, times)
            progress.update()
        found.append({"requests": numbers.stop, "tokens": tokens, "resident": resident_bytes(), **times.record()})
    progress.close()
    return found


def run_matchers(n: int, vocabulary: earleymask.Vocabulary) -> list[Record]:
    """Make n matchers of one schema, a tenth of them at a time. In each round all accept a token and make a mask."""
    row, found = new_row(vocabulary), []
    loaded = earleymask.Grammar.from_json_schema({"type": "array", "items": schema(Random(0)), "minItems": 100})
    matchers: list[tuple[earleymask.Matcher, Random]] = []
    progress = tqdm(total=n, desc="matchers", mininterval=1.0)
    for tenth in range(10):
        times, tokens = Times(), 0
        for number in range(n * tenth // 10, n * (tenth + 1) // 10):
            matchers.append((times.call("load", earleymask.Matcher, loaded, vocabulary), Random(number)))
            progress.update()
        for _ in range(4):
            for matcher, rng in matchers:
                times.call("mask", matcher.fill_bitmask, row)
                times.call("accept", matcher.accept, chosen(rng, row, vocabulary))
                tokens += 1
        found.append({"requests": len(matchers), "tokens": tokens, "resident": resident_bytes(), **times.record()})
    progress.close()
    return found


def table(records: Sequence[Record]) -> str:
    """Return a table in Markdown: a row for each tenth, times in microseconds as median / 99th percentile."""
    kinds = ("load", "first mask", "mask", "accept")
    lines = [
        "| " + " | ".join(("after", "tokens", *kinds, "memory")) + " |",
        "| --: | --: | --: | --: | --: | --: | --: |",
    ]
    for record in records:
        cells = [
            f"{record[kind]['median']:,.1f} / {record[kind]['p99']:,.0f}" if kind in record else "" for kind in kinds
        ]
        memory = f"{record['resident'] / 1e6:,.0f} MB"
        lines.append(f"| {record['requests']:,} | {record['tokens']:,} | {' | '.join(cells)} | {memory} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.endurance", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("kinds", nargs="*", help="schemas, grammars, matchers (default: all)")
    parser.add_argument("--requests", type=int, help="the number of each (default: 10,000, 20,000 and 10,000)")
    parser.add_argument("--vocabulary", choices=vocabularies.NAMES, default="llama3")
    options = parser.parse_args(arguments)
    if unknown := set(options.kinds) - set(N_REQUESTS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; choose from {', '.join(N_REQUESTS)}")
    vocabulary, _ = vocabularies.load(options.vocabulary)
    earleymask.prepare(vocabulary)
    print(f"{options.vocabulary}, {vocabulary.size:,} tokens; microseconds, median / 99th percentile\n")
    for kind in options.kinds or N_REQUESTS:
        n = options.requests or N_REQUESTS[kind]
        records = run_matchers(n, vocabulary) if kind == "matchers" else run(kind, n, vocabulary)
        print(f"\n{kind}\n\n{table(records)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
