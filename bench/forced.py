"""Count how many tokens of MaskBench's valid instances need no pass of a model, because the schema forces them.

    python -m bench.forced --data PATH --limit 300

An instance is written by `json.dumps(data, ensure_ascii=False)` and cut by the tokenizer. Before each token,
`Matcher.forced_tokens` is asked: what it gives must be the next tokens of the cut, or it is counted as wrong. Tokens
that are the only ones of their mask are counted apart; the end of the text is the most frequent one.

White space decides most of it: where a blank may or may not come, nothing is forced. `spaced` allows what `json.dumps`
writes, `flexible` (the default of schemas) any `indent` as well, `compact` no white space.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from earleymask import EarleymaskError, Grammar, Matcher, Vocabulary, allocate_bitmask

from . import ROOT, maskbench
from .harness import vocabularies
from .harness.environment import environment
from .harness.figures import Record

RESULTS = ROOT / "bench" / "results"
VOCABULARIES = ("tekken", "llama3", "deepseek")
SPACES = ("compact", "spaced", "flexible")


@dataclass
class Count:
    """What was counted over the valid instances that their schemas accept."""

    instances: int = 0
    left_out: int = 0
    """Instances that were refused, or whose schema was, or whose text the tokenizer changes."""
    tokens: int = 0
    """Tokens of the instances, each with an EOS."""
    forced: int = 0
    """Tokens that `forced_tokens` gave."""
    only: int = 0
    """Other tokens that were the only ones of their mask."""
    wrong: int = 0
    """Times that `forced_tokens` gave others than the tokenizer's."""

    def record(self) -> Record:
        total = max(1, self.tokens)
        return {**vars(self), "share_forced": self.forced / total, "share_saved": (self.forced + self.only) / total}


def follow(matcher: Matcher, tokens: Sequence[int]) -> tuple[int, int, int] | None:
    """Follow an instance. Return how many of its tokens were forced, how many others were the only ones of their mask,
    and how often the forced ones were not those of the instance; None if it is refused."""
    row = allocate_bitmask(1, matcher.vocabulary)[0]
    written = [*tokens, matcher.eos_token_ids[0]]
    n_forced = n_only = n_wrong = at = 0
    while at < len(written):
        found = matcher.forced_tokens()
        if found and found != written[at : at + len(found)]:
            n_wrong += 1
            found = []
        if not found:
            matcher.fill_bitmask(row)
            n_only += int(np.unpackbits(row.view(np.uint8)).sum()) == 1
            found = [written[at]]
        else:
            n_forced += len(found)
        if matcher.accept_tokens(found) < len(found):
            return None
        at += len(found)
    return n_forced, n_only, n_wrong


def counted(vocabulary: Vocabulary, cases: Sequence[maskbench.Given], whitespace: str) -> Count:
    assert vocabulary.encode is not None
    count = Count()
    separators = (",", ":") if whitespace == "compact" else None
    for _, schema, tests in tqdm(cases, unit="schema", desc=whitespace):
        valid = [test["data"] for test in tests if test["valid"]]
        try:
            grammar = Grammar.from_json_schema(schema, whitespace=whitespace)  # type: ignore[arg-type]
        except EarleymaskError:
            count.left_out += len(valid)
            continue
        for data in valid:
            text = json.dumps(data, ensure_ascii=False, separators=separators)
            result = None
            try:
                tokens = vocabularies.spelled(vocabulary, vocabulary.encode, text)
                result = follow(Matcher(grammar, vocabulary), tokens)
            except (UnicodeEncodeError, AssertionError, EarleymaskError):
                pass
            if result is None:
                count.left_out += 1
                continue
            forced, only, wrong = result
            count.instances += 1
            count.tokens += len(tokens) + 1
            count.forced += forced
            count.only += only
            count.wrong += wrong
    return count


def markdown(record: Record) -> str:
    where = record["environment"]
    lines = [
        "# Forced tokens",
        "",
        f"{where['date']}, revision {where['revision']}. Valid instances of {record['schemas']:,} schemas of "
        f"{record['data']}. Written by `{record['command']}`.",
        "",
        "| vocabulary | white space | instances | tokens | forced | only one allowed | saved | wrong |",
        "| --- | --- | --: | --: | --: | --: | --: | --: |",
    ]
    lines += [
        f"| {row['vocabulary']} | {row['whitespace']} | {row['instances']:,} | {row['tokens']:,} | {row['forced']:,} | "
        f"{row['only']:,} | {100 * row['share_saved']:.1f}% | {row['wrong']:,} |"
        for row in record["rows"]
    ]
    return "\n".join(lines) + "\n"


def measured(data: Path, names: Sequence[str], spaces: Sequence[str], limit: int | None) -> Record:
    cases = maskbench.spread(list(maskbench.read(data)), limit)
    rows: list[dict[str, Any]] = []
    for name in names:
        vocabulary, encode = vocabularies.load(name)
        if vocabulary.encode is None:
            vocabulary = vocabulary.with_encode(encode)
        for whitespace in spaces:
            count = counted(vocabulary, cases, whitespace)
            rows.append({"vocabulary": name, "whitespace": whitespace, **count.record()})
    return {"environment": environment(), "data": data.name, "schemas": len(cases), "rows": rows}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.forced", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, metavar="PATH", help="a .jsonl(.gz) file or a folder")
    parser.add_argument("--limit", type=int, metavar="N", help="take N schemas only, evenly spread over all")
    parser.add_argument("--vocabularies", nargs="+", choices=vocabularies.NAMES, default=VOCABULARIES)
    parser.add_argument("--whitespace", nargs="+", choices=SPACES, default=SPACES)
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the Markdown here, and the JSON beside it")
    given = parser.parse_args(arguments)
    record = measured(given.data, given.vocabularies, given.whitespace, given.limit)
    shown = [Path(each).name if "/" in each else each for each in (sys.argv[1:] if arguments is None else arguments)]
    record["command"] = " ".join(["python -m bench.forced", *shown])
    maskbench.write(record, markdown, given.output or RESULTS / "forced.md")


if __name__ == "__main__":
    main()
