"""The dialects in which regular expressions are written, behind one function.

`parse_regex` makes regex nodes of a pattern; a terminal takes such a node as it is. Where a regular expression is the
whole grammar (`Grammar.from_regex`) or says what a whole string may be (JSON Schema's `pattern`), `whole_text` wraps
the node: it then sees the beginning and the end of the text, and denotes what `re.fullmatch` or `re.search` accepts.
"""

from __future__ import annotations

from . import codepoints
from . import python as regex_syntax
from .ast import Chars, Concat, Node, Repeat, Whole

DIALECTS = ("python", "ecma")


def parse_regex(pattern: str, dialect: str = "python", flags: str = "", offset: int = 0) -> Node:
    """The node that `pattern` denotes in `dialect`, one of DIALECTS, under `flags`.

    Flags are the letters of the dialect: "imsuxa" for Python, "imsu" for ECMA-262, where `u` is always on.
    `offset` is added to every position. Raises RegexSyntaxError for what is malformed or not supported, LimitError for
    nesting and counts out of bounds, ValueError for a dialect that there is not.
    """
    if dialect == "python":
        return regex_syntax.parse(pattern, flags, offset)
    if dialect == "ecma":
        from . import ecma as regex_ecma

        return regex_ecma.parse(pattern, flags, offset)
    raise ValueError(f"dialect {dialect!r} of regular expressions; there are {', '.join(DIALECTS)}")


def whole_text(node: Node, search: bool = False) -> Whole:
    """The terminal for texts that `node` matches as a whole or, with `search`, anywhere in them."""
    if search:
        anything = Repeat(Chars(codepoints.ALL), 0, None)
        node = Concat((anything, node, anything))
    return Whole(node)
