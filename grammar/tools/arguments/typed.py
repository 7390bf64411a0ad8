"""What a text without quotes means: a string, or the JSON text of another value, as a schema says."""

from __future__ import annotations

import json
from typing import Any

ALL = frozenset(("string", "integer", "number", "boolean", "null", "object", "array"))
_DEEPEST = 64  # references that are followed, one within another; deeper ones may be of any type


def type_of(value: Any) -> str:
    """Return the JSON type of a value; a number without a fraction is an integer."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "integer" if isinstance(value, int) or value.is_integer() else "number"
    return "string" if isinstance(value, str) else "object" if isinstance(value, dict) else "array"


def resolved(schema: Any, root: Any) -> Any:
    """Return the schema to which the `$ref` of a schema leads, if it is a pointer into the same document."""
    for _ in range(_DEEPEST):
        reference = schema.get("$ref") if isinstance(schema, dict) else None
        if not isinstance(reference, str) or not reference.startswith("#"):
            return schema
        schema = root
        for part in reference[1:].split("/")[1:]:
            part = part.replace("~1", "/").replace("~0", "~")
            if isinstance(schema, list) and part.isdigit() and int(part) < len(schema):
                schema = schema[int(part)]
            else:
                schema = schema.get(part, True) if isinstance(schema, dict) else True
    return True


def types(schema: Any, root: Any, depth: int = 0) -> frozenset[str]:
    """Return the JSON types that the values of a schema may have, or more."""
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return ALL
    found = ALL
    if "$ref" in schema:
        found &= types(resolved(schema, root), root, depth + 1)
    if "type" in schema:
        kinds = schema["type"]
        named = {kinds} if isinstance(kinds, str) else set(kinds)
        if "number" in named:
            named.add("integer")
        found &= named
    if "const" in schema:
        found &= {type_of(schema["const"])}
    if isinstance(schema.get("enum"), list):
        found &= {type_of(value) for value in schema["enum"]}
    for key in ("anyOf", "oneOf"):
        if isinstance(schema.get(key), list):
            found &= frozenset().union(*[types(branch, root, depth + 1) for branch in schema[key]])
    for branch in schema.get("allOf", ()) if isinstance(schema.get("allOf"), list) else ():
        found &= types(branch, root, depth + 1)
    return found


def words(schema: Any, root: Any) -> frozenset[str] | None:
    """Return the strings of a schema that lists its values, otherwise None."""
    schema = resolved(schema, root)
    if not isinstance(schema, dict):
        return None
    if "const" in schema:
        return frozenset([schema["const"]] if isinstance(schema["const"], str) else [])
    if isinstance(schema.get("enum"), list):
        return frozenset([value for value in schema["enum"] if isinstance(value, str)])
    return None


def member(schema: Any, root: Any, key: str) -> Any:
    """Return the schema of the member `key` of an object, True if nothing is said about it."""
    schema = resolved(schema, root)
    if not isinstance(schema, dict):
        return True
    properties = schema.get("properties")
    if isinstance(properties, dict) and key in properties:
        return properties[key]
    for name in ("allOf", "anyOf", "oneOf"):
        for branch in schema.get(name, ()) if isinstance(schema.get(name), list) else ():
            found = member(branch, root, key)
            if found is not True:
                return found
    more = schema.get("additionalProperties", True)
    return more if isinstance(more, dict) else True


def items(schema: Any, root: Any, index: int) -> Any:
    """Return the schema of an item of an array, True if nothing is said about it."""
    schema = resolved(schema, root)
    if not isinstance(schema, dict):
        return True
    first = schema.get("prefixItems", ())
    if isinstance(first, list) and index < len(first):
        return first[index]
    return schema.get("items", True)


def value_of(text: str, schema: Any, root: Any) -> Any:
    """Return the value that a text without quotes means.

    A text that is JSON of a type that the schema allows is that value, except for strings, which have no quotes.
    Every other text is a string. Without a schema (None), all texts are strings. Raises ValueError if it can be
    neither.
    """
    if schema is None:
        return text
    kinds = types(schema, root)
    listed = words(schema, root)
    if listed is not None and text not in listed and text.strip() in listed:
        text = text.strip()
    if kinds != {"string"} and not (listed and text in listed):
        try:
            value = json.loads(text)
        except ValueError:
            pass
        else:
            if not isinstance(value, str) and type_of(value) in kinds:
                return value
    if "string" not in kinds:
        raise ValueError(f"{text!r} is not the JSON text of a value of type {' or '.join(sorted(kinds))}")
    return text


def text_of(value: Any, schema: Any, root: Any) -> str:
    """Return the text without quotes that means a value. Raises ValueError if it would mean another one."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if schema is not None:
        meant = value_of(text, schema, root)
        if type(meant) is not type(value) or meant != value:
            raise ValueError(f"the text {text!r} would mean the value {meant!r}")
    return text
