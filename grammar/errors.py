"""The errors of grammars that cannot be used, shown with the line they are about."""

from ..earley.errors import LimitError
from ..trie.errors import EarleymaskError

SHOWN_CHARS = 120
"""A message shows no more than this many characters of the offending line, around the place."""


class GrammarError(EarleymaskError, ValueError):
    """A grammar is malformed, has no sentence, or uses something that is not supported.

    Attributes:
        message: what is wrong, in one sentence.
        line, column: where, counted from 1; None where no place can be named.
        text: the offending line of the grammar, without its newline.
        hint: what to write instead, or None.
    """

    def __init__(
        self,
        message: str,
        *,
        line: int | None = None,
        column: int | None = None,
        text: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column
        self.text = text
        self.hint = hint

    def __str__(self) -> str:
        parts = [self.message]
        if self.line is not None:
            where = f"line {self.line}" if self.column is None else f"line {self.line}, column {self.column}"
            parts = [f"{where}: {self.message}"]
        if self.text is not None:
            parts += excerpt(self.text, self.column)
        if self.hint is not None:
            parts.append(f"hint: {self.hint}")
        return "\n".join(parts)

    def __reduce__(self) -> tuple[object, ...]:
        return _grammar_error, (self.message, self.line, self.column, self.text, self.hint)


def _grammar_error(
    message: str, line: int | None, column: int | None, text: str | None, hint: str | None
) -> GrammarError:
    """Rebuild the error from its pickle: `Exception` alone does not carry keyword arguments over."""
    return GrammarError(message, line=line, column=column, text=text, hint=hint)


class GrammarLimitError(GrammarError, LimitError):
    """A grammar goes beyond a limit, such as the depth of its nesting; the message names the limit."""

    def __reduce__(self) -> tuple[object, ...]:
        return _grammar_limit_error, (self.message, self.line, self.column, self.text, self.hint)


def _grammar_limit_error(
    message: str, line: int | None, column: int | None, text: str | None, hint: str | None
) -> GrammarLimitError:
    return GrammarLimitError(message, line=line, column=column, text=text, hint=hint)


def excerpt(text: str, column: int | None) -> list[str]:
    """The line to show and, under it, a caret at `column` (counted from 1).

    Long lines are cut to the neighbourhood of the place, and characters that a terminal would not show, or would act
    on, are replaced: the text may come from anybody.
    """
    place = 0 if column is None else column - 1
    begin = max(0, place - SHOWN_CHARS // 2) if len(text) > SHOWN_CHARS else 0
    shown = text[begin : begin + SHOWN_CHARS]
    head = "..." if begin else ""
    tail = "..." if begin + len(shown) < len(text) else ""
    shown = "".join(char if char == "\t" or char.isprintable() else "\ufffd" for char in shown)
    lines = [f"    {head}{shown}{tail}"]
    if column is not None:
        # Tabs before the place are kept, so that the caret stands under it however wide they are shown.
        before = "".join("\t" if char == "\t" else " " for char in shown[: place - begin])
        lines.append(f"    {' ' * len(head)}{before}^")
    return lines


class RegexSyntaxError(EarleymaskError, ValueError):
    """A regular expression is malformed, or uses something that is not supported.

    Front ends turn it into a `GrammarError` with the line and column in their own text.

    Attributes:
        message: what is wrong, in one sentence.
        position: where, as an offset in the pattern (plus the `offset` given to `regex_syntax.parse`).
        hint: what to write instead, or None.
    """

    def __init__(self, message: str, position: int, hint: str | None = None) -> None:
        super().__init__(message, position, hint)
        self.message = message
        self.position = position
        self.hint = hint

    def __str__(self) -> str:
        text = f"{self.message} at position {self.position}"
        return text if self.hint is None else f"{text}\nhint: {self.hint}"
