"""Matchers at remembered histories, so that only the new tokens of a sequence are matched.

A history is the sequence of token ids that the model has generated. Plain generation asks for the masks of one growing
history, a beam search of many that share their beginnings, a speculative decoder of some that go back and branch. In
each case, the best matcher is the one whose history has the longest common prefix with the new one. The histories are
kept as byte strings, with a fixed number of bytes per token, in *sorted order*. In that order the best one is a
neighbour of the place where the new one would be inserted, so a binary search finds it: about six `memcmp` calls for 64
histories.

A history that extends a remembered one takes its matcher, and takes its place when it is remembered in turn. So a
growing history has one place, however long it gets. For a history that branches off, or is shorter, the matcher is
forked and the fork is rolled back; both are cheap, because rows are immutable. When there are too many histories, the
one that was used least recently is dropped.

It is not safe for several threads; `Constraint` uses a lock.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import count
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

DEFAULT_CAPACITY = 64
"""The most histories that are remembered. Beyond it, the least recently used one is dropped."""
KEY_BYTES = 4
"""The number of bytes that a token takes in a key. An id has at most 22 bits, as in a trie node, so it fits."""


class Position(Protocol):
    """The part of a matcher that histories use. Tests use a toy of it (`tests/api/test_constraint.py`)."""

    @property
    def n_tokens(self) -> int: ...
    def accept(self, token_id: int, /) -> bool: ...
    def rollback(self, n: int, /) -> None: ...
    def fork(self: P) -> P: ...


P = TypeVar("P", bound=Position)


def history_key(token_ids: npt.NDArray[np.integer]) -> bytes:
    """Return the key of a history: its ids, which must be in 0 .. 2**32 - 1, as bytes."""
    return token_ids.astype(np.uint32, copy=False).tobytes()


def advance(matcher: Position, token_ids: npt.NDArray[np.integer]) -> int:
    """Accept the ids that a matcher has not seen yet, up to the first that it rejects; return how many it has then."""
    for token_id in token_ids[matcher.n_tokens :].tolist():
        if not matcher.accept(token_id):
            break
    return matcher.n_tokens


def common_prefix(left: bytes, right: bytes) -> int:
    """Return how many tokens two keys have in common at their beginning."""
    n_bytes = min(len(left), len(right))
    if left[:n_bytes] == right[:n_bytes]:
        return n_bytes // KEY_BYTES
    n_tokens = n_bytes // KEY_BYTES
    differs = np.frombuffer(left, np.uint32, n_tokens) != np.frombuffer(right, np.uint32, n_tokens)
    return int(differs.argmax())


class Histories(Generic[P]):
    """A bounded set of histories, each with the matcher that stands at its end.

    Args:
        root: a matcher that has accepted nothing. It is forked if no remembered history helps, and never changes.
        capacity: how many histories are remembered.
    """

    def __init__(self, root: P, capacity: int = DEFAULT_CAPACITY) -> None:
        if capacity < 1:
            raise ValueError(f"capacity must be at least 1, got {capacity}")
        self.root = root
        self.capacity = capacity
        # Three parallel lists, sorted by key. A key is there twice if two threads used it at the same time.
        self._keys: list[bytes] = []
        self._matchers: list[P] = []
        self._used: list[int] = []  # the clock when it was last used; the smallest is dropped first
        self._clock = count()

    def __len__(self) -> int:
        return len(self._keys)

    def take(self, key: bytes) -> P:
        """Return a matcher that only the caller has, at the longest remembered prefix of `key`.

        `n_tokens` of the matcher is the length of that prefix. If a remembered history is itself a prefix of `key`, it
        is removed from the set. Give the matcher back with `put` after it has accepted more tokens.
        """
        place = bisect_right(self._keys, key)
        best, best_n = -1, 0
        for neighbour in (place, place - 1):
            if 0 <= neighbour < len(self._keys):
                n = common_prefix(self._keys[neighbour], key)
                # On a tie take the left neighbour: a prefix of `key` sorts before it.
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
        """Remember a matcher at the end of `key`, and drop the least recently used history if there are too many."""
        if not key:
            return  # the root is there already
        place = bisect_right(self._keys, key)
        self._keys.insert(place, key)
        self._matchers.insert(place, matcher)
        self._used.insert(place, next(self._clock))
        if len(self._keys) > self.capacity:
            self._remove(self._used.index(min(self._used)))

    def clear(self) -> None:
        """Drop all histories."""
        self._keys.clear()
        self._matchers.clear()
        self._used.clear()

    def _remove(self, place: int) -> P:
        del self._keys[place], self._used[place]
        return self._matchers.pop(place)
