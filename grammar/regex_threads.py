"""Terminals with lazy quantifiers as ordered programs: the order in which `re` backtracks, kept.

`re` tries the ways of matching one after the other and takes the first that succeeds. The program lists the same ways
in the same order, for threads that advance side by side (Pike's simulation; Cox 2010, "Regular expression matching: the
virtual machine approach"). Threads that meet at an instruction have the same future, so the less preferred one is
dropped; for that to be `re`'s order, an instruction must know all that `re` knows there:

- how often a repetition has turned: counts are written out;
- whether the current turn has consumed anything: after an empty turn `re` never turns again but goes on behind the
  repetition (`SRE_OP_MAX_UNTIL` in CPython's sre_lib.h). So every node is compiled towards two exits, one for "nothing
  consumed since the turn began", one for "something consumed", and what may be empty is compiled once for each;
- the code point before, where a lookbehind asks: atoms before a lookbehind are split by the cells of
  `regex_lookbehind`, and the lookbehind is decided here. Then every thread can still match, and no state is a dead end.

Cost: a program as long as the terminal with its counts written out; bodies that may be empty double at each nesting of
repetitions, which MAX_INSTRUCTIONS bounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..earley.errors import LimitError
from .regex_ast import Behind, Chars, Concat, Literal, Node, Ranges, Repeat, Union
from .regex_lookbehind import ANY_CELL, AT_START, Emptiness, allows, atom_ending, cells_of, refuse

if TYPE_CHECKING:
    from ..earley._regex import Regexes

MAX_INSTRUCTIONS = 1 << 15

# The instructions of `Regexes.ordered`, and one that is taken out before.
ATOM = 0
SPLIT = 1
JUMP = 2
MATCH = 3
BEHIND = 4

_FAIL = -1


def compile_threads(node: Node, regexes: Regexes) -> int:
    """The id in `regexes` of { w : the way of matching a prefix of w that `re` finds first consumes all of w }."""
    graph = _Graph()
    start = graph.compile(node, graph.match, graph.match)
    if graph.has_behind:
        decision = _Decision(graph, cells_of(node))
        start = decision.run(start)
        graph = decision.decided
    graph.lower_atoms(regexes)
    alive = graph.living(regexes.EMPTY)
    return regexes.ordered(graph.program(start, alive)) if alive[start] else regexes.EMPTY


class _Graph:
    """Instructions that name their successors, made back to front.

    ATOM: `first` is a Chars or Literal (after `lower_atoms` a node id), `second` the successor. BEHIND likewise, of a
    Behind.
    SPLIT: both are successors, `first` preferred. MATCH: the end, instruction 0.
    """

    def __init__(self) -> None:
        self.ops = bytearray()
        self.first: list[Any] = []
        self.second: list[int] = []
        self.has_behind = False
        self.emptiness = Emptiness()
        self.compiled: dict[tuple[int, int, int], int] = {}
        self.match = self.add(MATCH, 0, _FAIL)

    def add(self, op: int, first: object, second: int) -> int:
        if len(self.ops) >= MAX_INSTRUCTIONS:
            raise LimitError(
                f"terminal with lazy quantifiers: more than {MAX_INSTRUCTIONS} instructions; lower its counts"
            )
        self.ops.append(op)
        self.first.append(first)
        self.second.append(second)
        return len(self.ops) - 1

    # ---- from nodes ---------------------------------------------------------------------------------------------

    def compile(self, node: Node, unmoved: int, moved: int) -> int:
        """Where to enter `node`, which leaves for `moved` if it or something since the turn began has consumed."""
        if isinstance(node, Chars) or (isinstance(node, Literal) and node.text):
            return self.add(ATOM, node, moved)
        if isinstance(node, Literal):
            return unmoved
        if isinstance(node, Behind):
            self.has_behind = True
            return self.add(BEHIND, node, unmoved)
        key = (id(node), unmoved, moved)
        known = self.compiled.get(key)
        if known is not None:
            return known
        if isinstance(node, Concat):
            entry = self.concat(node.parts, unmoved, moved)
        elif isinstance(node, Union):
            entry = self.compile(node.alternatives[-1], unmoved, moved)
            for alternative in node.alternatives[-2::-1]:
                entry = self.add(SPLIT, self.compile(alternative, unmoved, moved), entry)
        else:
            assert isinstance(node, Repeat)
            entry = self.repeat(node, unmoved, moved)
        self.compiled[key] = entry
        return entry

    def concat(self, parts: tuple[Node, ...], unmoved: int, moved: int) -> int:
        # Up to the first part that must consume something, a part is entered both ways; from there on, moved.
        leading = 0
        while leading < len(parts) and self.emptiness.can_be_empty(parts[leading]):
            leading += 1
        for index in reversed(range(len(parts))):
            if index >= leading:
                unmoved = moved = self.compile(parts[index], moved, moved)
            else:
                entry = self.compile(parts[index], unmoved, moved)
                if index:
                    moved = self.compile(parts[index], moved, moved)
                unmoved = entry
        return unmoved

    def repeat(self, node: Repeat, unmoved: int, moved: int) -> int:
        entry = moved
        if node.maximum is None:
            entry = self.add(SPLIT, _FAIL, _FAIL)
            again = self.choice(node, moved, entry)
            self.first[entry], self.second[entry] = self.first[again], self.second[again]
            unmoved = entry if unmoved == moved else self.choice(node, unmoved, entry)
        else:
            for turn in reversed(range(node.maximum - node.minimum)):
                after = entry
                entry = self.choice(node, moved, after)
                if turn == 0:  # the later ones follow a turn that has consumed something
                    unmoved = entry if unmoved == moved else self.choice(node, unmoved, after)
        for _ in range(node.minimum):  # counted even if they are empty
            before = unmoved, entry
            unmoved, entry = self.compile(node.body, unmoved, entry), self.compile(node.body, entry, entry)
            if before == (unmoved, entry):
                break  # an empty body: all turns are alike, however many
        return unmoved

    def choice(self, node: Repeat, leave: int, again: int) -> int:
        """Between leaving the repetition and a turn that goes on at `again`, or leaves if it was empty."""
        turn = self.compile(node.body, leave if self.emptiness.can_be_empty(node.body) else again, again)
        return self.add(SPLIT, leave, turn) if node.lazy else self.add(SPLIT, turn, leave)

    # ---- to a program -------------------------------------------------------------------------------------------

    def asking(self) -> list[bool]:
        """For each instruction, whether a lookbehind may be met there before an atom."""
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
            if op == ATOM:
                node = self.first[i]
                lowered = known.get(id(node))
                if lowered is None:
                    known[id(node)] = lowered = lower_atom(node, regexes)
                self.first[i] = lowered

    def living(self, empty: int) -> list[bool]:
        """For each instruction, whether the match can be reached; `empty` is the id of the node without strings."""
        before: list[list[int]] = [[] for _ in self.ops]
        for i in range(len(self.ops)):
            if self.ops[i] == SPLIT:
                before[self.first[i]].append(i)
                before[self.second[i]].append(i)
            elif self.ops[i] == ATOM and self.first[i] != empty:
                before[self.second[i]].append(i)
        return _reaching([self.match], before)

    def program(self, start: int, alive: list[bool]) -> list[tuple[int, int, int]]:
        """The living instructions in a line, `start` first; an atom's successor follows it, or a jump to it does."""
        place: dict[int, int] = {}
        line: list[tuple[int, int, int]] = []
        waiting = [self.skip_dead(start, alive)]
        while waiting:
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
        """The instruction that the living one `i` amounts to, past splits of which only one side lives."""
        while self.ops[i] == SPLIT and not (alive[self.first[i]] and alive[self.second[i]]):
            i = self.first[i] if alive[self.first[i]] else self.second[i]
        return i


def _reaching(goals: list[int], before: list[list[int]]) -> list[bool]:
    """For each instruction, whether steps lead from it to one of `goals`; `before` has those one step before each."""
    reaches = [False] * len(before)
    waiting = goals
    for goal in goals:
        reaches[goal] = True
    while waiting:
        for i in before[waiting.pop()]:
            if not reaches[i]:
                reaches[i] = True
                waiting.append(i)
    return reaches


class _Decision:
    """The lookbehinds of `graph` being decided: its instructions once for each cell before them, where that matters.

    Invariant: `states` has the instruction of `decided` for each (instruction, cell) met; those in `waiting` are to be
    filled in.
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
        """Fill `decided`; returns where it starts."""
        begin = self.state(start, AT_START)
        while self.waiting:
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
        """The instruction of `decided` for instruction i of `graph` after a code point of `cell`."""
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
        """Let `here` match `atom`: as it is, or cut by cells if what comes after it asks."""
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
    """The id of a Chars or Literal; a Literal with a surrogate matches nothing, for no UTF-8 text has one."""
    if isinstance(node, Chars):
        return regexes.char_class(node.ranges)
    assert isinstance(node, Literal)
    try:
        return regexes.literal(node.text.encode())
    except UnicodeEncodeError:
        return regexes.EMPTY
