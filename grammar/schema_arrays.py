"""Arrays: one symbol for each state that the items so far can have led to.

A state is the number of items, as far as it still matters, and for each `contains` how many items it has claimed. An
item may be claimed by a demand, and then is also what that demand says; where there may be too many of a kind, an
item that is not claimed is none of it. So each array has a derivation exactly if it satisfies all demands.

Where items must differ, or some must not, they are out of a finite set of values (the scan sees to it), and the state
knows which of them there have been.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from .errors import GrammarLimitError
from .schema_algebra import MAX_LISTED, canonical
from .schema_shapes import REPEATS, UNIQUE

if TYPE_CHECKING:
    from .schema_load import SchemaLoader
    from .schema_shapes import ArrayShape


class State(NamedTuple):
    """What the items so far have led to.

    length: the number of items, as far as it matters.
    claimed: how many of them each `contains` has claimed.
    used: the values that there have been, by bits, where they must differ or repeat; REPEATED: one has come twice.
    """

    length: int
    claimed: tuple[int, ...]
    used: int


REPEATED = -1


class ArrayRules:
    """The symbols of one shape of array."""

    def __init__(self, loader: SchemaLoader, shape: ArrayShape) -> None:
        self.loader = loader
        self.shape = shape
        self.known: dict[State, int] = {}
        # Where the number of items stops to matter: all states behind are one.
        self.settled = max(shape.least, len(shape.prefix), *[part.begin for part in shape.contains], 1)

        self.bits: dict[object, int] = {}  # of values that items must differ in

    def start(self) -> int:
        return self.symbol(State(0, (0,) * len(self.shape.contains), 0))

    def symbol(self, state: State) -> int:
        symbol = self.known.get(state)
        if symbol is None:
            # Behind the least number of items an array may end, if nothing else is demanded of it.
            is_done = state.length >= self.shape.least and not self.shape.contains and self.shape.unique != REPEATS
            symbol = self.known[state] = self.loader.engine.add_lazy(
                "items", partial(self.expand, state), witness=() if is_done else None
            )
        return symbol

    def expand(self, state: State) -> list[list[int]]:
        """What may follow this state: the end, or an item and what follows it."""
        loader = self.loader
        shape = self.shape
        count, claimed, used = state
        found = []
        if (
            count >= shape.least
            and all(part.least <= n for part, n in zip(shape.contains, claimed, strict=True))
            and (shape.unique != REPEATS or used == REPEATED)
        ):
            found.append([loader.mark("]" if count else "empty ]")])
        if shape.most is not None and count >= shape.most:
            return found
        comma = [loader.mark(",")] if count else []
        after = count + 1 if shape.most is not None else min(count + 1, self.settled)
        for item, then_used in self.choices(count, used):
            for value, then in self.claims(item, count, claimed):
                symbol = loader.value(value)
                if symbol is not None:
                    found.append([*comma, symbol, self.symbol(State(after, then, then_used))])
        return found

    def choices(self, count: int, used: int) -> list[tuple[int, int]]:
        """What the next item may be, with the values used behind it."""
        item = self.shape.item(count)
        if not self.shape.unique or used == REPEATED:
            return [(item, used)]
        algebra = self.loader.algebra
        members = algebra.members(item)
        if members is None:
            raise GrammarLimitError(
                f"the items of an array must differ, and there are more than {MAX_LISTED} values for them"
            )
        found = []
        n_left = 0
        for value in members:
            bit = self.bits.setdefault(canonical(value), 1 << len(self.bits))
            if not used & bit:
                n_left += 1
                found.append((algebra.constant(value), used | bit))
            elif self.shape.unique == REPEATS:
                found.append((algebra.constant(value), REPEATED))
        if self.shape.unique == UNIQUE and count >= len(self.shape.prefix) and n_left < self.shape.least - count:
            return []  # seen at once, instead of by trying all ways to use them up
        return found

    def claims(self, item: int, count: int, claimed: tuple[int, ...]) -> list[tuple[int, tuple[int, ...]]]:
        """The ways in which an item may be claimed: what it is then, and the claims after it."""
        if not claimed:
            return [(item, claimed)]
        both = self.loader.algebra.both
        choices: list[list[tuple[int | None, int]]] = []
        for part, n in zip(self.shape.contains, claimed, strict=True):
            if count < part.begin:
                choices.append([(None, n)])
            elif part.most is None:
                choices.append([(None, n)] if n >= part.least else [(part.item, n + 1), (None, n)])
            elif n < part.most:
                choices.append([(part.item, n + 1), (part.item ^ 1, n)])
            else:
                choices.append([(part.item ^ 1, n)])
        found = []
        for chosen in product(*choices):
            value = item
            for demanded, _ in chosen:
                if demanded is not None:
                    value = both(value, demanded)
            found.append((value, tuple([n for _, n in chosen])))
        return found
