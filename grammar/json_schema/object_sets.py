"""Sets of objects: unions of shapes; their intersections, unions and complements.

The intersection of unions is a union again, whose size is the product of their sizes: `oneOf` over a dozen objects
would become millions of shapes. So unions are multiplied out only while the result is small. The others remain a list
of *clauses* beside one shape: the object must also have some shape of each clause. Which one is decided when the parser
reads the members that distinguish them (`clauses`).

The shape beside the clauses simplifies them, as in a solver of Boolean formulas (Davis, Logemann and Loveland, 1962). A
shape of a clause that contradicts it is dropped. A clause that it implies is dropped, too. If a clause has only one
shape left, that shape is intersected with the one beside the clauses.
"""

from __future__ import annotations

from operator import is_
from typing import TYPE_CHECKING

from ...earley._large import free, untrack
from ...earley._meter import keep, tick
from ...earley.errors import LimitError
from ..errors import GrammarLimitError
from ..loading import once
from .shapes import (
    ALL_VALUES,
    ANY_OBJECT,
    FALSE,
    NO_VALUES,
    TRUE,
    Clause,
    Exists,
    ForAll,
    ObjectShape,
    Values,
    bounded,
    smaller,
)
from .shortcuts import is_near
from .terms import OfAlgebra
from .text_sets import NO_WORDS, Texts, Words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .terms import Meaning

MANY_CLAUSES = 256
"""A shape with so many clauses is freed in pieces when the grammar is loaded: all at once it takes milliseconds."""
MAX_OPENED = 64
"""The most shapes into which clauses are multiplied out. If there would be more, the clauses remain clauses."""
MIN_ABSORBED = 16
"""The fewest shapes of a union in which `absorbed` compares all pairs, to drop shapes that other shapes include."""
MAX_PARTED = 1 << 10
"""The most shapes that are split in search of the next one without clauses. Beyond it, GrammarLimitError is raised."""

NAME_BYTES = 80
"""Memory of a name of a shape, with its value: an estimate."""

BOTH_TERMS = -1
"""What `narrowed_words` returns for an intersection that has no simpler form."""


class ObjectSets(OfAlgebra):
    """The operations on shapes of objects and on unions of them."""

    def __init__(self, algebra: Meaning) -> None:
        super().__init__(algebra)
        self.enumerated: dict[int, bool] = {}
        self.words: dict[int, Words | None] = {}

    # Unions.

    def intersection_of(self, unions: Sequence[tuple[ObjectShape, ...]]) -> tuple[ObjectShape, ...]:
        """Return the objects that are in all of the unions."""
        base = ANY_OBJECT
        clauses: list[Clause] = []
        for union in once(unions):
            if not union:
                return ()
            if len(union) > 1:
                clauses.append(union)
            elif union[0] is not ANY_OBJECT:
                known = union[0] if base is ANY_OBJECT else self.intersection(base, union[0])
                if known is None:
                    return ()
                base = known
        if not clauses:
            return (base,)
        if base is ANY_OBJECT and len(clauses) == 1:
            return clauses[0]
        for union in clauses:
            if len(clauses) == 1 or any(shape.is_constant for shape in union):
                # Multiply this union out. A constant has an order of names of its own and decides all other clauses.
                others = [one for one in clauses if one is not union]
                found: dict[ObjectShape, bool] = {}
                for shape in union:
                    both = self.intersection(base, shape)
                    if both is not None:
                        found |= once(self.intersection_of([(both,), *others]) if others else (both,))
                return self.absorbed(tuple(found))
        settled = self.with_clauses(base._replace(clauses=()), [*base.clauses, *clauses])
        return () if settled is None else self.absorbed(self.opened(settled))

    def complement_of(self, union: tuple[ObjectShape, ...]) -> tuple[ObjectShape, ...]:
        """Return the objects that have no shape of the union."""
        return self.intersection_of([self.complement(shape) for shape in union])

    def opened(self, shape: ObjectShape) -> tuple[ObjectShape, ...]:
        """Return the shape as a union of shapes without clauses, or unchanged if there would be more than MAX_OPENED.
        Its clauses must be in simple form."""
        found: dict[ObjectShape, bool] = {}
        waiting = [shape]
        n_parted = 0
        if len(shape.clauses) >= MANY_CLAUSES:
            keep(shape)
        try:
            while waiting and len(found) + len(waiting) <= MAX_OPENED and n_parted <= 2 * MAX_OPENED:
                one = waiting.pop()
                if not one.clauses:
                    found[one] = True
                else:
                    n_parted += 1
                    waiting += self.parted(one)
        except LimitError:
            keep(waiting)
            raise
        if waiting or len(found) > MAX_OPENED or n_parted > 2 * MAX_OPENED:
            given: list[object] = [waiting]
            del waiting
            free(given)  # dozens, each of which may have hundreds of clauses
            return (shape,)
        return tuple(found)

    def absorbed(self, union: tuple[ObjectShape, ...]) -> tuple[ObjectShape, ...]:
        """Drop shapes that another shape of the union includes, and return the others. Do so only in large unions with
        `Exists`, because negated demands on unnamed keys mostly overlap. Keep constants: each has an order of names of
        its own."""
        if len(union) < MIN_ABSORBED or not any(shape.exists for shape in union):
            return union
        found = {shape: True for shape in union if not shape.is_constant}
        for shape in union:
            if shape.is_constant:
                continue
            tick()
            for other in found:
                if other.required <= shape.required and other is not shape:
                    if self.relative(shape, other) == ANY_OBJECT:
                        del found[shape]
                        break
        return tuple([shape for shape in union if shape.is_constant or shape in found])

    def solutions(self, shape: ObjectShape) -> Solutions:
        """Return an iterator over shapes without clauses whose union is the given shape."""
        return Solutions(self, shape)

    def parted(self, shape: ObjectShape) -> list[ObjectShape]:
        """Return the shape as a union of shapes that have fewer or simpler clauses."""
        pivot = self.pivot(shape.clauses)
        if pivot is not None:
            # Split into objects that have the pivot and objects that do not. If the pivot is about the key that
            # distinguishes branches, it decides all clauses in both cases.
            parts = [self.intersection(shape, one) for one in (pivot, *self.complement(pivot))]
            if shape not in parts:
                return [part for part in parts if part is not None]
        clause = min(shape.clauses, key=len)
        others = shape._replace(clauses=tuple([one for one in shape.clauses if one is not clause]))
        return [part for one in clause if (part := self.intersection(others, one)) is not None]

    def pivot(self, clauses: tuple[Clause, ...]) -> ObjectShape | None:
        """Return a shape of the clauses that says one thing about one name, to split by it; None if there is none.
        Prefer one that allows or excludes few values, then one that many clauses share."""
        common: dict[object, int] = {}
        for clause in clauses:
            for one in clause:
                tick()
                common[one] = common.get(one, 0) + 1
                for name, _ in one.named:
                    tick()
                    common[name] = common.get(name, 0) + 1
        best = None
        best_score = (False, 0, 0)
        for one in once([one for clause in clauses for one in clause]):
            tick()
            if len(one.named) != 1 or not is_atomic(one):
                continue
            name, value = one.named[0]
            score = (self.is_enumerated(value), common[one], common[name])
            if score > best_score:
                best, best_score = one, score
        return best

    def is_enumerated(self, term: int) -> bool:
        """Whether the term or its complement has few values, or none."""
        known = self.enumerated.get(term)
        if known is None:
            algebra = self.algebra
            known = term <= FALSE or (
                is_near(algebra, term)
                and (
                    algebra.members(algebra.values(term & ~1)) is not None
                    or (
                        ANY_OBJECT in algebra.values(term & ~1).objects
                        and algebra.members(algebra.values(term | 1)) is not None
                    )
                )
            )
            self.enumerated[term] = known
        return known

    # Clauses.

    def with_clauses(
        self, base: ObjectShape, clauses: Sequence[Clause], before: ObjectShape | None = None
    ) -> ObjectShape | None:
        """Return the shape `base`, which has no clauses, with these clauses in simple form; None if it shows that there
        is no such object.

        before: a shape beside which the clauses were in simple form; only those about names for which `base` says
            something else are simplified again.
        """
        waiting = once(clauses)
        changed = None if before is None else changed_names(before, base)
        is_settled = False
        while not is_settled:
            tick()
            is_settled = True
            found: dict[Clause, bool] = {}
            then: set[str] | None = set()  # the names whose values this round has changed; None: perhaps all
            for clause in waiting:
                tick()
                left = self.relative_clause(base, clause, changed)
                if left is None:
                    continue
                if not left:
                    return None
                if len(left) == 1:
                    more = left[0].clauses
                    both = self.intersection(base, left[0]._replace(clauses=()))
                    if both is None:
                        return None
                    now = None if more else changed_names(base, both)
                    changed = None if now is None or changed is None else changed | now
                    then = None if now is None or then is None else then | now
                    base = both
                    found |= once(more)
                    is_settled = False
                else:
                    found[left] = True
            waiting = found
            changed = then
        if len(waiting) > 1:
            sets = [frozenset(once(clause)) for clause in waiting]
            least: dict[Clause, bool] = {}
            for clause, own in zip(waiting, sets, strict=True):
                tick()
                if not any(other < own for other in sets):
                    least[clause] = True
            waiting = least
        return base._replace(clauses=tuple(waiting))

    def relative_clause(self, base: ObjectShape, clause: Clause, changed: set[str] | None = None) -> Clause | None:
        """Return what a clause demands of an object of the shape: () if no such object satisfies it; None if all do.
        changed: shapes that are not about these names are in simple form already; None: all names."""
        if changed is not None and all([is_apart(one, changed) for one in clause]):
            return clause  # most of a hundred clauses: what follows visits all names of the base
        is_closed = any(value == FALSE and keys.is_all() for keys, value in base.for_all)
        in_base = dict(base.named)
        left: dict[ObjectShape, bool] = {}
        for one in clause:
            if changed is not None and is_apart(one, changed):
                left[one] = True
                continue
            parts = [one]
            if is_closed and len(one.exists) == 1:
                # Only named members can meet this demand: replace it by one shape for each that may.
                exist = one.exists[0]
                rest = one._replace(exists=())
                parts = []
                for name, own in base.named:
                    tick()
                    if exist.keys.has(name) and own != FALSE:
                        it = ObjectShape(((name, exist.value),), required=frozenset((name,)))
                        both = it if rest == ANY_OBJECT else self.intersection(rest, it)
                        if both is not None:
                            parts.append(both)
            for part in parts:
                if len(part.named) == 1 and is_atomic(part):
                    beyond = self.relative_name(base, in_base, part)
                else:
                    beyond = self.relative(base, part)
                if beyond == ANY_OBJECT:
                    return None
                if beyond is not None:
                    # Shapes of many states have the same clauses: most of them are the same shapes, too.
                    left[part if beyond == part else beyond] = True
        if len(left) == len(clause) and all(map(is_, left, clause)):
            return clause  # shapes with a hundred clauses differ in few of them
        made = tuple(left)
        untrack(made)  # see `ObjectShape`
        return made

    def relative(self, base: ObjectShape, shape: ObjectShape) -> ObjectShape | None:
        """Return what the shape demands beyond `base`; ANY_OBJECT if that is nothing. Return None if it is quick
        to see that no object has both shapes."""
        is_nothing = self.algebra.is_nothing
        in_base = dict(base.named)
        wanted = dict(shape.named)
        required = shape.required - base.required
        if shape.for_all:  # these are about keys that are not named
            for name in in_base:
                if name not in wanted:
                    wanted[name] = self.value_of_other(shape, name)
        named = []
        for name, value in wanted.items():
            tick()
            known = in_base.get(name)
            if known is None:
                known = self.value_of_other(base, name)
            both = self.narrowed(known, value)
            if is_nothing(both):
                if name in shape.required or name in base.required:
                    return None
                if not is_nothing(known):
                    named.append((name, FALSE))
                elif shape.for_all:
                    named.append((name, TRUE))
            elif both != known and not self.implies(known, value):
                named.append((name, self.algebra.meant(value)))
            elif shape.for_all or name in required:
                named.append((name, TRUE))
        is_closed = any(value == FALSE and keys.is_all() for keys, value in base.for_all)
        for_all = () if is_closed else tuple([part for part in shape.for_all if part not in base.for_all])
        if shape.for_all and not for_all:
            named = [(name, value) for name, value in named if value != TRUE or name in required]
        exists = tuple(
            [part for part in shape.exists if part not in base.exists and not self.is_met(part, in_base, base.required)]
        )
        n_required = len(base.required | shape.required)
        least, most = shape.least, shape.most
        if most is not None and (n_required > most or base.least > most):
            return None
        if base.most is not None:
            if least > base.most:
                return None
            if most is not None and base.most <= most:
                most = None
        if least <= max(base.least, len(base.required)):
            least = 0
        clauses = tuple([clause for clause in shape.clauses if clause not in base.clauses])
        return ObjectShape(tuple(named), for_all, required, exists, least, most, clauses=clauses)

    def relative_name(self, base: ObjectShape, in_base: dict[str, int], shape: ObjectShape) -> ObjectShape | None:
        """Do what `relative` does for a shape that says one thing about one name, as those that distinguish branches
        do."""
        algebra = self.algebra
        name, value = shape.named[0]
        known = in_base.get(name)
        if known is None:
            known = self.value_of_other(base, name)
        both = self.narrowed(known, value)
        is_open = name not in base.required
        if algebra.is_nothing(both):
            if shape.required or not is_open:
                return None
            return ANY_OBJECT if algebra.is_nothing(known) else ObjectShape(((name, FALSE),))
        if both == known or self.implies(known, value):
            return ObjectShape(((name, TRUE),), (), shape.required) if shape.required and is_open else ANY_OBJECT
        return ObjectShape(((name, algebra.meant(value)),), (), shape.required if is_open else NO_WORDS)

    # Shapes.

    def value_of(self, shape: ObjectShape, key: str) -> int:
        """Return what is demanded of the value of `key`."""
        for name, value in shape.named:
            tick()
            if name == key:
                return value
        return self.value_of_other(shape, key)

    def value_of_other(self, shape: ObjectShape, key: str) -> int:
        """Return what is demanded of the value of a key that is not named."""
        value = TRUE
        for keys, demanded in shape.for_all:
            if keys.has(key):
                value = self.algebra.intersection(value, demanded)
        return value

    def intersection(self, left: ObjectShape, right: ObjectShape) -> ObjectShape | None:
        """Return the objects of both shapes; None if it is quick to see that there are none."""
        if right.is_constant and not left.is_constant:
            return self.intersection(right, left)
        both = self.narrowed
        in_left = dict(left.named)
        in_right = dict(right.named)
        for name in left.required | right.required:  # the key that distinguishes branches is mostly one of these
            if name in in_left and name in in_right and self.algebra.is_nothing(both(in_left[name], in_right[name])):
                return None
        named = {}
        for name, value in left.named:
            tick()
            other = in_right.get(name)
            named[name] = both(value, self.value_of_other(right, name) if other is None else other)
        for name, value in right.named:
            tick()
            if name not in in_left:
                named[name] = both(self.value_of_other(left, name), value)
        for_all = left.for_all + tuple([part for part in right.for_all if part not in left.for_all])
        exists = left.exists + tuple([part for part in right.exists if part not in left.exists])
        made = self.shape(
            named,
            for_all,
            left.required | right.required,
            exists,
            max(left.least, right.least),
            smaller(left.most, right.most),
            left.is_constant,
        )
        if made is None or not (left.clauses or right.clauses):
            return made
        return self.with_clauses(made, left.clauses + right.clauses, None if right.clauses else left)

    def shape(
        self,
        named: dict[str, int],
        for_all: tuple[ForAll, ...],
        required: Words,
        exists: tuple[Exists, ...],
        least: int,
        most: int | None,
        is_constant: bool = False,
    ) -> ObjectShape | None:
        """Return the shape in a simple form; None if it is quick to see that no object has it."""
        is_nothing = self.algebra.is_nothing
        for name in required:
            tick()
            if is_nothing(named[name]):
                return None
        if exists:
            for keys, value in for_all:  # this is about keys that are not named
                for exist in exists:
                    if value ^ 1 == exist.value and keys == exist.keys and not any(map(keys.has, named)):
                        return None
            if any(value == FALSE and keys.is_all() for keys, value in for_all):
                met = self.met_by_names(named, required, exists)
                if met is None:
                    return None
                required, exists = met
        if most is not None and (least > most or len(required) > most):
            return None
        for exist in exists:
            if is_nothing(exist.value) or most == 0:
                return None
        least = max(least, len(required))
        if least == len(required):
            least = 0  # `required` says it
        return ObjectShape(tuple(named.items()), for_all, required, exists, least, most, is_constant)

    def met_by_names(
        self, named: dict[str, int], required: Words, exists: tuple[Exists, ...]
    ) -> tuple[Words, tuple[Exists, ...]] | None:
        """Simplify the demands of a shape in which only named members may come: return `required` and `exists`, and
        change `named`. Return None if there is no such object.

        `oneOf` over closed objects leads to such shapes: an object that one branch excludes has some member that this
        branch does not name.
        """
        both = self.narrowed
        is_nothing = self.algebra.is_nothing
        left: dict[Exists, bool] = {}
        for keys, value in exists:
            words = [name for name, own in named.items() if keys.has(name) and not is_nothing(both(own, value))]
            if not words:
                return None
            if len(words) == 1:
                named[words[0]] = both(named[words[0]], value)
                required |= {words[0]}
            else:
                left[Exists(Texts(frozenset(words)), value)] = True
        return required, tuple([part for part in left if not self.is_met(part, named, required)])

    def is_met(self, exist: Exists, named: dict[str, int], required: Words) -> bool:
        """Whether a required member satisfies a demand for some member."""
        return any(exist.keys.has(name) and self.implies(named[name], exist.value) for name in required)

    def complement(self, shape: ObjectShape) -> tuple[ObjectShape, ...]:
        """Return the objects that do not have the shape."""
        found = []
        names = frozenset([name for name, _ in shape.named])
        for name, value in shape.named:
            tick()
            if name in shape.required:  # it is absent, or has another value
                found.append(ObjectShape(((name, self.algebra.meant(value ^ 1)),)))
            elif value != TRUE:
                found.append(ObjectShape(((name, self.algebra.meant(value ^ 1)),), required=frozenset((name,))))
        for keys, value in shape.for_all:
            if value != TRUE:
                others = keys.difference(Texts(names))
                if others.words is None:
                    found.append(ObjectShape(exists=(Exists(others, value ^ 1),)))
                else:
                    found += [ObjectShape(((word, value ^ 1),), required=frozenset((word,))) for word in others.words]
        for keys, value in shape.exists:
            if keys.words is None:
                found.append(ObjectShape(for_all=(ForAll(keys, value ^ 1),)))
            else:
                found.append(ObjectShape(tuple([(word, value ^ 1) for word in keys.words])))
        if shape.least > 0:
            found.append(ObjectShape(most=shape.least - 1))
        if shape.most is not None:
            found.append(ObjectShape(least=shape.most + 1))
        for clause in shape.clauses:
            found += self.complement_of(clause)
        return bounded(tuple(dict.fromkeys(found)))

    # Terms.

    def narrowed(self, term: int, other: int) -> int:
        """Return the intersection of two terms; one of the terms itself if the other is a negation that excludes
        nothing of it. So `enum: ["a"]` and its intersection with `not: {enum: ["b", "c"]}` are the same term."""
        algebra = self.algebra
        both = algebra.intersection(term, other)
        if (term | other) & 1 and term > FALSE and other > FALSE:
            known = self.narrowed_words(term, other)
            if known is None:
                known = self.narrowed_words(other, term)
            if known is not None:
                return both if known == BOTH_TERMS else known
            if algebra.meant(term) == algebra.meant(other) ^ 1 or algebra.is_surely_nothing(both):
                return FALSE
            if other & 1 and self.implies(term, other):
                return term
            if term & 1 and self.implies(other, term):
                return other
            if is_near(algebra, both):
                # Replace few values without some of them by the values that remain, so that the term stays near (see
                # `is_near`) however many negations follow.
                values = algebra.values(both)
                if algebra.members(values) is not None:
                    return algebra.meaning(values)
        return both

    def narrowed_words(self, term: int, other: int) -> int | None:
        """Do what `narrowed` does if `term` is a set of words, or everything except some words. Return BOTH_TERMS if
        the intersection has no simpler form, and None if this would take long to decide."""
        words = self.words_of(term)
        if words is not None:
            among = self.words_among(words, other)
            if among is None or len(among) == len(words):
                return None if among is None else term
            return self.algebra.meaning(NO_VALUES._replace(texts=Texts(among))) if among else FALSE
        words = self.words_of(term ^ 1)
        others = self.words_of(other ^ 1) if words is not None else None
        if words is None or others is None:
            return None
        if others <= words:
            return term
        return other if words <= others else BOTH_TERMS

    def words_of(self, term: int) -> Words | None:
        """Return the values of a term if these are words and that is quick to see; otherwise None."""
        if term in self.words:
            return self.words[term]
        if self.algebra.dropped:
            return None  # keywords were dropped, so the values of a term may be too many, and its complement too small
        found = None
        values = self.near_values(term & ~1)
        if values is not None:
            if term & 1:  # a negation is a set of words only if what it negates allows all else
                values = self.algebra.values(term) if ANY_OBJECT in values.objects else ALL_VALUES
            if not (values.null or values.booleans or values.numbers or values.arrays or values.objects):
                found = values.texts.words
            self.words[term] = found
        return found

    def words_among(self, words: Words, term: int) -> Words | None:
        """Return those of the words that are in the term; None if that is not quick to see."""
        values = self.near_values(term)
        return None if values is None else values.texts.among(words)

    def near_values(self, term: int) -> Values | None:
        known = self.algebra.meanings.get(term)
        return self.algebra.values(term) if known is None and is_near(self.algebra, term) else known

    def implies(self, term: int, other: int) -> bool:
        """Whether all values of `term` are in `other`, as far as that is quick to see."""
        if term == other or other == TRUE:
            return True
        words = self.words_of(term)
        if words is not None:
            among = self.words_among(words, other)
            if among is not None:
                return len(among) == len(words)
        words = self.words_of(term ^ 1)
        if words is not None:
            others = self.words_of(other ^ 1)
            if others is not None:
                return others <= words
        algebra = self.algebra
        return algebra.is_surely_nothing(algebra.intersection(term, other ^ 1))


def changed_names(before: ObjectShape, after: ObjectShape) -> set[str] | None:
    """Return the names about which two shapes say different things; None if these may be all names."""
    if after.for_all != before.for_all:
        return None
    known = dict(before.named)
    found = {name for name, value in after.named if known.pop(name, None) != value}
    return found.union(known, before.required ^ after.required)


def is_apart(shape: ObjectShape, names: set[str]) -> bool:
    """Whether the shape is about none of these names."""
    if shape.for_all or shape.exists or shape.least or shape.most is not None or shape.clauses:
        return False
    return names.isdisjoint([name for name, _ in shape.named])


def is_atomic(shape: ObjectShape) -> bool:
    """Whether the shape only says what the values of some names are, and requires at most one name."""
    if shape.for_all or shape.exists or shape.least or shape.most is not None or shape.clauses:
        return False
    return len(shape.required) <= 1


class Solutions:
    """The iterator of `ObjectSets.solutions`. No shape is lost if a limit is reached: the next call continues the
    search."""

    def __init__(self, sets: ObjectSets, shape: ObjectShape) -> None:
        self.sets = sets
        settled = sets.with_clauses(shape._replace(clauses=()), shape.clauses)
        self.waiting = [] if settled is None else [settled]

    def size(self) -> int:
        """Return about how many bytes the shapes take that wait: they have their names for themselves."""
        return sum([NAME_BYTES * len(shape.named) + 8 * len(shape.clauses) for shape in self.waiting])

    def __iter__(self) -> Iterator[ObjectShape]:
        return self

    def __next__(self) -> ObjectShape:
        shape = self.first()
        if shape is None:
            raise StopIteration
        self.waiting.pop()
        return shape

    def first(self) -> ObjectShape | None:
        """Return the shape that `next` will return, or None at the end. Raises LimitError if that takes too long to
        find."""
        for _ in range(MAX_PARTED):
            if not self.waiting:
                return None
            shape = self.waiting[-1]
            if not shape.clauses:
                return shape
            parts = self.sets.parted(shape)
            self.waiting.pop()
            self.waiting += parts
        raise GrammarLimitError(
            f"whether an object can satisfy a combination of schemas is not known after {MAX_PARTED} attempts; combine "
            "fewer of them"
        )
