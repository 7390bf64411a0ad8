"""Regex nodes over bytes, hash-consed, with derivatives (see `_regex.pyx` for the algorithms)."""

from collections.abc import Iterable, Sequence
from typing import Final

class Regexes:
    """An arena of regex nodes. A node is an int; equal languages in normal form are the same int.

    `EMPTY` (0) has no string, `EPSILON` (1) only the empty one. Nodes live as long as the arena. The constructors raise
    `ValueError` for a node that is not of this arena, `LimitError` when the arena is full.

    An arena is filled by one thread; once an `Engine` over it is finished, the engine's lock guards it.
    """

    EMPTY: Final = 0
    EPSILON: Final = 1

    def __init__(self) -> None: ...
    @property
    def n_nodes(self) -> int:
        """Nodes made so far."""

    def byte_set(self, values: Iterable[int]) -> int:
        """One byte out of `values` (ints 0..255)."""

    def literal(self, data: bytes) -> int:
        """Exactly these bytes."""

    def char_class(self, ranges: Iterable[tuple[int, int]]) -> int:
        """One code point out of sorted, disjoint, inclusive `ranges`, in UTF-8. Surrogates are left out."""

    def concat(self, nodes: Sequence[int]) -> int:
        """The nodes one after the other."""

    def union(self, nodes: Iterable[int]) -> int:
        """Any of the nodes; none at all is EMPTY."""

    def intersection(self, nodes: Iterable[int]) -> int:
        """What all the nodes contain; there must be at least one."""

    def complement(self, node: int) -> int:
        """All sequences of Unicode scalar values, in UTF-8, that the node does not contain."""

    def repeat(self, node: int, minimum: int, maximum: int | None = None) -> int:
        """`node` at least `minimum` and at most `maximum` times (None: unbounded)."""

    def ordered(self, program: Sequence[tuple[int, int, int]]) -> int:
        """Leftmost-first ordered threads: { w : the preferred match of the program on w consumes all of w }.

        `program` is a sequence of (op, x, y):
        ATOM=0, x a node in which no string is a prefix of another, goes on at the next instruction;
        SPLIT=1 prefers instruction x to y; JUMP=2 to x; MATCH=3.
        Instructions are numbered from 0, where threads start.
        """

    def is_nullable(self, node: int) -> bool:
        """Whether the node contains the empty string."""

    def is_empty(self, node: int) -> bool:
        """Whether the node contains no string at all. Exact; raises `LimitError` when that takes too long a search."""

    def matches(self, node: int, data: bytes) -> bool:
        """Whether the node contains `data`. For tests and tools; matchers go through the lexer."""
