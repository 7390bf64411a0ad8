"""Arguments that are not written as JSON: from their text to values, and back.

`read_arguments` reads what a grammar of `embed_arguments` allows, and what a chat template writes. Strings are read
exactly as they were written. `write_arguments` writes values so that they are read as themselves.

This module knows the styles and the types of a schema, and imports nothing else of the library.
"""

from __future__ import annotations

import json
import math
import re
import sys
from typing import Any

from .styles import STRUCTURES, STYLES, ArgumentStyle, read_name, written_name
from .views import View, Views, type_of

SPACE = " \t\n\r"
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
SURROGATE = re.compile("[\ud800-\udfff]")
_WORDS = {"null": "null", "true": "boolean", "false": "boolean"}


class ArgumentsError(ValueError):
    """A text is not in the form of a style, or a style cannot say a value.

    position: the offset in the text, in characters; None for values that cannot be written.
    """

    def __init__(self, message: str, position: int | None = None) -> None:
        super().__init__(message if position is None else f"{message}, at character {position}")
        self.position = position


def style_of(name: str) -> ArgumentStyle:
    """Return the style with a name. Raises ValueError for an unknown one."""
    if name not in STYLES:
        raise ValueError(f"style must be one of {', '.join(map(repr, STYLES))}, not {name!r}")
    return STYLES[name]


def read_arguments(text: str, style: str, schema: Any = True) -> dict[str, Any]:
    """Return the arguments that a text in one of the styles says.

    text: all arguments of one call, without what stands around them. schema: that of the arguments as JSON values, or
    its `Views`; it decides which texts are strings where a style does not show it. Raises ArgumentsError, a ValueError.
    """
    reader = _Reader(text, style_of(style), schema if isinstance(schema, Views) else Views(schema))
    try:
        found = reader.members(reader.views.root)
    except RecursionError:
        raise ArgumentsError("expected arguments that are nested less deeply", reader.at) from None
    if reader.at < len(text):
        raise ArgumentsError(f"expected an argument, which begins with {reader.style.begin!r}", reader.at)
    return found


def scalar_type(text: str) -> str | None:
    """Return the type of the number, boolean or null that is written as `text`; None if it is none of these."""
    word = _WORDS.get(text)
    return "number" if word is None and _NUMBER.fullmatch(text) else word


def read_json(text: str, types: frozenset[str]) -> tuple[bool, Any]:
    """Return whether a text is JSON of one of these types, none of them a string, and the value."""
    text = text.strip(SPACE)
    kind = scalar_type(text)
    if kind is None:
        kind = {"[]": "array", "{}": "object"}.get(text[:1] + text[-1:])
    if kind not in types:
        return False, None
    try:
        return True, json_value(text)
    except json.JSONDecodeError:
        return False, None


def json_value(text: str) -> Any:
    """Return the value of a JSON text.

    Raises json.JSONDecodeError if the text is no JSON, and ArgumentsError if Python cannot read it: for an integer with
    too many digits, a number that would be infinite, and values that are nested too deeply.
    """
    try:
        return json.loads(text, parse_int=_integer, parse_float=_float, parse_constant=_refused)
    except RecursionError:
        raise ArgumentsError("expected JSON that is nested less deeply") from None


def _integer(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:
        most = sys.get_int_max_str_digits()
        raise ArgumentsError(
            f"expected an integer of at most {most} digits, which Python reads (sys.set_int_max_str_digits)"
        ) from None


def _float(text: str) -> float:
    found = float(text)
    if math.isinf(found):
        raise ArgumentsError("expected a number that a float can hold")
    return found


def may_be_json(text: str, types: frozenset[str]) -> bool:
    """Whether a string cannot be written since its text may be read as JSON of one of these types."""
    text = text.strip(SPACE)
    return scalar_type(text) in types or {"[]": "array", "{}": "object"}.get(text[:1] + text[-1:]) in types


def _refused(word: str) -> Any:
    raise json.JSONDecodeError(f"{word} is no JSON", word, 0)


class _Reader:
    """Reads one text from its beginning to its end."""

    def __init__(self, text: str, style: ArgumentStyle, views: Views) -> None:
        self.text = text
        self.style = style
        self.views = views
        self.at = 0

    def skip_space(self) -> int:
        text, at = self.text, self.at
        while at < len(text) and text[at] in SPACE:
            at += 1
        return at

    def expect(self, wanted: str) -> None:
        if not self.text.startswith(wanted, self.at):
            raise ArgumentsError(f"expected {wanted!r}", self.at)
        self.at += len(wanted)

    def until(self, wanted: str) -> str:
        end = self.text.find(wanted, self.at)
        if end < 0:
            raise ArgumentsError(f"expected {wanted!r} after this place", self.at)
        found = self.text[self.at : end]
        self.at = end
        return found

    def has_child(self) -> bool:
        """Whether, after white space, an argument or an item begins. If so, go there."""
        at = self.skip_space()
        style = self.style
        begins = style.item or style.begin
        if "{}" in style.end:
            is_child = self.text.startswith(style.begin, at) and not self.text.startswith(f"{style.begin}/", at)
        else:
            is_child = self.text.startswith((style.begin, begins), at)
        if is_child:
            self.at = at
        return is_child

    def members(self, view: View) -> dict[str, Any]:
        found: dict[str, Any] = {}
        style = self.style
        while self.has_child():
            begin = self.at
            self.expect(style.begin)
            name = read_name(self.until(style.after_name), style)
            self.at += len(style.after_name)
            if name in found:
                raise ArgumentsError(f"the argument {name!r} is written twice", begin)
            if style.before_value:
                self.at = self.skip_space()
                self.expect(style.before_value)
            found[name] = self.value(self.views.member(view, name), name)
        self.at = self.skip_space()
        return found

    def items(self, view: View) -> list[Any]:
        found = []
        item = self.views.item(view)
        while self.has_child():
            self.expect(self.style.item)
            found.append(self.value(item, self.style.item_name))
        self.at = self.skip_space()
        return found

    def value(self, view: View, name: str) -> Any:
        """Read a value and what ends it."""
        before, types = self.kind()
        self.at += len(before)
        if not self.style.shows_types:
            types = self.views.types(view)
        if self.style.item and types & STRUCTURES:
            kind = self.structure(types)
            if kind is not None:
                found: Any = self.items(view) if kind == "array" else self.members(view)
                self.expect(self.style.end_of(name))
                return found
        begin = self.at
        text = self.until(self.style.stop)
        self.expect(self.style.end_of(name))
        return self.plain(text, types, begin)

    def kind(self) -> tuple[str, frozenset[str]]:
        """Return what begins a value here, and the types of such values."""
        for kind in self.style.kinds:
            if self.text.startswith(kind[0], self.at):
                return kind
        raise ArgumentsError(f"expected {' or '.join(repr(one) for one, _ in self.style.kinds)}", self.at)

    def structure(self, types: frozenset[str]) -> str | None:
        """Return "array" or "object" if such a value begins here, with tags."""
        begin = self.at
        if self.has_child():
            is_item = self.text.startswith(self.style.item, self.at)
            self.at = begin
            return "array" if "array" in types and (is_item or "object" not in types) else "object"
        is_empty = self.text.startswith(self.style.stop, self.skip_space())
        if not is_empty or "string" in types:
            return None
        return "object" if "object" in types else "array"

    def plain(self, text: str, types: frozenset[str], begin: int) -> Any:
        """Return the string that a text says, or what it says as JSON."""
        others = types - {"string"} - (STRUCTURES if self.style.item else frozenset())
        try:
            is_json, value = read_json(text, others)
        except ArgumentsError as error:
            raise ArgumentsError(str(error), begin) from None
        if is_json:
            return value
        if "string" not in types:
            told = ", ".join(sorted(others)) or "nothing"
            raise ArgumentsError(f"expected JSON of the types that the schema allows here ({told})", begin)
        return unwrapped(text) if self.style.is_wrapped else text


def unwrapped(text: str) -> str:
    """Leave out the line breaks around a string, if there are two of them."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == "\n" else text


def written_json(value: Any, name: str) -> str:
    """Return the JSON text of a value, which errors call `name`. Raises ArgumentsError if it has none."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ArgumentsError(f"{name} cannot be written as JSON: {error}") from None
    if SURROGATE.search(text):
        raise ArgumentsError(f"{name} has a lone surrogate, which no text in UTF-8 has")
    return text


def write_arguments(arguments: dict[str, Any], style: str, schema: Any = True) -> str:
    """Return the text of some arguments in one of the styles, in their order.

    `read_arguments` returns the arguments for the text and the same schema. Raises ArgumentsError if no text is read
    so: a string that has in it what ends a value, for example.
    """
    rows = style_of(style)
    try:
        return _Writer(rows, Views(schema)).members(arguments, "")
    except RecursionError:
        raise ArgumentsError("the arguments are nested too deeply") from None


class _Writer:
    def __init__(self, style: ArgumentStyle, views: Views) -> None:
        self.style = style
        self.views = views

    def members(self, members: dict[Any, Any], where: str, view: View | None = None) -> str:
        style = self.style
        view = self.views.root if view is None else view
        found = []
        for name, value in members.items():
            place = f"{where}/{name}"
            written = written_name(name, style) if isinstance(name, str) else None
            if written is None:
                raise ArgumentsError(f"the name of {place!r} cannot be written in this style")
            between = style.between if style.before_value else ""
            text = f"{style.begin}{written}{style.after_name}{between}{style.before_value}"
            found.append(text + self.value(value, place, self.views.member(view, name), written) + style.between)
        return "".join(found)

    def items(self, items: list[Any], where: str, view: View) -> str:
        style = self.style
        item = self.views.item(view)
        found = [
            style.item + self.value(value, f"{where}/{index}", item, style.item_name) + style.between
            for index, value in enumerate(items)
        ]
        return "".join(found)

    def value(self, value: Any, where: str, view: View, name: str) -> str:
        style = self.style
        kind = type_of(value)
        before = next(before for before, types in style.kinds if kind in types)
        types = frozenset((kind,)) if style.shows_types else self.views.types(view)
        if kind not in types:
            raise ArgumentsError(f"the schema allows no {kind} for {where!r}")
        if style.item and kind in STRUCTURES:
            text = style.between if value else ""
            text += self.members(value, where, view) if kind == "object" else self.items(value, where, view)
            if kind == "object" and "array" in types and style.item_name in value:
                raise ArgumentsError(f"{where!r} has the key {style.item_name!r}, and would be read as an array")
            if not value and not style.shows_types:
                first = next(one for one in ("string", "object", "array") if one in types)
                if first != kind:
                    raise ArgumentsError(f"{where!r} is empty, and would be read as the empty {first}")
        elif kind == "string":
            text = self.string(value, where, types - (STRUCTURES if style.item else frozenset()))
        else:
            text = written_json(value, repr(where))
            if style.stop in text:
                text = text.replace("<", "\\u003c")
            if style.is_wrapped:
                text = f"\n{text}\n"
        return before + text + style.end_of(name)

    def string(self, value: str, where: str, types: frozenset[str]) -> str:
        style = self.style
        if SURROGATE.search(value):
            raise ArgumentsError(f"{where!r} has a lone surrogate, which no text in UTF-8 has")
        if style.stop in value:
            raise ArgumentsError(f"{where!r} has {style.stop!r} in it, which would end it")
        if may_be_json(value, types - {"string"}):
            raise ArgumentsError(f"{where!r} would be read as JSON, which the schema allows there, too")
        return f"\n{value}\n" if style.is_wrapped else value
