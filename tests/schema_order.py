"""The schema's order of keys, as a slow and separate reading of its definition; and instances put into it.

The order: first appearance in a walk of the document in order, properties and in-place applicators alike with
references followed, then `required` names not yet seen, then all other keys as they come. Several schemas may apply to
a member or an item: they take part in the order of that walk. An object that is a constant has its own order.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

LISTS = ("allOf", "anyOf", "oneOf")
SINGLE = ("if", "then", "else", "not")
MAPS = ("dependentSchemas", "dependencies")
REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


@dataclass
class _Walk:
    """What applies in one place."""

    root: Any
    names: list[str] = field(default_factory=list)
    required: list[str] = field(default_factory=list)
    schemas: list[dict[str, Any]] = field(default_factory=list)
    seen: dict[int, Any] = field(default_factory=dict)  # by `id`; kept, so that no other object gets that id

    constants: list[Any] = field(default_factory=list)

    def go(self, schema: Any, asserted: bool = True) -> None:
        """`asserted`: a value that is one of the constants here may be it because the schema says so."""
        if not isinstance(schema, dict) or id(schema) in self.seen:
            return
        self.seen[id(schema)] = schema
        self.schemas.append(schema)
        if asserted:
            self.constants += [*schema.get("enum", ()), *([schema["const"]] if "const" in schema else [])]
        for keyword, value in schema.items():
            if keyword == "properties":
                self.names += value
            elif keyword == "required" and isinstance(value, list):
                self.required += value
            elif keyword in LISTS:
                for branch in value:
                    self.go(branch, asserted)
            elif keyword in SINGLE:
                self.go(value, asserted and keyword != "not")
            elif keyword in MAPS:
                for branch in value.values():
                    self.go(branch, asserted)
            elif keyword in REFERENCES:
                self.go(target(self.root, value), asserted)


def target(root: Any, reference: str) -> Any:
    """What a reference leads to if it is a JSON pointer into the document, or `#`; True otherwise."""
    if not reference.startswith("#"):
        return True
    value = root
    for token in reference[1:].split("/")[1:]:
        token = token.replace("~1", "/").replace("~0", "~")
        try:
            value = value[int(token)] if isinstance(value, list) else value[token]
        except (KeyError, IndexError, ValueError, TypeError):
            return True
    return value


def reordered(data: Any, schema: Any) -> Any:
    """An instance with the keys of all its objects in the order of the schema."""
    return _put(data, [schema], schema)


def _put(data: Any, schemas: list[Any], root: Any) -> Any:
    if not isinstance(data, (dict, list)):
        return data
    walk = _Walk(root)
    for schema in schemas:
        walk.go(schema)
    for constant in walk.constants:
        if json.dumps(constant, sort_keys=True) == json.dumps(data, sort_keys=True):
            return constant
    if isinstance(data, list):
        return [_put(item, _of_item(index, walk.schemas), root) for index, item in enumerate(data)]
    first = [name for name in dict.fromkeys([*walk.names, *walk.required]) if name in data]
    keys = dict.fromkeys([*first, *data])
    return {key: _put(data[key], _of_member(key, walk.schemas), root) for key in keys}


def _of_member(key: str, schemas: list[dict[str, Any]]) -> list[Any]:
    found = []
    for schema in schemas:
        own = [value for pattern, value in schema.get("patternProperties", {}).items() if _matches(pattern, key)]
        if key in schema.get("properties", {}):
            own.insert(0, schema["properties"][key])
        found += own or [schema.get("additionalProperties")]
        found.append(schema.get("unevaluatedProperties"))
    return found


def _of_item(index: int, schemas: list[dict[str, Any]]) -> list[Any]:
    found = []
    for schema in schemas:
        prefix = schema.get("prefixItems", schema.get("items"))
        if isinstance(prefix, list):
            rest = schema.get("items") if "prefixItems" in schema else schema.get("additionalItems")
            found.append(prefix[index] if index < len(prefix) else rest)
        else:
            found.append(prefix)
        found += [schema.get("contains"), schema.get("unevaluatedItems")]
    return found


def _matches(pattern: str, key: str) -> bool:
    # Python's reading will do: this is about the order of keys within a member's value only.
    try:
        return re.search(pattern, key) is not None
    except re.error:
        return False
