"""The token bytes of a real vocabulary, concatenated over an encoding, equal the encoded text."""

import base64
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from earleymask.trie import Vocabulary
from support import vocabularies
from support.texts import TEXTS
from support.vocabularies import spell

# SentencePiece has no code for NUL and for its own space symbol: it drops the first and reads the second as a space.
NOT_FOR_SENTENCEPIECE = {"\x00", "\u2581"}


def assert_round_trip(name: str, text: str) -> None:
    encoder = vocabularies.load_encoder(name)
    token_ids = encoder.encode(text)
    assert spell(vocabularies.load(name), token_ids).decode("utf-8", "backslashreplace") == encoder.prefix + text


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("name", vocabularies.NAMES)
def test_encodings_give_back_the_text(name: str, text: str) -> None:
    assert_round_trip(name, text)


@pytest.mark.parametrize("name", vocabularies.NAMES)
def test_a_long_text_gives_itself_back(name: str) -> None:
    assert_round_trip(name, "\n".join(TEXTS.values()) * 3)


@pytest.mark.parametrize("name", vocabularies.NAMES)
def test_nul_and_space_symbol(name: str) -> None:
    if name == "mistral-spm-32k":
        encoder, vocabulary = vocabularies.load_encoder(name), vocabularies.load(name)
        assert spell(vocabulary, encoder.encode("a\u2581b")) == b" a b"
    else:
        assert_round_trip(name, "a\u2581b\x00c \u2581\u2581 ▁x")


@pytest.mark.parametrize("name", vocabularies.NAMES)
def test_every_code_point(name: str) -> None:
    """This holds for every scalar value of the Basic Multilingual Plane, and every 16th above it, in texts of 4,096."""
    encoder, vocabulary = vocabularies.load_encoder(name), vocabularies.load(name)
    skipped = NOT_FOR_SENTENCEPIECE if name == "mistral-spm-32k" else set()
    codes = [*range(0xD800), *range(0xE000, 0x10000), *range(0x10000, 0x110000, 16)]
    for begin in range(0, len(codes), 4096):
        text = "".join(c for c in map(chr, codes[begin : begin + 4096]) if c not in skipped)
        assert spell(vocabulary, encoder.encode(text)) == (encoder.prefix + text).encode()


@pytest.mark.parametrize("name", vocabularies.NAMES)
def test_any_text(name: str) -> None:
    blocked = NOT_FOR_SENTENCEPIECE if name == "mistral-spm-32k" else set()
    alphabet = st.characters(exclude_categories=["Cs"], exclude_characters=sorted(blocked))

    @given(st.text(alphabet, min_size=1, max_size=200))
    @settings(max_examples=200)
    def check(text: str) -> None:
        assert_round_trip(name, text)

    check()


@pytest.mark.parametrize("name", ["tekken", "llama3", "llama4"])
def test_invalid_utf8_gives_itself_back(name: str) -> None:
    """This holds for invalid UTF-8, too, which a function of tiktoken, meant for its tests, splits into tokens."""
    tokenizer = vocabularies.load_tokenizer(name)
    encoding = tokenizer.instruct_tokenizer.tokenizer._model if name == "tekken" else tokenizer.model
    shift = 1000 if name == "tekken" else 0
    vocabulary = vocabularies.load(name)
    broken = [
        b"\xff",
        b"\xc3(",
        b"ab\xe2\x82",
        b"\xf0\x9f\x91 x",
        b"\xed\xa0\x80",
        b"\xc0\x80",
        b"\xf4\x90\x80\x80",
        bytes(range(256)),
    ]
    for data in broken:
        assert spell(vocabulary, [token_id + shift for token_id in encoding._encode_bytes(data)]) == data


@pytest.mark.parametrize("name", vocabularies.NAMES)
def test_a_character_may_be_spelled_byte_by_byte(name: str) -> None:
    """All single bytes are tokens, so no grammar over bytes has a dead end."""
    assert vocabularies.load(name).missing_bytes == b""


# -- against the files themselves --------------------------------------------------------------------------------------


def test_tekken_equals_its_file() -> None:
    vocabulary = vocabularies.load("tekken")
    tokenizer = vocabularies.load_tokenizer("tekken")
    path = Path(tokenizer.instruct_tokenizer.tokenizer.file_path)
    entries = json.loads(path.read_text(encoding="utf-8"))["vocab"][: vocabulary.size - 1000]
    assert vocabulary.size == 131_072
    assert [vocabulary.token_bytes(1000 + entry["rank"]) for entry in entries] == [
        base64.b64decode(entry["token_bytes"]) for entry in entries
    ]
    assert vocabulary.special_token_ids == set(range(1000))
    assert vocabulary.eos_token_ids == (2,)
    assert vocabulary.special_tokens["</s>"] == 2 and vocabulary.special_tokens["[TOOL_CALLS]"] == 9
    assert vocabulary.special_tokens["<SPECIAL_999>"] == 999


@pytest.mark.parametrize(("name", "size", "n_special"), [("llama3", 128_256, 256), ("llama4", 202_048, 2_048)])
def test_llama_equals_its_file(name: str, size: int, n_special: int) -> None:
    vocabulary = vocabularies.load(name)
    module = pytest.importorskip(f"llama_models.{name}.tokenizer")
    lines = Path(module.__file__).with_name("tokenizer.model").read_text().split("\n")
    pairs = [line.split() for line in lines if line]
    assert [vocabulary.token_bytes(int(rank)) for _, rank in pairs] == [base64.b64decode(token) for token, _ in pairs]
    assert vocabulary.size == size
    assert vocabulary.special_token_ids == set(range(size - n_special, size))
    assert len(vocabulary.special_tokens) == n_special
    assert len(vocabulary.eos_token_ids) == 3


def test_deepseek_roles() -> None:
    vocabulary = vocabularies.load("deepseek")
    assert vocabulary.size == 129_280
    assert vocabulary.eos_token_ids == (1,)
    assert vocabulary.special_tokens["<｜end▁of▁sentence｜>"] == 1
    assert vocabulary.token_bytes(1) == b""
    # Added tokens that are not declared special are text, spelled exactly as written, `▁` included.
    assert vocabulary.token_bytes(128_803) == "<｜User｜>".encode()
    assert vocabulary.token_bytes(128_807) == "<｜tool▁calls▁end｜>".encode()


def test_special_tokens_of_tekken_may_be_declared_text() -> None:
    tokenizer = vocabularies.load_tokenizer("tekken")
    vocabulary = Vocabulary.from_mistral(tokenizer, special_token_ids=range(9))
    assert vocabulary.special_token_ids == set(range(9))
    assert vocabulary.token_bytes(9) == b"[TOOL_CALLS]"


def test_mistral_sentencepiece_roles() -> None:
    vocabulary = vocabularies.load("mistral-spm-32k")
    assert vocabulary.size == 32_768
    assert vocabulary.eos_token_ids == (2,)
    assert {"<unk>", "<s>", "</s>", "[INST]", "[TOOL_CALLS]"} <= set(vocabulary.special_tokens)
    # Byte fallback gives a second id to bytes that are pieces, too; both are kept.
    assert vocabulary.token_bytes(771 + ord("A")) == b"A"
    pairs = vocabulary.trie.duplicate_pairs()
    assert len(pairs) == 125
    assert all(vocabulary.token_bytes(a) == vocabulary.token_bytes(b) for a, b in pairs)
