"""Random schemas with instances near them, walks through the masks, and the oracle: `python -m tests.schema_random`.

    python -m tests.schema_random --seed 1 --n 1000      # 1,000 schemas of each draft
    python -m tests.schema_random --seed 1 --only 17     # one of them again, told in full

Schemas are small and made of few names and values, so that their parts meet: the same key in `properties` and under two
patterns, a constant on either side of a `not`. Every keyword that asserts something is among them. What is checked of
each (`check`) is that no walk ends in a document that the oracle refuses, and that instances, those of the pool and
mutated ones, are accepted exactly when the oracle says valid.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

HERE = Path(__file__).resolve().parent
# With `-m` the root of the repository is on sys.path, and its folder `earleymask/` would hide the installed package.
sys.path[:] = [str(HERE), *(p for p in sys.path if Path(p or ".").resolve() not in (HERE, HERE.parent))]

from schema_oracle import Oracle, is_judged  # noqa: E402
from schema_order import reordered  # noqa: E402
from schema_suite import DRAFTS, NO_DOCUMENT  # noqa: E402

import earleymask  # noqa: E402

NAMES = ("a", "b", "ab", "x1", "")
PATTERNS = ("^a", "b$", "^[ab]+$", r"\d", "^.{2}$", "a|b", "^$", "é")
FORMATS = ("date", "time", "date-time", "duration", "ipv4", "ipv6", "uuid", "email", "hostname", "uri")
STRINGS = (
    "",
    "a",
    "b",
    "ab",
    "ba",
    "x1",
    "é",
    "\U0001f600a",
    '"\\',
    "\n",
    "12",
    "2024-02-29",
    "1.2.3.4",
    "P1D",
    "a@b.de",
)
NUMBERS = (0, 1, 2, 3, 4, 10, -1, -2, 0.5, 1.5, 2.5, 1e3, 1e-3, 0.1)
SCALARS: tuple[Any, ...] = (None, True, False, *NUMBERS, *STRINGS)
TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
MAX_WALK = 400
"""Bytes after which a walk heads for the end."""


class Schemas:
    """Random schemas of one draft ("4" to "2020-12")."""

    def __init__(self, rng: Random, draft: str) -> None:
        self.rng = rng
        self.draft = draft
        self.year = {"4": 4, "6": 6, "7": 7, "2019-09": 2019, "2020-12": 2020}[draft]
        self.definitions = "$defs" if self.year >= 2019 else "definitions"

    def whole(self) -> dict[str, Any]:
        """A schema with definitions that refer to one another."""
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
        }  # sometimes with nothing between them

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
        """Objects that have names in common and may have a member that tells them apart, combined."""
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


def value(rng: Random, depth: int) -> Any:
    """A JSON value out of few."""
    kind = rng.random()
    if depth <= 0 or kind < 0.6:
        return rng.choice(SCALARS)
    if kind < 0.8:
        return [value(rng, depth - 1) for _ in range(rng.randint(0, 3))]
    return {name: value(rng, depth - 1) for name in rng.sample((*NAMES, "zz"), rng.randint(0, 3))}


def near(rng: Random, schema: Any, depth: int = 4) -> Any:
    """A value that has a chance to be valid: what some part of the schema asks for."""
    if not isinstance(schema, dict) or depth <= 0 or rng.random() < 0.05:
        return value(rng, 2)
    inside = [schema[word] for word in ("not", "if", "then", "else") if word in schema]
    inside += [branch for word in ("allOf", "anyOf", "oneOf") for branch in schema.get(word, ())]
    if inside and rng.random() < 0.5:
        return near(rng, rng.choice(inside), depth - 1)
    if "const" in schema and rng.random() < 0.8:
        return schema["const"]
    if "enum" in schema and rng.random() < 0.8:
        return rng.choice(schema["enum"])
    kind = schema.get("type")
    kind = rng.choice(kind) if isinstance(kind, list) else kind
    if kind == "object" or (
        kind is None and any(word in schema for word in ("properties", "required", "patternProperties"))
    ):
        named = schema.get("properties", {})
        keys = [*schema.get("required", ()), *(name for name in named if rng.random() < 0.6)]
        keys += rng.sample(NAMES, rng.choice((0, 0, 1)))
        rng.shuffle(keys)
        return {key: near(rng, named.get(key, True), depth - 1) for key in keys}
    if kind == "array" or (kind is None and any(word in schema for word in ("items", "prefixItems", "contains"))):
        items = schema.get("prefixItems", schema.get("items"))
        each = items if isinstance(items, list) else []
        rest = schema.get("items") if not isinstance(schema.get("items"), list) else schema.get("additionalItems")
        n = rng.randint(schema.get("minItems", 0), 3) if schema.get("minItems", 0) <= 3 else 3
        return [near(rng, each[i] if i < len(each) else rest, depth - 1) for i in range(n)]
    pools = {
        "null": (None,),
        "boolean": (True, False),
        "integer": (0, 1, 2, 3, -1, 10),
        "number": NUMBERS,
        "string": STRINGS,
    }
    return rng.choice(pools[kind]) if kind in pools else value(rng, 2)


def mutated(rng: Random, data: Any) -> Any:
    """The value with one thing changed somewhere."""
    if isinstance(data, dict) and data and rng.random() < 0.8:
        key = rng.choice(list(data))
        change = rng.random()
        if change < 0.25:
            return {name: item for name, item in data.items() if name != key}
        if change < 0.5:
            return {**data, rng.choice(NAMES): value(rng, 1)}
        return {name: mutated(rng, item) if name == key else item for name, item in data.items()}
    if isinstance(data, list) and data and rng.random() < 0.8:
        at = rng.randrange(len(data))
        change = rng.random()
        if change < 0.25:
            return data[:at] + data[at + 1 :]
        if change < 0.5:
            return [*data[:at], data[at], *data[at:]]
        return [*data[:at], mutated(rng, data[at]), *data[at + 1 :]]
    return value(rng, 2)


def walk(rng: Random, grammar: Any, vocabulary: Any) -> str | None:
    """A text by a walk through the masks of bytes; None if it did not end. An empty mask is an AssertionError."""
    matcher = earleymask.Matcher(grammar, vocabulary)
    written = bytearray()
    eos = next(iter(vocabulary.eos_token_ids))
    for at in range(2 * MAX_WALK):
        allowed = matcher.mask().nonzero()[0].tolist()
        assert allowed, f"no token can follow {bytes(written)!r}"
        closing = [token for token in allowed if token in (eos, 0x22, 0x5D, 0x7D)]
        plain = [token for token in allowed if token in closing or 0x20 <= token < 0x7F]
        if closing and (at > MAX_WALK or rng.random() < 0.3):
            token = rng.choice(closing)
        else:
            token = rng.choice(plain if plain and rng.random() < 0.95 else allowed)
        assert matcher.accept(token), f"the mask allows {token} after {bytes(written)!r}, and `accept` does not"
        if token == eos:
            return written.decode("utf-8")
        written.append(token)
    return None


@dataclass
class Report:
    """What was found in some schemas."""

    counts: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    """One description each."""


def check(rng: Random, schema: Any, report: Report, n_walks: int = 3, n_instances: int = 12) -> None:
    """Hold the grammar of a schema against the oracle."""
    oracle = Oracle(schema)
    instances: list[Any] = []
    for _ in range(n_instances):
        instances.append(near(rng, schema))
        instances.append(mutated(rng, instances[-1]))
    try:
        judged = [oracle.accepts(json.dumps(data)) for data in instances]
    except RecursionError:
        report.counts["the oracle goes in a circle"] += 1
        return
    vocabulary = earleymask.Vocabulary.bytes()
    make = earleymask.Grammar.from_json_schema  # type: ignore[attr-defined, unused-ignore]
    for order in ("any", "schema"):
        try:
            grammar = make(schema, property_order=order)
        except earleymask.GrammarError as error:
            report.counts["refused"] += 1
            report.refusals[error.message] += 1
            if error.message.startswith(NO_DOCUMENT) and any(judged):
                report.wrong.append(
                    f"{error.message}, but {json.dumps(instances[judged.index(True)])} is valid: {schema}"
                )
            continue
        report.counts["loaded"] += 1
        for data, valid in zip(instances, judged, strict=True):
            moved = reordered(data, schema) if order == "schema" else data
            text = json.dumps(moved, ensure_ascii=rng.random() < 0.5)
            try:
                accepted = _accepts(grammar, vocabulary, text)
            except earleymask.LimitError:
                report.counts["limit"] += 1
                continue
            report.counts["valid" if valid else "invalid"] += 1
            if valid and json.dumps(moved) != json.dumps(data) and has_one_order(schema):
                report.counts["reordered"] += 1
                if _accepts(grammar, vocabulary, json.dumps(data)):
                    report.wrong.append(f"{data} is accepted in another order than that of {json.dumps(schema)}")
            if accepted != valid:
                what = "refused, though valid" if valid else "accepted, though invalid"
                report.wrong.append(f"{text} is {what} (order {order}): {json.dumps(schema)}")
        for _ in range(n_walks):
            try:
                text = walk(rng, grammar, vocabulary)
            except earleymask.LimitError:
                report.counts["limit"] += 1
                continue
            except AssertionError as error:
                report.wrong.append(f"{error}: {json.dumps(schema)}")
                continue
            report.counts["walked" if text is not None else "walked on"] += 1
            if text is not None and is_judged(text) and not oracle.accepts(text):
                report.wrong.append(f"{text} was written, though invalid (order {order}): {json.dumps(schema)}")


def has_one_order(schema: Any) -> bool:
    """Whether each valid instance has one order of the keys that the schema names. Constants have their own order, and
    an item has the order of what `contains` says only where it is one of those that are meant."""
    if isinstance(schema, list):
        return all(map(has_one_order, schema))
    if not isinstance(schema, dict):
        return True
    constants = [*schema.get("enum", ()), schema.get("const")]
    if "contains" in schema or any(isinstance(constant, (dict, list)) for constant in constants):
        return False
    return all(map(has_one_order, schema.values()))


def _accepts(grammar: Any, vocabulary: Any, text: str) -> bool:
    matcher = earleymask.Matcher(grammar, vocabulary)
    return all(map(matcher.accept, text.encode())) and matcher.is_accepting()


def random_schema(seed: int, number: int, draft: str) -> tuple[Random, Any]:
    """The schema of this name, and the numbers to go on with."""
    rng = Random(f"{seed} {number} {draft}")
    return rng, Schemas(rng, draft).whole()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.schema_random", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--n", type=int, default=200, help="schemas of each draft")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="one number only")
    parser.add_argument("--drafts", nargs="+", choices=DRAFTS, default=list(DRAFTS))
    given = parser.parse_args(arguments)
    report = Report()
    for draft in given.drafts:
        for number in range(given.n) if given.only is None else [given.only]:
            rng, schema = random_schema(given.seed, number, draft)
            if given.only is not None:
                print(json.dumps(schema, ensure_ascii=False))
            before = len(report.wrong)
            check(rng, schema, report)
            for wrong in report.wrong[before:]:
                print(f"draft {draft}, number {number}: {wrong}", flush=True)
    print(dict(report.counts))
    for reason, count in report.refusals.most_common(20):
        print(f"{count:6} {reason}")
    return 1 if report.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
