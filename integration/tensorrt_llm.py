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
from ..errors import excluded_mask
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
        self._request: int | None = None

    @property
    def error(self) -> BaseException | None:
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
        if self._request is None:
            self._request = req_id
        if len(token_ids) != 1 and follower.error is None:
            follower.end(ValueError(f"there are {len(token_ids)} beams; a GrammarProcessor takes one"))
        if req_id != self._request and follower.error is None:
            follower.end(
                ValueError(f"request {req_id} has the GrammarProcessor of request {self._request}; make another")
            )
        row = follower.row_or_end(np.asarray(token_ids[0] if token_ids else (), np.int64))
        width = logits.shape[-1]
        bits = np.unpackbits(row.view(np.uint8), bitorder="little")
        if follower.error is None and not bits[:width].any():
            follower.end(excluded_mask(f"after {follower.matcher.n_tokens} tokens"), here=True)
        rows = logits.view(-1, width)
        with _stream(stream_ptr):
            apply_bitmask(rows, np.tile(row, (len(rows), 1)))
            # A mask that allows all tokens leaves the scores of ids beyond the vocabulary as they are.
            rows[:, follower.vocabulary.size :] = -torch.inf


def _stream(pointer: int | None) -> AbstractContextManager[Any]:
    """Return the context in which operations go to a stream of CUDA; None is that of the caller."""
    if pointer is None:
        return nullcontext()
    context: AbstractContextManager[Any] = torch.cuda.stream(torch.cuda.ExternalStream(pointer))
    return context
