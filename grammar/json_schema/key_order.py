"""The order of keys: a walk over the schema, in the order of the document, meets their names in this order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...earley._meter import tick
from .applicators import target
from .shortcuts import is_shallow
from .terms import BOTH, PLACE

if TYPE_CHECKING:
    from .shapes import ObjectShape
    from .terms import Meaning
    from .tree import Place


def key_order(algebra: Meaning, term: int) -> list[str]:
    """Return the names of members in the order of the document: those in `properties`, and, where an applicator
    in place stands, those that its schemas name, references followed; then those that are only required."""
    found: dict[str, bool] = {}
    required: dict[str, bool] = {}
    _walk(algebra, term, found, required, set())
    return list(found | required)


def in_order(algebra: Meaning, shapes: tuple[ObjectShape, ...], term: int) -> list[tuple[ObjectShape, int]]:
    """Return the shapes of a term, each with the names of all of them in the order of the document, and how many of its
    first names that order covers. A constant keeps its own order."""
    # (The shape of an intersection has the required names of one schema before the properties of the next.)
    if len(shapes) == 1 and algebra.kinds[term >> 1] == PLACE and is_shallow(algebra, term) and not shapes[0].clauses:
        return [(shapes[0], len(shapes[0].named))]
    order = key_order(algebra, term)
    ordered = set(order)
    found = []
    for shape in shapes:
        tick()
        n_ordered = len(shape.named)
        if not shape.is_constant:
            n_ordered = len(order)
            known = dict(shape.named)
            named = [
                (name, known[name] if name in known else algebra.sets.objects.value_of(shape, name)) for name in order
            ]
            named += [(name, value) for name, value in shape.named if name not in ordered]
            shape = shape._replace(named=tuple(named))
        found.append((shape, n_ordered))
    return found


def _walk(algebra: Meaning, term: int, found: dict[str, bool], required: dict[str, bool], met: set[int]) -> None:
    if term >> 1 in met:
        return
    met.add(term >> 1)
    kind = algebra.kinds[term >> 1]
    part = algebra.parts[term >> 1]
    if kind == BOTH:
        for one in part:
            _walk(algebra, one, found, required, met)
    elif kind == PLACE:
        _walk_place(algebra, part, found, required, met)


def _walk_place(
    algebra: Meaning, place: Place, found: dict[str, bool], required: dict[str, bool], met: set[int]
) -> None:
    schema = algebra.keywords(place)
    for keyword, value in schema.items():
        tick()
        # Not `applied_by`: what a keyword means may speak of its schemas in another order, as `oneOf` does.
        terms: list[int] = []
        if keyword == "properties":
            found |= dict.fromkeys(value, True)
        elif keyword == "required" and isinstance(value, list):
            required |= dict.fromkeys(value, True)
        elif keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            terms = [target(algebra, place, keyword)]
        elif keyword in ("allOf", "anyOf", "oneOf"):
            terms = algebra.children(place, keyword, range(len(value)))
        elif keyword in ("not", "if", "then", "else"):
            terms = [algebra.child(place, keyword)]
        elif keyword in ("dependentSchemas", "dependencies"):
            names = [name for name, one in value.items() if not isinstance(one, (list, str))]
            terms = algebra.children(place, keyword, names)
        for term in terms:
            _walk(algebra, term, found, required, met)
