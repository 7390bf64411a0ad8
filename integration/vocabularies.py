"""The vocabulary of a model of `transformers`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..trie import Vocabulary

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

__all__ = ["model_vocabulary"]


def model_vocabulary(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> Vocabulary:
    """Make the vocabulary of a model.

    It has the token bytes of the tokenizer, as many ids as the model has logits, and the end-of-sequence ids at which
    `model.generate` stops.
    """
    config = model.config.get_text_config()
    eos = model.generation_config.eos_token_id if model.generation_config is not None else None
    if eos is None:
        eos = config.eos_token_id
    return Vocabulary.from_transformers(tokenizer, eos_token_id=eos, size=max(config.vocab_size, len(tokenizer)))
