from typing import Any, Final

from ._matcher import Matcher

class LikelyTexts:
    """Likely continuations of a matcher's text, at most `most_bytes` each; their masks are made by `work`, in at most
    so many seconds of processor time.

    The matcher must be one that nobody else uses. It is not changed. Raises ValueError if `seconds` is not positive.
    """

    is_done: Final[bool]
    """Whether all has been done, a limit has been met, the time is used up, or `stop` was called."""
    is_complete: Final[bool]
    """Whether no likely text is left."""
    n_masks: Final[int]
    """Masks that have been asked for."""
    n_texts: Final[int]
    """Texts that have been written."""
    n_given_way: Final[int]
    """How often a mask was given up because another thread waited for a lock. It is made later."""
    nanoseconds: Final[int]
    """Processor time that has been spent."""

    def __init__(self, matcher: Matcher, most_bytes: int, seconds: float) -> None: ...
    @property
    def grammar(self) -> Any:
        """The grammar of the texts."""
    def work(self) -> None:
        """Work for a millisecond, or until another thread waits for a lock; sleep for a moment if one does already.

        `is_done` is true when all has been done, a limit has been met, the time is used up, or after `stop`.
        """

    def stop(self) -> None:
        """Let `work`, which may run in another thread, end at its next look at the clock."""

def set_slice(length: int) -> None:
    """Set how many nanoseconds of processor time a call of `work` takes. For tests."""
