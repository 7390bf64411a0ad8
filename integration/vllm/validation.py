"""Requests are checked in the front end, before they reach the engine.

vLLM calls `validate_xgrammar_grammar` or `validate_guidance_grammar` for it; `validate` takes the place of both.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from vllm.exceptions import VLLMClientError
from vllm.v1.structured_output.request import get_structured_output_key

from ...errors import EarleymaskError
from .grammars import read_grammar

if TYPE_CHECKING:
    from vllm.sampling_params import SamplingParams

__all__ = ["InvalidGrammarError", "validate"]


class InvalidGrammarError(VLLMClientError):
    """A request's grammar, schema or tag cannot be used; a server answers 400 with the message.

    This is no `VLLMValidationError`: vLLM replaces the messages of those by "Invalid ... specification", or tries
    another backend.
    """


def validate(sampling_params: SamplingParams, tokenizer: Any = None) -> None:
    """Raise InvalidGrammarError if a grammar cannot be loaded, with what is wrong and where.

    Whether the vocabulary has the special tokens that the grammar names, and whether the first mask can be made, is
    found out in the engine.
    """
    given = sampling_params.structured_outputs
    if given is None:
        return
    try:
        kind, spec = get_structured_output_key(given)
        _load(kind.name, spec)
    except (EarleymaskError, TypeError, ValueError, RecursionError) as error:
        raise InvalidGrammarError(f"Invalid structured outputs: {error}") from error


@lru_cache(maxsize=256)
def _load(kind: str, spec: str) -> None:
    """Load a grammar. Those that were accepted are remembered."""
    read_grammar(kind, spec)
