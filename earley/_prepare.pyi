from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..trie._trie import TokenTrie
from ._engine import Engine

class Preparation:
    """The parts of the terminals of an engine over one vocabulary.

    `make()` makes those that are not there. It may be called from several threads and when there are matchers at work,
    which wait for one part at a time at most. With `saved`, as `arrays()` gave them for the same vocabulary and perhaps
    read from a file, it takes parts up instead where the records are of the same terminals. `VocabularyError` where
    they are of another vocabulary.
    """

    n_built: Final[int]
    """Parts that `make` made."""
    n_taken: Final[int]
    """Parts that it took up from what was saved."""
    n_known: Final[int]
    """Parts that had been there before."""

    def __init__(
        self, engine: Engine, trie: TokenTrie, saved: Mapping[str, npt.NDArray[Any]] | None = None
    ) -> None: ...
    @property
    def n_missing(self) -> int:
        """Parts that `make` would make."""

    @property
    def damaged(self) -> bool:
        """Whether `make` came to a record that is none; what followed was made."""

    def make(self) -> None:
        """Make what is missing."""

    def arrays(self) -> dict[str, npt.NDArray[np.unsignedinteger[Any]]]:
        """All of it, to be saved: the quotient's arrays, and `parts` (uint32). Makes what is missing."""
