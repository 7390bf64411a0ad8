"""What remains of clauses after members have been written: the derivative of sets of objects by a member.

A clause is a list of shapes, and an object must have one of them (`object_sets`). When a member is written, each shape
demands something of its value and of the members that remain. A shape whose demand the value cannot meet is dropped. So
the state of an object knows which shapes of each clause are still possible, as far as it matters. A union of very many
shapes is never made.

Several shapes of a clause may demand different things of one value. Then the clause continues in several *ways*: one
for each of these shapes, and one for all shapes that demand nothing of the value. The parser follows them side by side.
A way is dropped if its demands, on the value and on the rest, include those of another way.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ...earley._large import untrack
from ...earley._meter import tick
from ..bits import BIT, members
from ..errors import GrammarLimitError
from .shapes import ANY_OBJECT, FALSE, TRUE, Clause, ObjectShape, Untracked
from .text_sets import Texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .object_sets import ObjectSets

MAX_FREE = 8
"""The most ways after one member whose values may overlap. Beyond it, the ways are made again with as few common values
as possible: few ways remain if the values that the clauses exclude have little in common."""
MAX_WAYS = 128
"""The most ways after one member. Beyond it, each solution of the clauses becomes a way, and beyond so many of these
GrammarLimitError is raised."""

Key = str | Texts
"""A name, or a set of keys about which all clauses demand the same."""


class _Way(NamedTuple):
    value: int
    terms: frozenset[int]
    left: int


class Way(Untracked, _Way):
    """One way in which clauses continue: the value of the member, other terms that include it, and the clauses that
    remain, as bits of their numbers."""


class Clauses:
    """The clauses of one shape of object, and all clauses that remain of them after members. Each has a number. A state
    is a set of clauses that must all hold, as bits of their numbers: it takes a byte for eight clauses that are known.

    Garbage collections do not visit what is remembered: eight clauses may continue in a hundred thousand ways.
    """

    def __init__(self, sets: ObjectSets, clauses: Iterable[Clause]) -> None:
        self.sets = sets
        self.known: list[Clause] = []
        self.numbers: dict[frozenset[ObjectShape], int] = {}
        self.names: dict[str, bool] = {}  # names that shapes are about
        self.key_sets: dict[Texts, bool] = {}  # sets of keys that shapes are about
        self.counts = False  # whether shapes demand some member, or a number of them
        self.speaks_of: list[frozenset[str] | None] = []  # by number: the names that a clause is about; None: all keys
        self.endings: dict[int, bool] = {}  # by number: whether the clause holds if no further member comes
        self.within: dict[Texts, frozenset[Texts]] = {}  # sets of keys -> those of `key_sets` that they are within
        self.followed: dict[tuple[int, Key, int], list[Way]] = {}
        self.afters: dict[tuple[int, Key], list[tuple[int, ObjectShape]]] = {}
        clauses = list(clauses)
        self.look_at(clauses)
        self.start = self.state(map(self.number, clauses))

    def look_at(self, clauses: list[Clause]) -> None:
        """Find what shapes are about. Shapes within shapes are often shared: each is looked at once."""
        agenda = [shape for clause in reversed(clauses) for shape in reversed(clause)]
        seen = set()
        while agenda:
            shape = agenda.pop()
            if id(shape) in seen:
                continue
            seen.add(id(shape))
            tick()
            self.names |= dict.fromkeys([name for name, _ in shape.named], True)
            for keys, _ in (*shape.for_all, *shape.exists):
                if keys.words is not None:
                    self.names |= dict.fromkeys(sorted(keys.words), True)
                else:
                    self.key_sets[keys] = True
            if shape.exists or shape.least or shape.most is not None:
                self.counts = True
            agenda += [one for clause in reversed(shape.clauses) for one in reversed(clause)]

    def number(self, shapes: Iterable[ObjectShape]) -> int:
        """Return the number of the clause of these shapes."""
        distinct = dict.fromkeys(shapes, True)
        key = frozenset(distinct)
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[key] = len(self.known)
            clause = tuple(distinct)
            self.known.append(clause)
            names: set[str] = set()
            is_about_all = False
            for shape in clause:
                names.update([name for name, _ in shape.named])
                is_about_all |= bool(
                    shape.for_all or shape.exists or shape.least or shape.most is not None or shape.clauses
                )
            self.speaks_of.append(None if is_about_all else frozenset(names))
        return number

    def state(self, numbers: Iterable[int]) -> int:
        state = 0
        for number in numbers:
            state |= BIT << number
        return state

    def shapes(self, state: int) -> tuple[Clause, ...]:
        return tuple([self.known[number] for number in members(state)])

    def may_end(self, state: int) -> bool:
        """Whether the clauses hold if no further member comes."""
        for number in members(state):
            known = self.endings.get(number)
            if known is None:
                known = self.endings[number] = any(map(may_end, self.known[number]))
            if not known:
                return False
        return True

    def passed(self, state: int, name: str) -> int | None:
        """Return what remains of the clauses if no member of this name will come; None if they cannot hold then."""
        found = 0
        for number in members(state):
            about = self.speaks_of[number]
            if about is None or name in about:
                shapes = [left for shape in self.known[number] if (left := without(shape, name)) is not None]
                if not shapes:
                    return None
                if ANY_OBJECT in shapes:
                    continue
                number = self.number(shapes)
            found |= BIT << number
        return found

    def ways(self, state: int, key: Key, value: int, left: Callable[[], ObjectShape]) -> list[Way]:
        """Return the ways in which the clauses continue after a member. The shape beside them demands `value` of it.
        `left`: a function that returns the shape of all members that may still come."""
        asked = (state, key, value)
        known = self.followed.get(asked)
        if known is None:
            known = self.make_ways(state, key, value, False) or self.make_ways(state, key, value, True)
            if known is None:
                return self.parted(left(), key, value)
            remember(self.followed, asked, known)
        return known

    def parted(self, left: ObjectShape, key: Key, value: int) -> list[Way]:
        """Return one way for each solution of the clauses: this decides now which shapes the other members satisfy."""
        found: dict[Way, bool] = {}
        for shape in self.sets.solutions(left):
            for term, rest in self.after_shape(shape, key):
                both = self.sets.narrowed(value, term)
                if not self.sets.algebra.is_nothing(both):
                    found[Way(both, frozenset((term,)), BIT << self.number([rest]))] = True
            if len(found) > MAX_WAYS:
                raise GrammarLimitError(
                    f"a combination of schemas continues in more than {MAX_WAYS} ways after one member; combine fewer "
                    "of them"
                )
        return list(found)

    def make_ways(self, state: int, key: Key, value: int, apart: bool) -> list[Way] | None:
        """Return the ways; None if there are too many. apart: whether to make ways with as few common values as
        possible."""
        remaining = 0  # clauses about which the member says nothing
        touched = []
        for number in members(state):
            tick()
            about = self.speaks_of[number]
            if about is not None and key not in about:
                remaining |= BIT << number
            else:
                touched.append(number)
        found = [Way(value, frozenset(), remaining)]
        for number in touched:
            tick()
            after = self.after(number, key)
            made: dict[Way, bool] = {}
            for way in found:
                made |= dict.fromkeys(self.choices(way, after, apart), True)
            found = minimal(list(made))
            if len(found) > (MAX_WAYS if apart else MAX_FREE):
                return None
        return found

    def choices(self, way: Way, after: list[tuple[int, ObjectShape]], apart: bool) -> list[Way]:
        """Return the ways in which one way continues with one more clause. `after`: what each shape of the clause
        demands of the value and of the rest."""
        sets = self.sets
        free: list[ObjectShape] = []  # those that demand nothing more of the value
        demanding: dict[int, list[ObjectShape]] = {}
        values: dict[int, int] = {}
        for term, left in after:
            if term != TRUE and term not in way.terms:
                both = sets.narrowed(way.value, term)
                if sets.algebra.is_nothing(both):
                    continue
                if both != way.value and not sets.implies(way.value, term):
                    demanding.setdefault(term, []).append(left)
                    values[term] = both
                    continue
            if left == ANY_OBJECT:
                return [way]
            free.append(left)
        found = []
        if free:
            bit = BIT << self.number(free)
            value = way.value
            terms = way.terms
            if way.left & bit:
                return [way]
            if apart:
                for term in demanding:
                    value = sets.narrowed(value, term ^ 1)
                terms = terms.union([term ^ 1 for term in demanding])
            if not sets.algebra.is_nothing(value):
                found.append(Way(value, terms, way.left | bit))
        for term, shapes in demanding.items():
            left_then = way.left if ANY_OBJECT in shapes else way.left | BIT << self.number(free + shapes)
            found.append(Way(values[term], way.terms | {term}, left_then))
        return found

    def after(self, number: int, key: Key) -> list[tuple[int, ObjectShape]]:
        """Return pairs: what a shape of the clause demands of the member's value, and what of the members after it."""
        asked = (number, key)
        known = self.afters.get(asked)
        if known is None:
            known = [way for shape in self.known[number] for way in self.after_shape(shape, key)]
            for way in known:
                untrack(way)
            remember(self.afters, asked, known)
        return known

    def after_shape(self, shape: ObjectShape, key: Key) -> list[tuple[int, ObjectShape]]:
        if shape.most == 0:
            return []
        narrowed = self.sets.narrowed
        value = TRUE
        known = dict(shape.named)
        if key in known:
            value = known.pop(key)  # type: ignore[arg-type]
        else:
            for keys, demanded in shape.for_all:
                if self.has(keys, key):
                    value = narrowed(value, demanded)
        if value == FALSE:
            return []
        left = simple(
            shape._replace(
                named=tuple(known.items()),
                required=shape.required - {key} if key in shape.required else shape.required,
                exists=(),
                least=max(shape.least - 1, 0),
                most=None if shape.most is None else shape.most - 1,
                clauses=(),
            )
        )
        ways = [(value, left)]
        for exist in shape.exists:
            ways += [(narrowed(value, exist.value), left) for value, left in ways if self.has(exist.keys, key)]
            n = len(ways) // 2 if self.has(exist.keys, key) else len(ways)
            ways = [(value, left._replace(exists=(*left.exists, exist))) for value, left in ways[:n]] + ways[n:]
        if shape.clauses:
            state = self.state(map(self.number, shape.clauses))
            found: dict[tuple[int, ObjectShape], bool] = {}
            for value, left in ways:
                for way in self.ways(state, key, value, partial(shape._replace, exists=())):
                    clauses = self.shapes(way.left)
                    found[way.value, left._replace(clauses=clauses)] = True
            ways = list(found)
        return [way for way in ways if way[0] != FALSE]

    def has(self, keys: Texts, key: Key) -> bool:
        """Whether `keys`, one of the `key_sets`, includes a name or all keys of a set."""
        if isinstance(key, str):
            return keys.has(key)
        return keys.words is None and keys in self.within[key]


def remember(known: dict[Any, list[Any]], asked: tuple[Any, ...], answer: list[Any]) -> None:
    """Enter an answer that garbage collections need not visit."""
    untrack(asked)
    untrack(answer)
    known[asked] = answer
    untrack(known)


def simple(shape: ObjectShape) -> ObjectShape:
    """Return the shape without the names about which it demands nothing."""
    if shape.for_all or all(value != TRUE for _, value in shape.named):
        return shape
    named = tuple([part for part in shape.named if part[1] != TRUE or part[0] in shape.required])
    return shape._replace(named=named)


def without(shape: ObjectShape, name: str) -> ObjectShape | None:
    """Return the shape that remains if no member of a name will come; None if there is no such object."""
    tick()
    if name in shape.required:
        return None
    exists = []
    for exist in shape.exists:
        if exist.keys.words is not None and name in exist.keys.words:
            if len(exist.keys.words) == 1:
                return None
            exist = exist._replace(keys=Texts(exist.keys.words - {name}))
        exists.append(exist)
    clauses = []
    for clause in shape.clauses:
        left = tuple([one for part in clause if (one := without(part, name)) is not None])
        if not left:
            return None
        if ANY_OBJECT not in left:
            clauses.append(left)
    named = tuple([part for part in shape.named if part[0] != name])
    return simple(shape._replace(named=named, exists=tuple(exists), clauses=tuple(clauses)))


def may_end(shape: ObjectShape) -> bool:
    """Whether an object without members has the shape."""
    tick()
    if shape.required or shape.exists or shape.least:
        return False
    return all(any(map(may_end, clause)) for clause in shape.clauses)


def minimal(ways: list[Way]) -> list[Way]:
    """Return the ways without those whose demands include all demands of another one."""
    if len(ways) == 1:
        return ways
    found: list[Way] = []
    for way in sorted(ways, key=lambda way: len(way.terms) + way.left.bit_count()):
        if not any(other.terms <= way.terms and not other.left & ~way.left for other in found):
            found.append(way)
    return found
