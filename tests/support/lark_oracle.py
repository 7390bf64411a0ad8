"""Lark itself as the oracle for the Lark front end: the same grammar text, the same sentences."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest
from lark import Lark
from lark.exceptions import LarkError, UnexpectedInput

from earleymask.grammar import Grammar, GrammarError
from support.sentences import accepts as we_accept
from support.sentences import strings

__all__ = [
    "TooLong",
    "assert_refused",
    "assert_same",
    "at_most",
    "lark_accepts",
    "lark_loads",
    "lark_parser",
    "lark_says",
    "strings",
    "we_accept",
]


class TooLong(BaseException):
    """The time given to `at_most` is over. Lark wraps every `Exception`, so this is not one."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise `TooLong` within the block after this time: some grammars of few lines fill the memory in Lark."""

    def end(number: int, frame: FrameType | None) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1)  # again each second, for a destructor may swallow the first one
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def lark_parser(grammar: str, start: str = "start", **options: Any) -> Lark:
    return Lark(grammar, parser="earley", lexer="dynamic_complete", start=start, **options)


def lark_loads(grammar: str, **options: Any) -> bool:
    """Return whether Lark makes a parser of the text. KeyError, AssertionError and errors of `re` are refusals, too."""
    try:
        lark_parser(grammar, **options)
    except Exception:
        return False
    return True


def lark_accepts(parser: Lark, text: str) -> bool:
    try:
        parser.parse(text)
    except UnexpectedInput:
        return False
    except LarkError as error:
        raise AssertionError(f"Lark fails on {text!r}: {error}") from error
    return True


def lark_says(parser: Lark, text: str) -> bool | None:
    """Return `lark_accepts(parser, text)`, or None if a bug of Lark prevents an answer."""
    try:
        return lark_accepts(parser, text)
    except RuntimeError as error:
        # Lark 1.3.1: `start: e start | A`, `e:`, `A: /\S+/`, `%ignore "~"` and the text `ab~`.
        if "multiple start symbol items" not in str(error):
            raise
        return None


def assert_same(text: str, sentences: Iterable[str], start: str = "start", **options: Any) -> None:
    """Assert that Lark and we accept the same of `sentences`: at least one, and not all. `options` go to both."""
    parser = lark_parser(text, start, **options)
    grammar = Grammar.from_lark(text, start=start, **options)
    accepted = rejected = 0
    for sentence in sentences:
        expected = lark_accepts(parser, sentence)
        assert we_accept(grammar, sentence) == expected, f"Lark says {expected} to {sentence!r} under\n{text}"
        accepted += expected
        rejected += not expected
    assert accepted and rejected, "this case cannot fail: it needs sentences that are accepted and some that are not"


def assert_refused(text: str, line: int | None, column: int | None, message: str, **options: Any) -> GrammarError:
    """Assert that loading `text` raises an error with this message at this place; return the error."""
    with pytest.raises(GrammarError) as caught:
        Grammar.from_lark(text, **options)
    error = caught.value
    assert message in error.message, error
    assert (error.line, error.column) == (line, column), error
    return error
