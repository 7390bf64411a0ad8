from collections.abc import Callable
from types import TracebackType
from typing import ParamSpec, TypeVar

from .limits import Limits

P = ParamSpec("P")
R = TypeVar("R")

def tick() -> int:
    """Let other threads and the handlers of signals run if a millisecond has passed since they did. Raise LimitError if
    what this thread loads takes longer than its limit."""

def outside(function: Callable[P, R], *arguments: P.args, **keywords: P.kwargs) -> R:
    """Call a function of the caller's own, or one that reads a file. The time that it sleeps or waits counts."""

class Loading:
    """`with Loading(limits, what):` begins to count the time of this thread for `tick`, until the block ends."""

    def __init__(self, limits: Limits, what: str) -> None: ...
    def __enter__(self) -> Loading: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...
