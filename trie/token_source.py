"""What a tokenizer says about its tokens: the common form that every source module gives to `Vocabulary`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["TokenSource"]


@dataclass(frozen=True)
class TokenSource:
    """Tokens of one tokenizer before anybody has overridden anything.

    `tokens` holds the bytes that each id adds to the output text, special tokens included: their bytes are used only
    where the user declares them text. `b""` stands for gaps and for ids that never appear in text.
    """

    tokens: list[bytes]
    special_ids: frozenset[int]
    eos_ids: tuple[int, ...] = ()
    names: Mapping[int, str] = field(default_factory=dict)
    """How added and special tokens are written, where that is not simply their bytes read as UTF-8."""
