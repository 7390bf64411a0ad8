"""One sequence in a loop that shows all its ids in each step, prompt included, and asks for the mask after them.

The adapters to such loops share this: those to llama.cpp, MLX and ONNX Runtime. Some of these loops lose exceptions,
and some serve other sequences in the same step. So `row_or_end` keeps what goes wrong, and ends the sequence.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..arguments import as_grammar, as_vocabulary
from ..bitmask import allocate_bitmask
from ..earley import Matcher
from ..errors import RejectedTokenError, empty_mask
from ..trie import Vocabulary

if TYPE_CHECKING:
    from ..arguments import GrammarLike

__all__ = ["Follower"]


class Follower:
    """The mask after each step of one sequence.

    Args:
        grammar: a `Grammar`, or what `Constraint` makes one of.
        vocabulary: the vocabulary of the model.
        max_tokens: how many tokens the loop writes at most. Then the text is a whole sentence within so many
            (docs/serving.md, "Budgets"). None: it may be cut.

    Attributes:
        error: what has ended the sequence, see `row_or_end` and `end`; None if nothing has.
        n_calls: how often a mask was asked for.
    """

    def __init__(self, grammar: GrammarLike, vocabulary: Vocabulary, *, max_tokens: int | None = None) -> None:
        self.vocabulary = as_vocabulary(vocabulary)
        self.matcher = Matcher(as_grammar(grammar, self.vocabulary), self.vocabulary)
        self.max_tokens = max_tokens
        self.error: BaseException | None = None
        self.n_calls = 0
        self._n_failed: int | None = None  # ids of the call whose mask has ended the sequence
        self._n_ids = 0  # of the last call
        self._prompt: npt.NDArray[np.integer[Any]] | None = None
        self._row = allocate_bitmask(1, self.vocabulary)[0]

    def row(self, ids: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int32]:
        """Return the mask after a sequence, as packed bits; the next call overwrites it.

        The ids of the first call are the prompt. Later ones begin with it; they may be fewer than before, if the loop
        has taken tokens back.

        Raises:
            ValueError: the ids do not begin with the prompt, so they are another sequence's.
            RejectedTokenError: the grammar does not allow an id after the prompt. It was not chosen under the masks.
            EmptyMaskError: the vocabulary cannot spell what must come next.
            BudgetError, LimitError: the mask cannot be made.
        """
        self.n_calls += 1
        if self._prompt is None:
            self._prompt = ids.copy()
        n_prompt = len(self._prompt)
        if not np.array_equal(ids[:n_prompt], self._prompt):
            raise ValueError("the ids do not begin with the prompt; make another processor for another request")
        written: list[int] = ids[n_prompt:].tolist()
        known = self.matcher.tokens
        if written[: len(known)] != known:
            pairs = zip(written, known, strict=False)
            n_common = next((at for at, (now, before) in enumerate(pairs) if now != before), len(written))
            self.matcher.rollback(len(known) - n_common)
        new = written[self.matcher.n_tokens :]
        if self.matcher.accept_tokens(new) < len(new):
            index = self.matcher.n_tokens
            text = f"the grammar rejects token {written[index]} at index {index} after the prompt: it was not chosen "
            error = RejectedTokenError(text + "under the mask", index=index, token_id=written[index])
            raise error.explained_by(partial(self.matcher.fork().explain, error.token_id))
        left = None if self.max_tokens is None else max(self.max_tokens - len(written), 0)
        self.matcher.fill_bitmask(self._row, remaining=left)
        if not self._row.any():
            raise empty_mask(self.matcher, f"after {len(written)} tokens")
        return self._row

    def row_or_end(self, ids: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int32]:
        """Return the mask as `row` does; but if that fails, keep the error, and allow EOS alone from then on, unless
        the loop takes back the tokens after which it failed."""
        self._n_ids = len(ids)
        if self._n_failed is not None and len(ids) < self._n_failed:
            self.error = self._n_failed = None
        if self.error is None:
            try:
                return self.row(ids)
            except Exception as error:
                self.end(error, here=True)
        return self._row

    def end(self, error: BaseException, *, here: bool = False) -> None:
        """Keep an error, and end the sequence. `here`: unless the tokens of the last call are taken back."""
        self.error = error
        self._n_failed = self._n_ids if here else None
        Matcher.only_eos(self.vocabulary).fill_bitmask(self._row)
