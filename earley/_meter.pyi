from collections.abc import Callable
from types import TracebackType
from typing import Final, TypeVar

from .limits import Limits

R = TypeVar("R")

def take(n_bytes: int) -> int:
    """Count so many bytes that what this thread loads is about to take, or gives back if the number is negative.

    Raise LimitError, and count nothing, if that is more than `Limits.load_bytes` allows. The tables of the core that
    grow count themselves. The loaders estimate the size of objects of Python.
    """

def tick() -> int:
    """Let other threads and the handlers of signals run if a millisecond has passed since they did. Raise LimitError if
    what this thread loads takes longer than its limit.

    Every loop that loads a grammar and may run for longer than a millisecond calls this, from Python or holding the
    interpreter's lock. It takes some ten nanoseconds, and some dozens where it must look at the clock each time.
    """

def count(n_bytes: int) -> int:
    """Count so many bytes that the explanation of this thread is about to take for Python objects, by an estimate, or
    gives back if the number is negative. Raise LimitError, and count nothing, if that is more than
    `Limits.matcher_bytes`. Call `tick` first."""

def keep(one: object) -> int:
    """Free an object in pieces when the loading of this thread ends, unless something else refers to it then."""

def keep_circular(one: object) -> int:
    """Drop all references of an object, which is in a circle, when the loading of this thread ends, and free in pieces
    what they refer to, unless something else does."""

def fail_checks(after: int | None, *, lasting: bool = False) -> int:
    """Let the next `after` checks of limits succeed and the one after them fail; with `lasting`, all later ones too.

    With None, no check fails. Return how many have failed since the last call. For tests. Raises RuntimeError in a
    release build, where nothing would ever fail.
    """

def outside(function: Callable[..., R], *arguments: object) -> R:
    """Call a function of the caller's own, or one that reads a file. The time that it sleeps or waits counts."""

class Loading:
    """`with Loading(limits, what):` begins to count the time of this thread for `tick`, until the block ends.

    A `with` statement calls `__enter__` and `__exit__` without a bytecode in between at which the handler of a signal
    could run. So each block that has begun to count ends it, whatever such a handler raises.
    """

    taken: Final[int]
    kept: Final[list[object]]
    """What `keep` has been called with."""
    circular: Final[list[object]]
    """What `keep_circular` has been called with."""

    def __init__(self, limits: Limits, what: str = "loading the grammar") -> None: ...
    def __enter__(self) -> Loading:
        """Begin to count."""

    def left_ns(self) -> int:
        """Return how many nanoseconds of its time are left, with those for freeing; a negative number if none are."""

    def free(self, error: BaseException | None) -> None:
        """Free what has been loaded and is not needed any more. Called at the end of a block that took long.

        `error`: what has ended the block, or None.
        """

    def end(self, error: BaseException | None) -> None:
        """Do what remains to be done when the time is not counted any more. `error` as in `free`."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Count for the block around this one again."""

class Within:
    """`with Within(seconds):` bounds the time of all calls that this thread makes in the block by so many seconds
    together. Each of them raises the LimitError of a call that takes longer than `Limits.seconds`.

    Within another such block, whichever ends first counts."""

    def __init__(self, seconds: float) -> None: ...
    def __enter__(self) -> Within:
        """Begin to count."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Count for the block around this one again."""

class Cancellable:
    """`with Cancellable(matcher, cancels):` ends the calls of this thread in the block if the matcher is cancelled.

    Within another such block, only the inner matcher counts."""

    def __enter__(self) -> Cancellable:
        """Begin to watch."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Watch again what was watched before."""

def masks_asked() -> int:
    """Return how many masks, not remembered before, this process has made for those who asked for them."""

def seconds_left() -> float:
    """Return how many seconds are left to the calls within the `Within` of this thread; a large number without one."""

class Explaining(Loading):
    """`with Explaining(limits, what):` bounds the time of the block by `limits.seconds`, with that of the calls and
    loadings in it, and what `count` counts by `limits.matcher_bytes`: for explanations and captures."""

    def __init__(self, limits: Limits, what: str = "the explanation") -> None: ...

class Meter:
    """The limits of one grammar, and how much of them the current call has used. Needs the engine's lock."""

    limits: Limits
