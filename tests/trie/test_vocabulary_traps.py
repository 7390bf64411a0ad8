"""Warnings about vocabularies with which generation goes wrong in silence."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import pytest

import earleymask
from earleymask import Grammar, Matcher, Vocabulary, VocabularyWarning
from earleymask.trie.spelling import byte_level_alphabet
from support import vocabularies

tokenizers = pytest.importorskip("tokenizers")
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers  # noqa: E402

ALPHABET = pre_tokenizers.ByteLevel.alphabet()


def byte_level(*specials: str, alphabet: Any = None, prefix_space: bool = False) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(initial_alphabet=sorted(ALPHABET) if alphabet is None else alphabet, vocab_size=300)
    tokenizer.train_from_iterator(["ab ab abc"], trainer)
    tokenizer.add_special_tokens([AddedToken(name, special=True) for name in specials])
    return tokenizer


class Chat:
    """What is read of a tokenizer of transformers."""

    all_special_ids = ()
    all_special_tokens = ()

    def __init__(self, backend: Tokenizer, eos: str, template: Any) -> None:
        self.backend_tokenizer = backend
        self.eos_token_id = backend.token_to_id(eos)
        self.chat_template = template


def told(tokenizer: Any, **options: Any) -> list[str]:
    """Return the warnings that making a vocabulary gives. They name the line of the caller."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        vocabulary = Vocabulary.from_transformers(tokenizer, **options)
    assert all(warning.category is VocabularyWarning and warning.filename == __file__ for warning in found)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pickle.loads(pickle.dumps(vocabulary)) == vocabulary
    return [str(warning.message) for warning in found]


CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"


def test_an_eos_with_which_no_turn_ends() -> None:
    backend = byte_level("<|endoftext|>", "<|im_start|>", "<|im_end|>")
    end, turn = backend.token_to_id("<|endoftext|>"), backend.token_to_id("<|im_end|>")
    base = Chat(backend, "<|endoftext|>", CHATML)
    said = (
        "EOS is <|endoftext|>, but a chat model ends its turn with <|im_end|>. Where a text may end, grammars allow "
        f"EOS and never <|im_end|>, so the model goes on. Give eos_token_id=[{end}, {turn}], or "
        f"model.generation_config.eos_token_id if that has {turn}"
    )
    assert told(base) == told(base, eos_token_id=end) == [said]
    assert told(Chat(backend, "<|endoftext|>", {"default": CHATML, "tool_use": "{{ x }}"})) == [said]
    # The way out, shown and taken: the mask then has the end of the turn.
    assert told(base, eos_token_id=[end, turn]) == []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pair = [Vocabulary.from_transformers(base, eos_token_id=ids) for ids in (end, [end, turn])]
    for vocabulary, allowed in zip(pair, (False, True), strict=True):
        matcher = Matcher(Grammar.from_lark('start: "a" "b"*'), vocabulary)
        assert matcher.accept(backend.token_to_id("a"))
        assert bool(matcher.mask()[turn]) == allowed
    assert told(Chat(backend, "<|im_end|>", CHATML)) == []


@pytest.mark.parametrize(
    ("specials", "eos", "template"),
    [
        (["<|end_of_text|>", "<|eot_id|>"], "<|end_of_text|>", None),  # a base model: no template, no turns
        (["<|end_of_text|>", "<|eot_id|>"], "<|end_of_text|>", "{{ m.content }}"),
        (["<|eot_id|>", "<|eom_id|>"], "<|eot_id|>", "x<|eot_id|>y<|eom_id|>"),
        (["<|return|>", "<|end|>"], "<|return|>", "x<|end|>y<|return|>"),  # turns end with the one, answers with both
        (["</s>"], "</s>", "[INST] x [/INST] y</s>"),
        (["</s>"], "</s>", "x<|im_end|>"),  # a text here, no token
    ],
)
def test_an_eos_that_is_quiet(specials: list[str], eos: str, template: str | None) -> None:
    assert told(Chat(byte_level(*specials), eos, template)) == []


def test_tokenizers_without_templates_have_the_names_of_their_tokens() -> None:
    assert told(byte_level("<|im_end|>", "</s>")) == []  # no EOS: no matcher can be made
    backend = byte_level("<|im_end|>", "</s>")
    assert told(backend, eos_token_id=backend.token_to_id("</s>")) == []  # the caller's own choice
    tiktoken = pytest.importorskip("tiktoken")
    ranks = {bytes([byte]): byte for byte in range(256)}
    for names, ends in ((["<|endoftext|>", "<|return|>"], "<|return|>"), (["<|endoftext|>", "<|fim|>"], "")):
        specials = {name: 256 + at for at, name in enumerate(names)}
        encoding = tiktoken.Encoding("own", pat_str=".", mergeable_ranks=ranks, special_tokens=specials)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            Vocabulary.from_tiktoken(encoding)
        assert [f"its turn with {ends}" in str(warning.message) for warning in found] == [True] * bool(ends)


def test_a_byte_level_tokenizer_without_a_full_alphabet() -> None:
    [said] = told(byte_level("</s>", alphabet=[character for character in ALPHABET if character not in "{}"]))
    assert said == (
        "no token is just one of these bytes: '{', '}'. Where a grammar demands one, no token may be allowed; train "
        "the tokenizer with initial_alphabet=ByteLevel.alphabet(), or use grammars that do not need them. "
        "`Vocabulary.missing_bytes` lists them"
    )
    [said] = told(byte_level("</s>", alphabet=["a"]))
    assert said.startswith(
        "no token is just one of these bytes: '\\x00', '\\x01', '\\x02', '\\x03', '\\x04', '\\x05' and "
    )
    # Bytes that no text in UTF-8 has may be missing.
    never = (0xC0, 0xC1, *range(0xF5, 0x100))
    alphabet = [character for character, byte in byte_level_alphabet().items() if byte not in never]
    assert told(byte_level("</s>", alphabet=alphabet)) == []


def test_a_tokenizer_that_puts_a_space_before_each_text() -> None:
    [said] = told(byte_level("</s>", prefix_space=True))
    assert said.startswith("the tokenizer puts a space before each text") and 'start: " "? answer' in said
    assert told(byte_level("</s>")) == []
    # The recipe: what `encode` gives for a sentence is then allowed.
    backend = byte_level("</s>", prefix_space=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", earleymask.VocabularyWarning)
        vocabulary = Vocabulary.from_transformers(backend, eos_token_id=backend.token_to_id("</s>"))
    ids = backend.encode("abc").ids
    assert Matcher(Grammar.from_lark('start: "abc"'), vocabulary).validate(ids) == 0
    assert Matcher(Grammar.from_lark('start: " "? answer\nanswer: "abc"'), vocabulary).validate(ids) == len(ids)


@pytest.mark.parametrize("name", vocabularies.NAMES)
def test_real_vocabularies_are_quiet(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", VocabularyWarning)
        vocabularies.load.__wrapped__(name)
