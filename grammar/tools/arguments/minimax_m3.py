"""Arguments as MiniMax M3 writes them: a tag with the name of each key, also within objects; `item` within arrays.

A string may not have the text that begins all tags. The schema says which texts are strings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from .source import Source, literal, member_text, starts_with, until, white
from .typed import items, member, resolved, text_of, types, value_of

if TYPE_CHECKING:
    from .notation import Reading

_MARK = "]<]minimax[>["
_KEY = re.compile(r"[^\s<>/&\"']+")


class MinimaxTags:
    """A tag for each key."""

    def form(self, schema: Any, pointer: str) -> Any:
        return {"type": "json_schema", "json_schema": schema, "style": "minimax_m3_xml"}

    def text_form(self, form: Any) -> Any:
        if form is None:
            form = {"type": "any_text", "excludes": [_MARK]}
        begin, end = f"{_MARK}<input>", f"{_MARK}</input>"
        elements = [{"type": "const_string", "value": begin}, form, {"type": "const_string", "value": end}]
        return {"type": "sequence", "elements": elements}

    def write(self, arguments: dict[str, Any], schema: Any) -> str:
        return _members(arguments, schema, schema)

    def read(self, source: Source, schema: Any, emit: Callable[[str], None]) -> Reading:
        found: dict[str, Any] = {}
        while True:
            yield from white(source)
            more = yield from _opens(source)
            if not more:
                emit("}" if found else "{}")
                return found
            key = yield from until(source, ">")
            value = yield from _read(source, None if schema is None else member(schema, schema, key), schema, key)
            emit(member_text(key, value, not found))
            found[key] = value


def _members(value: dict[str, Any], schema: Any, root: Any) -> str:
    found = []
    for key, item in value.items():
        if not _KEY.fullmatch(key):
            raise ValueError(f"the key {key!r} cannot be written as the name of a tag")
        own = None if schema is None else member(schema, root, key)
        found.append(f"{_MARK}<{key}>{_text(item, own, root)}{_MARK}</{key}>")
    return "".join(found)


def _text(value: Any, schema: Any, root: Any) -> str:
    if isinstance(value, dict):
        if not value and schema is not None and "string" in types(schema, root):
            raise ValueError("an empty object would mean an empty string")
        return _members(value, schema, root)
    if isinstance(value, list):
        if not value and schema is not None and {"string", "object"} & types(schema, root):
            raise ValueError("an empty array would mean an empty string or object")
        own = [None if schema is None else items(schema, root, index) for index in range(len(value))]
        texts = [_text(item, of_item, root) for item, of_item in zip(value, own, strict=True)]
        return "".join([f"{_MARK}<item>{text}{_MARK}</item>" for text in texts])
    if isinstance(value, str) and _MARK in value:
        raise ValueError(f"a string has the text {_MARK!r}, which ends it")
    return text_of(value, schema, root) if isinstance(value, str) or schema is not None else json.dumps(value)


def _opens(source: Source) -> Generator[None, None, bool]:
    """Return whether an opening tag follows that is none of a call, and read its beginning if so."""
    ahead = f"{_MARK}<"
    is_tag = yield from starts_with(source, ahead)
    if not is_tag:
        return False
    is_closing = yield from starts_with(source, f"{ahead}/")
    if is_closing:
        return False
    source.pos += len(ahead)
    return True


def _read(source: Source, schema: Any, root: Any, key: str) -> Generator[None, None, Any]:
    """Read a value and the closing tag after it."""
    closing = f"{_MARK}</{key}>"
    text = yield from until(source, _MARK)
    source.pos -= len(_MARK)
    kinds = types(schema, root) if schema is not None else frozenset(("string",))
    opens = yield from _opens(source)
    if not opens:
        yield from literal(source, closing)
        if not text.strip() and "string" not in kinds:
            return {} if "object" in kinds else []
        return value_of(text, schema, root)
    pairs: list[tuple[str, Any]] = []
    while opens:
        name = yield from until(source, ">")
        is_item = name == "item" and (schema is None or "array" in kinds)
        if schema is None:
            own: Any = None
        else:
            own = items(schema, root, len(pairs)) if is_item else member(schema, root, name)
        value = yield from _read(source, own, root, name)
        pairs.append((name, value))
        yield from white(source)
        opens = yield from _opens(source)
    yield from literal(source, closing)
    if "array" in kinds and not _has_member(schema, root, "item"):
        return [value for _, value in pairs]
    if schema is None and all([name == "item" for name, _ in pairs]):
        return [value for _, value in pairs]
    return dict(pairs)


def _has_member(schema: Any, root: Any, key: str) -> bool:
    schema = resolved(schema, root)
    return isinstance(schema, dict) and key in schema.get("properties", ())


MINIMAX_M3 = MinimaxTags()
