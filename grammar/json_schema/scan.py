"""The scan that comes before anything is made of a schema: what cannot be enforced is found there.

It is refused or, without `strict`, left out, so that later only a limit can be met.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ...earley._regex import Regexes
from ...earley.errors import LimitError
from ..errors import GrammarError, RegexSyntaxError, together
from ..json.formats import NARROWED as NARROWED_FORMATS
from ..json.formats import FormatRefusal
from ..json.number_spellings import number_tree
from ..json.numbers import INTEGERS, exact, listed
from ..regex.lower import lower
from .check import check_schema
from .constants import are_constants, have_own_constants
from .keywords import APPLICATORS, SAYS_NOTHING
from .own_values import format_tree, numbers_of
from .places import Path, Place, at, counted, in_order, refused
from .text_sets import has_surrogate

if TYPE_CHECKING:
    from ..json.numbers import Number, NumberSet
    from .algebra import Algebra
    from .documents import Documents
    from .places import Resource

_CHECKED = frozenset(
    [
        "pattern",
        "patternProperties",
        "format",
        "multipleOf",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "uniqueItems",
        "enum",
        "const",
        "minItems",
        "minProperties",
        "minContains",
        "maxItems",
        "maxProperties",
        "maxContains",
        "contains",
    ]
)
_KEYS = frozenset(["propertyNames", "patternProperties"])
_OF_ARRAYS = ("items", "additionalItems", "contains", "minItems", "maxItems")
_IN_PLACE = APPLICATORS - {"dependentRequired", "unevaluatedItems", "unevaluatedProperties"}
_ONLY_REFERS = (SAYS_NOTHING - {"$id", "id"}) | {"$ref"}
LONG = 100
"""Digits of numbers that no limit can refuse."""
_MOST = ("maxItems", "maxProperties", "maxContains")
_COMBINING = ("oneOf", "allOf", "dependentSchemas", "dependencies")
MANY_COMBINED = 8
"""Schemas that are combined at one place: from here on it is found out while loading whether they can be."""
MANY_PATTERNS = 10
"""Patterns of keys with schemas of their own: fewer make no more kinds of keys than there may be."""
MANY_CASES = 64
"""So many cases, roughly, are combined where schemas are within each other: it is worked out for them, too."""
MAX_CASES = 1 << 12
MAX_DEPTH = 64
"""Applicators in place within each other, whose cases are counted."""
_LEAST = ("minItems", "minProperties", "minContains")
MAX_LEAST = 1 << 11
"""Items or members that may be demanded: that so many can come is shown before the first of them."""


class Scan:
    """Goes over all that a schema can reach, each place once, before anything is made of it."""

    def __init__(self, documents: Documents, algebra: Algebra) -> None:
        self.documents = documents
        self.algebra = algebra
        self.strict = algebra.options.strict
        self.regexes: Regexes | None = None  # for trying out patterns
        self.tried: set[NumberSet] = set()  # that can be spelled
        self.dropped: dict[tuple[int, str], str] = {}
        self.edges: dict[int, list[int]] = {}  # from schemas to those that apply to the same value, by `id`
        self.places: dict[int, tuple[dict[str, Any], Resource, Path]] = {}  # of the schemas in `edges`
        self.partly: dict[int, dict[str, Any]] = {}  # the keywords that count of schemas that have others, too, by `id`
        self.unique: list[tuple[dict[str, Any], Resource, Path]] = []
        self.narrowed: list[tuple[dict[str, Any], Resource, Path]] = []  # with formats of which some texts are left out
        # With bounds that can be spelled for integers alone.
        self.whole: list[tuple[dict[str, Any], str, Resource, Path]] = []
        self.large: list[tuple[dict[str, Any], str, Resource, Path]] = []  # with keywords that allow very many
        self.endless: dict[int, bool] = {}  # those of `unique` whose items are out of very many scalars
        self.plain_numbers: set[int] = set()  # those whose items are out of very many numbers, too
        self.negations: list[list[Any]] = []  # schemas that may have to be negated
        self.choices: list[dict[str, Any]] = []  # with `oneOf`, whose branches are negated where they are not apart
        self.with_contains: list[dict[str, Any]] = []  # with `contains`, which is negated beside `uniqueItems` alone
        self.targets: dict[int, list[Any]] = {}  # what references in a schema lead to
        # What may become too much together with others, by `id`: see `weights`.
        self.weighted: dict[int, tuple[dict[str, Any], Resource, Path]] = {}  # the schemas whose keywords say that
        self.combined: list[int] = []  # where many schemas are combined
        self.crowded: list[dict[str, Any]] = []  # schemas where that may be so
        self.apart: dict[int, bool] = {}  # whether the branches of a `oneOf` are told apart
        self.counting: list[int] = []  # that demand members, of keys that may run out
        self.multiples: dict[int, Number] = {}
        self.with_patterns: dict[int, list[str]] = {}
        self.with_lists: dict[int, int] = {}  # how many constants are arrays
        self.meeting: list[dict[str, Any]] = []  # that say several things of one member or item by themselves
        self._negated: set[int] | None = None

    def run(self) -> None:
        """Finds what is to be left out (`dropped`).

        Raises GrammarError, with all that cannot be enforced if `strict`, and for circles.
        """
        check_schema(self.documents, self.visit)
        self.find_circle()
        self.negations += [self.keywords(schema)["oneOf"] for schema in self.choices if not self.has_apart(schema)]
        if self.negations or self.crowded:
            self.find_many_cases()
        self.check_narrowed()
        self.check_large()
        self.check_unique()

    def visit(self, schema: dict[str, Any], resource: Resource, path: Path) -> None:
        keywords = counted(schema, resource)
        if keywords is not schema:
            self.partly[id(schema)] = keywords
        if not _IN_PLACE.isdisjoint(keywords):
            self.note_edges(schema, keywords, resource, path)
        if _CHECKED.isdisjoint(keywords):
            return
        errors: list[GrammarError] = []
        for keyword in keywords:
            if keyword not in _CHECKED:
                continue
            why = self.why_not(schema, keyword, resource, path)
            if why:
                try:
                    self.refuse(schema, keyword, resource, (path, keyword), why)
                except GrammarError as error:
                    errors.append(error)
        if errors:
            raise together(errors)

    def refuse(self, schema: dict[str, Any], keyword: str, resource: Resource, path: Path, why: str) -> None:
        if self.strict:
            raise refused(path, resource, keyword, why)
        self.dropped[id(schema), keyword] = why
        if keyword == "patternProperties" and "additionalProperties" in schema:
            self.dropped[id(schema), "additionalProperties"] = "which keys it is about depends on `patternProperties`"

    def why_not(self, schema: dict[str, Any], keyword: str, resource: Resource, path: Path) -> str:
        """Why the keyword cannot be enforced; empty if it can."""
        value = schema[keyword]
        try:
            if keyword == "pattern":
                self.check_pattern(value)
                self.weighted[id(schema)] = (schema, resource, path)
                self.with_patterns.setdefault(id(schema), []).append(value)
            elif keyword == "patternProperties":
                for pattern in value:
                    self.check_pattern(pattern)
                self.weighted[id(schema)] = (schema, resource, path)
                self.with_patterns.setdefault(id(schema), []).extend(value)
                self.meeting.append(schema)
                if len(value) >= MANY_PATTERNS:
                    self.combined.append(id(schema))
            elif keyword == "contains":
                self.meeting.append(schema)
                if "maxContains" in schema and "maxContains" in resource.keywords:
                    self.negations.append([value])  # items that are not counted
                else:
                    self.with_contains.append(schema)
            elif keyword in _LEAST:
                if value > MAX_LEAST:
                    return f"more than {MAX_LEAST} items or members are not counted"
                if keyword == "minProperties" and value > 1 and not _KEYS.isdisjoint(schema):
                    self.weighted[id(schema)] = (schema, resource, path)
                    self.counting.append(id(schema))
            elif keyword == "format":
                if self.algebra.asserts_format(resource):
                    if value in NARROWED_FORMATS:
                        self.narrowed.append((schema, resource, path))
                    tree = format_tree(value, resource.draft)
                    if tree is not None:
                        self.algebra.inhabited.add(id(tree))  # all formats match something, and are kept
            elif keyword == "uniqueItems":
                if value is True:
                    self.weighted[id(schema)] = (schema, resource, path)
                    self.unique.append((schema, resource, path))
            elif keyword == "enum" or keyword == "const":
                values = value if keyword == "enum" else [value]
                n_lists = sum([isinstance(one, list) for one in values])
                if n_lists:
                    self.weighted[id(schema)] = (schema, resource, path)
                    self.with_lists[id(schema)] = n_lists
                return self.why_no_constants(values)
            elif keyword in _MOST:
                if value > MAX_LEAST:
                    self.large.append((schema, keyword, resource, path))
            elif keyword == "multipleOf" or is_long(value):
                self.check_bounds(schema, keyword, resource, path)
                self.weighted[id(schema)] = (schema, resource, path)
                if keyword == "multipleOf":
                    self.multiples[id(schema)] = exact(value)
        except FormatRefusal as error:
            return error.reason
        except (LimitError, RegexSyntaxError, ValueError) as error:
            return str(error).replace("\n", "; ")  # a row of the report is one line
        return ""

    def check_pattern(self, pattern: str) -> None:
        regexes = self.regexes
        if regexes is None:
            regexes = self.regexes = Regexes()
        inhabited = self.algebra.inhabited
        for tree in self.algebra.pattern(pattern).trees:
            if id(tree) not in inhabited and not regexes.is_empty(lower(tree, regexes)):
                inhabited.add(id(tree))

    def check_numbers(self, numbers: NumberSet) -> None:
        if numbers not in self.tried:
            options = self.algebra.options
            number_tree(numbers, options.number_digits, options.number_shift, options.number_plain)
            self.tried.add(numbers)

    def check_bounds(self, schema: dict[str, Any], keyword: str, resource: Resource, path: Path) -> None:
        numbers = numbers_of(schema, resource.draft)
        try:
            self.check_numbers(numbers)
        except LimitError:
            if keyword == "multipleOf" or schema.get("type") != "integer" or "type" not in resource.keywords:
                raise
            # Of integers a bound is as good as the next number, which may have few digits: 10^308 - 1 has not.
            self.check_numbers(numbers.intersection(INTEGERS))
            self.counting.append(id(schema))  # not if they are multiples of something else, too
            self.whole.append((schema, keyword, resource, path))

    def why_no_constants(self, values: list[Any]) -> str:
        """Why some of the values cannot be written; empty if all can."""
        stack = list(values)
        words: list[str] = []
        while stack:
            value = stack.pop()
            if isinstance(value, str):
                words.append(value)
            elif isinstance(value, list):
                stack += value
            elif isinstance(value, dict):
                stack += value
                stack += value.values()
            elif is_long(value):
                self.check_numbers(listed([value]))
        if words and has_surrogate("".join(words)):  # of one text that is soon found
            return "a lone surrogate is no character of a text that a model writes"
        return ""

    # Circles: a schema that applies to a value only if it does.

    def keywords(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Those that count."""
        return self.partly.get(id(schema), schema)

    def note_edges(self, schema: dict[str, Any], keywords: dict[str, Any], resource: Resource, path: Path) -> None:
        found = []
        for keyword, value in keywords.items():
            if keyword not in _IN_PLACE:
                continue
            if keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
                target = self.documents.resolve(value, resource, (path, keyword))[0]
                self.targets.setdefault(id(schema), []).append(target)
                found.append(target)
            elif isinstance(value, list):
                found += value
            elif keyword in ("dependentSchemas", "dependencies"):
                found += [one for one in value.values() if isinstance(one, dict)]
            else:
                found.append(value)
        for keyword in ("not", "if"):
            if keyword in keywords:
                self.negations.append([keywords[keyword]])
        if "oneOf" in keywords:
            self.choices.append(schema)
        if sum([len(keywords[keyword]) for keyword in _COMBINING if keyword in keywords]) >= MANY_COMBINED:
            self.crowded.append(schema)
        self.edges[id(schema)] = [id(one) for one in found if isinstance(one, dict)]
        self.places[id(schema)] = (schema, resource, path)

    def find_many_cases(self) -> None:
        """Adds to `combined` the places where many schemas are combined, or few, and others within these."""
        self.combined += [id(schema) for schema in self.crowded if not self.has_apart(schema)]
        if not self.negations:
            return
        known: dict[int, int] = {}
        for schema, _, _ in self.places.values():
            if self.n_cases(schema, known, 0) >= MANY_CASES:
                self.combined.append(id(schema))

    def n_cases(self, schema: Any, cases: dict[int, int], depth: int) -> int:
        """How many cases there may be to tell apart at a schema, roughly, up to MAX_CASES."""
        if not isinstance(schema, dict) or id(schema) not in self.edges or depth > MAX_DEPTH:
            return 1
        known = cases.get(id(schema))
        if known is not None:
            return known
        n = 1
        depth += 1
        for keyword, value in self.keywords(schema).items():
            if keyword in ("oneOf", "anyOf"):
                n *= sum([self.n_cases(branch, cases, depth) for branch in value])
                if keyword == "oneOf" and not self.has_apart(schema):
                    n *= len(value)  # of the others none holds
            elif keyword == "allOf":
                for branch in value:
                    n *= self.n_cases(branch, cases, depth)
            elif keyword in ("not", "if"):
                n *= (1 + n_sides(value)) * self.n_cases(value, cases, depth)
            elif keyword in ("then", "else"):
                n *= self.n_cases(value, cases, depth)
            elif keyword in ("dependentSchemas", "dependencies"):
                for branch in value.values():
                    n *= 1 + self.n_cases(branch, cases, depth)
            n = min(n, MAX_CASES)
        for target in self.targets.get(id(schema), ()):
            n = min(n * self.n_cases(target, cases, depth), MAX_CASES)
        cases[id(schema)] = n
        return n

    def has_apart(self, schema: dict[str, Any]) -> bool:
        """Whether a schema has a `oneOf` that negates nothing: its branches are told apart, or what they refer to."""
        known = self.apart.get(id(schema))
        if known is None:
            branches = self.keywords(schema).get("oneOf")
            known = branches is not None and are_apart(
                [self.followed(branch) for branch in branches], self.places[id(schema)][1].keywords
            )
            self.apart[id(schema)] = known
        return known

    def is_written_apart(self, schema: dict[str, Any]) -> bool:
        """As `has_apart`, of branches as they are written."""
        branches = [self.keywords(branch) if isinstance(branch, dict) else branch for branch in schema["oneOf"]]
        return are_apart(branches, self.places[id(schema)][1].keywords)

    def find_circle(self) -> None:
        done: set[int] = set()
        for root in self.edges:
            if root in done:
                continue
            open_: dict[int, bool] = {root: True}
            stack = [iter(self.edges[root])]
            while stack:
                for target in stack[-1]:
                    if target in open_:
                        _, resource, path = self.places[target]
                        raise at(
                            path,
                            resource,
                            "the schema applies to a value if it applies to it: a circle of references without an item "
                            "or a member between",
                            hint="leave one of them out",
                        )
                    if target in self.edges and target not in done:
                        open_[target] = True
                        stack.append(iter(self.edges[target]))
                        break
                else:
                    stack.pop()
                    done.add(open_.popitem()[0])

    # Unique items.

    def check_unique(self) -> None:
        """Items can be told apart where that is found out: see `unique`. This comes last, for what is left out
        of a schema may be what says of items that they are few."""
        if not self.unique:
            return
        from .algebra import Algebra
        from .unique import NO_DOUBT, UniqueItems

        errors: list[GrammarError] = []
        waiting = self.unique
        algebra = self.algebra
        while waiting:
            if self.dropped:
                algebra = Algebra(self.documents, algebra.options, self.dropped, algebra.limits)
            known = UniqueItems(self.documents, algebra, self.edges, self.places)
            self.endless.clear()
            self.plain_numbers.clear()
            left = []
            for schema, resource, path in waiting:
                place = Place(schema, resource, path, (), self.documents)
                verdict = known.verdict(place, is_negated=id(schema) in self.negated())
                if verdict.doubt is NO_DOUBT:
                    left.append((schema, resource, path))
                    if verdict.reads_scalars(algebra):
                        self.endless[id(schema)] = True
                    if verdict.reads_numbers(algebra):
                        self.plain_numbers.add(id(schema))
                    continue
                try:
                    self.refuse(schema, "uniqueItems", resource, (path, "uniqueItems"), verdict.doubt.why)
                except GrammarError as error:
                    errors.append(error)
            if errors:
                raise together(in_order(errors, self.documents))
            if len(left) == len(waiting):
                break
            waiting = left

    def check_narrowed(self) -> None:
        """Of what is left out of a format it is not known whether it belongs there: it may not be negated."""
        for schema, resource, path in self.narrowed:
            if id(schema) in self.negated():
                why = (
                    f"it may stand under a negation, and of format '{schema['format']}' "
                    + (NARROWED_FORMATS[schema["format"]])
                )
                self.refuse(schema, "format", resource, (path, "format"), why)

    def check_large(self) -> None:
        """Where more than very many items or members are not allowed, a negation demands as many; and where integers
        are not above a bound, others are."""
        for schema, keyword, resource, path in self.whole:
            if id(schema) in self.negated():
                why = (
                    "it may stand under a negation, and of numbers that are not integers the bound has too many digits"
                )
                self.refuse(schema, keyword, resource, (path, keyword), why)
        for schema, keyword, resource, path in self.large:
            if id(schema) in self.negated():
                why = f"it may stand under a negation, and more than {MAX_LEAST} items or members are not counted"
                self.refuse(schema, keyword, resource, (path, keyword), why)

    def followed(self, schema: Any) -> Any:
        """The keywords that count in a schema, or in what it leads to where it is a reference and says no more."""
        while isinstance(schema, dict):
            keywords = self.keywords(schema)
            if "$ref" not in keywords or not keywords.keys() <= _ONLY_REFERS or id(schema) not in self.targets:
                return keywords
            schema = self.targets[id(schema)][0]
        return schema

    def beside(self, schemas: list[int]) -> set[int]:
        """What may apply to the same value as one of the schemas, all by `id`."""
        near: dict[int, list[int]] = {}
        for one, others in self.edges.items():
            near.setdefault(one, []).extend(others)
            for other in others:
                near.setdefault(other, []).append(one)
        found = set(schemas)
        stack = schemas
        while stack:
            new = [one for one in near.get(stack.pop(), ()) if one not in found]
            found.update(new)
            stack += new
        return found

    def negated(self) -> set[int]:
        """The schemas, by `id`, whose negation may be needed."""
        if self._negated is None:
            self._negated = found = set()
            dynamic: list[Any] = []  # what may be meant by dynamic references, as far as that is known
            if self.documents.is_dynamic:
                resources = self.documents.resources()
                dynamic = [resource.anchors[name][0] for resource in resources for name in resource.dynamic]
            if self.with_contains and self.unique:
                beside = self.beside([id(schema) for schema, _, _ in self.unique])
                for schema in self.with_contains:
                    if id(schema) in beside or dynamic:
                        self.negations.append([schema["contains"]])
            for branches in self.negations:
                stack: list[Any] = list(branches)
                while stack:
                    value = stack.pop()
                    if isinstance(value, dict):
                        if id(value) in found:
                            continue
                        found.add(id(value))
                        stack += self.targets.get(id(value), ())
                        stack += value.values()
                        if "$dynamicRef" in value or "$recursiveRef" in value:
                            stack += dynamic
                    elif isinstance(value, list):
                        stack += value
        return self._negated


def n_sides(schema: Any) -> int:
    """In how many ways an array may be what a schema, but for applicators in place, does not allow; 1 for most others:
    of objects the ways are decided one by one."""
    if not isinstance(schema, dict):
        return 1
    prefix = schema.get("prefixItems", schema.get("items"))
    n = len(prefix) if isinstance(prefix, list) else 0
    return max(n + sum([keyword in schema for keyword in _OF_ARRAYS]), 1)


def are_apart(branches: list[Any], known: dict[str, int]) -> bool:
    """Whether the types of the schemas tell them apart, or constants, so that `oneOf` need not negate them.

    branches: the keywords that count in each (`Scan.keywords`), or a bool.
    known: the names of keywords, for what is within them.
    """
    if are_constants(branches) or have_own_constants(branches, known):
        return True
    met: set[str] = set()
    for branch in branches:
        kinds = branch.get("type") if isinstance(branch, dict) else None
        if kinds is None:
            return False
        for kind in [kinds] if isinstance(kinds, str) else kinds:
            kind = "number" if kind == "integer" else kind
            if kind in met:
                return False
            met.add(kind)
    return True


def is_long(value: object) -> bool:
    """Whether a number may have so many digits, written without an exponent, that it meets a limit."""
    if isinstance(value, Decimal):
        _, digits, exponent = value.as_tuple()
        return len(digits) > LONG or not isinstance(exponent, int) or abs(exponent) > LONG
    if isinstance(value, float):
        return bool(value) and not 1e-100 < abs(value) < 1e100
    return isinstance(value, int) and value.bit_length() > 3 * LONG
