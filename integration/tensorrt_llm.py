"""Generation under a grammar with TensorRT-LLM. **Never run there**: written for the interface that its documentation
gives, version 1.2, and checked against a record of it alone.

    processor = GrammarProcessor(grammar, vocabulary)
    llm.generate(prompt, SamplingParams(max_tokens=100, logits_processor=processor))

The executor calls a processor with the scores of a request's next token, to be changed in place, on the stream that
computes them. It is not documented what an exception does to the other requests of the step. So the processor keeps
what goes wrong in `error`, and lets the text end: look at it afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..applying import apply_bitmask
from ..trie import Vocabulary
from .following import Follower

if TYPE_CHECKING:
    from ..arguments import GrammarLike

__all__ = ["GrammarProcessor"]


class GrammarProcessor:
    """A logits processor for one request without beams.

    Args:
        grammar: a `Grammar`, or what `Constraint` makes one of.
        vocabulary: the vocabulary of the model.
        max_tokens: the number that the request is given, too. Then the text is a whole sentence within so many tokens
            (docs/serving.md, "Budgets"). None: it may be cut.
    """

    def __init__(self, grammar: GrammarLike, vocabulary: Vocabulary, *, max_tokens: int | None = None) -> None:
        self._follower = Follower(grammar, vocabulary, max_tokens=max_tokens)

    @property
    def error(self) -> Exception | None:
        """What has ended the text before its time; None if nothing has."""
        return self._follower.error

    def __call__(
        self,
        req_id: int,
        logits: torch.Tensor,
        token_ids: Sequence[Sequence[int]],
        stream_ptr: int | None,
        client_id: int | None,
    ) -> None:
        """Set the scores of all tokens that the grammar does not allow to -inf. `logits`: of shape `(1, 1, width)`, or
        `(width,)`; `token_ids`: those of each beam so far, prompt included."""
        follower = self._follower
        if len(token_ids) != 1 and follower.error is None:
            follower.end(ValueError(f"there are {len(token_ids)} beams; a GrammarProcessor takes one"))
        row = follower.row_or_end(np.asarray(token_ids[0], np.int64))
        rows = logits.view(-1, logits.shape[-1])
        with _stream(stream_ptr):
            apply_bitmask(rows, np.tile(row, (len(rows), 1)))


def _stream(pointer: int | None) -> AbstractContextManager[Any]:
    """Return the context in which operations go to a stream of CUDA; None is that of the caller."""
    if pointer is None:
        return nullcontext()
    context: AbstractContextManager[Any] = torch.cuda.stream(torch.cuda.ExternalStream(pointer))
    return context
