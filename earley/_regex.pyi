"""Regex nodes over bytes, hash-consed, with derivatives. `_regex.pyx` explains the algorithms."""

from collections.abc import Iterable, Sequence
from typing import Final

class Regexes:
    """An arena of regex nodes. A node is an int; two equal nodes, in normal form, are the same int.

    `EMPTY` (0) matches no string, `EPSILON` (1) only the empty one. Nodes live as long as the arena. The constructors
    return a node; they raise `ValueError` for a node of another arena and `LimitError` if the arena is full.

    One thread fills an arena. Once an `Engine` over it is finished, the engine's lock guards it.
    """

    EMPTY: Final = 0
    EPSILON: Final = 1
    BEFORE: Final[int]
    DECIDED: Final[int]
    LAST: Final[int]
    OUTSIDE: Final[int]
    MIXED: Final[int]
    OPEN: Final[int]

    def __init__(self) -> None: ...
    @property
    def n_nodes(self) -> int:
        """The number of nodes made so far."""

    def byte_set(self, values: Iterable[int]) -> int:
        """Match one byte out of `values` (ints 0..255)."""

    def literal(self, data: bytes, rest: int = ...) -> int:
        """Match exactly these bytes and then `rest`."""

    def char_class(self, ranges: Iterable[tuple[int, int]]) -> int:
        """Match one code point out of sorted, disjoint, inclusive `ranges`, in UTF-8. Surrogates are skipped."""

    def concat(self, nodes: Sequence[int]) -> int:
        """Match the nodes one after the other."""

    def union(self, nodes: Iterable[int]) -> int:
        """Match what any of the nodes matches; without nodes, EMPTY."""

    def choices(self, texts: list[bytes]) -> int:
        """Match exactly one of these texts: different bytes objects, sorted. A long list stays a list; it does not
        become a trie of literals."""

    def marked(self, texts: list[bytes], marks: list[int]) -> int:
        """Match what `choices(texts)` matches, but that the byte i stands for any text of the node marks[i].

        There may be eight marks. None of them is nullable, an intersection, a complement or a program.
        """

    def multiples(self, words: list[int]) -> int:
        """Match the numbers that the words of a K_DIVISORS node describe, see `_multiples`. They must be right: they
        are not checked."""

    def intersection(self, nodes: Iterable[int]) -> int:
        """Match what all the nodes match; there must be at least one."""

    def complement(self, node: int) -> int:
        """Match all sequences of Unicode scalar values, in UTF-8, that the node does not match."""

    def difference(self, node: int, other: int) -> int:
        """Match what `node` matches and `other` does not."""

    def repeat(self, node: int, minimum: int, maximum: int | None = None) -> int:
        """Match `node` at least `minimum` and at most `maximum` times (None: unbounded)."""

    def escaped(self, node: int, shortest: bool = False, ascii: bool = False) -> int:
        """Match all spellings of the node's texts within a JSON string, without the quotes (RFC 8259, section 7).

        With `shortest`, each character has only its shortest spelling, as `json.dumps` writes it. With `ascii`,
        characters beyond ASCII are written as escapes only.
        """

    def ordered(self, program: Sequence[tuple[int, int, int]]) -> int:
        """Match w if the preferred match of the program on w consumes all of w: leftmost-first, with ordered threads.

        `program` is a sequence of (op, x, y), numbered from 0, where threads start:
        ATOM=0 reads node x, in which no string is a prefix of another, and continues at the next instruction;
        SPLIT=1 prefers instruction x to y; JUMP=2 continues at x; MATCH=3.
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
        """Match what `program` matches: threads in groups that cuts end, for lookarounds and atomic groups (see
        `_cuts`).

        `program` is a sequence of (op, x, y, owner, asks), numbered from 0, where it starts:
        ATOM=0 reads one or more bytes, of node x, and continues at y; SPLIT=1 prefers x to y; JUMP=2 continues at x;
        MATCH=3; BEHIND=4 asks an oracle, x = 2 * oracle + negative, and continues at y; GROUP=5 opens group x;
        COMMIT=6 has matched the body of group x and continues at y, or ends if y is -1.
        `owner` is the group whose body contains the instruction, or -1; `asks` has bit i if oracle i may be asked from
        there on.
        `groups`: (parent or -1, whether it is a lookahead, body, instruction at which to continue if the body fails or
        -1).
        `oracles`: for each, the node that must match what was read.
        `points`: code points, one for each kind that lookaheads distinguish. `followings`: what may follow a text that
        matches: (whether the text may end, and by point the number of what may follow that): 0 nothing, 1 anything,
        2 + i followings[i].
        `question`: 0 asks for what matches as a whole text; f > 0 for what matches exactly if number f follows. Without
        followings, DECIDED asks for what matches whatever follows, and OPEN for what may match if the right text
        follows. Of the latter, OUTSIDE asks for those that match if the text ends or any of the points follows, and
        MIXED for those that match if some of these follow and not if others do. BEFORE asks for those that match before
        any text that begins with the points, one after the other, and LAST for those that match if the text ends
        after the points.
        `ordered`: match what the preferred match consumes whole; else all that can be matched whole.
        """

    def cut_followings(self, node: int, texts: Sequence[bytes]) -> tuple[list[tuple[int, ...]], set[int]] | None:
        """Find what may follow the texts of `node`, which `cuts` made with question 0 and no followings.

        Return all followings, in the form of `cuts`, each after those to which it refers, and the numbers of those that
        belong to a state to which `texts` lead, one text for each kind of character. Return None if a state asks for
        more than 64 code points.
        """

    def demand(self, node: int) -> int:
        """Return the node of the texts that may follow those that end in `node`, to which texts have led from one that
        `cuts` made with the question OPEN."""

    def is_anything(self, node: int) -> bool:
        """Return whether the node is a demand that every text meets."""

    def is_nullable(self, node: int) -> bool:
        """Return whether the node matches the empty string."""

    def is_empty(self, node: int) -> bool:
        """Return whether the node matches nothing at all. Exact; raises `LimitError` if the search takes too long."""

    def derivatives(self, node: int) -> dict[int, bytes]:
        """Return the node's derivatives that match anything, each with the bytes that lead to it. For deciding
        questions about small languages."""

    def first_bytes(self, node: int) -> int:
        """Return the set of the bytes with which the node's texts may begin, as an integer with a bit for each."""

    def matches(self, node: int, data: bytes) -> bool:
        """Return whether the node matches `data`. For tests and tools; matchers use the lexer."""
