from typing import Any, Final

NO_TOKEN: Final = -1

class TokenTrie:
    """The text tokens of one vocabulary as a flat prefix trie. Immutable; threads may share it.

    `tokens[t]` is the bytes of token `t`; `b""` stands for an id that is not text (gaps, special tokens, padding) and
    is not in the trie. Raises `VocabularyError` for a token of more than 4,095 bytes, more than 4,194,303 ids or more
    than 4,194,303 nodes.

    The mask walk reads the C side, described in `_trie.pxd`. The methods here are for tests.
    """

    n_nodes: Final[int]
    """Nodes, the root not counted: one for each distinct non-empty prefix of a token."""
    n_tokens: Final[int]
    """Ids are 0 .. n_tokens - 1."""
    n_words: Final[int]
    """32-bit words of a bitmask over all ids: ceil(n_tokens / 32)."""
    n_text_tokens: Final[int]
    """Ids with at least one byte, duplicates included."""
    n_duplicates: Final[int]
    """Ids spelled like a smaller id."""
    max_depth: Final[int]
    """Bytes of the longest text token; 0 without any."""
    learned: Any
    """What the layers above remember about this vocabulary, None at first. Not part of the trie's value: it is not
    pickled, and may be replaced by None at any time."""

    def __init__(self, tokens: list[bytes]) -> None: ...
    def token_bytes(self, token_id: int) -> bytes:
        """Return the bytes of a token, `b""` if it is not text."""

    def node(self, index: int) -> tuple[int, int, int, int]:
        """Return (byte, depth, token id or `NO_TOKEN`, skip) of a node. Depth 1 is a token's first byte; `index + skip`
        is the next node that is not below this one."""

    def packed_nodes(self) -> bytes:
        """Return a copy of all nodes, 8 bytes each in machine order: `numpy.frombuffer(..., numpy.uint64)`."""

    def duplicate_pairs(self) -> list[tuple[int, int]]:
        """Return (representative, duplicate) for each id spelled like a smaller id, which is in the trie."""

    def check(self) -> None:
        """Raise `AssertionError` if an invariant of the layout does not hold; debug builds call this after building."""
