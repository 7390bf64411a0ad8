"""What one text of a Lark grammar consists of, and where in the text it stands."""

from __future__ import annotations

from ...earley.limits import DEFAULT, Limits
from ..errors import GrammarError, GrammarLimitError
from ..source import GrammarWarning, SourceText
from .scan import offsets, scan
from .tree import Change, Definition, Import, Node


class ParsedGrammar:
    """The definitions and directives of one text, in its order, and the way back into the text."""

    __slots__ = (
        "_base",
        "_inner",
        "_offsets",
        "changes",
        "definitions",
        "ignored",
        "imports",
        "kinds",
        "lexemes",
        "limits",
        "source",
    )

    def __init__(
        self,
        text: str,
        name: str | None = None,
        limits: Limits = DEFAULT,
        around: ParsedGrammar | None = None,
        base: int = 0,
    ) -> None:
        """With `around`, `text` is a part of that one's, from offset `base` on."""
        self.limits = limits
        self.source: SourceText = SourceText(text, name) if around is None else around.source
        self._inner: str | None = None if around is None else text
        self._base = base
        self.lexemes, self.kinds = scan(text + "\n")
        self.definitions: list[Definition] = []  # also those that are only declared
        self.changes: list[Change] = []
        self.ignored: list[Node] = []
        self.imports: list[Import] = []
        self._offsets: list[int] | None = None

    def offset(self, at: int) -> int:
        """Where lexeme `at` begins in the text. Found for all of them at once, when first asked."""
        text = self.source.text if self._inner is None else self._inner
        if self._offsets is None:
            self._offsets = offsets(text + "\n")
        return self._base + min(self._offsets[at], len(text))

    def error(self, message: str, at: int, hint: str | None = None) -> GrammarError:
        return self.source.error(message, self.offset(at), hint)

    def limit_error(self, message: str, at: int, hint: str | None = None) -> GrammarLimitError:
        return self.source.limit_error(message, self.offset(at), hint)

    def warning(self, message: str, at: int) -> GrammarWarning:
        return self.source.warning(message, self.offset(at))
