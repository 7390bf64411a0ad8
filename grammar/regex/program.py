"""Programs of threads: concatenation, alternatives and repetition as instructions, in the order in which `re` tries
them.

Instructions name their successors, so a program is built from its end to its start. Every node is compiled towards two
exits: one for "nothing has been consumed since the turn began" and one for "something has". This is needed because
after an empty turn `re` makes no other turn, but continues after the repetition (`SRE_OP_MAX_UNTIL` in CPython's
sre_lib.h). A node that may be empty is compiled once for each exit. Counts are written out.

The subclasses, in `threads` and `cuts`, define atoms and all other instructions.
"""

from __future__ import annotations

from typing import Any

from ...earley._meter import tick
from ...earley.errors import LimitError
from .ast import Behind, Chars, Concat, Literal, Node, Repeat, Union
from .lookbehind import Emptiness

MAX_INSTRUCTIONS = 1 << 15
"""The most instructions of one terminal. Beyond it, LimitError is raised."""

# Instructions, as `Regexes.ordered` and `Regexes.cuts` take them.
ATOM = 0
SPLIT = 1
JUMP = 2
MATCH = 3
BEHIND = 4
GROUP = 5
COMMIT = 6

NONE = -1
"""Stands for an instruction where there is none."""


class Program:
    """Builds the instructions of one terminal.

    - ATOM: `first` is what is read, `second` is the successor.
    - SPLIT: `first` and `second` are the successors, and `first` is preferred.
    - BEHIND: `first` is the lookbehind, `second` is the successor.
    - MATCH: the end of the program, which is instruction 0.
    """

    def __init__(self, what: str) -> None:
        self.what = what
        """What makes the terminal a program, for an error message."""
        self.ops = bytearray()
        self.first: list[Any] = []
        self.second: list[int] = []
        self.emptiness = Emptiness()
        self.compiled: dict[tuple[int, int, int], int] = {}
        self.match = self.add(MATCH, 0, NONE)

    def add(self, op: int, first: object, second: int) -> int:
        if len(self.ops) >= MAX_INSTRUCTIONS:
            raise LimitError(
                f"a terminal with {self.what} needs more than {MAX_INSTRUCTIONS} instructions; lower its counts"
            )
        if not len(self.ops) & 0xFF:
            tick()
        self.ops.append(op)
        self.first.append(first)
        self.second.append(second)
        return len(self.ops) - 1

    def atom(self, node: Node, after: int) -> int:
        """Add what reads a Chars or Literal, and return its first instruction."""
        raise NotImplementedError

    def behind(self, node: Behind, after: int) -> int:
        raise NotImplementedError

    def special(self, node: Node, unmoved: int, moved: int) -> int:
        """Compile a node that `compile` must not compile, and return its first instruction; NONE for other nodes."""
        return NONE

    def joined(self, parts: tuple[Node, ...]) -> tuple[Node, ...]:
        """Return the parts of a concatenation as they are to be compiled."""
        return parts

    def compile(self, node: Node, unmoved: int, moved: int) -> int:
        """Compile `node` and return its first instruction.

        The code is entered when nothing has been consumed since the turn began. It continues at `moved` if `node`
        consumes something, else at `unmoved`. A caller that has consumed something gives the same exit twice.
        """
        if isinstance(node, Chars) or (isinstance(node, Literal) and node.text):
            return self.atom(node, moved)
        if isinstance(node, Literal):
            return unmoved
        if isinstance(node, Behind):
            return self.behind(node, unmoved)
        key = (id(node), unmoved, moved)
        known = self.compiled.get(key)
        if known is not None:
            return known
        entry = self.special(node, unmoved, moved)
        if entry != NONE:
            pass
        elif isinstance(node, Concat):
            entry = self.concat(self.joined(node.parts), unmoved, moved)
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
        # Parts up to the first one that must consume something are entered in both ways; later ones only after
        # something has been consumed.
        leading = 0
        while leading < len(parts) and self.emptiness.can_be_empty(parts[leading]):
            leading += 1
        for index in reversed(range(len(parts))):
            if index >= leading:
                unmoved = moved = self.compile(parts[index], moved, moved)
            else:
                entry = self.compile(parts[index], unmoved, moved)
                if index and unmoved != moved:
                    moved = self.compile(parts[index], moved, moved)
                elif index:
                    moved = entry
                unmoved = entry
        return unmoved

    def repeat(self, node: Repeat, unmoved: int, moved: int) -> int:
        entry = moved
        if node.maximum is None:
            entry = self.add(SPLIT, NONE, NONE)
            again = self.choice(node, moved, entry)
            self.first[entry], self.second[entry] = self.first[again], self.second[again]
            unmoved = entry if unmoved == moved else self.choice(node, unmoved, entry)
        else:
            for turn in reversed(range(node.maximum - node.minimum)):
                after = entry
                entry = self.choice(node, moved, after)
                if turn == 0:  # the later ones follow a turn that has consumed something
                    unmoved = entry if unmoved == moved else self.choice(node, unmoved, after)
        for _ in range(node.minimum):  # these turns count even if they are empty
            before = unmoved, entry
            unmoved, entry = self.compile(node.body, unmoved, entry), self.compile(node.body, entry, entry)
            if before == (unmoved, entry):
                break  # an empty body: all turns are alike, however many
        return unmoved

    def choice(self, node: Repeat, leave: int, again: int) -> int:
        """Add the choice between leaving the repetition and one more turn, which continues at `again`, or leaves if it
        was empty."""
        turn = self.compile(node.body, leave if self.emptiness.can_be_empty(node.body) else again, again)
        return self.add(SPLIT, leave, turn) if node.lazy else self.add(SPLIT, turn, leave)
