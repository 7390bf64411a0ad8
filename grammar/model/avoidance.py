"""Whether each text can be finished without terminals of which the parser finds out what must follow (`contexts`).

The parser relies on this: where nothing is demanded of the text, it can always come to an end. If every symbol derives
a text without such *demanding* terminals, that is so. But if every text of a name demands something, a symbol that ends
in a name needs them: it can only avoid them together with what follows, as when a comma follows. Then the question is
one about places in productions. After each lexeme, there must be conditions that may be pending between the symbols to
come, up to the end of the text, such that all these symbols derive a text without demanding terminals between them.

The text of a symbol has not ended: conditions may be pending after it, and with some of them no demanding terminal is
needed up to there. From the latter, the text must come to an end in each production in which the symbol may stand, and
so on up to the start of the grammar. A production counts if one of the former leads to its end; otherwise `contexts`
has no such symbol in it.

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
            for rhs in self.productions.get(key[0], ()):
                self.visit(key, rhs)
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

    def visit(self, key: Key, rhs: Symbols) -> None:
        """Note the contexts of the symbols of a production, and what is needed after its lexemes."""
        tick()
        pending = [{key[1]}]  # before each symbol, and after the last one
        possible = [{key[1]}]  # the same, with strict conditions
        for part in rhs:
            pending.append({after for before in pending[-1] for after in self.after(part, before, False)})
            possible.append(
                {after for before in possible[-1] for after in self.after(part, before, True)} | pending[-1]
            )
        leading: Relation = {after: {after} for after in pending[-1]}
        avoiding: Relation = {after: {after} for after in possible[-1]}
        for index in reversed(range(len(rhs))):
            part = rhs[index]
            rest, avoiding_rest = leading, avoiding
            leading, avoiding = {}, {}
            for before in possible[index]:
                lasts = united(avoiding_rest, self.after(part, before, True))
                if lasts:
                    avoiding[before] = lasts
            for before in pending[index]:
                afters = self.after(part, before, False)
                lasts = united(rest, afters)
                if not lasts:
                    continue
                leading[before] = lasts
                if self.leaves[part, before, False] is None:
                    is_left = index == 0 and key == (part, before)
                    self.contexts.setdefault((part, before), []).append(Context(key, rest, avoiding_rest, is_left))
                    continue
                for after in afters:
                    if after in rest:
                        self.need(key, rest[after], avoiding_rest.get(after, set()))
                if ANYTHING in rest:
                    for after in self.claims(part, before):
                        self.need(key, rest[ANYTHING], avoiding_rest.get(after, set()))

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


def united(relation: Relation, befores: Iterable[int]) -> set[int]:
    """Return what may be pending after any of these conditions."""
    found: set[int] = set()
    for before in befores:
        if before in relation:
            found |= relation[before]
    return found
