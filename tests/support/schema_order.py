"""The schema's order of keys, by a slow and independent reading of its definition, and instances put into that order.

The order is: first appearance in a walk of the schema document, through properties and in-place applicators, with
references followed; then further `required` names; then all other keys as they come. If several schemas apply to a
member or an item, the walk visits them in order. An object that is a constant keeps its own order.

Within a member or an item, a branch counts only if it holds. Different branches of an `anyOf`, for instance, may hold,
and each choice has its own order. `reordered` takes all branches; if others would give another order
(`Order.is_settled` is false), `Order.ways` draws some of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

LISTS = ("allOf", "anyOf", "oneOf")
SINGLE = ("if", "then", "else", "not")
MAPS = ("dependentSchemas", "dependencies")
REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


Applied = tuple[Any, bool]
"""A schema, and whether it always applies, or only if some branch holds."""


@dataclass
class _Walk:
    """The schemas that apply to one value. `drawn` decides whether a branch counts for members and items."""

    root: Any
    drawn: Callable[[], bool]
    names: list[str] = field(default_factory=list)
    required: list[str] = field(default_factory=list)
    schemas: list[tuple[dict[str, Any], bool]] = field(default_factory=list)
    seen: dict[int, Any] = field(default_factory=dict)  # by `id`; kept, so that no other object gets the same id

    constants: list[Any] = field(default_factory=list)

    def go(self, schema: Any, is_sure: bool, is_drawn: bool = True, asserted: bool = True) -> None:
        """Walk a schema. `asserted`: the constants in it are ones that the value may have to equal."""
        if not isinstance(schema, dict) or id(schema) in self.seen:
            return
        self.seen[id(schema)] = schema
        if is_drawn:
            self.schemas.append((schema, is_sure))
        if asserted:
            self.constants += [*schema.get("enum", ()), *([schema["const"]] if "const" in schema else [])]
        for keyword, value in schema.items():
            if keyword == "properties":
                self.names += value
            elif keyword == "required" and isinstance(value, list):
                self.required += value
            elif keyword == "allOf":
                for branch in value:
                    self.go(branch, is_sure, is_drawn, asserted)
            elif keyword in LISTS:
                for branch in value:
                    self.go(branch, False, is_drawn and self.drawn(), asserted)
            elif keyword in SINGLE:
                self.go(value, False, is_drawn and self.drawn(), asserted and keyword != "not")
            elif keyword in MAPS:
                for branch in value.values():
                    self.go(branch, False, is_drawn and self.drawn(), asserted)
            elif keyword in REFERENCES:
                self.go(target(self.root, value), is_sure, is_drawn, asserted)


def target(root: Any, reference: str) -> Any:
    """Return the target of a reference that is a JSON pointer into the document, `#`, or an `$id` exactly as written in
    it; return True for any other reference."""
    if not reference.startswith("#"):
        return named(root, reference)
    value = root
    for token in reference[1:].split("/")[1:]:
        token = token.replace("~1", "/").replace("~0", "~")
        try:
            value = value[int(token)] if isinstance(value, list) else value[token]
        except (KeyError, IndexError, ValueError, TypeError):
            return True
    return value


def named(schema: Any, name: str) -> Any:
    """Return the schema with exactly this `$id`."""
    inside = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    if isinstance(schema, dict) and schema.get("$id") == name:
        return schema
    return next((found for one in inside if (found := named(one, name)) is not True), True)


def reordered(data: Any, schema: Any) -> Any:
    """Return an instance with the keys of all its objects in the order of the schema."""
    return Order(schema).put(data)


class Order:
    """Puts instances into the order of a schema."""

    def __init__(self, schema: Any) -> None:
        self.schema = schema
        self.is_settled = True
        """Whether the instances so far have no other order."""
        self.drawn: Callable[[], bool] = lambda: True

    def put(self, data: Any) -> Any:
        return self._put(data, [(self.schema, True)])

    def ways(self, data: Any, rng: Random, n: int) -> Iterator[Any]:
        """Yield `n` orders, for random choices of the branches that hold."""
        self.drawn = lambda: rng.random() < 0.5
        for _ in range(n):
            yield self.put(data)

    def _put(self, data: Any, applied: list[Applied]) -> Any:
        if not isinstance(data, (dict, list)):
            return data
        walk = _Walk(self.schema, self.drawn)
        for schema, is_sure in applied:
            walk.go(schema, is_sure)
        if (
            isinstance(data, dict)
            and len(data) > 1
            and any(isinstance(one, dict) and not is_sure for one, is_sure in applied)
        ):
            self.is_settled = False
        for constant in walk.constants:
            if json.dumps(constant, sort_keys=True) == json.dumps(data, sort_keys=True):
                self.is_settled = False
                if self.drawn():
                    return constant
        if isinstance(data, list):
            return [self._put(item, _of_item(index, walk.schemas)) for index, item in enumerate(data)]
        first = [name for name in dict.fromkeys([*walk.names, *walk.required]) if name in data]
        keys = dict.fromkeys([*first, *data])
        return {key: self._put(data[key], _of_member(key, walk.schemas)) for key in keys}


def _of_member(key: str, schemas: list[tuple[dict[str, Any], bool]]) -> list[Applied]:
    found: list[Applied] = []
    for schema, is_sure in schemas:
        own = [value for pattern, value in schema.get("patternProperties", {}).items() if _matches(pattern, key)]
        if key in schema.get("properties", {}):
            own.insert(0, schema["properties"][key])
        found += [(one, is_sure) for one in own or [schema.get("additionalProperties", True)]]
        if "unevaluatedProperties" in schema:
            found.append((schema["unevaluatedProperties"], False))
    return found


def _of_item(index: int, schemas: list[tuple[dict[str, Any], bool]]) -> list[Applied]:
    found: list[Applied] = []
    for schema, is_sure in schemas:
        prefix = schema.get("prefixItems", schema.get("items", True))
        if isinstance(prefix, list):
            rest = schema.get("items" if "prefixItems" in schema else "additionalItems", True)
            found.append((prefix[index] if index < len(prefix) else rest, is_sure))
        else:
            found.append((prefix, is_sure))
        found += [(schema[keyword], False) for keyword in ("contains", "unevaluatedItems") if keyword in schema]
    return found


def _matches(pattern: str, key: str) -> bool:
    # Python's `re` is good enough: this decides only about the order of keys within a member's value.
    try:
        return re.search(pattern, key) is not None
    except re.error:
        return False
