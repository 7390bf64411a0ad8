"""The time and the errors of one loading, and work on long lists in pieces, so that other threads can run in between.

See `earley/_meter.pyx` for what `tick` does, and why.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from random import Random
from types import TracebackType
from typing import Any, TypeVar

from ..earley._meter import Loading, tick
from ..earley.errors import LimitError
from ..earley.limits import Limits
from .errors import GrammarLimitError

Item = TypeVar("Item")
Listed = TypeVar("Listed", bound=Sequence[Any])
Ordered = TypeVar("Ordered", bound=Any)


class loading:
    """`with loading(limits):` bounds the time of the block by `limits.seconds`, and makes a GrammarLimitError of each
    LimitError."""

    __slots__ = ("_timed",)

    def __init__(self, limits: Limits) -> None:
        self._timed = Loading(limits, "loading the grammar")

    def __enter__(self) -> None:
        self._timed.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timed.__exit__(kind, error, trace)
        if isinstance(error, LimitError) and not isinstance(error, GrammarLimitError):
            raise GrammarLimitError(str(error)).copy_limit(error) from None


PIECE = 1 << 12
"""Functions of C that visit a whole list get it in pieces of so many items: each takes about a millisecond."""


def pieces(items: Listed) -> Iterator[Listed]:
    """Yield a list, tuple or text in pieces, with a `tick` before each."""
    for begin in range(0, len(items), PIECE):
        tick()
        yield items[begin : begin + PIECE]  # type: ignore[misc]


def distinct(items: Sequence[Item]) -> list[Item]:
    """Return each item once, in order."""
    if len(items) <= PIECE:
        return list(dict.fromkeys(items))
    found: dict[Item, None] = {}
    for piece in pieces(items):
        found.update(dict.fromkeys(piece))
    return list(found)


def frozen(items: Sequence[Item]) -> frozenset[Item]:
    """Return the set of the items."""
    if len(items) <= PIECE:
        return frozenset(items)
    found: set[Item] = set()
    for piece in pieces(items):
        found.update(piece)
    return frozenset(found)


def in_order(items: Collection[Ordered]) -> list[Ordered]:
    """Return different items as `sorted` does.

    A long list is distributed among ranges between items chosen at random, until the ranges are short (samplesort,
    Frazer and McKellar 1970)."""
    if len(items) <= PIECE:
        return sorted(items)
    given = list(items)
    pivots = sorted(Random().sample(given, 255))  # of its own: the caller's random numbers stay as they are
    ranges: list[list[Ordered]] = [[] for _ in range(256)]
    for piece in pieces(given):
        for item in piece:
            ranges[bisect_right(pivots, item)].append(item)
    return [item for part in ranges for item in in_order(part)]
