"""Into which parts the classes of a terminal divide Unicode. No class distinguishes the code points of one part.

Most classes are letters in both cases. The others are few and long, such as `\\w` with its hundreds of ranges, so the
parts into which these divide Unicode are kept, and only the code points of short classes are taken out of them.
"""

from __future__ import annotations

from bisect import bisect_right

from ...earley._meter import tick
from ...earley.errors import LimitError
from ..kept import kept_by_weight
from . import codepoints
from .ast import Ranges

MAX_CELLS = 256
"""The most cells of one terminal: the following text is read for each of them. Beyond it, LimitError is raised."""

KEPT_RANGES = 50_000
"""The most ranges of the classes whose division is remembered. `\\w` has some 800. A range takes 120 bytes. Each
division counts for 64 more, so that there are never too many short ones."""

SHORT = 128
"""The most code points of a class whose code points are visited one by one."""


def divide(classes: set[Ranges]) -> tuple[list[Ranges], Ranges]:
    """Return the parts into which the classes divide Unicode, in order, and the part that is in no class, which may be
    empty. Parts of surrogates alone are left out."""
    group_of: dict[int, int] = {}  # by code point in a short class: a number for the short classes that have it
    n_groups = 0
    long: list[Ranges] = []
    for ranges in classes:
        tick()
        if not is_short(ranges):
            long.append(ranges)
            continue
        refined: dict[int, int] = {}
        for first, last in ranges:
            for code in range(first, last + 1):
                group = group_of.get(code, 0)
                if group not in refined:
                    n_groups += 1
                    refined[group] = n_groups
                group_of[code] = refined[group]
    parts = divided(tuple(long))
    taken: dict[int, list[int]] = {}  # by bits of long classes: the code points that leave their part
    found: dict[tuple[int, int], list[int]] = {}
    for code in sorted(group_of):
        for bits, ranges in parts.items():
            if codepoints.contains(ranges, code):
                taken.setdefault(bits, []).append(code)
                found.setdefault((bits, group_of[code]), []).append(code)
    kept = {bits: without(ranges, runs(taken.get(bits, []))) for bits, ranges in parts.items()}
    result = [
        cell for cell in [*kept.values(), *[runs(codes) for codes in found.values()]] if representative(cell) >= 0
    ]
    if len(result) > MAX_CELLS:
        raise LimitError(
            f"the classes of a terminal with lookaheads divide Unicode into more than {MAX_CELLS} parts; "
            "use fewer classes"
        )
    return sorted(result), kept.get(0, ())


def representative(cell: Ranges) -> int:
    """Return a code point of the cell that is no surrogate, or -1."""
    for first, last in cell:
        if first < 0xD800 or first > 0xDFFF:
            return first
        if last > 0xDFFF:
            return 0xE000
    return -1


def is_short(ranges: Ranges) -> bool:
    n = 0
    for first, last in ranges:
        n += last - first + 1
        if n > SHORT:
            return False
    return True


@kept_by_weight(KEPT_RANGES, lambda classes: 64 + sum(map(len, classes)))
def divided(classes: tuple[Ranges, ...]) -> dict[int, Ranges]:
    """Return the parts into which the classes divide Unicode, by the bits of the classes that have them."""
    changes: dict[int, int] = {0: 0}  # by code point: bits of the classes that begin or end there
    for number, ranges in enumerate(classes):
        tick()
        for first, last in ranges:
            changes[first] = changes.get(first, 0) ^ 1 << number
            changes[last + 1] = changes.get(last + 1, 0) ^ 1 << number
    starts = sorted([code for code in changes if code <= codepoints.MAX_CODE_POINT])
    found: dict[int, list[tuple[int, int]]] = {}
    members = 0
    for first, after in zip(starts, [*starts[1:], codepoints.MAX_CODE_POINT + 1], strict=True):
        members ^= changes[first]
        found.setdefault(members, []).append((first, after - 1))
    return {members: codepoints.normalize(pairs) for members, pairs in found.items()}


def runs(codes: list[int]) -> Ranges:
    """Return the set of ascending code points."""
    found: list[tuple[int, int]] = []
    first = last = -1
    for code in codes:
        if code != last + 1 or last < 0:
            if last >= 0:
                found.append((first, last))
            first = code
        last = code
    if last >= 0:
        found.append((first, last))
    return tuple(found)


def without(ranges: Ranges, others: Ranges) -> Ranges:
    """Return `ranges` without the code points of `others`, all of which it has."""
    kept = list(ranges)
    for first, last in reversed(others):
        place = bisect_right(kept, (first, codepoints.MAX_CODE_POINT)) - 1
        begin, end = kept[place]
        pieces = []
        if begin < first:
            pieces.append((begin, first - 1))
        if last < end:
            pieces.append((last + 1, end))
        kept[place : place + 1] = pieces
    return tuple(kept)
