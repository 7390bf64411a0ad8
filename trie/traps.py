"""Warn of vocabularies with which generation goes wrong in silence: the model never writes the EOS, no token spells a
character that grammars need, or the tokenizer puts a space before each text.

These are Python's warnings, because the owner of a process makes its few vocabularies, once, when it starts.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from .errors import VocabularyWarning

if TYPE_CHECKING:
    from .token_source import TokenSource

END_OF_TURN = (
    "<|eot_id|>",
    "<|im_end|>",
    "<end_of_turn>",
    "<|return|>",
    "<|end|>",
    "<|eot|>",
    "<|end_of_turn|>",
    "<|END_OF_TURN_TOKEN|>",
)
"""Tokens with which chat models end what they write: those of Llama 3, Qwen and others in ChatML, Gemma, gpt-oss,
Phi 3, Llama 4 and Command R."""

_NEEDED = frozenset(b"\n" + bytes(range(0x20, 0x7F)))
"""The bytes that grammars of any kind need: printable ASCII and the line feed."""

_IN_UTF8 = frozenset([*range(0xC0), *range(0xC2, 0xF5)])
"""The bytes that occur in UTF-8. A byte-level vocabulary can spell all text only if it has all of them."""

_SHOWN = 6
"""A message shows at most so many missing bytes."""


class Made(NamedTuple):
    """The attributes of a vocabulary, by their names there, that the warnings are about."""

    missing_bytes: bytes
    eos_token_ids: tuple[int, ...]
    special_tokens: Mapping[str, int]


def warn(source: TokenSource, made: Made, *, chosen: bool) -> None:
    """Give the warnings about a vocabulary that was made of `source`. `chosen`: whether the caller gave the EOS."""
    for message in _find(source, made, chosen):
        warnings.warn(message, VocabularyWarning, stacklevel=4)  # the caller of `from_transformers` and the like


def _find(source: TokenSource, made: Made, chosen: bool) -> Iterator[str]:
    yield from _end_of_turn(source, made, chosen)
    missing = set(made.missing_bytes) & (_IN_UTF8 if source.is_byte_level else _NEEDED)
    if missing:
        shown = ", ".join([repr(bytes([byte]))[1:] for byte in sorted(missing)[:_SHOWN]])
        more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
        way_out = "use grammars that do not need them"
        if source.is_byte_level:
            way_out = f"train the tokenizer with initial_alphabet=ByteLevel.alphabet(), or {way_out}"
        yield (
            f"no token is just one of these bytes: {shown}{more}. Where a grammar demands one, no token may be "
            f"allowed; {way_out}. `Vocabulary.missing_bytes` lists them"
        )
    if source.has_prefix_space:
        yield (
            "the tokenizer puts a space before each text, so the model begins its answers with one, and `encode` of a "
            "sentence gives ids that no grammar allows without it. Make the tokenizer with "
            'ByteLevel(add_prefix_space=False), or let the grammar begin with an optional space: `start: " "? answer`'
        )


def _end_of_turn(source: TokenSource, made: Made, chosen: bool) -> Iterator[str]:
    """Warn if no EOS is a token with which the chat template ends a turn. Without a template the names of the special
    tokens decide, unless the caller has chosen."""
    names = made.special_tokens
    ends = [name for name in END_OF_TURN if name in names]
    if source.template is not None:
        ends = [name for name in ends if name in source.template]
    elif chosen:
        return
    if not ends or not made.eos_token_ids or any(names[name] in made.eos_token_ids for name in ends):
        return
    by_id = {token_id: name for name, token_id in names.items()}
    eos = " and ".join([by_id.get(token_id, str(token_id)) for token_id in made.eos_token_ids])
    ids = sorted([*made.eos_token_ids, names[ends[0]]])
    yield (
        f"EOS is {eos}, but a chat model ends its turn with {ends[0]}. Where a text may end, grammars allow EOS and "
        f"never {ends[0]}, so the model goes on. Give eos_token_id={ids}, or model.generation_config.eos_token_id if "
        f"that has {names[ends[0]]}"
    )
