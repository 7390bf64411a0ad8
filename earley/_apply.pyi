from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

def apply_rows(
    logits: npt.NDArray[Any],
    words: npt.NDArray[np.int32],
    places: Sequence[int] | None,
    minus_infinity: int,
    is_plain: bool = False,
) -> None:
    """Write -inf into `logits` where the masks in `words` have no bit, as `earleymask.apply_bitmask` says.

    Args:
        logits: a writable buffer of items of 2, 4 or 8 bytes, of shape (rows, width) or (width,), at addresses that are
            multiples of the item's size.
        words: a buffer of 32-bit words, of shape (rows, n_words) or (n_words,), aligned. The words of a row follow one
            another.
        places: the numbers of the rows to which masks are applied, or None for all rows.
        minus_infinity: the bits of -inf in the type of the logits.
        is_plain: use only instructions that every processor of this architecture has, for tests.

    Raises ValueError if a buffer is not as above or the number of rows differs (without `places`), IndexError if a
    place is no row of both. Nothing has been written then.
    """
