"""Anchors, boundaries and lookarounds as nodes, and the widths of nodes. Both dialects use this.

Anchors and boundaries are lookarounds, too: `^` is "no code point before", `\\Z` is "no code point after", `\\b` is "a
word character before and none after, or the other way round". Whether a lookaround looks beyond its terminal is decided
when the terminal is lowered, since the parser of a pattern does not see the rest of the terminal.
"""

from __future__ import annotations

from . import codepoints
from .ast import Atomic, Behind, Chars, Concat, Literal, Look, Node, Ranges, Repeat, Union

_ANY = Chars(codepoints.ALL)
_NEWLINE = Chars(codepoints.NEWLINE)
_NOTHING = Chars(())
_EMPTY_TEXT = Literal("")

INFINITE = float("inf")


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


def one_code_point(node: Node) -> Ranges | None:
    """Return the set of code points if the node matches exactly one code point, else None."""
    if type(node) is Chars:
        return node.ranges
    if type(node) is Literal and len(node.text) == 1:
        code = ord(node.text)
        return ((code, code),)
    return None


def widths(node: Node) -> tuple[int, float]:
    """Return the least and the greatest number of characters that `node` matches, as `getwidth` of Python's `re`
    computes them."""
    if isinstance(node, Literal):
        return len(node.text), len(node.text)
    if isinstance(node, Chars):
        return 1, 1
    if isinstance(node, Concat):
        parts = [widths(part) for part in node.parts]
        return sum([part[0] for part in parts]), sum([part[1] for part in parts])
    if isinstance(node, Union):
        parts = [widths(alternative) for alternative in node.alternatives]
        return min([part[0] for part in parts]), max([part[1] for part in parts])
    if isinstance(node, Repeat):
        least, most = widths(node.body)
        if most:  # 0 times without end is 0
            most *= INFINITE if node.maximum is None else node.maximum
        return least * node.minimum, most
    if isinstance(node, Atomic):
        return widths(node.body)
    return 0, 0
