from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..trie._trie import TokenTrie
from ._engine import Engine

class Preparation:
    """The parts of the terminals of an engine over one vocabulary.

    `make()` makes the parts that are missing. Several threads may call it, and matchers may be working; these wait for
    at most one part at a time. `saved` is what `arrays()` gave for the same vocabulary, perhaps read from a file: then
    parts are loaded instead of made if the records belong to the same terminals. Raises `VocabularyError` if `saved`
    belongs to another vocabulary. `examples`: engines with a text of one of their terminals; the parts of the states
    along the text are made.
    """

    n_built: Final[int]
    """The number of parts that `make` has made."""
    n_taken: Final[int]
    """The number of parts that it has loaded from what was saved."""
    n_known: Final[int]
    """The number of parts that were there before."""

    def __init__(
        self,
        engine: Engine,
        trie: TokenTrie,
        saved: Mapping[str, npt.NDArray[Any]] | None = None,
        examples: Iterable[tuple[Engine, bytes]] = (),
    ) -> None: ...
    @property
    def n_missing(self) -> int:
        """The number of parts that `make` would make."""

    @property
    def damaged(self) -> bool:
        """Whether `make` met a damaged record; the part of this record and all later parts were made."""

    def make(self) -> None:
        """Make the parts that are missing, or load them."""

    def arrays(self) -> dict[str, npt.NDArray[np.unsignedinteger[Any]]]:
        """Return what can be saved: the quotient's arrays, and `parts` (uint32). Makes missing parts first."""
