"""Hostile and clumsy JSON Schemas, as JSON text and as Python values.

Each family is a function of a `Random` and a size. Those in `SCHEMAS` return values that `json.dumps` writes; those in
`PYTHON` return what only a caller in the same process can give.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

from campaign.schema_hard import hard_schema
from campaign.schema_random import random_schema
from siege.texts import regex_counts, regex_looks, regex_random, regex_row

Family = Callable[[Random, int], Any]

LEAVES: list[Any] = [
    True, False, {}, {"type": "integer"}, {"type": "string", "maxLength": 7}, {"enum": [1, "a", None, [1], {"a": 1}]},
    {"type": "number", "multipleOf": 0.3, "minimum": -5}, {"pattern": "^a+$"}, {"type": ["object", "array"]},
    {"const": {"a": [1, 2.5, "é"]}}, {"format": "date-time"}, {"not": {"type": "null"}}, {"minProperties": 2},
    {"uniqueItems": True, "maxItems": 3}, {"required": ["a", "b"]}, {"properties": {"a": {"type": "integer"}}},
]  # fmt: skip
ROOT_REF = {"$ref": "#"}
WRAP: dict[str, Callable[[Any], Any]] = {
    "not": lambda one: {"not": one},
    "allOf": lambda one: {"allOf": [one, {"minimum": 1}]},
    "anyOf": lambda one: {"anyOf": [one, {"type": "null"}]},
    "oneOf": lambda one: {"oneOf": [one, {"type": "string"}]},
    "if": lambda one: {"if": one, "then": {"type": "object"}, "else": {"maxItems": 3}},
    "items": lambda one: {"type": "array", "items": one},
    "contains": lambda one: {"type": "array", "contains": one, "maxItems": 4},
    "properties": lambda one: {"type": "object", "properties": {"a": one}, "required": ["a"]},
    "patterns": lambda one: {"patternProperties": {"^a": one, "b$": {"type": "integer"}}},
    "names": lambda one: {"propertyNames": one},
    "additional": lambda one: {"additionalProperties": one},
    "unevaluated": lambda one: {"anyOf": [one, {"properties": {"b": True}}], "unevaluatedProperties": False},
    "dependent": lambda one: {"dependentSchemas": {"a": one, "b": {"required": ["a"]}}},
    "prefix": lambda one: {"prefixItems": [one, True], "items": False},
}


def leaf(rng: Random) -> Any:
    return rng.choice([*LEAVES, ROOT_REF])


def deep(rng: Random, n: int) -> Any:
    kinds = rng.sample(list(WRAP), rng.randint(1, 3))
    made = leaf(rng)
    for _ in range(min(n, 400)):
        made = WRAP[rng.choice(kinds)](made)
    return made


def linked(rng: Random, n: int) -> Any:
    """A chain of references through one or two keywords."""
    kinds = rng.sample(list(WRAP), rng.randint(1, 2))
    plain = rng.random() < 0.4
    parts: dict[str, Any] = {}
    for i in range(n):
        link = {"$ref": f"#/$defs/{i + 1}"}
        parts[str(i)] = link if plain else WRAP[rng.choice(kinds)](link)
    parts[str(n)] = leaf(rng)
    return {"$ref": "#/$defs/0", "$defs": parts}


def web(rng: Random, n: int) -> Any:
    """Definitions that refer to each other at random, in circles."""
    n = max(2, n)
    parts: dict[str, Any] = {}
    for i in range(n):
        made: Any = {"$ref": f"#/$defs/{rng.randrange(n)}"} if rng.random() < 0.7 else leaf(rng)
        for _ in range(rng.randint(1, 2)):
            made = WRAP[rng.choice(list(WRAP))](made)
        parts[str(i)] = made
    return {"$ref": "#/$defs/0", "$defs": parts}


def members(rng: Random, n: int) -> Any:
    names = [
        f"k{i:x}" if rng.random() < 0.9 else rng.choice(["", "é", '"', "\\", "\n", "k", "😀"]) + str(i)
        for i in range(n)
    ]
    made: dict[str, Any] = {"type": "object", "properties": {name: leaf(rng) for name in names}}
    made["required"] = rng.sample(names, min(n, rng.choice([0, 1, n // 2, n])))
    if rng.random() < 0.5:
        made["additionalProperties"] = rng.choice([False, True, {"type": "integer"}])
    if rng.random() < 0.3:
        made["minProperties"] = rng.randrange(n + 2)
    if rng.random() < 0.3:
        made["maxProperties"] = rng.randrange(n + 2)
    return made


def patterns(rng: Random, n: int) -> Any:
    some = [regex_counts, regex_row, regex_random, regex_looks]
    n = min(n, 3000)
    size = rng.choice([2, 9, 40])
    kinds = [
        lambda i: f"a.{{{i + 3}}}$",
        lambda i: f"^{'.' * (i % 20)}a",
        lambda i: rng.choice(some)(rng, size),
        lambda i: f"^k{i}_",
    ]
    kind = rng.choice(kinds)
    return {"type": "object", "patternProperties": {kind(i): {"minimum": i} for i in range(n)}}


def needs(rng: Random, n: int) -> Any:
    n = max(3, min(n, 2000))
    needed = rng.randint(1, 3)
    return {
        "type": "object",
        "dependentRequired": {f"n{i}": [f"n{rng.randrange(n)}" for _ in range(needed)] for i in range(n)},
    }


def unions(rng: Random, n: int) -> Any:
    word = rng.choice(["oneOf", "anyOf", "allOf"])
    kind = rng.choice(
        [
            lambda i: {"type": "object", "properties": {f"p{i}": {"type": "integer"}}},
            lambda i: {"type": "object", "properties": {"kind": {"const": i}}, "required": ["kind"]},
            lambda i: {"pattern": f"[{chr(97 + i % 26)}]"},
            lambda i: {"multipleOf": 2 * i + 3},
            lambda i: {"not": {"multipleOf": 2 * i + 3}},
            lambda i: {"type": "integer", "minimum": i, "maximum": i * 2},
            lambda i: {"required": [f"p{i}", f"p{i + 1}"]},
            lambda i: {"not": {"required": [f"p{i}", f"p{i + 1}"]}},
            lambda i: {"type": "array", "contains": {"const": i}},
            lambda i: {"enum": [i, str(i), [i]]},
            lambda i: {"propertyNames": {"maxLength": i}},
            lambda i: {"patternProperties": {f"{i}": {"type": "integer"}}},
            lambda i: {"minLength": i, "maxLength": 2 * i},
            lambda i: {"uniqueItems": True, "items": {"maximum": i}},
        ]
    )
    made: dict[str, Any] = {word: [kind(i) for i in range(max(1, min(n, 3000)))]}
    if rng.random() < 0.5:
        made["type"] = rng.choice(["object", "string", "integer", "array", "number"])
    return {"not": made} if rng.random() < 0.2 else made


def value(rng: Random, depth: int) -> Any:
    roll = rng.randrange(8 if depth else 5)
    if roll < 2:
        return rng.choice([0, -1, 1.5, 10**20, 1e-7, 2**53 + 1, rng.randrange(1000)])
    if roll < 4:
        return "".join(rng.choices('ab"\\é\n😀', k=rng.randint(0, 8)))
    if roll < 5:
        return rng.choice([None, True, False])
    if roll < 6:
        return [value(rng, depth - 1) for _ in range(rng.randint(0, 4))]
    return {f"{rng.choice('abc')}{i}": value(rng, depth - 1) for i in range(rng.randint(0, 4))}


def constants(rng: Random, n: int) -> Any:
    depth = rng.choice([0, 1, 3])
    made: dict[str, Any] = {"enum": [value(rng, depth) for _ in range(n)]}
    return rng.choice([made, {"not": made}, {"type": "array", "items": made}, {"const": made["enum"]}])


def arrays(rng: Random, n: int) -> Any:
    made: dict[str, Any] = {
        "type": "array",
        "items": rng.choice([*LEAVES, {"type": "integer", "minimum": 0, "maximum": n}]),
    }
    for keyword, choices in {
        "uniqueItems": [True], "contains": [{"multipleOf": 7}, {"type": "string"}, {"const": 1}],
        "minContains": [1, 20, n], "maxContains": [1, n], "minItems": [0, n], "maxItems": [1, n, 10 * n],
        "prefixItems": [[True] * min(n, 500), [leaf(rng) for _ in range(min(n, 50))]], "unevaluatedItems": [False],
    }.items():  # fmt: skip
        if rng.random() < 0.4:
            made[keyword] = rng.choice(choices)
    return made


def numbers(rng: Random, n: int) -> Any:
    def number() -> Any:
        return rng.choice([n, n / 7, -n, 10 ** min(n, 400), 10.0 ** -min(n, 300), 0.1, 3, 2**63, 1e308, 5e-324])

    made: dict[str, Any] = {"type": rng.choice(["integer", "number"])}
    for keyword in rng.sample(
        ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"], rng.randint(1, 4)
    ):
        made[keyword] = abs(number()) or 1 if keyword == "multipleOf" else number()
    if rng.random() < 0.4:
        made["not"] = {"multipleOf": rng.choice([2, 7, 0.5, 97, 1e6 + 3])}
    return made


def strings(rng: Random, n: int) -> Any:
    some = rng.choice([regex_counts, regex_row, regex_random, regex_looks])
    made: dict[str, Any] = {"type": "string"}
    if rng.random() < 0.7:
        made["pattern"] = some(rng, min(n, 60))
    if rng.random() < 0.5:
        made["minLength"] = rng.randrange(n + 1)
    if rng.random() < 0.5:
        made["maxLength"] = made.get("minLength", 0) + rng.randrange(n + 1)
    if rng.random() < 0.3:
        made["format"] = rng.choice(
            ["email", "uri", "hostname", "regex", "idn-email", "date", "uuid", "json-pointer", "iri", "no such"]
        )
    return {"allOf": [made, {"pattern": some(rng, min(n, 20))}]} if rng.random() < 0.3 else made


def strange(rng: Random, n: int) -> Any:
    """Keywords with values of any kind, identifiers and references of any form."""
    words = [
        "$id", "$ref", "$anchor", "$dynamicRef", "$dynamicAnchor", "$schema", "$defs", "type", "enum", "properties",
        "items", "prefixItems", "required", "pattern", "minimum", "multipleOf", "maxLength", "dependentRequired", "if",
        "then", "allOf", "not", "contains", "minContains", "format", "propertyNames", "unevaluatedItems", "const", "x",
    ]  # fmt: skip
    texts = [
        "//[",
        "#",
        "#/",
        "#/$defs/a",
        "http://[::1",
        "urn:a:b",
        "%zz",
        "#/~2",
        "\ud800",
        "a" * min(n, 5000),
        "",
        "..",
        "?#",
    ]

    def any_value(depth: int) -> Any:
        roll = rng.randrange(9)
        if roll < 2:
            return rng.choice(texts)
        if roll < 4:
            return rng.choice([0, -1, n, 1e400, 10**40, True, None, 0.5])
        if roll < 5 or depth <= 0:
            return leaf(rng)
        if roll < 6:
            return [any_value(depth - 1) for _ in range(rng.randint(0, 3))]
        return {rng.choice(words): any_value(depth - 1) for _ in range(rng.randint(1, 4))}

    return {rng.choice(words): any_value(3) for _ in range(rng.randint(1, 5))}


def random_one(rng: Random, n: int) -> Any:
    return random_schema(rng.randrange(10**6), n, rng.choice(["2020-12", "7", "4"]))[1]


def hard_one(rng: Random, n: int) -> Any:
    return hard_schema(rng.randrange(10**6), n)[1]


SCHEMAS: dict[str, Family] = {
    family.__name__: family
    for family in (
        deep, linked, web, members, patterns, needs, unions, constants, arrays, numbers, strings, strange, random_one,
        hard_one,
    )
}  # fmt: skip


def text(rng: Random, n: int) -> str:
    """JSON text that is damaged, deep, or written strangely."""
    made = rng.choice(list(SCHEMAS.values()))(rng, min(n, 200))
    written = json.dumps(made, indent=rng.choice([None, 1, 40]), ensure_ascii=rng.random() < 0.5)
    roll = rng.randrange(7)
    if roll == 0:
        return written[: rng.randrange(len(written) + 1)]
    if roll == 1:
        return "[" * (n * 50) + written
    if roll == 2:
        return '{"a":' * (n * 20) + written + "}" * (n * 20)
    if roll == 3:
        return '{"enum": [' + ",".join(["1" * rng.randint(1, 50)] * n * 10) + "]}"
    if roll == 4:
        return '{"minimum": ' + "9" * (n * 100) + "}"
    if roll == 5:
        return '{"const": "' + "\\u00e9x" * (n * 20) + '"}'
    at = rng.randrange(len(written) + 1)
    return (
        written[:at]
        + rng.choice([",", '"', "\\", "\x00", "\ud800", "NaN", "1e9999", "{", "]", "'", "/*"])
        + written[at + 1 :]
    )


# --- Python values ---------------------------------------------------------------------------------------------------


def shared(rng: Random, n: int) -> Any:
    """Parts that stand in two places each: 2ⁿ of them when they are walked."""
    made: Any = leaf(rng)
    for _ in range(min(n, 200)):
        made = rng.choice(
            [{"anyOf": [made, made]}, {"properties": {"a": made, "b": made}}, {"items": made, "not": made}]
        )
    return made


def circular(rng: Random, n: int) -> Any:
    made: dict[str, Any] = {"type": "object"}
    made[rng.choice(["properties", "not", "enum", "default", "items"])] = rng.choice([made, {"a": made}, [made]])
    return made


class Endless(list[Any]):
    """A list that never ends when it is iterated."""

    def __iter__(self) -> Any:
        while True:
            yield {"type": "integer"}


def unusual(rng: Random, n: int) -> Any:
    bad = rng.choice(
        [
            b"a",
            {1, 2},
            object(),
            float("nan"),
            float("inf"),
            10**5000,
            (1, 2),
            {1: 2},
            {None: 1},
            Endless(),
            range(3),
            "\ud800",
        ]
    )
    return {
        rng.choice(["enum", "const", "properties", "items", "type", "pattern", "default", "x", "allOf"]): rng.choice(
            [bad, [bad], {"a": bad}]
        )
    }


PYTHON: dict[str, Family] = {family.__name__: family for family in (shared, circular, unusual)}
