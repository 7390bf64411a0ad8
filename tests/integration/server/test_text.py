"""The text of an answer does not depend on where its tokens are cut; a slow twin says what it is."""

from __future__ import annotations

import itertools
import random

import pytest

pytest.importorskip("torch")

from earleymask import Vocabulary
from earleymask.integration.server.sampling import Chosen
from earleymask.integration.server.text import Text


def twin(text: str, stops: tuple[str, ...]) -> tuple[str, bool]:
    """Return the text before the stop string that is complete first, and whether there is one."""
    for end in range(1, len(text) + 1):
        found = [stop for stop in stops if text[:end].endswith(stop)]
        if found:
            return text[: end - max(map(len, found))], True
    return text, False


def vocabulary_of(pieces: list[bytes]) -> Vocabulary:
    return Vocabulary.from_tokens([*pieces, b"</s>"], eos_token_id=len(pieces))


def written(text: Text, n: int) -> tuple[str, list[str]]:
    """Return the text of tokens 0 to n - 1, or up to a stop string, and the tokens of its entries."""
    found, entries = "", []
    for token in range(n):
        text.add(Chosen(token, -1.0, ()))
        piece, some = text.take()
        found += piece
        entries += [entry["token"] for _, entry in some]
        if text.is_stopped:
            break
    text.finish()
    piece, some = text.take()
    return found + piece, entries + [entry["token"] for _, entry in some]


STOPS = [(), ("b",), ("abc", "b"), ("aab",), ("ab", "ba"), ("abab", "bb"), ("é",), ("aé", "b")]


@pytest.mark.parametrize("stops", STOPS)
def test_every_text_in_every_cut(stops: tuple[str, ...]) -> None:
    rng = random.Random(0)
    for letters in itertools.product("abé", repeat=5):
        whole = "".join(letters)
        data = whole.encode()
        for _ in range(4):
            cuts = sorted(rng.sample(range(1, len(data)), rng.randint(0, 4)))
            pieces = [data[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]
            text = Text(vocabulary_of(pieces), stops)
            assert (written(text, len(pieces))[0], text.is_stopped) == twin(whole, stops), (whole, pieces)


def test_text_is_given_away_as_soon_as_it_is_certain() -> None:
    pieces = [b"x", b"en", b"d", b"<en", b"d>", b"y"]
    text = Text(vocabulary_of(pieces), ("<end>",))
    found = []
    for token in range(5):
        text.add(Chosen(token, None, ()))
        found.append(text.take()[0])
    assert found == ["x", "en", "d", "", ""] and text.is_stopped


def test_entries_are_those_of_tokens_that_begin_in_the_text() -> None:
    pieces = [b"ab", b"c<", b"e", b"nd>"]
    assert written(Text(vocabulary_of(pieces), ("<end>",)), 4) == ("abc", ["ab", "c<"])
    halves = ["é".encode()[:1], "é".encode()[1:], b"b"]
    assert written(Text(vocabulary_of(halves)), 3) == ("éb", ["\ufffd", "\ufffd", "b"])


def test_bytes_that_are_no_character() -> None:
    assert written(Text(vocabulary_of([b"a", b"\xff", b"\xc3"])), 3)[0] == "a\ufffd\ufffd"


def test_tokens_without_text_at_the_end_have_entries() -> None:
    vocabulary = Vocabulary.from_tokens([b"ab", b"", b"c", b"", b"", b""], eos_token_id=5)
    names = {1: "<1>", 3: "<3>", 4: "<4>"}
    assert written(Text(vocabulary, (), names), 5) == ("abc", ["ab", "<1>", "c", "<3>", "<4>"])
    assert written(Text(vocabulary, ("x",), names), 4) == ("abc", ["ab", "<1>", "c", "<3>"])
    assert written(Text(vocabulary, ("c",), names), 5) == ("ab", ["ab"])  # what a stop string has cut has none


def test_names_of_special_tokens_are_written_where_they_are_wanted() -> None:
    vocabulary = Vocabulary.from_tokens(
        [b"a", b"", b"", b"</s>"], eos_token_id=3, special_token_ids=[1, 2], special_tokens={"<x>": 1, "<y>": 2}
    )
    names = {1: "<x>", 2: "<y>"}
    for written_names, whole in (((), "a"), ({2}, "a<y>"), (names, "a<x><y>")):
        assert written(Text(vocabulary, (), names, written_names), 3) == (whole, ["a", "<x>", "<y>"])
