"""Free what was loaded for a grammar or an explanation, in pieces and in time."""

from __future__ import annotations

from traceback import clear_frames
from typing import TYPE_CHECKING

from ..trie.errors import EarleymaskError
from ._large import free

if TYPE_CHECKING:
    from ._meter import Loading

INTERRUPTED_NS = 10_000_000
"""Nanoseconds for which what has been loaded is freed before an interrupt, such as that of Ctrl-C, goes to the caller.
Later a thread of its own frees the rest. For the few milliseconds that most grammars take, none is begun."""


def free_loaded(block: Loading, error: BaseException | None, before: BaseException | None) -> None:
    """Free what `keep` was called with in a block that ends with `error`, if that is not None. `before`: what was being
    handled before the block."""
    left = block.left_ns()
    if error is not None:
        forget_locals(error, before)
        if not isinstance(error, EarleymaskError):
            left = min(left, INTERRUPTED_NS)
    free(block.kept, block.circular, left)


def forget_locals(error: BaseException, before: BaseException | None) -> None:
    """Clear the variables of the calls that an error, or one that led to it, has ended. Otherwise they would keep all
    that was loaded until the error is discarded, and free it at once. `before`: what was being handled before."""
    stack: list[BaseException | None] = [error]
    met = {None, before}
    while stack:
        one = stack.pop()
        if one not in met:
            met.add(one)
            assert one is not None
            clear_frames(one.__traceback__)
            stack += [one.__cause__, one.__context__]
