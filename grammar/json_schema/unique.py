"""`uniqueItems`: whether items can be distinguished, at each place that has the keyword.

Scalars always can: by the state of the parser if they are few, otherwise by their text. Arrays and objects can if they
are few enough to be listed (`finite.listed`). They need not be distinguished if no item at another index of the array
can be equal to them. If the schema with the keyword does not decide this, the schemas that apply it to the same value
are read, too, from the innermost to the outermost.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Any, NamedTuple

from ...earley.errors import LimitError
from .finite import STRUCTURED, UNKNOWN, differing, listed, listed_scalars, listed_structured
from .keywords import APPLICATORS, DEFINITIONS
from .own_values import ARRAYS, array_shape
from .shapes import ALL_VALUES, FALSE, UNIQUE, Values

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
    ANYTHING = auto()  # nothing says what the items are
    STRUCTURED = auto()  # they may be arrays or objects, of which there are many
    RUN_OUT = auto()  # there may be too few values that differ
    UNDER_NEGATION = auto()
    LIMIT = auto()


class Doubt(NamedTuple):
    """Why items cannot be distinguished: as a code, and in words."""

    cause: Cause
    why: str


NO_DOUBT = Doubt(Cause.NONE, "")
ANYTHING = Doubt(
    Cause.ANYTHING, "nothing says what the items are, and items that are arrays or objects cannot be distinguished"
)
RUN_OUT = Doubt(Cause.RUN_OUT, "there may be too few items that differ")
UNDER_NEGATION = Doubt(
    Cause.UNDER_NEGATION,
    "it may stand under a negation, where some items would have to be equal, out of too many values",
)


class Verdict(NamedTuple):
    """doubt: why items cannot be distinguished. shapes: the arrays for which this was decided."""

    doubt: Doubt
    shapes: tuple[ArrayShape, ...] = ()

    def reads_scalars(self, algebra: Meaning) -> bool:
        """Whether the parser must read which strings or numbers there are."""
        return any(listed_scalars(values) is None for values in self._items(algebra))

    def reads_numbers(self, algebra: Meaning) -> bool:
        return any(values.numbers and listed_scalars(values) is None for values in self._items(algebra))

    def _items(self, algebra: Meaning) -> list[Values]:
        return [algebra.values(term) for shape in self.shapes for term in places_of(shape)]


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
        algebra = self.algebra
        own = array_shape(algebra, place)
        shapes = () if own is None or own.unique != UNIQUE else (own,)
        doubt = self.doubt_about(shapes)
        if is_negated:
            # Other schemas say nothing about what is negated.
            if doubt is NO_DOUBT and any(
                listed(algebra, term) is None for shape in shapes for term in places_of(shape)
            ):
                doubt = UNDER_NEGATION
            return Verdict(doubt, shapes)
        if doubt is NO_DOUBT:
            return Verdict(self.doubt_around(place), shapes)
        passed: list[ArrayShape] = []
        return Verdict(self.within(place, passed), tuple(passed))

    def within(self, place: Place, passed: list[ArrayShape], inner: Doubt = NO_DOUBT) -> Doubt:
        """Return why items at a place cannot be distinguished, given all schemas that apply to the same value.

        `passed` receives the shapes of arrays whose items can be distinguished. inner: the doubt if only the schema
        with the keyword is read.
        """
        try:
            arrays = self.algebra.values(self.algebra.place(place)).arrays
        except LimitError as error:
            return Doubt(Cause.LIMIT, str(error))
        shapes = tuple([shape for shape in arrays if shape.unique == UNIQUE])
        doubt = self.doubt_about(shapes)
        if doubt is NO_DOUBT:
            passed += shapes
            return NO_DOUBT
        around = self.around.get(place, ())
        if not around or self.documents.is_dynamic or place in self.alone():
            if inner is NO_DOUBT or (doubt == inner and doubt.cause is not Cause.ANYTHING):
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
        waiting = [place]
        met: set[Place] = set()
        while waiting:
            place = waiting.pop()
            around = () if self.documents.is_dynamic else self.around.get(place, ())
            if _conjoins(place.schema):
                passed: list[ArrayShape] = []
                doubt = self.within(place, passed)
                if doubt.cause is Cause.RUN_OUT:
                    return doubt
            for one in around:
                if one not in met:
                    met.add(one)
                    waiting.append(one)
        return NO_DOUBT

    def doubt_about(self, shapes: tuple[ArrayShape, ...]) -> Doubt:
        for shape in shapes:
            doubt = not_apart(self.algebra, shape)
            if doubt is NO_DOUBT and differing(self.algebra, shape) == UNKNOWN:
                doubt = RUN_OUT
            if doubt is not NO_DOUBT:
                return doubt
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
    if shape.most is not None and shape.most <= 1:
        return []
    n = len(shape.prefix) if shape.rest == FALSE else len(shape.prefix) + 1
    n = n if shape.most is None else min(n, shape.most)
    return [shape.item(index) for index in range(n)]


def not_apart(algebra: Meaning, shape: ArrayShape) -> Doubt:
    """Return why items that are arrays or objects cannot be distinguished, given where they come."""
    structured = algebra.meaning(STRUCTURED)
    terms = places_of(shape)
    for index, term in enumerate(terms):
        if listed_structured(algebra, term) is not None:
            continue
        values = algebra.values(term)
        if index == len(shape.prefix) and (shape.most is None or shape.most > index + 1):
            if values == ALL_VALUES:
                return ANYTHING
            return Doubt(Cause.STRUCTURED, f"items that are {_kinds(values)} cannot be distinguished")
        for other, at_other in enumerate(terms):
            try:
                both = algebra.values(algebra.intersection_of([term, at_other, structured]))
            except LimitError:
                both = ALL_VALUES
            if other != index and (both.arrays or both.objects):
                first, second = sorted((index, other))
                why = f"the items at {first} and {second} may both be {_kinds(both)}, which cannot be distinguished"
                return Doubt(Cause.STRUCTURED, why)
    return NO_DOUBT


def _kinds(values: Values) -> str:
    return " or ".join([name for name, shapes in (("arrays", values.arrays), ("objects", values.objects)) if shapes])
