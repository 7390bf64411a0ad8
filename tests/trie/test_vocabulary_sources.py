"""Token bytes of small tokenizers made on the spot with `tokenizers`, `transformers`, `tiktoken` and `sentencepiece`.

For every supported kind, concatenated token bytes equal the text; every other kind is refused by name.
"""

import io
from pathlib import Path
from typing import Any

import pytest

from earleymask.trie import Vocabulary, VocabularyError
from earleymask.trie.spelling import byte_level_alphabet, from_byte_level, from_piece
from support import vocabularies
from support.texts import TEXTS
from support.vocabularies import spell

tokenizers = pytest.importorskip("tokenizers")
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers  # noqa: E402

CORPUS = [text for text in TEXTS.values() if "<s>" not in text] * 3
SPACE = "\u2581"


def train(model: Any, trainer: Any, **parts: Any) -> Tokenizer:
    tokenizer = Tokenizer(model)
    for name, part in parts.items():
        setattr(tokenizer, name, part)
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


def byte_level(**parts: Any) -> Tokenizer:
    """Make a tokenizer like GPT-2's, Llama 3's, Qwen's and most others."""
    trainer = trainers.BpeTrainer(
        vocab_size=500,
        special_tokens=["</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    parts = {
        "pre_tokenizer": pre_tokenizers.ByteLevel(add_prefix_space=False),
        "decoder": decoders.ByteLevel(),
        **parts,
    }
    return train(models.BPE(), trainer, **parts)


def llama_like(decoder: Any = None, **model: Any) -> Tokenizer:
    """Make one like Llama 2's, Mistral 7B's, Gemma's and Phi-3's: BPE over characters, byte fallback, spaces as `▁`."""
    alphabet = sorted({SPACE, *"abcdefghijklmnopqrstuvwxyz.,"})
    words = [SPACE + "the", "ing", "th", "the", "in", "ng"]
    merges = [("t", "h"), ("th", "e"), (SPACE, "the"), ("n", "g"), ("i", "ng"), ("i", "n")]
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *alphabet, *words]
    tokenizer = Tokenizer(
        models.BPE(
            vocab={piece: i for i, piece in enumerate(pieces)},
            merges=merges,
            unk_token="<unk>",
            fuse_unk=True,
            byte_fallback=True,
            **model,
        )
    )
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend(SPACE), normalizers.Replace(" ", SPACE)])
    tokenizer.decoder = decoder or decoders.Sequence(
        [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return tokenizer


def unigram(replacement: str = SPACE) -> Tokenizer:
    """Make one like T5's and XLM-R's, but without their normalizers."""
    trainer = trainers.UnigramTrainer(
        vocab_size=3000, special_tokens=["<unk>", "</s>"], unk_token="<unk>", show_progress=False
    )
    return train(
        models.Unigram(),
        trainer,
        pre_tokenizer=pre_tokenizers.Metaspace(replacement=replacement, prepend_scheme="always"),
        decoder=decoders.Metaspace(replacement=replacement, prepend_scheme="always"),
    )


def assert_round_trip(tokenizer: Tokenizer, vocabulary: Vocabulary, text: str, expected: str | None = None) -> None:
    encoding = tokenizer.encode(text, add_special_tokens=False)
    assert spell(vocabulary, encoding.ids).decode("utf-8", "backslashreplace") == (
        text if expected is None else expected
    )


# -- spelling ----------------------------------------------------------------------------------------------------------


def test_byte_level_alphabet() -> None:
    alphabet = byte_level_alphabet()
    assert sorted(alphabet.values()) == list(range(256))
    assert set(alphabet) == set(pre_tokenizers.ByteLevel.alphabet())
    assert (alphabet["Ġ"], alphabet["Ċ"], alphabet["a"], alphabet["é"], alphabet["Ń"]) == (0x20, 0x0A, 0x61, 0xE9, 0xAD)
    assert all(from_byte_level(character) == bytes([byte]) for character, byte in alphabet.items())


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ("Ġthe", b" the"),
        ("Ã©", "é".encode()),
        ("é", b"\xe9"),
        ("", b""),
        ("a b", b"a b"),  # the space is not in the byte-level alphabet, so the token is its own UTF-8
        ("é é", "é é".encode()),
        ("\xad", "\xad".encode()),
        ("<｜end▁of▁sentence｜>", "<｜end▁of▁sentence｜>".encode()),
    ],
)
def test_byte_level_tokens(token: str, expected: bytes) -> None:
    assert from_byte_level(token) == expected


@pytest.mark.parametrize(
    ("piece", "with_fallback", "without"),
    [
        ("▁the", b" the", b" the"),
        ("▁▁", b"  ", b"  "),
        ("a▁", b"a ", b"a "),
        ("<0x0A>", b"\n", b"<0x0A>"),
        ("<0xff>", b"\xff", b"<0xff>"),
        ("<0xE2>▁", b"<0xE2> ", b"<0xE2> "),
        ("<0x0A1>", b"<0x0A1>", b"<0x0A1>"),
        ("<0x٣٣>", "<0x٣٣>".encode(), "<0x٣٣>".encode()),
    ],
)
def test_pieces(piece: str, with_fallback: bytes, without: bytes) -> None:
    assert from_piece(piece, byte_fallback=True) == with_fallback
    assert from_piece(piece, byte_fallback=False) == without


# -- fast tokenizers: the decoder decides ------------------------------------------------------------------------------

BYTE_LEVEL_FORMS: dict[str, dict[str, Any]] = {
    "decoder": {},
    "decoder in a sequence": {"decoder": decoders.Sequence([decoders.ByteLevel(), decoders.Fuse()])},
    "pre-tokenizer only": {"decoder": None},
    "split before": {
        "pre_tokenizer": pre_tokenizers.Sequence(
            [pre_tokenizers.Split(Regex(r"\d{1,3}"), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        ),
        "decoder": None,
    },
}


@pytest.mark.parametrize("form", BYTE_LEVEL_FORMS.values(), ids=BYTE_LEVEL_FORMS)
def test_byte_level(form: dict[str, Any]) -> None:
    tokenizer = byte_level(**form)
    vocabulary = Vocabulary.from_transformers(tokenizer, eos_token_id=0)
    assert vocabulary.missing_bytes == b""
    assert dict(vocabulary.special_tokens) == {"</s>": 0}
    for text in TEXTS.values():
        assert_round_trip(tokenizer, vocabulary, text.replace("</s>", ""))


def test_prefix_space_of_byte_level() -> None:
    tokenizer = byte_level(pre_tokenizer=pre_tokenizers.ByteLevel(add_prefix_space=True))
    assert_round_trip(tokenizer, Vocabulary.from_transformers(tokenizer), "two words", " two words")


LLAMA_DECODERS = {
    "Llama": None,
    "Gemma": decoders.Sequence([decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]),
    "fused first": decoders.Sequence([decoders.ByteFallback(), decoders.Fuse(), decoders.Replace(SPACE, " ")]),
    "Metaspace": decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()]),
    "Metaspace only": decoders.Metaspace(),
    "nested": decoders.Sequence([decoders.Sequence([decoders.Replace(SPACE, " ")]), decoders.ByteFallback()]),
}


@pytest.mark.parametrize("decoder", LLAMA_DECODERS.values(), ids=LLAMA_DECODERS)
def test_sentencepiece_like(decoder: Any) -> None:
    tokenizer = llama_like(decoder)
    vocabulary = Vocabulary.from_transformers(tokenizer, eos_token_id=2)
    assert vocabulary.missing_bytes == b""
    assert dict(vocabulary.special_tokens) == {"<unk>": 0, "<s>": 1, "</s>": 2}
    assert vocabulary.token_bytes(3 + 0x0A) == b"\n"
    assert vocabulary.token_bytes(tokenizer.token_to_id(SPACE + "the")) == b" the"
    for text in TEXTS.values():
        # The tokenizer finds `<s>` in text, and reads `<0x0A>` as text, as it should; `▁` becomes a space.
        plain = text.replace("<s>", "").replace("</s>", "").replace("<unk>", "").replace(SPACE, "")
        assert_round_trip(tokenizer, vocabulary, plain, " " + plain)


def test_unigram_with_metaspace() -> None:
    tokenizer = unigram()
    vocabulary = Vocabulary.from_transformers(tokenizer, eos_token_id=1)
    assert dict(vocabulary.special_tokens) == {"<unk>": 0, "</s>": 1}
    for text in CORPUS:
        if not set(text) & {SPACE}:
            assert_round_trip(tokenizer, vocabulary, text, text if text.startswith(" ") else " " + text)
    assert vocabulary.missing_bytes, "no byte fallback: not every byte can be spelled, and the vocabulary says so"


def test_metaspace_with_another_symbol() -> None:
    tokenizer = unigram(replacement="_")
    vocabulary = Vocabulary.from_transformers(tokenizer)
    assert_round_trip(tokenizer, vocabulary, "The quick fox", " The quick fox")
    tokenizer.decoder = None
    assert Vocabulary.from_transformers(tokenizer) == vocabulary


def test_gaps_and_padding() -> None:
    tokenizer = Tokenizer(models.BPE(vocab={"a": 0, "Ġ": 5, "Ġa": 7}, merges=[("Ġ", "a")]))
    tokenizer.decoder = decoders.ByteLevel()
    vocabulary = Vocabulary.from_transformers(tokenizer, eos_token_id=6)
    assert [vocabulary.token_bytes(i) for i in range(vocabulary.size)] == [b"a", b"", b"", b"", b"", b" ", b"", b" a"]
    assert Vocabulary.from_transformers(tokenizer, size=100).size == 100


# -- added and special tokens ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [byte_level, llama_like])
def test_added_tokens_are_text_unless_special(make: Any) -> None:
    tokenizer = make()
    begin = tokenizer.get_vocab_size()
    tokenizer.add_tokens(["<think>", AddedToken("  ", normalized=False), AddedToken("é→ü", normalized=False)])
    tokenizer.add_special_tokens(["<|call|>", "<｜x▁y｜>"])
    vocabulary = Vocabulary.from_transformers(tokenizer, eos_token_id=begin + 3)
    assert [vocabulary.token_bytes(begin + i) for i in range(5)] == [b"<think>", b"  ", "é→ü".encode(), b"", b""]
    assert vocabulary.special_tokens["<|call|>"] == begin + 3
    assert vocabulary.special_tokens["<｜x▁y｜>"] == begin + 4
    text = "a<think>b  cé→üd"
    prefix = " " if make is llama_like else ""
    spelled = spell(vocabulary, tokenizer.encode(text).ids).decode()
    # The normalizer of Llama 2 puts `▁` before every stretch of text between added tokens.
    assert spelled.replace(" ", "") == text.replace(" ", "") and spelled.startswith(prefix + "a")


def test_added_tokens_that_look_byte_level() -> None:
    """`é` and `ü` are letters of the byte-level alphabet, but the added token `éü` is found in text literally. An added
    token that is in the model, too, keeps the model's spelling."""
    tokenizer = byte_level()
    begin, known = tokenizer.get_vocab_size(), tokenizer.token_to_id("Ġt")
    tokenizer.add_tokens(["éü", "Ġt"])
    assert (tokenizer.token_to_id("éü"), tokenizer.token_to_id("Ġt")) == (begin, known)
    vocabulary = Vocabulary.from_transformers(tokenizer)
    assert vocabulary.token_bytes(begin) == "éü".encode()
    assert vocabulary.token_bytes(known) == b" t"
    assert_round_trip(tokenizer, vocabulary, "x éü é t")


def test_overrides() -> None:
    tokenizer = byte_level()
    begin = tokenizer.get_vocab_size()
    tokenizer.add_tokens(["<think>"])
    tokenizer.add_special_tokens(["<|call|>"])
    vocabulary = Vocabulary.from_transformers(tokenizer, eos_token_id=[0], special_token_ids=[begin], size=begin + 10)
    assert vocabulary.special_token_ids == {0, begin}
    assert dict(vocabulary.special_tokens) == {"</s>": 0, "<think>": begin}
    assert vocabulary.token_bytes(begin) == b""
    assert vocabulary.token_bytes(begin + 1) == b"<|call|>", "no longer special, so text, as it is written"
    assert Vocabulary.from_transformers(tokenizer, eos_token_id=0, special_token_ids=[]).special_token_ids == {0}


# -- refused by name ---------------------------------------------------------------------------------------------------


class Backwards:
    """A decoder written in Python, about which nothing is known."""

    def decode_chain(self, tokens: list[str]) -> list[str]:
        return tokens[::-1]


def word_piece() -> Tokenizer:
    return Tokenizer(models.WordPiece(vocab={"[UNK]": 0, "a": 1, "##b": 2}, unk_token="[UNK]"))


def with_decoder(decoder: Any) -> Tokenizer:
    return llama_like(decoder)


REFUSED = {
    "WordPiece": (word_piece, "WordPiece"),
    "WordLevel": (lambda: Tokenizer(models.WordLevel(vocab={"[UNK]": 0, "a": 1}, unk_token="[UNK]")), "WordLevel"),
    "suffix": (
        lambda: Tokenizer(models.BPE(vocab={"a</w>": 0}, merges=[], end_of_word_suffix="</w>")),
        "end_of_word_suffix '</w>'",
    ),
    "prefix": (
        lambda: Tokenizer(models.BPE(vocab={"##a": 0}, merges=[], continuing_subword_prefix="##")),
        "continuing_subword_prefix '##'",
    ),
    "no decoder": (lambda: Tokenizer(models.BPE(vocab={"a": 0}, merges=[])), "BPE model without decoder"),
    "WordPiece decoder": (lambda: with_decoder(decoders.WordPiece()), '"WordPiece"'),
    "BPEDecoder": (lambda: with_decoder(decoders.BPEDecoder()), '"BPEDecoder"'),
    "CTC": (lambda: with_decoder(decoders.CTC()), '"CTC"'),
    "Strip on every token": (
        lambda: with_decoder(decoders.Sequence([decoders.Strip(" ", 1, 0), decoders.Fuse()])),
        '"Strip"',
    ),
    "Replace with a regex": (lambda: with_decoder(decoders.Replace(Regex("a+"), "b")), '"Regex": "a\\+"'),
    "Replace across tokens": (
        lambda: with_decoder(decoders.Sequence([decoders.Fuse(), decoders.Replace("ab", "c")])),
        '"String": "ab"',
    ),
    "ByteLevel, then more": (
        lambda: with_decoder(decoders.Sequence([decoders.ByteLevel(), decoders.Replace("a", "b")])),
        '"ByteLevel"',
    ),
    "Python decoder": (lambda: with_decoder(decoders.Decoder.custom(Backwards())), "decoder of type Decoder"),
}


@pytest.mark.parametrize(("make", "name"), REFUSED.values(), ids=REFUSED)
def test_refused_by_name(make: Any, name: str) -> None:
    with pytest.raises(VocabularyError, match=f"from_transformers: .*{name}.* Vocabulary.from_tokens instead"):
        Vocabulary.from_transformers(make())


READERS = ["from_transformers", "from_tiktoken", "from_mistral", "from_sentencepiece"]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("wrong", [None, 3, b"x", {"a": 1}, io.StringIO()], ids=lambda wrong: type(wrong).__name__)
def test_things_that_are_no_tokenizers(reader: str, wrong: Any) -> None:
    with pytest.raises(VocabularyError, match=f"{reader}: expected .*, got {type(wrong).__name__}"):
        getattr(Vocabulary, reader)(wrong)


# -- transformers ------------------------------------------------------------------------------------------------------


def test_transformers_fast_deepseek(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    backend = vocabularies.load_tokenizer("deepseek")
    eos = "<｜end▁of▁sentence｜>"
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, eos_token=eos)
    vocabulary = Vocabulary.from_transformers(tokenizer)
    assert vocabulary == vocabularies.load("deepseek")
    tokenizer.save_pretrained(tmp_path)
    again = transformers.PreTrainedTokenizerFast.from_pretrained(tmp_path)
    assert Vocabulary.from_transformers(again) == vocabulary
    padded = Vocabulary.from_transformers(tokenizer, size=129_536, eos_token_id=[1, 128_805])
    assert (padded.size, padded.eos_token_ids) == (129_536, (1, 128_805))
    for text in TEXTS.values():
        assert spell(vocabulary, tokenizer.encode(text, add_special_tokens=False)).decode() == text


def test_special_tokens_that_are_not_added_tokens() -> None:
    """`pad_token` and the like are special even if the tokenizer's file does not list them as added."""
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=byte_level(), eos_token="</s>", pad_token="<pad>", additional_special_tokens=["<|call|>"]
    )
    vocabulary = Vocabulary.from_transformers(tokenizer)
    assert vocabulary.eos_token_ids == (0,)
    assert dict(vocabulary.special_tokens) == {
        "</s>": 0,
        "<pad>": tokenizer.convert_tokens_to_ids("<pad>"),
        "<|call|>": tokenizer.convert_tokens_to_ids("<|call|>"),
    }


def test_transformers_around_mistral_common() -> None:
    transformers = pytest.importorskip("transformers")
    if not hasattr(transformers, "MistralCommonBackend"):
        pytest.skip("needs transformers 5")
    for name in ("tekken", "mistral-spm-32k"):
        path = vocabularies.load_tokenizer(name).instruct_tokenizer.tokenizer.file_path
        assert Vocabulary.from_transformers(transformers.MistralCommonBackend(path)) == vocabularies.load(name)


def test_processors_contain_a_tokenizer() -> None:
    class Processor:
        tokenizer = pytest.importorskip("transformers").PreTrainedTokenizerFast(
            tokenizer_object=byte_level(), eos_token="</s>"
        )

    assert Vocabulary.from_transformers(Processor()) == Vocabulary.from_transformers(Processor.tokenizer)


def slow_tokenizer(spelling: str) -> Any:
    """Make a slow tokenizer like those of transformers 4 for GPT-2 ("byte-level") and CLIP ("suffix")."""
    transformers = pytest.importorskip("transformers")
    alphabet = byte_level_alphabet()
    end = "</w>" if spelling == "suffix" else ""
    known = {character + end: i for i, character in enumerate(alphabet)}

    class Slow(transformers.PreTrainedTokenizer):  # type: ignore[misc,name-defined]
        vocab_size = 300
        byte_decoder = alphabet

        def get_vocab(self) -> dict[str, int]:
            return {**known, **self.added_tokens_encoder}

        def _tokenize(self, text: str, **_: Any) -> list[str]:
            written = {byte: character for character, byte in alphabet.items()}
            return [written[byte] + end for byte in text.encode()]

        def _convert_token_to_id(self, token: str) -> int | None:
            return known.get(token)

        def _convert_id_to_token(self, token_id: int) -> str:
            return list(known)[token_id]  # IndexError for ids 256 to 299: a gap

        def convert_tokens_to_string(self, tokens: list[str]) -> str:
            if spelling == "suffix":
                return "".join(tokens).replace(end, " ").strip()
            return bytes(alphabet[c] for c in "".join(tokens)).decode("utf-8", "replace")

    return Slow(eos_token=AddedToken("</s>", special=True))


def test_slow_byte_level() -> None:
    tokenizer = slow_tokenizer("byte-level")
    tokenizer.add_tokens(["<think é>"])
    vocabulary = Vocabulary.from_transformers(tokenizer)
    eos_id, think_id = tokenizer.eos_token_id, tokenizer.convert_tokens_to_ids("<think é>")
    assert eos_id >= 256
    assert dict(vocabulary.special_tokens) == {"</s>": eos_id}
    assert vocabulary.token_bytes(think_id) == "<think é>".encode()
    assert [vocabulary.token_bytes(i) for i in range(256)] == [bytes([byte]) for byte in byte_level_alphabet().values()]
    for text in TEXTS.values():
        plain = text.replace("</s>", "")
        ids = tokenizer.encode(plain, add_special_tokens=False)
        assert spell(vocabulary, ids).decode() == plain


def test_slow_tokenizers_around_tiktoken() -> None:
    """As in Qwen 1, ordinary tokens are bytes and special ones text, and no list has the latter as added tokens."""
    transformers = pytest.importorskip("transformers")
    made = encoding({})

    class Slow(transformers.PreTrainedTokenizer):  # type: ignore[misc,name-defined]
        vocab_size = 260
        special = ("<|endoftext|>", "<|im_end|>")

        def get_vocab(self) -> dict[Any, int]:
            return {made.decode_single_token_bytes(i): i for i in range(258)} | {
                "<|endoftext|>": 258,
                "<|im_end|>": 259,
            }

        def _convert_id_to_token(self, token_id: int) -> str | bytes:
            return self.special[token_id - 258] if token_id >= 258 else bytes(made.decode_single_token_bytes(token_id))

    vocabulary = Vocabulary.from_transformers(Slow(), eos_token_id=259)
    assert [vocabulary.token_bytes(i) for i in (65, 255, 257, 258, 259)] == [b"A", b"\xff", b"the", b"", b""]
    assert dict(vocabulary.special_tokens) == {"<|endoftext|>": 258, "<|im_end|>": 259}


def test_slow_tokenizers_with_their_own_way_of_joining_are_refused() -> None:
    with pytest.raises(VocabularyError, match=r"slow tokenizer of type Slow .* decodes token \d+ \('.</w>'\) twice"):
        Vocabulary.from_transformers(slow_tokenizer("suffix"))


def test_slow_tokenizers_of_unknown_kind_are_refused() -> None:
    transformers = pytest.importorskip("transformers")
    with pytest.raises(
        VocabularyError, match=r"slow tokenizer of type CanineTokenizer .* neither a byte-level alphabet"
    ):
        Vocabulary.from_transformers(transformers.CanineTokenizer())


# -- sentencepiece -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def sentencepiece_model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    sentencepiece = pytest.importorskip("sentencepiece")
    path: Path = tmp_path_factory.mktemp("spm") / request.param
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([text for text in CORPUS if "\0" not in text] * 5),
        model_prefix=str(path),
        model_type=request.param,
        vocab_size=1200,
        byte_fallback=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        user_defined_symbols=["▁▁▁▁", "<think>"],
        control_symbols=["<|call|>"],
        pad_id=3,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    return path.with_suffix(".model")


def test_sentencepiece(sentencepiece_model: Path) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    model = sentencepiece.SentencePieceProcessor(model_file=str(sentencepiece_model))
    vocabulary = Vocabulary.from_sentencepiece(model)
    assert dict(vocabulary.special_tokens) == {"<unk>": 0, "<s>": 1, "</s>": 2, "<pad>": 3, "<|call|>": 4}
    assert vocabulary.eos_token_ids == (2,)
    assert vocabulary.token_bytes(model.piece_to_id("<think>")) == b"<think>"
    assert vocabulary.token_bytes(model.piece_to_id("▁▁▁▁")) == b"    "
    assert vocabulary.missing_bytes == b""
    for text in TEXTS.values():
        plain = text.replace(SPACE, "")
        assert spell(vocabulary, model.encode(plain)).decode() == " " + plain
    assert Vocabulary.from_sentencepiece(sentencepiece_model) == vocabulary
    assert Vocabulary.from_sentencepiece(str(sentencepiece_model), eos_token_id=[2, 4]).eos_token_ids == (2, 4)


def test_sentencepiece_in_slow_transformers(sentencepiece_model: Path) -> None:
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.GPTSw3Tokenizer(vocab_file=str(sentencepiece_model))
    vocabulary = Vocabulary.from_transformers(tokenizer, eos_token_id=2)
    plain = Vocabulary.from_sentencepiece(sentencepiece_model)
    assert {**plain.special_tokens, "<|endoftext|>": tokenizer.eos_token_id} == dict(vocabulary.special_tokens)
    assert all(vocabulary.token_bytes(i) == plain.token_bytes(i) for i in range(plain.size))


def test_sentencepiece_in_fast_transformers(sentencepiece_model: Path, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", minversion="5")
    pytest.importorskip("google.protobuf", reason="transformers reads .model files with protobuf")
    if "unigram" in sentencepiece_model.name:
        pytest.skip("Llama's tokenizer is BPE")
    (tmp_path / "tokenizer.model").write_bytes(sentencepiece_model.read_bytes())
    tokenizer = transformers.LlamaTokenizer.from_pretrained(tmp_path)
    assert tokenizer.is_fast
    assert Vocabulary.from_transformers(tokenizer) == Vocabulary.from_sentencepiece(sentencepiece_model)


def test_sentencepiece_unused_pieces_are_never_text() -> None:
    """No trainer makes unused pieces, but models have them, so a stand-in here has a piece of each kind."""

    class Model:
        pieces = (
            ("<unk>", "unknown"),
            ("</s>", "control"),
            ("▁a", "normal"),
            ("[x]", "unused"),
            ("<0x0A>", "byte"),
            ("<0x0B>", "normal"),
        )

        def get_piece_size(self) -> int:
            return len(self.pieces)

        def id_to_piece(self, i: int) -> str:
            return self.pieces[i][0]

        def eos_id(self) -> int:
            return 1

        def __getattr__(self, name: str) -> Any:
            return lambda i: self.pieces[i][1] == name.removeprefix("is_")

    vocabulary = Vocabulary.from_sentencepiece(Model())  # type: ignore[arg-type]
    assert [vocabulary.token_bytes(i) for i in range(6)] == [b"", b"", b" a", b"", b"\n", b"<0x0B>"]
    assert dict(vocabulary.special_tokens) == {"<unk>": 0, "</s>": 1}


def test_sentencepiece_files_that_cannot_be_read(tmp_path: Path) -> None:
    pytest.importorskip("sentencepiece")
    with pytest.raises(
        VocabularyError, match=r"from_sentencepiece: '.*absent.model' is not a readable SentencePiece model"
    ):
        Vocabulary.from_sentencepiece(tmp_path / "absent.model")
    (tmp_path / "broken.model").write_bytes(b"\x99 not a protobuf")
    with pytest.raises(VocabularyError, match=r"from_sentencepiece: '.*broken.model' is not a readable"):
        Vocabulary.from_sentencepiece(tmp_path / "broken.model")


# -- tiktoken ----------------------------------------------------------------------------------------------------------


def encoding(special: dict[str, int], extra: dict[bytes, int] | None = None) -> Any:
    tiktoken = pytest.importorskip("tiktoken")
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"th": 256, b"the": 257} | (extra or {})
    return tiktoken.Encoding("test", pat_str=r"\w+|\W+", mergeable_ranks=ranks, special_tokens=special)


def test_tiktoken() -> None:
    made = encoding({"<|endoftext|>": 258, "<|call|>": 300})
    vocabulary = Vocabulary.from_tiktoken(made)
    assert vocabulary.size == 301
    assert vocabulary.eos_token_ids == (258,)
    assert dict(vocabulary.special_tokens) == {"<|endoftext|>": 258, "<|call|>": 300}
    assert vocabulary.token_bytes(257) == b"the"
    assert vocabulary.token_bytes(280) == b"", "a gap"
    for text in TEXTS.values():
        assert spell(vocabulary, made.encode_ordinary(text)).decode() == text


def test_tiktoken_without_its_usual_eos() -> None:
    assert Vocabulary.from_tiktoken(encoding({"<|end|>": 258})).eos_token_ids == ()
    assert Vocabulary.from_tiktoken(encoding({"<|end|>": 258}), eos_token_id=258).eos_token_ids == (258,)
    assert Vocabulary.from_tiktoken(encoding({})).special_token_ids == frozenset()


def test_tiktoken_ordinary_token_spelled_like_a_special_one() -> None:
    vocabulary = Vocabulary.from_tiktoken(encoding({"<x>": 259}, extra={b"<x>": 258}))
    assert vocabulary.token_bytes(258) == b"<x>"
    assert vocabulary.special_token_ids == {259}
    assert dict(vocabulary.special_tokens) == {"<x>": 259}
