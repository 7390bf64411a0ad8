"""Regular expressions: Python's and ECMA-262's syntax as trees, and trees as nodes of `earleymask.earley`.

`parse_regex` turns a pattern of either dialect into a tree, and a terminal takes such a tree as it is. If the pattern
is the whole grammar (`Grammar.from_regex`) or describes a whole string (JSON Schema's `pattern`), `whole_text` wraps
the tree: the pattern then sees the beginning and the end of the text, and denotes what `re.fullmatch` or `re.search`
accepts.

Reading order: `ast` (the trees), `python` and `ecma` (the parsers), `lower` (from a tree to a node of the core), then
the ways in which it does that: `plain`, `lookbehind`, `threads` (lazy quantifiers), `cuts` (other lookarounds, atomic
groups).
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from . import codepoints
from . import python as regex_python
from .ast import Chars, Concat, Node, Repeat, Whole

Dialect: TypeAlias = Literal["python", "ecma"]
DIALECTS = get_args(Dialect)


def parse_regex(pattern: str, dialect: str = "python", flags: str = "", offset: int = 0) -> Node:
    """Parse `pattern`, written in `dialect`, one of DIALECTS, under `flags`.

    Flags are the letters of the dialect: "imsuxa" for Python, "imsu" for ECMA-262, where `u` is always on.
    `offset` is added to every position. Raises RegexSyntaxError for a pattern that is malformed or not supported,
    LimitError for nesting and counts out of bounds, ValueError for an unknown dialect.
    """
    if dialect == "python":
        return regex_python.parse(pattern, flags, offset)
    if dialect == "ecma":
        from . import ecma as regex_ecma  # few grammars use this dialect

        return regex_ecma.parse(pattern, flags, offset)
    raise ValueError(f"unknown dialect {dialect!r} of regular expressions; use one of: {', '.join(DIALECTS)}")


def whole_text(node: Node, search: bool = False) -> Whole:
    """Return the terminal for texts that `node` matches as a whole or, with `search`, anywhere in them."""
    if search:
        anything = Repeat(Chars(codepoints.ALL), 0, None)
        node = Concat((anything, node, anything))
    return Whole(node)
