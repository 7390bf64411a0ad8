"""What terms mean, computed when it is asked for.

`values(term)` is the meaning of a term (`terms`), type by type (`shapes`). For a place it is the intersection of two
things: what its own keywords say (`own_values`), and the terms of its *applicators in place* (`applicators`): `allOf`,
`anyOf`, `oneOf`, `not`, `if`, `$ref` and the other keywords that apply schemas to the same value. Items and members
remain terms, so the meaning of a value is computed one level deep. A reference is followed only when the parser comes
to it, or when it must be intersected with another schema at the same place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...earley._large import untrack
from ...earley._meter import tick
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

if TYPE_CHECKING:
    from weakref import ref

    from ...earley._engine import Engine
    from ...earley.limits import Limits
    from .closed import Closing
    from .documents import Documents
    from .evaluated import Evaluation
    from .options import Options
    from .terms import Dropped
    from .tree import Place, Resource

MAX_WORDS = 32
"""The most texts of a pattern that is kept as words, like an enumeration."""

_UNEVALUATED = frozenset(["unevaluatedItems", "unevaluatedProperties"])


class Algebra(Terms):
    """The terms of one schema, and what they mean."""

    def __init__(self, documents: Documents, options: Options, dropped: Dropped, limits: Limits) -> None:
        from .value_sets import ValueSets  # compiled, it imports this module before its own classes are there

        super().__init__(documents, options, dropped, limits)
        self.sets = ValueSets(self)
        self.patterns: dict[str, Texts] = {}
        self.inhabited: set[int] = set()  # `id` of those trees of patterns and formats that match something
        self._evaluation: Evaluation | None = None
        self._closing: Closing | None = None
        self.is_of_names = False  # see `of_names`
        self._of_names: Algebra | None = None
        self.has_unique_items = False  # whether items must differ that are too many to list
        self.follows_items = False  # and whether some of these may be any arrays or objects
        self.repeats_items = False  # and whether some items may have to be equal
        self.items_run_out = False  # and whether so many may have come that few are left; see `note_run_out`
        self.engines: list[ref[Engine]] = []  # of the documents of this schema
        self.has_tags = False  # whether an engine has objects that are written with tags, see `arguments`
        self.lists_names = False  # whether objects may have listed names, see `ObjectRules.list_names`
        self.limits_keys = True  # whether the keys that an object may have beside the named ones may be few
        self.plain_numbers: set[Place] = set()  # those with `uniqueItems` that narrow how numbers are spelled
        self.meanings: dict[int, Values] = {TRUE: ALL_VALUES, FALSE: NO_VALUES}
        self.unclear: set[int] = set()  # terms that allow something, or must be followed to see whether they do
        self.first: dict[int, int] = {}  # places -> the first ones that mean the same
        self.alike: dict[object, int] = {}  # by what stands there: the first such place

    def of_names(self) -> Algebra:
        """Return the algebra for what is said of the names of members. Names are texts, so `propertyNames` says nothing
        of them: there a schema may refer to itself."""
        if self._of_names is None:
            self._of_names = Algebra(self.documents, self.options, self.dropped, self.limits)
            self._of_names.is_of_names = True
        return self._of_names

    def note_run_out(self) -> None:
        """Note that items which must differ may run out: more tokens are doubtful then. Called before such an array is
        read."""
        if not self.items_run_out:
            self.items_run_out = True
            for engine in [reference() for reference in self.engines]:
                if engine is not None:
                    engine.describe_again()

    def values(self, term: int) -> Values:
        """Return what the term allows."""
        known = self.meanings.get(term)
        if known is not None:
            return known
        tick()
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
            return ALL_VALUES  # a value may violate just what was dropped
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
        """Return the union, pair by pair: an `anyOf` may have a thousand constants, and one after the other would take
        quadratic time."""
        while len(values) > 1:
            tick()
            pairs = range(0, len(values) - 1, 2)
            made = [self.sets.union(values[index], values[index + 1]) for index in pairs]
            values = made + values[2 * len(made) :]
        return values[0]

    def members(self, values: Values) -> list[Any] | None:
        """Return all of the values; None if they are many or include arrays or objects (see `finite.listed`)."""
        return None if values.arrays or values.objects else listed_scalars(values)

    def is_nothing(self, term: int) -> bool:
        """Whether it is quick to see that the term allows no value. In all other cases the engine decides that when the
        parser reaches the term."""
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
        """Return a term with the same meaning: for a place that is a mere reference, what it leads to; for places with
        equal schemas, the first one; for others, the term itself."""
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
                if self.documents.is_ours:
                    untrack(content)
                known = self.alike.setdefault(content, term & ~1)
            self.first[term & ~1] = known
        return known ^ (term & 1)

    def is_surely_nothing(self, term: int) -> bool:
        """Decide as `is_nothing` does, but follow branches that are near: some combinations become large otherwise."""
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

    def written_values(self, term: int) -> Values:
        """Return what is written of the term's values: with the option `closed`, not all."""
        if not self.options.closed:
            return self.values(term)
        if self._closing is None:
            from .closed import Closing

            self._closing = Closing(self)
        return self._closing.values_of(term)

    def pattern(self, pattern: str) -> Texts:
        """Return the texts in which a pattern of ECMA-262 matches somewhere."""
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
