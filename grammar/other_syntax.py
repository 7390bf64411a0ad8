"""Recognize a text that was given to the wrong front end: Lark's syntax and GBNF look alike."""

from __future__ import annotations

import re

from .errors import GrammarError

_GBNF = re.compile(r"^[ \t]*[A-Za-z0-9_-]+[ \t]*::=", re.MULTILINE)
_LARK = re.compile(r"^[ \t]*(?:[?!]?[A-Za-z_]\w*(?:\.-?[0-9]+)?[ \t]*:(?!:)|%import\b|%ignore\b)", re.MULTILINE)


def is_gbnf(text: str) -> bool:
    """Return whether some line of the text begins like a rule in GBNF, and none like one in Lark's syntax."""
    return _GBNF.search(text) is not None and _LARK.search(text) is None


def is_lark(text: str) -> bool:
    """Return whether some line of the text begins like one in Lark's syntax, and none like a rule in GBNF."""
    return _LARK.search(text) is not None and _GBNF.search(text) is None


def pointed_to(error: GrammarError, reader: str) -> GrammarError:
    """Add to the hint of `error` that `reader` reads such texts. Return the error."""
    error.hint = f"this looks like a text for {reader}" + (f"; {error.hint}" if error.hint else "")
    return error
