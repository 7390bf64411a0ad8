"""Remember what functions of numbers and classes return, up to a total size.

`functools.lru_cache` bounds how many results there are, and strangers choose the arguments: a few hundred numbers with
a thousand remainders each would keep hundreds of megabytes, and each full garbage collection would visit all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from ..earley._large import free

R = TypeVar("R")


def kept_by_weight(most: int, weigh: Callable[..., int]) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Make a function of hashable arguments remember its latest results.

    most: the most that all results may weigh together. Beyond it, the oldest ones are dropped.
    weigh: returns the weight of a result from the arguments of the call. What weighs more than a quarter of `most` is
        not remembered.
    """

    def decorate(function: Callable[..., R]) -> Callable[..., R]:
        results: dict[tuple[Any, ...], tuple[R, int]] = {}

        @wraps(function)
        def call(*arguments: Any) -> R:
            known = results.get(arguments)
            if known is not None:
                return known[0]
            result = function(*arguments)
            weight = weigh(*arguments)
            if weight <= most // 4:
                results[arguments] = result, weight
                drop_oldest(results, most)
            return result

        call.results = results  # type: ignore[attr-defined]
        return call

    return decorate


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
