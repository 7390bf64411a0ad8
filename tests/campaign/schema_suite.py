"""The official JSON-Schema-Test-Suite, group by group: `python -m tests.campaign.schema_suite --draft 2020-12`.

A group is one schema with several instances. It is *right* where every instance is accepted exactly when the suite says
valid, *empty* where the schema is refused because no document satisfies it, and none of the instances does, *refused*
where it is refused for another reason, else wrong: *wrong accept* or *wrong reject*. Instances are
serialised with `json.dumps` and walked byte by byte; formats are annotations but in the tests of formats, as the suite
has it. The suite is where EARLEYMASK_SCHEMA_SUITE says; else in `build/json-schema-test-suite`, where `.ci/suite` puts
the one of the source distribution of `jsonschema`; else in `../shared/data/json-schema-test-suite`.

The exit code is 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import earleymask
from support.paths import ROOT
from support.schema_order import reordered

DRAFTS = {
    "2020-12": "https://json-schema.org/draft/2020-12/schema",
    "2019-09": "https://json-schema.org/draft/2019-09/schema",
    "7": "http://json-schema.org/draft-07/schema#",
    "6": "http://json-schema.org/draft-06/schema#",
    "4": "http://json-schema.org/draft-04/schema#",
}
REMOTES = "http://localhost:1234/"
"""Where the suite's schemas look for its remote ones."""
RIGHT, EMPTY, REFUSED, WRONG_ACCEPT, WRONG_REJECT = "right", "empty", "refused", "wrong accept", "wrong reject"
VERDICTS = (RIGHT, EMPTY, REFUSED, WRONG_ACCEPT, WRONG_REJECT)
NO_DOCUMENT = "no document satisfies"


@dataclass(frozen=True)
class Group:
    file: str
    """Within the folder of the draft, without its suffix: "allOf", "optional/format/date"."""
    description: str
    schema: Any
    tests: tuple[Mapping[str, Any], ...]
    """Each with "description", "data" and "valid"."""


@dataclass
class Outcome:
    group: Group
    verdict: str
    reasons: list[str] = field(default_factory=list)
    """Why it was refused, or which instances went wrong."""


Accepts = Callable[[str], bool]
"""Whether a text is a sentence."""
Open = Callable[..., Accepts]
"""From a schema and `property_order`, `format_assertion` and `registry` to what it accepts; GrammarError: refused."""


def folder(draft: str = "2020-12") -> Path:
    """Where the suite for a draft is; it need not be there."""
    given = os.environ.get("EARLEYMASK_SCHEMA_SUITE")
    if given:
        return Path(given)
    name = "json-schema-test-suite"
    fetched = ROOT / "build" / name
    has_draft = (fetched / "tests" / f"draft{draft}").is_dir()
    return fetched if has_draft else ROOT.parent / "shared" / "data" / name


def groups(suite: Path, draft: str) -> Iterator[Group]:
    """All groups of a draft, in the order of their files. Schemas say which draft they are of, where they can."""
    tests = suite / "tests" / (f"draft{draft}")
    for path in sorted(tests.rglob("*.json")):
        for group in json.loads(path.read_text(encoding="utf-8")):
            schema = group["schema"]
            if isinstance(schema, dict) and "$schema" not in schema:
                schema = {"$schema": DRAFTS[draft], **schema}
            name = path.relative_to(tests).with_suffix("").as_posix()
            yield Group(name, group["description"], schema, tuple(group["tests"]))


@cache
def remotes(suite: Path) -> dict[str, Any]:
    """The suite's remote schemas by the URIs under which its schemas know them."""
    root = suite / "remotes"
    return {
        REMOTES + path.relative_to(root).as_posix(): json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(root.rglob("*.json"))
    }


def open_earleymask(schema: Any, **options: Any) -> Accepts:
    grammar = earleymask.Grammar.from_json_schema(schema, **options)  # type: ignore[attr-defined, unused-ignore]
    vocabulary = earleymask.Vocabulary.bytes()

    def accepts(text: str) -> bool:
        matcher = earleymask.Matcher(grammar, vocabulary)
        return all(map(matcher.accept, text.encode())) and matcher.is_accepting()

    return accepts


def judge(group: Group, registry: Mapping[str, Any], order: str = "any", open_: Open = open_earleymask) -> Outcome:
    asserted = group.file.startswith("optional/format/")
    try:
        accepts = open_(group.schema, property_order=order, format_assertion=asserted, registry=registry)
    except earleymask.GrammarError as error:
        if not error.message.startswith(NO_DOCUMENT):
            return Outcome(group, REFUSED, [str(error)])
        valid = [test["description"] for test in group.tests if test["valid"]]
        return Outcome(group, WRONG_REJECT if valid else EMPTY, valid)
    wrong = []
    verdict = RIGHT
    for test in group.tests:
        data = reordered(test["data"], group.schema) if order == "schema" else test["data"]
        try:
            accepted = accepts(json.dumps(data))
        except earleymask.LimitError as error:
            accepted = not test["valid"]  # whatever it is, it is not the right answer
            wrong.append(f"{test['description']}: {error}")
        else:
            if accepted != test["valid"]:
                wrong.append(test["description"])
        if accepted != test["valid"]:
            # A wrong accept is the worse of the two.
            verdict = WRONG_ACCEPT if accepted or verdict == WRONG_ACCEPT else WRONG_REJECT
    return Outcome(group, verdict, wrong)


def table(outcomes: Sequence[Outcome]) -> str:
    """Verdicts by file."""
    counts: dict[str, Counter[str]] = {}
    for outcome in outcomes:
        counts.setdefault(outcome.group.file, Counter())[outcome.verdict] += 1
    width = max([len("all of them"), *map(len, counts)])
    lines = [f"{'':{width}}  " + "  ".join(f"{verdict:>12}" for verdict in VERDICTS)]
    for file, counted in [*counts.items(), ("all of them", sum(counts.values(), Counter()))]:
        lines.append(f"{file:{width}}  " + "  ".join(f"{counted[verdict] or '':>12}" for verdict in VERDICTS))
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.campaign.schema_suite", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--draft", choices=DRAFTS, default="2020-12")
    parser.add_argument("--order", choices=("any", "schema"), default="any", help="property_order (%(default)s)")
    parser.add_argument("--only", metavar="TEXT", default="", help="files and groups whose names contain this")
    parser.add_argument("--required", action="store_true", help="leave the optional tests out")
    given = parser.parse_args(arguments)
    suite = folder(given.draft)
    if not (suite / "tests" / f"draft{given.draft}").is_dir():
        parser.error(f"no draft {given.draft} in {suite}; run .ci/suite, or set EARLEYMASK_SCHEMA_SUITE")
    outcomes = []
    for group in groups(suite, given.draft):
        optional = group.file.startswith("optional/")
        if given.only in f"{group.file}: {group.description}" and not (given.required and optional):
            outcomes.append(judge(group, remotes(suite), given.order))
    for outcome in outcomes:
        if outcome.verdict not in (RIGHT, EMPTY):
            print(f"{outcome.verdict}: {outcome.group.file}: {outcome.group.description}")
            for reason in outcome.reasons:
                print("    " + reason.replace("\n", "\n    "))
    print(table(outcomes))
    return 1 if any(outcome.verdict in (WRONG_ACCEPT, WRONG_REJECT) for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
