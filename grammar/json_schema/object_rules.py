"""Objects: one symbol for each state that the members so far can lead to.

First come the named keys that have an order, in the order of the schema. Each is written, or omitted unless it is
required. Then all other keys come in any order; with `property_order="any"` these are all keys. Keys without a name are
sorted into *atoms*: sets of keys about which the same is demanded.

A state knows

- how many of the keys that have an order have been passed;
- which of the other named keys have been written, and which keys without a name. So no key repeats;
- how many members there are, if that matters;
- which demands for some member (`Exists`) are not met yet. A member may meet such a demand, and then its value is also
  what the demand says.
"""

from __future__ import annotations

import json
from functools import partial
from itertools import combinations, islice
from typing import TYPE_CHECKING

from ...earley._large import untrack
from ...earley._meter import take, tick
from ...earley.errors import LimitError
from ..bits import BIT
from ..errors import GrammarLimitError
from ..json.strings import is_dumped_as_it_is
from ..loading import frozen, pieces
from .doubtful import NAMES
from .endings import Atom, Endings
from .finite import n_texts, words
from .listed_names import MAX_LISTED_VALUES, MIN_NAMES, ListedNames
from .shapes import FALSE, TRUE
from .shortcuts import is_something
from .text_sets import ALL_TEXTS, NO_TEXTS, NO_WORDS, Texts, Words, union_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .clauses import Clauses
    from .load import SchemaLoader
    from .object_sets import Solutions
    from .shapes import ObjectShape

MAX_NAMED = 256
"""The most keys of an atom that become names, if the atom could run out of keys. When so many keys without a name have
been written and a demand is still not met, GrammarLimitError is raised unless keys for it surely remain."""
FEW_DEMANDS = 3
"""The most demands on unnamed keys that are combined as they are. So few make few atoms, however they overlap. Beyond
it, demands with the same schema are united, and combinations that no value satisfies are dropped."""
MAX_OVERLAPS = 512
"""The most atoms, besides one for each pattern. Beyond it, GrammarLimitError is raised."""
MAX_REHEARSED = 16
"""The most states that a rehearsal computes of an object with clauses, beyond those in which no member is written."""
MAX_WORK = 1 << 12
"""A rehearsal computes fewer states if this number, divided by the product of an object's clauses and names, is
smaller than MAX_REHEARSED."""

MODULUS = (1 << 64) - 59
"""A prime by which sets of bits are divided before they are hashed. Python's hash of a number is its remainder by
2^61 - 1, so the bits 0 and 61 would have equal hashes."""


STATE_BYTES = 300
"""Memory of a state of an object without names: an estimate."""


class State:
    """What the members so far have led to.

    passed: how many of the named keys that have an order have been passed. When all have been: their number, plus the
        bits of the other named keys that have been written.
    size: the number of members so far, as far as it matters; 0 only for none.
    missing: bits of the demands for some member that are not met yet.
    others: the keys without a name that have been written.
    clauses: what remains of the clauses of the shape, a state of `Clauses`.
    """

    __slots__ = ("clauses", "missing", "others", "passed", "size")

    def __init__(self, passed: int, size: int, missing: int, others: Words = NO_WORDS, clauses: int = 0) -> None:
        self.passed = passed
        self.size = size
        self.missing = missing
        self.others = others
        self.clauses = clauses
        untrack(self)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, State)
            and self.passed == other.passed
            and self.size == other.size
            and self.missing == other.missing
            and self.others == other.others
            and self.clauses == other.clauses
        )

    def __hash__(self) -> int:
        return hash((self.passed % MODULUS, self.size, self.missing % MODULUS, self.others, self.clauses % MODULUS))


RULES_BYTES = 1000
"""Memory of what is known of one shape of object without names: an estimate."""


class ObjectRules:
    """The symbols of one shape of object."""

    def __init__(self, loader: SchemaLoader, shape: ObjectShape, n_ordered: int, origin: int) -> None:
        take(RULES_BYTES + 100 * len(shape.named))
        self.loader = loader
        self.shape = shape
        self.known: dict[State, int] = {}
        self.names = [one for piece in pieces(shape.named) for one in piece if one[1] != FALSE]
        untrack(self.names)  # this and `known` may be as large, and as many, as the words of `Texts`
        self.origin = origin  # see `SchemaLoader.scalar`
        self.n_ordered = sum([value != FALSE for _, value in shape.named[:n_ordered]])
        self.is_plain = is_plain(shape)
        self.listed: list[ListedNames] = []
        if len(self.names) >= MIN_NAMES:
            self.list_names()
        # (In time linear in the number of names: a sum of powers of two is not.)
        required = ["1" if name in shape.required else "0" for piece in pieces(self.names[::-1]) for name, _ in piece]
        self.required = int("".join(required) or "0", 2)
        # From this number of members on, the number does not matter: all such states are one.
        self.settled = max(shape.least, 1) if shape.most is None else shape.most + 1
        self.atoms: list[Atom] | None = None
        self.possible: tuple[int, ...] | None = None
        self.rests: dict[tuple[int, State], int] = {}
        self.others = self.other_keys()
        self.clauses: Clauses | None = None
        self.solved: dict[ObjectShape, int] = {}
        self.endings: Endings | None = None
        if shape.clauses:
            self.read_clauses()
        if shape.exists or shape.least or (self.clauses is not None and self.clauses.counts):
            self.name_few()

    def list_names(self) -> None:
        """Find names that may be missing, and whose values surely exist, and list them: see `listed_names`."""
        shape, loader = self.shape, self.loader
        algebra = loader.algebra
        if not algebra.lists_names or not self.is_plain or shape.least or shape.most is not None:
            return
        if not loader.style.dumped or loader.holder() is not None:
            return
        listed: dict[str, int] = {}
        for index, (name, value) in enumerate(self.names):
            tick()
            if name not in shape.required and is_dumped_as_it_is(name, loader.own) and is_something(algebra, value):
                listed[name] = algebra.meant(value)
            elif self.n_ordered:
                self.add_listed(listed, index)
                listed = {}
        self.add_listed(listed, len(self.names))
        if self.listed and not self.n_ordered:
            self.names = [one for one in self.names if one[0] not in listed]
            untrack(self.names)

    def add_listed(self, listed: dict[str, int], end: int) -> None:
        """List these names if they are many: those before the index `end`, if names have an order."""
        if len(listed) >= MIN_NAMES and len(set(listed.values())) <= MAX_LISTED_VALUES:
            self.listed.append(ListedNames(self.loader, listed, end if self.n_ordered else 0))

    def read_clauses(self) -> None:
        """Make the keys that clauses mention names, so that a state knows which of them have been written."""
        from .clauses import Clauses  # few schemas need it

        sets = self.loader.algebra.sets.objects
        self.clauses = clauses = Clauses(sets, self.shape.clauses)
        names = dict(self.shape.named)
        words_ = [name for name in clauses.names if name not in names]
        self.add_names([name for name in words_ if self.others.has(name)])
        self.others = self.others.difference(Texts(frozenset(words_)))

    def add_names(self, names: list[str]) -> None:
        sets = self.loader.algebra.sets.objects
        known = {name for name, _ in self.names}
        found = [(name, sets.value_of(self.shape, name)) for name in names if name not in known]
        self.names += [(name, value) for name, value in found if value != FALSE]

    def other_keys(self) -> Texts:
        """Return the keys that have no name and may be written."""
        shape = self.shape
        others = Texts(but=frozen([name for name, _ in shape.named])) if shape.named else ALL_TEXTS
        for keys, value in shape.for_all:
            if value == FALSE:
                others = others.difference(keys)
        return others if self.loader.names is None else others.intersection(self.loader.names)

    def name_few(self) -> None:
        """Make keys without a name into names if an atom could run out of them before all demands are met.

        Which keys of an atom have been written must not matter for the members after them. So each atom needs enough
        keys; the keys of every other atom become names. Keys of another atom cannot stand in for them, since these may
        have no value.
        """
        questions = self.loader.questions()
        few = words(self.others, MAX_NAMED, questions)
        if few is not None:
            self.others = NO_TEXTS
            self.add_names(sorted(few))
            return
        algebra = self.loader.algebra
        least = self.shape.least
        counts = self.clauses is not None and self.clauses.counts
        found: list[str] = []
        left: list[Atom] = []
        for atom in self.make_atoms():
            most = MAX_NAMED if counts or atom.meets else min(least - 1, MAX_NAMED)
            part = words(atom.keys, most, questions) if most > 0 else None
            if part is None or (not counts and len(part) >= least and not self.can_meet(atom)):
                left.append(atom)
            elif not algebra.is_surely_nothing(atom.value):
                found += part
        if found:
            left = [atom for atom in left if not algebra.is_surely_nothing(atom.value)]
            self.others = self.others.difference(Texts(frozenset(found))) if left else NO_TEXTS
        for atom in left if least > MAX_NAMED else ():
            if n_texts(atom.keys, least, questions) < least and not algebra.is_surely_nothing(atom.value):
                raise GrammarLimitError(f"cannot determine whether {least} distinct keys exist; demand fewer members")
        self.atoms = left
        self.add_names(sorted(found))

    def can_meet(self, atom: Atom) -> int:
        """Return the bits of the demands that a key of the atom may meet, as far as that is quick to see."""
        algebra = self.loader.algebra
        found = 0
        for bit, exist in enumerate(self.shape.exists):
            if atom.meets >> bit & 1 and not algebra.is_surely_nothing(algebra.intersection(atom.value, exist.value)):
                found |= 1 << bit
        return found

    def witness(self) -> tuple[int, ...]:
        """Return the witness of all states: nothing, or a symbol that derives something if all required values do."""
        if self.possible is None:
            engine = self.loader.engine
            needed = self.needed(self.names, self.shape.required)
            if needed is None:
                self.possible = (engine.add_lazy("nothing", list),)
            else:
                self.possible = (engine.add_lazy("required", list, witness=needed),) if needed else ()
        return self.possible

    def needed(self, names: Iterable[tuple[str, int]], required: Words) -> list[int] | None:
        """Return the symbols of the required values, except for values that surely exist; None if there is no such
        object."""
        loader = self.loader
        found: list[int] = []
        for name, value in names if required else ():
            tick()
            if name not in required or (loader.has_key(name) and loader.is_sure(value)):
                continue
            symbol = loader.member(name, value)
            if symbol is None or loader.key(name) is None:
                return None
            found.append(symbol)
        return found

    def start(self) -> int:
        clauses = self.clauses.start if self.clauses is not None else 0
        return self.symbol(State(0, 0, (BIT << len(self.shape.exists)) - 1, NO_WORDS, clauses))

    def symbol(self, state: State) -> int:
        symbol = self.known.get(state)
        if symbol is None:
            witness: tuple[int, ...] | None = None  # remains so if keys without a name may have run out
            if state.clauses:
                witness = () if self.may_end(state) else (self.solution(state),)
            elif self.is_plain:
                witness = self.witness()
            elif not state.missing or len(state.others) < MAX_NAMED:
                witness = self.ending(state)
            symbol = self.known[state] = self.loader.engine.add_lazy(
                "members",
                ObjectRules.expand,
                self,
                state,
                nullable=self.loader.is_open and self.may_stop(state),
                witness=witness,
                size=STATE_BYTES
                + (state.passed.bit_length() + state.clauses.bit_length()) // 4
                + 100 * len(state.others),
                untracked=True,  # see `SchemaLoader`
            )
            untrack(self.known)
        return symbol

    def ending(self, state: State) -> tuple[int, ...]:
        """Return the witness of a state without clauses: what derives something if the state can be finished."""
        shape = self.shape
        if self.endings is None:
            if self.atoms is None:
                self.atoms = self.make_atoms()
            self.endings = Endings(self.loader, shape, self.names, self.atoms, self.origin)
        room = None if shape.most is None else shape.most - state.size
        return self.endings.witness(~self.written(state), state.missing, shape.least - state.size, room)

    def written(self, state: State) -> int:
        """Return the bits of the names that cannot come any more."""
        passed, written = state.passed, 0
        if passed > self.n_ordered:
            passed, written = self.n_ordered, passed - self.n_ordered
        return written << self.n_ordered | (1 << passed) - 1

    def solution(self, state: State) -> int:
        """Return a symbol that derives something if the clauses that remain can be met. It stands for the shapes
        without clauses whose union is the rest of the object."""
        assert self.clauses is not None
        loader = self.loader
        left = self.left(state)
        known = self.solved.get(left)
        if known is None:
            shapes = loader.algebra.sets.objects.solutions(left)
            known = self.solved[left] = loader.engine.add_lazy(
                "solution", ObjectRules.next_solution, self, shapes, size=shapes.size()
            )
        return known

    def next_solution(self, shapes: Solutions) -> list[list[int]]:
        """Take the next shape and return the productions of a symbol that derives something if that shape, or one after
        it, can be met. If this fails, the shape is still the next one."""
        try:
            tick()
            shape = shapes.first()
        except LimitError as error:
            raise self.loader.algebra.located(error, self.origin) from None
        if shape is None:
            return []
        if is_plain(shape):
            members = self.needed(shape.named, shape.required)
            if not members and members is not None:
                return [[]]  # no other solution is asked for
        else:
            members = [self.loader.members(shape, 0, self.origin)]
        next(shapes)
        others = self.loader.engine.add_lazy(
            "other solution", ObjectRules.next_solution, self, shapes, size=shapes.size()
        )
        return [[others]] if members is None else [members, [others]]

    def left(self, state: State) -> ObjectShape:
        """Return what remains of the shape: the objects of the members that may still come."""
        assert self.clauses is not None
        shape = self.shape
        written = self.written(state)
        gone = frozenset([name for bit, (name, _) in enumerate(self.names) if written >> bit & 1])
        value_of = dict(shape.named)
        value_of.update(self.names)
        return shape._replace(
            named=tuple([(name, FALSE if name in gone else value) for name, value in value_of.items()]),
            required=shape.required - gone,
            exists=tuple([exist for bit, exist in enumerate(shape.exists) if state.missing >> bit & 1]),
            least=max(shape.least - state.size, 0),
            most=None if shape.most is None else shape.most - state.size,
            is_constant=False,
            clauses=self.clauses.shapes(state.clauses),
        )

    def rehearse(self) -> None:
        """Compute which members may come first, and their values, to raise an error if this exceeds a limit. With
        clauses, compute some later states, too, in which less of the clauses remains."""
        self.start()
        engine = self.loader.engine
        first = next(iter(self.known))
        n = len(self.names) if self.n_ordered else 1
        if self.clauses is not None:
            most = n + min(MAX_REHEARSED, MAX_WORK // (1 + len(self.clauses.known) * len(self.names)))
            states = list(self.known)
            for state in states:  # the list grows meanwhile
                if most <= 0:
                    break
                most -= 1
                if engine.is_productive(self.known[state]):
                    engine.work_out(self.known[state])
                    states += islice(self.known, len(states), None)
        elif self.n_ordered:
            for index in range(n):
                self.add_named(first, index, index + 1, [])
            self.add_others(first, [])
        else:
            engine.work_out(self.known[first])  # all members that may ever come

    def expand(self, state: State) -> list[list[int]]:
        """Return what may follow this state: the end, or a member and what follows it."""
        try:
            tick()
            return self.productions(state)
        except LimitError as error:
            raise self.loader.algebra.located(error, self.origin) from None

    def productions(self, state: State) -> list[list[int]]:
        found: list[list[int]] = []
        n_ordered = self.n_ordered
        if state.passed < n_ordered:
            for listed in self.listed:
                if listed.end - len(listed.values) <= state.passed < listed.end:
                    after = State(listed.end, state.size, state.missing, state.others)
                    found.append([self.symbol(after)])
                    found.append([*self.loader.before(state.size == 0), self.listed_member(listed, state)])
                    return found
            if not self.required >> state.passed & 1:
                left: int | None = state.clauses
                if self.clauses is not None:
                    left = self.clauses.passed(state.clauses, self.names[state.passed][0])
                if left is not None:
                    after = State(state.passed + 1, state.size, state.missing, state.others, left)
                    found.append([self.symbol(after)])
            self.add_named(state, state.passed, state.passed + 1, found)
            return found
        written = state.passed - n_ordered
        for bit in range(len(self.names) - n_ordered):
            if not written >> bit & 1:
                self.add_named(state, n_ordered + bit, n_ordered + (written | 1 << bit), found)
        if self.listed and not n_ordered:
            found.append([*self.loader.before(state.size == 0), self.listed_member(self.listed[0], state)])
        if self.may_end(state):
            if not self.loader.is_open:
                found.append(self.loader.end("}", state.size > 0))
            elif state.size:
                found.append([])
        self.add_others(state, found)
        return found

    def listed_member(self, listed: ListedNames, state: State) -> int:
        """Return the symbol of a member with one of the listed names that may still come, and what follows it."""
        after = State(state.passed, self.settled, state.missing, state.others)
        witness = () if listed.end or len(state.others) < len(listed.values) else None
        return self.loader.engine.add_lazy("member", ObjectRules.expand_listed, self, listed, after, witness=witness)

    def expand_listed(self, listed: ListedNames, after: State) -> list[list[int]]:
        node = listed.left(after.passed, after.others)
        if node is None:
            return []
        engine = self.loader.engine
        key = engine.add_followed("key", node, ObjectRules.follow_listed, self, listed, after, kind=NAMES, varies=True)
        # What follows any of the names: any of their values, and the members that may follow if none has been written.
        parts = listed.any_value(), self.symbol(after)
        return [[key, engine.add_lazy("rest", tuple, (parts,), witness=parts)]]

    def follow_listed(self, listed: ListedNames, after: State, text: bytes) -> int:
        """Return the symbol of what follows a listed name that is written as `text`, colon included."""
        name = self.loader.read_key(text)
        value = self.loader.value(listed.values[name])
        assert value is not None
        if listed.end:
            then = State(listed.after(name), after.size, after.missing, after.others, after.clauses)
        else:
            then = State(after.passed, after.size, after.missing, after.others | {name}, after.clauses)
        return self.rest(value, then)

    def may_end(self, state: State) -> bool:
        """Whether the object may end here, after all names that have an order."""
        written = state.passed - self.n_ordered
        if written < 0 or self.required >> self.n_ordered & ~written or state.missing:
            return False
        if state.size < min(self.shape.least, self.settled):
            return False
        return self.clauses is None or self.clauses.may_end(state.clauses)

    def may_stop(self, state: State) -> bool:
        """Whether an object without an end mark, of which a member has been written, may end here: all names that have
        an order and are left may be omitted."""
        if not state.size:
            return False
        n_ordered = self.n_ordered
        if state.passed >= n_ordered:
            return self.may_end(state)
        if self.required >> state.passed & (BIT << n_ordered - state.passed) - 1:
            return False
        left = state.clauses
        if self.clauses is not None:
            for name, _ in self.names[state.passed : n_ordered]:
                tick()
                then = self.clauses.passed(left, name)
                if then is None:
                    return False
                left = then
        return self.may_end(State(n_ordered, state.size, state.missing, state.others, left))

    def add_named(self, state: State, index: int, passed: int, found: list[list[int]]) -> None:
        """Add a member with one of the named keys."""
        name, value = self.names[index]
        key = self.loader.key(name)
        if key is not None:
            meets = 0
            if state.missing:
                for bit, exist in enumerate(self.shape.exists):
                    if exist.keys.has(name):
                        meets |= 1 << bit
            self.add(state, key, value, meets, passed, found, name)

    def add_others(self, state: State, found: list[list[int]]) -> None:
        """Add a member with a key that is not named."""
        if self.atoms is None:
            self.atoms = self.make_atoms()
        if state.missing and len(state.others) >= MAX_NAMED:
            self.check_left(state)
        for atom in self.atoms:
            keys = atom.keys.difference(Texts(state.others)) if state.others else atom.keys
            self.add(state, 0, atom.value, atom.meets, state.passed, found, atom.keys, keys)

    def check_left(self, state: State) -> None:
        """Raise GrammarLimitError if no key may be left for a demand that is not met."""
        assert self.atoms is not None
        n = len(state.others) + 2
        few = many = 0
        for atom in self.atoms:
            meets = self.can_meet(atom) & state.missing
            if meets and n_texts(atom.keys, n) < n:
                few |= meets
            else:
                many |= meets
        if few & ~many:
            raise GrammarLimitError(f"more than {MAX_NAMED} keys are written before one that the schema demands")

    def add(
        self,
        state: State,
        key: int,
        value: int,
        meets: int,
        passed: int,
        found: list[list[int]],
        about: str | Texts,
        keys: Texts | None = None,
    ) -> None:
        """Add a member, once for each choice of the demands that it meets. Its key is the symbol `key` or, if `keys`
        are given, one of these.

        about: the name, or all keys of the atom.
        """
        if self.shape.most is not None and not self.has_room(state, passed):
            return
        size = min(state.size + 1, self.settled)
        meets &= state.missing
        if not meets:
            self.add_ways(state, key, value, State(passed, size, state.missing, state.others), found, about, keys)
            return
        algebra = self.loader.algebra
        exists = self.shape.exists
        open_demands = [bit for bit in range(len(exists)) if meets >> bit & 1]
        for n in range(len(open_demands) + 1):
            for chosen in combinations(open_demands, n):
                tick()
                what = value
                missing = state.missing
                for bit in chosen:
                    what = algebra.intersection(what, exists[bit].value)
                    missing &= ~(1 << bit)
                self.add_ways(state, key, what, State(passed, size, missing, state.others), found, about, keys)

    def add_ways(
        self,
        state: State,
        key: int,
        value: int,
        after: State,
        found: list[list[int]],
        about: str | Texts,
        keys: Texts | None,
    ) -> None:
        """Add a member, once for each way in which the clauses continue. The clauses of `after` are not known yet."""
        clauses = self.clauses
        name = about if keys is None else None
        if clauses is None:
            self.add_one(state, key, name, value, after, found, keys)
            return
        for way in clauses.ways(state.clauses, about, value, partial(self.left, state)):
            then = State(after.passed, after.size, after.missing, after.others, way.left)
            self.add_one(state, key, name, way.value, then, found, keys)

    def add_one(
        self,
        state: State,
        key: int,
        name: str | Texts | None,
        value: int,
        after: State,
        found: list[list[int]],
        keys: Texts | None,
    ) -> None:
        loader = self.loader
        symbol = loader.member(name, value)
        if symbol is None:
            return
        if keys is None:
            member = [key, symbol, self.symbol(after)]
        else:
            member = [self.other(keys, symbol, after, not state.others and loader.names is None)]
        found.append([*loader.before(state.size == 0), *member])

    def has_room(self, state: State, passed: int) -> bool:
        """Whether there is room for one more member and for all required members that are missing then."""
        assert self.shape.most is not None
        if passed < self.n_ordered:
            missing = self.required >> passed
        else:
            missing = self.required >> self.n_ordered & ~(passed - self.n_ordered)
        return state.size + 1 + missing.bit_count() <= self.shape.most

    def other(self, keys: Texts, value: int, after: State, is_possible: bool) -> int:
        """Return a symbol for a member whose key is one of `keys`. No member after it may have the same key.

        So the key is a followed terminal: when the parser has read it, it asks `follow` for the symbol after it. Masks
        are made with a symbol for what follows any key. is_possible: whether it is certain that there is such a key.
        """
        witness = (value, self.symbol(after)) if is_possible else None
        return self.loader.engine.add_lazy(
            "member", ObjectRules.expand_other, self, keys, value, after, witness=witness, untracked=True
        )

    def expand_other(self, keys: Texts, value: int, after: State) -> list[list[int]]:
        loader = self.loader
        key = loader.followed_key(keys, ObjectRules.follow, self, value, after)
        if key is not None and self.shape.named and value == loader.member(None, TRUE) and loader.holder() is None:
            loader.engine.set_unlikely(key)  # the schema allows it, but does not speak of it
        return [] if key is None else [[key, self.rest(value, after)]]

    def follow(self, value: int, after: State, text: bytes) -> int:
        """Return the symbol of what follows a key that is written as `text`, colon included."""
        loader = self.loader
        key = loader.read_key(text)
        then = State(after.passed, after.size, after.missing, after.others | {key}, after.clauses)
        symbol = self.rest(loader.closed(value, key), then)
        if not loader.engine.is_productive(symbol):
            # `name_few` gave no names to keys that have run out, because it did not see that these have no value.
            error = GrammarLimitError(f"what may follow the key {json.dumps(key)} was not known before it was written")
            raise loader.algebra.located(error, self.origin)
        return symbol

    def rest(self, value: int, after: State) -> int:
        """Return the symbol of a value and what follows it."""
        symbol = self.rests.get((value, after))
        if symbol is None:
            parts = value, self.symbol(after)
            symbol = self.loader.engine.add_lazy("rest", tuple, (parts,), witness=parts)
            self.rests[value, after] = symbol
        return symbol

    def demands(self) -> list[tuple[Texts, int]]:
        """Return what is demanded of keys that are not named. If these are many demands, unite the key sets of those
        with the same schema."""
        found = [(keys, value) for keys, value in self.shape.for_all if value != FALSE]
        if len(found) <= FEW_DEMANDS:
            return found
        algebra = self.loader.algebra
        sets: dict[int, list[Texts]] = {}
        for keys, value in found:
            sets.setdefault(algebra.meant(value), []).append(keys)
        return [(union_of(parts), value) for value, parts in sets.items()]

    def make_atoms(self) -> list[Atom]:
        shape = self.shape
        algebra = self.loader.algebra
        others = self.others
        if others.words is not None and not others.words:
            return []
        questions = self.loader.questions()
        key_sets = self.clauses.key_sets if self.clauses is not None else ()
        atoms = [Atom(others, TRUE, 0, frozenset())]
        demands = [(keys, value, 0) for keys, value in self.demands()]
        demands += [(exist.keys, TRUE, 1 << index) for index, exist in enumerate(shape.exists)]
        demands += [(keys, TRUE, 0) for keys in key_sets]
        are_many = len(demands) > FEW_DEMANDS
        for index, (keys, value, meets) in enumerate(demands):
            parts: list[Atom] = []
            for atom in atoms:
                tick()
                if len(parts) > index + MAX_OVERLAPS:
                    raise GrammarLimitError(
                        f"the patterns of an object overlap and divide its keys into more than {MAX_OVERLAPS} kinds; "
                        "give more of the patterns the same schema"
                    )
                inside = atom.keys
                # Keep an atom as it is if all its keys are inside, or all outside: two patterns are mostly disjoint.
                if not keys.is_all():
                    inside = atom.keys.intersection(keys)
                    if questions.is_empty(inside):
                        parts.append(atom)
                        continue
                    outside = atom.keys.difference(keys)
                    if questions.is_empty(outside):
                        inside = atom.keys
                    else:
                        parts.append(atom._replace(keys=outside))
                both = algebra.intersection(atom.value, value)
                if are_many and both != atom.value and algebra.is_surely_nothing(both):
                    continue  # such a key has no value; kept, the atoms would double with each pattern
                within = atom.within | {keys} if keys in key_sets else atom.within
                parts.append(Atom(inside, both, atom.meets | meets, within))
            atoms = parts
        if self.clauses is not None:
            self.clauses.within = {atom.keys: atom.within for atom in atoms}
        return [atom for atom in atoms if atom.value != FALSE and not questions.is_empty(atom.keys)]


def is_plain(shape: ObjectShape) -> bool:
    """Whether every state of the shape can be finished if the values of all required keys exist. A shape with `least`
    is plain only if nothing is demanded of keys without a name: then there are always enough of them."""
    return not shape.exists and not (shape.least and shape.for_all) and not shape.clauses
