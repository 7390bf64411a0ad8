"""Arguments in Cohere's `cofl` tags: each value in a tag that tells its type, also within objects and arrays."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from .source import Source, json_text, literal, member_text, starts_with, until, white

if TYPE_CHECKING:
    from .notation import Reading

_END = "</cofl:value>"
_ESCAPES = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"))


class CohereTags:
    """`raw` for strings, `dict` and `list` for what has values within, `json` for all others."""

    def form(self, schema: Any, pointer: str) -> Any:
        return {"type": "json_schema", "json_schema": schema, "style": "cohere_xml"}

    def text_form(self, form: Any) -> Any:
        if form is None:
            form = {"type": "any_text", "excludes": [_END]}
        begin, end = '<cofl:value name="input" type="raw">', _END
        elements = [{"type": "const_string", "value": begin}, form, {"type": "const_string", "value": end}]
        return {"type": "sequence", "elements": elements}

    def write(self, arguments: dict[str, Any], schema: Any) -> str:
        return "".join([_tag(key, value) for key, value in arguments.items()])

    def read(self, source: Source, schema: Any, emit: Callable[[str], None]) -> Reading:
        found: dict[str, Any] = {}
        while True:
            yield from white(source)
            more = yield from starts_with(source, "<cofl:value")
            if not more:
                emit("}" if found else "{}")
                return found
            key, value = yield from _read_tag(source)
            emit(member_text(key, value, not found))
            found[key] = value


def _tag(key: str | None, value: Any) -> str:
    named = ""
    if key is not None:
        if not key:
            raise ValueError("an empty key cannot be written")
        for char, escape in _ESCAPES:
            key = key.replace(char, escape)
        named = f' name="{key}"'
    if isinstance(value, str):
        kind, text = "raw", value
        if _END in text:
            raise ValueError(f"a string has the text {_END!r}, which ends it")
    elif isinstance(value, dict):
        kind, text = "dict", "".join([_tag(*pair) for pair in value.items()])
    elif isinstance(value, list):
        kind, text = "list", "".join([_tag(None, item) for item in value])
    else:
        kind, text = "json", json.dumps(value)
    return f'<cofl:value{named} type="{kind}">{text}{_END}'


def _read_tag(source: Source) -> Generator[None, None, tuple[str, Any]]:
    """Read a value in its tag; return its key, empty within arrays, and the value."""
    yield from literal(source, "<cofl:value")
    yield from white(source)
    key = ""
    is_named = yield from starts_with(source, 'name="')
    if is_named:
        source.pos += len('name="')
        key = yield from until(source, '"')
        for char, escape in reversed(_ESCAPES):
            key = key.replace(escape, char)
    yield from literal(source, ' type="')
    kind = yield from until(source, '">')
    value: Any
    if kind == "raw":
        value = yield from until(source, _END)
        return key, value
    if kind == "json":
        text = yield from json_text(source)
        try:
            value = json.loads(text)
        except ValueError:
            raise source.mismatch("a JSON value") from None
    elif kind in ("dict", "list"):
        pairs = []
        while True:
            yield from white(source)
            more = yield from starts_with(source, "<cofl:value")
            if not more:
                break
            pair = yield from _read_tag(source)
            pairs.append(pair)
        value = dict(pairs) if kind == "dict" else [item for _, item in pairs]
    else:
        raise source.mismatch('type="raw", "json", "dict" or "list"')
    yield from literal(source, f" {_END}")
    return key, value


COHERE = CohereTags()
