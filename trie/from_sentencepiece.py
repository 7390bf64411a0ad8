"""Token bytes of a SentencePiece model.

Control pieces (`<s>`, `</s>`, `[INST]`), the unknown piece and EOS are special: no text is encoded to a control
piece, and the unknown piece stands for text that is lost. Unused pieces are never text. All other pieces are text,
including user-defined symbols; in them, `▁` is a space.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .encoding import continuing, encode_sentencepiece
from .errors import VocabularyError
from .spelling import from_piece
from .token_source import TokenSource

if TYPE_CHECKING:
    import sentencepiece

__all__ = ["read_sentencepiece"]


def read_sentencepiece(model: sentencepiece.SentencePieceProcessor | str | os.PathLike[str]) -> TokenSource:
    """Read a loaded model, or the `.model` file at a path (which needs the `sentencepiece` package)."""
    if isinstance(model, str | os.PathLike):
        model = _load(os.fspath(model))
    if not all(hasattr(model, name) for name in ("get_piece_size", "id_to_piece", "is_control", "is_byte")):
        raise VocabularyError(
            "from_sentencepiece: expected a sentencepiece.SentencePieceProcessor or the path of a model, "
            f"got {type(model).__name__}"
        )
    tokens = []
    special_ids = set()
    names = {}
    for token_id in range(model.get_piece_size()):
        piece = model.id_to_piece(token_id)
        if model.is_unused(token_id):
            tokens.append(b"")
            continue
        tokens.append(from_piece(piece, byte_fallback=model.is_byte(token_id)))
        if model.is_control(token_id) or model.is_unknown(token_id):
            special_ids.add(token_id)
            names[token_id] = piece
    eos_id = model.eos_id()  # -1 if the model has none
    encode = continuing(encode_sentencepiece(model), tokens)
    return TokenSource(tokens, frozenset(special_ids), (eos_id,) if eos_id >= 0 else (), names, encode=encode)


def _load(path: str) -> sentencepiece.SentencePieceProcessor:
    try:
        from sentencepiece import SentencePieceProcessor
    except ImportError as error:
        raise VocabularyError(
            f"from_sentencepiece: reading {path!r} needs the sentencepiece package; pip install sentencepiece"
        ) from error
    try:
        return SentencePieceProcessor(model_file=path)
    except (OSError, RuntimeError) as error:
        raise VocabularyError(f"from_sentencepiece: {path!r} is not a readable SentencePiece model: {error}") from error
