"""`oneOf`: which of its branches have to be negated, and which exclude each other anyway.

That exactly one of n branches holds is a union of n cases, each of them a branch and the negation of all others. A
negation is what makes a schema large, so none is there that says nothing: as a rule branches are told apart by a type
or by a constant, and what several of them allow whatever it is, is in no case.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .shapes import ANY_ARRAY, ANY_NUMBER, ANY_OBJECT, Values, is_nothing
from .shortcuts import is_near
from .text_sets import ALL_TEXTS, NO_TEXTS, NO_WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .algebra import Algebra

FEW_BRANCHES = 3
"""So many are compared one with the other without more ado."""
MAX_TRIED = 3
"""Names of members whose values may tell branches apart."""

Keys = list[object] | None
"""What stands for the values of a set, so that sets without a common one are disjoint; None where it is not known."""


def exactly_one(algebra: Algebra, terms: list[int], around: Values) -> list[int]:
    """For each of the terms, of values `around`, that it holds and no other does."""
    sets = algebra.sets
    branches = [algebra.values(term) for term in terms]
    within = [sets.both(around, values) for values in branches]
    # (Where keywords are left out, a branch may seem to allow everything.)
    masks = [None] * len(branches) if algebra.dropped else unshared(branches)
    left = [values if mask is None else sets.both(values, mask) for values, mask in zip(within, masks, strict=True)]
    rivals: Sequence[Sequence[int]] = [range(len(terms))] * len(terms)
    if len(terms) > FEW_BRANCHES:
        rivals = meeting(algebra, left, within)
    cases = []
    for index, term in enumerate(terms):
        algebra.look()
        values = left[index]
        parts = [term]
        if values != within[index]:
            parts.append(algebra.meaning(kinds_of(values)))
        for at in rivals[index]:
            if at != index and not is_nothing(sets.both(values, branches[at])):
                parts.append(terms[at] ^ 1)
        cases.append(algebra.all_of(parts))
    return cases


def unshared(branches: list[Values]) -> list[Values | None]:
    """For each of the branches the types of which no other one allows everything; None if that says nothing."""
    whole = [
        (
            values.null,
            values.booleans & 1 > 0,
            values.booleans & 2 > 0,
            values.numbers == (ANY_NUMBER,),
            values.texts.is_all(),
            values.arrays == (ANY_ARRAY,),
            values.objects == (ANY_OBJECT,),
        )
        for values in branches
    ]
    n_whole = [sum(column) for column in zip(*whole, strict=True)]
    if not any(n_whole):
        return [None] * len(branches)
    return [allowing(*[n <= is_whole for n, is_whole in zip(n_whole, row, strict=True)]) for row in whole]


def allowing(null: bool, false: bool, true: bool, numbers: bool, texts: bool, arrays: bool, objects: bool) -> Values:
    """All values of some types."""
    return Values(
        null,
        int(false) + 2 * int(true),
        (ANY_NUMBER,) if numbers else (),
        ALL_TEXTS if texts else NO_TEXTS,
        (ANY_ARRAY,) if arrays else (),
        (ANY_OBJECT,) if objects else (),
    )


def kinds_of(values: Values) -> Values:
    """All values of the types of these."""
    return allowing(
        values.null,
        values.booleans & 1 > 0,
        values.booleans & 2 > 0,
        bool(values.numbers),
        values.texts.words != NO_WORDS,
        bool(values.arrays),
        bool(values.objects),
    )


def meeting(algebra: Algebra, left: list[Values], right: list[Values]) -> list[list[int]]:
    """For each of the sets on the left those on the right, by index, with which it may have a value in common."""
    scalars = meeting_keys(
        [scalar_keys(values._replace(objects=())) for values in left],
        [scalar_keys(values._replace(objects=())) for values in right],
    )
    name = discriminator(algebra, right)
    objects = meeting_keys(
        [object_keys(algebra, values, name) for values in left],
        [object_keys(algebra, values, name) for values in right],
    )
    return [sorted(one | other) for one, other in zip(scalars, objects, strict=True)]


def meeting_keys(left: list[Keys], right: list[Keys]) -> list[set[int]]:
    having: dict[object, list[int]] = {}
    unknown: list[int] = []
    for index, keys in enumerate(right):
        if keys is None:
            unknown.append(index)
        else:
            for key in keys:
                having.setdefault(key, []).append(index)
    some = {index for index, keys in enumerate(right) if keys is None or keys}
    return [
        some if keys is None else {*(unknown if keys else ()), *[at for key in keys for at in having.get(key, ())]}
        for keys in left
    ]


def scalar_keys(values: Values) -> Keys:
    words = values.texts.words
    if values.arrays or values.objects or words is None:
        return None
    found: list[object] = [(None,)] if values.null else []
    found += [(bit,) for bit in (1, 2) if values.booleans & bit]
    found += words
    for numbers in values.numbers:
        if numbers.listed is None:
            return None
        found += numbers.listed
    return found


def discriminator(algebra: Algebra, branches: list[Values]) -> str | None:
    """A name of which most branches with objects demand one of some constants; None if there is none."""
    n_branches: dict[str, int] = {}
    for values in branches:
        if values.objects:
            for name in values.objects[0].required:
                n_branches[name] = n_branches.get(name, 0) + 1
    best, n_best = None, 1
    for name in sorted(n_branches, key=lambda name: (-n_branches[name], name))[:MAX_TRIED]:
        if n_branches[name] > n_best:
            n = sum([bool(object_keys(algebra, values, name)) for values in branches])
            if n > n_best:
                best, n_best = name, n
    return best


def object_keys(algebra: Algebra, values: Values, name: str | None) -> Keys:
    """The constants, one of which is the member `name` of each object; none where there are no objects."""
    found: list[object] = []
    for shape in values.objects:
        if name is None or name not in shape.required:
            return None
        term = algebra.sets.objects.value_of(shape, name)
        keys = scalar_keys(algebra.values(term)) if is_near(algebra, term) else None
        if keys is None:
            return None
        found += keys
    return found
