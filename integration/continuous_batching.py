"""A grammar for each request in the continuous batching of `transformers`.

    manager = model.init_continuous_batching(generation_config=..., continuous_batching_config=...)
    add_grammars(manager, vocabulary)
    manager.start()
    manager.add_request(ids, max_new_tokens=100, grammar=grammar)

The manager runs one loop for all requests, in a thread of its own. In each step it asks its processors for their
arguments, with the requests that will get a token, and then calls them with the scores of these requests. An exception
in there ends the loop and with it all requests. So whatever fails for a request becomes the `error` of its result, and
its text ends with the next token.

Masks are made before a step begins, from the tokens of the step before. A loop that prepares a step while another one
runs does not know these, and a recorded step (a CUDA graph) would use the masks that it was recorded with. Managers
that do either are refused.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from transformers.generation.continuous_batching.cb_logits_processors import ContinuousBatchingLogitsProcessor

from ..applying import apply_bitmask
from ..arguments import as_vocabulary
from ..bitmask import allocate_bitmask, fill_bitmasks
from ..earley import Matcher
from ..errors import BatchError, RejectedTokenError, empty_mask, excluded_mask
from ..grammar import Grammar
from ..trie import Vocabulary

if TYPE_CHECKING:
    from transformers import ContinuousBatchingManager

__all__ = ["RequestGrammars", "add_grammars"]


def add_grammars(
    manager: ContinuousBatchingManager, vocabulary: Vocabulary, *, threads: int = 1, finish: bool = False
) -> RequestGrammars:
    """Let each request of a manager have a grammar: `manager.add_request(ids, grammar=grammar)`.

    Requests without one are not constrained.

    Args:
        manager: what `model.init_continuous_batching` returns, not started yet, with `use_async_batching=False` and
            `use_cuda_graph=False` in its `ContinuousBatchingConfig`, and without `torch.compile`.
        vocabulary: the vocabulary of the model; `model_vocabulary` makes it.
        threads: how many masks are made at the same time.
        finish: let each request end with a whole sentence within its `max_new_tokens` (docs/serving.md, "Budgets").

    Raises:
        ValueError: the manager runs, or its steps are asynchronous, recorded or compiled; or `threads` is less than 1.
    """
    if threads < 1:
        raise ValueError(f"threads must be at least 1, got {threads}")
    grammars = RequestGrammars(vocabulary, threads=threads, finish=finish)
    config = manager.continuous_batching_config
    if manager.is_running() or manager.batch_processor is not None:
        raise ValueError("the manager has been started or warmed up; call add_grammars before")
    if config.use_async_batching:
        raise ValueError(
            "use_async_batching=True prepares a step before the tokens of the one before are known; give "
            "ContinuousBatchingConfig(use_async_batching=False)"
        )
    if any(config.cuda_graph_booleans) or config.varlen_compile_config or config.decode_compile_config:
        raise ValueError(
            "a step that is recorded or compiled would use old masks; give ContinuousBatchingConfig("
            "use_cuda_graph=False) without configurations of torch.compile"
        )
    processors = manager.logit_processor
    # First, because a top-k or top-p before it might keep only tokens that the grammar does not allow.
    processors.logits_processor.insert(0, grammars)
    processors.tensors_required += 1
    processors.supported_keys.update(grammars.supported_kwargs)
    processors.do_processing = True
    return grammars


class _Position:
    """A request: its matcher, and what went wrong."""

    def __init__(self, state: Any, vocabulary: Vocabulary) -> None:
        eos = [state.eos_token_id] if isinstance(state.eos_token_id, int) else state.eos_token_id or []
        self.ends = [token_id for token_id in eos if token_id >= 0] or list(vocabulary.eos_token_ids)
        """The ids at which the manager ends the request."""
        self.error: Exception | None = None
        try:
            self.matcher = Matcher(state.logit_processor_kwargs["grammar"], vocabulary, self.ends)
        except Exception as error:
            self.matcher = Matcher.only_eos(vocabulary)
            self.fail(state, error)

    def follow(self, state: Any) -> None:
        """Accept the new tokens of a request."""
        # A request that was interrupted for lack of memory has its earlier tokens in its prompt: the output has all.
        tokens = state.to_generation_output().generated_tokens
        new = tokens[self.matcher.n_tokens :]
        try:
            n = self.matcher.accept_tokens(new)
        except Exception as error:
            self.fail(state, error)
            return
        if n < len(new):
            index, token_id = len(tokens) - len(new) + n, new[n]
            text = (
                f"the grammar rejects token {token_id} at index {index}, which was not sampled from the masked scores"
            )
            self.fail(state, RejectedTokenError(text, index=index, token_id=token_id))

    def fail(self, state: Any, error: Exception) -> None:
        self.error = error
        state.error = f"{type(error).__name__}: {error}"


class RequestGrammars(ContinuousBatchingLogitsProcessor):
    """The processor that `add_grammars` gives to a manager."""

    supported_kwargs: dict[str, type] = {"grammar": Grammar}  # noqa: RUF012  # the interface has no annotations
    ignored_kwargs: tuple[str, ...] = ()

    def __init__(self, vocabulary: Vocabulary, *, threads: int = 1, finish: bool = False) -> None:
        self.vocabulary = as_vocabulary(vocabulary)
        self.threads = threads
        self.finish = finish
        self._positions: dict[int, _Position] = {}  # of living requests, by the `id` of their state
        # The requests of this step that have a grammar, by their rows of the scores; and the masks of all rows.
        self._step: dict[int, tuple[Any, _Position]] = {}
        self._masks: npt.NDArray[np.int32] = allocate_bitmask(0, self.vocabulary)

    def fill_defaults(self, int32_tensor: torch.Tensor) -> None:
        int32_tensor.zero_()

    def prepare_tensor_args(self, requests_with_new_token: list[Any]) -> torch.Tensor:
        """Make the masks of the requests. The tensor that is asked for has a number for each of them, and is not
        used."""
        states = [request.state for request in requests_with_new_token]
        self._step = {
            row: (state, self._position(state))
            for row, state in enumerate(states)
            if "grammar" in state.logit_processor_kwargs
        }
        self._masks = allocate_bitmask(len(states), self.vocabulary)
        for state, position in self._step.values():
            if position.error is None:
                position.follow(state)
        live = {row: each for row, each in self._step.items() if each[1].error is None}
        try:
            fill_bitmasks(
                [position.matcher for _, position in live.values()],
                self._masks,
                threads=self.threads,
                indices=list(live),
                remaining=[self._left(state) for state, _ in live.values()],
            )
        except BatchError as error:
            for number, each in error.errors.items():
                state, position = list(live.values())[number]
                position.fail(state, each)
        for row, (state, position) in live.items():
            if position.error is None and not self._masks[row].any():
                try:
                    raise empty_mask(position.matcher, f"after {position.matcher.n_tokens} tokens")
                except Exception as error:  # or what goes wrong while it is explained
                    position.fail(state, error)
        return torch.zeros(len(states), dtype=torch.int32)

    def __call__(self, scores: torch.Tensor, tensor_arg: torch.Tensor) -> torch.Tensor:
        """Return a copy of the scores with -inf for all tokens that the grammars do not allow."""
        if not self._step:
            return scores
        masked = scores.clone()
        apply_bitmask(masked[: len(self._masks)], self._masks)  # requests without a new token have rows after these
        # A mask that allows all tokens leaves the scores of ids beyond the vocabulary as they are.
        masked[list(self._step), self.vocabulary.size :] = -torch.inf
        empty = set(torch.isneginf(masked.amax(dim=-1)).nonzero().flatten().tolist())
        for row, (state, position) in self._step.items():
            if position.error is None and row in empty:
                position.fail(state, excluded_mask(f"after {position.matcher.n_tokens} tokens"))
            if position.error is not None:
                masked[row] = -torch.inf
                masked[row, [each for each in position.ends if each < scores.shape[-1]] or 0] = 0.0
        return masked

    def _position(self, state: Any) -> _Position:
        """Return where a request is. It is forgotten with the request's state, however the request ends."""
        key = id(state)
        if key not in self._positions:
            self._positions[key] = _Position(state, self.vocabulary)
            weakref.finalize(state, self._positions.pop, key, None).atexit = False
        return self._positions[key]

    def _left(self, state: Any) -> int | None:
        """Return how many tokens may still come; None for any number."""
        if not self.finish or state.max_new_tokens is None:
            return None
        return max(state.max_new_tokens - len(state.generated_tokens), 0)
