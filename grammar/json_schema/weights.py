"""Which schemas may become too much together with others, by an estimate: these are rehearsed (`rehearsal`).

What is combined multiplies: remainders of numbers, states of patterns, branches of choices. So of the schemas that
apply to one value, those in place and those that meet in a member of the same name or in an item, the weights are
added up, as powers of two. Whether a schema is told from others by its types, or by its names, is not looked at: the
estimate is too high rather than too low.
"""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING, Any

from ..json.number_spellings import n_remainders
from .places import is_reference
from .scan import n_sides

if TYPE_CHECKING:
    from .scan import Scan

MAX_BITS = 10
"""Of the remainders of `multipleOf`: two to the power of it are as many as may be told apart."""
MAX_PATTERNS = 16
"""Of the sizes of patterns."""
MAX_CHOICES = 10
"""Of the branches of choices."""
MAX_LISTS = 4
"""Constants that are arrays: so many can be negated together, whatever is in them."""
MAX_LOOKED = 1 << 10
"""Schemas that are looked at, each as often as it meets others. Beyond them all that has a weight is heavy."""

NONE: frozenset[int] = frozenset()

_BRANCHES = ("allOf", "anyOf", "oneOf")
_BRANCH = ("not", "if", "then", "else")
_BY_NAME = ("dependentSchemas", "dependencies")
_OF_OTHERS = ("additionalProperties", "unevaluatedProperties")
_OF_ITEMS = ("items", "prefixItems", "additionalItems", "contains", "unevaluatedItems")


class Weights:
    """The weights of the schemas that a scan has met, by `id`."""

    def __init__(self, scan: Scan) -> None:
        self.scan = scan
        self.choices = {id(schema): bits for schema, _, _ in scan.places.values() if (bits := choice_of(scan, schema))}
        self.multiples: dict[object, float] = {}
        self.patterns: dict[object, float] = {}
        if len(scan.multiples) > 1:
            self.multiples = {value: log2(n_remainders(value)) for value in scan.multiples.values()}
        if len(scan.with_patterns) > 1:
            self.patterns = {pattern: size_of(pattern) for found in scan.with_patterns.values() for pattern in found}
        self.has_lists = scan.negations and sum(scan.with_lists.values()) > MAX_LISTS
        self.unique = {id(schema) for schema, _, _ in scan.unique}
        self.applied: dict[int, frozenset[int]] = {}  # what is known of `in_place`
        self.schemas: dict[int, dict[str, Any]] = {}  # all that were met there, by `id`
        self.above = Above(scan)
        self.near: set[int] | None = None  # from which something with a weight is reached; None: all

    def is_possible(self) -> bool:
        """Whether something can be too much at all."""
        return bool(
            self.unique
            or self.has_lists
            or sum(self.choices.values()) > MAX_CHOICES
            or sum(self.multiples.values()) > MAX_BITS
            or sum(self.patterns.values()) > MAX_PATTERNS
        )

    def is_heavy(self, schemas: frozenset[int]) -> bool:
        """Whether schemas that apply to one value may be too much."""
        if len(schemas) < 2:
            return False
        scan = self.scan
        if self.unique and not self.unique.isdisjoint(schemas):
            return True
        if self.has_lists and sum([scan.with_lists.get(one, 0) for one in schemas]) > MAX_LISTS:
            return True
        if sum([self.choices.get(one, 0) for one in schemas]) > MAX_CHOICES:
            return True
        if self.multiples:
            values = {scan.multiples[one] for one in schemas if one in scan.multiples}
            if len(values) > 1 and sum([self.multiples[value] for value in values]) > MAX_BITS:
                return True
        if self.patterns:
            patterns = {pattern for one in schemas for pattern in scan.with_patterns.get(one, ())}
            if len(patterns) > 1 and sum([self.patterns[pattern] for pattern in patterns]) > MAX_PATTERNS:
                return True
        return False

    def found(self) -> set[int]:
        """The schemas, by `id`, that may become too much together with others."""
        scan = self.scan
        weighted = {*self.choices, *self.unique, *scan.multiples, *scan.with_patterns, *scan.with_lists}
        self.near = self.above.reaching(weighted)
        found: set[int] = set()
        known = {NONE}
        n_looked = 0
        alone = [schema for schema, _, _ in scan.places.values() if self.is_near(schema) and not is_reference(schema)]
        waiting = [self.in_place(schema) for schema in [*alone, *scan.meeting]]
        for together in waiting:  # which grows
            if together in known:
                continue
            known.add(together)
            n_looked += len(together)
            if self.is_heavy(together):
                found |= together
            for schemas in meetings([self.schemas[one] for one in together]):
                n_looked += len(schemas)
                if n_looked > MAX_LOOKED:
                    return found | weighted
                waiting.append(NONE.union(*[self.in_place(schema) for schema in schemas]))
        return found

    def is_near(self, schema: Any) -> bool:
        """Whether something with a weight may be reached."""
        return isinstance(schema, dict) and (self.near is None or id(schema) in self.near)

    def in_place(self, schema: Any) -> frozenset[int]:
        """The `id` of a schema and of all that apply to the same value then, as far as they matter."""
        if not self.is_near(schema):
            return NONE
        known = self.applied.get(id(schema))
        if known is None:
            found: set[int] = set()
            met: set[int] = set()
            stack: list[Any] = [schema]
            while stack:
                one = stack.pop()
                if not self.is_near(one) or id(one) in met:
                    continue
                met.add(id(one))
                if id(one) in self.applied:
                    found |= self.applied[id(one)]
                    continue
                found.add(id(one))
                self.schemas[id(one)] = self.scan.keywords(one)
                stack += self.parts_of(one)
            known = self.applied[id(schema)] = frozenset(found)
        return known

    def parts_of(self, schema: dict[str, Any]) -> list[Any]:
        """The schemas that a schema applies in place."""
        if id(schema) not in self.scan.edges:
            return []
        keywords = self.scan.keywords(schema)
        parts = [part for keyword in _BRANCHES for part in keywords.get(keyword, ())]
        parts += [keywords[keyword] for keyword in _BRANCH if keyword in keywords]
        for keyword in _BY_NAME:
            if keyword in keywords:
                parts += keywords[keyword].values()
        return parts + self.scan.targets.get(id(schema), [])


def meetings(schemas: list[dict[str, Any]]) -> list[list[Any]]:
    """The schemas of which several apply to one member or item, given those that apply to the object or array."""
    named: dict[str, list[Any]] = {}
    others: list[Any] = []
    items: list[Any] = []
    names: list[Any] = []
    for schema in schemas:
        if "properties" in schema:
            for name, one in schema["properties"].items():
                named.setdefault(name, []).append(one)
        if "patternProperties" in schema:
            others += schema["patternProperties"].values()
        others += [schema[keyword] for keyword in _OF_OTHERS if keyword in schema]
        for keyword in _OF_ITEMS:
            if keyword in schema:
                one = schema[keyword]
                items += one if isinstance(one, list) else [one]
        if "propertyNames" in schema:
            names.append(schema["propertyNames"])
    others = [one for one in others if isinstance(one, dict) and one]
    found = [[*ones, *others] for ones in named.values() if len(ones) + len(others) > 1]
    return found + [ones for ones in (others, items, names) if len(ones) > 1]


class Above:
    """What holds some schemas, or refers to them, as far up as somebody asks."""

    def __init__(self, scan: Scan) -> None:
        self.scan = scan
        self.holders: dict[int, int] = {}  # what holds a value, by `id`
        self.referring: dict[int, list[int]] = {}  # the schemas that refer to one
        for one, targets in scan.targets.items():
            for target in targets:
                self.referring.setdefault(id(target), []).append(one)

    def reaching(self, schemas: set[int]) -> set[int] | None:
        """The values, by `id`, from which schemas are reached that have weights, or that were found here before; None:
        all."""
        if self.scan.documents.is_dynamic:
            return None
        found = set(schemas)
        waiting = list(schemas)
        while waiting:
            one = waiting.pop()
            above = self.referring.get(one, [])
            holder = self.holder(one)
            for other in above if holder is None else [*above, holder]:
                if other not in found:
                    found.add(other)
                    waiting.append(other)
        return found

    def holder(self, one: int) -> int | None:
        """What holds a value; None: nothing does."""
        if one not in self.holders:
            scan = self.scan
            _, resource, path = scan.weighted.get(one) or scan.places.get(one) or (None, None, ())
            tokens = []
            while path:
                path, token = path
                tokens.append(token)
            if resource is not None:
                value = scan.documents.root_of(resource.document).schema
                while tokens:
                    part = value[tokens.pop()]
                    self.holders[id(part)] = id(value)
                    value = part
        return self.holders.get(one)


def heavy(scan: Scan) -> tuple[set[int], set[int] | None]:
    """The schemas, by `id`, that may become too much together with others; none where that is not likely. And the
    values from which these are reached; None: all."""
    found = {*scan.combined, *scan.counting}
    above = None
    if scan.edges or scan.meeting:
        weights = Weights(scan)
        if weights.is_possible():
            found |= weights.found()
            above = weights.above
    if not found:
        return found, None
    return found, (above or Above(scan)).reaching(found)


def size_of(pattern: str) -> float:
    """What a pattern may multiply the states of others by, roughly, as a power of two."""
    return log2(1 + len(pattern)) + 4 * pattern.count("{")


def choice_of(scan: Scan, schema: dict[str, Any]) -> float:
    """By how much choices multiply cases, as a power of two."""
    bits = 0.0
    keywords = scan.keywords(schema)
    if "anyOf" in keywords:
        bits += log2(len(keywords["anyOf"]))
    if "oneOf" in keywords and not scan.is_written_apart(schema):
        # Where they are not told apart by what they refer to, of the others none holds.
        bits += (1 if scan.has_apart(schema) else 2) * log2(len(keywords["oneOf"]))
    for keyword in ("not", "if"):
        if keyword in keywords:
            bits += log2(1 + n_sides(keywords[keyword]))
    return bits
