"""llguidance as an engine of the benches."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
from functools import partial
from typing import Any

from earleymask.trie import Vocabulary

from .session import Session, grammar_file, new_row

LLGUIDANCE_OPTIONS = '%llguidance {"no_forcing": true, "allow_initial_skip": true}\n'


class LLGuidance:
    name = "llguidance"
    trivial = LLGUIDANCE_OPTIONS + 'start: "a"\n'

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.module: Any = importlib.import_module("llguidance")
        self.version = importlib.metadata.version("llguidance")
        self.vocabulary = vocabulary
        wrapper = self.module.TokenizerWrapper(_LLGuidanceTokens(vocabulary))
        self.tokenizer = self.module.LLTokenizer(
            wrapper, n_vocab=vocabulary.size, eos_token=list(vocabulary.eos_token_ids)
        )

    def grammar(self, kind: str) -> str:
        return LLGUIDANCE_OPTIONS + grammar_file(kind, "lark").read_text(encoding="utf-8")

    def open(self, grammar: str) -> Session:
        matcher = self.module.LLMatcher(self.tokenizer, grammar, log_level=0)
        if matcher.is_error():
            raise ValueError(f"llguidance: {matcher.get_error()}")
        row = new_row(self.vocabulary)
        fill = partial(matcher.unsafe_compute_mask_ptr, row.ctypes.data, row.nbytes)

        def again() -> Session:
            matcher.reset()
            return session

        session = Session(row, fill, matcher.consume_token, matcher.get_error, dict, again=again)
        return session

    def open_schema(self, schema: Any, order: str) -> Session:
        # llguidance writes keys in the schema's order only. The options have to be in a grammar, hence `%json`.
        return self.open(f"{LLGUIDANCE_OPTIONS}start: %json {json.dumps(schema)}\n")


class _LLGuidanceTokens:
    """The attributes and methods of a tokenizer that `llguidance.TokenizerWrapper` uses."""

    bos_token_id = None

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.eos_token_id = vocabulary.eos_token_ids[0]
        self.special_token_ids = sorted(vocabulary.special_token_ids)
        special = vocabulary.special_token_ids
        self.tokens = [
            f"<|special {i}|>".encode() if i in special else vocabulary.token_bytes(i) for i in range(vocabulary.size)
        ]
        self.ids = {token: i for i, token in enumerate(self.tokens) if len(token) == 1}

    def __call__(self, text: str | bytes) -> list[int]:
        return [self.ids[bytes([byte])] for byte in (text.encode() if isinstance(text, str) else text)]
