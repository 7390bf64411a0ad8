"""From the nodes of a whole terminal to the regex nodes over bytes that the engine derives.

A terminal without lazy quantifiers denotes its `fullmatch` language: every string that some way of matching spells.
One with a lazy quantifier or an atomic group anywhere in it denotes what `re` would match first, { w : re.match(T, w)
consumes all of w }, and becomes one ordered program (`threads`). Lookbehind of one code point is worked into what
precedes it, either way (`lookbehind`); where that would be text before the terminal it is refused with its
position. Other lookarounds, and atomic groups, make a program with cuts of the terminal (`cuts`).

Cost: one visit a node, besides the constructors of `Regexes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...earley.errors import LimitError
from ..errors import RegexSyntaxError
from .ast import (
    MAX_DEPTH,
    And,
    Atomic,
    Automaton,
    Behind,
    Chars,
    Concat,
    Escaped,
    Literal,
    Look,
    Node,
    Not,
    Repeat,
    Substring,
    Union,
    Whole,
)
from .lookbehind import without_lookbehind
from .threads import compile_threads, lower_atom

if TYPE_CHECKING:
    from ...earley._regex import Regexes
    from .cuts import Context

MAX_NODES = 1 << 20
"""Nodes in one terminal, each counted as often as it occurs."""

_LAZY = 1
_BEHIND = 2
_SUBSTRING = 4
_LOOK = 8
_ATOMIC = 16
_WHOLE = 32
_SETS = 64


def lower(node: Node, regexes: Regexes, contexts: list[Context] | None = None) -> int:
    """The id in `regexes` of the language that the terminal `node` denotes.

    Where that depends on what follows the terminal, `contexts` receives its languages with what must follow each, and
    the result is their union; without `contexts` such a terminal is refused.

    Raises `RegexSyntaxError` for lookarounds that reach further out of the terminal, `LimitError` for nesting beyond
    MAX_DEPTH and for terminals that are too large or grow so on the way.
    """
    found = _survey(node)
    if found & _SUBSTRING and found & ~(_SUBSTRING | _WHOLE | _SETS):
        raise RegexSyntaxError(
            "a substring stands in one terminal with lazy quantifiers or lookarounds",
            0,
            "make it a terminal of its own",
        )
    if found & _SETS and found & ~(_SETS | _SUBSTRING):
        raise RegexSyntaxError(
            "an intersection or complement stands in one terminal with lazy quantifiers or lookarounds", 0
        )
    if found & _WHOLE:
        assert isinstance(node, Whole)
        if not found & (_BEHIND | _LOOK | _ATOMIC):
            return _plain(node.body, regexes)
        from .anchors import without_anchors
        from .cuts import whole

        node = without_anchors(node.body)
        return whole(node, regexes) if _survey(node) & (_BEHIND | _LOOK | _ATOMIC) else _plain(node, regexes)
    if found & (_LOOK | _ATOMIC):
        from .conditions import ANYTHING
        from .cuts import within

        languages = within(node, regexes, found & (_LAZY | _ATOMIC) != 0)
        if len(languages) == 1 and languages[0].condition == ANYTHING:
            return languages[0].node
        if contexts is None:
            raise RegexSyntaxError(
                "whether the terminal matches depends on what follows it, which is not supported here", 0
            )
        contexts += languages
        return regexes.union([language.node for language in languages])
    if found & _LAZY:
        return compile_threads(node, regexes)
    if found & _BEHIND:
        return Shared(regexes).lower(without_lookbehind(node))
    return _plain(node, regexes)


def is_lazy(node: Node) -> bool:
    """Whether the terminal has a lazy quantifier or an atomic group, and so the leftmost-first meaning."""
    return _survey(node) & (_LAZY | _ATOMIC) != 0


def _survey(node: Node) -> int:
    """Which of the constructs below occur in the node; checks its depth and size."""
    found = 0
    n_nodes = 1
    level: list[Node] = [node]
    depth = 0
    if isinstance(node, Whole):
        found = _WHOLE
        level = [node.body]
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
            elif isinstance(node, (And, Escaped, Not)):
                found |= _SETS  # what is in it is a terminal of its own
            elif isinstance(node, Substring):
                found |= _SUBSTRING
            elif isinstance(node, Look):
                found |= _LOOK
                below.append(node.body)
            elif isinstance(node, Atomic):
                found |= _ATOMIC
                below.append(node.body)
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
    if isinstance(node, And):
        return regexes.intersection([lower(part, regexes) for part in node.parts])
    if isinstance(node, Not):
        return regexes.complement(lower(node.body, regexes))
    if isinstance(node, Escaped):
        return regexes.escaped(lower(node.body, regexes), node.shortest, node.ascii)
    if isinstance(node, Automaton):
        from .automaton import lower_automaton  # for multiples in JSON numbers

        return lower_automaton(node, regexes)
    assert isinstance(node, Union)
    return regexes.union([_plain(part, regexes) for part in node.alternatives])


def lower_shared(node: Node, regexes: Regexes) -> int:
    """`lower` for a node of which many parts are the same, as those of numbers are; without lazy quantifiers and
    lookarounds, and not checked for them."""
    return Shared(regexes).lower(node)


class Shared:
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
            elif isinstance(node, And):
                known = self.regexes.intersection([self.lower(part) for part in node.parts])
            elif isinstance(node, Not):
                known = self.regexes.complement(self.lower(node.body))
            else:
                known = _plain(node, self.regexes)
            self.lowered[id(node)] = known
        return known
