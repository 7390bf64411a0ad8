"""Text that arrives in pieces, and what all readers of it need.

Readers are generators that yield whenever they need more text. What they read does not depend on where the text was
cut: no decision is taken before the text that decides it has arrived.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator
from typing import Any

from ...arguments.text import ArgumentsError, json_value

WHITE = " \t\r\n"
_WHITE_RUN = re.compile(r"[ \t\r\n]*")
_WORDS = re.compile(r"[ \t\r\n]+|[^ \t\r\n]+")
_OUTSIDE = re.compile(r'[^"{}\[\]]+')
_INSIDE = re.compile(r'[^"\\]+')
_SCALAR = re.compile(r"[-+.\w]*")


class Mismatch(Exception):
    """The text is not what a model writes. `expected`: what should stand at `position`, counted from the beginning."""

    def __init__(self, expected: str, position: int) -> None:
        super().__init__(expected, position)
        self.expected = expected
        self.position = position


class Unfinished(Exception):
    """The text has ended within something."""


class Source:
    """The text that has arrived, from `start` on, and how far it has been read.

    Attributes:
        text: what has arrived and may still be needed.
        pos: how much of `text` has been read.
        dropped: the number of characters before `text`.
        closed: whether no more text arrives.
    """

    def __init__(self) -> None:
        self.text = ""
        self.pos = 0
        self.dropped = 0
        self.closed = False

    def feed(self, text: str) -> None:
        self.text += text

    def drop(self) -> None:
        """Forget what has been read, if that is most of the text: to copy the rest takes time, too."""
        if 2 * self.pos < len(self.text):
            return
        self.text = self.text[self.pos :]
        self.dropped += self.pos
        self.pos = 0

    @property
    def position(self) -> int:
        return self.dropped + self.pos

    def mismatch(self, expected: str) -> Mismatch:
        return Mismatch(expected, self.position)


def white(source: Source) -> Generator[None, None, str]:
    """Skip white space and return it."""
    start = source.pos
    end = start
    while True:
        end = _WHITE_RUN.match(source.text, end).end()  # type: ignore[union-attr]
        if end < len(source.text) or source.closed:
            source.pos = end
            return source.text[start:end]
        yield


def starts_with(source: Source, text: str) -> Generator[None, None, bool]:
    """Return whether the next text is `text`, without reading it. Raise Unfinished if the end of the text hides it."""
    while True:
        found = source.text[source.pos : source.pos + len(text)]
        if found == text:
            return True
        if not text.startswith(found):
            return False
        if source.closed:
            raise Unfinished
        yield


def follows(source: Source, text: str) -> Generator[None, None, bool]:
    """Return whether the next text is `text`, without reading it. At the end of the text, nothing follows."""
    try:
        found = yield from starts_with(source, text)
    except Unfinished:
        return False
    return found


def literal(source: Source, text: str) -> Generator[None, None, None]:
    """Read a text; where it has white space, any white space may stand, or none."""
    for word in _WORDS.findall(text):
        if word[0] in WHITE:
            yield from white(source)
            continue
        found = yield from starts_with(source, word)
        if not found:
            raise source.mismatch(text)
        source.pos += len(word)


def until(source: Source, marker: str) -> Generator[None, None, str]:
    """Read the text before the first `marker`, and the marker, and return the text."""
    search = source.pos
    while True:
        found = source.text.find(marker, search)
        if found >= 0:
            value = source.text[source.pos : found]
            source.pos = found + len(marker)
            return value
        if source.closed:
            raise Unfinished
        search = max(source.pos, len(source.text) - len(marker) + 1)
        yield


def json_text(source: Source, emit: Callable[[str], None] | None = None) -> Generator[None, None, str]:
    """Read a JSON value and return its text; `emit` gets its pieces as they arrive. White space before it is skipped.

    Brackets and quotes alone decide where the value ends. Something must follow a value without them, such as a number.
    """
    yield from white(source)
    start = end = emitted = source.pos
    depth = 0
    is_string = is_scalar = False
    while True:
        text = source.text
        while end < len(text):
            char = text[end]
            if is_scalar:
                end = _SCALAR.match(text, end).end()  # type: ignore[union-attr]
                if end < len(text):
                    break
            elif is_string:
                if char == "\\":
                    if end + 1 == len(text):
                        break
                    end += 2
                elif char == '"':
                    is_string = False
                    end += 1
                    if not depth:
                        break
                else:
                    end = _INSIDE.match(text, end).end()  # type: ignore[union-attr]
            elif char == '"':
                is_string = True
                end += 1
            elif char in "{[":
                depth += 1
                end += 1
            elif char in "}]":
                if not depth:
                    raise source.mismatch("a JSON value")
                depth -= 1
                end += 1
                if not depth:
                    break
            elif not depth:
                if not _SCALAR.match(char).end():  # type: ignore[union-attr]
                    raise source.mismatch("a JSON value")
                is_scalar = True
            else:
                end = _OUTSIDE.match(text, end).end()  # type: ignore[union-attr]
        if emit is not None and end > emitted:
            emit(text[emitted:end])
            emitted = end
        if end > start and not depth and not is_string and (not is_scalar or end < len(text)):
            source.pos = end
            return text[start:end]
        if source.closed:
            raise Unfinished
        yield


def read_value(text: str, expected: str, position: int) -> Any:
    """Return the value of a JSON text that begins at `position`, where `expected` should stand."""
    try:
        return json_value(text)
    except ArgumentsError as error:
        raise Mismatch(str(error).removeprefix("expected "), position) from None
    except ValueError:
        raise Mismatch(expected, position) from None


def member_text(key: str, value: Any, is_first: bool) -> str:
    """Return the JSON text of a member of an object, with what stands before it."""
    return f"{'{' if is_first else ', '}{json.dumps(key, ensure_ascii=False)}: {json.dumps(value, ensure_ascii=False)}"


def finished(reading: Generator[None, None, Any]) -> Any:
    """Return what a reader of a closed source reads."""
    while True:
        try:
            next(reading)
        except StopIteration as stop:
            return stop.value
