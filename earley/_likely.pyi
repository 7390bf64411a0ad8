from typing import Final

from ._matcher import Matcher

class LikelyTexts:
    """Likely continuations of a matcher's text, at most `most_bytes` each; their masks are made by `work`.

    The matcher must be one that nobody else uses. It is not changed.
    """

    is_done: Final[bool]
    """Whether nothing remains to be done, or a limit has been met."""
    n_masks: Final[int]
    """Masks that have been asked for."""
    n_texts: Final[int]
    """Texts that have been written."""
    n_given_way: Final[int]
    """How often a mask was given up because another thread waited for a lock. It is made later."""
    nanoseconds: Final[int]
    """Processor time that has been spent."""

    def __init__(self, matcher: Matcher, most_bytes: int) -> None: ...
    def work(self) -> None:
        """Work for a millisecond, or until another thread waits for a lock; sleep for a moment if one does already.

        `is_done` is true when all has been done, or when a limit has been met.
        """

def set_slice(nanoseconds: int) -> None:
    """Set how much processor time a call of `work` takes. For tests."""
