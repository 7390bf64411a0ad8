"""Schemas as terms: numbers that stand for sets of JSON values.

A *term* is all values (`TRUE`), a place in a schema document, one constant, certain values, or the intersection of
other terms; `t ^ 1` is the complement of `t`. (Logic synthesis writes circuits like this: an and-inverter graph.)
Terms are interned: equal ones are the same number. So a fact about one is known for all its uses, and recursion ends.
`algebra` computes what terms mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol
from weakref import ref

from ...earley._large import untrack
from ...earley._meter import keep, take, tick
from ..errors import GrammarError, GrammarLimitError
from ..json.numbers import exact
from .read import own_spelling
from .shapes import FALSE, TRUE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ...earley._engine import Engine
    from ...earley._regex import Regexes
    from ...earley.errors import LimitError
    from ...earley.limits import Limits
    from .documents import Documents
    from .options import Options
    from .text_sets import Texts
    from .tree import Place, Resource

    Dropped = Mapping[Place, Mapping[str, str]]
    """Keywords that are dropped, place by place, and why: see `refusals`."""
    from .shapes import ArrayShape, ObjectShape, Values

MAX_TERMS = 1 << 20
"""The most terms of one schema; more are an error."""
MAX_UNFOLDED = 200
"""The most applicators in place and references within each other; more are an error."""

PLACE, BOTH, CONSTANT, VALUES = range(4)

TERM_BYTES = 300
"""Memory of a term, with its parts and its entries in tables: an estimate."""


class Terms:
    """The terms of one schema."""

    def __init__(self, documents: Documents, options: Options, dropped: Dropped, limits: Limits) -> None:
        keep(self)
        self.limits = limits
        self.documents = documents
        self.options = options
        self.is_plain = options.number_style.plain  # whether constants and integers are spelled plainly
        self.dropped = dropped
        # The keywords that remain at places where some are dropped.
        self.weakened = {}
        for place, left_out in dropped.items():
            tick()
            self.weakened[place] = {name: value for name, value in place.keywords.items() if name not in left_out}
        # By term // 2: its kind, and what it is made of.
        self.kinds: list[int] = [BOTH]
        self.parts: list[Any] = [()]
        self.known: dict[object, int] = {(BOTH, ()): TRUE}
        self.in_work: set[tuple[int, str]] = set()
        self.far: set[int] = set()  # terms // 2 for which `is_near` is never true
        self.something: dict[Place, bool] = {}  # what `is_something` has seen

    # Terms.

    def place(self, place: Place) -> int:
        schema = place.schema
        if schema is True or schema is False:
            return TRUE if schema else FALSE
        return self._term(PLACE, id(place), place)  # garbage collections need not visit a pair of numbers

    def keywords(self, place: Place) -> dict[str, Any]:
        """Return the keywords of a place that count and are not left out."""
        if self.weakened:
            left = self.weakened.get(place.written)
            if left is not None:
                return left
        return place.keywords

    def child(self, place: Place, keyword: str) -> int:
        return self.place(self.documents.child(place, keyword))

    def children(self, place: Place, keyword: str, keys: Iterable[Any]) -> list[int]:
        return [self.place(self.documents.grandchild(place, keyword, key)) for key in keys]

    def constant(self, value: Any) -> int:
        take(TERM_BYTES)
        return self._term(CONSTANT, as_written(value), value)

    def meaning(self, values: Values) -> int:
        """Return a term for these values."""
        return self._term(VALUES, values, values)

    def intersection(self, left: int, right: int) -> int:
        if left == right or right == TRUE:
            return left
        if left == TRUE:
            return right
        if left ^ 1 == right or left == FALSE or right == FALSE:
            return FALSE
        return self.intersection_of((left, right))

    def intersection_of(self, terms: Iterable[int]) -> int:
        """Return the intersection of terms. Keep their order, because it decides the order of the names of members."""
        found: dict[int, bool] = {}
        for term in terms:
            if not term & 1 and self.kinds[term >> 1] == BOTH:
                for part in self.parts[term >> 1]:
                    found[part] = True
            else:
                found[term] = True
        for term in found:
            if term ^ 1 in found:
                return FALSE
        if len(found) == 1:
            return next(iter(found))
        parts = tuple(found)
        return self._term(BOTH, parts, parts)

    def union_of(self, terms: Iterable[int]) -> int:
        return self.intersection_of([term ^ 1 for term in terms]) ^ 1

    def _term(self, kind: int, key: object, part: Any) -> int:
        whole = (kind, key)
        term = self.known.get(whole)
        if term is None:
            if len(self.kinds) >= MAX_TERMS:
                raise GrammarLimitError(f"the schema has more than {MAX_TERMS} combinations of sub-schemas")
            take(TERM_BYTES + 40 * len(part) if kind == BOTH else TERM_BYTES)
            if kind == BOTH:
                untrack(part)  # a thousand branches that exclude each other have a million numbers in such tuples
            term = self.known[whole] = 2 * len(self.kinds)
            if not term & 0x7E:
                tick()
            self.kinds.append(kind)
            self.parts.append(part)
        return term

    def place_of(self, term: int) -> Place | None:
        """Return the place that the term is; None for other terms."""
        if term & 1 or self.kinds[term >> 1] != PLACE:
            return None
        place: Place = self.parts[term >> 1]
        return place

    def pointer_of(self, term: int) -> str | None:
        """Return the JSON pointer of the place that the term is, or of the first place that it is combined of."""
        kind = self.kinds[term >> 1]
        part = self.parts[term >> 1]
        if kind == PLACE:
            pointer: str = part.pointer
            return pointer
        for one in part if kind == BOTH else ():
            found = self.pointer_of(one)
            if found is not None:
                return found
        return None

    def located(self, error: LimitError, term: int) -> GrammarLimitError:
        """Return an error of the work on a term with the place of the term."""
        if not isinstance(error, GrammarLimitError):
            error = GrammarLimitError(str(error)).copy_limit(error)
        if error.pointer is None:
            error.pointer = self.pointer_of(term)
        return error

    # Work in progress.

    def enter(self, term: int, what: str = "values") -> None:
        """Note that the work on a term's meaning begins. Raises GrammarError if it has begun already and not ended."""
        task = (term, what)
        if task in self.in_work or len(self.in_work) > MAX_UNFOLDED:
            raise self.circle(term, task in self.in_work)
        self.in_work.add(task)

    def leave(self, term: int, what: str = "values") -> None:
        self.in_work.discard((term, what))

    def circle(self, term: int, is_circle: bool) -> GrammarError:
        part = self.parts[term >> 1]
        where = f"{part.pointer}: " if self.kinds[term >> 1] == PLACE else ""
        if is_circle:
            return GrammarError(
                f"{where}the schema refers to itself without an item or a member between",
                hint="this reference refers to itself; remove it",
            )
        return GrammarLimitError(f"{where}more than {MAX_UNFOLDED} schemas apply to one value within each other")


class OfAlgebra:
    """What makes terms of terms. The algebra holds it, so it refers to the algebra weakly."""

    def __init__(self, algebra: Meaning) -> None:
        self.the_algebra = ref(algebra)

    @property
    def algebra(self) -> Meaning:
        algebra = self.the_algebra()
        assert algebra is not None
        return algebra


def canonical(value: Any) -> object:
    """Return a key that is equal for values that are equal in JSON: 1 and 1.0 are, 1 and true are not."""
    if isinstance(value, str):
        return value
    if value is None or value is True or value is False:
        return (value,)
    tick()
    if isinstance(value, list):
        items = ("array", *map(canonical, value))
        untrack(items)
        return items
    if isinstance(value, dict):
        # The keys of a schema with 20,000 members are 40,000 objects: a full garbage collection visits them for 10 ms.
        members = frozenset([_member(name, member) for name, member in value.items()])
        untrack(members)
        whole = ("object", members)
        untrack(whole)
        return whole
    number = exact(value)
    untrack(number)
    return number


def _member(name: str, value: Any) -> tuple[str, object]:
    made = name, canonical(value)
    untrack(made)
    return made


def plain(key: Any) -> Any:
    """Return a value for which `canonical` returns the key."""
    if not isinstance(key, tuple):
        return key
    if key[0] == "array":
        return [plain(item) for item in key[1:]]
    if key[0] == "object":
        return {name: plain(member) for name, member in sorted(key[1])}
    return key[0]


def as_written(value: Any) -> object:
    """Return a key as `canonical` does, but different for another order of keys and another spelling of a number."""
    tick()
    if isinstance(value, list):
        return ("array", *map(as_written, value))
    if isinstance(value, dict):
        return ("object", *[(name, as_written(member)) for name, member in value.items()])
    spelling = None if isinstance(value, str) else own_spelling(value)
    return canonical(value) if spelling is None else (canonical(value), spelling)


# Protocols: what the parts of the meaning ask of each other, and what rules ask of the loader. So they need not import
# each other.


class ArrayShapes(Protocol):
    """The operations on shapes of arrays."""

    def shape(
        self, prefix: list[int], rest: int, least: int, most: int | None, contains: Any, unique: int, /
    ) -> ArrayShape | None: ...
    def intersection(self, left: ArrayShape, right: ArrayShape, /) -> ArrayShape | None: ...


class ObjectShapes(Protocol):
    """The operations on shapes of objects."""

    def shape(self, *parts: Any) -> ObjectShape | None: ...
    def intersection_of(self, unions: Any, /) -> tuple[ObjectShape, ...]: ...
    def value_of(self, shape: ObjectShape, name: str, /) -> int: ...


class Sets(Protocol):
    """The operations on values."""

    @property
    def arrays(self) -> ArrayShapes: ...
    @property
    def objects(self) -> ObjectShapes: ...
    def intersection(self, left: Values, right: Values, /) -> Values: ...
    def intersection_of(self, parts: list[Values], /) -> Values: ...
    def union(self, left: Values, right: Values, /) -> Values: ...
    def complement(self, values: Values, /) -> Values: ...
    def product(self, left: Any, right: Any, intersection: Callable[[Any, Any], Any], anything: Any, /) -> Any: ...
    def intersection_of_numbers(self, left: Any, right: Any, /) -> Any: ...


class Meaning(Protocol):
    """Terms and what they mean, which is mutually recursive: `Algebra` has it."""

    documents: Documents
    options: Options
    is_plain: bool
    is_of_names: bool
    limits: Limits
    dropped: Dropped
    kinds: list[int]
    parts: list[Any]
    meanings: dict[int, Values]
    in_work: set[tuple[int, str]]
    far: set[int]
    something: dict[Place, bool]
    patterns: dict[str, Texts]
    inhabited: set[int]

    @property
    def sets(self) -> Sets: ...
    def place(self, place: Place, /) -> int: ...
    def place_of(self, term: int, /) -> Place | None: ...
    def keywords(self, place: Place, /) -> dict[str, Any]: ...
    def child(self, place: Place, keyword: str, /) -> int: ...
    def children(self, place: Place, keyword: str, keys: Iterable[Any], /) -> list[int]: ...
    def constant(self, value: Any, /) -> int: ...
    def meaning(self, values: Values, /) -> int: ...
    def intersection(self, left: int, right: int, /) -> int: ...
    def intersection_of(self, terms: Iterable[int], /) -> int: ...
    def union_of(self, terms: Iterable[int], /) -> int: ...
    def enter(self, term: int, what: str = ..., /) -> None: ...
    def leave(self, term: int, what: str = ..., /) -> None: ...
    def located(self, error: LimitError, term: int, /) -> GrammarLimitError: ...
    def values(self, term: int, /) -> Values: ...
    def note_run_out(self) -> None: ...
    def of_names(self) -> Meaning: ...
    def written_values(self, term: int, /) -> Values: ...
    def members(self, values: Values, /) -> list[Any] | None: ...
    def is_nothing(self, term: int, /) -> bool: ...
    def is_surely_nothing(self, term: int, /) -> bool: ...
    def meant(self, term: int, /) -> int: ...
    def asserts_format(self, resource: Resource, /) -> bool: ...
    def pattern(self, pattern: str, /) -> Texts: ...


class Loader(Protocol):
    """The symbols that the rules of arrays and objects are made of: `SchemaLoader` has them."""

    regexes: Regexes

    @property
    def engine(self) -> Engine: ...
    @property
    def algebra(self) -> Meaning: ...
    def value(self, term: int, /) -> int | None: ...
    def key(self, name: str, /) -> int | None: ...
    def key_of(self, names: int, /) -> int | None: ...
    def mark(self, name: str, /) -> int: ...
    def end(self, bracket: str, has_parts: bool, /) -> list[int]: ...
    def member(self, name: Any, term: int, /) -> int | None: ...
    def has_key(self, name: str, /) -> bool: ...
    def is_sure(self, term: int, /) -> bool: ...
    def before(self, is_first: bool, /) -> list[int]: ...
    def word(self, text: str, /) -> int: ...
    def members(self, shape: Any, n_ordered: int, origin: int, /) -> int: ...
    def followed_item(
        self, term: int, used: frozenset[object], follow: Callable[[object], int], rest: int, origin: int, /
    ) -> int | None: ...
    def repeated_item(self, term: int, used: frozenset[object], rest: int, origin: int, /) -> list[list[int]]: ...
    def followed_scalars(
        self, values: Values, used: frozenset[object], follow: Callable[..., int], /, *arguments: Any
    ) -> list[int]: ...
