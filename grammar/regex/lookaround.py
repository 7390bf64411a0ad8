"""Anchors, boundaries and lookarounds as nodes. Both dialects use this.

Anchors and boundaries are lookarounds, too: `^` is "no code point before", `\\Z` is "no code point after", `\\b` is "a
word character before and none after, or the other way round". Whether a lookaround looks beyond its terminal is decided
when the terminal is lowered, since the parser of a pattern does not see the rest of the terminal.
"""

from __future__ import annotations

from . import codepoints
from .ast import Behind, Chars, Concat, Literal, Look, Node, Ranges, Repeat, Union, one_code_point

_ANY = Chars(codepoints.ALL)
_NEWLINE = Chars(codepoints.NEWLINE)
_NOTHING = Chars(())
_EMPTY_TEXT = Literal("")


def ahead(body: Node, negative: bool, position: int) -> Node:
    """Return the node for `(?=body)` or `(?!body)`."""
    if isinstance(body, Literal) and not body.text:
        return _NOTHING if negative else _EMPTY_TEXT
    return Look(body, True, negative, position)


def behind(body: Node, negative: bool, position: int) -> Node:
    """Return the node for `(?<=body)` or `(?<!body)`."""
    if isinstance(body, Literal) and not body.text:
        return _NOTHING if negative else _EMPTY_TEXT
    ranges = one_code_point(body)
    if ranges is not None:
        return Behind(Chars(ranges), negative, position)
    return Look(body, False, negative, position)


def line_start(multiline: bool, position: int) -> Node:
    """Return the node for `^`: no code point before it or, if `multiline`, none but a newline."""
    return Behind(Chars(codepoints.NOT_NEWLINE) if multiline else _ANY, True, position)


def line_end(multiline: bool, position: int) -> Node:
    """Return the node for Python's `$`: nothing after it but perhaps a last newline; if `multiline`, no code point but
    a newline."""
    if multiline:
        return Look(Chars(codepoints.NOT_NEWLINE), True, True, position)
    return Look(Concat((Repeat(_NEWLINE, 0, 1), text_end(position))), True, False, position)


def text_end(position: int) -> Node:
    """Return the node for `\\Z`, and for the `$` of ECMA-262: nothing after it."""
    return Look(_ANY, True, True, position)


def boundary(word: Ranges, negative: bool, position: int) -> Node:
    """Return the node for `\\b` or, if `negative`, `\\B`, where `word` has the word characters."""
    members = Chars(word)
    alternatives: list[Node] = []
    for inside in (True, False):
        sides: list[Node] = [
            Behind(members, not inside, position),
            Look(members, True, inside != negative, position),
        ]
        alternatives.append(Concat(tuple(sides)))
    return Union(tuple(alternatives))


def not_in_empty_text(node: Node, position: int) -> Node:
    """Return `node`, restricted to texts that are not empty: in the empty text, `re` (up to Python 3.13) finds neither
    `\\b` nor `\\B`."""
    return Concat((node, Union((Behind(_ANY, False, position), Look(_ANY, True, False, position)))))
