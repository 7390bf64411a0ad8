"""Trees without lookarounds, lazy quantifiers and atomic groups as regex nodes of the core.

Such a tree denotes its `fullmatch` language: every string that some way of matching spells. No part of it asks what
stands beside it, so each part is lowered on its own.

Cost: one visit for each node, besides the constructors of `Regexes`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ...earley._meter import tick
from .ast import (
    And,
    Automaton,
    Chars,
    Concat,
    EcmaPattern,
    Escaped,
    Literal,
    Multiples,
    Node,
    Not,
    Repeat,
    Substring,
    Union,
)
from .program import ATOM, JUMP, MATCH, SPLIT
from .threads import lower_atom

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...earley._regex import Regexes


class Plain:
    """Lowers plain trees, each of their parts once: the parts of a tree may be shared."""

    def __init__(self, regexes: Regexes, operand: Callable[[Node, Regexes], int] | None = None) -> None:
        """`operand` lowers the bodies of And, Not and Escaped, which are terminals of their own; without it they must
        be plain, too, and are lowered as the other parts are."""
        self.regexes = regexes
        self.operand = operand
        self.lowered: dict[int, int] = {}  # by the `id` of a tree, which the caller keeps alive

    def lower(self, node: Node) -> int:
        """Return the id of the node in `regexes`."""
        regexes = self.regexes
        if isinstance(node, (Chars, Literal)):
            return lower_atom(node, regexes)
        known = self.lowered.get(id(node))
        if known is None:
            tick()
            if isinstance(node, Repeat):
                known = regexes.repeat(self.lower(node.body), node.minimum, node.maximum)
            elif isinstance(node, Concat):
                known = regexes.concat([self.lower(part) for part in node.parts])
            elif isinstance(node, Union):
                known = regexes.union([self.lower(part) for part in node.alternatives])
            elif isinstance(node, And) and isinstance(node.parts[0], Multiples):
                # After what the others say no more, a Multiples node is left alone, and is known to match something.
                others = [part.body for part in node.parts[1:] if isinstance(part, Not)]
                assert len(others) == len(node.parts) - 1
                known = regexes.difference(self.lower(node.parts[0]), regexes.union(list(map(self.lower, others))))
            elif isinstance(node, And):
                known = regexes.intersection([self.lower_operand(part) for part in node.parts])
            elif isinstance(node, Not):
                known = regexes.complement(self.lower_operand(node.body))
            elif isinstance(node, Escaped):
                known = regexes.escaped(self.lower_operand(node.body), node.shortest, node.ascii)
            elif isinstance(node, Substring):
                from .substring import lower_substring  # almost no grammar has one

                known = lower_substring(node.chunks, regexes)
            elif isinstance(node, EcmaPattern):
                from .ecma_syntax import lower_patterns  # few schemas have it

                known = lower_patterns(regexes, partial(_lower_alone, regexes))
            elif isinstance(node, Multiples):
                known = regexes.multiples(list(node.words))
            else:
                assert isinstance(node, Automaton)
                known = lower_automaton(node, regexes)
            self.lowered[id(node)] = known
        return known

    def lower_operand(self, node: Node) -> int:
        return self.lower(node) if self.operand is None else self.operand(node, self.regexes)


def _lower_alone(regexes: Regexes, node: Node) -> int:
    return Plain(regexes).lower(node)


def lower_automaton(automaton: Automaton, regexes: Regexes) -> int:
    """Return the id of the node that matches what a deterministic automaton accepts.

    The automaton becomes an ordered program, the only kind of regex in which loops are unrestricted. Being
    deterministic, it has at most one way through a text, and it prefers every other step to ending. Its preferred match
    therefore consumes all of a text that it accepts, and no other text.

    Cost: one visit for each edge; the core then makes only the derivatives that a text needs.
    """
    starts = []
    length = 0
    for accepts, edges in automaton.states:
        starts.append(length)
        length += 3 * len(edges) + (1 if accepts else -1)
    atoms: dict[int, int] = {}
    program: list[tuple[int, int, int]] = []
    for accepts, edges in automaton.states:
        for i, (chars, target) in enumerate(edges):
            tick()
            at = len(program)
            if accepts or i + 1 < len(edges):
                program.append((SPLIT, at + 1, at + 3))
            atom = atoms.get(id(chars))
            if atom is None:
                atoms[id(chars)] = atom = lower_atom(chars, regexes)
            program.append((ATOM, atom, 0))
            program.append((JUMP, starts[target], 0))
        if accepts:
            program.append((MATCH, 0, 0))
    return regexes.ordered(program)
