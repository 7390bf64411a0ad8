"""xgrammar as an engine of the benches."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
from functools import partial
from typing import Any

import numpy as np

from earleymask.trie import Vocabulary

from .session import Session, grammar_file, new_row


class XGrammar:
    name = "xgrammar"
    trivial = 'root ::= "a"\n'

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.module: Any = importlib.import_module("xgrammar")
        self.version = importlib.metadata.version("xgrammar")
        self.vocabulary = vocabulary
        # xgrammar never allows a token without bytes, so special tokens need no mark.
        tokens = [vocabulary.token_bytes(i) for i in range(vocabulary.size)]
        info = self.module.TokenizerInfo(tokens, stop_token_ids=list(vocabulary.eos_token_ids))
        self.compiler = self.module.GrammarCompiler(info, max_threads=1, cache_enabled=False)

    def grammar(self, kind: str) -> str:
        return grammar_file(kind, "ebnf").read_text(encoding="utf-8")

    def open(self, grammar: str) -> Session:
        return self._session(self.compiler.compile_grammar(grammar))

    def open_schema(self, schema: Any, order: str) -> Session:
        # The strict mode would forbid properties that a schema does not name, which JSON Schema allows.
        compiled = self.compiler.compile_json_schema(json.dumps(schema), strict_mode=False, any_order=order == "any")
        return self._session(compiled)

    def _session(self, compiled: Any) -> Session:
        matcher = self.module.GrammarMatcher(compiled)
        bitmask = new_row(self.vocabulary)[np.newaxis]

        def allows(token: int) -> bool:
            allowed = bool(matcher.accept_token(token))
            if allowed:
                matcher.rollback(1)
            return allowed

        fill = partial(matcher.fill_next_token_bitmask, bitmask)
        again = partial(self._session, compiled)
        return Session(bitmask[0], fill, matcher.accept_token, lambda: "", dict, again=again, allows=allows)
