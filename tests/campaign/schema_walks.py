"""Walk through the masks of real schemas with a real vocabulary: `python -m tests.campaign.schema_walks --data PATH`.

    python -m tests.campaign.schema_walks --data FOLDER/maskbench-open.jsonl.gz --n 1000 --walks 3

A walk begins with an empty text and chooses at random among the tokens that the mask allows; after some tokens it
prefers those that close what is open, and then short ones. The text of every walk that ends must be valid by the
oracle, no mask may be empty, and every token of a mask must be accepted. A walk that does not end in time says nothing
about validity and is counted separately.

`--data` is what `bench.maskbench` reads: a file with one JSON object in each line (`schema`), or a folder. The exit
code is 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import earleymask
from support import vocabularies
from support.schema_oracle import Oracle, is_judged

HEAD_FOR_THE_END = 40
"""After so many tokens a walk prefers those that close something."""
MAX_TOKENS = 1500
SECONDS = 20.0
"""How long one walk may take. A walk that takes longer, or more than MAX_TOKENS, does not count as ended."""
CLOSING = (b"}", b"]")
IN_STRING = (b"#", b"?", b"x", b"_", b"X")
"""Tokens that only a string allows. Where the mask has one, a bracket would close nothing."""
FAR_ENOUGH = re.compile(rb"[0-9][eE][+-]?[0-9]{3}$")
"""After an exponent of three digits no further digit is chosen, if the mask has other tokens."""


class Walker:
    """Walks at random, with one vocabulary."""

    def __init__(self, vocabulary: earleymask.Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.left = b""  # the text of the last walk that did not end
        self.eos = vocabulary.eos_token_ids[0]
        texts = [vocabulary.token_bytes(token) for token in range(vocabulary.size)]
        self.quote = texts.index(b'"')
        self.closing = np.array([text in CLOSING for text in texts])
        self.in_string = np.array([texts.index(text) for text in IN_STRING if text in texts])
        self.digit = np.array([text[:1].isdigit() for text in texts])
        # A backslash would begin an escape, and those that the mask allows may be of any character.
        self.single = np.array([len(text) == 1 and 0x20 <= text[0] < 0x7F and text != b"\\" for text in texts])

    def walk(self, grammar: earleymask.Grammar, rng: Random) -> bytes | None:
        """Return the text of a walk; None if it did not end. An empty or a wrong mask is an AssertionError."""
        matcher = earleymask.Matcher(grammar, self.vocabulary)
        written = bytearray()
        begin = time.monotonic()
        for at in range(MAX_TOKENS):
            mask = matcher.mask()
            allowed = mask.nonzero()[0]
            assert len(allowed), f"no token can follow {bytes(written)!r}"
            if FAR_ENOUGH.search(written[-8:]) and not (self.digit | ~mask).all():
                mask &= ~self.digit
                allowed = mask.nonzero()[0]
            token = self.choice(mask, allowed, rng, at > HEAD_FOR_THE_END)
            assert matcher.accept(token), f"the mask allows {token} after {bytes(written)!r}, and `accept` does not"
            if token == self.eos:
                return bytes(written)
            written += self.vocabulary.token_bytes(token)
            if time.monotonic() - begin > SECONDS:
                break
        self.left = bytes(written)
        return None

    def choice(self, mask: np.ndarray, allowed: np.ndarray, rng: Random, is_late: bool) -> int:
        if mask[self.eos] and (is_late or rng.random() < 0.5):
            return self.eos
        if is_late and mask[self.quote] and mask[self.in_string].any():
            return self.quote
        chance = rng.random()
        if chance < (0.9 if is_late else 0.25):
            closing = (mask & self.closing).nonzero()[0]
            if len(closing):
                return int(closing[rng.randrange(len(closing))])
        if chance < (0.97 if is_late else 0.5):
            single = (mask & self.single).nonzero()[0]
            if len(single):
                return int(single[rng.randrange(len(single))])
        return int(allowed[rng.randrange(len(allowed))])


@dataclass
class Report:
    """The result for some schemas."""

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    limits: list[str] = field(default_factory=list)
    walked_on: list[str] = field(default_factory=list)
    """The last parts of texts that did not end."""


def check(walker: Walker, schema: Any, rng: Random, n_walks: int, order: str, report: Report) -> None:
    """Walk through the masks of a schema, and check that the texts are valid."""
    try:
        grammar = earleymask.Grammar.from_json_schema(schema, property_order=order)
    except earleymask.GrammarError:
        report.counts["refused"] += 1
        return
    report.counts["loaded"] += 1
    oracle = Oracle(schema)
    for _ in range(n_walks):
        try:
            written = walker.walk(grammar, rng)
        except earleymask.LimitError as error:
            report.counts["limit"] += 1
            report.limits.append(str(error))
            continue
        except AssertionError as error:
            report.wrong.append(str(error))
            continue
        if written is None:
            report.counts["walked on"] += 1
            report.walked_on.append(f"{len(walker.left)} bytes ... {walker.left[-80:]!r}")
            continue
        text = written.decode("utf-8")
        if not is_judged(text):
            report.counts["not judged"] += 1
            continue
        is_valid = oracle.accepts(text)
        report.counts["valid" if is_valid else "invalid"] += 1
        if not is_valid:
            report.wrong.append(f"{written!r} was written, though invalid (order {order})")


def cases(data: Path) -> Iterator[tuple[str, Any]]:
    """Yield names and schemas."""
    if data.is_dir():
        for path in sorted(data.rglob("*.json")):
            case = json.loads(path.read_text(encoding="utf-8"))
            if isinstance(case, dict) and "schema" in case:
                yield path.stem, case["schema"]
        return
    with gzip.open(data, "rt", encoding="utf-8") if data.suffix == ".gz" else data.open(encoding="utf-8") as file:
        for line in file:
            case = json.loads(line)
            yield case["name"], case["schema"]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.campaign.schema_walks", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--n", type=int, default=1000, help="schemas, evenly from all")
    parser.add_argument("--walks", type=int, default=3, help="walks of each schema")
    parser.add_argument("--vocabulary", default="tekken")
    parser.add_argument("--order", default="schema", choices=("schema", "any"))
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    found = list(cases(given.data))
    step = max(len(found) // given.n, 1)
    walker = Walker(vocabularies.load(given.vocabulary))
    report = Report()
    for name, schema in found[::step][: given.n]:
        before = len(report.wrong)
        check(walker, schema, Random(f"{given.seed} {name}"), given.walks, given.order, report)
        for wrong in report.wrong[before:]:
            print(f"{name}: {wrong}\n  {json.dumps(schema)[:2000]}", flush=True)
        for told in report.limits + report.walked_on:
            print(f"{name}: {told}", flush=True)
        report.limits.clear()
        report.walked_on.clear()
    print(dict(report.counts))
    return 1 if report.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
