"""`unevaluatedProperties` and `unevaluatedItems`: the members and items that no other keyword applies to.

A keyword such as `properties` *evaluates* the members that it applies to. A schema that is applied in place passes this
on if the value is valid there (2020-12 core, 11). Which branch of an `anyOf` a value satisfies is not known beforehand.
So the meaning of a schema is split into *cases*: values, together with what is at least evaluated in them. Every valid
value is in one case that evaluates exactly what the value's branches evaluate. Therefore "the rest is S" holds for a
value exactly if it is in some case whose rest is S: to evaluate less only makes the rest larger. Negated schemas
evaluate nothing.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from ...earley._large import untrack
from ...earley._meter import tick
from ..errors import GrammarLimitError
from .applicators import applied_by, exactly_one, target
from .keywords import DRAFT_2020
from .own_values import own_values
from .shapes import (
    ALL_VALUES,
    FALSE,
    NO_VALUES,
    TRUE,
    ArrayShape,
    ForAll,
    ObjectShape,
    Untracked,
    Values,
    is_nothing,
)
from .terms import OfAlgebra
from .text_sets import ALL_TEXTS, NO_TEXTS, Texts

if TYPE_CHECKING:
    from .terms import Meaning
    from .tree import Place

MAX_CASES = 1 << 10


class _Evaluated(NamedTuple):
    keys: Texts = NO_TEXTS
    items: int | None = 0
    matching: tuple[int, ...] = ()


class Evaluated(Untracked, _Evaluated):
    """What is evaluated: members with these keys; items before the index `items` (None: all items), and items in one of
    the terms `matching`."""

    __slots__ = ()

    def union(self, other: Evaluated) -> Evaluated:
        items = None if self.items is None or other.items is None else max(self.items, other.items)
        matching = self.matching + tuple([term for term in other.matching if term not in self.matching])
        return Evaluated(self.keys.union(other.keys), items, matching)


NOTHING = Evaluated()

Cases = dict[tuple[Values, Evaluated], bool]


class Evaluation(OfAlgebra):
    """Computes the cases of places."""

    def __init__(self, algebra: Meaning) -> None:
        super().__init__(algebra)
        self.known: dict[int, list[tuple[Values, Evaluated]]] = {}

    def values(self, place: Place) -> Values:
        """Return what a place means that has one of the two keywords."""
        found = NO_VALUES
        for values, _ in self.cases(self.algebra.place(place)):
            found = self.algebra.sets.union(found, values)
        return found

    def cases(self, term: int) -> list[tuple[Values, Evaluated]]:
        """Return the cases of a term, usually of a place."""
        known = self.known.get(term)
        if known is None:
            part = self.algebra.place_of(term)
            if part is None:
                known = [(self.algebra.values(term), NOTHING)]
            else:
                self.algebra.enter(term, "cases")
                try:
                    known = list(self._cases(part))
                    for case in known:
                        untrack(case)  # see `Untracked`
                finally:
                    self.algebra.leave(term, "cases")
            untrack(known)
            self.known[term] = known
        return known

    def _cases(self, place: Place) -> Cases:
        algebra = self.algebra
        schema = algebra.keywords(place)
        found: Cases = {(own_values(algebra, place), self.own(place)): True}
        for keyword, value in schema.items():
            if keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
                found = self.product(found, self.cases(target(algebra, place, keyword)))
            elif keyword == "allOf":
                for term in algebra.children(place, keyword, range(len(value))):
                    found = self.product(found, self.cases(term))
            elif keyword == "anyOf":
                found = self.product(found, self.some_of(algebra.children(place, keyword, range(len(value)))))
            elif keyword == "oneOf":
                found = self.product(found, self.one_of(algebra.children(place, keyword, range(len(value))), place))
            elif keyword == "if":
                found = self.product(found, self.condition(place))
            elif keyword == "dependentSchemas":
                for name in value:
                    without = ALL_VALUES._replace(objects=(ObjectShape(((name, FALSE),)),))
                    with_it = NO_VALUES._replace(objects=(ObjectShape(((name, TRUE),), required=frozenset((name,))),))
                    term = algebra.place(algebra.documents.grandchild(place, keyword, name))
                    then = self.product({(with_it, NOTHING): True}, self.cases(term))
                    found = self.product(found, [(without, NOTHING), *then])
            elif keyword in ("not", "dependentRequired", "dependencies"):
                for term in applied_by(algebra, place, keyword):
                    found = self.product(found, [(algebra.values(term), NOTHING)])
        for keyword in ("unevaluatedItems", "unevaluatedProperties"):
            if keyword in schema:
                rest = algebra.child(place, keyword)
                found = {self.closed(values, evaluated, keyword, rest): True for values, evaluated in found}
        return found

    def own(self, place: Place) -> Evaluated:
        """Return what the place's own keywords evaluate."""
        schema = self.algebra.keywords(place)
        keys = NO_TEXTS
        is_left_out = "patternProperties" in place.keywords and "patternProperties" not in schema
        if "additionalProperties" in schema or is_left_out:
            keys = ALL_TEXTS
        else:
            if "properties" in schema:
                keys = Texts(frozenset(schema["properties"]))
            for pattern in schema.get("patternProperties", ()):
                keys = keys.union(self.algebra.pattern(pattern))
        items: int | None = len(schema.get("prefixItems", ()))
        given = schema.get("items")
        if isinstance(given, list):
            items = None if "additionalItems" in schema else len(given)
        elif given is not None:
            items = None
        # Up to 2019-09 `contains` evaluates nothing.
        matching = (
            (self.algebra.child(place, "contains"),) if place.draft == DRAFT_2020 and "contains" in schema else ()
        )
        return Evaluated(keys, items, matching)

    def product(
        self, left: Cases | list[tuple[Values, Evaluated]], right: Cases | list[tuple[Values, Evaluated]]
    ) -> Cases:
        found: Cases = {}
        for values, evaluated in left:
            tick()
            for other, also in right:
                tick()
                both = self.algebra.sets.intersection(values, other)
                if not is_nothing(both):
                    found[both, evaluated.union(also)] = True
        return bounded(found)

    def some_of(self, terms: list[int]) -> Cases:
        """Return the cases in which at least one of the terms holds: one for every choice of those that hold."""
        found: Cases = {}
        for n in range(1, len(terms) + 1):
            for chosen in combinations(terms, n):
                cases: Cases = {(ALL_VALUES, NOTHING): True}
                for term in chosen:
                    cases = self.product(cases, self.cases(term))
                found |= cases
                bounded(found)
        return found

    def one_of(self, terms: list[int], place: Place) -> Cases:
        found: Cases = {}
        for index, case in enumerate(exactly_one(self.algebra, terms, own_values(self.algebra, place))):
            found |= self.product([(self.algebra.values(case), NOTHING)], self.cases(terms[index]))
        return found

    def condition(self, place: Place) -> Cases:
        """Return the cases of `if`, `then` and `else`. `if` evaluates something where it holds."""
        algebra = self.algebra
        schema = algebra.keywords(place)
        condition = algebra.child(place, "if")
        holds: Cases = dict.fromkeys(self.cases(condition), True)
        fails: Cases = {(algebra.values(condition ^ 1), NOTHING): True}
        if "then" in schema:
            holds = self.product(holds, self.cases(algebra.child(place, "then")))
        if "else" in schema:
            fails = self.product(fails, self.cases(algebra.child(place, "else")))
        return holds | fails

    def closed(self, values: Values, evaluated: Evaluated, keyword: str, rest: int) -> tuple[Values, Evaluated]:
        """Return the case in which all that is not evaluated is in `rest`, and so is evaluated now."""
        algebra = self.algebra
        if keyword == "unevaluatedProperties":
            if not evaluated.keys.is_all():
                object_ = ObjectShape(for_all=(ForAll(evaluated.keys.complement(), rest),))
                values = algebra.sets.intersection(values, ALL_VALUES._replace(objects=(object_,)))
            return values, evaluated._replace(keys=ALL_TEXTS)
        if evaluated.items is not None:
            array = ArrayShape((TRUE,) * evaluated.items, algebra.union_of([*evaluated.matching, rest]))
            values = algebra.sets.intersection(values, ALL_VALUES._replace(arrays=(array,)))
        return values, evaluated._replace(items=None)


def bounded(cases: Cases) -> Cases:
    if len(cases) > MAX_CASES:
        raise GrammarLimitError(
            f"what `unevaluated...` leaves open splits a schema into more than {MAX_CASES} cases; "
            "name the properties, or use fewer alternatives"
        )
    return cases
