"""Read long JSON texts in pieces. The reader of the standard library holds the interpreter's lock until all is read.

Everything that ends within the next WINDOW characters is read by the standard library. Only arrays and objects that are
longer, or malformed, are read here, item by item. Values and errors are those of `json.loads`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from ...earley._meter import keep, tick

WINDOW = 1 << 14
"""So many characters are read at once: it takes about a millisecond, or two for numbers with a fraction. A text of up
to four times as many is read by `json.loads`, which is faster."""

MAX_DEPTH = 500
"""Arrays and objects within one another that are read here. For a deeper text, RecursionError is raised, as `json`
does."""

_SPACE = re.compile(r"[ \t\n\r]*")
_TEXT = re.compile(r'(?:[^"\\\x00-\x1f]+|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*')
_LOW_SURROGATE = re.compile(r"\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_TELLS_TRAILING_COMMAS = sys.version_info >= (3, 13)


def loads(
    text: str,
    *,
    object_pairs_hook: Callable[[list[tuple[str, Any]]], Any] = dict,
    parse_float: Callable[[str], Any] | None = None,
    parse_constant: Callable[[str], Any] | None = None,
) -> Any:
    """Return what `json.loads` returns."""
    if len(text) <= 4 * WINDOW or text[0] == "\ufeff":
        return json.loads(
            text, object_pairs_hook=object_pairs_hook, parse_float=parse_float, parse_constant=parse_constant
        )
    decoder: Any = json.JSONDecoder(
        object_pairs_hook=object_pairs_hook, parse_float=parse_float, parse_constant=parse_constant
    )
    return _Reader(text, decoder.scan_once, object_pairs_hook).document()


class _Reader:
    """One reading of one text. `window` is the text from `begin` on, or the beginning of it."""

    def __init__(self, text: str, scan: Callable[[str, int], tuple[Any, int]], make: Callable[[Any], Any]) -> None:
        self.text = text
        self.scan = scan
        self.make = make
        self.window = ""
        self.begin = 0

    def document(self) -> Any:
        value, at = self.value(self.space(0))
        at = self.space(at)
        if at < len(self.text):
            raise self.error("Extra data", at)
        return value

    def value(self, at: int) -> tuple[Any, int]:
        """Read the value at `at`. Return it and where it ends."""
        stack: list[tuple[list[Any], bool]] = []  # the open arrays and objects: their items or members, and which it is
        keep(stack)
        while True:
            tick()
            found = self.short(at)
            if found is not None:
                value, at = found
            else:
                is_object = self.text[at] == "{"
                items: list[Any] = []
                at = self.space(at + 1)
                if not self.text.startswith("}" if is_object else "]", at):
                    stack.append((items, is_object))
                    if len(stack) > MAX_DEPTH:
                        raise RecursionError("the text is nested too deeply")
                    if is_object:
                        at = self.key(items, at)
                    continue
                value, at = (self.make(items) if is_object else items), at + 1
            while stack:
                items, is_object = stack[-1]
                if is_object:
                    items[-1] = (items[-1], value)
                else:
                    items.append(value)
                at = self.space(at)
                if self.text.startswith(",", at):
                    at = self.next_item(items, is_object, at)
                    break
                if not self.text.startswith("}" if is_object else "]", at):
                    raise self.error("Expecting ',' delimiter", at)
                at += 1
                stack.pop()
                keep(items)
                value = self.make(items) if is_object else items
            else:
                return value, at

    def next_item(self, items: list[Any], is_object: bool, comma: int) -> int:
        """Return where the value after a comma begins; before it, read its key if it has one."""
        at = self.space(comma + 1)
        if _TELLS_TRAILING_COMMAS and self.text.startswith("}" if is_object else "]", at):
            raise self.error(f"Illegal trailing comma before end of {'object' if is_object else 'array'}", comma)
        return self.key(items, at) if is_object else at

    def key(self, items: list[Any], at: int) -> int:
        """Read a key and the colon into `items`. Return where the value begins."""
        if not self.text.startswith('"', at):
            raise self.error("Expecting property name enclosed in double quotes", at)
        key, at = self.string(at + 1)
        at = self.space(at)
        if not self.text.startswith(":", at):
            raise self.error("Expecting ':' delimiter", at)
        items.append(key)
        return self.space(at + 1)

    def short(self, at: int) -> tuple[Any, int] | None:
        """Read the value at `at`, and where it ends; None if it is an array or object that is long or malformed."""
        text = self.text
        is_new = False
        while True:
            place = at - self.begin
            if 0 <= place < len(self.window):
                try:
                    value, end = self.scan(self.window, place)
                    # A number that ends near the end of the window may be longer: after "1", there may be "e-" or ".".
                    if end + 2 < len(self.window) or text[at] in '[{"' or self.begin + end == len(text):
                        return value, self.begin + end
                except (StopIteration, json.JSONDecodeError):
                    pass
            if is_new:
                break
            self.begin = at
            self.window = text[at : at + WINDOW]
            is_new = True
        if text.startswith(("[", "{"), at):
            return None
        if text.startswith('"', at):
            return self.string(at + 1)
        try:
            return self.scan(text, at)
        except StopIteration as stop:
            raise self.error("Expecting value", stop.value) from None

    def string(self, begin: int) -> tuple[str, int]:
        """Read the string whose opening quote stands before `begin`. Return it and where it ends."""
        text = self.text
        found: list[str] = []
        at = begin
        while True:
            match = _TEXT.match(text, at, at + WINDOW)
            assert match is not None
            end = match.end()
            if end < at + max(WINDOW // 2, 1) and (not found or not text.startswith('"', end)):
                break
            low = _LOW_SURROGATE.match(text, end)
            if low is not None:  # it may belong to the character before it
                end = low.end()
            found.append(scanstring(text[at:end] + '"', 0, True)[0])
            if text.startswith('"', end):
                return "".join(found), end + 1
            at = end
            tick()
        result: tuple[str, int] = scanstring(text, begin, True)  # it is short, or raises an error
        return result

    def space(self, at: int) -> int:
        """Return the end of the white space at `at`."""
        while True:
            match = _SPACE.match(self.text, at, at + WINDOW)
            assert match is not None
            if match.end() < at + WINDOW:
                return match.end()
            at = match.end()
            tick()

    def error(self, message: str, at: int) -> json.JSONDecodeError:
        return json.JSONDecodeError(message, self.text, at)
