"""Token bytes of a `tiktoken.Encoding`. Its tokens are bytes already; only gaps and special tokens need care."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .encoding import continuing, encode_tiktoken
from .errors import VocabularyError
from .token_source import TokenSource

if TYPE_CHECKING:
    import tiktoken

__all__ = ["read_tiktoken"]

END_OF_TEXT = "<|endoftext|>"  # `eot_token` of tiktoken; other vocabularies name their EOS differently


def read_tiktoken(encoding: tiktoken.Encoding) -> TokenSource:
    if not all(hasattr(encoding, name) for name in ("n_vocab", "special_tokens_set", "decode_single_token_bytes")):
        raise VocabularyError(
            f"from_tiktoken: expected a tiktoken.Encoding, got {type(encoding).__name__}; "
            "use tiktoken.get_encoding(name), or the Encoding inside your tokenizer"
        )
    names = {_special_id(encoding, name): name for name in encoding.special_tokens_set}
    tokens = []
    for token_id in range(encoding.n_vocab):
        try:
            tokens.append(encoding.decode_single_token_bytes(token_id))
        except KeyError:  # a gap, as before the special tokens of cl100k_base
            tokens.append(b"")
    eos_ids = tuple(token_id for token_id, name in names.items() if name == END_OF_TEXT)
    encode = continuing(encode_tiktoken(encoding), tokens)
    return TokenSource(tokens, frozenset(names), eos_ids, names, encode=encode)


def _special_id(encoding: tiktoken.Encoding, name: str) -> int:
    token_id: int = encoding.encode_single_token(name)
    if encoding.is_special_token(token_id):
        return token_id
    # `encode_single_token` prefers an ordinary token with the same spelling, and there is one.
    # PERF: used for such names only, because `encode` builds a regex at each call: 12 s for the 256 names of Llama 3.
    (token_id,) = encoding.encode(name, allowed_special={name})
    return token_id
