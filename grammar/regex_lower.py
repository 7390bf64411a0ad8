"""From the nodes of a whole terminal to the regex nodes over bytes that the engine derives.

A terminal without lazy quantifiers denotes its `fullmatch` language: every string that some way of matching spells.
One with a lazy quantifier anywhere in it denotes what `re` would match first, { w : re.match(T, w) consumes all of w },
and becomes one ordered program (`regex_threads`). Lookbehind is worked into what precedes it, either way
(`regex_lookbehind`); where that would be text before the terminal it is refused with its position.

Cost: one visit a node, besides the constructors of `Regexes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..earley.errors import LimitError
from .regex_ast import Behind, Chars, Concat, Literal, Node, Repeat, Union
from .regex_lookbehind import without_lookbehind
from .regex_threads import compile_threads, lower_atom

if TYPE_CHECKING:
    from ..earley._regex import Regexes

MAX_DEPTH = 400
"""Nodes inside nodes: bounds the recursion over them, also of the uncompiled modules. A group in the syntax is at most
three levels here."""

_LAZY = 1
_BEHIND = 2


def lower(node: Node, regexes: Regexes) -> int:
    """The id in `regexes` of the language that the terminal `node` denotes.

    Raises `RegexSyntaxError` for lookbehind that reaches out of the terminal, `LimitError` for nesting beyond
    MAX_DEPTH and for terminals that grow too large on the way.
    """
    found = _survey(node, 0)
    if found & _LAZY:
        return compile_threads(node, regexes)
    if found & _BEHIND:
        node = without_lookbehind(node)
        _survey(node, 0)  # it may have grown deeper
    return _plain(node, regexes)


def is_lazy(node: Node) -> bool:
    """Whether the terminal has a lazy quantifier, and so the leftmost-first meaning."""
    return _survey(node, 0) & _LAZY != 0


def _survey(node: Node, depth: int) -> int:
    """Which of _LAZY and _BEHIND occur in the node; checks its depth."""
    if depth > MAX_DEPTH:
        raise LimitError(f"terminal nested deeper than {MAX_DEPTH}; take inner groups apart")
    found = 0
    if isinstance(node, Repeat):
        return _survey(node.body, depth + 1) | (_LAZY if node.lazy else 0)
    if isinstance(node, Concat):
        for part in node.parts:
            found |= _survey(part, depth + 1)
    elif isinstance(node, Union):
        for part in node.alternatives:
            found |= _survey(part, depth + 1)
    elif isinstance(node, Behind):
        found = _BEHIND
    return found


def _plain(node: Node, regexes: Regexes) -> int:
    """The `fullmatch` language of a node without lookbehind."""
    if isinstance(node, (Chars, Literal)):
        return lower_atom(node, regexes)
    if isinstance(node, Repeat):
        return regexes.repeat(_plain(node.body, regexes), node.minimum, node.maximum)
    if isinstance(node, Concat):
        return regexes.concat([_plain(part, regexes) for part in node.parts])
    assert isinstance(node, Union)
    return regexes.union([_plain(part, regexes) for part in node.alternatives])
