"""Token bytes of mistral-common's tokenizers: `MistralTokenizer`, and the `Tekkenizer` or `SentencePieceTokenizer`
inside it.

Tekken is byte-level BPE over raw bytes with its special tokens in front (ids 0 to 999). A `Tekkenizer` gives the bytes
of every id by a public method. A `SentencePieceTokenizer` has no public way to distinguish byte pieces from text, so
its private model is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .encoding import continuing, encode_mistral
from .errors import VocabularyError
from .from_sentencepiece import read_sentencepiece
from .token_source import TokenSource

if TYPE_CHECKING:
    from mistral_common.tokens.tokenizers.mistral import MistralTokenizer
    from mistral_common.tokens.tokenizers.sentencepiece import SentencePieceTokenizer
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

__all__ = ["read_mistral"]


def read_mistral(tokenizer: MistralTokenizer | Tekkenizer | SentencePieceTokenizer) -> TokenSource:
    inner: Any = tokenizer
    if hasattr(inner, "instruct_tokenizer"):
        inner = inner.instruct_tokenizer.tokenizer
    if hasattr(inner, "id_to_byte_piece") and hasattr(inner, "special_ids"):
        return _read_tekken(inner)
    model: Any = getattr(inner, "_model", None)
    if hasattr(model, "id_to_piece"):
        return read_sentencepiece(model)
    raise VocabularyError(
        "from_mistral: expected a MistralTokenizer, Tekkenizer or SentencePieceTokenizer of mistral-common, "
        f"got {type(tokenizer).__name__}"
    )


def _read_tekken(tekken: Any) -> TokenSource:
    special_ids = frozenset(tekken.special_ids)
    names = {token_id: tekken.id_to_piece(token_id) for token_id in special_ids}
    tokens = [
        names[token_id].encode() if token_id in special_ids else tekken.id_to_byte_piece(token_id)
        for token_id in range(tekken.n_words)
    ]
    encode = continuing(encode_mistral(tekken), tokens)
    return TokenSource(tokens, special_ids, (tekken.eos_id,), names, encode=encode)
