"""What terms mean: conjunction, negation and choice, worked out as far as somebody asks.

`values(term)` is the meaning of a term (`terms`), type by type (`shapes`). For a place it is the
conjunction of two things: what its own keywords say (`own_values`), and the terms of its *applicators in place*
(`applicators`): `allOf`, `anyOf`, `oneOf`, `not`, `if`, `$ref` and what else speaks about the same value. Items
and members remain terms, so a value is worked out one level deep, and a reference is followed only where a text comes
to it, or another schema at the same place must be united with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import GrammarLimitError
from ..regex import parse_regex, whole_text
from ..regex.anchors import few_words, without_anchors
from .applicators import applied, conjuncts, target
from .finite import listed_scalars
from .own_values import constants, own_values
from .shapes import ALL_VALUES, FALSE, NO_VALUES, TRUE, Values, is_nothing
from .shortcuts import is_near, is_shallow, is_something, plain_scalars
from .terms import BOTH, CONSTANT, PLACE, Terms, canonical
from .text_sets import Texts, has_surrogate
from .tree import is_reference
from .value_sets import ValueSets

if TYPE_CHECKING:
    from ...earley.limits import Limits
    from .documents import Documents
    from .evaluated import Evaluation
    from .options import Options
    from .terms import Dropped
    from .tree import Place, Resource

MAX_WORDS = 32
"""Texts of a pattern that are kept as words."""

_UNEVALUATED = frozenset(["unevaluatedItems", "unevaluatedProperties"])


class Algebra(Terms):
    """The terms of one schema, and what they mean."""

    def __init__(self, documents: Documents, options: Options, dropped: Dropped, limits: Limits) -> None:
        super().__init__(documents, options, dropped, limits)
        self.sets = ValueSets(self)
        self.patterns: dict[str, Texts] = {}
        self.inhabited: set[int] = set()  # `id` of the trees of patterns and formats that match something
        self._evaluation: Evaluation | None = None
        self.has_unique_items = False  # out of so many values that the parser must read which there are
        self.plain_numbers: set[Place] = set()  # those with `uniqueItems` that narrow how numbers are spelled
        self.meanings: dict[int, Values] = {TRUE: ALL_VALUES, FALSE: NO_VALUES}
        self.unclear: set[int] = set()  # terms that hold something, or would have to be followed
        self.first: dict[int, int] = {}  # places -> the first ones that mean the same
        self.alike: dict[object, int] = {}  # by what stands there: the first place

    def values(self, term: int) -> Values:
        """What the term allows."""
        known = self.meanings.get(term)
        if known is not None:
            return known
        self.look()
        self.enter(term)
        try:
            known = self._values(term)
        except GrammarLimitError as error:
            raise self.located(error, term) from None
        finally:
            self.leave(term)
        self.meanings[term] = known
        return known

    def _values(self, term: int) -> Values:
        index = term >> 1
        kind = self.kinds[index]
        part = self.parts[index]
        sets = self.sets
        if kind == BOTH:
            if term & 1:
                return self.union_of_values([self.values(one ^ 1) for one in part])
            return sets.intersection_of([self.values(one) for one in part])
        if kind != PLACE:
            if term & 1:
                return sets.complement(self.values(term ^ 1))
            return constants(self, [part]) if kind == CONSTANT else part
        if term & 1 and self.dropped and (part.written in self.weakened or not _UNEVALUATED.isdisjoint(part.schema)):
            return ALL_VALUES  # what is left out may be what is not satisfied
        if not _UNEVALUATED.isdisjoint(part.schema):
            found = self.evaluation().values(part)
            return sets.complement(found) if term & 1 else found
        if term & 1:
            found = sets.complement(own_values(self, part, True))
            for one in applied(self, part):
                found = sets.union(found, self.values(one ^ 1))
        else:
            found = sets.intersection_of(conjuncts(self, part))
        return found

    def union_of_values(self, values: list[Values]) -> Values:
        """The union: of halves, for an enumeration may be written as an anyOf of a thousand constants."""
        while len(values) > 1:
            self.look()
            pairs = range(0, len(values) - 1, 2)
            made = [self.sets.union(values[index], values[index + 1]) for index in pairs]
            values = made + values[2 * len(made) :]
        return values[0]

    def members(self, values: Values) -> list[Any] | None:
        """All of the values, or None where they are many, or arrays or objects (see `listed`)."""
        return None if values.arrays or values.objects else listed_scalars(values)

    def is_nothing(self, term: int) -> bool:
        """Whether the term allows no value, as far as that is seen without following it: what is not seen here, the
        engine proves when the parser comes to it."""
        if term <= FALSE:
            return term == FALSE
        known = self.meanings.get(term)
        if known is None:
            if term in self.unclear:
                return False
            if plain_scalars(self, term) is not None or not is_shallow(self, term) or is_something(self, term):
                self.unclear.add(term)
                return False
            known = self.values(term)
        return is_nothing(known)

    def meant(self, term: int) -> int:
        """The term; of a place that is a mere reference, what that leads to, and of places with the same schema the
        first one."""
        place = self.place_of(term & ~1)
        if place is None:
            return term
        known = self.first.get(term & ~1)
        if known is None:
            if is_reference(place.schema) and self.keywords(place):
                known = self.meant(target(self, place, "$ref"))
            elif self.dropped:
                known = term & ~1
            else:
                content = (canonical(place.schema), place.resource, place.scope)
                known = self.alike.setdefault(content, term & ~1)
            self.first[term & ~1] = known
        return known ^ (term & 1)

    def is_surely_nothing(self, term: int) -> bool:
        """As `is_nothing`; more is looked at, for combinations that become large otherwise."""
        if term <= FALSE:
            return term == FALSE
        known = self.meanings.get(term)
        if known is None:
            if not is_near(self, term):
                return False
            known = self.values(term)
        return is_nothing(known)

    def asserts_format(self, resource: Resource) -> bool:
        said = resource.asserts_format
        return self.options.format_assertion if said is None else said

    def evaluation(self) -> Evaluation:
        if self._evaluation is None:
            from .evaluated import Evaluation  # almost no schema needs it

            self._evaluation = Evaluation(self)
        return self._evaluation

    def pattern(self, pattern: str) -> Texts:
        """The texts in which a pattern of ECMA-262 is found."""
        known = self.patterns.get(pattern)
        if known is None:
            known = self.patterns[pattern] = _texts_of(pattern)
        return known


def _texts_of(pattern: str) -> Texts:
    tree = whole_text(parse_regex(pattern, "ecma"), search=True)
    if pattern.startswith("^"):
        words = few_words(without_anchors(tree.body), MAX_WORDS)
        if words is not None:  # as good as an enumeration
            return Texts(frozenset([word for word in words if not has_surrogate(word)]))
    return Texts(trees=(tree,))
