"""The class quotient of a token trie equals a dictionary of paths, for made-up vocabularies and real ones."""

import gc
import pickle
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from earleymask.trie import VocabularyError
from earleymask.trie._quotient import Quotient, default_classes
from earleymask.trie._trie import NO_TOKEN, TokenTrie
from support import vocabularies

NO_NODE = 0xFFFFFFFF
Tables = dict[str, npt.NDArray[Any]]


def expected_tables(trie: TokenTrie, class_of: Sequence[int]) -> Tables:
    """Return what the quotient must contain: a node for each distinct path of classes, in the order of these paths.

    A tuple sorts before all tuples that it begins, so the sorted paths come depth first. Slow and obvious; never for
    production.
    """
    order = list(dict.fromkeys(class_of))
    class_of = [order.index(value) for value in class_of]
    paths: list[tuple[int, ...]] = []  # for each node of the trie
    parents: list[int] = []
    open_nodes = [NO_NODE]
    for index in range(trie.n_nodes):
        byte, depth, _, _ = trie.node(index)
        del open_nodes[depth:]
        parents.append(open_nodes[-1])
        paths.append((() if depth == 1 else paths[open_nodes[-1]]) + (class_of[byte],))
        open_nodes.append(index)
    nodes = sorted(set(paths))
    number = {path: q for q, path in enumerate(nodes)}
    members: list[list[int]] = [[] for _ in nodes]
    tokens: list[list[int]] = [[] for _ in nodes]
    skips, sizes = [0] * len(nodes), [0] * len(nodes)
    for index, path in enumerate(paths):
        _, _, token_id, skip = trie.node(index)
        members[number[path]].append(index)
        sizes[number[path]] += skip
        if token_id != NO_TOKEN:
            tokens[number[path]].append(token_id)
    for path in nodes:
        for length in range(1, len(path) + 1):
            skips[number[path[:length]]] += 1
    return {
        "class_of": np.array(class_of),
        "class_first": np.array([class_of.index(c) for c in range(len(order))]),
        "skips": np.array(skips),
        "depths": np.array([len(path) for path in nodes]),
        "classes": np.array([path[-1] for path in nodes]),
        "token_starts": np.cumsum([0, *map(len, tokens)]),
        "tokens": np.array([token_id for there in tokens for token_id in sorted(there)]),
        "member_starts": np.cumsum([0, *map(len, members)]),
        "members": np.array([index for there in members for index in there]),
        "sizes": np.array(sizes),
        "parents": np.array(parents),
        "quotient_of": np.array([number[path] for path in paths]),
    }


def assert_is_right(trie: TokenTrie, class_of: Sequence[int] | None = None) -> Quotient:
    quotient = Quotient(trie, class_of)
    quotient.check()
    tables = quotient.tables()
    for name, expected in expected_tables(trie, default_classes() if class_of is None else class_of).items():
        assert np.array_equal(tables[name], expected), name
    assert quotient.trie is trie
    assert quotient.n_nodes == len(tables["skips"])
    assert quotient.n_classes == len(tables["class_first"])
    assert_bitmaps_are_right(quotient, tables)
    sets = np.unpackbits(tables["class_bytes"].view(np.uint8), axis=1, bitorder="little")
    assert np.array_equal(sets.argmax(axis=0), tables["class_of"])
    assert (sets.sum(axis=0) == 1).all()
    assert_equal(Quotient(trie, arrays=quotient.arrays()), quotient)
    return quotient


def assert_bitmaps_are_right(quotient: Quotient, tables: Tables) -> None:
    """Each bitmap has the tokens of its node; nodes without a bitmap have fewer tokens than any with one."""
    n_tokens = np.diff(tables["token_starts"])
    has_one = tables["bitmap_of"] != NO_NODE
    assert sorted(tables["bitmap_of"][has_one]) == list(range(quotient.n_bitmaps))
    assert quotient.n_bitmaps <= 64
    assert n_tokens[has_one].min(initial=NO_NODE) > n_tokens[~has_one].max(initial=0)
    for q in np.flatnonzero(has_one):
        bits = np.unpackbits(tables["bitmaps"][tables["bitmap_of"][q]].view(np.uint8), bitorder="little")
        begin, end = tables["token_starts"][q : q + 2]
        assert np.array_equal(np.flatnonzero(bits), tables["tokens"][begin:end])


def assert_children_are_right(quotient: Quotient, nodes: Sequence[int | None]) -> None:
    """Each of the 256 children is right, for these nodes of the trie and for the root, None."""
    trie = quotient.trie
    for node in nodes:
        expected: list[int | None] = [None] * 256
        child, end = (0, trie.n_nodes) if node is None else (node + 1, node + trie.node(node)[3])
        while child < end:
            expected[trie.node(child)[0]] = child
            child += trie.node(child)[3]
        assert [quotient.find_child(node, byte) for byte in range(256)] == expected


def assert_equal(one: Quotient, other: Quotient) -> None:
    assert (one.n_nodes, one.n_classes, one.n_wide) == (other.n_nodes, other.n_classes, other.n_wide)
    for name, table in other.tables().items():
        assert np.array_equal(one.tables()[name], table), name


# Few letters of few classes merge many paths; signed and unsigned order differ at the bytes 0x80 and 0xFF.
FEW_BYTES = st.lists(st.sampled_from(b"abcdB0\x00\x7f\x80\x81\xff"), max_size=6).map(bytes)
VOCABULARIES = st.one_of(st.lists(FEW_BYTES, max_size=80), st.lists(st.binary(max_size=12), max_size=40))
PARTITIONS = st.one_of(
    st.none(),
    st.lists(st.integers(0, 3), min_size=256, max_size=256),
    st.integers(1, 255).map(lambda n: [byte * 7 % n for byte in range(256)]),
)


@given(VOCABULARIES, PARTITIONS)
@settings(max_examples=400)
def test_equals_the_dictionary_of_paths(tokens: list[bytes], class_of: list[int] | None) -> None:
    trie = TokenTrie(tokens)
    quotient = assert_is_right(trie, class_of)
    assert_children_are_right(quotient, [None, *range(min(trie.n_nodes, 20))])


@pytest.mark.parametrize(
    "tokens",
    [
        [],
        [b"", b""],
        [b"a"],
        [b"b", b"a", b"", b"b"],
        [b"ab", b"ba", b"aB", b"bA", b"b"],
        [bytes([byte]) for byte in range(256)],
        [bytes([a, b]) for a in range(256) for b in range(256)],
        [b"x" * length for length in range(0, 300, 7)],
    ],
    ids=lambda tokens: f"{len(tokens)} tokens" if len(tokens) > 5 else repr(tokens),
)
def test_small_cases(tokens: list[bytes]) -> None:
    trie = TokenTrie(tokens)
    quotient = assert_is_right(trie)
    assert_children_are_right(quotient, [None, *range(0, trie.n_nodes, 97)])


def test_the_longest_token() -> None:
    quotient = Quotient(TokenTrie([b"a" * 4095, b"b" * 4094]))
    quotient.check()
    assert quotient.n_nodes == 4095
    assert quotient.tables()["sizes"][:2].tolist() == [4095 + 4094, 4094 + 4093]


@pytest.mark.parametrize("name", vocabularies.NAMES)
def test_real_vocabularies(name: str) -> None:
    trie = vocabularies.load(name).trie
    quotient = assert_is_right(trie)
    chosen = random.Random(3).sample(range(trie.n_nodes), 200)
    most_children = np.bincount(quotient.tables()["parents"] + np.uint32(1))[1:].argsort()[-20:]
    assert_children_are_right(quotient, [None, *chosen, *map(int, most_children)])
    assert quotient.n_bitmaps > 0 and 20 < quotient.n_wide <= 256
    assert quotient.n_nodes < trie.n_nodes // 10


def test_more_full_nodes_than_bitmaps() -> None:
    """The fullest nodes get the bitmaps: 100 nodes have 256 tokens each, except that 60 of them have two fewer."""
    tokens = [bytes([a, b, c]) for a in range(100) for b in range(16) for c in range(16)]
    tokens = [token for token in tokens if token[0] < 40 or token[1:] not in (b"\0\0", b"\0\1")]
    class_of = [0] * 100 + [1] * 156
    assert assert_is_right(TokenTrie(tokens), class_of).n_bitmaps == 1
    quotient = assert_is_right(
        TokenTrie([bytes([100 + b, b]) for b in range(100)] + tokens), [*range(100), *[100] * 156]
    )
    assert quotient.n_bitmaps <= 64


def test_more_wide_nodes_than_lists() -> None:
    """Of 300 nodes with 30 children and 100 with 40, only the latter have their children listed."""
    tokens = [bytes([n >> 8, n & 0xFF, c]) for n in range(400) for c in range(30 if n < 300 else 40)]
    quotient = assert_is_right(TokenTrie(tokens))
    assert quotient.n_wide == 1 + 2 + 100
    assert_children_are_right(quotient, [None, *range(0, quotient.trie.n_nodes, 13)])


# -- classes -----------------------------------------------------------------------------------------------------------


def test_default_classes() -> None:
    """No class mixes bytes of two kinds: in UTF-8 or not, first or continuation, of one length or another."""
    class_of = default_classes()
    assert len(class_of) == 256 and len(set(class_of)) == 80
    for a, b in [("a", "z"), ("A", "Z"), ("0", "9")]:
        assert class_of[ord(a)] == class_of[ord(b)]
    for a, b in [("a", "A"), ("a", "0"), ("_", "-"), ('"', "\\"), (" ", "\n"), ("\x00", "\x01")]:
        assert class_of[ord(a)] != class_of[ord(b)]


def test_default_classes_follow_utf8() -> None:
    """Bytes of one class can be exchanged in any text without making it invalid UTF-8."""
    class_of = default_classes()
    alike = [[other for other in range(0x80, 256) if class_of[other] == class_of[byte]] for byte in range(256)]
    for text in [
        "\x80",
        "\u07ff",
        "\u0800",
        "\u0fff",
        "\u1000",
        "\ud7ff",
        "\ue000",
        "\uffff",
        "\U00010000",
        "\U000c0000",
    ]:
        for character in (text, "\U0010ffff"):
            data = character.encode()
            for place, byte in enumerate(data):
                for other in alike[byte]:
                    (data[:place] + bytes([other]) + data[place + 1 :]).decode()


@pytest.mark.parametrize(
    ("class_of", "message"),
    [(range(256), "more than 255 classes"), ([0] * 255, "expected 256 values"), (b"", "got 0")],
)
def test_wrong_classes(class_of: Sequence[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Quotient(TokenTrie([b"a"]), class_of)


def test_255_classes() -> None:
    quotient = assert_is_right(TokenTrie([bytes([byte]) for byte in range(256)]), [*range(255), 254])
    assert (quotient.n_classes, quotient.n_nodes) == (255, 255)


# -- saving, and refusing what is damaged ------------------------------------------------------------------------------


def test_pickles() -> None:
    quotient = Quotient(TokenTrie([b"ab", b"ba", b"c1", b""]))
    again = pickle.loads(pickle.dumps(quotient))
    again.check()
    assert_equal(again, quotient)


@given(VOCABULARIES.filter(any), PARTITIONS, st.data())
@settings(max_examples=400)
def test_damage_is_refused_or_harmless(tokens: list[bytes], class_of: list[int] | None, data: st.DataObject) -> None:
    """Any arrays are refused, or make a right quotient of their classes."""
    trie = TokenTrie(tokens)
    arrays = {name: array.copy() for name, array in Quotient(trie, class_of).arrays().items()}
    for _ in range(data.draw(st.integers(1, 3))):
        array = arrays[data.draw(st.sampled_from(sorted(arrays)))]
        place = data.draw(st.integers(0, len(array) - 1))
        array[place] = data.draw(
            st.one_of(
                st.integers(0, min(trie.n_nodes + 1, 255)), st.just(np.iinfo(array.dtype).max), st.just(array[-1])
            )
        )
    try:
        quotient = Quotient(trie, arrays=arrays)
    except VocabularyError:
        return
    quotient.check()
    assert_equal(quotient, Quotient(trie, list(arrays["class_of"])))


SAVED = Quotient(TokenTrie([b"ab", b"ba", b"c1", b"x", b"-"])).arrays()


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("class_of", SAVED["class_of"][:-1], "expected 256 values"),
        ("class_of", np.arange(256, dtype=np.uint8), "more than 255 classes"),
        ("class_of", np.zeros(256, np.uint8), "siblings are not in order"),
        ("members", None, "0 nodes merged into 4"),
        ("members", SAVED["members"].astype(np.int64), "ValueError"),
        ("members", SAVED["members"].reshape(1, -1), "ValueError"),
        ("members", SAVED["members"][:-1], "7 nodes merged into 4, for a token trie of 8 nodes"),
        ("member_starts", SAVED["member_starts"][:0], "for a token trie of 8 nodes"),
        ("member_starts", SAVED["member_starts"][:-1], "some members are in no node"),
        ("member_starts", np.zeros(5, np.uint32), "some members are in no node"),
        ("member_starts", np.zeros(100, np.uint32), "8 nodes merged into 99"),
    ],
)
def test_refused(name: str, array: npt.NDArray[Any] | None, message: str) -> None:
    with pytest.raises(VocabularyError, match=f"saved quotient: .*{message}.*build it anew"):
        Quotient(TokenTrie([b"ab", b"ba", b"c1", b"x", b"-"]), arrays=SAVED | {name: array})  # type: ignore[arg-type]


def test_missing_array() -> None:
    with pytest.raises(VocabularyError, match=r"saved quotient: KeyError\('members'\); build it anew"):
        Quotient(TokenTrie([]), arrays={"class_of": SAVED["class_of"]})


def test_of_another_vocabulary() -> None:
    """The quotient of another vocabulary is refused, even with as many nodes as the right one."""
    with pytest.raises(VocabularyError, match="belongs to another vocabulary or is damaged: build it anew"):
        Quotient(TokenTrie([b"ab", b"b1", b"c1", b"x", b"-"]), arrays=SAVED)


def test_classes_and_arrays() -> None:
    with pytest.raises(TypeError, match="give class_of or arrays, not both"):
        Quotient(TokenTrie([b"ab"]), bytes(256), arrays=SAVED)


# -- misuse, memory ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("node", "byte", "message"), [(-1, 0, "node -1 of"), (1, 0, "node 1 of"), (0, 256, "byte 256")]
)
def test_children_outside(node: int, byte: int, message: str) -> None:
    with pytest.raises((IndexError, ValueError), match=message):
        Quotient(TokenTrie([b"a"])).find_child(node, byte)


def test_learned_things_may_know_their_trie() -> None:
    """What a trie remembers usually refers to the trie; this cycle is collected."""
    gc.collect()
    trie = TokenTrie([b"ab"])
    trie.learned = Quotient(trie)
    before = sum(isinstance(thing, Quotient) for thing in gc.get_objects())
    del trie
    gc.collect()
    assert sum(isinstance(thing, Quotient) for thing in gc.get_objects()) == before - 1


def test_memory_is_counted() -> None:
    quotient = Quotient(TokenTrie([b"a" * 100, b"b" * 100]))
    assert 100 * 29 + 200 * 15 + 4 * 256 <= quotient.__sizeof__() < 16_800
