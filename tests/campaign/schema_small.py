"""Random combinations of small objects and arrays, and all documents as small as they are.

They consist of so few names and values that one part often repeats or denies what another says about a member or an
item: a closed object beside the negation of one constant, an item that `contains` requires and `items` forbids. Random
instances would show little about such schemas. So each is compared on a fixed list of all documents in which a mistake
in some combination could show.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from itertools import permutations, product
from random import Random
from time import thread_time
from typing import Any

from campaign.schema_checks import Report, compare, compare_walk, loaded
from campaign.schema_suite import DRAFTS
from support.schema_oracle import Oracle

SMALL_DRAFTS = ("2020-12", "2019-09", "7")
KEYS = ("a", "b", "ab", "c")
OBJECTS: tuple[Any, ...] = ({}, {"a": 1}, {"a": "a"}, {"b": 1}, {"a": 1, "b": "a"}, {"a": {}}, {"a": {"a": 1}})
ARRAYS: tuple[Any, ...] = ([], [1], ["a"], [1, "a"], ["a", "a"], [[]], [{}], [1, 1, "a"])
SCALARS: tuple[Any, ...] = (1, "a")
SLOW = 1.0
"""Seconds for all documents of a schema. What takes longer is reported, but is no failure."""


class SmallSchemas:
    """Random schemas of one of the `SMALL_DRAFTS`."""

    def __init__(self, rng: Random, draft: str) -> None:
        self.rng = rng
        self.draft = draft
        self.year = {"7": 7, "2019-09": 2019, "2020-12": 2020}[draft]
        self.definitions = "$defs" if self.year >= 2019 else "definitions"
        self.atoms: list[Callable[[], dict[str, Any]]] = [self.constants, self.objects, self.arrays]
        self.has_definition = False

    def whole(self) -> dict[str, Any]:
        """Make a schema, mostly of objects only or of arrays only, for other parts hardly affect one another."""
        rng = self.rng
        kind = rng.choice(("object", "object", "array", None))
        if kind is not None:
            self.atoms = [self.constants, *[self.objects if kind == "object" else self.arrays] * 4]
        found: dict[str, Any] = {"$schema": DRAFTS[self.draft]}
        if rng.random() < 0.2:
            found[self.definitions] = {"d": self.schema(1)}
            self.has_definition = True
        if kind is not None and rng.random() < 0.7:
            found["type"] = kind
        return {**found, **self.schema(rng.choice((2, 2, 3)))}

    def schema(self, depth: int) -> dict[str, Any]:
        rng = self.rng
        if self.has_definition and rng.random() < 0.1:
            return {"$ref": f"#/{self.definitions}/d"}
        if depth == 0 or rng.random() < 0.2:
            return rng.choice(self.atoms)()
        made = self.combination(depth - 1)
        if "$ref" not in made and rng.random() < 0.4:
            made = {**rng.choice(self.atoms)(), **made}
        if self.year >= 2019 and rng.random() < 0.15:
            word = "unevaluatedProperties" if self.objects in self.atoms else "unevaluatedItems"
            made = {**made, word: rng.choice((False, False, self.leaf()))}
        return made

    def combination(self, depth: int) -> dict[str, Any]:
        rng = self.rng
        word = rng.choice(("allOf", "anyOf", "oneOf", "oneOf", "not", "not", "if"))
        if word == "not":
            return {"not": self.schema(depth)}
        if word == "if":
            made = {"if": self.schema(depth)}
            for branch, chance in (("then", 0.8), ("else", 0.6)):
                if rng.random() < chance:
                    made[branch] = self.schema(depth)
            return made
        return {word: [self.schema(depth) for _ in range(rng.randint(1, 3))]}

    def leaf(self) -> Any:
        """Make the schema of a member or an item."""
        rng = self.rng
        if rng.random() < 0.1:
            return rng.choice(self.atoms)()
        leaves: tuple[Any, ...] = (
            *(True, True, False, {"type": "string"}, {"const": 1}, {"enum": [1, "a"]}, {"not": {"const": 1}}),
            *({"type": "object"}, {"const": {}}, {"not": {"type": "string"}}, {"type": "array"}, {"const": []}),
        )
        return rng.choice(leaves)

    # Schemas that combine no others.

    def constants(self) -> dict[str, Any]:
        rng = self.rng
        pool = [*(OBJECTS if self.objects in self.atoms else ()), *(ARRAYS if self.arrays in self.atoms else ())]
        if rng.random() < 0.5:
            return {"const": rng.choice(pool)}
        return {"enum": rng.sample([*pool, *SCALARS], rng.randint(1, 4))}

    def objects(self) -> dict[str, Any]:
        rng = self.rng
        made: dict[str, Any] = {}
        if rng.random() < 0.3:
            made["type"] = "object"
        if rng.random() < 0.7:
            made["properties"] = {name: self.leaf() for name in rng.sample(KEYS, rng.randint(1, 3))}
        if rng.random() < 0.5:
            made["additionalProperties"] = rng.choice((False, self.leaf()))
        if rng.random() < 0.3:
            made["required"] = rng.sample(KEYS, rng.randint(1, 2))
        if rng.random() < 0.2:
            patterns = rng.sample(("^a", "b", "c$", ".", "^.$"), rng.choice((1, 1, 2)))
            made["patternProperties"] = {pattern: self.leaf() for pattern in patterns}
        if rng.random() < 0.15:
            names = ({"enum": ["a", "b"]}, {"not": {"const": "a"}}, {"pattern": "^a"}, {"maxLength": 1}, False)
            made["propertyNames"] = rng.choice(names)
        made |= self.counts("Properties")
        if rng.random() < 0.15:
            word = "dependentRequired" if self.year >= 2019 and rng.random() < 0.7 else "dependencies"
            made[word] = {name: rng.sample(KEYS, rng.randint(0, 2)) for name in rng.sample(KEYS, rng.randint(1, 2))}
        if rng.random() < 0.1:
            word = "dependentSchemas" if self.year >= 2019 and rng.random() < 0.7 else "dependencies"
            made[word] = {rng.choice(KEYS): rng.choice(self.atoms)()}
        return made

    def arrays(self) -> dict[str, Any]:
        rng = self.rng
        made: dict[str, Any] = {}
        if rng.random() < 0.3:
            made["type"] = "array"
        if rng.random() < 0.5:
            made["items"] = self.leaf()
        if rng.random() < 0.4:
            prefix = [self.leaf() for _ in range(rng.randint(1, 2))]
            if self.year < 2020:
                rest = {"additionalItems": made["items"]} if "items" in made else {}
                made |= {"items": prefix, **rest}
            else:
                made["prefixItems"] = prefix
        if rng.random() < 0.4:
            made["contains"] = self.leaf()
            if self.year >= 2019:
                made |= self.counts("Contains")
        made |= self.counts("Items")
        if rng.random() < 0.1:
            # What can be distinguished: see docs/json_schema.md.
            made |= {"items": {"enum": [1, "a", None]}, "uniqueItems": rng.random() < 0.8}
            made.pop("additionalItems", None)
            made.pop("prefixItems", None)
        return made

    def counts(self, what: str) -> dict[str, Any]:
        return {f"{bound}{what}": self.rng.randint(0, 3) for bound in ("min", "max") if self.rng.random() < 0.2}


@cache
def documents() -> tuple[Any, ...]:
    """Return objects of up to three members, in all orders, arrays of up to three items, and a few nested ones."""
    found: list[Any] = [None, *SCALARS, *OBJECTS, *ARRAYS]
    found += [{key: value} for key in KEYS for value in (1, "a", None, {}, [])]
    for keys in permutations(KEYS, 2):
        found += [dict(zip(keys, values, strict=True)) for values in product(SCALARS, repeat=2)]
    found += [{"a": one, "b": other} for one in ({}, [], 1) for other in ({}, [], 1)]
    for keys in permutations(("a", "b", "c")):
        found += [dict(zip(keys, values, strict=True)) for values in ((1, 1, 1), (1, "a", 1), ("a", 1, {}))]
    found += [
        {"a": 1, "ab": "a", "b": 1},
        {"ab": 1, "c": 1, "a": "a"},
        dict.fromkeys(KEYS, 1),
        dict.fromkeys(KEYS, "a"),
    ]
    inner: tuple[Any, ...] = (1, "a", None, {}, [])
    for n in (1, 2):
        found += map(list, product(inner, repeat=n))
    found += map(list, product((1, "a", []), repeat=3))
    found += [[1, "a", None, {}], [1, 1, 1, 1], [[], 1, 1, "a"]]
    found += [[one] for one in (*OBJECTS, *ARRAYS)] + [{"b": one} for one in (*OBJECTS, *ARRAYS)]
    return tuple({json.dumps(one): one for one in found}.values())


def texts_of(document: Any) -> tuple[str, str]:
    """Return the texts of a document, compact and with spaces."""
    return json.dumps(document, separators=(",", ":")), json.dumps(document)


def check_small(rng: Random, schema: Any, report: Report, n_walks: int = 1) -> None:
    """Compare the grammar of a schema with the oracle: on all documents, in any order of keys, and by walks."""
    oracle = Oracle(schema)
    judged = [oracle.is_valid(document) for document in documents()]
    valid = [document for document, is_valid in zip(documents(), judged, strict=True) if is_valid]
    begin = thread_time()
    grammar = loaded(schema, "any", valid, report)
    if grammar is None:
        return
    for document, is_valid in zip(documents(), judged, strict=True):
        for text in texts_of(document):
            compare(grammar, text, is_valid, f": {json.dumps(schema)}", report)
    seconds = thread_time() - begin
    if seconds > SLOW:
        report.slow.append(f"{seconds:.1f} s: {json.dumps(schema)}")
    for _ in range(n_walks):
        compare_walk(rng, grammar, oracle, f": {json.dumps(schema)}", report)


def random_small_schema(seed: int, number: int, draft: str) -> tuple[Random, Any]:
    """Return the schema of this seed, number and draft, and the `Random` for its walks."""
    rng = Random(f"small {seed} {number} {draft}")
    return rng, SmallSchemas(rng, draft).whole()
