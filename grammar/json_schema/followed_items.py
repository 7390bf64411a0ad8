"""Items that must differ and may be any arrays or objects: what may follow an item depends on its value.

The text of one terminal may decide what follows it (`Engine.add_followed`); an item is made of many terminals. So such
an item is not a symbol that is followed by another. It is read by symbols each of which begins with one terminal and
knows everything around it: what has been read of the item (`Trace`), and the symbols that the rest of the item and the
array are made of (a *stack*, as of a pushdown automaton). The text that a terminal matches leads to the next such
symbol. After the last terminal of the item its value is known, and the array continues with the symbol for this value.

The stack is made of the symbols of a second loader with an engine of its own, which never reads a text. It is asked for
the productions of its symbols, and `FollowedItems.leaves` tells what its terminals stand for.

While the item equals the beginning of an earlier one, a symbol for what may come next is made only if some completion
of it differs from all earlier items (`can_differ`). The search follows the earlier items: any choice that none of them
has made ends it. Values that an earlier item has at the same place are terminals of their own; so after a terminal
whose text must be read the item differs from all earlier ones.

Masks are made with `loose` symbols, which forget what has been read and allow equal items. What they allow wrongly
comes after the end of such an item: `doubtful` describes these tokens.
"""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import ref

from ...earley._engine import Engine
from ...earley._large import Unvisited, untrack
from ...earley._meter import tick
from ...earley._regex import Regexes
from ...earley.errors import LimitError
from ..errors import GrammarLimitError
from ..json.numbers import NumberSet, exact, listed, number_set
from .item_values import (
    CLOSE_ARRAY,
    CLOSE_OBJECT,
    KEY,
    OPEN_ARRAY,
    OPEN_OBJECT,
    VALUE,
    Event,
    Made,
    Trace,
    Tree,
    tree_of,
)
from .text_sets import Texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from .load import SchemaLoader

MAX_SEARCHED = 1 << 14
"""At most so many places of earlier items are visited to find a completion that differs from them all. The search ends
early if any choice is open that they have not made. Beyond it, GrammarLimitError."""

STACK_BYTES = 180
"""Memory of a stack, with its entry in the table of all stacks."""

MAX_OUTLINES = 512
"""Outlines that are remembered. A text that goes on has the same ones again, and one that goes deeper has new ones."""

MARKS: dict[str, Event | None] = {
    "{": (OPEN_OBJECT, None),
    "}": (CLOSE_OBJECT, None),
    "empty }": (CLOSE_OBJECT, None),
    "[": (OPEN_ARRAY, None),
    "]": (CLOSE_ARRAY, None),
    "empty ]": (CLOSE_ARRAY, None),
    ",": None,
    "first": None,
}
SINGLE = ("mark", "word", "key")
"""Kinds of leaves that stand for one thing, which the text does not change."""
WORDS: dict[str, Event] = {"null": (VALUE, (None,)), "true": (VALUE, (True,)), "false": (VALUE, (False,))}


class Leaf:
    """What a terminal of the second loader stands for.

    kind: "mark" (content: its name, and the level of its loader), "word", "key" (of one name), "texts", "numbers", or
    "keys". follow: of a followed terminal, returns the symbol after a text or number; None for others.
    """

    __slots__ = ("content", "follow", "kind")

    def __init__(self, kind: str, content: Any, follow: Callable[[Any], int] | None = None) -> None:
        self.kind = kind
        self.content = content
        self.follow = follow


class Item:
    """An item that must differ from others, and what follows it.

    value: the symbol of the item. used: the canonical values from which it must differ. follow: returns the symbol
    after an item with a canonical value. rest: the symbol after any item.
    """

    __slots__ = ("follow", "rest", "used", "value")

    def __init__(self, value: int, used: frozenset[object], follow: Callable[[object], int], rest: int) -> None:
        self.value = value
        self.used = used
        self.follow = follow
        self.rest = rest


class Stack:
    """A symbol of the second loader and what is below; or the end of an inner item, and what follows the item; or, at
    the bottom, the end of the item that is read."""

    __slots__ = ("below", "head")

    def __init__(self, head: int | Item, below: Stack | None) -> None:
        self.head = head
        self.below = below
        untrack(self)  # a text makes many; see `SchemaLoader`

    def rest(self) -> Stack:
        assert self.below is not None
        return self.below


Place = tuple[Stack, Trace]

First = TypeVar("First")
Second = TypeVar("Second")


def untracked(first: First, second: Second) -> tuple[First, Second]:
    """Return a pair that the garbage collector does not visit."""
    found = first, second
    untrack(found)
    return found


def together(stacks: Iterable[Stack]) -> frozenset[Stack]:
    """Return the stacks as a set that the garbage collector does not visit."""
    found = frozenset(stacks)
    untrack(found)
    return found


class Outline:
    """What may come first of a set of stacks.

    single: kind and content of each terminal that stands for one thing, the event, and the stacks after it. several:
    kind and content of each other terminal, and its leaves, each with the stack below.
    """

    __slots__ = ("several", "single")

    def __init__(
        self,
        single: list[tuple[str, Any, Event | None, frozenset[Stack]]],
        several: list[tuple[str, Any, list[tuple[Leaf, Stack]]]],
    ) -> None:
        self.single = single
        self.several = several


class FollowedItems:
    """The second loader, and what its symbols are put together to. It refers to the first loader weakly."""

    def __init__(self, make: Callable[[Engine], SchemaLoader]) -> None:
        self.engine = Engine(Regexes())
        self.loader = make(self.engine)
        self.leaves: dict[int, Leaf | Item] = {}
        self.loader.holder = ref(self)
        self.stacks: Unvisited[tuple[int | Item, Stack | None], Stack] = Unvisited()
        self.loose: Unvisited[frozenset[Stack], int] = Unvisited()  # symbols that forget what has been read
        self.outlines: dict[frozenset[Stack], Outline | None] = {}
        self.trees: dict[object, Tree] = {}
        self.unpaid = 0  # bytes of stacks that no symbol counts for yet

    def pay(self) -> int:
        """Return the bytes for which the next symbol counts: what is remembered here lives as long as the symbols."""
        size, self.unpaid = self.unpaid, 0
        return size

    def first(self, loader: SchemaLoader, term: int, item: tuple[Any, ...], origin: int) -> int | None:
        """Return the symbol of an item of a term and of what follows it; None if no value of the term is left.

        item: `used`, `follow` and `rest` as in `Item`, with symbols of the first loader."""
        used, follow, rest = item
        value = self.loader.value(term)
        if value is None or not self.engine.is_productive(value):
            return None
        reading = Reading(self, loader, follow, rest, origin)
        return reading.symbol([self.begin(value, rest, used, reading.made)])

    def equal(self, loader: SchemaLoader, term: int, item: tuple[Any, ...], origin: int) -> int | None:
        """Return the symbol of an item of a term that equals one of the `used` values, and of what follows it, which
        is `rest`; None if there is none."""
        used, _, rest = item
        value = self.loader.value(term)
        if value is None or not self.engine.is_productive(value):
            return None
        reading = Repeating(self, loader, lambda _: rest, rest, origin)
        return reading.symbol([self.begin(value, rest, used, reading.made)])

    def begin(self, value: int, rest: int, used: frozenset[object], made: Made) -> tuple[Stack, Trace]:
        trace = Trace(None, None, (), ()).opened(None, self.trees_of(used), made)
        return self.push(value, self.push(~rest, None)), trace

    def is_left(self, value: int, used: frozenset[object]) -> bool:
        """Whether a symbol of the second loader has a value that is not used."""
        return self.engine.is_productive(value) and self.can_differ(*self.begin(value, 0, used, {}))

    def push(self, head: int | Item, below: Stack | None) -> Stack:
        """Return a stack: the same one for the same parts. A bottom is the complement of the symbol after any item."""
        key = head, below
        stack = self.stacks.get(key)
        if stack is None:
            self.stacks[key] = stack = Stack(head, below)
            self.unpaid += STACK_BYTES
        return stack

    def push_all(self, heads: tuple[int, ...], below: Stack) -> Stack:
        for head in reversed(heads):
            below = self.push(head, below)
        return below

    def trees_of(self, used: frozenset[object]) -> list[Tree]:
        found = []
        for value in used:
            tree = self.trees.get(value)
            if tree is None:
                tree = self.trees[value] = tree_of(value)
            found.append(tree)
        return found

    def leaves_of(self, stack: Stack, trace: Trace, made: Made) -> Iterator[tuple[Leaf, Stack, Trace]]:
        """Yield the terminals that may come first, each with the stack below it and the trace before it."""
        agenda: list[tuple[Stack, Trace]] = [(stack, trace)]
        while agenda:
            resolved = self.resolved(*agenda.pop(), made)
            if resolved is None:
                continue
            stack, trace = resolved
            head, below = stack.head, stack.rest()
            assert isinstance(head, int)
            leaf = self.leaves.get(head)
            if isinstance(leaf, Item):
                opened = trace.opened(leaf, self.trees_of(leaf.used), made)
                agenda.append((self.push(leaf.value, self.push(leaf, below)), opened))
            elif leaf is not None:
                yield leaf, below, trace
            else:
                agenda += [(self.push_all(rhs, below), trace) for rhs in self.productions(head)]

    def outline(self, stacks: frozenset[Stack]) -> Outline | None:
        """Return what may come first, if it is the same whatever has been read: None if an item within the item may
        begin."""
        if stacks in self.outlines:
            return self.outlines[stacks]
        single: dict[tuple[str, Any], tuple[Event | None, set[Stack]]] = {}
        several: dict[tuple[str, Any], list[tuple[Leaf, Stack]]] = {}
        agenda = list(stacks)
        while agenda:
            stack = agenda.pop()
            head, below = stack.head, stack.rest()
            assert isinstance(head, int)
            leaf = self.leaves.get(head)
            if isinstance(leaf, Item):
                self.outlines[stacks] = None
                return None
            if leaf is None:
                agenda += [self.push_all(rhs, below) for rhs in self.productions(head)]
            elif leaf.kind in SINGLE:
                event = event_of(leaf, None)
                single.setdefault((leaf.kind, leaf.content), (event, set()))[1].add(self.behind(leaf, None, below))
            else:
                several.setdefault((leaf.kind, leaf.content), []).append(untracked(leaf, below))
        if len(self.outlines) >= MAX_OUTLINES:
            self.outlines.clear()
        found = self.outlines[stacks] = Outline(
            [(*key, event, together(belows)) for key, (event, belows) in single.items()],
            [(*key, leaves) for key, leaves in several.items()],
        )
        return found

    def productions(self, symbol: int) -> list[tuple[int, ...]]:
        is_productive = self.engine.is_productive
        return [rhs for rhs in self.engine.work_out(symbol) if all(map(is_productive, rhs))]

    def resolved(self, stack: Stack, trace: Trace, made: Made) -> tuple[Stack, Trace] | None:
        """Pass the ends of inner items at the top of a stack. Return None if one of them equals an earlier item."""
        while isinstance(stack.head, Item):
            if trace.frames[-1].candidates:
                return None
            stack = self.push(stack.head.follow(trace.value()), stack.rest())
            trace = trace.closed(made)
        return untracked(stack, trace)

    def after(self, leaf: Leaf, value: Any, stack: Stack, trace: Trace, made: Made) -> tuple[Stack, Trace]:
        """Return the stack and the trace after a terminal. value: a key, or a canonical scalar."""
        event = event_of(leaf, value)
        return untracked(self.behind(leaf, value, stack), trace if event is None else trace.after(event, made))

    def behind(self, leaf: Leaf, value: Any, stack: Stack) -> Stack:
        """Return the stack after a terminal, as `after` does."""
        if leaf.follow is None:
            return stack
        return self.push(leaf.follow(value), stack.rest())  # in place of what may follow any text

    def can_differ(self, stack: Stack, trace: Trace) -> bool:
        """Whether some completion of the items that are open differs, each from all its candidates."""
        return trace.is_free or self.has_completion(stack, trace, is_equal=False)

    def can_equal(self, stack: Stack, trace: Trace) -> bool:
        """Whether some completion of the outermost item equals one of its candidates."""
        return self.has_completion(stack, trace, is_equal=True)

    def has_completion(self, stack: Stack, trace: Trace, *, is_equal: bool) -> bool:
        """Search for a completion: see `can_equal`, and otherwise `can_differ`."""
        made: Made = {}
        agenda = [(stack, trace)]
        met: set[tuple[Stack, tuple[Any, ...]]] = set()
        while agenda:
            resolved = self.resolved(*agenda.pop(), made)
            if resolved is None:
                continue
            stack, trace = resolved
            if is_equal and not trace.frames[0].candidates:
                continue
            if trace.is_free or (is_equal and stack.below is None):
                return True
            if stack.below is None or (stack, trace.frames) in met:
                continue  # an item that ends while candidates are left differs from none of them
            met.add((stack, trace.frames))
            if len(met) > MAX_SEARCHED:
                wanted = "equals one" if is_equal else "may differ from those"
                raise GrammarLimitError(
                    f"cannot determine whether an item {wanted} before it: more than {MAX_SEARCHED} places of these "
                    "were compared"
                )
            for leaf, below, before in self.leaves_of(stack, trace, made):
                if leaf.kind in SINGLE:
                    agenda.append(self.after(leaf, None, below, before, made))
                    continue
                values = among(leaf.content, before.wanted(leaf.kind == "keys"))
                if not is_equal and not self.is_empty(without(leaf.content, values)):
                    return True
                if is_equal and leaf.kind == "keys":
                    values = first_keys(values, before)
                agenda += [self.after(leaf, value, below, before, made) for value in values]
        return False

    def is_empty(self, content: Texts | NumberSet) -> bool:
        if isinstance(content, NumberSet):
            return content.is_empty()
        return bool(self.loader.questions().is_empty(content))


def event_of(leaf: Leaf, value: Any) -> Event | None:
    """Return what is read with a terminal. value: a key, or a canonical scalar."""
    kind = leaf.kind
    if kind == "mark":
        return MARKS[leaf.content[0]]
    if kind == "word":
        return WORDS[leaf.content]
    return (KEY if kind in ("key", "keys") else VALUE, leaf.content if kind == "key" else value)


def among(content: Any, values: set[object]) -> list[Any]:
    """Return those of the values that are in a set of texts or numbers."""
    if isinstance(content, NumberSet):
        return [value for value in values if isinstance(value, (int, Fraction)) and content.contains(value)]
    return [value for value in values if isinstance(value, str) and content.has(value)]


def first_keys(keys: list[str], trace: Trace) -> list[str]:
    """Return for each candidate of the outermost item the first of these keys that it has at this place.

    An object that equals the candidate has all of them, and keys without a name may come in any order. To try all
    orders would take time exponential in the number of keys.
    """
    found = [[key for key in keys if key in one[-1].content] for one in trace.frames[0].candidates]
    return sorted({min(each) for each in found if each})


def without(content: Any, values: list[Any]) -> Any:
    """Return a set of texts or numbers without some values."""
    if not values:
        return content
    if isinstance(content, NumberSet):
        return content.intersection(number_set(excluded=values))
    return content.difference(Texts(frozenset(values)))


def only(kind: str, content: Any, value: Any) -> tuple[str, Any]:
    """Return the kind and the content of a leaf for one value of a set."""
    if kind == "keys":
        return "key", value
    return kind, content.intersection(listed([value])) if kind == "numbers" else Texts(frozenset((value,)))


class Reading:
    """The symbols of one item of the first loader. There is one for each set of stacks that a text leads to, each with
    its trace: the traces have the same events, but inner items may be open in one and not in another.

    follow: returns the symbol after an item with a canonical value. rest: the symbol after any item. origin: see
    `SchemaLoader.scalar`.
    """

    __slots__ = ("follow", "items", "known", "loader", "made", "origin", "rest")

    def __init__(
        self,
        items: FollowedItems,
        loader: SchemaLoader,
        follow: Callable[[object], int],
        rest: int,
        origin: int,
    ) -> None:
        self.items = items
        self.loader = loader
        self.follow = follow
        self.rest = rest
        self.origin = origin
        self.made: Made = Unvisited()
        # The symbols by what they are made of: those of `symbol`, and of `free_symbol`.
        self.known: Unvisited[frozenset[Place] | tuple[frozenset[Stack], Trace], int] = Unvisited()

    def symbol(self, places: Iterable[Place]) -> int | None:
        """Return the symbol for what is left of the item and of the array; None if only equal items are left."""
        items = self.items
        found: set[Place] = set()
        stacks: set[Stack] = set()
        for stack, trace in places:
            resolved = items.resolved(stack, trace, self.made)
            if resolved is None:
                continue
            stack, trace = resolved
            if stack.below is None:
                return self.end(trace)
            if self.can_end(stack, trace):
                found.add(resolved)
                stacks.add(stack)
        if not found:
            return None
        if trace.is_free and all(one is trace for _, one in found):
            return self.free_symbol(together(stacks), trace)
        key = frozenset(found)
        symbol = self.known.get(key)
        if symbol is None:
            symbol = self.known[key] = self.loader.engine.add_lazy(
                "item",
                Reading.expand,
                self,
                Reading.productions,
                key,
                witness=(self.rest,),
                size=self.items.pay(),
                untracked=True,
            )
        return symbol

    def free_symbol(self, stacks: frozenset[Stack], trace: Trace) -> int:
        """Return the symbol for what is left after a trace that is free. No stack may begin with the end of an item."""
        symbol = self.known.get((stacks, trace))
        if symbol is None:
            size = self.items.pay()
            symbol = self.loader.engine.add_lazy(
                "item",
                Reading.expand,
                self,
                Reading.free_productions,
                stacks,
                trace,
                witness=(self.rest,),
                size=size,
                untracked=True,
            )
            self.known[stacks, trace] = symbol
        return symbol

    def can_end(self, stack: Stack, trace: Trace) -> bool:
        return self.items.can_differ(stack, trace)

    def end(self, trace: Trace) -> int | None:
        """Return the symbol after the item; None if it equals an earlier one."""
        return None if trace.frames[0].candidates else self.follow(trace.value())

    def expand(self, work: Callable[..., list[list[int]]], *given: Any) -> list[list[int]]:
        """Return the productions that one of the functions below makes for a symbol."""
        loader = self.loader
        try:
            tick()
            return work(self, *given)
        except LimitError as error:
            raise loader.algebra.located(error, self.origin) from None

    def productions(self, places: frozenset[Place]) -> list[list[int]]:
        single: dict[tuple[str, Any], list[Place]] = {}
        several: dict[tuple[str, Any, Trace], list[tuple[Leaf, Stack]]] = {}
        for stack, trace in places:
            for leaf, below, before in self.items.leaves_of(stack, trace, self.made):
                if leaf.kind in SINGLE:
                    after = self.items.after(leaf, None, below, before, self.made)
                    single.setdefault((leaf.kind, leaf.content), []).append(after)
                else:
                    several.setdefault((leaf.kind, leaf.content, before), []).append(untracked(leaf, below))
        found: list[list[int]] = []
        for (kind, content, before), leaves in several.items():
            # Values that earlier items have here are terminals of their own. After all others the items differ.
            wanted = among(content, before.wanted(kind == "keys"))
            for value in wanted:
                self.add_single(found, *only(kind, content, value), self.after(leaves, before, value))
            self.add_others(found, kind, without(content, wanted), leaves, before)
        for (kind, content), after_all in single.items():
            self.add_single(found, kind, content, after_all)
        return found

    def free_productions(self, stacks: frozenset[Stack], trace: Trace) -> list[list[int]]:
        """Return the productions after a trace that is free: nothing is compared with earlier items any more."""
        outline = self.items.outline(stacks)
        if outline is None:
            return self.productions(frozenset([(stack, trace) for stack in stacks]))
        found: list[list[int]] = []
        for kind, content, leaves in outline.several:
            self.add_others(found, kind, content, leaves, trace)
        for kind, content, event, belows in outline.single:
            terminal = self.loader.plain_leaf(kind, content)
            if terminal is not None:
                after = trace if event is None else trace.after(event, self.made)
                found.append([terminal, self.symbol_after(belows, after)])
        return found

    def symbol_after(self, stacks: frozenset[Stack], trace: Trace) -> int:
        """Return the symbol for what is left of the item and of the array, after a trace that is free."""
        if all(type(stack.head) is int and stack.below is not None for stack in stacks):
            return self.free_symbol(stacks, trace)
        symbol = self.symbol([(stack, trace) for stack in stacks])
        assert symbol is not None  # the items that are open differ from all earlier ones
        return symbol

    def add_others(
        self, found: list[list[int]], kind: str, content: Any, leaves: list[tuple[Leaf, Stack]], before: Trace
    ) -> None:
        """Add a terminal for values that no earlier item has here."""
        is_part = all(leaf.follow is None for leaf, _ in leaves)
        untrack(leaves)
        terminal = self.loader.followed_leaf(kind, content, Reading.read, self, kind, leaves, before, is_part=is_part)
        if terminal is not None:
            found.append([terminal, self.loose(together([below for _, below in leaves]))])

    def add_single(self, found: list[list[int]], kind: str, content: Any, after: list[Place]) -> None:
        symbol = self.symbol(after)
        if symbol is not None:
            terminal = self.loader.plain_leaf(kind, content)
            if terminal is not None:
                found.append([terminal, symbol])

    def after(self, leaves: list[tuple[Leaf, Stack]], before: Trace, value: Any) -> list[Place]:
        return [self.items.after(leaf, value, below, before, self.made) for leaf, below in leaves]

    def read(self, kind: str, leaves: list[tuple[Leaf, Stack]], before: Trace, text: bytes) -> int:
        """Return the symbol after a text of a followed terminal."""
        try:
            tick()
            value: Any
            if kind == "numbers":
                value = exact(Decimal(text.decode()))
            else:
                value = json.loads(text[: text.rindex(b'"') + 1])
            symbol = self.symbol(self.after(leaves, before, value))
        except LimitError as error:
            raise self.loader.algebra.located(error, self.origin) from None
        assert symbol is not None  # no earlier item has this value
        return symbol

    # What may follow, whatever has been read.

    def loose(self, stacks: frozenset[Stack]) -> int:
        if any(stack.below is None for stack in stacks):
            return self.rest
        items = self.items
        symbol = items.loose.get(stacks)
        if symbol is None:
            symbol = items.loose[stacks] = self.loader.engine.add_lazy(
                "any item", Reading.expand_loose, self, stacks, witness=(self.rest,), untracked=True
            )
        return symbol

    def expand_loose(self, stacks: frozenset[Stack]) -> list[list[int]]:
        loader, items = self.loader, self.items
        tick()
        leaves: dict[tuple[str, Any], set[Stack]] = {}
        agenda = list(stacks)
        while agenda:
            stack = agenda.pop()
            head, below = stack.head, stack.rest()
            if isinstance(head, Item):
                agenda.append(items.push(head.rest, below))
                continue
            leaf = items.leaves.get(head)
            if isinstance(leaf, Item):
                agenda.append(items.push_all((leaf.value, leaf.rest), below))
            elif leaf is None:
                agenda += [items.push_all(rhs, below) for rhs in items.productions(head)]
            else:
                leaves.setdefault((leaf.kind, leaf.content), set()).add(below)
        found: list[list[int]] = []
        for (kind, content), belows in leaves.items():
            terminal = loader.plain_leaf(kind, content)
            if terminal is not None:
                found.append([terminal, self.loose(frozenset(belows))])
        return found


class Repeating(Reading):
    """The same for an item that must equal an earlier one."""

    __slots__ = ()

    def can_end(self, stack: Stack, trace: Trace) -> bool:
        return self.items.can_equal(stack, trace)

    def end(self, trace: Trace) -> int | None:
        return self.rest if trace.frames[0].candidates else None

    def add_others(
        self, found: list[list[int]], kind: str, content: Any, leaves: list[tuple[Leaf, Stack]], before: Trace
    ) -> None:
        """Add nothing: no earlier item has another value here."""
