"""Strings and regular expressions as Lark grammars write them: the text behind the quotes and slashes.

Lark reads both through Python's own literals (`eval_escaping` in `load_grammar.py`), which has consequences that
grammars rely on, or suffer from, and that are kept here:

- `\\n \\r \\t \\f \\x.. \\u.... \\U........` become the character itself *before* a regular expression is read, so
  `/\\x2a/` is `/*/`; every other escape stays as it is, backslash included (`"\\d"` is a backslash and a `d`);
- a backslash before a double quote is dropped, also the second one of `\\\\"`: `/\\\\"/` matches only a quote;
- a raw carriage return is a line feed.
"""

from __future__ import annotations

import re

FLAGS = "imslux"

EMPTY_STRINGS = ('""', '""i')
"""The empty text as written. In a rule it stands for nothing at all; in a terminal it is refused."""

_ESCAPE = re.compile(
    r"(?<!\\)\\+\""  # a run of backslashes of any length before a quote loses one
    r"|\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[\s\S])"
)
_DIGITS = {"x": 2, "u": 4, "U": 8}
ESCAPED = frozenset('nrtfxuU\\"')
"""What may follow a backslash in a string; before other characters the backslash is kept."""

_CHARACTERS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f"}


class LiteralError(ValueError):
    """A malformed literal. `position` is an offset in it, quote or slash included."""

    def __init__(self, message: str, position: int, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.position = position
        self.hint = hint


def split(raw: str) -> tuple[str, str]:
    """What stands between the quotes or slashes of a literal as written, and its flags."""
    if raw[-1] == raw[0]:
        return raw[1:-1], ""
    end = raw.rindex(raw[0])
    return raw[1:end], raw[end + 1 :]


def string_text(raw: str) -> tuple[str, str]:
    """The text that a string literal stands for, and its flags ("i" or none)."""
    body, flags = split(raw)
    if "\\" in body or "\r" in body or "\0" in body:
        body = unescape(body).replace("\\\\", "\\")
    if not body:
        raise LiteralError("a terminal cannot consist of an empty string", 0, "use `?` where the text may be absent")
    check_encodable(body, 0)
    return body, flags


def regexp_text(raw: str) -> tuple[str, str]:
    """The pattern that a regexp literal stands for, and its flags."""
    body, flags = split(raw)
    if "\n" in body and "x" not in flags:
        raise LiteralError(
            "a regular expression goes over the end of the line", raw.index("\n"), "add the flag x, or write \\n"
        )
    if "l" in flags:
        raise LiteralError("the flag `l` needs byte patterns", raw.rindex("l"), "use the flags i, m, s, u or x")
    if "\\" in body or "\r" in body or "\0" in body:
        body = unescape(body)
    return body, flags


def range_ends(first: str, last: str) -> tuple[str, str]:
    """The two characters of `"a".."z"`, as Lark puts them into `[a-z]`: not unescaped, only checked."""
    ends = []
    for raw in (first, last):
        body, flags = split(raw)
        if flags:
            raise LiteralError("the ends of a range have no flags", len(raw) - 1, 'write both cases: "a".."z"|...')
        if len(unescape(body)) != 1:
            raise LiteralError("the ends of a range are single characters", 0, None)
        ends.append(body)
    return ends[0], ends[1]


def unescape(body: str) -> str:
    """`body` with the escapes resolved that Lark resolves; see the module's docstring for the others."""
    if "\0" in body:
        raise LiteralError("a literal holds a NUL character", body.index("\0") + 1, "write \\x00")
    if "\r" in body:
        body = body.replace("\r\n", "\n").replace("\r", "\n")
    return _ESCAPE.sub(_resolve, body) if "\\" in body else body


def source_position(body: str, position: int) -> int:
    """Where in `body` the character stands that `unescape` has put at `position`."""
    shift = 0
    for match in _ESCAPE.finditer(body):
        if match.start() - shift >= position:
            break
        after = match.end() - shift - (len(match.group()) - len(_resolve(match)))
        if position < after:
            return match.start()
        shift += len(match.group()) - len(_resolve(match))
    return min(position + shift, len(body))


def check_encodable(text: str, position: int) -> None:
    """Lone surrogates have no UTF-8 form: text that holds one could never be generated."""
    if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
        raise LiteralError("a lone surrogate cannot be part of a text", position, "write the character itself")


def _resolve(match: re.Match[str]) -> str:
    escape = match.group()
    if escape[-1] == '"':
        return escape[:-2] + '"'
    kind = escape[1]
    if kind in _CHARACTERS:
        return _CHARACTERS[kind]
    if kind in "xuU":
        if len(escape) == 2:
            raise LiteralError(f"`\\{kind}` needs {_DIGITS[kind]} hexadecimal digits", match.start() + 1, None)
        number = int(escape[2:], 16)
        if number > 0x10FFFF:
            raise LiteralError("Unicode ends at \\U0010ffff", match.start() + 1, None)
        return chr(number)
    return escape
