"""The error of grammars that cannot be used, shown with the line it is about."""

from ..trie.errors import EarleymaskError


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
            parts.append(f"    {self.text}")
            if self.column is not None:
                # Tabs before the place are kept, so that the caret stands under it however wide they are shown.
                before = "".join("\t" if char == "\t" else " " for char in self.text[: self.column - 1])
                parts.append(f"    {before}^")
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
