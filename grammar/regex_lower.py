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
from .errors import RegexSyntaxError
from .regex_ast import MAX_DEPTH, Behind, Chars, Concat, Literal, Node, Repeat, Substring, Union, Whole
from .regex_lookbehind import without_lookbehind
from .regex_threads import compile_threads, lower_atom

if TYPE_CHECKING:
    from ..earley._regex import Regexes

MAX_NODES = 1 << 20
"""Nodes in one terminal, each counted as often as it occurs."""

_LAZY = 1
_BEHIND = 2
_SUBSTRING = 4


def lower(node: Node, regexes: Regexes) -> int:
    """The id in `regexes` of the language that the terminal `node` denotes.

    Raises `RegexSyntaxError` for lookbehind that reaches out of the terminal, `LimitError` for nesting beyond
    MAX_DEPTH and for terminals that are too large or grow so on the way.
    """
    if isinstance(node, Whole):
        node = node.body
        found = _survey(node) & ~_LAZY
    else:
        found = _survey(node)
    if found & _SUBSTRING and found != _SUBSTRING:
        raise RegexSyntaxError(
            "a substring stands in one terminal with lazy quantifiers or lookbehind", 0, "make it a terminal of its own"
        )
    if found & _LAZY:
        return compile_threads(node, regexes)
    if found & _BEHIND:
        return _Shared(regexes).lower(without_lookbehind(node))
    return _plain(node, regexes)


def is_lazy(node: Node) -> bool:
    """Whether the terminal has a lazy quantifier, and so the leftmost-first meaning."""
    return _survey(node) & _LAZY != 0


def _survey(node: Node) -> int:
    """Which of _LAZY and _BEHIND occur in the node; checks its depth and size."""
    found = 0
    n_nodes = 1
    level: list[Node] = [node]
    depth = 0
    while level:
        below: list[Node] = []
        for node in level:
            if isinstance(node, Repeat):
                if node.lazy:
                    found |= _LAZY
                below.append(node.body)
            elif isinstance(node, Concat):
                below += node.parts
            elif isinstance(node, Union):
                below += node.alternatives
            elif isinstance(node, Behind):
                found |= _BEHIND
            elif isinstance(node, Substring):
                found |= _SUBSTRING
        level = below
        n_nodes += len(below)
        if n_nodes > MAX_NODES:
            raise LimitError(f"terminal of more than {MAX_NODES} nodes; make parts of it terminals of their own")
        depth += 1
        if depth > MAX_DEPTH and level:
            raise LimitError(f"terminal nested deeper than {MAX_DEPTH}; take inner groups apart")
    return found


def _plain(node: Node, regexes: Regexes) -> int:
    """The `fullmatch` language of a node without lookbehind."""
    if isinstance(node, (Chars, Literal)):
        return lower_atom(node, regexes)
    if isinstance(node, Repeat):
        return regexes.repeat(_plain(node.body, regexes), node.minimum, node.maximum)
    if isinstance(node, Concat):
        return regexes.concat([_plain(part, regexes) for part in node.parts])
    if isinstance(node, Substring):
        from .substring import lower_substring  # almost no grammar has one

        return lower_substring(node.chunks, regexes)
    assert isinstance(node, Union)
    return regexes.union([_plain(part, regexes) for part in node.alternatives])


class _Shared:
    """`_plain` for nodes whose parts may be shared, each of which is lowered once."""

    def __init__(self, regexes: Regexes) -> None:
        self.regexes = regexes
        self.lowered: dict[int, int] = {}

    def lower(self, node: Node) -> int:
        known = self.lowered.get(id(node))
        if known is None:
            if isinstance(node, Repeat):
                known = self.regexes.repeat(self.lower(node.body), node.minimum, node.maximum)
            elif isinstance(node, Concat):
                known = self.regexes.concat([self.lower(part) for part in node.parts])
            elif isinstance(node, Union):
                known = self.regexes.union([self.lower(part) for part in node.alternatives])
            else:
                known = lower_atom(node, self.regexes)
            self.lowered[id(node)] = known
        return known
