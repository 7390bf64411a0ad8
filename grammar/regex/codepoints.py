"""Sets of code points as sorted ranges, the categories of `re`, and case folding as `re` does it.

A set is a tuple of inclusive (first, last) pairs, sorted, disjoint and not touching, so equal sets are equal tuples.
Surrogates are code points like all others here. They are dropped later, since UTF-8 does not encode them.

The categories and the case groups of non-ASCII text are those of the running Python (`unicode_tables`). The build
writes them into a module of strings, which is imported with this one: to find and open a file takes longer than to read
its tables, and the first grammar with a `\\w` should not wait for that."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Any

from ...earley._meter import tick
from ..loading import PIECE, distinct, in_order
from .ast import Ranges
from .unicode_tables import MADE_FOR, collect

_built: dict[str, Any] = {}
try:
    from . import _unicode_data  # type: ignore[attr-defined, unused-ignore]

    _built = vars(_unicode_data)
except ImportError:  # the source tree before a build
    pass

MAX_CODE_POINT = 0x10FFFF
ALL: Ranges = ((0, MAX_CODE_POINT),)
NEWLINE: Ranges = ((10, 10),)
NOT_NEWLINE: Ranges = ((0, 9), (11, MAX_CODE_POINT))

ASCII_DIGIT: Ranges = ((48, 57),)
ASCII_SPACE: Ranges = ((9, 13), (32, 32))
ASCII_WORD: Ranges = ((48, 57), (65, 90), (95, 95), (97, 122))

# The ASCII letters that match more than their other case: dotted and dotless i, the Kelvin sign, the long s.
_BEYOND_ASCII = {ord("i"): (0x130, 0x131), ord("k"): (0x212A,), ord("s"): (0x17F,)}


def normalize(pairs: Iterable[tuple[int, int]]) -> Ranges:
    """Return the set of the code points in any (first, last) pairs. O(n log n)."""
    ordered = list(pairs)
    ordered = sorted(ordered) if len(ordered) <= PIECE else in_order(distinct(ordered))
    if len(ordered) < 2:
        return tuple(ordered)
    merged = []
    first, last = ordered[0]
    for i, (next_first, next_last) in enumerate(ordered):
        if not i & 0xFFF:
            tick()
        if next_first <= last + 1:
            last = max(last, next_last)
        else:
            merged.append((first, last))
            first = next_first
            last = next_last
    merged.append((first, last))
    return tuple(merged)


def complement(ranges: Ranges) -> Ranges:
    """Return the set of all code points that are not in `ranges`."""
    gaps = []
    after = 0
    for first, last in ranges:
        if after < first:
            gaps.append((after, first - 1))
        after = last + 1
    if after <= MAX_CODE_POINT:
        gaps.append((after, MAX_CODE_POINT))
    return tuple(gaps)


def intersection(left: Ranges, right: Ranges) -> Ranges:
    """Return the set of the code points in both sets. O(len(left) + len(right))."""
    common = []
    i = j = 0
    while i < len(left) and j < len(right):
        left_last = left[i][1]
        right_last = right[j][1]
        first = max(left[i][0], right[j][0])
        last = min(left_last, right_last)
        if first <= last:
            common.append((first, last))
        if left_last < right_last:
            i += 1
        else:
            j += 1
    return tuple(common)


def contains(ranges: Ranges, code: int) -> bool:
    """Tell whether `code` is in the set. O(log n)."""
    place = bisect_right(ranges, (code, MAX_CODE_POINT)) - 1
    return place >= 0 and code <= ranges[place][1]


def category(name: str, ascii_only: bool) -> Ranges:
    """Return the set of `\\d`, `\\s`, `\\w` or, in upper case, its complement. `name` is the letter."""
    key = (name, ascii_only)
    ranges = _categories.get(key)
    if ranges is None:
        if name.isupper():
            ranges = complement(category(name.lower(), ascii_only))
        else:
            ends = list(map(ord, _tables()[{"d": "DIGIT", "s": "SPACE", "w": "WORD"}[name]]))
            ranges = tuple(zip(ends[::2], ends[1::2], strict=True))
        _categories[key] = ranges
    return ranges


def fold(ranges: Ranges, ascii_only: bool) -> Ranges:
    """Return the set of code points that match a member of `ranges` under IGNORECASE. With the ASCII flag, only ASCII
    letters have another case.

    `re` (3.10 to 3.13 at least) ignores the case of single capitals beyond U+FFFF in a class, as in
    `(?i)[\\U00010400x]`. Here their other case matches, too.
    """
    if not ranges:
        return ranges
    pairs = list(ranges)
    for first, last in ranges:
        if first > 122:
            break
        _fold_ascii(pairs, first, last, ascii_only)
    if not ascii_only and ranges[-1][1] > 127:
        codes, groups = _case_groups()
        for first, last in ranges:
            for i in range(bisect_left(codes, first), bisect_right(codes, last)):
                pairs += [(ord(char), ord(char)) for char in groups[codes[i]]]
    return ranges if len(pairs) == len(ranges) else normalize(pairs)


def _fold_ascii(pairs: list[tuple[int, int]], first: int, last: int, ascii_only: bool) -> None:
    """Add the other cases of the ASCII letters in first..last."""
    for base, shift in ((65, 32), (97, -32)):
        low = max(first, base)
        high = min(last, base + 25)
        if low <= high:
            pairs.append((low + shift, high + shift))
            if not ascii_only:
                for letter, others in _BEYOND_ASCII.items():
                    if low <= letter - 97 + base <= high:
                        pairs += [(code, code) for code in others]


def fold_char(code: int, ascii_only: bool) -> Ranges:
    """Return `fold` of one code point."""
    if code < 128 or ascii_only:
        return fold(((code, code),), ascii_only)
    cases = _tables()["CASES"]
    place = cases.find(chr(code))
    if place < 0:
        return ((code, code),)
    group = cases[cases.rfind(" ", 0, place) + 1 : place] + cases[place:].partition(" ")[0]
    return normalize([(ord(char), ord(char)) for char in group])


def _tables() -> dict[str, Any]:
    """Return the tables of this Python: those that the build has written, or else tables collected now."""
    global _data
    if _data is None:
        _data = _built if _built.get("MADE_FOR") == MADE_FOR else collect()
    return _data


def _case_groups() -> tuple[list[int], dict[int, str]]:
    """Return all cased code points in order and, by code point, the characters that match it, itself included."""
    global _cases
    if _cases is None:
        groups = {}
        for group in _tables()["CASES"].split(" "):
            for char in group:
                groups[ord(char)] = group
        _cases = (sorted(groups), groups)
    return _cases


_categories: dict[tuple[str, bool], Ranges] = {
    ("d", True): ASCII_DIGIT,
    ("s", True): ASCII_SPACE,
    ("w", True): ASCII_WORD,
}
_data: dict[str, Any] | None = None
_cases: tuple[list[int], dict[int, str]] | None = None
