"""Generation under a grammar with MLX's `mlx_lm`.

    vocabulary = mlx_vocabulary(model, tokenizer)
    processor = GrammarProcessor(grammar, vocabulary)
    text = generate(model, tokenizer, prompt, max_tokens=100, logits_processors=[processor])

Each step gives a processor the tokens so far, prompt included, and the scores of the next token. `generate` and
`stream_generate` raise its errors. A `BatchGenerator` runs one step for all its requests, so an exception would end all
of them: there, `on_error="end"` ends the request that failed, and `processor.error` says why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import mlx.core as mx
import numpy as np
import numpy.typing as npt

from ..errors import excluded_mask
from ..trie import Vocabulary
from .following import Follower

if TYPE_CHECKING:
    from ..arguments import GrammarLike

__all__ = ["GrammarProcessor", "mlx_vocabulary"]


def mlx_vocabulary(model: Any, tokenizer: Any) -> Vocabulary:
    """Make the vocabulary of a model: the bytes of the tokenizer's tokens, and the ids at which `mlx_lm` stops.

    Args:
        model, tokenizer: what `mlx_lm.load` returns.
    """
    inner = getattr(tokenizer, "_tokenizer", tokenizer)
    width = getattr(getattr(model, "args", None), "vocab_size", 0)
    return Vocabulary.from_transformers(
        inner, eos_token_id=sorted(tokenizer.eos_token_ids), size=max(width, len(inner))
    )


class GrammarProcessor:
    """A logits processor for one request.

    Args:
        grammar: a `Grammar`, or what `Constraint` makes one of.
        vocabulary: the vocabulary of the model; `mlx_vocabulary` makes it.
        max_tokens: the number that the request is given, too. Then the text is a whole sentence within so many tokens,
            EOS included (docs/serving.md, "Budgets"). None: it may be cut.
        on_error: "raise"; or "end", for requests that share their steps with others: keep the error in `error`, and
            allow EOS alone.

    Raises, with `on_error="raise"`:
        ValueError: the ids are another request's; make a processor for each.
        RejectedTokenError, EmptyMaskError, LimitError, BudgetError: see `Follower.row`.
    """

    def __init__(
        self,
        grammar: GrammarLike,
        vocabulary: Vocabulary,
        *,
        max_tokens: int | None = None,
        on_error: Literal["raise", "end"] = "raise",
    ) -> None:
        if on_error not in ("raise", "end"):
            raise ValueError(f'on_error must be "raise" or "end", got {on_error!r}')
        self._follower = Follower(grammar, vocabulary, max_tokens=max_tokens)
        self._on_error = on_error

    @property
    def error(self) -> BaseException | None:
        """What has ended the text before its time; None if nothing has."""
        return self._follower.error

    def __call__(self, tokens: mx.array, logits: mx.array) -> mx.array:
        """Return the scores with -inf for all tokens that the grammar does not allow."""
        ids = np.array(tokens, np.int64)
        row = self._follower.row(ids) if self._on_error == "raise" else self._follower.row_or_end(ids)
        allowed = _allowed(row, logits.shape[-1])
        if self.error is None and not allowed.any():  # whether scores are finite, only a wait for the model would tell
            error = excluded_mask(f"after {self._follower.matcher.n_tokens} tokens")
            if self._on_error == "raise":
                raise error
            self._follower.end(error, here=True)
            allowed = _allowed(row, logits.shape[-1])
        return mx.where(mx.array(allowed), logits, mx.array(-np.inf, logits.dtype))


def _allowed(row: npt.NDArray[np.int32], width: int) -> npt.NDArray[np.bool_]:
    """Return whether each of so many tokens is allowed."""
    allowed = np.zeros(width, np.bool_)
    bits = np.unpackbits(row.view(np.uint8), bitorder="little")[:width]
    allowed[: len(bits)] = bits
    return allowed
