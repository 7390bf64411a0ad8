"""Terminals with lookarounds or atomic groups as programs of threads in groups that cuts end (`earley/_cuts`).

Two readings of a terminal:

- *whole*: it is a text of its own, nothing precedes and nothing follows it;
- *within*: it is a lexeme, and text may precede and follow it. What precedes is never looked at: a lookbehind that
  could reach there is refused. What follows is looked at as far as its lookaheads reach. The terminal then denotes a
  union of (language, condition on how the text goes on). How far that has to look is not guessed from how the terminal
  is written but decided, by reading on from all states in which the terminal may end, one code point of each *cell*:
  the code points that its lookaheads do not tell apart. Texts with the same condition are one language.

Where neither an atomic group nor a lazy quantifier asks for an order, parts without lookarounds
become single atoms, counts and all.

Cost: one visit a node and exit; where what follows matters, one visit of the states of the program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...earley.errors import LimitError
from ..errors import RegexSyntaxError
from . import codepoints
from .ast import Atomic, Behind, Chars, Concat, Literal, Look, Node, Ranges, Repeat, Union
from .conditions import ANYTHING, NOTHING
from .lookaround import INFINITE, behind, widths
from .lookbehind import refuse
from .plain import Plain
from .program import ATOM, BEHIND, COMMIT, GROUP, JUMP, NONE, SPLIT, Program
from .threads import lower_atom

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...earley._regex import Regexes
    from .conditions import Definition

MAX_CELLS = 256
MAX_AHEAD = 64
"""Code points beyond a terminal that its lookaheads may look at: as in `_regex.pyx`."""

MAX_ENDINGS = 64

_CONTEXT_HINT = (
    "let the terminal end in \\b or (?!...) so that a few characters decide, or write the context into the rules"
)


class Context(NamedTuple):
    """One of the languages that a terminal denotes, depending on what follows it."""

    node: int
    condition: int
    """What must follow: ANYTHING, or 2 + i for rows[i]."""
    definitions: tuple[Definition, ...]
    """Conditions as in `conditions.Conditions.read`."""


def whole(node: Node, regexes: Regexes) -> int:
    """The language of the texts that `node` matches as a whole."""
    node = lookaheads_outside(node)
    builder = _Builder(regexes, ordered=False)
    return builder.question(builder.build(node))


def within(node: Node, regexes: Regexes, ordered: bool) -> list[Context]:
    """What `node` denotes as a terminal among others, see above; `ordered`: what its preferred match consumes whole.

    One Context that anything may follow where nothing is asked of what follows. Raises RegexSyntaxError for lookarounds
    that reach too far.
    """
    node = lookaheads_outside(node)
    extent = Extent()
    extent.walk(node, 0, 0)
    builder = _Builder(regexes, ordered)
    start = builder.build(node)
    if extent.first is None:
        return [Context(builder.question(start), ANYTHING, ())]
    cells = _cells(node, looked_for=True)
    points = [_representative(cell) for cell in cells]
    # One text for each kind of character that the terminal tells apart leads to all its states.
    texts = [chr(_representative(cell)).encode() for cell in _cells(node, looked_for=False)]
    answer = regexes.cut_followings(builder.question(start, points), texts)
    if answer is None:
        raise RegexSyntaxError(
            f"the lookahead reaches more than {MAX_AHEAD} characters beyond the end of the terminal, "
            "which is not supported",
            extent.first.position,
            _CONTEXT_HINT,
        )
    followings, found = answer
    found.discard(NOTHING)
    if not found:
        return [Context(regexes.EMPTY, ANYTHING, ())]
    if found == {ANYTHING}:
        return [Context(builder.question(start), ANYTHING, ())]
    definitions = tuple([(row[0] != 0, tuple(zip(cells, row[1:], strict=True))) for row in followings])
    return [
        Context(builder.question(start, points, followings, number), number, definitions) for number in sorted(found)
    ]


def _representative(cell: Ranges) -> int:
    """A code point of the cell that is no surrogate."""
    for first, last in cell:
        if first < 0xD800 or first > 0xDFFF:
            return first
        if last > 0xDFFF:
            return 0xE000
    return -1


def _cells(node: Node, looked_for: bool) -> list[Ranges]:
    """The partition of Unicode by the classes in the terminal, or only by those that stand in its lookaheads."""
    classes: set[Ranges] = set()
    _collect(node, not looked_for, classes)
    cells = [codepoints.ALL]
    for ranges in classes:
        outside = codepoints.complement(ranges)
        halves = [codepoints.intersection(cell, half) for cell in cells for half in (ranges, outside)]
        cells = [half for half in halves if half and _representative(half) >= 0]
        if len(cells) > MAX_CELLS:
            raise LimitError(
                f"a terminal with lookaheads cuts Unicode into more than {MAX_CELLS} parts; use fewer classes"
            )
    return cells


def _collect(node: Node, inside: bool, classes: set[Ranges]) -> None:
    """The classes of the node; unless `inside`, those in its lookaheads."""
    if isinstance(node, Look):
        _collect(node.body, inside or node.ahead, classes)
    elif isinstance(node, (Atomic, Repeat)):
        _collect(node.body, inside, classes)
    elif isinstance(node, Concat):
        for part in node.parts:
            _collect(part, inside, classes)
    elif isinstance(node, Union):
        for part in node.alternatives:
            _collect(part, inside, classes)
    elif inside:
        if isinstance(node, Chars):
            classes.add(node.ranges)
        elif isinstance(node, Behind):
            classes.add(node.chars.ranges)
        elif isinstance(node, Literal):
            for char in node.text:
                classes.add(((ord(char), ord(char)),))


class _Builder(Program):
    """The program of one terminal being made."""

    def __init__(self, regexes: Regexes, ordered: bool) -> None:
        # Where the next instruction stands: in whose body, and whether the order of threads matters there.
        self.owner = NONE
        self.ordered = ordered
        self.owners: list[int] = []
        super().__init__("lookarounds or atomic groups")
        self.regexes = regexes
        self.cuts_at_match = ordered
        self.groups: list[tuple[int, bool, int, int]] = []
        self.oracles: dict[int, int] = {}  # node: its number
        self.plains: dict[int, bool] = {}
        self.shared = Plain(regexes)
        self.made: list[Node] = []  # kept alive: nodes are remembered by identity
        self.program: list[tuple[int, int, int, int, int]] = []

    def add(self, op: int, first: object, second: int) -> int:
        self.owners.append(self.owner)
        return super().add(op, first, second)

    def build(self, node: Node) -> int:
        """Where `node`, the whole terminal, is entered."""
        return self.compile(node, self.match, self.match)

    # ---- from nodes ---------------------------------------------------------------------------------------------

    def atom(self, node: Node, after: int) -> int:
        return self.add(ATOM, lower_atom(node, self.regexes), after)

    def behind(self, node: Behind, after: int) -> int:
        return self.add(BEHIND, 2 * self.oracle(node.chars) + node.negative, after)

    def special(self, node: Node, unmoved: int, moved: int) -> int:
        if not self.ordered and self.plain(node):
            lowered = self.shared.lower(node)
            entry = self.add(ATOM, lowered, moved)
            return self.add(SPLIT, entry, unmoved) if self.regexes.is_nullable(lowered) else entry
        if isinstance(node, Look):
            return self.look(node, unmoved)
        if isinstance(node, Atomic):
            return self.atomic(node, unmoved, moved)
        return NONE

    def look(self, node: Look, unmoved: int) -> int:
        if not node.ahead:
            return self.add(BEHIND, 2 * self.oracle_of(node) + node.negative, unmoved)
        if node.negative:
            return self.group(True, unmoved, lambda done: self.compile(node.body, done, done))
        # "It does not hold that it does not match."
        return self.group(
            True,
            unmoved,
            lambda outer: self.group(True, outer, lambda done: self.compile(node.body, done, done)),
        )

    def group(self, look: bool, otherwise: int, body: Callable[[int], int]) -> int:
        """A group that goes on at `otherwise` unless `body`, made towards what it is given, completes."""
        number = self.open_group(look)
        around = self.owner, self.ordered
        self.owner, self.ordered = number, False
        entry = body(self.add(COMMIT, number, NONE))
        self.owner, self.ordered = around
        self.groups[number] = (self.owner, look, entry, otherwise)
        return self.add(GROUP, number, NONE)

    def atomic(self, node: Atomic, unmoved: int, moved: int) -> int:
        number = self.open_group(False)
        around = self.owner, self.ordered
        self.owner, self.ordered = number, True
        entry = self.compile(node.body, self.add(COMMIT, number, unmoved), self.add(COMMIT, number, moved))
        self.owner, self.ordered = around
        self.groups[number] = (self.owner, False, entry, NONE)
        return self.add(GROUP, number, NONE)

    def open_group(self, look: bool) -> int:
        self.groups.append((self.owner, look, 0, NONE))
        return len(self.groups) - 1

    def joined(self, parts: tuple[Node, ...]) -> tuple[Node, ...]:
        """The parts; where order does not matter, neighbours without lookarounds as one."""
        if self.ordered:
            return parts
        result: list[Node] = []
        run: list[Node] = []
        for part in (*parts, None):
            if part is not None and self.plain(part):
                run.append(part)
                continue
            if run:
                result.append(run[0] if len(run) == 1 else self.keep(Concat(tuple(run))))
                run = []
            if part is not None:
                result.append(part)
        return tuple(result)

    def keep(self, node: Node) -> Node:
        self.made.append(node)
        return node

    # ---- regexes ------------------------------------------------------------------------------------------------

    def plain(self, node: Node) -> bool:
        """Whether there is neither a lookaround nor an atomic group in it."""
        known = self.plains.get(id(node))
        if known is None:
            if isinstance(node, (Look, Behind, Atomic)):
                known = False
            elif isinstance(node, Repeat):
                known = self.plain(node.body)
            elif isinstance(node, Concat):
                known = False not in [self.plain(part) for part in node.parts]
            elif isinstance(node, Union):
                known = False not in [self.plain(part) for part in node.alternatives]
            else:
                known = True
            self.plains[id(node)] = known
        return known

    def oracle(self, body: Node) -> int:
        """The number of the regex for texts that end in `body`, which is plain."""
        anything = self.regexes.repeat(self.regexes.char_class(codepoints.ALL), 0)
        return self.numbered(self.regexes.concat([anything, self.shared.lower(body)]))

    def oracle_of(self, node: Look) -> int:
        if self.plain(node.body):
            return self.oracle(node.body)
        # What such a body asks is decided when it has been read, so it can be a terminal of its own.
        return self.numbered(whole(Concat((Repeat(Chars(codepoints.ALL), 0, None), node.body)), self.regexes))

    def numbered(self, oracle: int) -> int:
        return self.oracles.setdefault(oracle, len(self.oracles))

    # ---- to a program -------------------------------------------------------------------------------------------

    def question(
        self, start: int, points: Sequence[int] = (), followings: Sequence[tuple[int, ...]] = (), question: int = 0
    ) -> int:
        """The id of the program's language; see `Regexes.cuts`."""
        if not self.program:
            self.finish(start)
        oracles = list(self.oracles)
        return self.regexes.cuts(self.program, self.groups, oracles, points, followings, question, self.cuts_at_match)

    def finish(self, start: int) -> None:
        """Number the instructions that are reached, `start` first, and find out which oracles are asked from where."""
        order = [start]
        places = {start: 0}
        for i in order:  # grows while it is read
            for after in self.successors(i):
                if after not in places:
                    places[after] = len(order)
                    order.append(after)
        asks = [1 << (self.first[i] >> 1) if self.ops[i] == BEHIND else 0 for i in order]
        before: list[list[int]] = [[] for _ in order]
        for place, i in enumerate(order):
            for after in self.successors(i):
                before[places[after]].append(place)
        waiting = [place for place, mask in enumerate(asks) if mask]
        while waiting:
            place = waiting.pop()
            for previous in before[place]:
                if asks[place] & ~asks[previous]:
                    asks[previous] |= asks[place]
                    waiting.append(previous)
        self.groups = [
            (parent, look, places.get(body, 0), places.get(otherwise, NONE))
            for parent, look, body, otherwise in self.groups
        ]
        for place, i in enumerate(order):
            op, x, y = self.ops[i], self.first[i], self.second[i]
            if op in (SPLIT, JUMP):
                x = places[x]
            if op in (ATOM, SPLIT, BEHIND, COMMIT):
                y = places[y] if y >= 0 else NONE
            self.program.append((op, x, y if op != JUMP else x, self.owners[i], asks[place]))

    def successors(self, i: int) -> list[int]:
        op = self.ops[i]
        if op == SPLIT:
            return [self.first[i], self.second[i]]
        if op == GROUP:
            _, _, body, otherwise = self.groups[self.first[i]]
            return [body, otherwise] if otherwise >= 0 else [body]
        if op in (ATOM, BEHIND, COMMIT) and self.second[i] >= 0:
            return [self.second[i]]
        return []


def lookaheads_outside(node: Node) -> Node:
    """A node with the same meaning, in which no lookbehind looks beyond the place that asks.

    Raises RegexSyntaxError where a lookahead in the middle of a lookbehind looks beyond its end.
    """
    if isinstance(node, Look):
        body = lookaheads_outside(node.body)
        if not node.ahead and _first_beyond(body) is not None:
            return _apart(Look(body, False, node.negative, node.position))
        return node if body is node.body else Look(body, node.ahead, node.negative, node.position)
    if isinstance(node, Repeat):
        body = lookaheads_outside(node.body)
        return node if body is node.body else Repeat(body, node.minimum, node.maximum, node.lazy)
    if isinstance(node, Atomic):
        body = lookaheads_outside(node.body)
        return node if body is node.body else Atomic(body)
    if isinstance(node, Concat):
        parts = [lookaheads_outside(part) for part in node.parts]
        return node if _same(parts, node.parts) else Concat(tuple(parts))
    if isinstance(node, Union):
        parts = [lookaheads_outside(part) for part in node.alternatives]
        return node if _same(parts, node.alternatives) else Union(tuple(parts))
    return node


def _same(parts: list[Node], others: tuple[Node, ...]) -> bool:
    return all(part is other for part, other in zip(parts, others, strict=True))


def _first_beyond(body: Node) -> Look | None:
    """A lookahead in the body of a lookbehind that may look beyond its end."""
    extent = Extent()
    extent.walk(body, INFINITE, 0)
    return extent.first


def _apart(node: Look) -> Look:
    """A lookbehind whose alternatives end in lookaheads: "it was X here, and there is Y ahead", as a lookahead."""
    alternatives: list[Node] = []
    for before, after in _endings(node.body):
        body: Node = before[0] if len(before) == 1 else Concat(tuple(before)) if before else Literal("")
        beyond = _first_beyond(body)
        if beyond is not None:
            raise RegexSyntaxError(
                "a lookahead inside a lookbehind looks beyond its end", beyond.position, "put it behind the lookbehind"
            )
        alternatives.append(Concat((behind(body, False, node.position), *after)))
    return Look(Union(tuple(alternatives)), True, node.negative, node.position)


def _endings(node: Node) -> list[tuple[list[Node], list[Node]]]:
    """The ways through a node: (what precedes, the lookaheads at the end)."""
    if isinstance(node, Look) and node.ahead:
        return [([], [node])]
    if isinstance(node, Union):
        return [way for alternative in node.alternatives for way in _endings(alternative)]
    if not isinstance(node, Concat):
        return [([node], [])]
    ways: list[tuple[list[Node], list[Node]]] = [([], [])]
    for part in reversed(node.parts):
        longer: list[tuple[list[Node], list[Node]]] = []
        for before, after in ways:
            if any(widths(each)[1] for each in before):
                longer.append(([part, *before], after))
            else:  # what has no width can change places
                longer += [([*first, *before], [*looks, *after]) for first, looks in _endings(part)]
        ways = longer
        if len(ways) > MAX_ENDINGS:
            raise LimitError(f"a lookbehind ends in lookaheads in more than {MAX_ENDINGS} ways; put them behind it")
    return ways


class Extent:
    """How far the lookarounds of a terminal look beyond it."""

    def __init__(self) -> None:
        self.first: Look | None = None
        """A lookahead that may look beyond the end: the first of them that is met."""

    def walk(self, node: Node, before: float, after: float) -> None:
        """`before`, `after`: code points of the terminal that surely stand there.

        Refuses lookbehinds that reach out."""
        if isinstance(node, Behind):
            if before < 1:
                raise refuse(node)
        elif isinstance(node, Look):
            if node.ahead:
                if self.reach(node.body) > after and self.first is None:
                    self.first = node
                # Its own lookbehinds see what stands before it, its lookaheads are part of its reach.
                self.walk_inside(node.body, before)
            elif self.reach_behind(node.body) > before:
                raise RegexSyntaxError(
                    "lookbehind would look at the text before the terminal, which is not supported",
                    node.position,
                    "put what must precede into the same terminal",
                )
        elif isinstance(node, Atomic):
            self.walk(node.body, before, after)
        elif isinstance(node, Repeat):
            if node.maximum != 0:
                self.walk(node.body, before, after)
        elif isinstance(node, Union):
            for alternative in node.alternatives:
                self.walk(alternative, before, after)
        elif isinstance(node, Concat):
            least = [widths(part)[0] for part in node.parts]
            following = sum(least)
            for part, width in zip(node.parts, least, strict=True):
                following -= width
                self.walk(part, before, after + following)
                before += width

    def walk_inside(self, body: Node, before: float) -> None:
        """Lookbehinds within a lookahead."""
        outer = self.first
        self.walk(body, before, INFINITE)
        self.first = outer

    def reach(self, node: Node) -> float:
        """How many code points `node` looks at, at most, from its beginning on."""
        if isinstance(node, Concat):
            furthest: float = 0
            width: float = 0
            for part in node.parts:
                furthest = max(furthest, width + self.reach(part))
                width += widths(part)[1]
            return furthest
        if isinstance(node, Union):
            return max([self.reach(part) for part in node.alternatives], default=0)
        if isinstance(node, Repeat):
            if node.maximum == 0:
                return 0
            longest = widths(node.body)[1]
            turns = INFINITE if node.maximum is None else node.maximum - 1
            return self.reach(node.body) + (turns * longest if longest else 0)
        if isinstance(node, Look):
            return self.reach(node.body) if node.ahead else 0
        if isinstance(node, Atomic):
            return self.reach(node.body)
        return widths(node)[1]

    def reach_behind(self, node: Node) -> float:
        """How many code points before its end `node` looks at, at most, with lookbehinds at its beginning."""
        return widths(node)[1] + self.looks_behind(node)

    def looks_behind(self, node: Node) -> float:
        if isinstance(node, Behind):
            return 1
        if isinstance(node, Look):
            return self.reach_behind(node.body)
        if isinstance(node, (Repeat, Atomic)):
            return self.looks_behind(node.body)
        parts: tuple[Node, ...] = ()
        if isinstance(node, Concat):
            parts = node.parts
        elif isinstance(node, Union):
            parts = node.alternatives
        return max([self.looks_behind(part) for part in parts], default=0)
