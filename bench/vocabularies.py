"""The vocabularies of the benches, each with the tokenizer that cuts the texts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from earleymask.trie import Vocabulary

from . import texts
from .engines import Encode


def small() -> tuple[Vocabulary, Encode]:
    """A vocabulary made up for smoke tests, without downloads: every byte, the words of the texts with and without a
    blank before them, and runs of punctuation and white space. Its tokenizer takes the longest token that fits.
    """
    pieces: dict[bytes, int] = {bytes([byte]): byte for byte in range(256)}
    words = [*texts.NOUNS, *texts.VERBS, *texts.ADJECTIVES, *texts.GLUE, *texts.FOREIGN, "SELECT", "FROM", "return"]
    sample = "".join(texts.generate(kind, seed, 2000) for kind in texts.GENERATORS for seed in range(2))
    runs = re.findall(r"[^\w\s]{2,8}|\s{2,12}|\s?[^\w\s]{1,3}\s?|\d{2,3}", sample)
    for piece in [*words, *(f" {word}" for word in words), *runs]:
        pieces.setdefault(piece.encode(), len(pieces))
    vocabulary = Vocabulary.from_tokens(
        [*pieces, b"<eos>", b"<pad>"], eos_token_id=len(pieces), special_token_ids=[len(pieces) + 1]
    )
    longest = max(map(len, pieces))

    def encode(text: str) -> Sequence[int]:
        data, at, ids = text.encode(), 0, []
        while at < len(data):
            end = next(end for end in range(min(len(data), at + longest), at, -1) if data[at:end] in pieces)
            ids.append(pieces[data[at:end]])
            at = end
        return ids

    return vocabulary, encode


def load(name: str) -> tuple[Vocabulary, Encode]:
    """`small`, or a real vocabulary of the tests (`tests/vocabularies.py`) with its own tokenizer."""
    if name == "small":
        return small()
    import vocabularies  # tests/vocabularies.py: `bench/__init__.py` put that folder on sys.path

    encoder = vocabularies.load_encoder(name)
    if encoder.prefix:
        raise ValueError(f"{name}: its tokenizer adds {encoder.prefix!r} to a text; the benches want texts as they are")
    return vocabularies.load(name), encoder.encode


NAMES = ("small", "tekken", "llama3", "deepseek", "llama4")
