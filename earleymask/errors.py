"""All errors of the package.

`except EarleymaskError` catches each of them. This module defines the two of the public layer. The lower layers, which
cannot import this one, define the others: `trie/errors.py`, `earley/errors.py`, `grammar/errors.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from .earley.errors import (
    BudgetError,
    LimitError,
    MatcherCancelledError,
    MatcherInUseError,
    RejectedTokenError,
    SnapshotError,
)
from .grammar.errors import GrammarError
from .trie.errors import EarleymaskError, VocabularyError

if TYPE_CHECKING:
    from .earley import Matcher

__all__ = [
    "BatchError",
    "BudgetError",
    "EarleymaskError",
    "EmptyMaskError",
    "GrammarError",
    "LimitError",
    "MatcherCancelledError",
    "MatcherInUseError",
    "RejectedTokenError",
    "SnapshotError",
    "VocabularyError",
]


class EmptyMaskError(EarleymaskError):
    """No token may follow a sequence: all its scores would be -inf, and their softmax NaN.

    Either the vocabulary cannot spell what the grammar needs (`Vocabulary.missing_bytes`), or something else excluded
    every token that the grammar allows: another logits processor, or logits that are narrower than the vocabulary.

    Attributes:
        needed: if the vocabulary cannot spell it, the bytes of which one must come next; otherwise b"".
    """

    needed = b""


def empty_mask(matcher: Matcher, where: str) -> EmptyMaskError:
    """Return the error that a vocabulary cannot spell what must come next. `where` begins the message."""
    with matcher._explorer() as explorer:
        needed = bytes(sorted([byte for members, _ in explorer.classes(explorer.now()) for byte in members]))
    error = EmptyMaskError(
        f"{where}: the vocabulary has no token that the grammar allows; next must come one of the bytes {needed!r}, "
        "and there is no token for any of them. Use a vocabulary with a token for each byte, or a grammar without them"
    )
    error.needed = needed
    return error


def excluded_mask(where: str) -> EmptyMaskError:
    """Return the error that scores leave none of the tokens that a mask allows. `where` begins the message."""
    return EmptyMaskError(
        f"{where}: each token that the grammar allows already has a score of -inf, or an id beyond the scores; check "
        "what has changed the scores before (min_length, bad words, ...) and the width of the model's output"
    )


class BatchError(EarleymaskError):
    """Some rows of a batch failed; all others are filled.

    Attributes:
        errors: the exception of each row that failed, by the index of its matcher. The first one is the `__cause__`.
    """

    def __init__(self, errors: Mapping[int, Exception]) -> None:
        self.errors = dict(errors)
        lines = "\n".join(f"  row {row}: {type(error).__name__}: {error}" for row, error in self.errors.items())
        rows = "1 row" if len(self.errors) == 1 else f"{len(self.errors)} rows"
        super().__init__(f"{rows} of the batch could not be filled; their masks allow no token:\n{lines}")

    def __reduce__(self) -> tuple[object, ...]:
        return BatchError, (self.errors,)
