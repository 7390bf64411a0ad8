"""Arguments with tags, in the styles of `grammar/arguments`, which says what a text means.

This module finds where each argument ends, so that a text can be read while it arrives.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from ...arguments.styles import STRUCTURES, STYLES, ArgumentStyle
from ...arguments.text import ArgumentsError, read_arguments, write_arguments
from ...arguments.views import Views
from ..definitions import INPUT
from .source import Mismatch, Source, literal, member_text, starts_with, until, white

if TYPE_CHECKING:
    from .notation import Reading

_TEXTS: dict[str, Any] = {
    "additionalProperties": {"$ref": "#/$defs/text"},
    "$defs": {
        "text": {
            "type": ["string", "object", "array"],
            "additionalProperties": {"$ref": "#/$defs/text"},
            "items": {"$ref": "#/$defs/text"},
        }
    },
}
"""The schema with which arguments are read if none is given, in styles that write arrays and objects with tags."""
_STRINGS: dict[str, Any] = {"additionalProperties": {"type": "string"}}
"""The same in styles that write them as JSON."""


class Tagged:
    """One of the styles."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.row = STYLES[name]

    def form(self, schema: Any, pointer: str) -> Any:
        return {"type": "json_schema", "json_schema": schema, "style": self.name}

    def text_form(self, form: Any) -> Any:
        row = self.row
        before = next(text for text, types in row.kinds if "string" in types)
        pad = "\n" if row.is_wrapped else ""
        if form is None:
            form = {"type": "any_text", "excludes": [row.stop]}
        elements = [_const(f"{row.begin}{INPUT}{row.after_name}")]
        if row.before_value:
            elements.append({"type": "optional", "content": _const("\n")})
        elements += [_const(f"{row.before_value}{before}{pad}"), form, _const(pad + row.end_of(INPUT))]
        return {"type": "sequence", "elements": [*elements, {"type": "optional", "content": _const("\n")}]}

    def write(self, arguments: dict[str, Any], schema: Any) -> str:
        return write_arguments(arguments, self.name, _schema_of(arguments) if schema is None else schema)

    def read(self, source: Source, schema: Any, emit: Callable[[str], None]) -> Reading:
        row = self.row
        if schema is None:
            schema = True if row.shows_types else _TEXTS if row.item else _STRINGS
        views = Views(schema)
        found: dict[str, Any] = {}
        while True:
            yield from white(source)
            more = yield from _begins(source, row, row.begin)
            if not more:
                emit("}" if found else "{}")
                return found
            position, start = source.position, source.pos
            yield from _skip(source, row, row.begin)
            text = source.text[start : source.pos]
            try:
                ((name, value),) = read_arguments(text, self.name, views).items()
            except ArgumentsError as error:
                expected, _, _ = str(error).removeprefix("expected ").partition(", at character")
                raise Mismatch(expected, position) from None
            if name in found:
                raise Mismatch(f"no second argument {name!r}", position)
            emit(member_text(name, value, not found))
            found[name] = value


def _const(text: str) -> Any:
    return {"type": "const_string", "value": text}


def _begins(source: Source, row: ArgumentStyle, begin: str) -> Generator[None, None, bool]:
    """Return whether an argument or an item begins, without reading it."""
    begins = yield from starts_with(source, begin)
    if not begins or "{}" not in row.end:
        return begins
    closes = yield from starts_with(source, f"{begin}/")
    return not closes


def _skip(source: Source, row: ArgumentStyle, begin: str) -> Generator[None, None, None]:
    """Read an argument, or an item, up to its end."""
    source.pos += len(begin)
    name = row.item_name
    if begin == row.begin:
        name = yield from until(source, row.after_name)
        if row.before_value:
            yield from white(source)
            yield from literal(source, row.before_value)
    types: frozenset[str] | None = None
    for text, of_kind in row.kinds:
        is_kind = yield from starts_with(source, text)
        if is_kind:
            source.pos += len(text)
            types = of_kind
            break
    if types is None:
        raise source.mismatch(" or ".join([text for text, _ in row.kinds]))
    if row.item and types & STRUCTURES:
        before = source.pos
        yield from white(source)
        n_inside = 0
        while True:
            inside = yield from _child(source, row)
            if not inside:
                break
            n_inside += 1
            yield from _skip(source, row, inside)
            yield from white(source)
        if n_inside or types <= STRUCTURES:
            yield from literal(source, row.end_of(name))
            return
        source.pos = before
    yield from until(source, row.stop)
    yield from literal(source, row.end_of(name)[len(row.stop) :])


def _child(source: Source, row: ArgumentStyle) -> Generator[None, None, str]:
    """Return the beginning of the argument or item that begins here, or nothing."""
    for begin in (row.begin, row.item):
        begins = yield from _begins(source, row, begin)
        if begins:
            return begin
    return ""


def _schema_of(value: Any) -> Any:
    """Return a schema that says the type of a value and of all values in it."""
    if isinstance(value, dict):
        return {"type": "object", "properties": {key: _schema_of(item) for key, item in value.items()}}
    if isinstance(value, list):
        return {"type": "array", "items": {"anyOf": [_schema_of(item) for item in value]} if value else True}
    if value is None:
        return {"type": "null"}
    return {"type": "string" if isinstance(value, str) else "boolean" if isinstance(value, bool) else "number"}


NOTATIONS = {name: Tagged(name) for name in STYLES}
