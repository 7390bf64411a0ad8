"""Compare random schemas with the oracle: `python -m tests.campaign.schema_random`.

    python -m tests.campaign.schema_random --seed 1 --n 1000      # 1,000 schemas of each kind and draft
    python -m tests.campaign.schema_random --seed 1 --only 17     # one of them again, with its schema

Schemas consist of few names and values, so that their parts affect one another: the same key in `properties` and under
two patterns, a constant on both sides of a `not`. There are three kinds:

- `Schemas` uses every keyword that asserts something. No walk may end with a document that the oracle refuses, and
 instances, random and mutated ones, must be accepted exactly if they are valid (`schema_checks`).
- `schema_small` combines small objects and arrays, and compares them on all small documents.
- `schema_meetings` combines keywords that are rarely combined, and writes documents in many spellings.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from campaign.schema_checks import Report, check
from campaign.schema_meetings import check_meetings, random_meeting
from campaign.schema_small import SMALL_DRAFTS, check_small, random_small_schema
from campaign.schema_suite import DRAFTS
from support.schema_instances import NAMES, NUMBERS, STRINGS, value

PATTERNS = ("^a", "b$", "^[ab]+$", r"\d", "^.{2}$", "a|b", "^$", "é")
FORMATS = ("date", "time", "date-time", "duration", "ipv4", "ipv6", "uuid", "email", "hostname", "uri")
TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")


class Schemas:
    """Random schemas of one draft ("4" to "2020-12")."""

    def __init__(self, rng: Random, draft: str) -> None:
        self.rng = rng
        self.draft = draft
        self.year = {"4": 4, "6": 6, "7": 7, "2019-09": 2019, "2020-12": 2020}[draft]
        self.definitions = "$defs" if self.year >= 2019 else "definitions"

    def whole(self) -> dict[str, Any]:
        """Make a schema with definitions that refer to one another."""
        schema: dict[str, Any] = {"$schema": DRAFTS[self.draft]}
        schema[self.definitions] = {name: self.schema(2) for name in ("d", "e")}
        made = self.schema(3)
        if isinstance(made, dict):
            schema.update(made)
        else:
            schema["not"] = {} if made is False else {"not": {}}
        return schema

    def schema(self, depth: int) -> Any:
        rng = self.rng
        if self.year > 4 and rng.random() < 0.06:
            return rng.random() < 0.6
        if rng.random() < 0.1:
            return {"$ref": rng.choice((f"#/{self.definitions}/d", f"#/{self.definitions}/e", "#"))}
        parts: list[Callable[[int], dict[str, Any]]] = [self.types, self.values, self.numbers, self.strings]
        if depth > 0:
            parts += [self.arrays, self.objects, self.objects, self.combinations]
        made: dict[str, Any] = {}
        for part in rng.sample(parts, rng.choice((1, 1, 2, 3))):
            made.update(part(depth - 1))
        return made

    def types(self, depth: int) -> dict[str, Any]:
        rng = self.rng
        return {"type": rng.choice(TYPES) if rng.random() < 0.7 else rng.sample(TYPES, rng.randint(1, 3))}

    def values(self, depth: int) -> dict[str, Any]:
        rng = self.rng
        if self.year > 4 and rng.random() < 0.4:
            return {"const": value(rng, 2)}
        return {"enum": [value(rng, 1) for _ in range(rng.randint(1, 4))]}

    def numbers(self, depth: int) -> dict[str, Any]:
        rng = self.rng
        made: dict[str, Any] = {}
        for bound in ("minimum", "maximum"):
            if rng.random() < 0.5:
                made[bound] = rng.choice(NUMBERS)
                if self.year == 4 and rng.random() < 0.4:
                    made[f"exclusive{bound.title()}"] = rng.random() < 0.7
            if self.year > 4 and rng.random() < 0.2:
                made[f"exclusive{bound.title()}"] = rng.choice(NUMBERS)
        if rng.random() < 0.3:
            made["multipleOf"] = rng.choice((1, 2, 3, 0.5, 0.1, 0.25, 1.5))
        return made

    def strings(self, depth: int) -> dict[str, Any]:
        rng = self.rng
        made: dict[str, Any] = self.counts("Length", 3)
        if rng.random() < 0.4:
            made["pattern"] = rng.choice(PATTERNS)
        if rng.random() < 0.2:
            made["format"] = rng.choice(FORMATS)
        return made

    def counts(self, what: str, most: int) -> dict[str, Any]:
        rng = self.rng
        return {
            f"{bound}{what}": rng.randint(0, most) for bound in ("min", "max") if rng.random() < 0.35
        }  # sometimes no number is between them

    def arrays(self, depth: int) -> dict[str, Any]:
        rng = self.rng
        made: dict[str, Any] = self.counts("Items", 3)
        if rng.random() < 0.6:
            made["items"] = self.schema(depth)
        if rng.random() < 0.4:
            prefix = [self.schema(depth) for _ in range(rng.randint(1, 2))]
            if self.year >= 2020:
                made["prefixItems"] = prefix
            else:
                made["items"] = prefix
                if rng.random() < 0.5:
                    made["additionalItems"] = self.schema(depth)
        if self.year > 4 and rng.random() < 0.3:
            made["contains"] = self.schema(depth)
            if self.year >= 2019:
                made |= self.counts("Contains", 2)
        if rng.random() < 0.15:
            made["uniqueItems"] = rng.random() < 0.8
        if self.year >= 2019 and rng.random() < 0.15:
            made["unevaluatedItems"] = self.schema(0)
        return made

    def objects(self, depth: int) -> dict[str, Any]:
        rng = self.rng
        made: dict[str, Any] = {}
        if rng.random() < 0.7:
            made["properties"] = self.named(depth)
        if rng.random() < 0.4:
            made["required"] = rng.sample(NAMES, rng.randint(1, 2))
        if rng.random() < 0.3:
            made["patternProperties"] = {rng.choice(PATTERNS): self.schema(depth) for _ in range(rng.randint(1, 2))}
        if rng.random() < 0.4:
            made["additionalProperties"] = self.schema(depth) if rng.random() < 0.5 else self.nothing()
        if self.year > 4 and rng.random() < 0.15:
            made["propertyNames"] = self.strings(0)
        if rng.random() < 0.2:
            made |= self.counts("Properties", 3)
        if rng.random() < 0.15:
            made["dependencies"] = {rng.choice(NAMES): self.schema(depth) if rng.random() < 0.5 else ["b"]}
        if self.year >= 2019:
            if rng.random() < 0.15:
                made["dependentRequired"] = {rng.choice(NAMES): rng.sample(NAMES, rng.randint(0, 2))}
            if rng.random() < 0.15:
                made["dependentSchemas"] = self.named(depth)
            if rng.random() < 0.15:
                made["unevaluatedProperties"] = self.schema(0) if rng.random() < 0.4 else False
        return made

    def nothing(self) -> Any:
        return False if self.year > 4 else {"not": {}}

    def overlapping(self, word: str, depth: int) -> dict[str, Any]:
        """Combine objects that have names in common, and perhaps a member that distinguishes them."""
        rng = self.rng
        tells = rng.choice((None, "a", "x1"))
        branches = []
        for index in range(rng.randint(2, 5)):
            named = {name: self.schema(rng.choice((0, 0, depth))) for name in rng.sample(NAMES, rng.randint(1, 4))}
            if tells is not None and rng.random() < 0.8:
                named[tells] = {"enum": rng.sample(STRINGS[1:6], 2) if rng.random() < 0.3 else [STRINGS[1 + index]]}
            branch: dict[str, Any] = {"properties": named}
            if rng.random() < 0.5:
                branch["type"] = "object"
            if rng.random() < 0.6:
                branch["required"] = rng.sample([*named, "b"], 1)
            if rng.random() < 0.3:
                branch["additionalProperties"] = self.nothing()
            branches.append(branch)
        if word == "not":
            return {"not": {"anyOf": branches}}
        if word != "if":
            return {word: branches}
        conditions = [
            {"if": {"properties": {"a": {"enum": [STRINGS[1 + index]]}}, "required": ["a"]}, "then": branch}
            for index, branch in enumerate(branches)
        ]
        return {"allOf": conditions}

    def named(self, depth: int) -> dict[str, Any]:
        return {name: self.schema(depth) for name in self.rng.sample(NAMES, self.rng.randint(1, 3))}

    def combinations(self, depth: int) -> dict[str, Any]:
        rng = self.rng
        word = rng.choice(
            ("allOf", "anyOf", "oneOf", "not", "if") if self.year >= 7 else ("allOf", "anyOf", "oneOf", "not")
        )
        if rng.random() < 0.3:
            return self.overlapping(word, depth)
        if word == "not":
            return {"not": self.schema(depth)}
        if word == "if":
            made = {"if": self.schema(depth)}
            for branch in ("then", "else"):
                if rng.random() < 0.7:
                    made[branch] = self.schema(depth)
            return made
        return {word: [self.schema(depth) for _ in range(rng.randint(1, 3))]}


def random_schema(seed: int, number: int, draft: str) -> tuple[Random, Any]:
    """Return the schema of this seed, number and draft, and the `Random` for its instances."""
    rng = Random(f"{seed} {number} {draft}")
    return rng, Schemas(rng, draft).whole()


KINDS: dict[str, Any] = {
    "wide": (random_schema, check, tuple(DRAFTS)),
    "small": (random_small_schema, check_small, SMALL_DRAFTS),
    "meetings": (random_meeting, check_meetings, tuple(DRAFTS)),
}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.campaign.schema_random", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--n", type=int, default=200, help="schemas of each kind and draft")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="one number only")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--drafts", nargs="+", choices=DRAFTS, default=list(DRAFTS))
    given = parser.parse_args(arguments)
    report = Report()
    for kind in given.kinds:
        make, hold, drafts = KINDS[kind]
        for draft in [draft for draft in given.drafts if draft in drafts]:
            for number in range(given.n) if given.only is None else [given.only]:
                rng, schema = make(given.seed, number, draft)
                if given.only is not None:
                    print(json.dumps(schema, ensure_ascii=False))
                before = len(report.wrong), len(report.slow)
                hold(rng, schema, report)
                for told in report.wrong[before[0] :] + report.slow[before[1] :]:
                    print(f"{kind}, draft {draft}, number {number}: {told}", flush=True)
    print(dict(report.counts))
    for reason, count in (report.refusals + report.limits).most_common(20):
        print(f"{count:6} {reason}")
    return 1 if report.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
