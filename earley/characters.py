"""Which characters may come next at a position: bytes walked as UTF-8.

Sets of characters are lists of ascending ranges of code points, inclusive. They are found by classes of bytes that lead
to the same position, so a class such as "any character" takes a few steps and not a million.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._meter import count, keep

if TYPE_CHECKING:
    from ._explain import Explorer

Ranges = list[tuple[int, int]]

PREFERRED = "a0 A_"
"""If several characters do the same, the first of these that is among them stands for all; else the first printable
one."""

RANGE_BYTES, MOVE_BYTES = 150, 50
"""Memory of a range, and of a character that leads somewhere: estimates."""

# By the first byte of a character: its code points begin at this one, so many bytes follow, and the offsets, from the
# first code point, of the characters that UTF-8 allows (RFC 3629): no overlong ones, no surrogates, none beyond 10FFFF.
_LEADS: dict[int, tuple[int, int, Ranges]] = {byte: ((byte & 0x1F) << 6, 1, [(0, 0x3F)]) for byte in range(0xC2, 0xE0)}
_LEADS |= {byte: ((byte & 0x0F) << 12, 2, [(0, 0xFFF)]) for byte in range(0xE0, 0xF0)}
_LEADS |= {byte: ((byte & 0x07) << 18, 3, [(0, 0x3FFFF)]) for byte in range(0xF0, 0xF5)}
_LEADS[0xE0] = (0, 2, [(0x800, 0xFFF)])
_LEADS[0xED] = (0xD000, 2, [(0, 0x7FF)])
_LEADS[0xF0] = (0, 3, [(0x10000, 0x3FFFF)])
_LEADS[0xF4] = (0x100000, 3, [(0, 0xFFFF)])


class Characters:
    """The characters that may come next, by position; remembered for all positions that one explorer meets."""

    def __init__(self, explorer: Explorer) -> None:
        self.explorer = explorer
        self._tails: dict[tuple[int, int], dict[int, Ranges]] = {}
        self._moves: dict[int, list[bytes]] = {}
        keep(self._tails)
        keep(self._moves)

    def next(self, position: int) -> tuple[Ranges, bytes]:
        """Return the characters, and the bytes that may come next but begin no allowed character of UTF-8."""
        ranges: Ranges = []
        others = bytearray()
        for members, target in self.explorer.classes(position):
            for byte in members:
                found = self._after(byte, target)
                count(RANGE_BYTES * sum(map(len, found.values())))
                if found:
                    ranges += [each for part in found.values() for each in part]
                else:
                    others.append(byte)
        return merged(ranges), bytes(sorted(others))

    def moves(self, position: int) -> list[bytes]:
        """Return characters that may come next: one for all that lead to the same position, if what followed terminals
        have read does not count. Letters and marks come before white space."""
        known = self._moves.get(position)
        if known is None:
            by_target: dict[int, Ranges] = {}
            for members, target in self.explorer.classes(position):
                for byte in members:
                    for end, ranges in self._after(byte, target).items():
                        by_target.setdefault(end, []).extend(ranges)
            found = [shown(merged(ranges)) for ranges in by_target.values()]
            found.sort(key=lambda char: (chr(char).isspace() or not chr(char).isprintable(), char))
            count(MOVE_BYTES * len(found))
            known = self._moves[position] = [chr(char).encode() for char in found]
        return known

    def _after(self, byte: int, target: int) -> dict[int, Ranges]:
        """Return the characters that begin with a byte, which leads to `target`, by the plain positions after them."""
        target = self.explorer.plain(target)
        if byte < 0x80:
            return {target: [(byte, byte)]}
        lead = _LEADS.get(byte)
        if lead is None:
            return {}
        base, n, within = lead
        found = {end: _common(ranges, within) for end, ranges in self._after_lead(target, n).items()}
        return {end: [(base + first, base + last) for first, last in ranges] for end, ranges in found.items() if ranges}

    def _after_lead(self, position: int, n: int) -> dict[int, Ranges]:
        """Return what `n` bytes that continue a character may be: 6 bits of each, as offsets, by where they lead."""
        known = self._tails.get((position, n))
        if known is None:
            by_target: dict[int, Ranges] = {}
            for members, target in self.explorer.classes(position):
                inner = {target: [(0, 0)]} if n == 1 else self._after_lead(target, n - 1)
                for byte in members:
                    if 0x80 <= byte < 0xC0:
                        base = (byte & 0x3F) << 6 * (n - 1)
                        for end, ranges in inner.items():
                            count(RANGE_BYTES * len(ranges))
                            by_target.setdefault(end, []).extend([(base + a, base + b) for a, b in ranges])
            known = self._tails[position, n] = {end: merged(ranges) for end, ranges in by_target.items()}
        return known


def shown(ranges: Ranges) -> int:
    """Return the character that stands for a set of characters."""
    for char in map(ord, PREFERRED):
        if any(first <= char <= last for first, last in ranges):
            return char
    for first, last in ranges:
        for char in range(first, min(last, first + 100) + 1):
            if chr(char).isprintable():
                return char
    return ranges[0][0]


def merged(ranges: Ranges) -> Ranges:
    """Return the ranges in ascending order, with those joined that touch or overlap."""
    found: Ranges = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found


def _common(left: Ranges, right: Ranges) -> Ranges:
    pairs = [(max(first, low), min(last, high)) for first, last in left for low, high in right]
    return [(first, last) for first, last in pairs if first <= last]
