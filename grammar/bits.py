"""Sets as integers: bit i stands for member i."""

from __future__ import annotations

BIT = 1
"""The bit of member 0, as an integer of Python: `BIT << n` has any length, also as compiled. Of `1 << len(x)`, Cython
makes a shift of 32 bits, in which the bit of member 32 would be that of member 0."""


def members(bits: int) -> list[int]:
    """Return the members of a set, ascending. Linear in the greatest one."""
    found = []
    text = bin(bits)[:1:-1]  # member 0 comes first
    i = text.find("1")
    while i >= 0:
        found.append(i)
        i = text.find("1", i + 1)
    return found
