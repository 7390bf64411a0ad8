from collections.abc import Iterable, Sequence
from typing import TypeVar

Item = TypeVar("Item")

def free(given: list[object], circular: Sequence[object] = (), nanoseconds: int | None = None) -> None:
    """Empty a list, and free its items in pieces, with all to which nothing else refers.

    `circular`: objects in circles of references, whose references are dropped, whatever refers to them.
    `nanoseconds`: of processor time of this thread. Then a thread of its own frees the rest, unless one still frees
    what an earlier call has left: so no more than one call's objects wait. None: this thread frees everything.

    What a handler of a signal raises in the meantime is raised as soon as the rest has been left to that thread.
    """

def frozen_in_pieces(items: Iterable[Item]) -> frozenset[Item]:
    """Return the set of many items."""

class Freeing:
    """What `free` still has to free."""

    def run_aside(self) -> None:
        """Free the rest in a thread of its own."""
