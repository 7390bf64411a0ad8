"""Token bytes of `transformers` tokenizers, fast and slow, and of a bare `tokenizers.Tokenizer`.

The decoder says how a token is spelled, or the pre-tokenizer if there is no decoder; the tokenizer's name is never used
to guess. A decoder that makes a token's text depend on its neighbours (WordPiece, CTC, a `</w>` suffix) gives no bytes
per token, so the tokenizer is refused, and the message names the decoder.

Added tokens are text unless they are declared special (`special=True`). If the model has no spelling of an added token,
its content is its text, because this is how the tokenizer finds it.

Neither library is imported: everything needed is read from the objects given.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from .encoding import continuing, encode_transformers
from .errors import VocabularyError
from .from_mistral import read_mistral
from .spelling import BYTE_PIECE, byte_level_alphabet, from_byte_level, from_piece
from .token_source import TokenSource

__all__ = ["read_transformers"]

Spell = Callable[[str], bytes]
WAY_OUT = "give the bytes of each token to Vocabulary.from_tokens instead"
N_CHECKED = 512  # the tokens of a slow tokenizer that are compared with its own decoder; they take a few milliseconds


def read_transformers(tokenizer: Any) -> TokenSource:
    inner = getattr(tokenizer, "tokenizer", None)
    if hasattr(inner, "instruct_tokenizer"):  # transformers' wrapper around mistral-common
        return read_mistral(inner)
    if hasattr(inner, "convert_ids_to_tokens"):  # a processor: tokenizer plus image or audio parts
        return read_transformers(inner)
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None:
        return _read_fast(backend, tokenizer)
    if hasattr(tokenizer, "get_added_tokens_decoder") and hasattr(tokenizer, "model"):
        return _read_fast(tokenizer, None)
    if hasattr(tokenizer, "convert_ids_to_tokens") and hasattr(tokenizer, "added_tokens_decoder"):
        return _read_slow(tokenizer)
    raise VocabularyError(
        f"from_transformers: expected a tokenizer of transformers or tokenizers, got {type(tokenizer).__name__}; "
        "from_tiktoken, from_mistral and from_sentencepiece read other kinds, from_tokens takes the bytes of each token"
    )


# -- fast tokenizers ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spelling:
    """How one tokenizer writes bytes: `model` for the model's own tokens, `added` for tokens that were added."""

    model: Spell
    added: Spell


def _read_fast(backend: Any, tokenizer: Any | None) -> TokenSource:
    """Read a backend; `tokenizer` is the transformers object around it, or None."""
    spelling = _fast_spelling(backend)
    vocabulary: dict[str, int] = backend.get_vocab(with_added_tokens=True)
    added: dict[int, Any] = backend.get_added_tokens_decoder()
    tokens = [b""] * (1 + max([*vocabulary.values(), *added], default=-1))
    for token, token_id in vocabulary.items():
        tokens[token_id] = spelling.model(token)
    for token_id, token in added.items():
        if backend.model.id_to_token(token_id) != token.content:
            tokens[token_id] = spelling.added(token.content)
    special_ids = {token_id for token_id, token in added.items() if token.special}
    unknown = vocabulary.get(getattr(backend.model, "unk_token", None) or "")
    if unknown is not None:
        special_ids.add(unknown)
    names = {token_id: token.content for token_id, token in added.items()}
    source = _with_roles(tokens, special_ids, names, tokenizer, backend)
    if spelling.model is not from_byte_level:
        return source
    return replace(source, is_byte_level=True, has_prefix_space=_has_prefix_space(backend))


def _has_prefix_space(backend: Any) -> bool:
    """Return whether a byte-level tokenizer puts a space before each text; False if that cannot be seen."""
    try:
        steps = list(_flat(_state(backend.pre_tokenizer, "pre-tokenizer"), "pretokenizers"))
    except VocabularyError:
        return False
    return any(step["type"] == "ByteLevel" and step.get("add_prefix_space", False) for step in steps)


def _fast_spelling(backend: Any) -> Spelling:
    """Return how the backend's decoder spells each token; refuse decoders that look at neighbours."""
    model, name = backend.model, type(backend.model).__name__
    for affix in "continuing_subword_prefix", "end_of_word_suffix":
        if getattr(model, affix, None):
            raise _refused(
                f"a {name} model with {affix} {getattr(model, affix)!r}",
                "whether spaces stand between tokens depends on their neighbours",
            )
    if name not in ("BPE", "Unigram"):
        raise _refused(f"a {name} model", "it splits words without saying where spaces are")
    steps = list(_flat(_state(backend.decoder, "decoder"), "decoders"))
    if not steps:
        steps = [
            step
            for step in _flat(_state(backend.pre_tokenizer, "pre-tokenizer"), "pretokenizers")
            if step["type"] in ("ByteLevel", "Metaspace")
        ]
    if not steps:
        raise _refused(
            f"a {name} model without decoder and without a ByteLevel or Metaspace pre-tokenizer",
            "its decoded text puts a space between any two tokens",
        )
    if steps[0]["type"] == "ByteLevel" and all(step["type"] in ("ByteLevel", "Fuse") for step in steps):
        return Spelling(from_byte_level, lambda content: content.encode("utf-8", "surrogatepass"))
    # A model with byte fallback writes bytes as `<0x0A>`, even if its decoder does not read them back.
    return _piecewise(steps, byte_fallback=bool(getattr(model, "byte_fallback", False)))


def _piecewise(steps: Iterable[dict[str, Any]], byte_fallback: bool) -> Spelling:
    """Follow a SentencePiece-like decoder over a single token: replacements of text, then byte fallback."""
    replacements: list[tuple[str, str]] = []
    fused = False
    for step in steps:
        kind = step["type"]
        if kind == "Metaspace":
            replacements.append((step["replacement"], " "))
        elif kind == "Replace" and "String" in step["pattern"] and (not fused or len(step["pattern"]["String"]) == 1):
            replacements.append((step["pattern"]["String"], step["content"]))
        elif kind == "ByteFallback":
            byte_fallback = True
        elif kind == "Fuse":
            fused = True
        elif kind == "Strip" and fused:
            pass  # removes the dummy prefix at the start of the whole text; the bytes of tokens stay
        else:
            raise _refused(
                f"a decoder with the step {json.dumps(step, ensure_ascii=False)}",
                "it makes a token's text depend on its neighbours",
            )

    def spell(token: str) -> bytes:
        if byte_fallback and BYTE_PIECE.fullmatch(token):
            return from_piece(token, byte_fallback=True)
        for old, new in replacements:
            token = token.replace(old, new)
        return token.encode("utf-8", "surrogatepass")

    return Spelling(spell, spell)


def _state(part: Any, what: str) -> dict[str, Any] | None:
    """Return the JSON form of a decoder or pre-tokenizer, as `tokenizers` pickles it."""
    if part is None:
        return None
    try:
        state = json.loads(part.__getstate__())
    except Exception as error:  # `tokenizers` raises bare Exception for parts written in Python
        raise _refused(f"a {what} of type {type(part).__name__}", "it cannot be inspected") from error
    assert isinstance(state, dict)
    return state


def _flat(state: dict[str, Any] | None, inner: str) -> Iterator[dict[str, Any]]:
    """Yield the steps of a decoder or pre-tokenizer, those of nested sequences one by one."""
    if state is None:
        return
    if state["type"] == "Sequence":
        for step in state[inner]:
            yield from _flat(step, inner)
    else:
        yield state


# -- slow tokenizers ---------------------------------------------------------------------------------------------------


def _read_slow(tokenizer: Any) -> TokenSource:
    added: dict[int, Any] = tokenizer.added_tokens_decoder
    largest = max([*tokenizer.get_vocab().values(), *added], default=-1)
    written = [_written(tokenizer, token_id, added) for token_id in range(largest + 1)]
    # Tokenizers around tiktoken (Qwen 1) give ordinary tokens as bytes, and special ones as text.
    is_bytes = any(isinstance(token, bytes) for token in written)
    spell = str.encode if is_bytes else _slow_spelling(tokenizer)
    special_ids = {token_id for token_id, token in added.items() if token.special}
    names = {token_id: str(token.content) for token_id, token in added.items()}
    tokens = []
    for token_id, token in enumerate(written):
        if token is None:
            tokens.append(b"")
        elif isinstance(token, bytes):
            tokens.append(token)
        elif token_id in added:
            tokens.append(token.encode("utf-8", "surrogatepass"))
        else:
            kind = "control" if is_bytes else _piece_kind(tokenizer, token)
            tokens.append(b"" if kind == "unused" else spell(token))
            if kind in ("control", "unknown"):
                special_ids.add(token_id)
                names[token_id] = token
    source = _with_roles(tokens, special_ids, names, tokenizer, None)
    _compare_with_decoder(tokenizer, written, source)
    return replace(source, is_byte_level=is_bytes or spell is from_byte_level)


def _written(tokenizer: Any, token_id: int, added: dict[int, Any]) -> str | bytes | None:
    """Return the token as its tokenizer writes it, None for a gap."""
    if token_id in added:
        return str(added[token_id].content)
    try:
        token = tokenizer.convert_ids_to_tokens(token_id)
    except (IndexError, KeyError):
        return None
    return token if isinstance(token, str | bytes) else None


def _slow_spelling(tokenizer: Any) -> Spell:
    if getattr(tokenizer, "byte_decoder", None) == byte_level_alphabet():
        return from_byte_level
    model: Any = getattr(tokenizer, "sp_model", None)
    if hasattr(model, "is_byte"):
        has_bytes = any(model.is_byte(piece_id) for piece_id in range(model.get_piece_size()))
        return lambda piece: from_piece(piece, byte_fallback=has_bytes)
    raise _refused(
        f"a slow tokenizer of type {type(tokenizer).__name__}",
        "it has neither a byte-level alphabet (byte_decoder) nor a SentencePiece model (sp_model)",
    )


def _piece_kind(tokenizer: Any, token: str) -> str:
    """Return what kind of token the SentencePiece model in a slow tokenizer says this is; "text" without a model.

    The tokenizer's ids may be shifted against the model's, so the token is looked up by its piece.
    """
    model: Any = getattr(tokenizer, "sp_model", None)
    if model is None:
        return "text"
    piece_id = model.piece_to_id(token)
    if model.id_to_piece(piece_id) != token:  # a token of the tokenizer that the model does not know
        return "text"
    if model.is_unused(piece_id):
        return "unused"
    if model.is_control(piece_id):
        return "control"
    return "unknown" if model.is_unknown(piece_id) else "text"


def _compare_with_decoder(tokenizer: Any, written: list[str | bytes | None], source: TokenSource) -> None:
    """Refuse a slow tokenizer that joins its tokens in its own way (CLIP's `</w>`, CPM's spaces).

    Spaces at both ends are not compared, because decoders drop them, nor are byte pieces, because older decoders write
    them as `<0x0A>`.
    """
    chosen = [
        token_id
        for token_id, token in enumerate(written)
        if isinstance(token, str)
        and token_id not in source.special_ids
        and token_id not in source.names
        and not BYTE_PIECE.fullmatch(token)
    ]
    for token_id in chosen[:: 1 + len(chosen) // N_CHECKED]:
        token = written[token_id]
        try:
            expected = (source.tokens[token_id] * 2).decode("utf-8")
        except UnicodeDecodeError:  # half a character
            continue
        decoded = tokenizer.convert_tokens_to_string([token, token])
        if decoded.strip(" ") != expected.strip(" "):
            raise _refused(
                f"a slow tokenizer of type {type(tokenizer).__name__}",
                f"it decodes token {token_id} ({token!r}) twice in a row as {decoded!r}, not as {expected!r}",
            )


# -- both --------------------------------------------------------------------------------------------------------------


def _with_roles(
    tokens: list[bytes], special_ids: set[int], names: dict[int, str], tokenizer: Any | None, backend: Any | None
) -> TokenSource:
    """Add what the transformers object says: EOS, and special tokens (`pad_token`, ...) that are no added tokens; and
    how it encodes text.

    Whether an added token is special, its own `special` says: transformers 5 also lists the user-defined symbols of
    SentencePiece models among `all_special_tokens`, and those are text.
    """
    eos_id = getattr(tokenizer, "eos_token_id", None)
    if tokenizer is not None:
        for token_id, name in zip(tokenizer.all_special_ids, tokenizer.all_special_tokens, strict=False):
            if token_id is not None and token_id not in names:
                special_ids.add(token_id)
                names[token_id] = str(name)
    eos_ids = () if eos_id is None else (eos_id,)
    found = encode_transformers(tokenizer, backend)
    encode = None if found is None else continuing(found, tokens)
    return TokenSource(tokens, frozenset(special_ids), eos_ids, names, encode=encode, template=_template(tokenizer))


def _template(tokenizer: Any | None) -> str | None:
    """Return the chat templates of a transformers object, one after the other; "" if it has none."""
    if tokenizer is None:
        return None
    found = getattr(tokenizer, "chat_template", None)
    templates = list(found.values()) if isinstance(found, dict) else [found]
    return "\n".join([template for template in templates if isinstance(template, str)])


def _refused(what: str, why: str) -> VocabularyError:
    return VocabularyError(f"from_transformers: {what} gives no fixed bytes per token: {why}; {WAY_OUT}")
