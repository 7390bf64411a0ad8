"""earleymask as an engine of the benches."""

from __future__ import annotations

import importlib
from functools import partial
from typing import Any

from earleymask.trie import Vocabulary

from .session import Session, grammar_file, new_row


class Earleymask:
    name = "earleymask"
    trivial = 'start: "a"\n'
    spellings = "plain"
    """The option of schemas, which a bench may set."""

    def __init__(self, vocabulary: Vocabulary, *, prepare: bool = True) -> None:
        self.module: Any = importlib.import_module("earleymask")
        self.version = str(self.module.__version__)
        self.vocabulary = vocabulary
        if prepare:
            self.module.prepare(vocabulary)

    def grammar(self, kind: str) -> str:
        return grammar_file(kind, "lark").read_text(encoding="utf-8")

    def open(self, grammar: str) -> Session:
        return self._session(self.module.Grammar.from_lark(grammar))

    def open_schema(self, schema: Any, order: str) -> Session:
        return self._session(
            self.module.Grammar.from_json_schema(schema, property_order=order, spellings=self.spellings)
        )

    def _session(self, grammar: Any) -> Session:
        matcher = self.module.Matcher(grammar, self.vocabulary)
        row = new_row(self.vocabulary)
        return Session(
            row,
            partial(matcher.fill_bitmask, row),
            matcher.accept,
            lambda: "",
            matcher.stats,
            again=partial(self._session, grammar),
            walk=getattr(matcher, "walk_bitmask", None),
            grammar_stats=getattr(grammar, "stats", None),
            warm=lambda seconds: grammar.warm(self.vocabulary, seconds=seconds).wait(),
        )
