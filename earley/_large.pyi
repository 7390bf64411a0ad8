from collections.abc import Iterable, Sequence
from threading import Event
from typing import Generic, TypeVar

Item = TypeVar("Item")
Key = TypeVar("Key")
Value = TypeVar("Value")

def free(given: list[object], circular: Sequence[object] = (), nanoseconds: int | None = None) -> None:
    """Empty a list, and free its items in pieces, with all to which nothing else refers.

    `circular`: objects in circles of references, whose references are dropped, whatever refers to them.
    `nanoseconds`: of processor time of this thread. Then a thread of its own frees the rest, unless four such threads
    still free what earlier calls have left: so the objects of at most four calls wait. None: this thread frees all.

    What a handler of a signal raises in the meantime is raised as soon as the rest has been left to that thread.
    """

def frozen_in_pieces(items: Iterable[Item]) -> frozenset[Item]:
    """Return the set of many items."""

def untrack_tuples(one: tuple[object, ...]) -> int:
    """Call `untrack` for a tuple, the tuples in it, and so on: it takes as many calls in one another as they have
    levels."""

def untrack(one: object) -> int:
    """Tell the garbage collector not to visit an object: a large tuple or list, which it would visit all at once, or
    one of very many. Its parts must refer to nothing that could refer to it; numbers and texts do not."""

class Table(Generic[Key, Value]):
    """Values by key, as in a dict, but it grows in pieces: Python enlarges a dict of a million items at once.

    The first keys are in one dict, the others in many small ones. No value is None.
    """

    def __len__(self) -> int:
        """Return len(self)."""

    def __setitem__(self, key: Key, value: Value) -> None:
        """Set self[key] to value."""

    def get(self, key: Key) -> Value | None:
        """Return the value of a key; None if there is none."""

class Unvisited(Table[Key, Value]):
    """A `Table` whose keys and values the garbage collector does not visit. Keys are tuples or frozensets; they and the
    values must refer to nothing that could refer to the table."""

    def __setitem__(self, key: Key, value: Value) -> None:
        """Set self[key] to value."""

class Freeing:
    """What `free` still has to free."""

    def run_aside(self, begun: Event) -> None:
        """Free the rest in a thread of its own. Full garbage collections, which would visit all of the rest, wait until
        it is freed; when they do, set the event `begun`."""
