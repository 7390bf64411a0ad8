"""Random instances: any value, a value near a schema, a value with something changed."""

from __future__ import annotations

from random import Random
from typing import Any

NAMES = ("a", "b", "ab", "x1", "")
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


def value(rng: Random, depth: int) -> Any:
    """Make a JSON value, out of few names and numbers."""
    kind = rng.random()
    if depth <= 0 or kind < 0.6:
        return rng.choice(SCALARS)
    if kind < 0.8:
        return [value(rng, depth - 1) for _ in range(rng.randint(0, 3))]
    return {name: value(rng, depth - 1) for name in rng.sample((*NAMES, "zz"), rng.randint(0, 3))}


def near(rng: Random, schema: Any, depth: int = 4) -> Any:
    """Make a value that may be valid: one that satisfies some part of the schema."""
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
    """Return the value with one thing in it changed."""
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
