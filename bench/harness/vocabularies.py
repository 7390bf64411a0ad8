"""The vocabularies of the benches, each with the tokenizer that cuts the texts.

load("llama3")       -> (Vocabulary, Encode): a real vocabulary with its own tokenizer
load("small")        -> a made-up vocabulary for smoke tests, which needs no other package
load("made-up")      -> a larger made-up vocabulary, for counting instructions
load("united-65536") -> the first 65,536 ids of the union of three real vocabularies, for scaling
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from earleymask.trie import Vocabulary

from ..texts import families, words

Encode = Callable[[str], Sequence[int]]

NAMES = ("small", "made-up", "tekken", "llama3", "deepseek", "llama4")
UNITED = ("tekken", "llama4", "deepseek")


def load(name: str) -> tuple[Vocabulary, Encode]:
    """Return a vocabulary and its tokenizer. Without its package, raise an `ImportError` or skip the test."""
    if name == "small":
        return _of_pieces(_small_pieces())
    if name == "made-up":
        return _of_pieces(_made_up_pieces())
    if name.startswith("united-"):
        return united(int(name.removeprefix("united-")))
    encoder = _real().load_encoder(name)
    if encoder.prefix:
        raise ValueError(
            f"{name}: its tokenizer adds {encoder.prefix!r} to each text, so it cannot be used in the benches"
        )
    return _real().load(name), encoder.encode


def save(vocabulary: Vocabulary, path: Path) -> None:
    """Save a vocabulary for another process, which calls `load_saved` and needs no tokenizer."""
    path.write_bytes(pickle.dumps(vocabulary))


def load_saved(path: str | Path) -> Vocabulary:
    vocabulary = pickle.loads(Path(path).read_bytes())
    assert isinstance(vocabulary, Vocabulary)
    return vocabulary


def spelled(vocabulary: Vocabulary, encode: Encode, text: str) -> list[int]:
    """Return the ids of a text, and check that they spell it."""
    tokens = list(encode(text))
    if b"".join(map(vocabulary.token_bytes, tokens)) != text.encode():
        raise AssertionError("the tokenizer's ids do not spell the text")
    return tokens


def united(size: int) -> tuple[Vocabulary, Encode]:
    """Return the first `size` ids of the union of the vocabularies `UNITED`: all bytes, then their tokens in turns,
    each once.

    Tokenizers number tokens in the order in which they learned them, frequent ones first, so the beginning of the union
    resembles the vocabulary of a small tokenizer.
    """
    pieces = _united_pieces()
    if len(pieces) + 1 < size:
        raise ValueError(f"{', '.join(UNITED)} together have {len(pieces) + 1:,} ids, not {size:,}")
    kept = pieces[: size - 1]
    vocabulary = Vocabulary.from_tokens([*kept, b"<eos>"], eos_token_id=size - 1)
    return vocabulary, longest_match(kept)


@cache
def _united_pieces() -> tuple[bytes, ...]:
    listed: list[list[bytes]] = []
    for name in UNITED:
        vocabulary = _real().load(name)
        listed.append([vocabulary.token_bytes(i) for i in range(vocabulary.size)])
    return _distinct(token for turn in zip_longest(*listed, fillvalue=b"") for token in turn)


def longest_match(pieces: Sequence[bytes]) -> Encode:
    """Make a tokenizer that takes the longest token that fits; `pieces[i]` is the token `i`."""
    ids = {piece: i for i, piece in enumerate(pieces)}
    longest = max(map(len, pieces))

    def encode(text: str) -> Sequence[int]:
        data, at, found = text.encode(), 0, []
        while at < len(data):
            end = next(end for end in range(min(len(data), at + longest), at, -1) if data[at:end] in ids)
            found.append(ids[data[at:end]])
            at = end
        return found

    return encode


def _of_pieces(pieces: Sequence[bytes]) -> tuple[Vocabulary, Encode]:
    n = len(pieces)
    vocabulary = Vocabulary.from_tokens([*pieces, b"<eos>", b"<pad>"], eos_token_id=n, special_token_ids=[n + 1])
    return vocabulary, longest_match(pieces)


def _distinct(tokens: Iterable[bytes]) -> tuple[bytes, ...]:
    """Return all bytes, then these tokens without empty ones, each once."""
    return tuple(dict.fromkeys(token for token in chain((bytes([byte]) for byte in range(256)), tokens) if token))


def _small_pieces() -> tuple[bytes, ...]:
    """Return all bytes, the words of the texts with and without a space before them, and runs of punctuation and
    space."""
    spoken = [*_words(), "SELECT", "FROM", "return"]
    return _distinct(piece.encode() for piece in [*spoken, *(f" {word}" for word in spoken), *_runs(range(2))])


def _made_up_pieces() -> tuple[bytes, ...]:
    """Return some 16,000 tokens as a tokenizer might learn them: words, their beginnings and ends, in capitals,
    pairs."""
    spoken = _words()
    parts = [part for word in spoken for n in range(2, len(word)) for part in (word[:n], word[-n:])]
    cased = [form for word in [*spoken, *parts] for form in (word, word.capitalize(), word.upper())]
    pairs = [f"{one}_{other}" for one in words.VERBS for other in words.NOUNS[::4]]
    numbers = [f"{n:0{width}}" for width in (2, 3) for n in range(10**width)]
    blank = [f" {form}" for form in cased]
    return _distinct(piece.encode() for piece in [*cased, *blank, *pairs, *numbers, *_runs(range(4))])


def _words() -> list[str]:
    return [*words.NOUNS, *words.VERBS, *words.ADJECTIVES, *words.GLUE, *words.FOREIGN]


def _runs(seeds: Iterable[int]) -> list[str]:
    sample = "".join(families.generate(kind, seed, 2000) for seed in seeds for kind in families.FIRST)
    return re.findall(r"[^\w\s]{2,8}|\s{2,12}|\s?[^\w\s]{1,3}\s?|\d{2,3}", sample)


def _real() -> Any:
    from support import vocabularies  # in `tests/`, which `bench/__init__.py` put on sys.path

    return vocabularies
