"""A regular expression as a grammar: the language is what `fullmatch` matches.

A terminal of a Lark grammar with a lazy quantifier in it means what `re.match` finds first. Here a text is a sentence
if the pattern can match all of it in any way, and lookarounds see its beginning and its end.
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
"""Characters of a pattern."""

MAX_NAME = 60

_LETTERS = {re.I: "i", re.M: "m", re.S: "s", re.X: "x", re.A: "a"}
_MEANINGLESS = re.U | re.DEBUG
"""Flags of `re` that change nothing here: classes are Unicode's unless `re.A` says otherwise."""


def flag_letters(flags: int) -> str:
    """The flags of `re` as the letters that a pattern would begin with, such as "im"."""
    letters = "".join(letter for flag, letter in _LETTERS.items() if flags & flag)
    known = _MEANINGLESS
    for flag in _LETTERS:
        known |= flag
    if flags & ~known:
        raise ValueError(f"flags {re.RegexFlag(flags & ~known)!r} do not apply to text; I, M, S, X and A do")
    return letters


def flags_of(letters: str) -> int:
    """The flags that `flag_letters` made letters of."""
    return sum(int(flag) for flag, letter in _LETTERS.items() if letter in letters)


def load(pattern: str, flags: str, dialect: str, limits: Limits) -> Engine:
    """The engine for { w : re.fullmatch(pattern, w, flags) }; `flags` are letters."""
    if len(pattern) > MAX_PATTERN:
        raise GrammarLimitError(f"the pattern has {len(pattern)} characters, the limit is {MAX_PATTERN}")
    source = SourceText(pattern)
    regexes = Regexes()
    regexes.limit_time(limits, limits.seconds)
    try:
        tree = parse_regex(pattern, dialect, flags)
        limit = exceeded(tree, limits) if limits is not DEFAULT else ""
        if limit:
            raise source.limit_error(f"the pattern goes beyond {limit}={getattr(limits, limit)}", 0).set_limit(limit)
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


def find_warnings(pattern: str, flags: str) -> tuple[GrammarWarning, ...]:
    """Return the warnings about a pattern that has been loaded."""
    if "[:" not in pattern:
        return ()
    from .posix import posix_classes, posix_warning  # rare

    source = SourceText(pattern)
    found = posix_classes(pattern, "x" in flags)
    return tuple([source.warning(posix_warning(match), match.start()) for match in found])


def terminal_name(pattern: str) -> str:
    """What `Matcher.expected` calls it."""
    return f"/{pattern}/" if len(pattern) <= MAX_NAME else f"/{pattern[:MAX_NAME]}.../"
