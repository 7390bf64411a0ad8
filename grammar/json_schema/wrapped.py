"""Recognize what holds a schema and is none: tools of chat APIs, and the response format of OpenAI's."""

from __future__ import annotations

from typing import Any

from ..errors import GrammarError

HOLDERS = frozenset(["function", "json_schema", "parameters", "schema", "input_schema", "inputSchema"])
"""The keys of tools and response formats that hold a schema, or hold what holds one."""

_DESCRIBING = frozenset(
    ["name", "description", "title", "strict", "annotations", "cache_control", "outputSchema", "_meta", "type"]
)
"""The other keys that tools have."""

_BY_KEY = {
    "parameters": "the function of an OpenAI tool",
    "schema": "the `json_schema` of an OpenAI response format",
    "input_schema": "an Anthropic tool",
    "inputSchema": "a tool of the Model Context Protocol",
}


def may_wrap(given: dict[str, Any]) -> bool:
    """Return whether `wrapping` has anything to look at."""
    return not HOLDERS.isdisjoint(given) or given.get("type") == "json_object"


def wrapping(given: dict[str, Any]) -> GrammarError | None:
    """Return the error about a dict that is no schema but holds one, with the way to that one; None for a schema.

    Without a `type`, a tool would be a valid schema that allows everything, since none of its keys is a keyword.
    """
    kind = given.get("type")
    if kind == "function":
        inner = '["function"]' if isinstance(given.get("function"), dict) else ""
        return _error("an OpenAI tool", f'{inner}["parameters"]')
    if kind == "json_schema":
        inner = '["json_schema"]' if isinstance(given.get("json_schema"), dict) else ""
        return _error("an OpenAI response format", f'{inner}["schema"]')
    if kind == "json_object":
        return _error("an OpenAI response format", "", "Grammar.json(object=True) allows any JSON object")
    if kind is None and isinstance(given.get("name"), str):
        for key, what in _BY_KEY.items():
            if isinstance(given.get(key), dict) and given.keys() <= _DESCRIBING | {key}:
                return _error(what, f'["{key}"]')
    return None


def _error(what: str, path: str, hint: str = "") -> GrammarError:
    hint = hint or f"give the schema that it holds, given{path}"
    return GrammarError(f"this is {what}, not a JSON Schema", pointer="", hint=hint)
