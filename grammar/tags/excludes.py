"""Schemas whose strings and keys may not contain some texts.

The schema is met with another one, written here, that says it of every string and every key, however deep. What counts
is the text as it is written, escapes included: with "nx" excluded, a line feed before an x, `\\nx`, is excluded, too.
"""

from __future__ import annotations

import re
from typing import Any

from .spec import error

NAME = "earleymask without excluded texts"
"""The name of the added schema among the definitions."""

KEPT = ("$schema", "$id", "id", "$defs", "definitions")
"""What counts beside a `$ref` in all drafts."""

_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
_ESCAPES |= {chr(code): f"\\u{code:04x}" for code in range(0x20) if chr(code) not in _ESCAPES}


def decoded(excluded: str) -> list[str]:
    """Return the texts that a string may not contain so that the text `excluded` does not stand in what is written.

    A quotation mark is written after a backslash, so an excluded text stands in no string if it has one that it does
    not begin with.
    """
    found = [excluded]
    for character, spelling in {**_ESCAPES, '"': '\\"'}.items():
        for begin in range(1, len(spelling)):
            rest = spelling[begin:]
            if excluded.startswith(rest):
                found.append(character + excluded[len(rest) :])
    return [text for text in found if '"' not in text[1:]]


def without(schema: Any, excludes: list[str], path: str) -> Any:
    """Return the schema of the documents of `schema` in whose strings and keys none of the texts is written."""
    for index, excluded in enumerate(excludes):
        if "\\" in excluded or any([character < " " for character in excluded]):
            message = "a text that is excluded from a schema may have no backslash and no control character"
            raise error(message, f"{path}/{index}")
    texts = [text for excluded in excludes for text in decoded(excluded)]
    pattern = "|".join([re.sub(r"[][^$\\.*+?(){}|/]", r"\\\g<0>", text) for text in texts])
    if not pattern or schema is False:
        return schema
    clean = {
        "not": {"type": "string", "pattern": pattern},
        "patternProperties": {pattern: {"not": {}}},
        "additionalProperties": {"$ref": f"#/$defs/{NAME}"},
        "items": {"$ref": f"#/$defs/{NAME}"},
    }
    if schema is True:
        schema = {}
    if not isinstance(schema, dict):
        return schema  # it is refused when it is read
    conditions: list[Any] = list(schema.get("allOf", ()))
    if "$ref" in schema:  # older drafts ignore what stands beside it
        conditions = [{"$ref": schema["$ref"]}]
        schema = {name: value for name, value in schema.items() if name in KEPT}
    # What is said twice `not` evaluates no members for `unevaluatedProperties`.
    conditions.append({"not": {"not": {"$ref": f"#/$defs/{NAME}"}}})
    return {**schema, "allOf": conditions, "$defs": {**schema.get("$defs", {}), NAME: clean}}
