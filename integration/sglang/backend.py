"""The backend that a scheduler of SGLang asks for the grammars of its requests."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from typing import Any

import torch
from sglang.srt.constrained.base_grammar_backend import (
    BaseGrammarBackend,
    BaseGrammarObject,
    GrammarStats,
    InvalidGrammarObject,
)
from sglang.srt.constrained.reasoner_grammar_backend import ReasonerGrammarBackend
from sglang.srt.parser.reasoning_parser import ReasoningParser

from ...earley import Limits, Matcher
from ...errors import EarleymaskError, empty_mask
from ...grammar import Grammar
from ...pool import MatcherPool
from ...prepare import prepare
from ...trie import Vocabulary
from .grammars import read_grammar
from .recent import Recent
from .request import (
    EarleymaskGrammar,
    allocate_vocab_mask,
    apply_vocab_mask,
    find_sentinel,
    move_vocab_mask,
    set_token_filter,
)

__all__ = ["EarleymaskBackend", "make_backend"]

logger = logging.getLogger("sglang.earleymask")

LIMITS = Limits(seconds=1, load_seconds=2)
"""A mask is made in the thread of the scheduler, so all requests of the engine wait for it: a second at most."""

N_GRAMMARS = 512
"""Grammars that are remembered, so that a request with the same constraint loads nothing. A small one takes some ten
kilobytes, one that has been warmed a megabyte or two."""

WARM_SECONDS = 0.01
"""Processor time in which masks of likely texts are made in the background when a grammar is new. Meanwhile the model
reads the prompt. As for vLLM, where more gained nothing (`bench.in_vllm`)."""

VOCABULARY_BYTES = 256 << 20
"""What may be remembered of a vocabulary for all grammars together: enough for a hundred of them that are in use."""


class Refusal(InvalidGrammarObject):
    """A grammar that cannot be used, and why."""

    def copy(self) -> Refusal:
        """Return itself. SGLang remembers a copy, and `is_kept` must know it again."""
        return self


def is_kept(value: BaseGrammarObject) -> bool:
    """Return whether SGLang may remember what a constraint has become: a grammar, or a refusal of ours.

    Limits of time are among these: they are processor time of one thread, so the next attempt would meet them, too.
    SGLang's own refusals are not kept. Most of them say that a grammar has waited for too long, because of others.
    """
    return isinstance(value, Refusal) or not isinstance(value, InvalidGrammarObject)


class EarleymaskBackend(BaseGrammarBackend):
    """Makes the grammars of all requests of a scheduler, in SGLang's pool of threads."""

    def __init__(self, vocabulary: Vocabulary, **options: Any) -> None:
        super().__init__()
        self.cache: Recent[Any, Any] = Recent(N_GRAMMARS, is_kept)
        self._options = options
        self._sentinel = find_sentinel(vocabulary)
        self._pool = MatcherPool(vocabulary, capacity=N_GRAMMARS, warm=WARM_SECONDS)

    # -- grammars ------------------------------------------------------------------------------------------------------

    def dispatch_json(self, key_string: str) -> BaseGrammarObject:
        return self._dispatch("json", key_string)

    def dispatch_regex(self, key_string: str) -> BaseGrammarObject:
        return self._dispatch("regex", key_string)

    def dispatch_ebnf(self, key_string: str) -> BaseGrammarObject:
        return self._dispatch("ebnf", key_string)

    def dispatch_structural_tag(self, key_string: str) -> BaseGrammarObject:
        return self._dispatch("structural_tag", key_string)

    def _dispatch(self, kind: str, spec: str) -> BaseGrammarObject:
        """Return a grammar that has made its first mask. If it cannot be used, return why: SGLang then refuses the
        request with the message."""
        vocabulary = self._pool.vocabulary if kind == "structural_tag" else None
        try:
            matcher = self._pool.matcher(read_grammar, kind, spec, vocabulary, limits=LIMITS, **self._options)
            _check_first_mask(matcher)
        except (EarleymaskError, TypeError, ValueError) as error:
            return Refusal(str(error))
        return EarleymaskGrammar(matcher, self._sentinel, GrammarStats(dispatch_type=kind))

    def compile_framed_grammar(
        self, grammar: BaseGrammarObject, frame: Callable[[Any], dict[str, Any]]
    ) -> BaseGrammarObject:
        """Return a grammar of the whole turn. SGLang puts that of the answer into a tag, between the markup."""
        assert isinstance(grammar, EarleymaskGrammar)
        vocabulary = self._pool.vocabulary
        try:
            turn = Grammar.from_structural_tag(
                frame(grammar._matcher.grammar), vocabulary, limits=LIMITS, **self._options
            )
            matcher = Matcher(turn, vocabulary)
            _check_first_mask(matcher)
        except (EarleymaskError, TypeError, ValueError) as error:
            return Refusal(str(error))
        return EarleymaskGrammar(matcher, self._sentinel, GrammarStats(dispatch_type="structural_tag"))

    def reset(self) -> None:
        """Forget all grammars. Requests that have one keep it."""
        super().reset()
        self._pool.clear()

    # -- what the wrapper for reasoning uses when a request has no grammar ---------------------------------------------

    @property
    def is_support_token_filter(self) -> bool:
        return True

    @staticmethod
    def set_token_filter(
        vocab_mask: torch.Tensor,
        token_ids: Sequence[int],
        batch_idx: int,
        is_allowed: bool = True,
        reset_vocab_mask: bool = True,
    ) -> None:
        set_token_filter(vocab_mask, token_ids, batch_idx, is_allowed, reset_vocab_mask)

    @staticmethod
    def allocate_vocab_mask(vocab_size: int, batch_size: int, device: Any) -> torch.Tensor:
        return allocate_vocab_mask(vocab_size, batch_size, device)

    @staticmethod
    def move_vocab_mask(vocab_mask: torch.Tensor, device: Any) -> torch.Tensor:
        return move_vocab_mask(vocab_mask, device)

    @staticmethod
    def apply_vocab_mask(logits: torch.Tensor, vocab_mask: torch.Tensor) -> None:
        apply_vocab_mask(logits, vocab_mask)


def _check_first_mask(matcher: Matcher) -> None:
    """Raise EmptyMaskError if the vocabulary cannot spell what must come first; or what the mask raises."""
    if not matcher.mask().any():
        raise empty_mask(matcher, "after 0 tokens")


def make_backend(
    config: Any, tokenizer: Any, vocab_size: int, eos_token_ids: Collection[int] | None = None
) -> BaseGrammarBackend:
    """Make the backend of a model with `vocab_size` logits, and wrap it as SGLang wraps the built-in ones.

    config: what `sglang.srt.runtime_context.get_serving` returns.

    Raises ValueError if the tokenizer cannot be read.
    """
    vocabulary = _read_vocabulary(tokenizer, vocab_size, eos_token_ids)
    prepare(vocabulary, memory=VOCABULARY_BYTES)
    backend = EarleymaskBackend(vocabulary, **_white_space(config))
    if not config.reasoning_parser:
        return backend
    parser = ReasoningParser(model_type=config.reasoning_parser, stream_reasoning=False, tokenizer=tokenizer)
    if not parser.detector.get_think_end_token_ids(tokenizer):
        return backend
    wrapped = ReasonerGrammarBackend(backend, parser, tokenizer, enable_strict_thinking=config.enable_strict_thinking)
    wrapped.cache = Recent(N_GRAMMARS, is_kept)
    return wrapped


def _white_space(config: Any) -> dict[str, Any]:
    """Return the options of all schemas."""
    if config.constrained_json_whitespace_pattern is not None:
        logger.warning("--constrained-json-whitespace-pattern has no effect with --grammar-backend earleymask")
    if config.constrained_json_disable_any_whitespace:
        return {"whitespace": "compact"}
    if config.constrained_json_max_whitespace_cnt is not None:
        return {"whitespace": "any", "max_whitespace": config.constrained_json_max_whitespace_cnt}
    return {"whitespace": "flexible"}


def _read_vocabulary(tokenizer: Any, size: int, eos_token_ids: Collection[int] | None) -> Vocabulary:
    ends = sorted(eos_token_ids) if eos_token_ids else None
    try:
        if type(tokenizer).__name__ == "MistralCommonBackend":
            return Vocabulary.from_mistral(tokenizer.tokenizer, eos_token_id=ends, size=size)
        return Vocabulary.from_transformers(tokenizer, eos_token_id=ends, size=size)
    except EarleymaskError as error:
        raise ValueError(f"--grammar-backend earleymask cannot serve this model: {error}") from error
