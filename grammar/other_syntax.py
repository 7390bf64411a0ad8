"""Recognize a text that was given to the wrong front end: Lark's syntax and GBNF look alike."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..earley._meter import tick
from .errors import GrammarError

WINDOW = 1 << 15
"""So many characters are searched at once: it takes less than a millisecond. Only the beginning of a longer line is
searched."""

_GBNF = re.compile(r"^[ \t]*[A-Za-z0-9_.-]+(?:\[[^\]\n]*\])?[ \t]*::=", re.MULTILINE)
_LARK = re.compile(r"^[ \t]*(?:[?!]?[A-Za-z_]\w*(?:\.-?[0-9]+)?[ \t]*:(?!:)|%import\b|%ignore\b)", re.MULTILINE)


def is_gbnf(text: str) -> bool:
    """Return whether some line of the text begins like a rule in GBNF, and none like one in Lark's syntax."""
    return _has_line(_GBNF, text) and not _has_line(_LARK, text)


def is_lark(text: str) -> bool:
    """Return whether some line of the text begins like one in Lark's syntax, and none like a rule in GBNF."""
    return _has_line(_LARK, text) and not _has_line(_GBNF, text)


def _has_line(pattern: re.Pattern[str], text: str) -> bool:
    return any(pattern.search(text, begin, end) for begin, end in windows(text))


def windows(text: str) -> Iterator[tuple[int, int]]:
    """Yield the offsets between which to search the lines of a text, so that no search takes long."""
    begin = 0
    while begin < len(text):
        tick()
        end = begin + WINDOW
        if end < len(text):
            end = text.rfind("\n", begin, end) + 1 or end
        yield begin, end
        if end < len(text) and text[end - 1] != "\n":
            end = text.find("\n", end) + 1 or len(text)
        begin = end


def pointed_to(error: GrammarError, reader: str) -> GrammarError:
    """Add to the hint of `error` that `reader` reads such texts. Return the error."""
    error.hint = f"this looks like a text for {reader}" + (f"; {error.hint}" if error.hint else "")
    return error
