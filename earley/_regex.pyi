"""Regex nodes over bytes, hash-consed, with derivatives (see `_regex.pyx` for the algorithms)."""

from collections.abc import Iterable, Sequence
from typing import Final

from .limits import Limits

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

    def choices(self, texts: list[bytes]) -> int:
        """Exactly these texts, bytes that are sorted and different from each other: a list of any length, in place of a
        trie of literals."""

    def intersection(self, nodes: Iterable[int]) -> int:
        """What all the nodes contain; there must be at least one."""

    def complement(self, node: int) -> int:
        """All sequences of Unicode scalar values, in UTF-8, that the node does not contain."""

    def difference(self, node: int, other: int) -> int:
        """What `node` contains and `other` does not."""

    def repeat(self, node: int, minimum: int, maximum: int | None = None) -> int:
        """`node` at least `minimum` and at most `maximum` times (None: unbounded)."""

    def escaped(self, node: int, shortest: bool = False, ascii: bool = False) -> int:
        """All spellings of the node's texts within a JSON string, without the quotes (RFC 8259, section 7).

        `shortest`: of each character only the shortest spelling, as `json.dumps` writes it; `ascii`: characters beyond
        ASCII only as escapes.
        """

    def ordered(self, program: Sequence[tuple[int, int, int]]) -> int:
        """Leftmost-first ordered threads: { w : the preferred match of the program on w consumes all of w }.

        `program` is a sequence of (op, x, y):
        ATOM=0, x a node in which no string is a prefix of another, goes on at the next instruction;
        SPLIT=1 prefers instruction x to y; JUMP=2 to x; MATCH=3.
        Instructions are numbered from 0, where threads start.
        """

    def cuts(
        self,
        program: Sequence[tuple[int, int, int, int, int]],
        groups: Sequence[tuple[int, bool, int, int]],
        oracles: Sequence[int],
        points: Sequence[int],
        followings: Sequence[tuple[int, ...]],
        question: int,
        ordered: bool,
    ) -> int:
        """Threads in groups that cuts end (see `_cuts`): what `program` matches, lookarounds and atomic groups
        heeded.

        `program` is a sequence of (op, x, y, owner, asks), numbered from 0, where it starts: ATOM=0 reads one or more
        bytes, of node x, and goes on at y; SPLIT=1 prefers x to y; JUMP=2 to x; MATCH=3; BEHIND=4, x = 2 * oracle +
        negative, goes on at y; GROUP=5 opens group x; COMMIT=6 has matched the body of group x and goes on at y or
        (-1) ends.
        `owner` is the group whose body it is in, or -1; `asks` has bit i where oracle i may be asked from there on.
        `groups`: (parent or -1, whether it is a lookahead, body, instruction to go on at if the body fails or -1).
        `oracles`: for each, the node that what was read must be in.
        `points`: code points, one for each kind that lookaheads tell apart. `followings`: what may follow a text that
        matches, (whether the text may end, by point the number of what may follow that): 0 nothing, 1 anything, 2 + i
        followings[i].
        `question`: 0 asks for what matches as a whole text; f > 0 for what matches if, and only if, number f follows.
        `ordered`: the language is what the preferred match consumes whole; else all that can be matched whole.
        """

    def cut_followings(self, node: int, texts: Sequence[bytes]) -> tuple[list[tuple[int, ...]], set[int]] | None:
        """What may follow what `node`, made by `cuts` with question 0 and no followings, matches.

        All followings, in the form of `cuts`, each after those that it refers to; and the numbers of those that belong
        to one of the states that `texts`, one for each kind of character, lead to. None where one asks for more than 64
        code points.
        """

    def is_nullable(self, node: int) -> bool:
        """Whether the node contains the empty string."""

    def limit_time(self, limits: Limits, seconds: float) -> None:
        """Searches may take so many seconds together (`LimitError`) until a grammar over the nodes is finished: what is
        left of the time that `limits`, a `Limits`, gives for loading."""

    def is_empty(self, node: int) -> bool:
        """Whether the node contains no string at all. Exact; raises `LimitError` when that takes too long a search."""

    def derivatives(self, node: int) -> dict[int, bytes]:
        """What may follow the first byte of the node's strings, with those bytes. For deciding questions about small
        languages."""

    def matches(self, node: int, data: bytes) -> bool:
        """Whether the node contains `data`. For tests and tools; matchers go through the lexer."""
