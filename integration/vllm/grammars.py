"""Which reader gets which kind of constraint."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from vllm.v1.structured_output.utils import grammar_is_likely_lark

from ...grammar import Grammar

if TYPE_CHECKING:
    from ...trie import Vocabulary

__all__ = ["read_grammar"]


def read_grammar(kind: str, spec: str, vocabulary: Vocabulary | None = None, **options: Any) -> Grammar:
    """Make the grammar of a request.

    Args:
        kind: the name of a `StructuredOutputOptions`.
        spec: what stands beside it in a `StructuredOutputKey`.
        vocabulary: the vocabulary whose special tokens the texts of a structural tag may be.
        options: those of `Grammar.from_json_schema`, for all schemas.
    """
    if kind == "JSON":
        return Grammar.from_json_schema(spec, **options)
    if kind == "JSON_OBJECT":
        return Grammar.json(object=True, **options)
    if kind == "REGEX":
        return Grammar.from_regex(spec)
    if kind == "CHOICE":
        return Grammar.from_choices(json.loads(spec))
    if kind == "GRAMMAR":
        return Grammar.from_lark(spec) if grammar_is_likely_lark(spec) else Grammar.from_gbnf(spec)
    if kind == "STRUCTURAL_TAG":
        return Grammar.from_structural_tag(spec, vocabulary, **options)
    raise ValueError(f"structured outputs of the kind {kind} are not known to this version of earleymask")
