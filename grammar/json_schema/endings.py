"""Whether an object can be finished: a symbol for each state, which derives something exactly if it can.

The parser never begins what cannot be finished. So it must know, for each state of an object, whether some members lead
from there to the end. The order of the members does not matter for this, so names are tried in one order. Only names
that are required, or that may meet a demand for some member, are tried. Names about which the same is demanded are
interchangeable, and so are the keys of an atom: `ObjectRules.name_few` has made names of those that could run out. So
there are few of these symbols, while members in any order have millions of states.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...earley._meter import keep, take, tick
from ...earley.errors import LimitError
from ..loading import PIECE, distinct, pieces

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .shapes import ObjectShape
    from .terms import Loader
    from .text_sets import Texts


WAY_BYTES = 200
"""Memory of a way in which a value meets some demands: an estimate."""


class Atom(NamedTuple):
    """Keys without a name about which the same is demanded."""

    keys: Texts
    value: int
    meets: int  # bits of the demands for some member that such a key can meet
    within: frozenset[Texts]  # those sets of keys mentioned in clauses that include all its keys


class Endings:
    """The endings of one shape of object without clauses."""

    def __init__(
        self, loader: Loader, shape: ObjectShape, names: list[tuple[str, int]], atoms: list[Atom], origin: int
    ) -> None:
        self.loader = loader
        self.atoms = atoms
        self.origin = origin  # see `SchemaLoader.scalar`
        self.demanded = [exist.value for exist in shape.exists]
        self.names = [name for name, _ in names]
        self.values = [value for _, value in names]
        self.all_names = 0  # bits. Made without shifting by a length: compiled code would shift 32 bits
        self.required = 0
        self.writable = 0
        self.sure = 0  # those of the writable ones that surely have a value
        self.meets: list[int] = []  # for each name, bits of the demands that it may meet
        for index, (name, _) in enumerate(names):
            self.all_names |= 1 << index
            if name in shape.required:
                self.required |= 1 << index
            if loader.has_key(name):
                self.writable |= 1 << index
                if loader.is_sure(self.values[index]):
                    self.sure |= 1 << index
            self.meets.append(sum([1 << bit for bit, exist in enumerate(shape.exists) if exist.keys.has(name)]))
        self.known: dict[object, int] = {}

    def witness(self, names: int, missing: int, need: int, room: int | None) -> tuple[int, ...]:
        """Return symbols that all derive something exactly if an object can be finished. `names`: the bits of the names
        that may still come; `missing`: the bits of the demands that are not met yet. At least `need` and at most `room`
        members must come."""
        names &= self.all_names
        required = names & self.required
        if not missing and not required & ~self.sure:
            must = max(need, required.bit_count())
            if (room is None or must <= room) and must <= (required | names & self.sure).bit_count():
                return ()
        return (self.symbol(names, 0, missing, need, room),)

    def symbol(self, names: int, spare: int, missing: int, need: int, room: int | None) -> int:
        """Return one symbol that derives something exactly if an object can be finished, as in `witness`. The `spare`
        names are not required, and need not be tried for demands.

        Spare names that surely have a value are subtracted from `need`. They never make too many members: no shape
        demands more members than it allows, and each member reduces both numbers.
        """
        need = max(need, 0)
        required = names & self.required
        if room is not None and room >= required.bit_count() + missing.bit_count() + need:
            room = None  # it does not run out: so many members suffice
        useful = required
        for index in bits(names & ~required):
            if self.meets[index] & missing:
                useful |= 1 << index
        spare |= names & ~useful
        need = max(need - (spare & self.sure).bit_count(), 0)
        spare = spare & self.writable & ~self.sure if need else 0
        key = (useful, spare, missing, need, room)
        known = self.known.get(key)
        if known is None:
            known = self.known[key] = self.loader.engine.add_lazy("ending", Endings.expand, self, *key)
        return known

    def expand(self, names: int, spare: int, missing: int, need: int, room: int | None) -> list[list[int]]:
        try:
            tick()
            return self.ways(names, spare, missing, need, room)
        except LimitError as error:
            raise self.loader.algebra.located(error, self.origin) from None

    def ways(self, names: int, spare: int, missing: int, need: int, room: int | None) -> list[list[int]]:
        if names & self.required & ~self.writable:
            return []
        loader = self.loader
        sure: list[int] = []  # values of members that must come and can meet no missing demand
        open_names = 0
        for index in bits(names & self.writable):
            if self.meets[index] & missing:
                open_names |= 1 << index
                continue
            symbol = loader.member(self.names[index], self.values[index])
            if symbol is None:
                return []
            sure.append(symbol)
        need = max(need - len(sure), 0)
        if room is not None:
            room -= len(sure)
            if room < max(need, 1 if missing else 0):
                return []
        if not missing:
            ways = self.filled(spare, need)
        elif open_names:
            ways = self.by_name(open_names, spare, missing, need, room)
        else:
            ways = self.by_others(spare, missing, need, room)
        return [sure + way for piece in pieces(ways) for way in piece] if sure else ways

    def by_name(self, names: int, spare: int, missing: int, need: int, room: int | None) -> list[list[int]]:
        """Return the ways in which the first of the names meets some demands, and those in which neither it nor a name
        that is interchangeable with it meets any."""
        index = first_bit(names)
        value, meets = self.values[index], self.meets[index] & missing
        left = names & ~(1 << index)
        then = None if room is None else room - 1
        found = [
            [symbol, self.symbol(left, spare, missing & ~met, need - 1, then)]
            for symbol, met in self.meeting(self.names[index], value, meets)
        ]
        if self.required >> index & 1:
            symbol = self.loader.member(self.names[index], value)
            if symbol is not None:
                found.append([symbol, self.symbol(left, spare, missing, need - 1, then)])
            return found
        others = [one for one in bits(names & ~self.required) if self.meets[one] & missing == meets]
        alike = self.alike(index, others)
        found.append([self.symbol(names & ~alike, spare | alike, missing, need, room)])
        return found

    def alike(self, index: int, names: Iterable[int]) -> int:
        """Return the bits of those names whose values are the same as those of the name `index`. Their symbols are
        compared: equal scalars have one symbol."""
        member = self.loader.member
        symbol = member(self.names[index], self.values[index])
        return sum([1 << one for one in names if member(self.names[one], self.values[one]) == symbol])

    def by_others(self, spare: int, missing: int, need: int, room: int | None) -> list[list[int]]:
        """Return the ways in which a key without a name meets the first demand, and perhaps others."""
        first = missing & -missing
        then = None if room is None else room - 1
        found: list[tuple[int, int]] = []
        for atom in self.atoms:
            if atom.meets & first:
                found += self.meeting(None, atom.value, atom.meets & missing)
        return [
            [symbol, self.symbol(0, spare, missing & ~met, need - 1, then)]
            for piece in pieces(distinct(found))
            for symbol, met in piece
            if met & first
        ]

    def meeting(self, name: str | None, value: int, meets: int) -> list[tuple[int, int]]:
        """Return the ways in which a value meets one demand or more: the symbol of such a value, and the bits of these
        demands."""
        algebra = self.loader.algebra
        ways = [(value, 0)]
        for bit in bits(meets):
            tick()
            for one, met in ways[:]:  # twice as many with each demand, if their values can be met together
                tick()
                both = algebra.intersection(one, self.demanded[bit])
                if not algebra.is_surely_nothing(both):
                    take(WAY_BYTES)
                    ways.append((both, met | 1 << bit))
        found: list[tuple[int, int]] = []
        for one, met in ways[1:]:
            tick()
            symbol = self.loader.member(name, one)
            if symbol is not None:
                found.append((symbol, met))
        if len(ways) > PIECE:  # else they are freed at once
            keep(ways)
            keep(found)
        else:
            take(-WAY_BYTES * (len(ways) - 1))
        return found

    def filled(self, spare: int, need: int) -> list[list[int]]:
        """Return the ways to write `need` further members of any kind: keys without a name, or spare names."""
        if not need:
            return [[]]
        symbols = dict.fromkeys([self.loader.member(None, atom.value) for atom in self.atoms], True)
        found = [[symbol] for symbol in symbols if symbol is not None]
        if spare.bit_count() >= need:
            first = first_bit(spare)
            alike = self.alike(first, bits(spare))
            symbol = self.loader.member(self.names[first], self.values[first])
            if symbol is not None:
                found.append([symbol, self.symbol(0, spare & ~alike, 0, need - alike.bit_count(), None)])
            found.append([self.symbol(0, spare & ~alike, 0, need, None)])
        return found


def first_bit(mask: int) -> int:
    return (mask & -mask).bit_length() - 1


def bits(mask: int) -> Iterable[int]:
    """Return the indexes of the bits that are set."""
    found = []
    while mask:
        last = mask & -mask
        found.append(last.bit_length() - 1)
        mask ^= last
    return found
