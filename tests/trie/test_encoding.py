"""`Vocabulary.encode`: the tokenizer's own way, as the text continues another one, for each kind of tokenizer."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from earleymask import Matcher
from earleymask.trie import Vocabulary
from earleymask.trie.encoding import continuing
from support import vocabularies
from support.texts import TEXTS
from support.tiny_model import tiny_tokenizer


@pytest.mark.parametrize("name", vocabularies.NAMES)
def test_real_tokenizers(name: str) -> None:
    vocabulary, encoder = vocabularies.load(name), vocabularies.load_encoder(name)
    assert vocabulary.encode is not None
    for text in TEXTS.values():
        found = list(vocabulary.encode(text))
        if not encoder.prefix:
            assert found == encoder.encode(text)
        elif not text.startswith(" "):
            # SentencePiece puts a space before a text. With one in the text, it stands for that.
            assert list(vocabulary.encode(f" {text}")) == encoder.encode(text)
        assert vocabularies.spell(vocabulary, found) == text.encode()
    assert list(vocabulary.encode("")) == []


def test_special_tokens_in_a_text_are_text() -> None:
    vocabulary = Vocabulary.from_transformers(tiny_tokenizer())
    assert vocabulary.encode is not None
    for text in ("a</s>b", "<|eot|>", "in</s><|eot|>er"):
        assert vocabularies.spell(vocabulary, list(vocabulary.encode(text))) == text.encode()
    assert list(vocabulary.encode("in")) == list(vocabulary.encode("in</s>"))[:1]


def spaced(always: bool) -> Any:
    """Return a tokenizer of single bytes that puts a space before a text: always, or unless there is one."""
    return lambda text: list((text if not text or (text[:1] == " " and not always) else f" {text}").encode())


BYTES = [bytes([byte]) for byte in range(256)]


@pytest.mark.parametrize("always", [True, False])
@pytest.mark.parametrize("text", ["", "a", " a", "  a", " ", "\na", "é"])
def test_a_space_before_each_text_is_taken_away(always: bool, text: str) -> None:
    encode = continuing(spaced(always), BYTES)
    assert encode is not None and bytes(encode(text)) == text.encode()


def test_what_does_not_spell_a_letter_is_not_used() -> None:
    assert continuing(lambda text: list(text.upper().encode()), BYTES) is None
    assert continuing(lambda text: [999], BYTES) is None
    assert continuing(lambda text: list(f"  {text}".encode()), BYTES) is None

    def fail(text: str) -> list[int]:
        raise RuntimeError("no model")

    assert continuing(fail, BYTES) is None


def test_dropout_cuts_a_text_in_many_ways() -> None:
    tokenizer = tiny_tokenizer()
    assert Vocabulary.from_transformers(tokenizer).encode is not None
    tokenizer.backend_tokenizer.model.dropout = 0.5
    assert Vocabulary.from_transformers(tokenizer).encode is None


def test_an_equal_vocabulary_with_another_encode() -> None:
    plain = Vocabulary.from_tokens([b"a", b"b", b""], eos_token_id=2)
    assert plain.encode is None
    other = plain.with_encode(lambda text: ["ab".index(letter) for letter in text])
    assert other == plain and hash(other) == hash(plain) and other.fingerprint == plain.fingerprint
    assert other.trie is plain.trie and other.encode is not None and plain.encode is None
    assert Matcher('start: "ab"', other).forced_tokens() == [0, 1]
    assert other.with_encode(None).encode is None


def test_a_pickle_does_not_keep_it() -> None:
    vocabulary = Vocabulary.bytes()
    assert vocabulary.encode is not None and list(vocabulary.encode("é")) == [0xC3, 0xA9]
    again = pickle.loads(pickle.dumps(vocabulary))
    assert again == vocabulary and again.encode is None
