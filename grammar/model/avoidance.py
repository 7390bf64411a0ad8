"""Whether each text can be finished without terminals of which the parser finds out what must follow (`contexts`).

The parser relies on this: where nothing is demanded of the text, it can always come to an end. If every symbol derives
a text without such *demanding* terminals, that is so. But if every text of a name demands something, a symbol that ends
in a name needs them: it can only avoid them together with what follows, as when a comma follows. Then the question is
one about places in productions. After each lexeme, there must be conditions that may be pending between the symbols to
come, up to the end of the text, such that all these symbols derive a text without demanding terminals between them.

A symbol between two conditions must have such symbols after it in every production in which it may stand. That is more
than is needed, because productions are asked one by one, but it is never wrong: `contexts` splits the grammar so that
an item between some conditions comes together with the items between all other ones that lead on.

One case is left out: in `list: list " " NAME`, no blank may follow the inner list under some condition, so there is no
item for this condition in this production. The parser expects a list there only because it expects a list anyway, so
the productions around the outer list count alone. Without this, no list of names with a written blank between them
could be finished.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...earley._meter import tick
from ..regex.conditions import ANYTHING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from .model import Symbols

Key = tuple[int, int]
"""A symbol, and the condition that is pending before it."""

Relation = dict[int, set[int]]
"""By condition that is pending before some symbols: those that may be pending after them."""


class Avoidance:
    """The state of answering the question for one grammar."""

    def __init__(
        self,
        productions: dict[int, list[Symbols]],
        outs: dict[Key, set[int]],
        leaf: Callable[[int, int, bool], Collection[int] | None],
    ) -> None:
        self.productions = productions
        self.outs = outs
        """By symbol that is split: the conditions that may be pending after it."""
        self.leaf = leaf
        """Returns the same for any other symbol, with or without demanding terminals, and None for one that is
        split."""
        self.avoiding: dict[Key, set[int]] = {key: set() for key in outs}
        """As `outs`, without demanding terminals."""
        self.contexts: dict[Key, list[tuple[Key | None, Relation]]] = {}
        """By symbol: where it stands. The left-hand side, None for the start, and what avoids demanding terminals after
        the symbol."""
        self.left: dict[Key, set[int]] = {}
        """By symbol: which of its `contexts` are the beginnings of its own productions."""
        self.needed: list[tuple[Key, set[int]]] = []
        """One of these conditions must be pending after the left-hand side, since a lexeme may have ended in it."""
        self.bad: set[tuple[Key, int]] = set()
        """Conditions after a symbol from which demanding terminals cannot be avoided in some production."""

    def always(self, start: int, accepting: set[int]) -> bool:
        """Tell whether demanding terminals can be avoided after each lexeme. `accepting` are the conditions that the
        end of the text meets."""
        self.find_avoiding()
        root = (start, ANYTHING)
        for key in self.outs:
            for rhs in self.productions.get(key[0], ()):
                self.visit(key, rhs)
        self.contexts.setdefault(root, []).append((None, {after: {after} & accepting for after in self.outs[root]}))
        self.needed.append((root, self.avoiding[root]))
        self.find_bad()
        return all(any((key, after) not in self.bad for after in afters) for key, afters in self.needed)

    def after(self, part: int, before: int, avoid: bool, reader: Key | None = None) -> Collection[int]:
        """Return the conditions that may be pending after a symbol."""
        found = self.leaf(part, before, avoid)
        if found is not None:
            return found
        key = (part, before)
        if reader is not None:
            self.readers.setdefault(key, set()).add(reader)
        return (self.avoiding if avoid else self.outs).get(key, ())

    def find_avoiding(self) -> None:
        """Fill `avoiding`: a least fixpoint, as that of `outs`."""
        self.readers: dict[Key, set[Key]] = {}
        agenda = list(self.outs)
        while agenda:
            tick()
            key = agenda.pop()
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
                agenda += self.readers.get(key, ())

    def visit(self, key: Key, rhs: Symbols) -> None:
        """Note the contexts of the symbols of a production, and what its lexemes need."""
        tick()
        pending = [{key[1]}]  # before each symbol, and after the last one
        for part in rhs:
            pending.append({after for before in pending[-1] for after in self.after(part, before, False)})
        leading: set[int] = pending[-1]  # conditions that lead to the end of the production
        avoiding: Relation = {before: {before} for before in pending[-1]}
        for index in reversed(range(len(rhs))):
            part = rhs[index]
            first_leading: set[int] = set()
            first_avoiding: Relation = {}
            for before in pending[index]:
                afters = leading.intersection(self.after(part, before, False))
                if not afters:
                    continue
                first_leading.add(before)
                first_avoiding[before] = {
                    last for after in self.after(part, before, True) for last in avoiding.get(after, ())
                }
                if self.leaf(part, before, False) is None:
                    self.contexts.setdefault((part, before), []).append((key, avoiding))
                    if index == 0 and key == (part, before):
                        self.left.setdefault(key, set()).add(len(self.contexts[key]) - 1)
                else:
                    self.needed += [(key, avoiding[after]) for after in afters]
            leading, avoiding = first_leading, first_avoiding

    def find_bad(self) -> None:
        """Fill `bad`: a least fixpoint."""
        parts: dict[Key, set[Key]] = {}  # by left-hand side: symbols in its productions
        for key, contexts in self.contexts.items():
            for lhs, _ in contexts:
                if lhs is not None:
                    parts.setdefault(lhs, set()).add(key)
        agenda = list(self.contexts)
        while agenda:
            tick()
            key = agenda.pop()
            found = {(key, after) for after in self.outs[key] if not self.leads_on(key, after)} - self.bad
            if found:
                self.bad |= found
                agenda += parts.get(key, ())

    def leads_on(self, key: Key, after: int) -> bool:
        """Tell whether demanding terminals can be avoided wherever a symbol stands, if a condition is pending after it,
        as far as known."""
        left = self.left.get(key, ())
        for number, (lhs, avoiding) in enumerate(self.contexts[key]):
            if after not in avoiding and number in left:
                continue
            lasts = avoiding.get(after, set())
            if not lasts or (lhs is not None and all((lhs, last) in self.bad for last in lasts)):
                return False
        return True
