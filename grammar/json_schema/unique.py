"""`uniqueItems`: whether items can be distinguished, and some are always left, at each place that has the keyword.

Scalars are distinguished by the state of the parser if they are few, otherwise by their text. Arrays and objects are
distinguished by the state if they are few enough to be listed (`finite.listed`), otherwise by what has been read of
them (`followed_items`). They need not be distinguished if no item at another index of the array can be equal to them.
If the schema with the keyword does not decide this, the schemas that apply it to the same value are read, too, from the
innermost to the outermost.
"""

from __future__ import annotations

from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ...earley._meter import tick
from ...earley.errors import LimitError
from .finite import STRUCTURED, UNKNOWN, differing, listed, listed_scalars, listed_structured
from .keywords import APPLICATORS, DEFINITIONS
from .own_values import ARRAYS, array_shape
from .shapes import FALSE, REPEATS, UNIQUE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .documents import Documents
    from .shapes import ArrayShape
    from .terms import Meaning
    from .tree import Place

BESIDE = APPLICATORS - {"unevaluatedItems", "unevaluatedProperties"}
"""Keywords whose schemas apply to the same value."""


class Cause(Enum):
    """What prevents that items are distinguished."""

    NONE = auto()
    RUN_OUT = auto()  # there may be too few values that differ
    UNDER_NEGATION = auto()
    LIMIT = auto()


class Doubt(NamedTuple):
    """Why items cannot be distinguished: as a code, and in words."""

    cause: Cause
    why: str


NO_DOUBT = Doubt(Cause.NONE, "")
RUN_OUT = Doubt(Cause.RUN_OUT, "there may be too few items that differ")
UNDER_NEGATION = Doubt(
    Cause.UNDER_NEGATION,
    "it may stand under a negation, where some items would have to be equal, and these have different schemas",
)


class Verdict(NamedTuple):
    """doubt: why items cannot be distinguished. shapes: the arrays for which this was decided."""

    doubt: Doubt
    shapes: tuple[ArrayShape, ...] = ()

    def reads_scalars(self, algebra: Meaning) -> bool:
        """Whether the parser must read which strings or numbers there are."""
        return any(listed_scalars(algebra.values(term)) is None for term in self._items())

    def reads_numbers(self, algebra: Meaning) -> bool:
        """Whether the parser must read which numbers there are, in items or, as far as is known, in parts of them."""
        if self.follows_items(algebra):
            return True
        for term in self._items():
            values = algebra.values(term)
            if values.numbers and listed_scalars(values) is None:
                return True
        return False

    def follows_items(self, algebra: Meaning) -> bool:
        """Whether the parser must read which arrays or objects there are."""
        return any(
            any(listed_structured(algebra, term) is None for term in places_of(shape)) and not are_apart(algebra, shape)
            for shape in self.shapes
        )

    def _items(self) -> list[int]:
        return [term for shape in self.shapes for term in places_of(shape)]


class UniqueItems:
    """Decides about the places with `uniqueItems` of one survey.

    edges: from places to those that apply to the same value.
    """

    def __init__(self, documents: Documents, algebra: Meaning, edges: Mapping[Place, list[Place]]) -> None:
        self.documents = documents
        self.algebra = algebra
        self.around: dict[Place, list[Place]] = {}  # the edges, backwards
        for one, others in edges.items():
            for other in others:
                self.around.setdefault(other, []).append(one)
        self._alone: set[Place] | None = None

    def verdict(self, place: Place, *, is_negated: bool) -> Verdict:
        """Return the verdict on a place that has the keyword. is_negated: whether its negation may be needed."""
        own = array_shape(self.algebra, place)
        shapes: tuple[ArrayShape, ...] = () if own is None or own.unique != UNIQUE else (own,)
        doubt = self.doubt_about(shapes)
        if doubt is NO_DOUBT:
            doubt = self.doubt_around(place)
        elif not is_negated:
            passed: list[ArrayShape] = []
            doubt = self.within(place, passed)
            shapes = tuple(passed)
        if doubt is NO_DOUBT and is_negated and not self.can_repeat(place):
            doubt = UNDER_NEGATION
        verdict = Verdict(doubt, shapes)
        if doubt is NO_DOUBT and not is_negated and verdict.reads_scalars(self.algebra):
            return Verdict(doubt, self.applied(place, shapes))
        return verdict

    def applied(self, place: Place, shapes: tuple[ArrayShape, ...]) -> tuple[ArrayShape, ...]:
        """Return the arrays at a place, given all schemas that apply to the same value; `shapes` if they are not
        known."""
        found: list[ArrayShape] = []
        try:
            for one in self.all_around(place):
                if not self.around.get(one) or one in self.alone():
                    arrays = self.algebra.values(self.algebra.place(one)).arrays
                    found += [shape for shape in arrays if shape.unique == UNIQUE]
        except LimitError:
            return shapes
        return shapes if self.documents.is_dynamic else tuple(found)

    def are_left_if_closed(self, place: Place) -> bool:
        """Whether enough different items are written of each value that the place applies to, with the option
        `closed`."""
        if self.documents.is_dynamic:
            return False
        for one in self.all_around(place):
            if not self.around.get(one) or one in self.alone():
                try:
                    arrays = self.algebra.written_values(self.algebra.place(one)).arrays
                except LimitError:
                    tick()  # raises if the time is used up
                    return False
                if self.doubt_about(tuple([shape for shape in arrays if shape.unique == UNIQUE])) is not NO_DOUBT:
                    return False
        return True

    def within(self, place: Place, passed: list[ArrayShape], inner: Doubt = NO_DOUBT) -> Doubt:
        """Return why items at a place cannot be distinguished, given all schemas that apply to the same value.

        `passed` receives the shapes of arrays whose items can be distinguished. inner: the doubt if only the schema
        with the keyword is read.
        """
        try:
            arrays = self.algebra.values(self.algebra.place(place)).arrays
        except LimitError as error:
            tick()  # raises if the time is used up
            return Doubt(Cause.LIMIT, str(error))
        shapes = tuple([shape for shape in arrays if shape.unique == UNIQUE])
        doubt = self.doubt_about(shapes)
        if doubt is NO_DOUBT:
            passed += shapes
            return NO_DOUBT
        around = self.around.get(place, ())
        if not around or self.documents.is_dynamic or place in self.alone():
            if inner is NO_DOUBT or doubt == inner:
                return doubt
            where = place.pointer if "#" in place.pointer else f"#{place.pointer}"
            return Doubt(doubt.cause, f"at {where} {doubt.why}")
        for one in around:
            outer = self.within(one, passed, doubt if inner is NO_DOUBT else inner)
            if outer is not NO_DOUBT:
                return outer
        return NO_DOUBT

    def doubt_around(self, place: Place) -> Doubt:
        """Return why there may be too few different items, although the place alone allows enough of them: another
        schema that applies to the same value may demand more items, or allow fewer values."""
        for one in self.all_around(place):
            if _conjoins(one.schema):
                passed: list[ArrayShape] = []
                doubt = self.within(one, passed)
                if doubt.cause is Cause.RUN_OUT:
                    return doubt
        return NO_DOUBT

    def can_repeat(self, place: Place) -> bool:
        """Whether arrays in which some item repeats can be enforced, whatever other schemas say about the same value:
        the items are few, or all have one schema."""
        if self.documents.is_dynamic:
            return False
        algebra = self.algebra
        try:
            for one in self.all_around(place):
                term = algebra.place(one)
                for shape in (*algebra.values(term).arrays, *algebra.values(term ^ 1).arrays):
                    if shape.unique != REPEATS or not (shape.prefix or shape.contains):
                        continue
                    if any(listed(algebra, item) is None for item in places_of(shape)):
                        return False
        except LimitError:
            return False
        return True

    def all_around(self, place: Place) -> list[Place]:
        """Return the place, and those that apply to the same value around it."""
        found = {place: None}
        if not self.documents.is_dynamic:
            waiting = [place]
            for one in waiting:  # which grows
                tick()
                for outer in self.around.get(one, ()):
                    if outer not in found:
                        found[outer] = None
                        waiting.append(outer)
        return list(found)

    def doubt_about(self, shapes: tuple[ArrayShape, ...]) -> Doubt:
        algebra = self.algebra
        for shape in shapes:
            tick()
            if differing(algebra, shape, partial(are_apart, algebra, shape)) == UNKNOWN:
                return RUN_OUT
        return NO_DOUBT

    def alone(self) -> set[Place]:
        """Return the places that apply to some value, a member or an item, of which no schema around them speaks."""
        if self._alone is None:
            documents = self.documents
            found = self._alone = {documents.root.written}
            for place in documents.reached:
                known = place.resource.keywords
                said = {
                    keyword: value
                    for keyword, value in place.schema.items()
                    if known.get(keyword, DEFINITIONS) < DEFINITIONS and keyword not in BESIDE
                }
                if said:
                    found.update(documents.children(place, said))
        return self._alone


def _conjoins(schema: dict[str, Any]) -> bool:
    """Whether several things are said about an array here, some of them by other schemas."""
    beside = BESIDE & schema.keys()
    if not beside:
        return False
    return len(beside) > 1 or beside.isdisjoint(("$ref", "anyOf", "oneOf")) or not ARRAYS.isdisjoint(schema)


def places_of(shape: ArrayShape) -> list[int]:
    """Return the terms of the items that must be distinguished."""
    tick()
    if shape.most is not None and shape.most <= 1:
        return []
    n = len(shape.prefix) if shape.rest == FALSE else len(shape.prefix) + 1
    n = n if shape.most is None else min(n, shape.most)
    return [shape.item(index) for index in range(n)]


def are_apart(algebra: Meaning, shape: ArrayShape) -> bool:
    """Whether no arrays and objects that are not listed can be equal to another item, given where they come."""
    structured = algebra.meaning(STRUCTURED)
    terms = places_of(shape)
    for index, term in enumerate(terms):
        if listed_structured(algebra, term) is not None:
            continue
        if index == len(shape.prefix) and (shape.most is None or shape.most > index + 1):
            return False
        for other, at_other in enumerate(terms):
            if other == index:
                continue
            try:
                both = algebra.values(algebra.intersection_of([term, at_other, structured]))
            except LimitError:
                return False
            if both.arrays or both.objects:
                return False
    return True
