"""A deterministic automaton, `regex_ast.Automaton`, as a regex node of the core.

It becomes an ordered program, the one kind of regex that may loop at will. Being deterministic it goes one way at most
through a text, and to end is what it prefers least: its preferred match consumes all of a text that it accepts, and
no other text.

Cost: one visit an edge; of the core's derivatives only those that a text needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .threads import lower_atom

if TYPE_CHECKING:
    from ...earley._regex import Regexes
    from .ast import Automaton

_ATOM, _SPLIT, _JUMP, _MATCH = range(4)  # as `Regexes.ordered` takes them


def lower_automaton(automaton: Automaton, regexes: Regexes) -> int:
    """The id in `regexes` of what the automaton accepts."""
    starts = []
    length = 0
    for accepts, edges in automaton.states:
        starts.append(length)
        length += 3 * len(edges) + (1 if accepts else -1)
    atoms: dict[int, int] = {}
    program: list[tuple[int, int, int]] = []
    for accepts, edges in automaton.states:
        for i, (chars, target) in enumerate(edges):
            at = len(program)
            if accepts or i + 1 < len(edges):
                program.append((_SPLIT, at + 1, at + 3))
            atom = atoms.get(id(chars))
            if atom is None:
                atoms[id(chars)] = atom = lower_atom(chars, regexes)
            program.append((_ATOM, atom, 0))
            program.append((_JUMP, starts[target], 0))
        if accepts:
            program.append((_MATCH, 0, 0))
    return regexes.ordered(program)
