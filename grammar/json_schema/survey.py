"""The survey of a schema: what applies to the same value, what may be negated, and what may become too much.

It only reads. `refusals` asks it what stands under a negation, and `weights` which schemas say something that
multiplies with what others say. All of it is seen in the text: the survey computes nothing of what a schema means.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...earley._meter import keep, tick
from ..bits import BIT
from ..json.formats import NARROWED as NARROWED_FORMATS
from ..json.numbers import exact
from ..loading import PIECE, pieces
from .constants import are_constants, have_own_constants
from .keywords import APPLICATORS, SAYS_NOTHING
from .tree import at

if TYPE_CHECKING:
    from ..errors import GrammarError
    from ..json.numbers import Number
    from .documents import Documents
    from .tree import Place

LEAST = frozenset(["minItems", "minProperties", "minContains"])
MOST = frozenset(["maxItems", "maxProperties", "maxContains"])
BOUNDS = frozenset(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"])
STATED = LEAST | MOST | BOUNDS
STATED |= {"pattern", "patternProperties", "format", "multipleOf", "uniqueItems", "enum", "const", "contains"}
"""Keywords that may be refused, or that a survey counts."""

_COUNTED = STATED - BOUNDS - {"minItems", "minContains"}
_KEYS = frozenset(["propertyNames", "patternProperties"])
_OF_ARRAYS = ("items", "additionalItems", "contains", "minItems", "maxItems")
IN_PLACE = APPLICATORS - {"dependentRequired", "unevaluatedItems", "unevaluatedProperties"}
"""Keywords whose schemas apply to the same value."""
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_BRANCHES = ("allOf", "anyOf", "oneOf")
_BY_NAME = ("dependentSchemas", "dependencies")
_ONLY_REFERS = (SAYS_NOTHING - {"$id", "id"}) | {"$ref"}
_WITHOUT_LISTS = frozenset([str, int, bool, type(None)])
_COMBINING = ("oneOf", "allOf", "dependentSchemas", "dependencies")

_APPLIES, _LIMITS, _NAMES, _STATES = 1, 2, 4, 8
_MARKS = {
    keyword: _APPLIES * (keyword in IN_PLACE)
    | _LIMITS * (keyword in _KEYS)
    | _NAMES * (keyword == "properties")
    | _STATES * (keyword in STATED)
    for keyword in {*IN_PLACE, *_KEYS, *STATED, "properties"}
}
"""What `Survey.note` does about a keyword."""

MAX_LEAST = 1 << 11
"""The most items or members that may be demanded. The loader proves that so many can come before the parser starts."""
MANY_COMBINED = 8
"""The fewest schemas, combined at one place, for which the schema is rehearsed."""
MANY_PATTERNS = 10
"""The fewest patterns of keys with schemas of their own for which a place is rehearsed. Fewer patterns cannot make too
many kinds of keys."""
MANY_CASES = 64
"""The fewest cases for which a place is rehearsed. Schemas within each other multiply their cases."""
MAX_CASES = 1 << 12
"""The most cases that are counted. More count as this number."""
MAX_DEPTH = 64
"""The most applicators in place within each other whose cases are counted. A deeper one counts as one case."""


class Survey:
    """The survey of the places that a check has reached.

    dropped: the keywords that are dropped, place by place; these are not counted.
    """

    def __init__(self, documents: Documents, dropped: dict[Place, dict[str, str]]) -> None:
        keep(self)
        self.documents = documents
        self.dropped = dropped
        self.applying: list[Place] = []  # with keywords in `IN_PLACE`
        self.stating: list[Place] = []  # with keywords in `STATED`
        self.edges: dict[Place, list[Place]] = {}  # from `applying` to the places that apply to the same value
        self.targets: dict[Place, list[Place]] = {}  # what the references of a place lead to
        # Where something may be negated.
        self.negations: list[list[Place]] = []  # schemas that may have to be negated
        self.with_contains: list[Place] = []  # with a `contains` that is negated beside `uniqueItems` alone
        self.narrowed: list[Place] = []  # with formats of which some texts are never written
        self.large: list[tuple[Place, str]] = []  # with keywords that allow very many items or members
        self.whole: list[tuple[Place, str]] = []  # with bounds that can be spelled for integers alone
        self._negated: set[Place] | None = None
        # Where something may become too much: see `weights`.
        self.combined: list[Place] = []  # where many schemas are combined
        self.counting: list[Place] = []  # that demand members, of keys that may run out
        self.multiples: dict[Place, Number] = {}
        self.with_patterns: dict[Place, list[str]] = {}
        self.with_lists: dict[Place, int] = {}  # how many constants are arrays
        self.meeting: list[Place] = []  # that say several things of one member or item by themselves
        self.apart: dict[Place, bool] = {}  # known of `has_apart`
        # `uniqueItems`.
        self.unique: list[Place] = []
        self.endless: set[Place] = set()  # those of `unique` whose items are out of very many scalars
        self.plain_numbers: set[Place] = set()  # and those whose items are out of very many numbers
        self.follows_items = False  # whether items that may be any arrays or objects must differ
        self.repeats_items = False  # whether some items may have to be equal
        # Whether the keys that an object may have beside the named ones may be few.
        self.limits_keys = False
        self.n_names = 0  # the most names of one `properties`

    def note(self, place: Place) -> bool:
        """Add a place that the check has reached. Return whether it states something."""
        keywords = place.keywords
        found = 0
        for keyword in keywords:
            mark = _MARKS.get(keyword)
            if mark is not None:
                found |= mark
        if found & _APPLIES:
            self.applying.append(place)
        if found & _LIMITS:
            self.limits_keys = True
        if found & _NAMES:
            self.n_names = max(self.n_names, len(keywords["properties"]))
        if not found & _STATES:
            return False
        self.stating.append(place)
        return True

    def read_applicators(self) -> None:
        """Find `edges` and `targets`."""
        documents = self.documents
        for place in self.applying:
            tick()
            found: list[Place] = []
            for keyword in place.keywords:
                if keyword in IN_PLACE:
                    if keyword in _REFERENCES:
                        target = documents.target(place, keyword).written
                        self.targets.setdefault(place, []).append(target)
                        found.append(target)
                    else:
                        found += self.branches(place, keyword)
            self.edges[place] = [one for one in found if type(one.schema) is dict]

    def branches(self, place: Place, keyword: str) -> list[Place]:
        """Return the schemas that an applicator in place holds, without a scope."""
        documents = self.documents
        value = place.keywords[keyword]
        if keyword in _BRANCHES:
            found = []
            for index in range(len(value)):
                if not ~index & 0xFF:
                    tick()
                found.append(documents.grandchild(place, keyword, index).written)
            return found
        if keyword in _BY_NAME:
            names = [name for name, one in value.items() if type(one) is not list]
            found = []
            for index, name in enumerate(names):
                if not ~index & 0xFF:
                    tick()
                found.append(documents.grandchild(place, keyword, name).written)
            return found
        return [documents.child(place, keyword).written]

    def find_circles(self) -> list[GrammarError]:
        """Return the errors about schemas that apply to a value if they apply to it: one error for each circle."""
        met: dict[Place, GrammarError] = {}
        edges = self.edges
        done: set[Place] = set()
        for root in edges:
            if root in done:
                continue
            open_: dict[Place, bool] = {root: True}
            stack = [iter(edges[root])]
            while stack:
                tick()
                for target in stack[-1]:
                    if target in open_:
                        met[target] = at(
                            target.path,
                            target.resource,
                            "the schema applies to a value if it applies to it: a circle of references without an item "
                            "or a member between",
                            hint="leave one of them out",
                        )
                    elif target in edges and target not in done:
                        open_[target] = True
                        stack.append(iter(edges[target]))
                        break
                else:
                    stack.pop()
                    done.add(open_.popitem()[0])
        return list(met.values())

    def read_statements(self) -> None:
        """Find what may be negated and what may become too much. No circle may be left."""
        crowded: list[Place] = []
        choices: list[Place] = []
        for place in self.applying:
            tick()
            keywords = place.keywords
            for keyword in ("not", "if"):
                if keyword in keywords:
                    self.negations.append([self.documents.child(place, keyword).written])
            if "oneOf" in keywords:
                choices.append(place)
            if sum([len(keywords[keyword]) for keyword in _COMBINING if keyword in keywords]) >= MANY_COMBINED:
                crowded.append(place)
        for place in self.stating:
            tick()
            left_out = self.dropped.get(place, ()) if self.dropped else ()
            for keyword in place.keywords:
                if keyword in _COUNTED and keyword not in left_out:
                    self.count(place, keyword)
        self.counting += [place for place, _ in self.whole]
        self.negations += [self.branches(place, "oneOf") for place in choices if not self.has_apart(place)]
        if self.negations or crowded:
            self.combined += [place for place in crowded if not self.has_apart(place)]
        if self.negations:
            known: dict[Place, int] = {}
            self.combined += [place for place in self.edges if self.n_cases(place, known, 0) >= MANY_CASES]

    def count(self, place: Place, keyword: str) -> None:
        """Note what a keyword in `_COUNTED` says."""
        value = place.keywords[keyword]
        if keyword == "enum" or keyword == "const":
            n_lists = 0
            constants = value if keyword == "enum" else [value]
            for piece in [constants] if len(constants) <= PIECE else pieces(constants):
                if not _WITHOUT_LISTS.issuperset(map(type, piece)):
                    n_lists += sum([isinstance(one, list) for one in piece])
            if n_lists:
                self.with_lists[place] = n_lists
        elif keyword == "pattern":
            self.with_patterns.setdefault(place, []).append(value)
        elif keyword == "patternProperties":
            self.with_patterns.setdefault(place, []).extend(value)
            self.meeting.append(place)
            if len(value) >= MANY_PATTERNS:
                self.combined.append(place)
        elif keyword == "contains":
            self.meeting.append(place)
            if "maxContains" in place.keywords:
                self.negations.append([self.documents.child(place, keyword).written])  # items that are not counted
            else:
                self.with_contains.append(place)
        elif keyword == "minProperties":
            if value > 1 and not _KEYS.isdisjoint(place.keywords):
                self.counting.append(place)
        elif keyword == "format":
            if value in NARROWED_FORMATS:
                self.narrowed.append(place)
        elif keyword == "uniqueItems":
            if value is True:
                self.unique.append(place)
        elif keyword == "multipleOf":
            self.multiples[place] = exact(value)
        elif value > MAX_LEAST:
            self.large.append((place, keyword))

    # Cases.

    def n_cases(self, place: Place, cases: dict[Place, int], depth: int) -> int:
        """Return about how many cases there may be at a place, up to MAX_CASES."""
        if place not in self.edges or depth > MAX_DEPTH:
            return 1
        known = cases.get(place)
        if known is not None:
            return known
        tick()
        n = 1
        depth += 1
        for keyword, value in place.keywords.items():
            if keyword in ("oneOf", "anyOf"):
                n *= sum([self.n_cases(branch, cases, depth) for branch in self.branches(place, keyword)])
                if keyword == "oneOf" and not self.has_apart(place):
                    n *= len(value)  # each branch meets the negations of all others
            elif keyword == "allOf":
                for branch in self.branches(place, keyword):
                    n *= self.n_cases(branch, cases, depth)
            elif keyword in ("not", "if"):
                n *= (1 + n_sides(value)) * self.n_cases(self.documents.child(place, keyword).written, cases, depth)
            elif keyword in ("then", "else"):
                n *= self.n_cases(self.documents.child(place, keyword).written, cases, depth)
            elif keyword in _BY_NAME:
                branches = self.branches(place, keyword)
                n *= BIT << min(len(value) - len(branches), 64)  # lists of names
                for branch in branches:
                    n *= 1 + self.n_cases(branch, cases, depth)
            n = min(n, MAX_CASES)
        for target in self.targets.get(place, ()):
            n = min(n * self.n_cases(target, cases, depth), MAX_CASES)
        cases[place] = n
        return n

    def has_apart(self, place: Place) -> bool:
        """Whether a place has a `oneOf` that negates nothing, because types or constants distinguish its branches, or
        the schemas to which these refer."""
        known = self.apart.get(place)
        if known is None:
            known = "oneOf" in place.keywords and are_apart(
                [self.followed(branch) for branch in self.branches(place, "oneOf")], place.resource.keywords
            )
            self.apart[place] = known
        return known

    def is_written_apart(self, place: Place) -> bool:
        """Do what `has_apart` does without following references."""
        branches = self.branches(place, "oneOf")
        return are_apart([_said(branch) for branch in branches], place.resource.keywords)

    def followed(self, place: Place) -> Any:
        """Return the keywords of a place. If it is only a reference, return those of the place to which it leads."""
        while type(place.schema) is dict:
            keywords = place.keywords
            if "$ref" not in keywords or not keywords.keys() <= _ONLY_REFERS or place not in self.targets:
                break
            place = self.targets[place][0]
        return _said(place)

    # Negations.

    def negated(self) -> set[Place]:
        """Return the places whose negation may be needed."""
        if self._negated is None:
            if self.with_contains and self.unique:
                beside = self.beside(self.unique)
                is_dynamic = bool(self.dynamic())
                for place in self.with_contains:
                    if place in beside or is_dynamic:
                        self.negations.append([self.documents.child(place, "contains").written])
            self._negated = self.within(self.negations)
        return self._negated

    def negated_beside(self, others: set[str]) -> set[Place]:
        """Return the places whose negation may be needed of values that have not one of the types `others`."""
        self.negated()
        left_out: set[Place] = set()
        for place in self.applying:
            types = place.keywords.get("type")
            if types is not None and others.issuperset([types] if isinstance(types, str) else types):
                for keyword in ("not", "if", "oneOf"):
                    if keyword in place.keywords:
                        left_out.update(self.branches(place, keyword))
        return self.within([[one for one in branches if one not in left_out] for branches in self.negations])

    def dynamic(self) -> list[Place]:
        """Return what dynamic references may mean, as far as that is known."""
        documents = self.documents
        found = []
        for resource in documents.resources() if documents.is_dynamic else ():
            for name in resource.dynamic:
                schema, path = resource.anchors[name]
                found.append(documents.place(schema, resource, path))
        return found

    def within(self, branches: list[list[Place]]) -> set[Place]:
        """Return these places, and all that they apply."""
        documents = self.documents
        dynamic = self.dynamic()
        found: set[Place] = set()
        stack = [place for places in branches for place in places]
        while stack:
            tick()
            place = stack.pop()
            if type(place.schema) is not dict or place in found:
                continue
            found.add(place)
            stack += self.targets.get(place, ())
            stack += documents.children(place)
            if "$dynamicRef" in place.schema or "$recursiveRef" in place.schema:
                stack += dynamic
        return found

    def beside(self, places: list[Place]) -> set[Place]:
        """Return the places that may apply to the same value as one of the given places."""
        near: dict[Place, list[Place]] = {}
        for one, others in self.edges.items():
            near.setdefault(one, []).extend(others)
            for other in others:
                near.setdefault(other, []).append(one)
        found = set(places)
        stack = list(places)
        while stack:
            tick()
            new = [one for one in near.get(stack.pop(), ()) if one not in found]
            found.update(new)
            stack += new
        return found


def _said(place: Place) -> Any:
    """Return the keywords of a place, or True or False."""
    return place.keywords if type(place.schema) is dict else place.schema


def n_sides(schema: Any) -> int:
    """Return in how many ways an array can violate a schema whose applicators in place are ignored; at least 1. Ways of
    objects are not counted, because the parser decides them one by one."""
    if not isinstance(schema, dict):
        return 1
    prefix = schema.get("prefixItems", schema.get("items"))
    n = len(prefix) if isinstance(prefix, list) else 0
    return max(n + sum([keyword in schema for keyword in _OF_ARRAYS]), 1)


def are_apart(branches: list[Any], known: dict[str, int]) -> bool:
    """Whether types or constants distinguish the branches of a `oneOf`, so that it need not negate them.

    branches: the keywords of each, or True or False.
    known: the names of keywords, to read the schemas within the branches.
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
