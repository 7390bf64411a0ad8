"""Positions in a grammar text as people count them: line and column, both from 1.

Front ends work with plain offsets. They compute lines and columns only to report something, so a grammar without
faults pays nothing for its error messages.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from ..trie.errors import shortened
from .errors import GrammarError, GrammarLimitError, shown_pointer

if TYPE_CHECKING:
    from collections.abc import Iterable

Error = TypeVar("Error", bound=GrammarError)

BYTE_ORDER_MARK = "the text begins with a byte order mark; decode it with 'utf-8-sig'"
"""The hint of an error about a byte order mark."""

MAX_WARNINGS = 100
"""The most warnings of one grammar that are kept. The next ones are only counted, in a last warning."""

MAX_SUGGESTION_CANDIDATES = 2000
MAX_SUGGESTION_LENGTH = 80
"""The most names with which `did_you_mean` compares a name, and the most characters of these names: `difflib` takes
some microseconds for each. Other names are not suggested."""


class GrammarWarning(NamedTuple):
    """Something in a grammar that is legal but probably not meant, such as a rule that can never be used.

    Attributes:
        message: what is odd, and what to do about it.
        line, column: where, counted from 1; None in a JSON Schema.
        text: the line of the grammar.
        source: the name of the imported text that the line is in; None for the text that was given.
        pointer: in a JSON Schema, the JSON pointer of the place; for a schema in a Lark grammar, `line` and `column`
            say where the schema is.
    """

    message: str
    line: int | None
    column: int | None
    text: str = ""
    source: str | None = None
    pointer: str | None = None

    def __str__(self) -> str:
        where = [] if self.source is None else [f"in {self.source}"]
        if self.line is not None:
            where.append(f"line {self.line}, column {self.column}")
        if self.pointer is not None:
            where.append(f"at {shown_pointer(self.pointer)}")
        return f"{', '.join(where)}: {self.message}"


class SourceText:
    """A grammar text that finds the line and column of an offset. Messages about an imported text give its `name`."""

    __slots__ = ("_line", "name", "text")

    def __init__(self, text: str, name: str | None = None) -> None:
        self.text = text
        self.name = name
        # The offset of the last line that `line_at` has returned, and the line: many errors may be about one long line.
        self._line = (-1, "")

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Return the line and the column of the character at `offset`, both counted from 1."""
        return self.text.count("\n", 0, offset) + 1, offset - self.text.rfind("\n", 0, offset)

    def line_at(self, offset: int) -> str:
        """Return the whole line that contains `offset`, without its line ending."""
        begin = self.text.rfind("\n", 0, offset) + 1
        known, line = self._line
        if known != begin:
            end = self.text.find("\n", offset)
            line = self.text[begin : len(self.text) if end < 0 else end].rstrip("\r")
            self._line = begin, line
        return line

    def error(self, message: str, offset: int, hint: str | None = None) -> GrammarError:
        """Return an error about the text at `offset`."""
        return self._placed(GrammarError, message, offset, hint)

    def limit_error(self, message: str, offset: int, hint: str | None = None) -> GrammarLimitError:
        """Return an error that says that the text at `offset` goes beyond a limit."""
        return self._placed(GrammarLimitError, message, offset, hint)

    def _placed(self, kind: type[Error], message: str, offset: int, hint: str | None) -> Error:
        line, column = self.line_and_column(offset)
        return kind(
            shortened(message),
            line=line,
            column=column,
            text=self.line_at(offset),
            hint=hint and shortened(hint),
            source=self.name,
        )

    def warning(self, message: str, offset: int) -> GrammarWarning:
        """Return a warning about the text at `offset`."""
        line, column = self.line_and_column(offset)
        return GrammarWarning(shortened(message), line, column, self.line_at(offset), self.name)


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """Return a hint that names up to three of the `known` names that look like `name`, or None."""
    if len(name) > MAX_SUGGESTION_LENGTH:
        return None
    from difflib import get_close_matches

    candidates = [other for other in islice(known, MAX_SUGGESTION_CANDIDATES) if len(other) <= MAX_SUGGESTION_LENGTH]
    close = get_close_matches(name, candidates, n=3, cutoff=0.6)
    if not close:  # `WORD` for `word` is a frequent slip, but difflib finds no similarity in it
        close = [candidate for candidate in candidates if candidate.lower() == name.lower()]
    return f"did you mean {' or '.join(close)}?" if close else None


def path_hint(text: str, in_place: str = "") -> str | None:
    """Return the hint about a text that is the path of a file; None if it does not look like one. `in_place`: what
    reads files, if there is such a function."""
    import re

    if not re.match(r"\s*(?:[A-Za-z]:)?[^\n:\"|{}<>*?]{0,400}\.(?:lark|gbnf|ebnf|bnf|json|txt)\s*\Z", text):
        return None
    path = repr(text.strip())
    return (
        f"this looks like a path: {in_place and f'use {in_place}({path}), or '}give the text, Path({path}).read_text()"
    )
