"""Matchers at remembered histories: any token sequence costs one look-up plus what is new in it.

Generation asks for the mask of a growing sequence, a beam search for many that share their beginnings, a speculative
decoder for some that go back and branch. All of it is answered by one question: which remembered history has the
longest common prefix with the new one? The histories are kept as byte strings, a fixed number of bytes a token, in
*sorted order*. There the answer is always one of the two neighbours of the place where the new one would be inserted,
so a look-up is a binary search: about six `memcmp` calls for 64 histories.

A history that extends a remembered one takes over its matcher, and the remembered one moves along: a growing sequence
takes one place, however long it gets. One that branches off, or is shorter, forks the matcher and rolls the fork
back; rows are immutable, so both are cheap. The least recently used history leaves when there are too many.

Not safe from several threads by itself: `Constraint` puts a lock around it.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import count
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

DEFAULT_CAPACITY = 64
KEY_BYTES = 4  # bytes per token of a key; an id takes 22 bits in a trie node


class Position(Protocol):
    """What a history needs of a matcher; a toy will do (`tests/api/test_constraint.py`)."""

    @property
    def n_tokens(self) -> int: ...
    def accept(self, token_id: int, /) -> bool: ...
    def rollback(self, n: int, /) -> None: ...
    def fork(self: P) -> P: ...


P = TypeVar("P", bound=Position)


def history_key(token_ids: npt.NDArray[np.integer]) -> bytes:
    """The bytes by which a history is known. Ids must be in 0 .. 2**32 - 1."""
    return token_ids.astype(np.uint32, copy=False).tobytes()


def advance(matcher: Position, token_ids: npt.NDArray[np.integer]) -> int:
    """Accept what a matcher has not seen of `token_ids`, up to the first rejected id; return how many it has then."""
    for token_id in token_ids[matcher.n_tokens :].tolist():
        if not matcher.accept(token_id):
            break
    return matcher.n_tokens


def common_prefix(left: bytes, right: bytes) -> int:
    """How many whole tokens two keys have in common at their beginning."""
    n_bytes = min(len(left), len(right))
    if left[:n_bytes] == right[:n_bytes]:
        return n_bytes // KEY_BYTES
    n_tokens = n_bytes // KEY_BYTES
    differs = np.frombuffer(left, np.uint32, n_tokens) != np.frombuffer(right, np.uint32, n_tokens)
    return int(differs.argmax())


class Histories(Generic[P]):
    """A bounded set of histories, each with the matcher that stands at its end.

    Args:
        root: a matcher that has accepted nothing; forked where no remembered history helps, never changed.
        capacity: how many histories are remembered.
    """

    def __init__(self, root: P, capacity: int = DEFAULT_CAPACITY) -> None:
        if capacity < 1:
            raise ValueError(f"capacity must be at least 1, got {capacity}")
        self.root = root
        self.capacity = capacity
        # Three lists in step, sorted by key. The same key may stand there twice, when two threads asked for it at once.
        self._keys: list[bytes] = []
        self._matchers: list[P] = []
        self._used: list[int] = []  # when it was last looked at; the smallest leaves first
        self._clock = count()

    def __len__(self) -> int:
        return len(self._keys)

    def take(self, key: bytes) -> P:
        """A matcher for the caller alone, at the longest prefix of `key` that is remembered.

        What it stands at is its `n_tokens`. A history that is itself a prefix of `key` is taken out of the set; give
        the matcher back with `put` when it has moved on.
        """
        place = bisect_right(self._keys, key)
        best, best_n = -1, 0
        for neighbour in (place, place - 1):
            if 0 <= neighbour < len(self._keys):
                n = common_prefix(self._keys[neighbour], key)
                # On a tie the left neighbour is better: only what sorts before `key` can be a prefix of it.
                if n >= max(best_n, 1):
                    best, best_n = neighbour, n
        if best < 0:
            return self.root.fork()
        if best_n * KEY_BYTES == len(self._keys[best]):
            return self._remove(best)
        self._used[best] = next(self._clock)
        fork = self._matchers[best].fork()
        fork.rollback(len(self._keys[best]) // KEY_BYTES - best_n)
        return fork

    def put(self, matcher: P, key: bytes) -> None:
        """Remember that `matcher` stands at the end of `key`; the least recently used history may leave for it."""
        if not key:
            return  # the root stands there already
        place = bisect_right(self._keys, key)
        self._keys.insert(place, key)
        self._matchers.insert(place, matcher)
        self._used.insert(place, next(self._clock))
        if len(self._keys) > self.capacity:
            self._remove(self._used.index(min(self._used)))

    def clear(self) -> None:
        """Forget every history."""
        self._keys.clear()
        self._matchers.clear()
        self._used.clear()

    def _remove(self, place: int) -> P:
        del self._keys[place], self._used[place]
        return self._matchers.pop(place)
