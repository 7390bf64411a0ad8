"""The official JSON-Schema-Test-Suite, group by group: `python -m tests.campaign.schema_suite --draft 2020-12`.

A group is one schema with several instances, and gets one verdict:

- *right*: every instance is accepted exactly if the suite says that it is valid;
- *empty*: the schema is refused because no document satisfies it, and no instance is valid;
- *refused*: the schema is refused for another reason;
- *wrong accept* or *wrong reject* otherwise.

Instances are written with `json.dumps` and read byte by byte. Formats are annotations except in the tests of formats,
as the suite defines. EARLEYMASK_SCHEMA_SUITE names the folder of the suite; without it, the suite is expected in
`build/json-schema-test-suite`, where `.ci/suite` puts the one of `jsonschema`'s source distribution, or else in
a folder with data beside the repository.

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
"""The suite's schemas refer to its remote schemas under this URI."""
RIGHT, EMPTY, REFUSED, WRONG_ACCEPT, WRONG_REJECT = "right", "empty", "refused", "wrong accept", "wrong reject"
VERDICTS = (RIGHT, EMPTY, REFUSED, WRONG_ACCEPT, WRONG_REJECT)
NO_DOCUMENT = "no document satisfies"


@dataclass(frozen=True)
class Group:
    file: str
    """The path in the folder of the draft, without its suffix: "allOf", "optional/format/date"."""
    description: str
    schema: Any
    tests: tuple[Mapping[str, Any], ...]
    """Each with "description", "data" and "valid"."""


@dataclass
class Outcome:
    group: Group
    verdict: str
    reasons: list[str] = field(default_factory=list)
    """Why the schema was refused, or which instances were judged wrongly."""


Accepts = Callable[[str], bool]
"""Whether a text is a sentence."""
Open = Callable[..., Accepts]
"""A function of a schema and of options of `from_json_schema`; GrammarError: the schema is refused."""


def folder(draft: str = "2020-12") -> Path:
    """Return the folder of the suite for a draft; it may not exist."""
    given = os.environ.get("EARLEYMASK_SCHEMA_SUITE")
    if given:
        return Path(given)
    name = "json-schema-test-suite"
    fetched = ROOT / "build" / name
    has_draft = (fetched / "tests" / f"draft{draft}").is_dir()
    return fetched if has_draft else ROOT.parent / "shared" / "data" / name


def groups(suite: Path, draft: str) -> Iterator[Group]:
    """Yield all groups of a draft, in the order of their files. A schema that is an object gets a `$schema`."""
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
    """Return the suite's remote schemas by the URIs that its schemas use."""
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


def judge(
    group: Group,
    registry: Mapping[str, Any],
    order: str = "any",
    open_: Open = open_earleymask,
    spellings: str = "all",
) -> Outcome:
    asserted = group.file.startswith("optional/format/")
    try:
        options = {"property_order": order, "spellings": spellings, "format_assertion": asserted}
        accepts = open_(group.schema, registry=registry, **options)
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
            accepted = not test["valid"]  # an error counts as the wrong answer
            wrong.append(f"{test['description']}: {error}")
        else:
            if accepted != test["valid"]:
                wrong.append(test["description"])
        if accepted != test["valid"]:
            # A wrong accept counts more than a wrong reject.
            verdict = WRONG_ACCEPT if accepted or verdict == WRONG_ACCEPT else WRONG_REJECT
    return Outcome(group, verdict, wrong)


def table(outcomes: Sequence[Outcome]) -> str:
    """Return a table of the verdicts by file."""
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
    parser.add_argument(
        "--spellings",
        choices=("plain", "all"),
        default="all",
        help='with "plain", groups whose instances are valid and written in other spellings are wrong (%(default)s)',
    )
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
            outcomes.append(judge(group, remotes(suite), given.order, spellings=given.spellings))
    for outcome in outcomes:
        if outcome.verdict not in (RIGHT, EMPTY):
            print(f"{outcome.verdict}: {outcome.group.file}: {outcome.group.description}")
            for reason in outcome.reasons:
                print("    " + reason.replace("\n", "\n    "))
    print(table(outcomes))
    return 1 if any(outcome.verdict in (WRONG_ACCEPT, WRONG_REJECT) for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
