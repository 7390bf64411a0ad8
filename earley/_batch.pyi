from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from ._matcher import Matcher

class Batch:
    """Rows and the matchers whose masks they are to become.

    words: a writable buffer of 32-bit words, of shape (rows, >= n_words of each); the words of a row follow one
    another. places: the row of each matcher. remaining: for each matcher, how many tokens may still come, or None.
    errors: by index of the matcher, why its row could not be filled; `give_back` clears such a row.
    """

    matchers: tuple[Matcher, ...]
    errors: dict[int, Exception]
    n_rows: int
    n_grammars: int

    def __init__(
        self,
        matchers: tuple[Matcher, ...],
        words: npt.NDArray[np.int32],
        places: Sequence[int],
        remaining: list[int | None],
    ) -> None: ...
    def claim(self, indexes: Iterable[int], *, strict: bool) -> None:
        """Claim the matchers with these indexes, which must be different ones.

        With `strict`, raise MatcherInUseError if one is in use, and claim none. Otherwise write masks that are
        remembered at once, and enter such an error for its row.
        """

    def end_failed(self) -> None:
        """End the sequences whose rows could not be filled, and forget their errors, but for those that say nothing
        about the sequence: see `ends_sequence`, and of matchers that are not set up. To be called after
        `give_back`."""

    @property
    def claimed(self) -> list[int]:
        """The indexes of the matchers that are claimed."""

    def fill_until(self, index: int, seconds: float) -> bool:
        """Fill the row of a claimed matcher, or what is found of it in so many seconds; return whether it is complete.
        In place of `fill`, and then `give_back(clears=False)`. The index may be another one of the same matcher."""

    def give_back(self, *, clears: bool = True) -> None:
        """Give the matchers back: now, or when the last call of `fill` returns. Such calls return after the row that
        they are filling. With `clears`, clear the claimed rows that `fill` has not filled."""

    @property
    def n_left(self) -> int:
        """The number of grammars of which another thread may begin to fill rows."""

    def fill(self, seconds: float = ...) -> None:
        """Fill rows until none is left that no thread has begun to fill, or for so many seconds. Several threads may
        call this. An error of one row leaves the others filled."""
