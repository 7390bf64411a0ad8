"""Where a schema becomes impossible, for the error that no document satisfies it.

The search goes inwards as long as one part alone is the cause: a required member, an item that must be there, a part of
an `allOf`, or what a reference leads to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...earley._engine import Engine
from ...earley._regex import Regexes
from ...earley.errors import LimitError
from ..errors import GrammarError
from ..json.formats import NARROWED
from .algebra import Algebra
from .applicators import target
from .keywords import APPLICATORS, count
from .own_values import own_values
from .shapes import is_nothing
from .tree import pointer_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .load import SchemaLoader
    from .options import Options
    from .tree import Place


CLOSED = "closed=True leaves out the members and items that it does not speak of"


def narrowed_away(algebra: Algebra, loader_of: type[SchemaLoader]) -> str:
    """Return what is not written, if the schema has documents with that: members and items that it does not speak of,
    or texts of formats. Return nothing if it has none."""
    options, dropped = algebra.options, algebra.dropped
    if options.closed and _has_documents(algebra, options._replace(closed=False), dropped, loader_of):
        return CLOSED
    left_out = {}
    for place in algebra.documents.all_places():
        name = place.schema.get("format")
        if isinstance(name, str) and name in NARROWED:
            left_out[place] = {**dropped.get(place, {}), "format": NARROWED[name]}
    if not left_out or not _has_documents(algebra, options, {**dropped, **left_out}, loader_of):
        return ""
    return "; ".join(dict.fromkeys([one["format"] for one in left_out.values()]))


def _has_documents(
    algebra: Algebra, options: Options, dropped: Mapping[Place, Mapping[str, str]], loader_of: type[SchemaLoader]
) -> bool:
    """Whether there are documents with other options, or without the keywords in `dropped`; False if it is not
    known."""
    other = Algebra(algebra.documents, options, dropped, algebra.limits)
    engine = Engine(Regexes())
    try:
        symbol = loader_of(other, engine).value(other.place(algebra.documents.root))
        return symbol is not None and engine.is_productive(symbol)
    except (GrammarError, LimitError):
        return False


def where_nothing(loader: SchemaLoader, root: int) -> str | None:
    """Return the pointer of the innermost place that alone makes it impossible to satisfy a term; None for the root as
    a whole."""
    place = loader.algebra.place_of(root)
    pointer = None
    met = set()
    try:
        while place is not None and place not in met:
            pointer = place.pointer
            met.add(place)
            path, inner = _cause(loader, place)
            if path is not None:
                pointer = pointer_of(
                    path, place.resource
                )  # of a reference: where it goes in a circle, this is the place
            place = inner
    except (GrammarError, LimitError):
        pass  # as far as it is known
    return pointer or None


def _cause(loader: SchemaLoader, place: Place) -> tuple[Any, Place | None]:
    """Return the part of a place that no value satisfies: the path of a keyword, or a place within, or neither."""
    if place.schema is False:
        return None, None
    algebra = loader.algebra
    documents = algebra.documents
    schema = algebra.keywords(place)

    def has_nothing(term: int) -> bool:
        symbol = loader.value(term)
        return symbol is None or not loader.engine.is_productive(symbol)

    for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
        if keyword in schema and has_nothing(target(algebra, place, keyword)):
            found = algebra.place_of(target(algebra, place, keyword))
            return (place.path, keyword), found
    for keyword in ("allOf", "anyOf", "oneOf"):
        branches = [documents.grandchild(place, keyword, index) for index in range(len(schema.get(keyword, ())))]
        empty = [branch for branch in branches if has_nothing(algebra.place(branch))]
        if empty and (keyword == "allOf" or len(branches) == 1):
            return None, empty[0]
        if empty and len(empty) == len(branches):
            return (place.path, keyword), None
    if "not" in schema and has_nothing(algebra.child(place, "not") ^ 1):
        return (place.path, "not"), None
    own = own_values(algebra, place)
    if is_nothing(own):
        for keyword in ("const", "enum"):
            if keyword in schema:
                return (place.path, keyword), None
    kind = schema.get("type")
    if kind == "object":
        for name in schema.get("required", ()):
            if name in schema.get("properties", ()):
                member = documents.grandchild(place, "properties", name)
                if has_nothing(algebra.place(member)):
                    return None, member
        if is_nothing(own) and "required" in schema:
            return (place.path, "required"), None
    elif kind == "array":
        least = count(schema.get("minItems", 0))
        prefix = "prefixItems" if "prefixItems" in schema else "items"
        first = schema.get(prefix, ())
        first = first if isinstance(first, list) else ()
        for index in range(min(least, len(first))):
            item = documents.grandchild(place, prefix, index)
            if has_nothing(algebra.place(item)):
                return None, item
        rest = "additionalItems" if prefix == "items" and first else "items"
        if least > len(first) and rest in schema and has_nothing(algebra.child(place, rest)):
            return None, documents.child(place, rest)
        if "contains" in schema and count(schema.get("minContains", 1)) > 0:
            if has_nothing(algebra.child(place, "contains")):
                return None, documents.child(place, "contains")
    beside = [keyword for keyword in schema if keyword in APPLICATORS and keyword not in ("then", "else")]
    if len(beside) == 1 and not has_nothing(algebra.meaning(own)):
        return (place.path, beside[0]), None
    return None, None
