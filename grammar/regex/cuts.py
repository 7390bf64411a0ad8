"""Terminals with lookarounds or atomic groups: programs of threads in groups that cuts end (`earley/_cuts`).

A terminal is read in one of two ways:

- *whole*: it is a text of its own. Nothing precedes it and nothing follows it.
- *within*: it is a lexeme, and text may precede and follow it. The text before it is never looked at: a lookbehind that
  could reach it is refused. The text after it is looked at as far as the lookaheads reach. The terminal then denotes a
  union of languages, each with a condition on the following text. Texts with the same condition are one language.

How far a terminal looks ahead is not estimated from the pattern but decided: from all states in which the terminal may
end, the program reads on, one code point of each *cell* at a time. A cell is a set of code points that no lookahead of
the terminal distinguishes.

If neither an atomic group nor a lazy quantifier demands an order, parts without lookarounds become single atoms, counts
included.

Cost: one visit for each pair of node and exit; if the following text matters, one visit for each state of the program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...earley._meter import tick
from ...earley.errors import LimitError
from ..errors import RegexSyntaxError
from . import codepoints
from .ast import INFINITE, Atomic, Behind, Chars, Concat, Literal, Look, Node, Ranges, Repeat, Union, widths
from .cells import divide, representative
from .conditions import ANYTHING, NOTHING
from .lookaround import behind
from .lookbehind import refuse
from .plain import Plain
from .program import ATOM, BEHIND, COMMIT, GROUP, JUMP, NONE, SPLIT, Program
from .threads import lower_atom

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...earley._regex import Regexes
    from .conditions import Definition

MAX_AHEAD = 64
"""The most code points after a terminal that its lookaheads may look at, for a message. `earley/_cuts.pyx` enforces
it."""

MAX_ENDINGS = 64
"""The most ways through a lookbehind that may end in lookaheads: each becomes an alternative. Beyond it, LimitError is
raised."""

_CONTEXT_HINT = (
    "let the terminal end in \\b or (?!...) so that a few characters decide, or write the context into the rules"
)


class Looks:
    """Which nodes of one terminal hold a lookaround or an atomic group. Answers are kept by identity, so the nodes must
    live as long as this object."""

    def __init__(self) -> None:
        self.known: dict[int, bool] = {}

    def nowhere_in(self, node: Node) -> bool:
        """Tell whether the node holds neither a lookaround nor an atomic group."""
        if isinstance(node, (Chars, Literal)):
            return True
        if isinstance(node, (Look, Behind, Atomic)):
            return False
        known = self.known.get(id(node))
        if known is None:
            known = True
            for part in _parts(node):
                if not isinstance(part, (Chars, Literal)) and not self.nowhere_in(part):
                    known = False
                    break
            self.known[id(node)] = known
        return known


def _parts(node: Node) -> tuple[Node, ...]:
    if isinstance(node, Concat):
        return node.parts
    if isinstance(node, Union):
        return node.alternatives
    return (node.body,) if isinstance(node, (Repeat, Atomic, Look)) else ()


class Context(NamedTuple):
    """One of the languages that a terminal denotes, with what must follow it."""

    node: int
    condition: int
    """What must follow: ANYTHING, or 2 + i for definitions[i]."""
    definitions: tuple[Definition, ...]
    """The conditions of the terminal, as `Conditions.read` takes them."""
    found_later: FoundLater | None = None
    """If the parser finds out what must follow a text when it has read it: how to avoid that."""


class FoundLater:
    """Texts of which the parser finds out what must follow them, for a grammar that knows what can follow at all."""

    def __init__(
        self,
        builder: _Builder,
        start: int,
        loose: int,
        inside: Ranges,
        outside: list[Ranges],
        cells: list[Ranges],
        unclassed: Ranges,
    ) -> None:
        self.builder = builder
        self.start = start
        self.loose = loose
        """What the terminal matches without its lookaheads."""
        self.inside = inside
        """Code points at which a lookahead can read on."""
        self.outside = outside
        """Cells of the others, each of which decides at once."""
        self.cells = cells
        """Sets of code points that no lookahead of the terminal distinguishes."""
        self.unclassed = unclassed
        """The cell that is in no class of the lookaheads. They do not distinguish it from the end of the text."""

    def node(self, question: int, cells: list[Ranges]) -> int:
        return self.builder.question(self.start, [representative(cell) for cell in cells], (), question)

    def settled_texts(self, cells: list[Ranges]) -> int:
        """Return the language of the texts that demand something, but that the end of the text or any of these cells
        may follow, whatever comes after it."""
        return self.node(self.builder.regexes.OUTSIDE, cells)

    def before(self, text: str, last: bool) -> int:
        """Return the language of the texts that demand something, but not if they come before this text; if `last`, not
        if the text ends after it, too."""
        question = self.builder.regexes.LAST if last else self.builder.regexes.BEFORE
        return self.builder.question(self.start, [ord(char) for char in text], (), question)

    def cell_of(self, code: int) -> Ranges:
        return next(cell for cell in self.cells if codepoints.contains(cell, code))

    def settled(self, cells: list[Ranges]) -> int | None:
        """Return the language of the terminal if only the end of the text and these cells of `outside` can follow; None
        if it depends on which of them does."""
        regexes = self.builder.regexes
        for cell in cells:
            if cell != self.unclassed and not regexes.is_empty(self.node(regexes.MIXED, cells)):
                return None
        return regexes.union([self.node(regexes.DECIDED, cells), self.node(regexes.OUTSIDE, cells)])


def whole(node: Node, regexes: Regexes) -> int:
    """Return the id of the language of the texts that `node` matches as a whole."""
    node = lookaheads_outside(node, Looks())
    builder = _Builder(regexes, ordered=False)
    return builder.question(builder.build(node))


def within(
    node: Node, regexes: Regexes, ordered: bool, lower: Callable[[Node, Regexes], int] | None = None
) -> list[Context]:
    """Return what `node` denotes as a terminal among others. If `ordered`, these are the texts that its preferred match
    consumes entirely.

    If no lookahead looks at the following text, the result is one Context that anything may follow. With
    `lower`, which lowers terminals without lookaheads, one Context may stand for all texts of which the parser itself
    finds out what must follow them. Raises RegexSyntaxError for lookarounds that reach too far.
    """
    node = lookaheads_outside(node, Looks())
    extent = Extent()
    extent.walk(node, 0, 0)
    builder = _Builder(regexes, ordered)
    start = builder.build(node)
    if extent.first is None:
        return [Context(builder.question(start), ANYTHING, ())]
    cells, unclassed = _cells(node, in_lookaheads=True)
    if lower is not None and not ordered and 1 < extent.furthest <= MAX_AHEAD and not _ends_deciding(node, extent):
        contexts = _found_by_the_parser(node, builder, start, cells, unclassed, extent, lower)
        if contexts:
            return contexts
    points = [representative(cell) for cell in cells]
    # Texts of one character of each kind that the terminal distinguishes lead to all its states.
    texts = [chr(representative(cell)).encode() for cell in _cells(node, in_lookaheads=False)[0]]
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


def _found_by_the_parser(
    node: Node,
    builder: _Builder,
    start: int,
    cells: list[Ranges],
    unclassed: Ranges,
    extent: Extent,
    lower: Callable[[Node, Regexes], int],
) -> list[Context]:
    """Return the contexts of a terminal whose lookaheads look at more than one character after it, if the parser can
    find out what must follow each text. Nothing is computed in advance, so the number of words in a lookahead does not
    matter.

    Most of what may follow a name decides at once, such as a blank or a comma: code points at which no lookahead can
    read on are `outside`. Only texts that a code point `inside` or a refuting one follows need the parser's attention.
    """
    regexes = builder.regexes
    classes: set[Ranges] = set()
    _read_on(node, False, extent, classes)
    inside = codepoints.normalize([pair for ranges in classes for pair in ranges])
    outside = [cell for cell in cells if not codepoints.contains(inside, cell[0][0])]
    loose = lower(_without_lookaheads(node), regexes)
    later = FoundLater(builder, start, loose, inside, outside, cells, unclassed)
    undecided = later.node(regexes.OPEN, outside)
    decided = later.node(regexes.DECIDED, outside)
    settled = later.settled_texts(outside)
    if not inside or regexes.is_nullable(loose) or (regexes.is_empty(decided) and regexes.is_empty(settled)):
        return []
    ranges = codepoints.complement(inside)
    definitions: tuple[Definition, ...] = ((True, ((ranges, ANYTHING),) if outside else ()),)
    return [
        Context(decided, ANYTHING, definitions),
        Context(settled, 2, definitions),
        Context(undecided, ANYTHING, definitions, later),
    ]


def _ends_deciding(node: Node, extent: Extent) -> bool:
    """Tell whether every text of the node ends in lookaheads at one character, as in `\\b`. Then that character decides
    about most words, and conditions are few."""
    if isinstance(node, Concat):
        for part in reversed(node.parts):
            if not (isinstance(part, Look) and part.ahead):
                return part is not node.parts[-1] or _ends_deciding(part, extent)
            if extent.reach(part.body) > 1:
                return False
        return False
    if isinstance(node, Union):
        return all([_ends_deciding(part, extent) for part in node.alternatives])
    return isinstance(node, Look) and node.ahead and extent.reach(node.body) <= 1


def _without_lookaheads(node: Node) -> Node:
    if isinstance(node, Look):
        return Literal("") if node.ahead else node
    if isinstance(node, Repeat):
        return Repeat(_without_lookaheads(node.body), node.minimum, node.maximum, node.lazy)
    if isinstance(node, Concat):
        return Concat(tuple([_without_lookaheads(part) for part in node.parts]))
    if isinstance(node, Union):
        return Union(tuple([_without_lookaheads(part) for part in node.alternatives]))
    return node


def _read_on(node: Node, inside: bool, extent: Extent, classes: set[Ranges]) -> None:
    """Add the classes of the code points at which some lookahead can read on to `classes`. Unless `inside`, the node is
    in no lookahead. A lookahead in a lookahead does not read on if it looks at one code point only, as `\\b` does."""
    if isinstance(node, Look):
        if node.ahead and (not inside or extent.reach(node.body) > 1):
            _read_on(node.body, True, extent, classes)
    elif extent.looks.nowhere_in(node):
        if inside:
            _collect(node, True, classes)
    elif isinstance(node, (Atomic, Repeat)):
        _read_on(node.body, inside, extent, classes)
    elif isinstance(node, (Concat, Union)):
        for part in node.parts if isinstance(node, Concat) else node.alternatives:
            _read_on(part, inside, extent, classes)


def _cells(node: Node, in_lookaheads: bool) -> tuple[list[Ranges], Ranges]:
    """Divide Unicode by the classes of the terminal, see `divide`. If `in_lookaheads`, only those in its lookaheads
    count."""
    classes: set[Ranges] = set()
    _collect(node, not in_lookaheads, classes)
    return divide(classes)


def _collect(node: Node, inside: bool, classes: set[Ranges]) -> None:
    """Add the classes of the node to `classes`; unless `inside`, only those in its lookaheads."""
    if isinstance(node, Chars):
        if inside:
            classes.add(node.ranges)
    elif isinstance(node, Behind):
        if inside:
            classes.add(node.chars.ranges)
    elif isinstance(node, Literal):
        if inside:
            for char in node.text:
                classes.add(((ord(char), ord(char)),))
    else:
        inside = inside or (isinstance(node, Look) and node.ahead)
        for part in _parts(node):
            _collect(part, inside, classes)


class _Builder(Program):
    """Builds the program of one terminal."""

    def __init__(self, regexes: Regexes, ordered: bool) -> None:
        # For the next instruction: the group in whose body it is, and whether the order of threads matters there.
        self.owner = NONE
        self.ordered = ordered
        self.owners: list[int] = []
        super().__init__("lookarounds or atomic groups")
        self.regexes = regexes
        self.cuts_at_match = ordered
        self.groups: list[tuple[int, bool, int, int]] = []
        self.oracles: dict[int, int] = {}  # by regex node of a lookbehind: its number
        self.looks = Looks()
        self.shared = Plain(regexes)
        self.made: list[Node] = []  # nodes to keep alive, since other tables identify nodes by identity
        self.program: list[tuple[int, int, int, int, int]] = []

    def add(self, op: int, first: object, second: int) -> int:
        self.owners.append(self.owner)
        return super().add(op, first, second)

    def build(self, node: Node) -> int:
        """Compile `node`, the whole terminal, and return its first instruction."""
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
        # A positive lookahead is a double negation: it is false that the body does not match.
        return self.group(
            True,
            unmoved,
            lambda outer: self.group(True, outer, lambda done: self.compile(node.body, done, done)),
        )

    def group(self, look: bool, otherwise: int, body: Callable[[int], int]) -> int:
        """Add a group that continues at `otherwise` unless its body completes. `body` compiles the body towards the
        instruction that it gets."""
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
        """Return the parts; if order does not matter, neighbours without lookarounds are joined to one."""
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
        """Tell whether the node has neither a lookaround nor an atomic group in it."""
        return self.looks.nowhere_in(node)

    def oracle(self, body: Node) -> int:
        """Return the number of the regex for texts that end in `body`, which is plain."""
        anything = self.regexes.repeat(self.regexes.char_class(codepoints.ALL), 0)
        return self.numbered(self.regexes.concat([anything, self.shared.lower(body)]))

    def oracle_of(self, node: Look) -> int:
        if self.plain(node.body):
            return self.oracle(node.body)
        # Its lookarounds are decided when its text has been read, so the body can be a terminal of its own.
        return self.numbered(whole(Concat((Repeat(Chars(codepoints.ALL), 0, None), node.body)), self.regexes))

    def numbered(self, oracle: int) -> int:
        return self.oracles.setdefault(oracle, len(self.oracles))

    # ---- to a program -------------------------------------------------------------------------------------------

    def question(
        self, start: int, points: Sequence[int] = (), followings: Sequence[tuple[int, ...]] = (), question: int = 0
    ) -> int:
        """Return the id of the program's language, see `Regexes.cuts`."""
        if not self.program:
            self.finish(start)
        oracles = list(self.oracles)
        return self.regexes.cuts(self.program, self.groups, oracles, points, followings, question, self.cuts_at_match)

    def finish(self, start: int) -> None:
        """Number the instructions that are reached, `start` first, and find the oracles that each of them may ask."""
        order = [start]
        places = {start: 0}
        for i in order:  # grows while it is read
            tick()
            for after in self.successors(i):
                if after not in places:
                    places[after] = len(order)
                    order.append(after)
        asks = [1 << (self.first[i] >> 1) if self.ops[i] == BEHIND else 0 for i in order]
        before: list[list[int]] = [[] for _ in order]
        for place, i in enumerate(order):
            tick()
            for after in self.successors(i):
                before[places[after]].append(place)
        waiting = [place for place, mask in enumerate(asks) if mask]
        while waiting:
            tick()
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


def lookaheads_outside(node: Node, looks: Looks) -> Node:
    """Return a node with the same meaning, in which no lookahead within a lookbehind looks beyond the lookbehind's end.

    A lookbehind is decided when its text has been read: it is a question about the text before it. `(?<=a\\b)` also
    asks about the text after it, and is split into `(?<=a)` and `\\b`. A lookahead that ends before its lookbehind
    does, as in `(?<=\\bab)`, is decided by then and stays.

    Raises RegexSyntaxError for a lookahead in the middle of a lookbehind that looks beyond the lookbehind's end.
    """
    if looks.nowhere_in(node):
        return node
    if isinstance(node, Look):
        body = lookaheads_outside(node.body, looks)
        if not node.ahead and _first_beyond(body) is not None:
            return _apart(Look(body, False, node.negative, node.position))
        return node if body is node.body else Look(body, node.ahead, node.negative, node.position)
    if isinstance(node, Repeat):
        body = lookaheads_outside(node.body, looks)
        return node if body is node.body else Repeat(body, node.minimum, node.maximum, node.lazy)
    if isinstance(node, Atomic):
        body = lookaheads_outside(node.body, looks)
        return node if body is node.body else Atomic(body)
    if isinstance(node, Concat):
        parts = [lookaheads_outside(part, looks) for part in node.parts]
        return node if _same(parts, node.parts) else Concat(tuple(parts))
    if isinstance(node, Union):
        parts = [lookaheads_outside(part, looks) for part in node.alternatives]
        return node if _same(parts, node.alternatives) else Union(tuple(parts))
    return node


def _same(parts: list[Node], others: tuple[Node, ...]) -> bool:
    return all([part is other for part, other in zip(parts, others, strict=True)])


def _first_beyond(body: Node) -> Look | None:
    """Return a lookahead in the body of a lookbehind that may look beyond the end of the body, or None."""
    extent = Extent()
    extent.walk(body, INFINITE, 0)
    return extent.first


def _apart(node: Look) -> Look:
    """Return a lookahead for a lookbehind whose alternatives end in lookaheads: for each of them, that X precedes this
    place and Y follows it."""
    alternatives: list[Node] = []
    for before, after in _endings(node.body):
        body: Node = before[0] if len(before) == 1 else Concat(tuple(before)) if before else Literal("")
        beyond = _first_beyond(body)
        if beyond is not None:
            raise RegexSyntaxError(
                "a lookahead inside a lookbehind looks beyond the end of the lookbehind",
                beyond.position,
                "put the lookahead after the lookbehind",
            )
        alternatives.append(Concat((behind(body, False, node.position), *after)))
    return Look(Union(tuple(alternatives)), True, node.negative, node.position)


def _endings(node: Node) -> list[tuple[list[Node], list[Node]]]:
    """Return the ways through a node, each as (the parts before its last lookaheads, these lookaheads)."""
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
            if any([widths(each)[1] for each in before]):
                longer.append(([part, *before], after))
            else:  # parts without width can change places
                longer += [([*first, *before], [*looks, *after]) for first, looks in _endings(part)]
        ways = longer
        if len(ways) > MAX_ENDINGS:
            raise LimitError(f"a lookbehind ends in lookaheads in more than {MAX_ENDINGS} ways; put them after it")
    return ways


class Extent:
    """How far the lookarounds of a terminal look beyond it."""

    def __init__(self) -> None:
        self.first: Look | None = None
        """The first lookahead that may look beyond the end of the terminal."""
        self.furthest: float = 0
        """The most code points after the terminal at which a lookahead may look."""
        self.looks = Looks()
        self.known: dict[int, tuple[int, float]] = {}  # by identity of a node: `widths` of it

    def widths(self, node: Node) -> tuple[int, float]:
        known = self.known.get(id(node))
        if known is None:
            self.known[id(node)] = known = widths(node)
        return known

    def walk(self, node: Node, before: float, after: float) -> None:
        """Visit a part of the terminal. At least `before` and `after` code points of the terminal stand before and
        after it. Raises RegexSyntaxError for a lookbehind that may look at text before the terminal."""
        if self.looks.nowhere_in(node):
            return
        if isinstance(node, Behind):
            if before < 1:
                raise refuse(node)
        elif isinstance(node, Look):
            if node.ahead:
                beyond = self.reach(node.body) - after
                if beyond > 0 and self.first is None:
                    self.first = node
                self.furthest = max(self.furthest, beyond)
                # Its lookbehinds see the text before it; its lookaheads are part of its reach.
                self.walk_inside(node.body, before)
            elif self.reach_behind(node.body) > before:
                raise refuse(node)
        elif isinstance(node, Atomic):
            self.walk(node.body, before, after)
        elif isinstance(node, Repeat):
            if node.maximum != 0:
                self.walk(node.body, before, after)
        elif isinstance(node, Union):
            for alternative in node.alternatives:
                self.walk(alternative, before, after)
        elif isinstance(node, Concat):
            least = [self.widths(part)[0] for part in node.parts]
            following = sum(least)
            for part, width in zip(node.parts, least, strict=True):
                following -= width
                self.walk(part, before, after + following)
                before += width

    def walk_inside(self, body: Node, before: float) -> None:
        """Visit the lookbehinds in a lookahead."""
        outer = self.first
        self.walk(body, before, INFINITE)
        self.first = outer

    def reach(self, node: Node) -> float:
        """Return the greatest number of code points from its beginning on at which `node` looks."""
        if self.looks.nowhere_in(node):
            return self.widths(node)[1]
        if isinstance(node, Concat):
            furthest: float = 0
            width: float = 0
            for part in node.parts:
                furthest = max(furthest, width + self.reach(part))
                width += self.widths(part)[1]
            return furthest
        if isinstance(node, Union):
            return max([self.reach(part) for part in node.alternatives], default=0)
        if isinstance(node, Repeat):
            if node.maximum == 0:
                return 0
            longest = self.widths(node.body)[1]
            turns = INFINITE if node.maximum is None else node.maximum - 1
            return self.reach(node.body) + (turns * longest if longest else 0)
        if isinstance(node, Look):
            return self.reach(node.body) if node.ahead else 0
        if isinstance(node, Atomic):
            return self.reach(node.body)
        return self.widths(node)[1]

    def reach_behind(self, node: Node) -> float:
        """Return the greatest number of code points before its end at which `node` looks. Lookbehinds at its beginning
        may reach further than its own text."""
        return self.widths(node)[1] + self.looks_behind(node)

    def looks_behind(self, node: Node) -> float:
        """Return how far lookbehinds in `node` may reach beyond its beginning."""
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
