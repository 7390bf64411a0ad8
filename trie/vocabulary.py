"""A vocabulary: the bytes that each token id adds to the output text, the special ids, the trie over the text tokens.

The output text is the concatenation of token bytes. A grammar constrains this text. A tokenizer's `decode` may return
another one: decoders drop a leading space, tidy punctuation, or write U+FFFD for half a character.

Special tokens, EOS included, have no bytes here. So only ordinary tokens spell a text that looks like `<|eot_id|>`,
and a special token is allowed only where a grammar names it.

A vocabulary never changes, so threads and grammars share it. Making one takes about as long as sorting its tokens
(0.1 s for 131,072). Not here: how tokenizers are read (`from_*` modules), how the trie is walked (`earley/`).
"""

from __future__ import annotations

import builtins  # in the body of `Vocabulary`, `bytes` is its class method
import operator
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, SupportsIndex

from ._trie import TokenTrie
from .encoding import Encode
from .errors import VocabularyError
from .token_source import TokenSource

if TYPE_CHECKING:
    import os

    from mistral_common.tokens.tokenizers.mistral import MistralTokenizer
    from mistral_common.tokens.tokenizers.sentencepiece import SentencePieceTokenizer
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer
    from sentencepiece import SentencePieceProcessor
    from tiktoken import Encoding
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerBase

__all__ = ["Vocabulary"]

BYTES_EOS_ID = 256


class Vocabulary:
    """The tokens of one model. Immutable; threads may share it. Vocabularies with the same fingerprint are equal.

    Make one with `from_tokens`, `from_transformers`, `from_tiktoken`, `from_mistral`, `from_sentencepiece` or `bytes`.
    Most of them take these arguments:

    - `eos_token_id`: one id or several, in place of the tokenizer's own. Models often have more EOS ids than their
      tokenizer: give `model.generation_config.eos_token_id`.
    - `special_token_ids`: the special tokens, in place of the tokenizer's own choice. EOS ids are special in any case.
    - `size`: the number of logits, if the model has more logits than the tokenizer has ids (padded embeddings). It may
      also be smaller, if only special tokens other than EOS are beyond it.

    Raises `VocabularyError` if the arguments do not fit together. All but `from_tokens` and `bytes` give a
    `VocabularyWarning` if generation may go wrong: the model ends its turns with another token than EOS, for example.
    """

    __slots__ = (
        "__weakref__",
        "encode",
        "eos_token_ids",
        "fingerprint",
        "missing_bytes",
        "size",
        "special_token_ids",
        "special_tokens",
        "trie",
    )

    size: int
    """Ids are 0 .. size - 1, gaps and padding included."""
    eos_token_ids: tuple[int, ...]
    """Ascending. Empty for a vocabulary without EOS; no matcher can be made with that."""
    special_token_ids: frozenset[int]
    """Ids that text never matches. EOS ids are always among them."""
    special_tokens: Mapping[str, int]
    """Special tokens by name, as a grammar names them: `"<|eot_id|>"` -> 128009. Ids without a name are missing."""
    missing_bytes: builtins.bytes
    """The bytes for which there is no token of just that byte, ascending. If it is not empty, a grammar can lead to a
    position at which no token is allowed."""
    fingerprint: str
    """SHA-256 in hex of size, token bytes, special tokens with their names, and EOS ids. The same vocabulary has the
    same fingerprint in every process; vocabularies that could give different masks have different ones."""
    trie: TokenTrie
    """The text tokens as a prefix trie, for the mask walk."""
    encode: Encode | None
    """The tokenizer's own way from a text to ids, which `Matcher.forced_tokens` needs: no BOS or EOS, no special
    tokens, and no space that is not in the text. None if it is not known. It is not part of the fingerprint, since no
    mask depends on it, nor of a pickle, since a tokenizer cannot always be pickled: see `with_encode`."""

    def __init__(self, source: TokenSource, *, size: int | None = None) -> None:
        """Make a vocabulary from what a source module has read. Use one of the class methods instead if you can."""
        set_once = object.__setattr__
        tokens, special_ids, eos_ids = _fit(source, size)
        names = {}
        for token_id in sorted(special_ids, reverse=True):  # the smallest id keeps a name that several share
            name = source.names.get(token_id) or _readable(tokens[token_id], token_id)
            if name:
                names[name] = token_id
        for token_id in special_ids:
            tokens[token_id] = b""

        set_once(self, "size", len(tokens))
        set_once(self, "eos_token_ids", tuple(sorted(eos_ids)))
        set_once(self, "special_token_ids", special_ids)
        set_once(self, "special_tokens", MappingProxyType(dict(sorted(names.items(), key=lambda item: item[1]))))
        set_once(self, "trie", TokenTrie(tokens))
        set_once(self, "encode", source.encode)
        single = {token[0] for token in tokens if len(token) == 1}
        set_once(self, "missing_bytes", bytes(byte for byte in range(256) if byte not in single))
        set_once(self, "fingerprint", _fingerprint(tokens, special_ids, eos_ids, self.special_tokens))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"cannot set {name!r}: a Vocabulary never changes; make another one")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"cannot delete {name!r}: a Vocabulary never changes")

    # -- where token bytes come from -----------------------------------------------------------------------------------

    @classmethod
    def from_tokens(
        cls,
        tokens: Iterable[builtins.bytes],
        *,
        eos_token_id: SupportsIndex | Iterable[SupportsIndex] | None,
        special_token_ids: Iterable[SupportsIndex] = (),
        special_tokens: Mapping[str, int] | None = None,
        size: int | None = None,
        encode: Encode | None = None,
    ) -> Vocabulary:
        """Make a vocabulary from the bytes of each token, in the order of their ids; `b""` for ids that are never text.

        The ids in `special_token_ids` and `special_tokens` (name -> id) and EOS ids are special. The bytes of a special
        token are used only as its name, if `special_tokens` gives none. `encode`: the tokenizer's own way from a text
        to ids, see the attribute.
        """
        names = {} if special_tokens is None else {operator.index(i): name for name, i in special_tokens.items()}
        if special_tokens is not None and len(names) != len(special_tokens):
            raise VocabularyError("special_tokens: two names have the same id; keep the name that grammars use")
        special_ids = _ids("special_token_ids", special_token_ids) | frozenset(names)
        eos_ids = tuple(_ids("eos_token_id", eos_token_id))
        return cls(TokenSource(list(tokens), special_ids, eos_ids, names, encode=encode), size=size)

    @classmethod
    def from_transformers(
        cls,
        tokenizer: PreTrainedTokenizerBase | Tokenizer,
        *,
        eos_token_id: SupportsIndex | Iterable[SupportsIndex] | None = None,
        special_token_ids: Iterable[SupportsIndex] | None = None,
        size: int | None = None,
    ) -> Vocabulary:
        """Read a `transformers` tokenizer, fast or slow, or a `tokenizers.Tokenizer`.

        It can be byte-level BPE, or BPE or Unigram like SentencePiece's. WordPiece and other kinds are refused, because
        the bytes of their tokens depend on the tokens around them. If the model's embeddings are padded, give
        `size=model.config.vocab_size`.
        """
        from .from_transformers import read_transformers

        return cls._read(read_transformers(tokenizer), eos_token_id, special_token_ids, size)

    @classmethod
    def from_tiktoken(
        cls,
        encoding: Encoding,
        *,
        eos_token_id: SupportsIndex | Iterable[SupportsIndex] | None = None,
        special_token_ids: Iterable[SupportsIndex] | None = None,
        size: int | None = None,
    ) -> Vocabulary:
        """Read a `tiktoken.Encoding`.

        EOS is `<|endoftext|>` unless given. Llama 3 has no token of that name, so give its ids:
        `eos_token_id=[128001, 128008, 128009]`.
        """
        from .from_tiktoken import read_tiktoken

        return cls._read(read_tiktoken(encoding), eos_token_id, special_token_ids, size)

    @classmethod
    def from_mistral(
        cls,
        tokenizer: MistralTokenizer | Tekkenizer | SentencePieceTokenizer,
        *,
        eos_token_id: SupportsIndex | Iterable[SupportsIndex] | None = None,
        special_token_ids: Iterable[SupportsIndex] | None = None,
        size: int | None = None,
    ) -> Vocabulary:
        """Read a tokenizer of mistral-common, tekken or SentencePiece."""
        from .from_mistral import read_mistral

        return cls._read(read_mistral(tokenizer), eos_token_id, special_token_ids, size)

    @classmethod
    def from_sentencepiece(
        cls,
        model: SentencePieceProcessor | str | os.PathLike[str],
        *,
        eos_token_id: SupportsIndex | Iterable[SupportsIndex] | None = None,
        special_token_ids: Iterable[SupportsIndex] | None = None,
        size: int | None = None,
    ) -> Vocabulary:
        """Read a SentencePiece model: a loaded one, or the `.model` file at a path."""
        from .from_sentencepiece import read_sentencepiece

        return cls._read(read_sentencepiece(model), eos_token_id, special_token_ids, size)

    @classmethod
    def _read(
        cls,
        source: TokenSource,
        eos_token_id: SupportsIndex | Iterable[SupportsIndex] | None,
        special_token_ids: Iterable[SupportsIndex] | None,
        size: int | None,
    ) -> Vocabulary:
        """Make a vocabulary of what a source module has read, and warn of it if generation may go wrong."""
        from .traps import Made, warn

        vocabulary = cls(_override(source, eos_token_id, special_token_ids), size=size)
        made = Made(vocabulary.missing_bytes, vocabulary.eos_token_ids, vocabulary.special_tokens)
        warn(source, made, chosen=eos_token_id is not None)
        return vocabulary

    @classmethod
    def bytes(cls) -> Vocabulary:
        """Return the smallest complete vocabulary: ids 0 to 255 are the single bytes, 256 is EOS, named `<eos>`."""
        return cls.from_tokens(
            [bytes([byte]) for byte in range(256)],
            eos_token_id=BYTES_EOS_ID,
            special_tokens={"<eos>": BYTES_EOS_ID},
            size=BYTES_EOS_ID + 1,
            encode=lambda text: list(text.encode()),
        )

    def with_encode(self, encode: Encode | None) -> Vocabulary:
        """Return an equal vocabulary with this `encode`, or without one. They share all that is learned."""
        other = object.__new__(type(self))
        for name in self.__slots__:
            if name != "__weakref__":
                object.__setattr__(other, name, encode if name == "encode" else getattr(self, name))
        return other

    def with_eos(self, eos_token_id: SupportsIndex | Iterable[SupportsIndex]) -> Vocabulary:
        """Return a vocabulary with these EOS ids in place of its own, which stay special tokens.

        If none of them has a text, `Matcher(..., eos_token_ids=...)` does the same and makes no vocabulary. An id that
        has one loses it: it ends a sequence and is no part of the text.
        """
        return type(self).from_tokens(
            [self.token_bytes(token_id) for token_id in range(self.size)],
            eos_token_id=eos_token_id,
            special_token_ids=[*self.special_token_ids, *self.eos_token_ids],
            special_tokens=self.special_tokens,
            encode=self.encode,
        )

    # -- what it holds -------------------------------------------------------------------------------------------------

    def token_bytes(self, token_id: int) -> builtins.bytes:
        """Return the bytes that this token adds to the text; `b""` for special tokens, gaps and padding."""
        return self.trie.token_bytes(token_id)

    def stats(self) -> dict[str, int]:
        """Return sizes, and how much is remembered for all grammars over this vocabulary, in numbers and bytes."""
        learned = self.trie.learned
        return {
            "ids": self.size,
            "trie_nodes": self.trie.n_nodes,
            "trie_bytes": self.trie.__sizeof__(),
            **(learned.stats() if learned is not None else {}),
        }

    def __len__(self) -> int:
        return self.size

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        return (
            f"<Vocabulary of {self.size:,} ids: {self.trie.n_text_tokens:,} text tokens, "
            f"{len(self.special_token_ids):,} special, EOS {', '.join(map(str, self.eos_token_ids)) or 'none'}, "
            f"{self.fingerprint[:12]}>"
        )

    def __copy__(self) -> Vocabulary:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Vocabulary:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        tokens = [self.trie.token_bytes(token_id) for token_id in range(self.size)]
        names = {token_id: name for name, token_id in self.special_tokens.items()}
        return _unpickle, (TokenSource(tokens, self.special_token_ids, self.eos_token_ids, names), self.fingerprint)


def _unpickle(source: TokenSource, fingerprint: str) -> Vocabulary:
    vocabulary = Vocabulary(source)
    if vocabulary.fingerprint != fingerprint:
        raise VocabularyError(
            f"pickled vocabulary: its fingerprint is {vocabulary.fingerprint[:12]} after loading and was "
            f"{fingerprint[:12]} when saved; another version made it, or it is damaged: make it anew from its tokenizer"
        )
    return vocabulary


def _ids(what: str, given: SupportsIndex | Iterable[SupportsIndex] | None) -> frozenset[int]:
    """Return the ids that are given as None, as one id or as several (numpy and torch integers too)."""
    if given is None:
        return frozenset()
    if isinstance(given, str | bytes):
        raise VocabularyError(f"{what}: expected token ids, got {given!r}; look up its id first")
    try:
        if isinstance(given, Iterable) and getattr(given, "ndim", 1) > 0:
            return frozenset(operator.index(token_id) for token_id in given)
        return frozenset((operator.index(given),))  # type: ignore[arg-type]
    except TypeError as error:
        raise VocabularyError(f"{what}: expected token ids, got {given!r}") from error


def _override(
    source: TokenSource,
    eos_token_id: SupportsIndex | Iterable[SupportsIndex] | None,
    special_token_ids: Iterable[SupportsIndex] | None,
) -> TokenSource:
    """Return the source with the user's choice of EOS and special tokens in place of the tokenizer's."""
    if eos_token_id is not None:
        source = replace(source, eos_ids=tuple(_ids("eos_token_id", eos_token_id)))
    if special_token_ids is not None:
        source = replace(source, special_ids=_ids("special_token_ids", special_token_ids))
    return source


def _fit(source: TokenSource, size: int | None) -> tuple[list[bytes], frozenset[int], frozenset[int]]:
    """Return the tokens padded or cut to `size`, the special ids, EOS ids among them, and the EOS ids."""
    tokens = list(source.tokens)
    eos_ids = frozenset(source.eos_ids)
    special_ids = source.special_ids | eos_ids
    if size is None:
        size = len(tokens)
    size = operator.index(size)
    if size < len(tokens):
        cut = [i for i in range(max(size, 0), len(tokens)) if i in eos_ids or (tokens[i] and i not in special_ids)]
        if cut:
            kind = "EOS" if cut[0] in eos_ids else "text"
            raise VocabularyError(
                f"size {size:,} excludes {kind} token {cut[0]} ({tokens[cut[0]]!r}), the first of {len(cut):,} "
                f"text and EOS tokens beyond it: give size={len(tokens)} or more, or no size"
            )
        special_ids = frozenset(i for i in special_ids if i < size or i >= len(tokens))
        del tokens[size:]
    tokens.extend([b""] * (size - len(tokens)))
    for what, ids in ("EOS", eos_ids), ("special", special_ids):
        wrong = [token_id for token_id in sorted(ids) if not 0 <= token_id < size]
        if wrong:
            raise VocabularyError(
                f"{what} token id {wrong[0]} is not in a vocabulary of {size:,} ids (0 .. {size - 1}); "
                "give size= if the model has more logits than the tokenizer has ids"
            )
    return tokens, special_ids, eos_ids


def _readable(token: bytes, token_id: int) -> str:
    """Return the bytes of a special token as a name; "" if they are not UTF-8."""
    if not isinstance(token, bytes):
        raise VocabularyError(f"token {token_id}: expected bytes, got {type(token).__name__}; encode its name as UTF-8")
    try:
        return token.decode("utf-8")
    except UnicodeDecodeError:
        return ""


def _fingerprint(
    tokens: Sequence[bytes], special_ids: frozenset[int], eos_ids: frozenset[int], names: Mapping[str, int]
) -> str:
    """Return the SHA-256 of all that a mask depends on. Each part follows its length, so parts cannot run together."""
    import hashlib  # not at the top: it takes as long to import as the rest of this package

    digest = hashlib.sha256(b"earleymask vocabulary 1\n")
    for numbers in [list(map(len, tokens)), sorted(special_ids), sorted(eos_ids)]:
        digest.update(struct.pack(f"<Q{len(numbers)}I", len(numbers), *numbers))
    digest.update(b"".join(tokens))
    for name, token_id in names.items():
        encoded = name.encode("utf-8", "surrogatepass")
        digest.update(struct.pack("<QI", len(encoded), token_id) + encoded)
    return digest.hexdigest()
