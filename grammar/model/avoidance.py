"""Whether each text can be finished without terminals of which the parser finds out what must follow (`contexts`).

The parser relies on this: where nothing is demanded of the text, it can always come to an end. If every symbol derives
a text without such *demanding* terminals, that is so. But if every text of a name demands something, a symbol that ends
in a name needs them: it can only avoid them together with what follows, as when a comma follows. Then the question is
one about places in productions. After each lexeme, there must be conditions that may be pending between the symbols to
come, up to the end of the text, such that all these symbols derive a text without demanding terminals between them.

The text of a symbol has not ended: conditions may be pending after it, and with some of them no demanding terminal is
needed up to there. From the latter, the text must come to an end in each production in which the symbol may stand, and
so on up to the start of the grammar. A production counts if one of the former leads to its end; otherwise `contexts`
has no such symbol in it. Productions that begin alike count together up to the place where they differ.

One case is left out: in `list: list " " NAME`, no blank may follow the inner list under some condition. The parser
expects a list there only because it expects a list anyway, so a text is finished if the productions around the outer
list can be finished. Without this, no list of names with a written blank between them could be.

If demanding terminals cannot be avoided, texts that are sure to meet what they demand may do (`witnesses`). These are
strict conditions here: they may be pending without demanding terminals, but never in the productions.

A set of conditions is an integer here: each condition has a bit.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

from ...earley._meter import tick
from ..bits import BIT
from ..regex.conditions import ANYTHING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from .model import Symbols

Key = tuple[int, int]
"""A symbol, and the condition that is pending before it."""

Place = tuple[int, int]
"""The same, with the bit of the condition."""

Relation = dict[int, int]
"""By the bit of a condition that is pending before some symbols: those that may be pending after them."""

Need = tuple[Place, int, int]
"""A symbol whose text has not ended; the conditions that may be pending after it, or `ANY`, see `finishes`; and those
of them that may be pending without demanding terminals."""

ANY = -1
"""Any condition."""

MAX_NEEDS = 1 << 14
"""The most needs that are followed up to the end of the text. Beyond it, some text counts as one that cannot be
finished."""


class Agenda:
    """The symbols that wait until a least fixpoint computes them, for the first time or once more. Of those that wait,
    the one that was first added last goes first, because symbols mostly come before those that they derive."""

    def __init__(self) -> None:
        self.keys: list[Key] = []
        """The symbols, in the order in which they came."""
        self.numbers: dict[Key, int] = {}
        """By symbol: its place in `keys`."""
        self.waiting: list[int] = []
        """The negative places of those that are on the agenda, as a heap."""
        self.is_waiting: list[bool] = []
        """By place: whether it is among them."""

    def add(self, key: Key) -> None:
        number = self.numbers.get(key)
        if number is None:
            self.numbers[key] = number = len(self.keys)
            self.keys.append(key)
            self.is_waiting.append(False)
        if not self.is_waiting[number]:
            self.is_waiting[number] = True
            heappush(self.waiting, -number)

    def take(self) -> Key:
        number = -heappop(self.waiting)
        self.is_waiting[number] = False
        return self.keys[number]


class Context(NamedTuple):
    """A place at which a symbol stands in a production."""

    lhs: Place | None
    """The left-hand side, None for the start of the grammar."""
    leads: int
    """The conditions after which the end of the production can be reached."""
    leading: Relation
    """What may be pending after the symbols after it."""
    avoiding: Relation
    """The same without demanding terminals."""
    is_left: bool
    """Whether a production of the symbol itself begins with it."""


class Avoidance:
    """The state of answering the question for one grammar."""

    def __init__(
        self,
        productions: dict[int, list[Symbols]],
        outs: dict[Key, set[int]],
        leaf: Callable[[int, int, bool], Collection[int] | None],
        claims: Callable[[int, int], Collection[int]],
    ) -> None:
        self.productions = productions
        self.bits: dict[int, int] = {}
        """By condition: its bit."""
        self.conditions: list[int] = []
        """The conditions, in the order of their bits."""
        self.outs = {(symbol, self.bit(before)): self.set_of(afters) for (symbol, before), afters in outs.items()}
        """By symbol that is split: the conditions that may be pending after it."""
        self.leaf = leaf
        """Returns the same for any other symbol, with or without demanding terminals, and None for one that is split.
        Without them, strict conditions may be among them."""
        self.claims = claims
        """Returns the conditions after the sure texts of a symbol, of which one must lead to the end of the text."""
        self.leaves: tuple[dict[Place, int | None], ...] = {}, {}
        """The answers of `leaf`: with demanding terminals, and without them."""
        self.avoiding = dict.fromkeys(self.outs, 0)
        """As `outs`, without demanding terminals. Also for symbols before which a strict condition is pending."""
        self.contexts: dict[Place, list[Context]] = {}
        """By symbol: where it stands."""
        self.needs: dict[Need, None] = {}
        """What is needed after each lexeme, in the order in which it was found."""
        self.readers: dict[Place, set[Place]] = {}
        """By symbol: those of which `avoiding` depends on it."""
        self.agenda = Agenda()

    def bit(self, condition: int) -> int:
        found = self.bits.get(condition)
        if found is None:
            self.bits[condition] = found = BIT << len(self.conditions)
            self.conditions.append(condition)
        return found

    def set_of(self, conditions: Iterable[int]) -> int:
        found = 0
        for condition in conditions:
            found |= self.bit(condition)
        return found

    def always(self, start: int, accepts: Callable[[int], bool]) -> bool:
        """Tell whether demanding terminals can be avoided after each lexeme. `accepts` tells whether the end of the
        text meets a condition."""
        self.find_avoiding()
        befores: dict[int, list[int]] = {}
        for symbol, before in self.outs:
            befores.setdefault(symbol, []).append(before)
        for symbol, each in befores.items():
            self.visit(symbol, each)
        root = start, self.bit(ANYTHING)
        ends = {bit: bit for bit in bits_of(self.outs[root] | self.avoiding[root])}
        ends = {bit: bit for bit in ends if accepts(self.conditions[bit.bit_length() - 1])}
        self.contexts.setdefault(root, []).append(Context(None, sum(ends), ends, ends, False))
        return bool(sum(ends) & self.avoiding[root]) and self.finishes()

    def after(self, part: int, before: int, avoid: bool, reader: Place | None = None) -> int:
        """Return the conditions that may be pending after a symbol."""
        place = part, before
        leaves = self.leaves[avoid]
        if place in leaves:
            found = leaves[place]
        else:
            afters = self.leaf(part, self.conditions[before.bit_length() - 1], avoid)
            leaves[place] = found = None if afters is None else self.set_of(afters)
        if found is not None:
            return found
        if reader is not None:
            self.readers.setdefault(place, set()).add(reader)
            if place not in self.avoiding:
                self.avoiding[place] = 0
                self.agenda.add(place)
        return (self.avoiding if avoid else self.outs).get(place, 0)

    def after_any(self, part: int, befores: int, avoid: bool, reader: Place | None = None) -> int:
        """Return the same for any of these conditions before it."""
        if not befores & (befores - 1):
            return befores and self.after(part, befores, avoid, reader)
        found = 0
        for before in bits_of(befores):
            found |= self.after(part, before, avoid, reader)
        return found

    def find_avoiding(self) -> None:
        """Fill `avoiding`: a least fixpoint, as that of `outs`."""
        for place in self.outs:
            self.agenda.add(place)
        while self.agenda.waiting:
            tick()
            place = self.agenda.take()
            found = 0
            for rhs in self.productions.get(place[0], ()):
                pending = place[1]
                for part in rhs:
                    pending = self.after_any(part, pending, True, place)
                    if not pending:
                        break
                found |= pending
            if found & ~self.avoiding[place]:
                self.avoiding[place] |= found
                for reader in self.readers.get(place, ()):
                    self.agenda.add(reader)

    def visit(self, symbol: int, befores: list[int]) -> None:
        """Note the contexts of the symbols in the productions of a symbol, and what is needed after their lexemes.

        Productions that begin alike come together in the parser, so they are asked together: as a trie. A node of it is
        a place after some symbols. All conditions that may be pending before the symbol are asked together, too: what
        some symbols do with a condition does not depend on where it comes from.
        """
        children: dict[Place, int] = {}  # by node and symbol: the node after it
        edges: list[Place] = [(0, 0)]  # by node: the node before it, and the symbol between them
        ends: set[int] = set()  # the nodes at which productions end
        for rhs in self.productions.get(symbol, ()):
            tick()
            node = 0
            for part in rhs:
                before, node = node, children.setdefault((node, part), len(edges))
                if node == len(edges):
                    edges.append((before, part))
            ends.add(node)
        # By node: what may be pending there, and the same with strict conditions.
        pending, possible = [sum(befores)], [sum(befores)]
        # By node: what may be pending after its symbol, by what is before it; and without demanding terminals.
        passing: list[Relation] = [{}]
        careful: list[Relation] = [{}]
        # By node: what may be pending at the end of the productions, by what is there; and without demanding terminals.
        leading: list[Relation] = []
        avoiding: list[Relation] = []
        for node, (parent, part) in enumerate(edges):
            tick()
            if node:
                passing.append({before: self.after(part, before, False) for before in bits_of(pending[parent])})
                careful.append({before: self.after(part, before, True) for before in bits_of(possible[parent])})
                pending.append(any_of(passing[node].values()))
                possible.append(any_of(careful[node].values()) | pending[node])
            leading.append({bit: bit for bit in bits_of(pending[node])} if node in ends else {})
            avoiding.append({bit: bit for bit in bits_of(possible[node])} if node in ends else {})
        for node in range(len(edges) - 1, 0, -1):  # later symbols first
            tick()
            parent = edges[node][0]
            compose(passing[node], leading[node], leading[parent])
            compose(careful[node], avoiding[node], avoiding[parent])
        for before in befores:
            place = symbol, before
            here = [before]
            for node, (parent, part) in enumerate(edges):
                tick()
                if node:
                    here.append(united(passing[node], here[parent]))
                    for each in bits_of(here[parent]) if leading[node] else ():
                        self.note(place, (part, each), leading[node], avoiding[node], parent == 0)

    def note(self, lhs: Place, place: Place, leading: Relation, avoiding: Relation, is_first: bool) -> None:
        """Note the context of a symbol, or what is needed after a lexeme."""
        afters = self.leaves[False][place]
        if afters is None:
            leads = sum(leading)
            if leads & self.outs.get(place, 0):
                context = Context(lhs, leads, leading, avoiding, is_first and lhs == place)
                self.contexts.setdefault(place, []).append(context)
            return
        for after in bits_of(afters):
            if after in leading:
                self.needs[lhs, leading[after], avoiding.get(after, 0)] = None
        if self.bit(ANYTHING) in leading:
            claims = self.claims(place[0], self.conditions[place[1].bit_length() - 1])
            if claims:
                self.needs[lhs, leading[self.bit(ANYTHING)], united(avoiding, self.set_of(claims))] = None

    def finishes(self) -> bool:
        """Tell whether demanding terminals can be avoided from each need up to the end of the text.

        A context counts only if some condition leads on there. If a symbol at the beginning of its own production is
        left out, all its other contexts count.
        """
        agenda = list(self.needs)
        seen = set(agenda)
        for place, leading, avoiding in agenda:  # grows while it is read
            tick()
            if not avoiding or len(agenda) > MAX_NEEDS:
                return False
            for context in self.contexts.get(place, ()):
                if not leading & context.leads:
                    continue
                lasts = united(context.avoiding, avoiding)
                if not lasts and not context.is_left:
                    return False
                if not lasts:
                    need = place, ANY, avoiding
                elif context.lhs is not None:
                    need = context.lhs, ANY if leading == ANY else united(context.leading, leading), lasts
                else:
                    continue
                if need not in seen:
                    seen.add(need)
                    agenda.append(need)
        return True


def bits_of(conditions: int) -> list[int]:
    """Return the bits of a set."""
    if not conditions & (conditions - 1):
        return [conditions] if conditions else []
    found = []
    while conditions:
        bit = conditions & -conditions
        found.append(bit)
        conditions ^= bit
    return found


def any_of(sets: Iterable[int]) -> int:
    found = 0
    for conditions in sets:
        found |= conditions
    return found


def compose(first: Relation, then: Relation, into: Relation) -> None:
    """Add one relation after the other."""
    for before, afters in first.items():
        lasts = united(then, afters)
        if lasts:
            into[before] = into.get(before, 0) | lasts


def united(relation: Relation, befores: int) -> int:
    """Return what may be pending after any of these conditions."""
    if not befores & (befores - 1):
        return relation.get(befores, 0)
    found = 0
    for before in bits_of(befores):
        found |= relation.get(before, 0)
    return found
