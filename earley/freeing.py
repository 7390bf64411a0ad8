"""Free what was made for a grammar, an explanation or captures, in pieces and in time."""

from __future__ import annotations

import sys
from inspect import CO_OPTIMIZED
from traceback import walk_tb
from typing import TYPE_CHECKING, Any

from ..trie.errors import EarleymaskError
from ._large import free
from ._meter import Explaining, Loading
from .errors import too_deep

if TYPE_CHECKING:
    from .limits import Limits

INTERRUPTED_NS = 10_000_000
"""Nanoseconds for which what has been loaded is freed before an interrupt, such as that of Ctrl-C, goes to the caller.
Later a thread of its own frees the rest. For the few milliseconds that most grammars take, none is begun."""


class Inspecting(Explaining):
    """`with Inspecting(limits, what):` is the block in which an explanation is made, or captures are found. What it
    makes is freed in pieces."""

    __slots__ = ("_before",)

    def __init__(self, limits: Limits, what: str) -> None:
        self._before = sys.exc_info()[1]

    def free(self, error: BaseException | None) -> None:
        free_loaded(self, error, self._before)

    def end(self, error: BaseException | None) -> None:
        if isinstance(error, RecursionError):
            raise too_deep() from None


def free_loaded(block: Loading, error: BaseException | None, before: BaseException | None) -> None:
    """Free what `keep` was called with in a block that ends with `error`, if that is not None. `before`: what was being
    handled before the block."""
    left = block.left_ns()
    if error is not None:
        forget_locals(error, before, block.kept)
        if not isinstance(error, EarleymaskError):
            left = min(left, INTERRUPTED_NS)
    free(block.kept, block.circular, left)


def forget_locals(error: BaseException, before: BaseException | None, kept: list[Any]) -> None:
    """Clear the variables of the calls that an error, or one that led to it, has ended, and append what they had to
    `kept`. Otherwise they would keep all that was loaded until the error is discarded, and free it at once. `before`:
    what was being handled before."""
    stack: list[BaseException | None] = [error]
    met = {None, before}
    while stack:
        one = stack.pop()
        if one not in met:
            met.add(one)
            assert one is not None
            for frame, _ in walk_tb(one.__traceback__):
                variables = frame.f_locals if frame.f_code.co_flags & CO_OPTIMIZED else {}  # else those of a module
                known = list(variables.values())
                try:
                    frame.clear()
                except RuntimeError:  # it still runs
                    continue
                kept += known
                if isinstance(variables, dict):  # a copy, which the frame keeps
                    variables.clear()
            stack += [one.__cause__, one.__context__]
