"""Arrays: one symbol for each state that the items so far can lead to.

A state is the number of items, as far as it still matters, and for each `contains` the number of items that it has
claimed. An item that a `contains` claims must satisfy its schema. If the `contains` has an upper bound, an item that it
does not claim must not satisfy its schema. So an array has a derivation exactly if it satisfies all demands.

If items must differ, or some must be equal, the state knows the values so far. Strings and numbers are distinguished
by their text: the item is a followed terminal, and the symbol after it knows the text. Arrays and objects are
distinguished if they can be listed; otherwise they come only where no other item can be equal (`unique`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...earley._large import untrack
from ...earley._meter import take, tick
from ...earley.errors import LimitError
from ..errors import GrammarLimitError
from ..json.numbers import RESTRICTED
from .finite import ENOUGH, STRUCTURED, TOO_FEW, Plenty, differing, listed_scalars, listed_structured
from .shapes import ANY_ARRAY, ANY_OBJECT, FALSE, REPEATS, TRUE, UNIQUE, is_nothing
from .shortcuts import is_near
from .terms import canonical
from .unique import are_apart, places_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from .shapes import ArrayShape, Values
    from .terms import Loader


STATE_BYTES = 300
"""Memory of a state of an array: an estimate. Each value that must not come again takes about 50 bytes more."""
RULES_BYTES = 1000
"""Memory of what is known of one shape of array: an estimate."""


class State:
    """What the items so far have led to.

    length: the number of items, as far as it matters.
    claimed: how many of them each `contains` has claimed.
    used: the values so far, if they must differ or repeat; REPEATED: one has come twice.
    """

    __slots__ = ("claimed", "length", "used")

    def __init__(self, length: int, claimed: tuple[int, ...], used: frozenset[object]) -> None:
        self.length = length
        self.claimed = claimed
        self.used = used
        untrack(self)
        untrack(used)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, State)
            and self.length == other.length
            and self.claimed == other.claimed
            and self.used == other.used
        )

    def __hash__(self) -> int:
        return hash((self.length, self.claimed, self.used))


class Behind:
    """Returns the symbol after an item with a canonical value: `ArrayRules.behind`.

    A text makes many: with a `partial` of the method each would be three objects for the garbage collector."""

    __slots__ = ("after", "rules")

    def __init__(self, rules: ArrayRules, after: State) -> None:
        self.rules = rules
        self.after = after

    def __call__(self, value: object) -> int:
        return self.rules.behind(self.after, value)


MAX_REHEARSED = 64
"""The most items of an array that a rehearsal computes."""

REPEATED: frozenset[object] = frozenset([("repeated",)])
NONE_USED: frozenset[object] = frozenset()

FEW_CLAIMS = 3
"""The most `contains` that claim items one by one. If there are more, the plain ones claim together (`parts`)."""
MAX_CLAIMS = 1 << 10
"""The most ways in which one item may be claimed. Beyond it, GrammarLimitError is raised."""
NO_DEMANDS: frozenset[int] = frozenset()


class ArrayRules:
    """The symbols of one shape of array."""

    def __init__(self, loader: Loader, shape: ArrayShape, origin: int) -> None:
        take(RULES_BYTES)
        self.loader = loader
        self.shape = shape
        self.origin = origin  # see `SchemaLoader.scalar`
        self.known: dict[State, int] = {}
        # From this number of items on, the number does not matter: all such states are one.
        self.settled = max(shape.least, len(shape.prefix), *[part.begin for part in shape.contains], 1)
        # Whether arrays and objects always differ from those at other places; None: not decided yet.
        self.is_apart: bool | None = None
        self.plain: dict[int, bool] = {}
        self.parted: dict[tuple[int, ...], list[tuple[int, frozenset[int]]]] = {}
        self.is_endless = False  # items must differ, and there are always more of them
        self.others: dict[tuple[Values, State], int] = {}  # items that must differ from those before

    def start(self) -> int:
        if self.shape.unique and self.may_run_out():
            self.loader.algebra.note_run_out()
        if self.shape.unique == UNIQUE:
            verdict = differing(self.loader.algebra, self.shape, self.are_apart)
            if verdict == TOO_FEW:
                return int(self.loader.engine.add_lazy("nothing", list))
            if verdict != ENOUGH:
                raise GrammarLimitError("cannot determine whether enough different items exist; demand fewer of them")
            self.is_endless = self.shape.least > 1 and not self.shape.contains and self.are_enough()
        return self.symbol(State(0, (0,) * len(self.shape.contains), NONE_USED))

    def may_run_out(self) -> bool:
        """Whether items are distinguished by what is read of them, and so many may have come that few are left, or
        those that must be equal."""
        algebra = self.loader.algebra
        terms = places_of(self.shape)
        are_read = any(
            listed_scalars(algebra.values(term)) is None
            or (listed_structured(algebra, term) is None and not self.are_apart())
            for term in terms
        )
        return are_read and not Plenty(algebra).of_items(self.shape, terms)

    def are_enough(self) -> bool:
        """Whether there are enough different items whichever of them come first. For some choice there are."""
        shape = self.shape
        algebra = self.loader.algebra
        terms = [term for term in {*shape.prefix, shape.rest} if term != FALSE]
        if any(algebra.values(term).arrays or algebra.values(term).objects for term in terms):
            return False  # perhaps no array or object exists
        known = [algebra.members(algebra.values(term)) for term in terms]
        return None in known or (len(known) == 1 and not shape.prefix and len(known[0] or ()) >= shape.least)

    def are_apart(self) -> bool:
        """Whether no arrays and objects that are not listed can be equal to another item."""
        if self.is_apart is None:
            self.is_apart = are_apart(self.loader.algebra, self.shape)
        return self.is_apart

    def symbol(self, state: State) -> int:
        symbol = self.known.get(state)
        if symbol is None:
            # After the least number of items an array may end, unless something else is demanded of it.
            is_done = state.length >= self.shape.least and not self.shape.contains and self.shape.unique != REPEATS
            is_done = is_done or self.is_endless
            symbol = self.known[state] = self.loader.engine.add_lazy(
                "items",
                ArrayRules.expand,
                self,
                ArrayRules.productions,
                state,
                witness=() if is_done else self.witness(state),
                size=STATE_BYTES + 50 * len(state.used),
                untracked=True,  # see `SchemaLoader`
            )
        return symbol

    def witness(self, state: State) -> list[int] | None:
        """Return what shows that a state can be finished: the items that must still come. None if more is demanded."""
        shape = self.shape
        if shape.prefix or shape.most is not None or shape.unique:
            return None
        if any(part.most is not None for part in shape.contains):
            return None
        loader = self.loader
        wanted = [shape.rest] if state.length < shape.least else []
        for part, n in zip(shape.contains, state.claimed, strict=True):
            if n < part.least:
                wanted.append(loader.algebra.intersection(shape.rest, part.item))
        symbols = [loader.value(term) for term in wanted]
        if None in symbols:
            return [loader.engine.add_lazy("nothing", list)]
        return [symbol for symbol in symbols if symbol is not None]

    def rehearse(self) -> None:
        """Compute what each item may be, whatever demands have been met before it: this must not exceed a limit."""
        self.start()
        shape = self.shape
        none = (0,) * len(shape.contains)
        most = MAX_REHEARSED if shape.most is None else min(shape.most, MAX_REHEARSED)
        for count in range(min(self.settled + 1, most)):
            item = shape.item(count)
            for value, then in self.claims(item, count, none):
                if shape.unique:
                    self.different(item, value, State(count + 1, then, NONE_USED))
                else:
                    self.loader.value(value)

    def expand(self, work: Callable[..., list[list[int]]], *given: Any) -> list[list[int]]:
        """Return the productions that one of the functions below makes for a symbol."""
        try:
            tick()
            return work(self, *given)
        except LimitError as error:
            raise self.loader.algebra.located(error, self.origin) from None

    def productions(self, state: State) -> list[list[int]]:
        """Return what may follow this state: the end, or an item and what follows it."""
        loader = self.loader
        shape = self.shape
        count = state.length
        claimed = state.claimed
        used = state.used
        found = []
        if (
            count >= shape.least
            and all(part.least <= n for part, n in zip(shape.contains, claimed, strict=True))
            and (shape.unique != REPEATS or used == REPEATED)
        ):
            found.append(loader.end("]", count > 0))
        if shape.most is not None and count >= shape.most:
            return found
        comma = loader.before(count == 0)
        after = count + 1 if shape.most is not None else min(count + 1, self.settled)
        item = shape.item(count)
        for value, then in self.claims(item, count, claimed):
            if shape.unique and used != REPEATED:
                made = ArrayRules.different, item, value, State(after, then, used)
                found.append([*comma, loader.engine.add_lazy("item", ArrayRules.expand, self, *made, untracked=True)])
                continue
            symbol = loader.value(value)
            if symbol is not None:
                found.append([*comma, symbol, self.symbol(State(after, then, used))])
        return found

    def different(self, item: int, claimed: int, after: State) -> list[list[int]]:
        """Return an item and what follows it, if all items must differ or two of them must be equal.

        item: the term of the item. claimed: the same with what it satisfies for `contains`. after: the state after it,
        to which its value must be added.
        """
        loader = self.loader
        algebra = loader.algebra
        values = algebra.values(claimed)
        scalars = listed_scalars(values)
        # Whether arrays and objects can be listed depends on `item`, not on `claimed`: `unique` has decided it so.
        others = listed_structured(algebra, item)
        if self.shape.unique == REPEATS and (scalars is None or others is None):
            return self.repeating(claimed, values, after)
        if self.are_used_up(item, others, after):
            return []  # otherwise the engine would try all orders of the remaining values
        found = []
        are_spelled = any(numbers.spelled & RESTRICTED for numbers in values.numbers)
        for value in (scalars or []) + (others or []):
            then = self.with_value(canonical(value), after)
            one = algebra.constant(value)
            symbol = loader.value(
                algebra.intersection(claimed, one) if are_spelled or isinstance(value, (list, dict)) else one
            )
            if then is not None and symbol is not None:
                found.append([symbol, self.symbol(then)])
        if scalars is not None and others is not None:
            return found
        if others is None:
            structured = algebra.intersection(claimed, algebra.meaning(STRUCTURED))
            found += self.any_structured(structured, after)
        if scalars is not None:
            return found
        return found + self.any_scalar(values, after, after.used, self.symbol(after))

    def any_structured(self, term: int, after: State) -> list[list[int]]:
        """Return an array or object out of very many, and what follows it; nothing if none is left."""
        if self.are_apart():
            symbol = self.loader.value(term)
            return [] if symbol is None else [[symbol, self.symbol(after)]]
        rest = self.symbol(State(after.length, after.claimed, NONE_USED))
        follow = Behind(self, after)
        symbol = self.loader.followed_item(term, after.used, follow, rest, self.origin)
        return [] if symbol is None else [[symbol]]

    def any_scalar(self, values: Values, after: State, used: frozenset[object], rest: int) -> list[list[int]]:
        """Return scalars out of very many, but for strings and numbers that are `used`, and what follows each. rest:
        what may follow any of them."""
        loader = self.loader
        found = []
        for value, word in ((None, "null"), (False, "false"), (True, "true")):
            if values.null if value is None else values.booleans & (2 if value else 1):
                then = self.with_value((value,), after)
                if then is not None:
                    found.append([loader.word(word), self.symbol(then)])
        for symbol in loader.followed_scalars(values, used, ArrayRules.behind, self, after):
            found.append([loader.engine.add_lazy("item", _pair, symbol, rest)])
        return found

    def repeating(self, claimed: int, values: Values, after: State) -> list[list[int]]:
        """Return an item and what follows it, if some items must be equal, out of very many: one of those before it;
        or, unless it is the last one, any."""
        loader = self.loader
        algebra = loader.algebra
        shape = self.shape
        if shape.prefix or shape.contains:
            raise GrammarLimitError("items that must repeat have different schemas")  # `unique` has refused it
        repeated = self.symbol(State(after.length, after.claimed, REPEATED))
        found = loader.repeated_item(claimed, after.used, repeated, self.origin)
        if shape.most is not None and after.length >= shape.most:
            return found
        found += self.any_scalar(values, after, NONE_USED, repeated)
        structured = algebra.intersection(claimed, algebra.meaning(STRUCTURED))
        if values.arrays or values.objects:
            symbol = loader.followed_item(structured, NONE_USED, Behind(self, after), repeated, self.origin)
            if symbol is not None:
                found.append([symbol])
        return found

    def are_used_up(self, item: int, others: list[Any] | None, after: State) -> bool:
        """Whether fewer unused values remain than items that must still come, this one included. False if the values
        cannot be listed."""
        shape = self.shape
        if shape.unique != UNIQUE or others is None or after.length <= len(shape.prefix):
            return False
        due = shape.least - after.length + 1
        if due <= 0:
            return False
        scalars = listed_scalars(self.loader.algebra.values(item))
        return scalars is not None and len({canonical(value) for value in scalars + others} - after.used) < due

    def behind(self, after: State, value: object) -> int:
        then = self.with_value(value, after)
        assert then is not None  # the terminal does not match it
        return self.symbol(then)

    def with_value(self, value: object, after: State) -> State | None:
        """Return the state after an item with this value; None if it must not come."""
        if value not in after.used:
            return State(after.length, after.claimed, after.used | {value})
        return None if self.shape.unique == UNIQUE else State(after.length, after.claimed, REPEATED)

    def claims(self, item: int, count: int, claimed: tuple[int, ...]) -> list[tuple[int, tuple[int, ...]]]:
        """Return the ways in which an item may be claimed: the term of the item then, and the claims after it."""
        if not claimed:
            return [(item, claimed)]
        algebra = self.loader.algebra
        plain: list[int] = []  # the indexes of the demands that claim together
        choices: list[list[tuple[int | None, int]]] = []
        for index, (part, n) in enumerate(zip(self.shape.contains, claimed, strict=True)):
            if count < part.begin:
                choices.append([(None, n)])
            elif part.most is None:
                if n >= part.least:
                    choices.append([(None, n)])
                elif self.shape.unique == UNIQUE:
                    # A value that satisfies the schema must not be used up without being counted.
                    choices.append([(part.item, n + 1), (part.item ^ 1, n)])
                elif len(claimed) > FEW_CLAIMS and self.is_plain(part.item):
                    choices.append([(None, n)])
                    plain.append(index)
                else:
                    choices.append([(part.item, n + 1), (None, n)])
            elif n < part.most:
                choices.append([(part.item, n + 1), (part.item ^ 1, n)])
            else:
                choices.append([(part.item ^ 1, n)])
        found: list[tuple[int, tuple[int, ...]]] = [(item, ())]
        for options in choices:
            tick()
            further = []
            for value, counts in found:
                for demanded, n in options:
                    both = value if demanded is None else algebra.intersection(value, demanded)
                    # An item rarely satisfies two schemas. Without this check, each would double the ways.
                    if len(choices) == 1 or both == value or not algebra.is_surely_nothing(both):
                        further.append((both, (*counts, n)))
            found = self.bounded(further)
        if not plain:
            return found
        together = []
        for value, counts in found:
            for values, meant in self.parts(tuple(plain)):
                both = algebra.intersection(value, values)
                if not algebra.is_surely_nothing(both):
                    together.append((both, tuple([n + (index in meant) for index, n in enumerate(counts)])))
        return self.bounded(together)

    def bounded(self, ways: list[tuple[int, tuple[int, ...]]]) -> list[tuple[int, tuple[int, ...]]]:
        if len(ways) > MAX_CLAIMS:
            raise GrammarLimitError(
                f"one item can satisfy several `contains` in more than {MAX_CLAIMS} ways; combine fewer of them"
            )
        return ways

    def is_plain(self, item: int) -> bool:
        """Whether a demand and its negation are ranges of numbers, words and the like, and either all arrays and
        objects satisfy it or none does."""
        known = self.plain.get(item)
        if known is None:
            algebra = self.loader.algebra
            known = False
            if is_near(algebra, item):
                values = algebra.values(item)
                known = (
                    values.arrays in ((), (ANY_ARRAY,))
                    and values.objects in ((), (ANY_OBJECT,))
                    and not values.texts.trees
                    and all(numbers.multiple is None or numbers.multiple == 1 for numbers in values.numbers)
                )
            self.plain[item] = known
        return known

    def parts(self, demands: tuple[int, ...]) -> list[tuple[int, frozenset[int]]]:
        """Split all values by the plain demands that they satisfy, and return the parts with these demands.

        So each item counts for all demands that it satisfies, which leaves few states along a text. Ranges that overlap
        have few parts, although there are many combinations of demands.
        """
        known = self.parted.get(demands)
        if known is None:
            algebra = self.loader.algebra
            known = [(TRUE, NO_DEMANDS)]
            for index in demands:
                tick()
                item = self.shape.contains[index].item
                further = []
                for term, meant in known:
                    for demanded, then in ((item, meant | {index}), (item ^ 1, meant)):
                        values = algebra.values(algebra.intersection(term, demanded))
                        if not is_nothing(values):
                            further.append((algebra.meaning(values), then))
                known = further
                if len(known) > MAX_CLAIMS:
                    break  # too many in any case
            self.parted[demands] = known
        return known


def _pair(symbol: int, then: int) -> list[list[int]]:
    return [[symbol, then]]
