"""The time and the errors of one loading, and work on long lists in pieces, so that other threads can run in between.

See `earley/_meter.pyx` for what `tick` does, and why.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from random import Random
from typing import Any, TypeVar

from ..earley._large import frozen_in_pieces
from ..earley._meter import Loading, keep, tick
from ..earley.errors import LimitError, too_deep
from ..earley.freeing import free_loaded
from ..earley.limits import Limits
from .errors import GrammarLimitError

Item = TypeVar("Item")
Listed = TypeVar("Listed", bound=Sequence[Any])
Ordered = TypeVar("Ordered", bound=Any)


class loading(Loading):
    """`with loading(limits):` bounds the time of the block by `limits.load_seconds`, and makes a GrammarLimitError of
    each LimitError and of each RecursionError: a grammar that nests as deeply as it may is too much for a caller that
    is itself called deeply."""

    __slots__ = ("_before",)

    def __init__(self, limits: Limits) -> None:
        self._before = sys.exc_info()[1]

    def free(self, error: BaseException | None) -> None:
        free_loaded(self, error, self._before)

    def end(self, error: BaseException | None) -> None:
        if isinstance(error, RecursionError):
            error = too_deep()
        if isinstance(error, LimitError) and not isinstance(error, GrammarLimitError):
            raise GrammarLimitError(str(error)).copy_limit(error) from None


PIECE = 1 << 12
"""Functions of C that visit a whole list get it in pieces of so many items: each takes about a millisecond."""


N_SETS = 61
"""Different items of a long list are found by so many sets, each with a part of them."""


def pieces(items: Listed) -> Iterator[Listed]:
    """Yield a list, tuple or text in pieces, with a `tick` before each."""
    for begin in range(0, len(items), PIECE):
        tick()
        yield items[begin : begin + PIECE]  # type: ignore[misc]


def once(items: Iterable[Item]) -> dict[Item, bool]:
    """Return a dict whose keys are the items, with a `tick` before each: to hash a large one takes long."""
    found: dict[Item, bool] = {}
    for item in items:
        tick()
        found[item] = True
    return found


def distinct(items: Sequence[Item]) -> list[Item]:
    """Return each item once, in order."""
    if len(items) <= PIECE:
        return list(dict.fromkeys(items))
    met: list[set[Item]] = [set() for _ in range(N_SETS)]  # a single large one would take long to grow
    found: list[Item] = []
    keep(met)
    keep(found)
    for piece in pieces(items):
        for index, item in enumerate(piece):
            if not index & 0xFF:
                tick()  # the sets grow at about the same time
            hash_ = hash(item)
            known = met[(hash_ ^ hash_ >> 11 ^ hash_ >> 32) % N_SETS]
            if item not in known:
                known.add(item)
                found.append(item)
    return found


def frozen(items: Sequence[Item]) -> frozenset[Item]:
    """Return the set of the items."""
    return frozenset(items) if len(items) <= PIECE else frozen_in_pieces(items)


def in_order(items: Collection[Ordered]) -> list[Ordered]:
    """Return different items as `sorted` does.

    A long list is distributed among ranges between items chosen at random, until the ranges are short (samplesort,
    Frazer and McKellar 1970)."""
    if len(items) <= PIECE:
        return sorted(items)
    given = items if isinstance(items, list) else [item for piece in _pieces_of(items) for item in piece]
    keep(given)
    pivots = sorted(Random().sample(given, 255))  # of its own: the caller's random numbers stay as they are
    ranges: list[list[Ordered]] = [[] for _ in range(256)]
    keep(ranges)
    for piece in pieces(given):
        for item in piece:
            ranges[bisect_right(pivots, item)].append(item)
    found: list[Ordered] = []
    for part in ranges:
        found += in_order(part)
        tick()
    return found


def _pieces_of(items: Collection[Item]) -> Iterator[list[Item]]:
    """Yield a set or a dict's keys in pieces, with a `tick` before each."""
    left = iter(items)
    while piece := list(islice(left, PIECE)):
        tick()
        yield piece
