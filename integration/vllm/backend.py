"""The objects that vLLM's `StructuredOutputManager` works with: a backend for the engine, a grammar for each request.

Nothing here may raise in the thread of the scheduler, for that would end the engine with all its requests. A sequence
that meets a limit gets a row with the EOS tokens alone, and the token that is sampled from it is refused: then vLLM
ends that request with an error, and goes on with the others.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterable
from threading import Lock
from typing import TYPE_CHECKING, Any

import torch
from vllm.exceptions import VLLMValidationError
from vllm.utils.mistral import is_mistral_tokenizer
from vllm.v1.structured_output.backend_types import (
    StructuredOutputBackend,
    StructuredOutputGrammar,
    StructuredOutputOptions,
)

from ...bitmask import TOKENS_PER_WORD, allocate_bitmask
from ...earley import Matcher
from ...errors import EarleymaskError, empty_mask
from ...pool import MatcherPool
from ...prepare import prepare
from ...trie import Vocabulary
from .grammars import read_grammar

if TYPE_CHECKING:
    from vllm.config import VllmConfig
    from vllm.tokenizers import TokenizerLike

__all__ = ["EarleymaskBackend", "EarleymaskGrammar"]

logger = logging.getLogger("vllm.earleymask")  # below "vllm", whose handlers vLLM has set up

N_GRAMMARS = 512
"""Grammars that are remembered, so that a request with the same constraint loads nothing. A small one takes some ten
kilobytes, one that has been warmed a megabyte or two."""

WARM_SECONDS = 0.01
"""Processor time in which masks of likely texts are made in the background when a grammar is new. Meanwhile the model
reads the prompt. PERF: a step of 32 sequences with new schemas takes 0.59 ms of the scheduler's thread after it and
1.05 without (`bench.in_vllm`); 0.05 s gained no more, and still ran during the steps if 32 grammars were new at once.
"""

VOCABULARY_BYTES = 256 << 20
"""What may be remembered of a vocabulary for all grammars together: enough for a hundred of them that are in use."""

N_VOCABULARIES = 4
"""Vocabularies that are remembered: that of the model, and those of requests whose stop tokens have a text. Each takes
some tens of megabytes; one beyond this number is made again when it is needed, in 0.2 seconds."""


class EarleymaskBackend(StructuredOutputBackend):
    """Makes the grammars of all requests of an engine, in vLLM's pool of threads."""

    def __init__(self, vllm_config: VllmConfig, tokenizer: TokenizerLike, vocab_size: int) -> None:
        super().__init__(vllm_config, tokenizer, vocab_size)
        config = vllm_config.structured_outputs_config
        self._options: dict[str, Any] = {
            "whitespace": "compact" if config.disable_any_whitespace else "flexible",
            "closed": config.disable_additional_properties,
        }
        vocabulary = read_vocabulary(tokenizer, vocab_size)
        prepare(vocabulary, memory=VOCABULARY_BYTES)
        self._pools = _Pools(vocabulary)

    @staticmethod
    def is_tokenizer_supported(tokenizer: TokenizerLike) -> bool:
        """Return True: a tokenizer without a vocabulary is refused when the backend is made, with the reason."""
        return True

    def compile_grammar(
        self, request_type: StructuredOutputOptions, grammar_spec: str, stop_token_ids: set[int] | None = None
    ) -> EarleymaskGrammar:
        """Load a grammar and make its first mask, unless it is remembered.

        Raises EarleymaskError; vLLM then refuses the request with the message.
        """
        stop_token_ids = stop_token_ids or set()
        pool = self._pools.find(stop_token_ids)
        vocabulary = pool.vocabulary if request_type is StructuredOutputOptions.STRUCTURAL_TAG else None
        matcher = pool.matcher(
            read_grammar,
            request_type.name,
            grammar_spec,
            vocabulary,
            eos_token_ids=stop_token_ids or None,
            **self._options,
        )
        row = allocate_bitmask(1, pool.vocabulary)[0]
        matcher.fill_bitmask(row)
        if not row.any():
            raise empty_mask(matcher, "after 0 tokens")
        return EarleymaskGrammar(matcher)

    def allocate_token_bitmask(self, max_num_seqs: int) -> torch.Tensor:
        # Exactly so many columns: those of the tensor on the device, to which vLLM copies the rows.
        return torch.full((max_num_seqs, -(-self.vocab_size // TOKENS_PER_WORD)), -1, dtype=torch.int32)

    def destroy(self) -> None:
        self._pools.clear()


class _Pools:
    """A pool of matchers for each vocabulary. All but the first are made for requests whose stop tokens have a text.

    Such a token ends the sequence and is none of its text. So it must be a special token of the vocabulary.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._lock = Lock()
        self._pools: OrderedDict[frozenset[int], MatcherPool] = OrderedDict()
        self._first = MatcherPool(vocabulary, capacity=N_GRAMMARS, warm=WARM_SECONDS)

    def find(self, stop_token_ids: Iterable[int]) -> MatcherPool:
        of = self._vocabulary
        with_text = frozenset(id_ for id_ in stop_token_ids if 0 <= id_ < of.size and of.token_bytes(id_))
        if not with_text:
            return self._first
        with self._lock:
            pool = self._pools.get(with_text)
        if pool is None:  # made without the lock, for it takes a while
            vocabulary = of.with_eos([*of.eos_token_ids, *with_text])
            pool = MatcherPool(vocabulary, capacity=N_GRAMMARS, warm=WARM_SECONDS)
        with self._lock:
            pool = self._pools.setdefault(with_text, pool)
            self._pools.move_to_end(with_text)
            while len(self._pools) >= N_VOCABULARIES:
                self._pools.popitem(last=False)
        return pool

    def clear(self) -> None:
        self._first.clear()
        with self._lock:
            self._pools.clear()


class EarleymaskGrammar(StructuredOutputGrammar):
    """The matcher of a request."""

    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher
        self._failure: Exception | None = None  # what has ended the request where no error may be raised
        # After how many tokens a mask could not be made, and why. It may have been a place in a draft, which no text
        # comes to.
        self._failed: tuple[int, Exception] | None = None
        self._may_be_empty = bool(matcher.vocabulary.missing_bytes)
        self._bitmask: torch.Tensor | None = None
        self._rows: Any = None  # of `_bitmask`, as numpy: a row of torch takes 3 µs, one of numpy 0.6

    def fill_bitmask(self, bitmask: torch.Tensor, batch_index: int) -> None:
        if bitmask is not self._bitmask:
            self._bitmask, self._rows = bitmask, bitmask.numpy()
        matcher, row = self._matcher, self._rows[batch_index]
        matcher.fill_bitmask(row, on_error="end")
        error = matcher.error
        if error is None and self._may_be_empty and not row.any():
            error = self._empty(row)
        if error is not None:
            self._failed = matcher.n_tokens, error
        elif self._failed is not None and self._failed[0] == matcher.n_tokens:
            self._failed = None  # that was in a draft, and the text has come here by other tokens

    def _empty(self, row: Any) -> Exception:
        """Write a row of the EOS tokens alone in place of an empty one. Return the error."""
        matcher = self._matcher
        Matcher.only_eos(matcher.vocabulary, matcher.eos_token_ids).fill_bitmask(row)
        try:
            return empty_mask(matcher, f"after {matcher.n_tokens} tokens")
        except EarleymaskError as error:  # what is missing could not be found out
            return error

    def accept_tokens(self, request_id: str, tokens: list[int]) -> bool:
        """Append the tokens, those after EOS excepted. Return False if one is not allowed; the request then ends."""
        matcher = self._matcher
        reason: object = self._failure
        if reason is None and self._failed is not None and matcher.n_tokens + len(tokens) > self._failed[0]:
            reason = self._failed[1]  # the token there was sampled from a row with the EOS tokens alone
        if reason is None:
            n_before = matcher.n_tokens
            try:
                n = matcher.accept_tokens(tokens)
                if n == len(tokens) or (matcher.is_finished() and matcher.error is None):
                    return True
                reason = matcher.error or f"token {tokens[n]} is not allowed after {n_before + n} tokens"
            except Exception as error:
                reason = error
        logger.error("request %s ends: %s", request_id, reason)
        return False

    def validate_tokens(self, tokens: list[int]) -> list[int]:
        matcher = self._matcher
        if self._failure is not None or matcher.is_finished():
            return []
        try:
            allowed = tokens[: matcher.validate(tokens)]
        except Exception:
            return []  # the mask that is asked for next meets the same limit, or the draft was too much
        for index, token in enumerate(allowed):
            if token in matcher.eos_token_ids:
                return allowed[: index + 1]
        return allowed

    def rollback(self, num_tokens: int) -> None:
        matcher = self._matcher
        if self._failure is not None:
            return
        try:
            matcher.rollback(num_tokens)
        except Exception as error:
            # The matcher has tokens that the sequence does not have, so the sequence must end here.
            self._failure = error
            self._matcher = Matcher.only_eos(matcher.vocabulary, matcher.eos_token_ids)

    def is_terminated(self) -> bool:
        """Return whether EOS has been accepted. vLLM then asks for no row, and leaves the sequence free."""
        return self._matcher.is_finished() and self._matcher.error is None

    def reset(self) -> None:
        self._matcher.reset()
        self._failed = None


def read_vocabulary(tokenizer: TokenizerLike, size: int) -> Vocabulary:
    """Make the vocabulary of a model with `size` logits. Its requests bring the ids that end them."""
    try:
        if is_mistral_tokenizer(tokenizer):
            return Vocabulary.from_mistral(tokenizer.mistral, size=size)
        return Vocabulary.from_transformers(tokenizer, size=size)
    except EarleymaskError as error:
        raise VLLMValidationError(f"earleymask cannot serve this model: {error}") from error
