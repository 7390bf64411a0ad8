"""Terminals with lazy quantifiers as ordered programs, which keep the order in which `re` backtracks.

`re` tries the ways of matching one after the other, and takes the first that succeeds. The program has the same ways in
the same order, for threads that advance side by side (Pike's simulation; Cox 2010, "Regular expression matching: the
virtual machine approach"). Threads that meet at an instruction have the same future, so the less preferred one is
dropped. For this to give the result of `re`, an instruction must determine everything on which `re` decides there:

- how many turns of a repetition have been made: counts are written out;
- whether the current turn has consumed anything: see `program`;
- the code point before a lookbehind: atoms before a lookbehind are split by the cells of `lookbehind`, and the
  lookbehind is decided here. Then every thread can still match, and no state is a dead end.

Cost: a program as long as the terminal with its counts written out. Bodies that may be empty double at each level of
nested repetitions; MAX_INSTRUCTIONS bounds that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...earley._meter import tick
from .ast import Behind, Chars, Literal, Node, Ranges
from .lookbehind import ANY_CELL, AT_START, allows, atom_ending, cells_of, refuse
from .program import ATOM, BEHIND, JUMP, MATCH, SPLIT, Program

if TYPE_CHECKING:
    from ...earley._regex import Regexes


def compile_threads(node: Node, regexes: Regexes) -> int:
    """Return the id in `regexes` of { w : the first way in which `re` matches a prefix of w consumes all of w }."""
    graph = _Graph()
    start = graph.compile(node, graph.match, graph.match)
    if graph.has_behind:
        decision = _Decision(graph, cells_of(node))
        start = decision.run(start)
        graph = decision.decided
    graph.lower_atoms(regexes)
    alive = graph.living(regexes.EMPTY)
    return regexes.ordered(graph.program(start, alive)) if alive[start] else regexes.EMPTY


class _Graph(Program):
    """A program whose atoms and lookbehinds are nodes, until `lower_atoms` replaces the atoms by ids of regexes."""

    def __init__(self) -> None:
        super().__init__("lazy quantifiers")
        self.has_behind = False

    def atom(self, node: Node, after: int) -> int:
        return self.add(ATOM, node, after)

    def behind(self, node: Behind, after: int) -> int:
        self.has_behind = True
        return self.add(BEHIND, node, after)

    # ---- to a program -------------------------------------------------------------------------------------------

    def asking(self) -> list[bool]:
        """Return for each instruction whether a lookbehind may be met from there before an atom."""
        before: list[list[int]] = [[] for _ in self.ops]
        for i in range(len(self.ops)):
            if self.ops[i] == SPLIT:
                before[self.first[i]].append(i)
                before[self.second[i]].append(i)
        return _reaching([i for i in range(len(self.ops)) if self.ops[i] == BEHIND], before)

    def lower_atoms(self, regexes: Regexes) -> None:
        """Replace the nodes of atoms by their ids in `regexes`."""
        known: dict[int, int] = {}
        for i, op in enumerate(self.ops):
            tick()
            if op == ATOM:
                node = self.first[i]
                lowered = known.get(id(node))
                if lowered is None:
                    known[id(node)] = lowered = lower_atom(node, regexes)
                self.first[i] = lowered

    def living(self, empty: int) -> list[bool]:
        """Return for each instruction whether it can reach the match. `empty` is the id of the node without strings."""
        before: list[list[int]] = [[] for _ in self.ops]
        for i in range(len(self.ops)):
            if self.ops[i] == SPLIT:
                before[self.first[i]].append(i)
                before[self.second[i]].append(i)
            elif self.ops[i] == ATOM and self.first[i] != empty:
                before[self.second[i]].append(i)
        return _reaching([self.match], before)

    def program(self, start: int, alive: list[bool]) -> list[tuple[int, int, int]]:
        """Return the instructions that can reach the match, `start` first. The successor of an atom, or a jump to the
        successor, stands right after it."""
        place: dict[int, int] = {}
        line: list[tuple[int, int, int]] = []
        waiting = [self.skip_dead(start, alive)]
        while waiting:
            tick()
            i = waiting.pop()
            while i not in place:
                place[i] = len(line)
                op = self.ops[i]
                if op == SPLIT:
                    preferred = self.skip_dead(self.first[i], alive)
                    other = self.skip_dead(self.second[i], alive)
                    line.append((SPLIT, preferred, other))
                    waiting.append(other)
                    waiting.append(preferred)
                    break
                line.append((op, self.first[i], 0))
                if op == MATCH:
                    break
                i = self.skip_dead(self.second[i], alive)
                if i in place:
                    line.append((JUMP, i, i))
        return [(op, place[x], place[y]) if op in (SPLIT, JUMP) else (op, x, y) for op, x, y in line]

    def skip_dead(self, i: int, alive: list[bool]) -> int:
        """Return the instruction to which `i` leads if splits are skipped that have only one side alive. `i` must be
        alive: it can reach the match."""
        while self.ops[i] == SPLIT and not (alive[self.first[i]] and alive[self.second[i]]):
            i = self.first[i] if alive[self.first[i]] else self.second[i]
        return i


def _reaching(goals: list[int], before: list[list[int]]) -> list[bool]:
    """Return for each instruction whether it leads to one of `goals`. `before` has the predecessors of each."""
    reaches = [False] * len(before)
    waiting = goals
    for goal in goals:
        reaches[goal] = True
    while waiting:
        tick()
        for i in before[waiting.pop()]:
            if not reaches[i]:
                reaches[i] = True
                waiting.append(i)
    return reaches


class _Decision:
    """Copies `graph` to `decided`, which has no lookbehinds.

    An instruction becomes one for each cell that may precede it, if the cell matters: that decides the lookbehinds.

    Invariant: `states` has the instruction of `decided` for each (instruction, cell) that was met. Those in `waiting`
    have no successors yet.
    """

    def __init__(self, graph: _Graph, cells: list[Ranges]) -> None:
        self.graph = graph
        self.cells = cells
        self.asks = self.graph.asking()
        self.decided = _Graph()
        self.dead = self.decided.add(ATOM, Chars(()), self.decided.match)
        self.states: dict[tuple[int, int], int] = {}
        self.waiting: list[tuple[int, int]] = []

    def run(self, start: int) -> int:
        """Fill `decided`, and return its first instruction."""
        begin = self.state(start, AT_START)
        while self.waiting:
            tick()
            i, cell = self.waiting.pop()
            here = self.states[i, cell]
            after = self.graph.second[i]
            if self.graph.ops[i] == SPLIT:
                self.decided.first[here] = self.state(self.graph.first[i], cell)
                self.decided.second[here] = self.state(after, cell)
            else:
                self.atom(here, self.graph.first[i], after)
        return begin

    def state(self, i: int, cell: int) -> int:
        """Return the instruction of `decided` for instruction i of `graph` after a code point of `cell`."""
        graph = self.graph
        while graph.ops[i] == BEHIND:
            if cell == AT_START:
                raise refuse(graph.first[i])
            if not allows(graph.first[i], self.cells[cell]):
                return self.dead
            i = graph.second[i]
        if graph.ops[i] == MATCH:
            return self.decided.match
        key = (i, cell if self.asks[i] else ANY_CELL)
        known = self.states.get(key)
        if known is not None:
            return known
        self.waiting.append(key)
        made = self.decided.add(SPLIT, self.dead, self.dead)
        self.states[key] = made
        return made

    def atom(self, here: int, atom: Node, after: int) -> None:
        """Let the instruction `here` read `atom`. If a lookbehind may be met after it, split the atom into one for each
        cell."""
        decided = self.decided
        if not self.asks[after]:
            decided.first[here] = decided.add(ATOM, atom, self.state(after, ANY_CELL))
            return
        # No two pieces match the same code point, so their order does not matter.
        last = len(self.cells) - 1
        for number, ranges in enumerate(self.cells):
            decided.first[here] = decided.add(ATOM, atom_ending(atom, ranges), self.state(after, number))
            if number < last:
                following = decided.add(SPLIT, self.dead, self.dead)
                decided.second[here] = following
                here = following


def lower_atom(node: Node, regexes: Regexes) -> int:
    """Return the id of a Chars or Literal. A Literal with a surrogate matches nothing, since no UTF-8 text has one."""
    if isinstance(node, Chars):
        return regexes.char_class(node.ranges)
    assert isinstance(node, Literal)
    try:
        return regexes.literal(node.text.encode())
    except UnicodeEncodeError:
        return regexes.EMPTY
