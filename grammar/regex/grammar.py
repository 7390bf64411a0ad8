"""A regular expression as a grammar: its sentences are the texts that `fullmatch` matches.

In a Lark grammar, a terminal with a lazy quantifier matches what `re.match` finds first. Here, a text is a sentence if
the pattern can match all of it in any way, and lookarounds see the beginning and the end of the text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ...earley._regex import Regexes
from ...earley.errors import LimitError
from ...earley.limits import DEFAULT, Limits
from ..errors import GrammarLimitError, RegexSyntaxError
from ..source import SourceText
from . import parse_regex, whole_text
from .choices import single_terminal
from .lower import exceeded, lower

if TYPE_CHECKING:
    from ...earley import Engine
    from ..source import GrammarWarning

MAX_PATTERN = 1 << 20
"""The most characters of a pattern. Beyond it, GrammarLimitError is raised."""

MAX_NAME = 60
"""The most characters of a pattern that are shown in the name of its terminal."""

_LETTERS = {re.I: "i", re.M: "m", re.S: "s", re.X: "x", re.A: "a"}
_MEANINGLESS = re.U | re.DEBUG
"""The flags of `re` that change nothing here. `re.U` is the default, since classes are those of Unicode without
`re.A`."""


def flag_letters(flags: int) -> str:
    """Return the letters of flags of `re`, as a pattern has them in `(?im)`."""
    letters = "".join(letter for flag, letter in _LETTERS.items() if flags & flag)
    known = _MEANINGLESS
    for flag in _LETTERS:
        known |= flag
    if flags & ~known:
        raise ValueError(f"flags {re.RegexFlag(flags & ~known)!r} are not supported; use I, M, S, X and A only")
    return letters


def flags_of(letters: str) -> int:
    """Return the flags of letters that `flag_letters` has returned."""
    return sum(int(flag) for flag, letter in _LETTERS.items() if letter in letters)


def load(pattern: str, flags: str, dialect: str, limits: Limits) -> Engine:
    """Return the engine for { w : re.fullmatch(pattern, w, flags) }. `flags` are letters."""
    if len(pattern) > MAX_PATTERN:
        raise GrammarLimitError(f"the pattern has {len(pattern)} characters, limit {MAX_PATTERN}; split it")
    source = SourceText(pattern)
    regexes = Regexes()
    try:
        tree = parse_regex(pattern, dialect, flags)
        limit = exceeded(tree, limits) if limits is not DEFAULT else ""
        if limit:
            raise source.limit_error(f"the pattern exceeds {limit}={getattr(limits, limit)}", 0).set_limit(limit)
        node = lower(whole_text(tree), regexes)
        empty = regexes.is_empty(node)
    except RegexSyntaxError as error:
        raise source.error(error.message, error.position, error.hint) from error
    except GrammarLimitError:
        raise
    except LimitError as error:
        raise source.limit_error(str(error), 0).copy_limit(error) from error
    if empty:
        raise source.error("the pattern matches nothing", 0)
    return single_terminal(terminal_name(pattern), node, regexes)


def find_warnings(pattern: str, flags: str, dialect: str) -> tuple[GrammarWarning, ...]:
    """Return the warnings about a pattern that has been loaded."""
    if "[:" not in pattern or "p" in flags:  # `p` reads them as classes
        return ()
    from .posix import posix_classes, posix_warning  # rare

    source = SourceText(pattern)
    found = posix_classes(pattern, "x" in flags)
    return tuple([source.warning(posix_warning(match, dialect == "python"), match.start()) for match in found])


def terminal_name(pattern: str) -> str:
    """Return the name of the pattern's terminal, as `Matcher.expected` shows it."""
    return f"/{pattern}/" if len(pattern) <= MAX_NAME else f"/{pattern[:MAX_NAME]}.../"
