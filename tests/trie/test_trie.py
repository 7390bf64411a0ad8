"""The packed token trie equals a dictionary of prefixes, for made-up vocabularies and real ones."""

import pickle
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from earleymask.trie import VocabularyError
from earleymask.trie._trie import NO_TOKEN, TokenTrie
from support import vocabularies

Node = tuple[int, int, int, int]  # byte, depth, token id or NO_TOKEN, skip


def expected_nodes(tokens: list[bytes]) -> list[Node]:
    """Return what the trie must contain: one node for each distinct prefix, in byte order, parents before children.

    Byte strings sort in the order of a depth-first walk of their trie. Slow and obvious; never for production.
    """
    first_id: dict[bytes, int] = {}
    for token_id, token in enumerate(tokens):
        first_id.setdefault(token, token_id)
    prefixes = sorted({token[:length] for token in first_id for length in range(1, len(token) + 1)})
    skip = Counter(prefix[:length] for prefix in prefixes for length in range(1, len(prefix) + 1))
    return [(prefix[-1], len(prefix), first_id.get(prefix, NO_TOKEN), skip[prefix]) for prefix in prefixes]


def expected_duplicates(tokens: list[bytes]) -> list[tuple[int, int]]:
    first_id: dict[bytes, int] = {}
    pairs = []
    for token_id, token in enumerate(tokens):
        if token and first_id.setdefault(token, token_id) != token_id:
            pairs.append((first_id[token], token_id))
    return sorted(pairs)


def assert_is_right(tokens: list[bytes]) -> None:
    trie = TokenTrie(tokens)
    trie.check()
    assert [trie.node(index) for index in range(trie.n_nodes)] == expected_nodes(tokens)
    assert sorted(trie.duplicate_pairs()) == expected_duplicates(tokens)
    assert [trie.token_bytes(token_id) for token_id in range(len(tokens))] == tokens
    assert trie.n_tokens == len(tokens)
    assert trie.n_words == -(-len(tokens) // 32)
    assert trie.n_text_tokens == sum(map(bool, tokens))
    assert trie.n_duplicates == len(expected_duplicates(tokens))
    assert trie.max_depth == max(map(len, tokens), default=0)


def find(trie: TokenTrie, text: bytes) -> int:
    """Find the token spelled `text` as the mask walk does: down to a child, or over a subtree with `skip`."""
    token_id, index, end = NO_TOKEN, 0, trie.n_nodes
    for depth, byte in enumerate(text, start=1):
        while index < end and trie.node(index)[:2] != (byte, depth):
            index += trie.node(index)[3]
        if index >= end:
            return NO_TOKEN
        token_id = trie.node(index)[2]
        end = index + trie.node(index)[3]
        index += 1
    return token_id


# Few letters make many shared prefixes and duplicates; signed and unsigned order differ at the bytes 0 and 255.
FEW_BYTES = st.lists(st.sampled_from(b"ab\x00\x7f\x80\xff"), max_size=6).map(bytes)
VOCABULARIES = st.one_of(st.lists(FEW_BYTES, max_size=60), st.lists(st.binary(max_size=20), max_size=30))


@given(VOCABULARIES)
@settings(max_examples=500)
def test_equals_the_dictionary_of_prefixes(tokens: list[bytes]) -> None:
    assert_is_right(tokens)


@pytest.mark.parametrize(
    "tokens",
    [
        [],
        [b""],
        [b"", b"", b""],
        [b"a"],
        [b"\x00"],
        [b"b", b"a"],
        [b"abc", b"ab", b"a"],
        [b"a", b"a", b"", b"a"],
        [b"abc", b"b", b"abd"],
        [b"\xff\xff", b"\xff", b"\x00\x00", b"\x00"],
        [bytes([byte]) for byte in range(256)],
        [bytes([byte]) for byte in reversed(range(256))] * 2,
        [b"x" * length for length in range(600)],
        [b"a"] * 33,
    ],
    ids=lambda tokens: f"{len(tokens)} tokens" if len(tokens) > 4 else repr(tokens),
)
def test_small_cases(tokens: list[bytes]) -> None:
    assert_is_right(tokens)


@pytest.mark.parametrize("name", vocabularies.NAMES)
def test_real_vocabularies(name: str) -> None:
    vocabulary = vocabularies.load(name)
    assert_is_right([vocabulary.token_bytes(token_id) for token_id in range(vocabulary.size)])


@given(VOCABULARIES, st.one_of(FEW_BYTES, st.binary(max_size=4)))
@settings(max_examples=300)
def test_walking_finds_exactly_the_tokens(tokens: list[bytes], other: bytes) -> None:
    trie = TokenTrie(tokens)
    for text in {*tokens, other} - {b""}:
        assert find(trie, text) == (tokens.index(text) if text in tokens else NO_TOKEN)


def test_packed_nodes_have_the_documented_layout() -> None:
    """The bits are those that `_trie.pxd` promises, against which other extensions are compiled."""
    trie = TokenTrie([b"", b"ab", b"a\xff", b"ab"])
    packed = memoryview(trie.packed_nodes()).cast("Q")
    assert list(packed) == [
        ord("a") | 1 << 8 | 0 << 20 | 3 << 42,
        ord("b") | 2 << 8 | (1 + 1) << 20 | 1 << 42,
        0xFF | 2 << 8 | (2 + 1) << 20 | 1 << 42,
    ]


def test_pickles() -> None:
    trie = TokenTrie([b"ab", b"", b"a", b"ab"])
    assert trie.learned is None
    trie.learned = object()
    again = pickle.loads(pickle.dumps(trie))
    again.check()
    assert again.packed_nodes() == trie.packed_nodes()
    assert again.duplicate_pairs() == [(0, 3)]
    assert again.learned is None


# -- limits and misuse -------------------------------------------------------------------------------------------------


def test_the_longest_token() -> None:
    trie = TokenTrie([b"a", b"b" * 4095])
    trie.check()
    assert trie.max_depth == 4095
    with pytest.raises(VocabularyError, match=r"token 1: 4,096 bytes, limit 4,095 .* special_token_ids"):
        TokenTrie([b"a", b"b" * 4096])


def test_the_largest_vocabulary() -> None:
    trie = TokenTrie([b""] * 4_194_302 + [b"z"])
    trie.check()
    assert trie.node(0) == (ord("z"), 1, 4_194_302, 1)
    with pytest.raises(VocabularyError, match=r"vocabulary of 4,194,304 ids, limit 4,194,303"):
        TokenTrie([b""] * 4_194_304)


def test_the_largest_trie() -> None:
    """A trie in which one node's `skip` has every bit set works; one more node is refused."""

    def tokens_with(n_nodes: int) -> list[bytes]:
        tokens, made, number = [], 1, 0
        while made < n_nodes:
            length = min(4094, n_nodes - made)
            # The second and third byte distinguish the tokens; 256 of them share a second byte.
            tokens.append(b"r" + (number.to_bytes(2, "big") + bytes(length))[:length])
            made += length - (number % 256 != 0)
            number += 1
        return tokens

    tokens = tokens_with(4_194_303)
    trie = TokenTrie(tokens)
    assert trie.n_nodes == 4_194_303
    assert trie.node(0) == (ord("r"), 1, NO_TOKEN, 4_194_303)
    trie.check()
    with pytest.raises(VocabularyError, match=r"more than 4,194,303 nodes"):
        TokenTrie([*tokens, b"s"])


@pytest.mark.parametrize("wrong", ["a", bytearray(b"a"), None, 3])
def test_tokens_must_be_bytes(wrong: object) -> None:
    with pytest.raises(VocabularyError, match=f"token 1: expected bytes, got {type(wrong).__name__}"):
        TokenTrie([b"a", wrong])  # type: ignore[list-item]


@pytest.mark.parametrize("token_id", [-1, 2, 2**40])
def test_token_ids_outside_the_vocabulary(token_id: int) -> None:
    with pytest.raises(VocabularyError, match=f"token id {token_id} is not in this vocabulary of 2 ids"):
        TokenTrie([b"a", b"b"]).token_bytes(token_id)


@pytest.mark.parametrize("index", [-1, 1, 2**40])
def test_nodes_outside_the_trie(index: int) -> None:
    with pytest.raises(IndexError, match=f"node {index} of a trie of 1 nodes"):
        TokenTrie([b"a"]).node(index)
