"""Whether a text that one front end cannot read is written for another one: Lark's syntax and GBNF look alike."""

from __future__ import annotations

import re

from .errors import GrammarError

_GBNF = re.compile(r"^[ \t]*[A-Za-z0-9_-]+[ \t]*::=", re.MULTILINE)
_LARK = re.compile(r"^[ \t]*(?:[?!]?[A-Za-z_]\w*(?:\.-?[0-9]+)?[ \t]*:(?!:)|%import\b|%ignore\b)", re.MULTILINE)


def is_gbnf(text: str) -> bool:
    """Whether lines of the text begin as those of GBNF do, and none as those of Lark."""
    return _GBNF.search(text) is not None and _LARK.search(text) is None


def is_lark(text: str) -> bool:
    """The other way round."""
    return _LARK.search(text) is not None and _GBNF.search(text) is None


def pointed_to(error: GrammarError, reader: str) -> GrammarError:
    """`error` with the hint that another front end reads such texts."""
    error.hint = f"this looks like a text for {reader}" + (f"; {error.hint}" if error.hint else "")
    return error
