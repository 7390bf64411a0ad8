"""The option `closed`: values without the members and items that no schema speaks of.

A member counts as spoken of if a keyword evaluates it (`evaluated`) or `required` names it. An object in which all
others are left out is one that `unevaluatedProperties: false` allows beside what the schema says; and so for items. The
meaning of the schema stays as it is: a negation or a condition within it is about all values. Only what is written is
less.

These remain open: schemas that say nothing or only what a value is not, constants, and what a schema opens itself, as
`additionalProperties: true` does. The branches of a schema that is nothing but an `anyOf` or a `oneOf` are closed one
by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .applicators import target
from .evaluated import NOTHING, Cases, Evaluated, Evaluation
from .keywords import SAYS_NOTHING
from .shapes import ALL_VALUES, FALSE, NO_VALUES, TRUE
from .terms import BOTH, CONSTANT
from .text_sets import ALL_TEXTS, Texts

if TYPE_CHECKING:
    from .shapes import Values
    from .terms import Meaning
    from .tree import Place

EVERYTHING = Evaluated(ALL_TEXTS, None)


class Closing(Evaluation):
    """Computes what is written of the values of terms."""

    def __init__(self, algebra: Meaning) -> None:
        super().__init__(algebra)
        self.left: dict[int, Values] = {}

    def values_of(self, term: int) -> Values:
        known = self.left.get(term)
        if known is None:
            known = self.left[term] = self._values_of(term)
        return known

    def _values_of(self, term: int) -> Values:
        algebra = self.algebra
        values = algebra.values(term)
        place = algebra.place_of(term)
        if not (values.arrays or values.objects) or self.only_forbids(term):
            return values
        if place is not None:
            schema = algebra.keywords(place)
            said = self.said(place)
            if said == ["$ref"]:
                return self.values_of(target(algebra, place, "$ref"))
            if said == ["anyOf"] or said == ["oneOf"]:
                found = NO_VALUES
                for branch in algebra.children(place, said[0], range(len(schema[said[0]]))):
                    found = algebra.sets.union(found, self.values_of(branch))
                return algebra.sets.intersection(values, found) if said == ["oneOf"] else found
        found = NO_VALUES
        for case, evaluated in self.cases(term):
            for keyword in ("unevaluatedProperties", "unevaluatedItems"):
                case, evaluated = self.closed(case, evaluated, keyword, FALSE)
            found = algebra.sets.union(found, case)
        return found

    def said(self, place: Place) -> list[str]:
        """Return the keywords of a place that say something."""
        schema = self.algebra.keywords(place)
        return [name for name in schema if name in place.resource.keywords and name not in SAYS_NOTHING]

    def only_forbids(self, term: int) -> bool:
        """Whether the term says nothing, or only what a value is not. Then it speaks of no member or item."""
        algebra = self.algebra
        if algebra.kinds[term >> 1] == BOTH:
            return not term & 1 and all(map(self.only_forbids, algebra.parts[term >> 1]))
        place = algebra.place_of(term)
        return bool(term & 1) if place is None else self.said(place) in ([], ["not"])

    def cases(self, term: int) -> list[tuple[Values, Evaluated]]:
        algebra = self.algebra
        kind = algebra.kinds[term >> 1]
        if term == TRUE:
            return [(ALL_VALUES, EVERYTHING)]
        if kind == CONSTANT and not term & 1:
            return [(algebra.values(term), EVERYTHING)]
        if kind != BOTH:
            return super().cases(term)
        if term & 1:  # a union
            return [case for part in algebra.parts[term >> 1] for case in self.cases(part ^ 1)]
        found: Cases = {(ALL_VALUES, NOTHING): True}
        for part in algebra.parts[term >> 1]:
            found = self.product(found, self.cases(part))
        return list(found)

    def own(self, place: Place) -> Evaluated:
        schema = self.algebra.keywords(place)
        if "enum" in schema or "const" in schema:
            return EVERYTHING
        required = schema.get("required")
        found = super().own(place)
        return found.union(Evaluated(Texts(frozenset(required)))) if isinstance(required, list) and required else found
