"""The errors of grammars that cannot be used, shown with the line that they are about; and the rows of a report."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from ..earley.errors import LimitError
from ..trie.errors import EarleymaskError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..earley.limits import Limits

SHOWN_CHARS = 120
"""A message shows at most this many characters of the offending line, around the place."""


SHOWN_ERRORS = 3
"""A message about several errors shows this many, the first ones, with their lines and hints. More would fill a
terminal; the others have one line each."""

LISTED_ERRORS = 20
"""A message about several errors has lines for at most this many, and says how many others there are. `errors` has all
of them."""


EXACT, NARROWED, WIDENED, IGNORED, REFUSED = "exact", "narrowed", "widened", "ignored", "refused"
"""The statuses of a row of a report."""


class Reason(str, Enum):
    """Why a keyword of a schema has its status. The value of a reason is the name of the option that causes it, for
    reasons that an option causes."""

    NONE = ""
    """The keyword is enforced as it is."""
    ASSERTS_NOTHING = "asserts nothing"
    """The keyword constrains nothing here."""
    NO_EFFECT = "no effect"
    """The keyword has no effect, although its author may expect one: it is misspelled, for example."""
    PROPERTY_ORDER = "property_order"
    WHITESPACE = "whitespace"
    CLOSED = "closed"
    SPELLINGS = "spellings"
    """Constants, keys that the schema names, and numbers are written as people and models write them."""
    STRING_ESCAPES = "string_escapes"
    LONE_SURROGATES = "lone_surrogates"
    NUMBER_PLAIN = "number_plain"
    NUMBER_EXPONENTS = "number_exponents"
    NUMBER_DIGITS = "number_digits"
    DIFFERING_NUMBERS = "differing numbers"
    """Numbers that must differ are written without an exponent."""
    SURROGATES = "surrogates"
    """Lone surrogates are written only in strings about which the schema says nothing."""
    FORMAT = "format"
    """Some valid texts of a `format` are not written."""
    STRICT = "strict"
    """The keyword cannot be enforced: it is refused, or left out with `strict=False`."""

    def __str__(self) -> str:
        return self.value


ABOUT_STRINGS = frozenset((Reason.SPELLINGS, Reason.STRING_ESCAPES, Reason.LONE_SURROGATES))
"""The reasons that are about how strings are spelled."""
ABOUT_NUMBERS = frozenset(
    (
        Reason.SPELLINGS,
        Reason.NUMBER_PLAIN,
        Reason.NUMBER_EXPONENTS,
        Reason.NUMBER_DIGITS,
        Reason.DIFFERING_NUMBERS,
    )
)
"""The reasons that are about how numbers are spelled."""


class Row(NamedTuple):
    """What became of one keyword of a JSON Schema.

    pointer: JSON pointer of the keyword's value; of the schema itself for what concerns the whole document.
    keyword: its name; empty for the whole document.
    status: "exact"; "narrowed", some valid documents are not written; "widened", some invalid documents are written;
        "ignored", the keyword has no effect, and `Grammar.warnings` has a warning about it; "refused", there is no
        grammar: such rows are in `GrammarError.report`.
    why: the option or limit that causes the status, or what the keyword is; empty where there is nothing to say.
    source: for a schema within a Lark grammar, where it stands there ("line 3, column 8"); for one of a grammar within
        a structural tag, which grammar that is; otherwise empty.
    reason: `why` as a code.
    """

    pointer: str
    keyword: str
    status: str
    why: str
    source: str = ""
    reason: Reason = Reason.NONE


class GrammarError(EarleymaskError, ValueError):
    """A grammar is malformed, has no sentence, or uses something that is not supported.

    Attributes:
        message: what is wrong, in one sentence.
        line, column: where, counted from 1; None if the error has no place.
        text: the offending line of the grammar, without its newline.
        hint: what to write instead, or None.
        option: the option of the function that reads the grammar, such as "strict", if the hint names one; or None.
        source: the name of the imported text that the place is in; None for the text that was given.
        pointer: in a JSON Schema, the JSON pointer of the place; None if the error has no place.
        errors: all errors that were found, at least this one. The other attributes are those of the first.
        report: in a JSON Schema, a row like those of `Grammar.report` for each keyword that is refused.
    """

    def __init__(
        self,
        message: str,
        *,
        line: int | None = None,
        column: int | None = None,
        text: str | None = None,
        hint: str | None = None,
        source: str | None = None,
        pointer: str | None = None,
        others: Sequence[GrammarError] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column
        self.text = text
        self.hint = hint
        self.source = source
        self.pointer = pointer
        self.option: str | None = None
        self._rows: tuple[Row, ...] = ()
        self._others = tuple(others)

    @property
    def report(self) -> tuple[Row, ...]:
        return tuple([row for error in self.errors for row in error._rows])

    @property
    def errors(self) -> tuple[GrammarError, ...]:
        return (self, *self._others)

    def __str__(self) -> str:
        if not self._others:
            return self._described()
        errors = self.errors
        shown = [error._described() for error in errors[:SHOWN_ERRORS]]
        shown += [error._placed() for error in errors[SHOWN_ERRORS:LISTED_ERRORS]]
        left_out = len(errors) - len(shown)
        more = [f"and {left_out} more error{'s' if left_out > 1 else ''}"] if left_out else []
        what = "grammar" if self.pointer is None or self.line is not None else "schema"
        return "\n".join([f"{len(errors)} errors in the {what}", *shown, *more])

    def _described(self) -> str:
        """Return the message of this error alone, with its line and its hint."""
        parts = [self._placed()]
        if self.text is not None:
            parts += excerpt(self.text, self.column)
        if self.hint is not None:
            parts.append(f"hint: {self.hint}")
        return "\n".join(parts)

    def _placed(self) -> str:
        """Return the message of this error alone, after its place."""
        where = "" if self.source is None else f"in {self.source}"
        if self.line is not None:
            where += f"{', ' if where else ''}line {self.line}"
            where += "" if self.column is None else f", column {self.column}"
        if self.pointer is not None:
            where += f"{', ' if where else ''}at {shown_pointer(self.pointer)}"
        return f"{where}: {self.message}" if where else self.message

    def set_option(self, option: str | None) -> GrammarError:
        """Note the option that the hint names, or None. Return this error."""
        self.option = option
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.message,), self.__dict__


class GrammarLimitError(GrammarError, LimitError):
    """A grammar goes beyond a limit, such as the depth of its nesting; the message names the limit."""

    def set_limit(self, limit: str) -> GrammarLimitError:
        """Note the field of `Limits` that was exceeded, and say so in the hint. Return this error."""
        self.limit = limit
        self.hint = f"{self.hint or 'simplify the grammar'}, or give limits=Limits({limit}=...)"
        self.option = "limits"
        return self

    def copy_limit(self, error: LimitError) -> GrammarLimitError:
        """Note the field of `Limits` that `error` names, which may be none. Return this error."""
        self.limit = error.limit
        return self


def too_long(n_characters: int, limits: Limits) -> GrammarLimitError:
    """Return the error about texts that together have at least this number of characters."""
    most = limits.source_characters
    error = GrammarLimitError(f"the grammar has {n_characters} characters, of at most {most}")
    return error.set_limit("source_characters")


def shown_pointer(pointer: str) -> str:
    """Return a pointer into a schema as messages show it: after `#`, unless it begins with the URI of its document."""
    return f"#{pointer}" if not pointer or pointer[0] == "/" else pointer


def together(errors: Sequence[GrammarError]) -> GrammarError:
    """Return the first of `errors`, with the others in its `errors`."""
    first = errors[0]
    others = errors[1:]
    whole = type(first)(
        first.message,
        line=first.line,
        column=first.column,
        text=first.text,
        hint=first.hint,
        source=first.source,
        pointer=first.pointer,
        others=others,
    )
    if isinstance(whole, GrammarLimitError) and isinstance(first, GrammarLimitError):
        whole.copy_limit(first)
    whole.option = first.option
    whole._rows = first._rows
    return whole


def excerpt(text: str, column: int | None) -> list[str]:
    """Return the line to show and, under it, a caret at `column` (counted from 1).

    Long lines are cut to the neighbourhood of the place. Characters that a terminal would not show, or would act on,
    are replaced: the text may come from an attacker.
    """
    place = 0 if column is None else column - 1
    begin = max(0, place - SHOWN_CHARS // 2) if len(text) > SHOWN_CHARS else 0
    shown = text[begin : begin + SHOWN_CHARS]
    head = "..." if begin else ""
    tail = "..." if begin + len(shown) < len(text) else ""
    shown = "".join(char if char == "\t" or char.isprintable() else "\ufffd" for char in shown)
    lines = [f"    {head}{shown}{tail}"]
    if column is not None:
        # Keep tabs before the place, so that the caret stands under it however wide the terminal shows them.
        before = "".join("\t" if char == "\t" else " " for char in shown[: place - begin])
        lines.append(f"    {' ' * len(head)}{before}^")
    return lines


class RegexSyntaxError(EarleymaskError, ValueError):
    """A regular expression is malformed, or uses something that is not supported.

    Front ends turn it into a `GrammarError` with the line and column in their text.

    Attributes:
        message: what is wrong, in one sentence.
        position: where, as an offset in the pattern (plus the `offset` given to `regex.parse_regex`).
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
