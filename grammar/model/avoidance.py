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
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...earley._meter import tick
from ..regex.conditions import ANYTHING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from .model import Symbols

Key = tuple[int, int]
"""A symbol, and the condition that is pending before it."""

Relation = dict[int, set[int]]
"""By condition that is pending before some symbols: those that may be pending after them."""

Need = tuple[Key, frozenset[int] | None, frozenset[int]]
"""A symbol whose text has not ended; the conditions that may be pending after it, or None, see `finishes`; and those of
them that may be pending without demanding terminals."""

MAX_NEEDS = 1 << 14
"""The most needs that are followed up to the end of the text. Beyond it, some text counts as one that cannot be
finished."""


class Context(NamedTuple):
    """A place at which a symbol stands in a production."""

    lhs: Key | None
    """The left-hand side, None for the start of the grammar."""
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
        self.outs = outs
        """By symbol that is split: the conditions that may be pending after it."""
        self.leaf = leaf
        """Returns the same for any other symbol, with or without demanding terminals, and None for one that is split.
        Without them, strict conditions may be among them."""
        self.claims = claims
        """Returns the strict conditions after the sure texts of a symbol."""
        self.leaves: dict[tuple[int, int, bool], Collection[int] | None] = {}
        """The answers of `leaf`."""
        self.avoiding: dict[Key, set[int]] = {key: set() for key in outs}
        """As `outs`, without demanding terminals. Also for symbols before which a strict condition is pending."""
        self.contexts: dict[Key, list[Context]] = {}
        """By symbol: where it stands."""
        self.needs: list[Need] = []
        """What is needed after each lexeme."""

    def always(self, start: int, accepts: Callable[[int], bool]) -> bool:
        """Tell whether demanding terminals can be avoided after each lexeme. `accepts` tells whether the end of the
        text meets a condition."""
        self.find_avoiding()
        root = (start, ANYTHING)
        for key in self.outs:
            self.visit(key)
        ends = {after: {after} for after in self.outs[root] | self.avoiding[root] if accepts(after)}
        self.contexts.setdefault(root, []).append(Context(None, ends, ends, False))
        return not ends.keys().isdisjoint(self.avoiding[root]) and self.finishes()

    def after(self, part: int, before: int, avoid: bool, reader: Key | None = None) -> Collection[int]:
        """Return the conditions that may be pending after a symbol."""
        question = (part, before, avoid)
        if question in self.leaves:
            found = self.leaves[question]
        else:
            self.leaves[question] = found = self.leaf(part, before, avoid)
        if found is not None:
            return found
        key = (part, before)
        if reader is not None:
            self.readers.setdefault(key, set()).add(reader)
            if key not in self.avoiding:
                self.avoiding[key] = set()
                self.agenda.append(key)
        return (self.avoiding if avoid else self.outs).get(key, ())

    def find_avoiding(self) -> None:
        """Fill `avoiding`: a least fixpoint, as that of `outs`."""
        self.readers: dict[Key, set[Key]] = {}
        self.agenda = list(self.outs)
        while self.agenda:
            tick()
            key = self.agenda.pop()
            found: set[int] = set()
            for rhs in self.productions.get(key[0], ()):
                states = {key[1]}
                for part in rhs:
                    states = {after for before in states for after in self.after(part, before, True, key)}
                    if not states:
                        break
                found |= states
            if found - self.avoiding[key]:
                self.avoiding[key] |= found
                self.agenda += self.readers.get(key, ())

    def visit(self, key: Key) -> None:
        """Note the contexts of the symbols in the productions of a symbol, and what is needed after their lexemes.

        Productions that begin alike come together in the parser, so they are asked together: as a trie. A node of it is
        a place after some symbols.
        """
        children: dict[tuple[int, int], int] = {}  # by node and symbol: the node after it
        edges: list[tuple[int, int]] = [(0, 0)]  # by node: the node before it, and the symbol between them
        pending: list[set[int]] = [{key[1]}]  # by node: what may be pending there
        possible: list[set[int]] = [{key[1]}]  # the same, with strict conditions
        leading: list[Relation] = [{}]  # by node: what may be pending at the end of the productions, by what is there
        avoiding: list[Relation] = [{}]
        for rhs in self.productions.get(key[0], ()):
            tick()
            node = 0
            for part in rhs:
                before, node = node, children.setdefault((node, part), len(edges))
                if node == len(edges):
                    edges.append((before, part))
                    afters = [after for each in pending[before] for after in self.after(part, each, False)]
                    pending.append(set(afters))
                    possible.append({after for each in possible[before] for after in self.after(part, each, True)})
                    possible[node] |= pending[node]
                    leading.append({})
                    avoiding.append({})
            for relation, afters_here in ((leading[node], pending[node]), (avoiding[node], possible[node])):
                for after in afters_here:
                    relation.setdefault(after, set()).add(after)
        for node in range(len(edges) - 1, 0, -1):  # later symbols first
            parent, part = edges[node]
            rest = leading[node], avoiding[node]
            for before in possible[parent]:
                add(avoiding[parent], before, united(rest[1], self.after(part, before, True)))
            for before in pending[parent]:
                lasts = united(rest[0], self.after(part, before, False))
                if lasts:
                    add(leading[parent], before, lasts)
                    self.note(key, (part, before), *rest, parent == 0)

    def note(self, key: Key, symbol: Key, leading: Relation, avoiding: Relation, is_first: bool) -> None:
        """Note the context of a symbol, or what is needed after a lexeme."""
        part, before = symbol
        afters = self.leaves[part, before, False]
        if afters is None:
            is_left = is_first and key == symbol
            self.contexts.setdefault(symbol, []).append(Context(key, leading, avoiding, is_left))
            return
        for after in afters:
            if after in leading:
                self.need(key, leading[after], avoiding.get(after, set()))
        if ANYTHING in leading:
            for after in self.claims(part, before):
                self.need(key, leading[ANYTHING], avoiding.get(after, set()))

    def need(self, key: Key, leading: set[int], avoiding: set[int]) -> None:
        self.needs.append((key, frozenset(leading), frozenset(avoiding)))

    def finishes(self) -> bool:
        """Tell whether demanding terminals can be avoided from each need up to the end of the text.

        A context counts only if some condition leads on there. If a symbol at the beginning of its own production is
        left out, all its other contexts count.
        """
        agenda = list(dict.fromkeys(self.needs))
        seen = set(agenda)
        for key, leading, avoiding in agenda:  # grows while it is read
            tick()
            if not avoiding or len(agenda) > MAX_NEEDS:
                return False
            found: list[Need] = []
            for context in self.contexts.get(key, ()):
                if leading is not None and leading.isdisjoint(context.leading):
                    continue
                lasts = frozenset(united(context.avoiding, avoiding))
                if not lasts and not context.is_left:
                    return False
                if not lasts:
                    found.append((key, None, avoiding))
                elif context.lhs is not None:
                    all_ = None if leading is None else frozenset(united(context.leading, leading))
                    found.append((context.lhs, all_, lasts))
            agenda += [need for need in dict.fromkeys(found) if need not in seen]
            seen.update(found)
        return True


def add(relation: Relation, before: int, lasts: set[int]) -> None:
    if lasts:
        relation.setdefault(before, set()).update(lasts)


def united(relation: Relation, befores: Iterable[int]) -> set[int]:
    """Return what may be pending after any of these conditions."""
    found: set[int] = set()
    for before in befores:
        if before in relation:
            found |= relation[before]
    return found
