from ..trie._trie import TokenTrie
from ._engine import Engine

class Preparation:
    """The parts of the terminals of an engine over one vocabulary.

    `make()` makes those that are not there. It may be called from several threads and when there are matchers at work,
    which wait for one part at a time at most.
    """

    n_built: int
    """Parts made by `make`."""
    n_taken: int
    """Parts taken up from what was saved."""
    n_known: int
    """Parts that had been there before."""

    def __init__(self, engine: Engine, trie: TokenTrie) -> None: ...
    def make(self) -> None:
        """Make what is missing."""
