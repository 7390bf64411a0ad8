"""What a tokenizer says about its tokens, in the form that every source module (`from_*`) gives to `Vocabulary`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from .encoding import Encode

__all__ = ["TokenSource"]


@dataclass(frozen=True)
class TokenSource:
    """The tokens of one tokenizer, before the user's own choice of EOS and special tokens is applied.

    `tokens` holds the bytes that each id adds to the output text. The bytes of special tokens are used only if the user
    declares them text. `b""` stands for gaps and for ids that never appear in text.
    """

    tokens: list[bytes]
    special_ids: frozenset[int]
    eos_ids: tuple[int, ...] = ()
    names: Mapping[int, str] = field(default_factory=dict)
    """The names of added and special tokens, if they are not simply their bytes read as UTF-8."""
    is_byte_level: bool = False
    """Whether tokens are any bytes, so that all text can be spelled if each byte has a token."""
    has_prefix_space: bool = False
    """Whether a byte-level tokenizer puts a space before each text."""
    encode: Encode | None = None
    """The tokenizer's own way from text to ids."""
    template: str | None = None
    """The chat template; "" if the tokenizer could have one and has none, None for a tokenizer without templates."""
