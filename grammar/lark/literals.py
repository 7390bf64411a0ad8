"""Strings and regular expressions as Lark grammars write them: the text between the quotes and slashes.

Lark evaluates both as Python literals (`eval_escaping` in `load_grammar.py`). Grammars rely on the consequences, or
suffer from them, so they are the same here:

- `\\n \\r \\t \\f \\x.. \\u.... \\U........` become the character itself *before* a regular expression is parsed, so
  `/\\x2a/` is `/*/`. Every other escape stays as it is, with its backslash: `"\\d"` is a backslash and a `d`.
- A backslash before a double quote is dropped, even the second one of `\\\\"`: `/\\\\"/` matches only a quote.
- A raw carriage return is a line feed.
"""

from __future__ import annotations

import re

from ...earley._meter import tick

FLAGS = "imslux"

EMPTY_STRINGS = ('""', '""i')
"""The ways to write the empty text. In a rule it derives nothing; in a terminal it is an error."""

_ESCAPE = re.compile(
    r"(?<!\\)\\+\""  # a run of backslashes of any length before a quote loses one
    r"|\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[\s\S])"
)
_DIGITS = {"x": 2, "u": 4, "U": 8}
ESCAPED = frozenset('nrtfxuU\\"')
"""The characters that a backslash in a string escapes. Before any other character the backslash stays."""

_CHARACTERS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f"}


class LiteralError(ValueError):
    """A malformed literal. `position` is an offset in it; its quote or slash is at 0."""

    def __init__(self, message: str, position: int, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.position = position
        self.hint = hint


def split(raw: str) -> tuple[str, str]:
    """Return the text between the quotes or slashes of a literal, as written, and its flags."""
    if raw[-1] == raw[0]:
        return raw[1:-1], ""
    end = raw.rindex(raw[0])
    return raw[1:end], raw[end + 1 :]


def string_text(raw: str) -> tuple[str, str]:
    """Return the text that a string literal means, and its flags: "i" or none."""
    body, flags = split(raw)
    if "\\" in body or "\r" in body or "\0" in body:
        body = unescape(body).replace("\\\\", "\\")
    if not body:
        raise LiteralError("a terminal cannot consist of an empty string", 0, "use `?` where the text may be absent")
    check_encodable(body, 0)
    return body, flags


def regexp_text(raw: str) -> tuple[str, str]:
    """Return the pattern that a regexp literal means, and its flags."""
    body, flags = split(raw)
    if "\n" in body and "x" not in flags:
        raise LiteralError(
            "a regular expression contains a line break", raw.index("\n"), "write \\n, or add the flag x"
        )
    if "l" in flags:
        raise LiteralError("the flag `l` applies to bytes only", raw.rindex("l"), "use the flags i, m, s, u or x")
    if "\\" in body or "\r" in body or "\0" in body:
        body = unescape(body)
    return body, flags


def range_ends(first: str, last: str) -> tuple[str, str]:
    """Return the ends of `"a".."z"` as Lark puts them into `[a-z]`. Escapes are checked and stay as they are."""
    ends = []
    for raw in (first, last):
        body, flags = split(raw)
        if flags:
            raise LiteralError("the ends of a range cannot have flags", len(raw) - 1, 'write "a".."z" | "A".."Z"')
        if len(unescape(body)) != 1:
            raise LiteralError("each end of a range must be a single character", 0, None)
        ends.append(body)
    return ends[0], ends[1]


def unescape(body: str) -> str:
    """Resolve the escapes in `body` that Lark resolves here; the module's docstring says which."""
    if "\0" in body:
        raise LiteralError("the literal has a NUL character", body.index("\0") + 1, "write \\x00 for NUL")
    if "\r" in body:
        body = body.replace("\r\n", "\n").replace("\r", "\n")
    return _ESCAPE.sub(_resolve, body) if "\\" in body else body


def source_position(body: str, position: int) -> int:
    """Return the offset in `body` of the character that `unescape` has put at `position`."""
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
    """Raise LiteralError if `text` has a lone surrogate. It has no UTF-8 form, so no text could match it."""
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError:
        hint = "write the character itself"
        raise LiteralError("a lone surrogate is not a character", position, hint) from None


def _resolve(match: re.Match[str]) -> str:
    tick()
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
            raise LiteralError("there is no such character", match.start() + 1, "the last one is \\U0010ffff")
        return chr(number)
    return escape
