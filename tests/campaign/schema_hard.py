"""Hard schemas, whose limits must be reached while they are loaded: `python -m tests.campaign.schema_hard`.

    python -m tests.campaign.schema_hard --seed 1 --n 200
    python -m tests.campaign.schema_hard --seed 1 --only 17     # one of them again, with its schema

The schemas combine numbers with large multiples, patterns with counts, arrays and objects that require some item or
member, and constants that are arrays. All of this is within properties or items, so the first mask does not need it.
Such a schema may be refused while it is loaded. Once it is loaded, no walk through its masks may raise a `LimitError`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import earleymask
from campaign.schema_checks import BYTES, walk
from support.schema_oracle import Oracle, is_judged

NAMES = ("a", "b", "c", "ab")
MULTIPLES = (7, 11, 13, 16, 37, 41, 64, 97, 125, 625, 0.1, 0.25, 1.5, 0.07, 128, 1000)
BOUNDS = (0, 1, -5.5, 12, 1000, 123456, -1e9, 1e20, 0.003)
PATTERNS = (
    *(
        "^a",
        "b$",
        "^[ab]+$",
        "a.*b.*a",
        "^.{3,40}$",
        "(ab|ba){2,9}",
        "^(a|b)*a(a|b){9}$",
        r"\d{2,60}x",
        "^[^a]{0,200}$",
    ),
    *("[ab].{12}c", "^(?!.*aa)", r"^\w+@\w+\.com$", "^([a-z]{1,20}-?){1,8}$", "^(.*,){9}P", "x.{30}y"),
)
FORMATS = ("date", "date-time", "email", "uri", "ipv6", "uuid", "duration")
N_WALKS = 4
SLOW = 2.0
"""Seconds for loading a schema, and for all of its walks. What takes longer is reported, but is no failure."""


class HardSchemas:
    """Random schemas whose parts say something about the same values."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        kinds: tuple[Callable[[int], dict[str, Any]], ...] = (self.numbers, self.strings, self.arrays, self.objects)
        # Mostly parts of one kind, for parts of different kinds are about different values.
        self.atoms = rng.choice([[kind] for kind in kinds] * 2 + [list(kinds)])

    def whole(self) -> dict[str, Any]:
        rng = self.rng
        inner = self.combined(rng.choice((2, 3, 3)))
        if rng.random() < 0.3:
            # Objects affect one another only by members of the same name.
            return {"allOf": [{"properties": {"v": inner}}, {"properties": {"v": self.combined(2)}}], "required": ["v"]}
        if rng.random() < 0.3:
            return {"type": "array", "items": inner, "minItems": 1}
        return {"type": "object", "properties": {"u": {"type": "null"}, "v": inner}, "required": ["u", "v"]}

    def combined(self, depth: int) -> dict[str, Any]:
        rng = self.rng
        if depth == 0 or rng.random() < 0.1:
            return rng.choice(self.atoms)(depth)
        made: dict[str, Any] = {}
        if rng.random() < 0.5:
            made |= rng.choice(self.atoms)(depth - 1)
        for word in rng.sample(("allOf", "anyOf", "oneOf", "not", "if"), rng.choice((1, 1, 2))):
            if word == "not":
                made["not"] = self.combined(depth - 1)
            elif word == "if":
                made |= {name: self.combined(depth - 1) for name in ("if", "then", "else")}
            else:
                n = rng.choice((2, 3, 3, 4, 6)) if depth < 3 else rng.choice((2, 3))
                made[word] = [self.combined(depth - 1) for _ in range(n)]
        return made

    def numbers(self, depth: int) -> dict[str, Any]:
        rng = self.rng
        made: dict[str, Any] = {}
        if rng.random() < 0.3:
            made["type"] = rng.choice(("integer", "number"))
        if rng.random() < 0.7:
            made["multipleOf"] = rng.choice(MULTIPLES)
        for bound in ("minimum", "exclusiveMaximum"):
            if rng.random() < 0.2:
                made[bound] = rng.choice(BOUNDS)
        if not made or rng.random() < 0.1:
            made["enum"] = rng.sample(BOUNDS, 3)
        return made

    def strings(self, depth: int) -> dict[str, Any]:
        rng = self.rng
        made: dict[str, Any] = {}
        if rng.random() < 0.3:
            made["type"] = "string"
        if rng.random() < 0.8:
            made["pattern"] = rng.choice(PATTERNS)
        elif rng.random() < 0.5:
            made["format"] = rng.choice(FORMATS)
        if rng.random() < 0.2:
            made["minLength"] = rng.choice((1, 5, 100))
        if rng.random() < 0.2:
            made["maxLength"] = rng.choice((3, 30, 1000))
        return made or {"const": "ab"}

    def arrays(self, depth: int) -> dict[str, Any]:
        rng = self.rng
        made: dict[str, Any] = {}
        if rng.random() < 0.3:
            made["type"] = "array"
        if rng.random() < 0.3:
            constants = [
                [rng.choice((1, "a", True)) for _ in range(rng.randint(1, 4))] for _ in range(rng.randint(1, 6))
            ]
            return {**made, "enum": constants}
        if rng.random() < 0.5:
            made["prefixItems"] = [self.leaf(depth) for _ in range(rng.randint(1, 4))]
        if rng.random() < 0.4:
            made["items"] = self.leaf(depth)
        if rng.random() < 0.5:
            made["contains"] = self.leaf(depth)
            for bound in ("minContains", "maxContains"):
                if rng.random() < 0.3:
                    made[bound] = rng.choice((0, 1, 2, 5, 40))
        for bound in ("minItems", "maxItems"):
            if rng.random() < 0.2:
                made[bound] = rng.choice((1, 2, 5, 40))
        if rng.random() < 0.02:  # rare, for it is refused under negations
            made |= {"items": rng.choice(({"enum": [1, 2, 3, 4, 5, 6]}, {"type": "string", "pattern": "^[abc]{1,3}$"}))}
            made |= {"uniqueItems": True}
            made.pop("prefixItems", None)
        return made

    def objects(self, depth: int) -> dict[str, Any]:
        rng = self.rng
        made: dict[str, Any] = {}
        if rng.random() < 0.3:
            made["type"] = "object"
        if rng.random() < 0.7:
            made["properties"] = {name: self.leaf(depth) for name in rng.sample(NAMES, rng.randint(1, 4))}
        if rng.random() < 0.4:
            made["required"] = rng.sample(NAMES, rng.randint(1, 2))
        if rng.random() < 0.4:
            patterns = rng.sample(PATTERNS, rng.choice((1, 1, 2)))
            made["patternProperties"] = {pattern: self.leaf(depth) for pattern in patterns}
        if rng.random() < 0.3:
            made["additionalProperties"] = rng.choice((False, self.leaf(depth)))
        if rng.random() < 0.15:
            made["propertyNames"] = self.strings(0)
        for bound in ("minProperties", "maxProperties"):
            if rng.random() < 0.15:
                made[bound] = rng.choice((1, 2, 5, 40))
        if rng.random() < 0.15:
            made["dependentRequired"] = {rng.choice(NAMES): rng.sample(NAMES, 2)}
        if rng.random() < 0.1:
            made["unevaluatedProperties"] = rng.choice((False, self.leaf(0)))
        return made

    def leaf(self, depth: int) -> Any:
        rng = self.rng
        if depth > 0 and rng.random() < 0.4:
            return self.combined(depth - 1)
        kind = rng.random()
        if kind < 0.3:
            return self.numbers(0)
        if kind < 0.6:
            return self.strings(0)
        return rng.choice(
            (True, False, {"const": 1}, {"enum": ["a", 1, True]}, {"type": "string"}, {"not": {"const": 1}})
        )


def hard_schema(seed: int, number: int) -> tuple[Random, Any]:
    """Return the schema of this seed and number, and the `Random` for its walks."""
    rng = Random(f"hard {seed} {number}")
    return rng, HardSchemas(rng).whole()


def meets_limit(rng: Random, schema: Any, counts: Counter[str], limits: Counter[str], strict: bool = True) -> str:
    """Return what is wrong: a limit that a walk reaches, or a text that is not valid; empty if nothing is."""
    order = rng.choice(("any", "schema"))
    begin = time.thread_time()
    try:
        grammar = earleymask.Grammar.from_json_schema(schema, property_order=order, strict=strict)
    except earleymask.LimitError as error:
        counts["limit while loading"] += 1
        limits[f"while loading: {error}"[:150]] += 1
        if "#/" not in str(error) and "at #" not in str(error):
            return f"no pointer: {error}"
        return ""
    except earleymask.GrammarError as error:
        counts["refused"] += 1
        limits["refused: " + error.message[:120]] += 1
        return ""
    finally:
        took = time.thread_time() - begin
        if took > SLOW:
            counts["slow to load"] += 1
            print(f"slow to load: {took:.1f} s", flush=True)
    begin = time.thread_time()
    counts["loaded"] += 1
    oracle = Oracle(schema)
    for _ in range(N_WALKS):
        try:
            text = walk(rng, grammar, BYTES)
        except earleymask.LimitError as error:
            counts["limit in a text"] += 1
            limits[f"IN A TEXT: {error}"[:150]] += 1
            return f"order {order}: {error}"
        counts["walked" if text is not None else "walked on"] += 1
        if strict and text is not None and is_judged(text) and not oracle.accepts(text):
            return f"{text} was written, though invalid"
    took = time.thread_time() - begin
    if took > SLOW:
        counts["slow walks"] += 1
        print(f"slow walks: {took:.1f} s", flush=True)
    return ""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.campaign.schema_hard", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--only", type=int, metavar="NUMBER", help="one number only")
    parser.add_argument("--lax", action="store_true", help="strict=False")
    given = parser.parse_args(arguments)
    counts: Counter[str] = Counter()
    limits: Counter[str] = Counter()
    wrong = 0
    for number in range(given.n) if given.only is None else [given.only]:
        rng, schema = hard_schema(given.seed, number)
        if given.only is not None:
            print(json.dumps(schema))
        told = meets_limit(rng, schema, counts, limits, not given.lax)
        if told:
            wrong += 1
            print(f"number {number}: {told}", flush=True)
    print(dict(counts))
    for reason, n in limits.most_common(40):
        print(f"{n:6} {reason}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
