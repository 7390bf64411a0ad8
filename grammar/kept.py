"""Remember what functions of numbers and classes return, up to a total size.

`functools.lru_cache` bounds how many results there are, and strangers choose the arguments: a few hundred numbers with
a thousand remainders each would keep hundreds of megabytes, and each full garbage collection would visit all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar

from ..earley._large import free

R = TypeVar("R")


class Kept(Generic[R]):
    """A function that remembers its latest results: see `kept_by_weight`. (A compiled function has no attributes.)"""

    def __init__(self, function: Callable[..., R], most: int, weigh: Callable[..., int]) -> None:
        self.function = function
        self.most = most
        self.weigh = weigh
        self.results: dict[tuple[Any, ...], tuple[R, int]] = {}

    def __call__(self, *arguments: Any) -> R:
        known = self.results.get(arguments)
        if known is not None:
            return known[0]
        result = self.function(*arguments)
        weight = self.weigh(*arguments)
        if weight <= self.most // 4:
            self.results[arguments] = result, weight
            drop_oldest(self.results, self.most)
        return result


def kept_by_weight(most: int, weigh: Callable[..., int]) -> Callable[[Callable[..., R]], Kept[R]]:
    """Make a function of hashable arguments remember its latest results.

    most: the most that all results may weigh together. Beyond it, the oldest ones are dropped.
    weigh: returns the weight of a result from the arguments of the call. What weighs more than a quarter of `most` is
        not remembered.
    """
    return partial(Kept, most=most, weigh=weigh)


def drop_oldest(results: dict[tuple[Any, ...], tuple[R, int]], most: int) -> None:
    """Drop the oldest results until the others weigh no more than `most`. Other threads may do so at the same time."""
    # To make pairs takes memory, so the garbage collector may run, and with it a finalizer that calls the function.
    weights = [(arguments, weight) for arguments, (_, weight) in list(results.copy().items())]
    total = sum([weight for _, weight in weights])
    dropped: list[object] = []
    for arguments, weight in weights:
        if total <= most:
            break
        dropped.append(results.pop(arguments, None))
        total -= weight
    if dropped:
        free(dropped)  # a single one may have a hundred thousand parts
