"""An estimate of which schemas may become too large together with others: these are rehearsed (`rehearsal`).

Combinations multiply: remainders of numbers, states of patterns, branches of choices. A weight is the exponent of a
power of two, so the weights of all schemas that apply to one value are added up. These are schemas in place, and
schemas that meet in the same member or item of such a value. The estimate ignores that types or names may keep schemas
apart, so it is too high rather than too low.
"""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING

from ...earley._meter import keep, take, tick
from ..json.number_multiples import n_remainders
from .survey import n_sides
from .tree import is_reference

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .documents import Documents
    from .survey import Survey
    from .tree import Place

MEMBER_BYTES = 60
"""Memory of a member of a set: an estimate."""

MAX_BITS = 10
"""The greatest sum of weights of `multipleOf` that is not heavy: 2 ** MAX_BITS remainders may be distinguished."""
MAX_PATTERNS = 16
"""The greatest sum of weights of patterns (`size_of`) that is not heavy."""
MAX_CHOICES = 10
"""The greatest sum of weights of choices that is not heavy: 2 ** MAX_CHOICES combinations of branches."""
MAX_LISTS = 4
"""The most constants that are arrays and can be negated together, whatever is in them. More are heavy."""
MAX_LOOKED = 1 << 10
"""The most places that are visited, counted each time that they meet others. Beyond it, everything with a weight counts
as heavy."""
MAX_APPLIED = 1 << 16
"""The most places that apply to one value, counted for each place: in a long chain of applicators, each has all those
after it. Beyond it, everything with a weight counts as heavy."""

NONE: frozenset[Place] = frozenset()

_OF_OTHERS = ("additionalProperties", "unevaluatedProperties")
_OF_ITEMS = ("items", "prefixItems", "additionalItems", "contains", "unevaluatedItems")


class Weights:
    """The weights of the places of a survey."""

    def __init__(self, survey: Survey) -> None:
        keep(self)
        self.survey = survey
        self.choices: dict[Place, float] = {}
        for place in survey.edges:
            tick()
            bits = choice_of(survey, place)
            if bits:
                self.choices[place] = bits
        self.multiples: dict[object, float] = {}
        self.patterns: dict[object, float] = {}
        if len(survey.multiples) > 1:
            self.multiples = {value: log2(n_remainders(value)) for value in survey.multiples.values()}
        if len(survey.with_patterns) > 1:
            self.patterns = {pattern: size_of(pattern) for found in survey.with_patterns.values() for pattern in found}
        self.has_lists = survey.negations and sum(survey.with_lists.values()) > MAX_LISTS
        self.unique = set(survey.unique)
        self.applied: dict[Place, frozenset[Place]] = {}  # what is known of `in_place`
        self.above = Above(survey)
        self.near: set[Place] | None = None  # from which something with a weight is reached; None: all

    def is_possible(self) -> bool:
        """Whether anything in the schema can become too large at all."""
        return bool(
            self.unique
            or self.has_lists
            or sum(self.choices.values()) > MAX_CHOICES
            or sum(self.multiples.values()) > MAX_BITS
            or sum(self.patterns.values()) > MAX_PATTERNS
        )

    def is_heavy(self, places: frozenset[Place]) -> bool:
        """Whether places that apply to one value may become too large together."""
        if len(places) < 2:
            return False
        survey = self.survey
        if self.unique and not self.unique.isdisjoint(places):
            return True
        if self.has_lists and sum([survey.with_lists.get(one, 0) for one in places]) > MAX_LISTS:
            return True
        if sum([self.choices.get(one, 0) for one in places]) > MAX_CHOICES:
            return True
        if self.multiples:
            values = {survey.multiples[one] for one in places if one in survey.multiples}
            if len(values) > 1 and sum([self.multiples[value] for value in values]) > MAX_BITS:
                return True
        if self.patterns:
            patterns = {pattern for one in places for pattern in survey.with_patterns.get(one, ())}
            if len(patterns) > 1 and sum([self.patterns[pattern] for pattern in patterns]) > MAX_PATTERNS:
                return True
        return False

    def found(self) -> set[Place]:
        """Return the places that may become too large together with others."""
        survey = self.survey
        weighted = {*self.choices, *self.unique, *survey.multiples, *survey.with_patterns, *survey.with_lists}
        self.near = self.above.reaching(weighted)
        found: set[Place] = set()
        known = {NONE}
        n_looked = n_applied = 0
        alone = [place for place in survey.edges if self.is_near(place) and not is_reference(place.schema)]
        waiting: list[list[Place]] = [[place] for place in [*alone, *survey.meeting]]
        for ones in waiting:  # the list grows meanwhile
            # (Computed one by one: in a long chain of places, each has all those after it.)
            together = self.in_place(ones[0]) if len(ones) == 1 else NONE.union(*[self.in_place(one) for one in ones])
            if together in known:
                continue
            tick()
            known.add(together)
            n_looked += len(together)
            n_applied += len(together)
            if n_applied > MAX_APPLIED:
                return found | weighted
            if self.is_heavy(together):
                found |= together
            tick()
            for places in meetings(survey.documents, together):
                n_looked += len(places)
                if n_looked > MAX_LOOKED:
                    return found | weighted
                waiting.append(places)
        return found

    def is_near(self, place: Place) -> bool:
        """Whether the place has a weight, or may lead to one that has."""
        return isinstance(place.schema, dict) and (self.near is None or place in self.near)

    def in_place(self, place: Place) -> frozenset[Place]:
        """Return a place and the places that apply to the same value, except those that cannot lead to a weight."""
        if not self.is_near(place):
            return NONE
        known = self.applied.get(place)
        if known is None:
            edges = self.survey.edges
            found: set[Place] = set()
            met: set[Place] = set()
            stack = [place]
            while stack:
                tick()
                one = stack.pop()
                if not self.is_near(one) or one in met:
                    continue
                met.add(one)
                if one in self.applied:
                    found |= self.applied[one]
                    continue
                found.add(one)
                stack += edges.get(one, ())
            take(MEMBER_BYTES * (len(found) + 4))
            known = self.applied[place] = frozenset(found)
        return known


def meetings(documents: Documents, places: Iterable[Place]) -> list[list[Place]]:
    """Return groups of places that apply to one member or item. `places` apply to its object or array."""
    named: dict[str, list[Place]] = {}
    others: list[Place] = []
    items: list[Place] = []
    names: list[Place] = []
    for place in places:
        tick()
        keywords = place.keywords
        if "properties" in keywords:
            for name in keywords["properties"]:
                named.setdefault(name, []).append(documents.grandchild(place, "properties", name).written)
        if "patternProperties" in keywords:
            for pattern in keywords["patternProperties"]:
                others.append(documents.grandchild(place, "patternProperties", pattern).written)
        others += [documents.child(place, keyword).written for keyword in _OF_OTHERS if keyword in keywords]
        for keyword in _OF_ITEMS:
            if keyword in keywords:
                one = keywords[keyword]
                if isinstance(one, list):
                    items += [documents.grandchild(place, keyword, index).written for index in range(len(one))]
                else:
                    items.append(documents.child(place, keyword).written)
        if "propertyNames" in keywords:
            names.append(documents.child(place, "propertyNames").written)
    others = [one for one in others if isinstance(one.schema, dict) and one.schema]
    found = [[*ones, *others] for ones in named.values() if len(ones) + len(others) > 1]
    return found + [ones for ones in (others, items, names) if len(ones) > 1]


class Above:
    """The places that hold a place or refer to it, and the places that hold those or refer to them, and so on."""

    def __init__(self, survey: Survey) -> None:
        keep(self)
        self.survey = survey
        self.holders: dict[Place, Place | None] = {}  # the innermost place around a place
        self.referring: dict[Place, list[Place]] = {}  # the places that refer to one
        for one, targets in survey.targets.items():
            tick()
            for target in targets:
                self.referring.setdefault(target, []).append(one)

    def reaching(self, places: set[Place]) -> set[Place] | None:
        """Return the places that lead to one of the given places; None if all may."""
        if self.survey.documents.is_dynamic:
            return None
        found = set(places)
        waiting = list(places)
        while waiting:
            tick()
            one = waiting.pop()
            above = self.referring.get(one, [])
            holder = self.holder(one)
            for other in above if holder is None else [*above, holder]:
                if other not in found:
                    found.add(other)
                    waiting.append(other)
        return found

    def holder(self, place: Place) -> Place | None:
        """Return the innermost place around a place."""
        if place not in self.holders:
            outer = None
            for one in [*self.survey.documents.parents(place), place]:
                self.holders[one] = outer
                outer = one
        return self.holders[place]


def heavy(survey: Survey) -> tuple[set[Place], set[Place] | None]:
    """Return two sets: the places that may become too large together with others, and the places that lead to one of
    these. The second is None if all places may."""
    found = {*survey.combined, *survey.counting}
    above = None
    if survey.edges or survey.meeting:
        weights = Weights(survey)
        if weights.is_possible():
            found |= weights.found()
            above = weights.above
    if not found:
        return found, None
    return found, (above or Above(survey)).reaching(found)


def size_of(pattern: str) -> float:
    """Return the weight of a pattern: about how much it may multiply the states of others, as a power of two."""
    return log2(1 + len(pattern)) + 4 * pattern.count("{")


def choice_of(survey: Survey, place: Place) -> float:
    """Return the weight of choices: how much they multiply the cases, as a power of two."""
    bits = 0.0
    keywords = place.keywords
    if "anyOf" in keywords:
        bits += log2(len(keywords["anyOf"]))
    if "oneOf" in keywords and not survey.is_written_apart(place):
        # Unless the schemas to which they refer distinguish the branches, each meets the negations of all others.
        bits += (1 if survey.has_apart(place) else 2) * log2(len(keywords["oneOf"]))
    for keyword in ("not", "if"):
        if keyword in keywords:
            bits += log2(1 + n_sides(keywords[keyword]))
    return bits
