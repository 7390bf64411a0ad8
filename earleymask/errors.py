"""Every error of the package in one place, and the two that belong to the public layer itself.

`except EarleymaskError` catches all of them. The lower layers define their own (`trie/errors.py`, `earley/errors.py`,
`grammar/errors.py`), because imports point one way.
"""

from __future__ import annotations

from collections.abc import Mapping

from .earley.errors import LimitError, RejectedTokenError
from .grammar.errors import GrammarError
from .trie.errors import EarleymaskError, VocabularyError

__all__ = [
    "BatchError",
    "EarleymaskError",
    "EmptyMaskError",
    "GrammarError",
    "LimitError",
    "RejectedTokenError",
    "VocabularyError",
]


class EmptyMaskError(EarleymaskError):
    """No token is left for a sequence to go on with: its scores would all be -inf, and their softmax NaN.

    Either the vocabulary cannot spell what the grammar needs (`Vocabulary.missing_bytes`), or something else (another
    logits processor, logits narrower than the vocabulary) had already excluded every token that the grammar allows.
    """


class BatchError(EarleymaskError):
    """Some rows of a batch failed; the others were filled.

    Attributes:
        errors: row index -> the exception that this row raised. The first of them is also the `__cause__`.
    """

    def __init__(self, errors: Mapping[int, Exception]) -> None:
        self.errors = dict(errors)
        lines = "\n".join(f"  row {row}: {type(error).__name__}: {error}" for row, error in self.errors.items())
        rows = "1 row" if len(self.errors) == 1 else f"{len(self.errors)} rows"
        super().__init__(f"{rows} of the batch could not be filled and are left empty:\n{lines}")

    def __reduce__(self) -> tuple[object, ...]:
        return BatchError, (self.errors,)
