"""Which keywords of a schema refuse a text.

A keyword refuses a text if the text would be allowed without it. So the value at the place is tried again with some
keywords left out, as the refusals leave keywords out (`Algebra` with `dropped`): then the schema allows more, and never
less. A *conflict* is a smallest set of keywords that refuse the text while all others are left out; QuickXplain (Junker
2004) finds one with few trials. When its keywords are left out too, a further conflict may be left: each of them alone
refuses the text.

The value is the innermost object, array or scalar whose symbols are alive at the place; its keywords are those of its
places and of all places that are applied to it. This runs in a copy of the grammar (`earley/explain.py`).
"""

from __future__ import annotations

import re
from dataclasses import replace
from time import thread_time
from typing import TYPE_CHECKING, Any, NamedTuple

from ...earley._engine import Engine
from ...earley._explain import reaches
from ...earley._meter import count, keep, seconds_left, tick
from ...earley._regex import Regexes
from ...earley.errors import LimitError
from ...earley.explain import Finding
from ..errors import GrammarError
from ..loading import loading
from .algebra import Algebra
from .document_path import path_at, pointer
from .shapes import FALSE, TRUE, ArrayShape, ObjectShape, Values
from .terms import BOTH, CONSTANT, PLACE
from .tree import pointer_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...earley._explain import Context
    from ...earley.explain import Failure
    from ...earley.limits import Limits
    from .load import SchemaLoader
    from .tree import Place

MAX_SECONDS = 2.0
"""Looking for keywords ends after this time; each trial may itself take so long. Then the places alone are named."""
MAX_KEYWORDS = 300
"""If more keywords apply to a value, none is tried out, and the places alone are named."""
MAX_CONFLICTS = 5
"""At most so many conflicts are looked for."""
MAX_OUTER = 8
"""If a value would be allowed by itself, at most so many values around it are looked at."""
MAX_DIGITS = 10_000
"""A number is looked for in so many bytes before the failing one. Of a longer one it is not said what refuses it."""
MAX_SCHEMAS = 5
"""At most so many places are named."""
TOO_LONG = "the search for them takes too long; give the grammar limits=Limits(seconds=...)"
ENTRY_BYTES = 300
"""Memory of what is kept about one context: an estimate."""

_ASSERTIONS = frozenset(
    [
        "type",
        "enum",
        "const",
        "minLength",
        "maxLength",
        "pattern",
        "format",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minItems",
        "maxItems",
        "uniqueItems",
        "contains",
        "minContains",
        "maxContains",
        "additionalItems",
        "required",
        "minProperties",
        "maxProperties",
        "additionalProperties",
        "propertyNames",
        "dependentRequired",
    ]
)
"""Keywords without which a schema allows more."""
_WITH = {
    "contains": ("minContains", "maxContains"),
    "minimum": ("exclusiveMinimum",),
    "maximum": ("exclusiveMaximum",),
    "properties": ("additionalProperties", "unevaluatedProperties"),
    "patternProperties": ("additionalProperties", "unevaluatedProperties"),
    "prefixItems": ("items", "unevaluatedItems"),
    "items": ("additionalItems", "unevaluatedItems"),
}
"""Keywords that are left out with another one, because without that one alone they would refuse more."""
_BRANCHES = ("allOf", "anyOf", "oneOf")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_STRUCTURE = frozenset(
    [
        *_BRANCHES,
        *_REFERENCES,
        "not",
        "if",
        "dependencies",
        "dependentSchemas",
        "unevaluatedItems",
        "unevaluatedProperties",
        "properties",
        "patternProperties",
        "prefixItems",
        "items",
    ]
)
"""Keywords that are tried if leaving out all assertions is not enough: what they apply refuses the text, or that they
apply it."""

_LENIENT: tuple[tuple[dict[str, Any], str], ...] = (
    (
        {"property_order": "any"},
        "this key comes too late for the order of the schema; property_order='any' allows any order",
    ),
    (
        {"whitespace": "any", "indent": None, "separators": None},
        "white space is written in another way; whitespace='any' allows all that JSON allows",
    ),
    (
        {
            "spellings": "all",
            "string_escapes": None,
            "ensure_ascii": False,
            "lone_surrogates": None,
            "number_plain": None,
            "number_exponents": None,
        },
        "strings and numbers are spelled in another way; spellings='all' allows all spellings of JSON",
    ),
)
"""Options with which a grammar writes more, and hints at them."""


_BEFORE_ITEM = (b"[", b",", b" ", b"\n", b"\r", b"\t")
_BEGUN = re.compile(rb"(?<=[\[,: \t\n\r])-?[0-9][-+.0-9eE]*$")
_NUMBER = re.compile(rb"(-?[0-9][-+.0-9eE]*)[^-+.0-9eE]")

Trial = tuple[tuple[tuple[str, ...], ...], str | None, "Context | None"]
"""The pointers of conflicts, a hint, and the value that the first conflict is about."""


class Keyword(NamedTuple):
    """A keyword that may be left out, and its pointer."""

    place: Place
    names: tuple[str, ...]
    pointer: str


class GaveUp(Exception):
    """The time for an explanation is over, or a trial met a limit, as the text says."""


def why_not(loader: SchemaLoader, failure: Failure) -> Finding | None:
    """Return what a schema says about a failure; None if no value of the schema is alive there."""
    return _Values(loader, failure).finding()


class _Values:
    """The values of a schema that are alive at a failure."""

    def __init__(self, loader: SchemaLoader, failure: Failure) -> None:
        self.loader = loader
        self.algebra = loader.algebra
        self.failure = failure
        self.terms_of: dict[int, list[int]] = {}
        level: SchemaLoader | None = loader
        while level is not None:  # with the option `indent` there are several
            for term, symbol in level.symbols.items():
                if symbol is not None:
                    self.terms_of.setdefault(symbol, []).append(term)
            level = level.deeper
        self.resolved: dict[Context, list[int]] = {}
        self.outer: dict[Context, list[Context]] = {}
        self.deadline = thread_time() + MAX_SECONDS
        self.limit: str | None = None  # what the limit says that ended the trials
        keep(self.resolved)
        keep(self.outer)

    def finding(self) -> Finding | None:
        values = self.innermost(self.failure.waiting)
        if not values:
            return None
        root = self.root(values[0])
        names: dict[Context, str] = {}
        for context in self.failure.above:
            if context[0] in self.terms_of:
                pointers = self.pointers(self.terms(context))
                count(ENTRY_BYTES + sum(map(len, pointers[:2])))
                if pointers:
                    names[context] = " & ".join(pointers[:2])
        inner = max(values, key=lambda context: context[1])
        conflicts, hint, about = self.tried(values, inner)
        if about is None:
            about = inner
        alive = [context for context in values if context[1] == about[1]] or [about]
        schemas = [self.pointers(self.terms(context)) for context in alive]
        found = dict.fromkeys([each for one in schemas for each in one])
        document = self.failure.text[root[1] : about[1]]
        return Finding(names, conflicts, tuple(found)[:MAX_SCHEMAS], pointer(path_at(document)), hint, self.limit)

    def tried(self, values: list[Context], inner: Context) -> Trial:
        """Return which keywords refuse the text. If it fails within a number that it has as a whole, these are the
        keywords that refuse the number: a text that begins like it could still become another number."""
        failure = self.failure
        number = _NUMBER.match(failure.text + failure.rest, inner[1])
        try:
            if number is not None and number.end() > len(failure.text) - 1 and not failure.is_end:
                numbers = [context for context in values if context[1] == inner[1]]
                found = Trials(self, numbers, failure.text[: inner[1]] + number[1], True).run()
                if found is not None and found[0]:
                    return found
            ended = self.ended_number(inner)
            if ended is not None:
                found = Trials(self, [ended[0]], failure.text[: ended[0][1]] + ended[1], True).run()
                if found is not None and found[0]:
                    return found
            for _ in range(MAX_OUTER):
                found = Trials(self, values, failure.text, failure.is_end).run()
                if found is not None:
                    return found
                # What is around the value refuses it, such as `uniqueItems`; or it is no JSON.
                outer = [each for context in values for each in self.failure.above[context]]
                begin = min([context[1] for context in values])
                around = [context for context in self.innermost(outer) if context[1] < begin]
                if not around:
                    break
                values = around + values
            return (), None, None
        except (GaveUp, GrammarError, LimitError) as error:
            self.limit = str(error)
            return (), None, None

    def ended_number(self, inner: Context) -> tuple[Context, bytes] | None:
        """Return a context for the number that the failing byte continues, and the whole number; None if it continues
        none. No number of the schema goes on there, so the number is no value that is alive: `inner` holds it."""
        failure = self.failure
        begun = _BEGUN.search(failure.text, max(len(failure.text) - MAX_DIGITS, 0))
        if begun is None or failure.is_end or begun.start() <= inner[1]:
            return None
        number = _NUMBER.match(failure.text + failure.rest, begun.start())
        path = path_at(failure.text[inner[1] : begun.start()])
        if number is None or number.end() <= len(failure.text) or len(path) != 1:
            return None
        found = (-1, begun.start())
        self.resolved[found] = [each for term in self.terms(inner) for each in self.within(term, path[0])]
        return (found, number[1]) if self.resolved[found] else None

    def innermost(self, contexts: Iterable[Context | None]) -> list[Context]:
        """Return the nearest contexts above the given ones, these included, that are values of the schema."""
        found: dict[Context, bool] = {}
        seen = set()
        agenda = list(contexts)
        for context in agenda:  # which grows
            tick()
            if context is None or context in seen:
                continue
            seen.add(context)
            above = self.failure.above[context]
            if context[0] in self.terms_of:
                outer = [
                    each for each in above if each is not None and each[1] == context[1] and each[0] in self.terms_of
                ]
                # A symbol of scalars may be a value itself, or be what another value consists of.
                if outer:
                    agenda += outer
                else:
                    found[context] = True
            else:
                agenda += above
        return list(found)

    def root(self, context: Context) -> Context:
        """Return the outermost value around a value."""
        while True:
            outer = self.innermost(self.failure.above[context])
            outer = [each for each in outer if each[1] < context[1]]
            if not outer:
                return context
            context = outer[0]

    def item(self, contexts: list[Context]) -> list[Context]:
        """Return a context for the item that begins at the place: items that must differ are no values of their own."""
        failure = self.failure
        inner = max(contexts, key=lambda context: context[1])
        found = (-1, failure.at)
        path = path_at(failure.text[inner[1] : failure.at])
        if len(path) != 1 or type(path[0]) is not int or failure.text[failure.at - 1 : failure.at] not in _BEFORE_ITEM:
            return []
        terms = [each for term in self.terms(inner) for each in self.within(term, path[0])]
        self.resolved[found] = terms
        return [found] if terms else []

    def terms(self, context: Context) -> list[int]:
        """Return the terms that the value of a context must be in: it is in one of them."""
        agenda = [context]
        while agenda:
            one = agenda[-1]
            if one not in self.resolved:
                count(ENTRY_BYTES)
                around = self.around(one)
                unknown = [outer for outer in around if outer not in self.resolved]
                if unknown:  # they begin earlier, so there are no circles
                    agenda += unknown
                    continue
                self.resolved[one] = self._terms(one, around)
            agenda.pop()
        return self.resolved[context]

    def around(self, context: Context) -> list[Context]:
        """Return the contexts around a value that tell which one it is; none if it needs no telling: equal values share
        a symbol."""
        known = self.outer.get(context)
        if known is None:
            found = self.terms_of[context[0]]
            known = []
            if len(found) != 1 or not self.places(found):
                known = [each for each in self.innermost(self.failure.above[context]) if each[1] < context[1]]
            self.outer[context] = known
        return known

    def _terms(self, context: Context, around: list[Context]) -> list[int]:
        found = self.terms_of[context[0]]
        inner: dict[int, bool] = {}
        for outer in around:  # the key or the index tells
            path = path_at(self.failure.text[outer[1] : context[1]])
            for term in self.resolved[outer] if path else ():
                inner |= dict.fromkeys(self.within(term, path[0]), True)
        same = [term for term in inner if term in found]
        return same or list(inner) or found

    def within(self, term: int, key: str | int) -> list[int]:
        """Return the terms of a member or an item of the values in a term."""
        values = self.algebra.values(term)
        if isinstance(key, int):
            return [shape.item(key) for shape in values.arrays if shape.item(key) != FALSE]
        found = [self.algebra.sets.objects.value_of(shape, key) for shape in _all_shapes(values.objects)]
        return [each for each in found if each != FALSE]

    def places(self, terms: Iterable[int]) -> list[tuple[Place, bool]]:
        """Return the places that terms are made of, and whether they are negated."""
        found: dict[tuple[Place, bool], bool] = {}
        agenda = list(terms)
        for term in agenda:  # which grows
            kind, part = self.algebra.kinds[term >> 1], self.algebra.parts[term >> 1]
            if kind == PLACE:
                found[part, bool(term & 1)] = True
            elif kind == BOTH:
                agenda += [each ^ (term & 1) for each in part if each not in (TRUE, FALSE)]
        return list(found)

    def pointers(self, terms: Iterable[int]) -> list[str]:
        return list(dict.fromkeys([place.pointer for place, _ in self.places(terms)]))


class Trials:
    """Tries which keywords can be left out so that the text is allowed."""

    def __init__(self, values: _Values, contexts: list[Context], text: bytes, is_end: bool) -> None:
        """`contexts`: the values that are alive; `text`: what is refused, or if `is_end` is true, may not end there."""
        self.values = values
        self.algebra = values.algebra
        self.contexts = contexts
        self.is_end = is_end
        # The values that are alive are within each other, or begin at the same place: the outermost has them all.
        begin = min([context[1] for context in contexts])
        self.text = text[begin:]
        self.terms = list(
            dict.fromkeys([term for context in contexts if context[1] == begin for term in values.terms(context)])
        )
        options = self.algebra.options
        # The text begins within an object or array, so its indents are not those of a whole document.
        self.options = options if options.indent is None else options._replace(indent=None, whitespace="any")
        self.assertions: dict[tuple[Place, str], Keyword] = {}
        self.structure: dict[tuple[Place, str], Keyword] = {}
        self.context_of: dict[tuple[Place, str], Context] = {}

    def run(self) -> Trial | None:
        """Return the pointers of conflicts, a hint, and the value that the first conflict is about; None if no
        keyword of these values matters."""
        seen: set[Place] = set()
        inner = self.values.item(self.contexts)
        for context in [*inner, *sorted(self.contexts, key=lambda context: -context[1])]:
            for place, is_negated in self.values.places(self.values.terms(context)):
                self.gather(place, is_negated, seen)
            for key in [*self.assertions, *self.structure]:
                self.context_of.setdefault(key, context)
        if len(self.context_of) > MAX_KEYWORDS:
            raise GaveUp(f"more than {MAX_KEYWORDS} keywords apply to the value")
        assertions, structure = list(self.assertions.values()), list(self.structure.values())
        everything = assertions + structure
        if not self.refuses(everything):
            return None
        for lenient, hint in _LENIENT:
            if self.options._replace(**lenient) != self.options and not self.refuses(everything, **lenient):
                return (), hint, None
        keywords, kept = assertions, structure
        if self.refuses(structure):
            if self.refuses([]):
                return None  # no keyword of the value matters
            keywords, kept = everything, []
        conflicts = self.conflicts(keywords, kept)
        about = None
        for keyword in conflicts[0] if conflicts else ():
            found = self.context_of[keyword.place, keyword.names[0]]
            if about is None or found[1] < about[1]:
                about = found
        return tuple([_innermost(conflict) for conflict in conflicts]), None, about

    def gather(self, place: Place, is_negated: bool, seen: set[Place]) -> None:
        """Note the keywords of a place, and of the places that it applies to the same value."""
        agenda = [(place, is_negated)]
        documents = self.algebra.documents
        for place, is_negated in agenda:  # which grows
            if place in seen or type(place.schema) is not dict:
                continue
            seen.add(place)
            schema = self.algebra.keywords(place)
            if is_negated:
                # What negates a place allows everything as soon as one of its keywords is left out.
                for name in list(schema)[:1]:
                    self.structure[place, name] = Keyword(place, (name,), place.pointer)
                continue
            for name, value in schema.items():
                keyword = Keyword(place, (name, *_WITH.get(name, ())), pointer_of((place.path, name), place.resource))
                if name in _ASSERTIONS and not (name == "minContains" and value == 0):
                    self.assertions[place, name] = keyword
                elif name in _STRUCTURE:
                    self.structure[place, name] = keyword
                if name in _BRANCHES:
                    agenda += [(documents.grandchild(place, name, index), False) for index in range(len(value))]
                elif name in _REFERENCES:
                    agenda.append((documents.target(place, name), False))
                elif name in ("then", "else"):
                    agenda.append((documents.child(place, name), False))
                elif name in ("dependentSchemas", "dependencies"):
                    agenda += [
                        (documents.grandchild(place, name, key), False)
                        for key, each in value.items()
                        if isinstance(each, (dict, bool))
                    ]

    # ---- trials -------------------------------------------------------------------------------------------------

    def refuses(self, kept: Iterable[Keyword], **options: Any) -> bool:
        """Return whether the value is refused if, among the keywords that were gathered, only these count.

        What cannot be enforced without some keyword, such as `uniqueItems` for any items, does not count.
        """
        left = min(MAX_SECONDS, seconds_left())
        if thread_time() > self.values.deadline or left <= 0:
            raise GaveUp(TOO_LONG)
        given = self.algebra.limits
        limits = replace(given, load_seconds=min(given.load_seconds, left), seconds=min(given.seconds, left))
        try:
            with loading(limits):
                return self.is_refused(kept, options, limits)
        except LimitError as error:  # what is refused within the limit is not known
            raise GaveUp(TOO_LONG if "seconds" in error.limit else str(error)) from None
        except GrammarError:
            return False

    def is_refused(self, kept: Iterable[Keyword], options: dict[str, Any], limits: Limits) -> bool:
        left = {(keyword.place, keyword.names[0]) for keyword in kept}
        dropped = {place: dict(names) for place, names in self.algebra.dropped.items()}
        for key, keyword in [*self.assertions.items(), *self.structure.items()]:
            if key not in left:
                names = dropped.setdefault(keyword.place.written, {})
                names.update(dict.fromkeys([name for name in keyword.names if name in keyword.place.schema], "tried"))
        old = self.algebra
        algebra = Algebra(old.documents, self.options._replace(**options), dropped, limits)
        algebra.has_unique_items = old.has_unique_items
        algebra.follows_items = old.follows_items
        algebra.plain_numbers = old.plain_numbers
        engine = Engine(Regexes())
        keep(engine)
        loader = type(self.values.loader)(algebra, engine)
        translated = Translation(old, algebra)
        symbols = {loader.value(translated.term(term)) for term in self.terms}
        found = sorted([symbol for symbol in symbols if symbol is not None and engine.is_productive(symbol)])
        if not found:
            return True
        start = engine.add_nonterminal("start")
        for symbol in found:
            engine.add_production(start, [symbol])
        engine.finish(start)
        engine.set_limits(limits)
        n, is_sentence = reaches(engine, self.text)
        return not is_sentence if self.is_end else n < len(self.text)

    def conflicts(self, keywords: list[Keyword], kept: list[Keyword]) -> list[list[Keyword]]:
        """Return disjoint smallest sets of keywords that, with those that are kept anyway, refuse the value."""
        found: list[list[Keyword]] = []
        left = keywords
        while len(found) < MAX_CONFLICTS and left and self.refuses(left + kept):
            try:
                conflict = self.smallest(kept, False, left)
            except GaveUp:
                if found:
                    break
                raise
            found.append([keyword for keyword in keywords if keyword in conflict])
            left = [keyword for keyword in left if keyword not in conflict]
        return found

    def smallest(self, kept: list[Keyword], is_new: bool, keywords: list[Keyword]) -> list[Keyword]:
        """Return a smallest part of the keywords that, with those that are kept, refuses the value (QuickXplain)."""
        if is_new and self.refuses(kept):
            return []
        if len(keywords) == 1:
            return keywords
        half = len(keywords) // 2
        first, second = keywords[:half], keywords[half:]
        right = self.smallest(kept + first, True, second)
        left = self.smallest(kept + right, bool(right), first)
        return left + right


def _innermost(conflict: list[Keyword]) -> tuple[str, ...]:
    """Return the pointers of a conflict without those that contain others, or only lead to them."""
    leading = {*_REFERENCES, *_BRANCHES}
    saying = [keyword for keyword in conflict if keyword.names[0] not in leading]
    pointers = [keyword.pointer for keyword in saying or conflict]
    return tuple([one for one in pointers if not any(other.startswith(f"{one}/") for other in pointers)])


class Translation:
    """Makes terms of one algebra in another one over the same documents."""

    def __init__(self, old: Algebra, new: Algebra) -> None:
        self.old = old
        self.new = new
        self.known: dict[int, int] = {TRUE: TRUE}
        self.known_objects: dict[int, ObjectShape] = {}  # by `id`, for those within others are often shared

    def term(self, term: int) -> int:
        agenda = [term & ~1]
        while agenda:
            one = agenda[-1]
            if one not in self.known:
                unknown = [each & ~1 for each in self.parts(one) if each & ~1 not in self.known]
                if unknown:  # a term is made after its parts, so there are no circles
                    agenda += unknown
                    continue
                self.known[one] = self.made(one)
            agenda.pop()
        return self.known[term & ~1] ^ (term & 1)

    def parts(self, term: int) -> list[int]:
        """Return the terms of which a term is made."""
        kind, part = self.old.kinds[term >> 1], self.old.parts[term >> 1]
        if kind == BOTH:
            return list(part)
        found: list[int] = []
        if kind != PLACE and kind != CONSTANT:
            for array in part.arrays:
                found += [*array.prefix, array.rest, *[each.item for each in array.contains]]
            for shape in _all_shapes(part.objects):
                found += [value for _, value in shape.named]
                found += [value for _, value in (*shape.for_all, *shape.exists)]
        return found

    def made(self, term: int) -> int:
        """Return the new term for one whose parts are known."""
        kind, part = self.old.kinds[term >> 1], self.old.parts[term >> 1]
        if kind == PLACE:
            return self.new.place(part)
        if kind == BOTH:
            return self.new.intersection_of([self.term(each) for each in part])
        return self.new.constant(part) if kind == CONSTANT else self.new.meaning(self.values(part))

    def values(self, values: Values) -> Values:
        return values._replace(
            arrays=tuple(map(self.array, values.arrays)), objects=tuple(map(self.object, values.objects))
        )

    def array(self, shape: ArrayShape) -> ArrayShape:
        return shape._replace(
            prefix=tuple(map(self.term, shape.prefix)),
            rest=self.term(shape.rest),
            contains=tuple([each._replace(item=self.term(each.item)) for each in shape.contains]),
        )

    def object(self, shape: ObjectShape) -> ObjectShape:
        known = self.known_objects.get(id(shape))
        if known is not None:
            return known
        tick()
        known = self.known_objects[id(shape)] = shape._replace(
            named=tuple([(name, self.term(value)) for name, value in shape.named]),
            for_all=tuple([each._replace(value=self.term(each.value)) for each in shape.for_all]),
            exists=tuple([each._replace(value=self.term(each.value)) for each in shape.exists]),
            clauses=tuple([tuple(map(self.object, clause)) for clause in shape.clauses]),
        )
        return known


def _all_shapes(shapes: Iterable[ObjectShape]) -> list[ObjectShape]:
    """Return the shapes and those within them, each once: they are often shared."""
    found: dict[int, ObjectShape] = {}
    agenda = list(shapes)
    for shape in agenda:  # which grows
        if id(shape) not in found:
            tick()
            found[id(shape)] = shape
            agenda += [each for clause in shape.clauses for each in clause]
    return list(found.values())
