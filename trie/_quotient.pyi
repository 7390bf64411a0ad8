from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ._trie import TokenTrie

def default_classes() -> bytes:
    """Return the classes of a quotient that is made without `class_of`: a value for each byte; bytes with equal values
    are one class."""

class Quotient:
    """A token trie in which nodes are merged if the paths to them have equal classes of bytes. Immutable; threads may
    share it.

    `class_of` has a value for each of the 256 bytes; bytes with equal values are one class. More than 255 classes are
    a `ValueError`. `arrays` is what `arrays()` gave for an equal trie, perhaps read from a file: nothing is grouped
    again, the arrays are compared with the trie, and `VocabularyError` is raised if they are not its quotient.

    Masks are made from the C side, described in `_quotient.pxd`. The methods here are for tests, and for saving.
    """

    trie: Final[TokenTrie]
    """The trie whose nodes were merged."""
    n_classes: Final[int]
    """Byte classes, numbered in order of their smallest bytes."""
    n_nodes: Final[int]
    """Nodes, the root not counted, in depth-first order, siblings in order of class."""
    n_bitmaps: Final[int]
    """Nodes that have a bitmap because many tokens end there."""
    n_wide: Final[int]
    """Nodes of the trie whose children are listed by byte because there are many; the root is one of them."""

    def __init__(
        self,
        trie: TokenTrie,
        class_of: Sequence[int] | None = None,
        *,
        arrays: Mapping[str, npt.NDArray[Any]] | None = None,
    ) -> None: ...
    def find_child(self, node: int | None, byte: int) -> int | None:
        """Return the child of a node of the trie (None: of its root) by this byte; None if there is none."""

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return what must be saved to make this quotient again, as read-only copies: `class_of` (uint8, 256 of them),
        `members` (uint32, one for each node of the trie) and `member_starts` (uint32, n_nodes + 1): the trie's nodes in
        node i are `members[member_starts[i]:member_starts[i + 1]]`, ascending."""

    def tables(self) -> dict[str, npt.NDArray[np.unsignedinteger[Any]]]:
        """Return read-only copies of all tables of `_quotient.pxd` except `wide`, by their names there. `bitmaps` has a
        row for each bitmap, `class_bytes` one for each class; 0xFFFFFFFF means none in `bitmap_of` and `parents`."""

    def check(self) -> None:
        """Raise `AssertionError` if an invariant of the tables does not hold; debug builds call this after building."""
