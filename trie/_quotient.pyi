from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ._trie import TokenTrie

def default_classes() -> bytes:
    """The partition of bytes that a quotient is made with unless told otherwise: a value for each byte, bytes with
    equal values being one class."""

class Quotient:
    """A token trie whose nodes are merged where the paths to them have equal classes of bytes, immutable and shared
    freely between threads.

    `class_of` has a value for each of the 256 bytes; those with equal values are one class, at most 255 in all
    (`ValueError`). With `arrays`, as `arrays()` gave them for an equal trie and perhaps read from a file, nothing is
    grouped anew; they are compared with the trie, and `VocabularyError` is raised where they are not its quotient.

    The C side, described in `_quotient.pxd`, serves what makes masks. What is here serves tests and the curious.
    """

    trie: Final[TokenTrie]
    """What was merged."""
    n_classes: Final[int]
    """Byte classes, numbered in order of their smallest bytes."""
    n_nodes: Final[int]
    """Nodes, the root not counted, in depth-first order, siblings in order of class."""
    n_bitmaps: Final[int]
    """Nodes of so many tokens that they have a bitmap."""
    n_wide: Final[int]
    """Nodes of the trie with so many children that these are listed by byte, the root among them."""

    def __init__(
        self,
        trie: TokenTrie,
        class_of: Sequence[int] | None = None,
        *,
        arrays: Mapping[str, npt.NDArray[Any]] | None = None,
    ) -> None: ...
    def find_child(self, node: int | None, byte: int) -> int | None:
        """The child of a node of the trie, or with None of its root, by this byte; None where there is none."""

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What has to be kept to make this quotient again: `class_of` (uint8, 256 of them), `members` (uint32, one for
        each node of the trie) and `member_starts` (uint32, n_nodes + 1): the trie's nodes in node i are
        `members[member_starts[i]:member_starts[i + 1]]`, ascending. Read-only copies."""

    def tables(self) -> dict[str, npt.NDArray[np.unsignedinteger[Any]]]:
        """Read-only copies of all tables of `_quotient.pxd` but `wide`, by their names there. `bitmaps` has a row for
        each bitmap, `class_bytes` one for each class; 0xFFFFFFFF stands for none in `bitmap_of` and `parents`."""

    def check(self) -> None:
        """Raise `AssertionError` where an invariant of the tables does not hold; debug builds call it after
        building."""
