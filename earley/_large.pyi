from collections.abc import Iterable, Sequence
from typing import TypeVar

Item = TypeVar("Item")

def free(given: list[object], circular: Sequence[object] = ()) -> None:
    """Empty a list, and free its items in pieces, with all to which nothing else refers.

    `circular`: objects in circles of references, whose references are dropped, whatever refers to them.
    What a handler of a signal raises in the meantime is raised at the end.
    """

def frozen_in_pieces(items: Iterable[Item]) -> frozenset[Item]:
    """Return the set of many items."""

class Freeing:
    """What `free` still has to free."""
