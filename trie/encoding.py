"""A tokenizer's own way from text to ids, for a text that continues another one.

A grammar's text is an answer: it follows a prompt. Some tokenizers put a space before each text that they are given,
which is right for the beginning of a prompt alone; `continuing` takes it away. What a callable here returns may still
not spell the text, if the tokenizer normalises text for example. Those who use it compare the bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

__all__ = ["Encode", "continuing", "encode_mistral", "encode_sentencepiece", "encode_tiktoken", "encode_transformers"]

Encode: TypeAlias = Callable[[str], Sequence[int]]
"""Returns the ids of a text: no BOS or EOS, and no special token even if the text looks like one."""

MARKER = "\n"
"""What stands before a text while it is encoded, so that no space is put before it. Tokenizers that put one there know
the line feed as a byte, or as a token that joins nothing after it; if the tokens before the text differ, it is not
taken off."""


def continuing(encode: Encode, tokens: Sequence[bytes]) -> Encode | None:
    """Return a callable that encodes a text without the space that `encode` may put before it; None if `encode` does
    not work, or returns ids that do not spell a text of one letter.

    tokens: the bytes of each id.
    """
    try:
        alone, spaced = (b"".join([tokens[token] for token in encode(text)]) for text in ("a", " a"))
    except Exception:  # tokenizers fail in many ways; without one there are no forced tokens, and the error says so
        return None
    if alone == b"a":
        return encode
    if alone != b" a" or spaced not in (b" a", b"  a"):
        return None
    return _Unspaced(encode, always=spaced == b"  a")


class _Unspaced:
    """Encodes with a tokenizer that puts a space before a text: always, or unless it begins with one."""

    def __init__(self, encode: Encode, *, always: bool) -> None:
        self._encode = encode
        self._always = always

    def __call__(self, text: str) -> Sequence[int]:
        if text[:1] == " " and not self._always:
            return self._encode(text)
        if text[:1] == " " and text != " ":
            return self._encode(text[1:])
        if not text:
            return []
        marker, ids = list(self._encode(MARKER)), list(self._encode(MARKER + text))
        return ids[len(marker) :] if ids[: len(marker)] == marker else ids


def encode_tiktoken(encoding: Any) -> Encode:
    """Return the way of a `tiktoken.Encoding`."""
    ordinary: Encode = encoding.encode_ordinary
    return ordinary


def encode_sentencepiece(model: Any) -> Encode:
    """Return the way of a `SentencePieceProcessor`."""

    def encode(text: str) -> Sequence[int]:
        ids: list[int] = model.encode(text)
        return ids

    return encode


def encode_mistral(tokenizer: Any) -> Encode:
    """Return the way of a `Tekkenizer` or `SentencePieceTokenizer` of mistral-common."""

    def encode(text: str) -> Sequence[int]:
        ids: list[int] = tokenizer.encode(text, bos=False, eos=False)
        return ids

    return encode


def encode_transformers(tokenizer: Any, backend: Any | None) -> Encode | None:
    """Return the way of a tokenizer of `transformers` or `tokenizers`; `backend` is the `tokenizers.Tokenizer` inside
    it, None for slow tokenizers. None if it cuts the same text in different ways (BPE with dropout)."""
    if backend is None:

        def encode(text: str) -> Sequence[int]:
            ids: list[int] = tokenizer.encode(text, add_special_tokens=False)
            return ids

        return encode
    return None if getattr(backend.model, "dropout", None) else _Backend(backend)


class _Backend:
    """Encodes with a `tokenizers.Tokenizer`, which reads special tokens in a text unless told otherwise, and pads or
    truncates if it was told to: also by another call of the tokenizer, at any time."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend
        self._special = [token.content for token in backend.get_added_tokens_decoder().values() if token.special]
        self._plain: Any = None  # a copy that does none of this, made when it is needed

    def __call__(self, text: str) -> Sequence[int]:
        backend = self._backend
        if (
            backend.padding is not None
            or backend.truncation is not None
            or any(content in text for content in self._special)
        ):
            if self._plain is None:
                plain = type(backend).from_str(backend.to_str())
                plain.encode_special_tokens = True
                plain.no_padding()
                plain.no_truncation()
                self._plain = plain
            backend = self._plain
        ids: list[int] = backend.encode(text, add_special_tokens=False).ids
        return ids
