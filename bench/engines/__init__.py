"""The engines that are compared, each behind the same two calls: fill a bitmask row, accept a token.

`engines(vocabulary)` readies every engine that is installed for one vocabulary: that is done once for a model. Each has
read a trivial grammar and filled one mask then, so that nobody's first call of all is in what is timed.
`Engine.open(grammar)` is what a request costs before its first mask: grammar text in, session out, with every cache of
compiled grammars off. `Session.again()` is the next request with the same grammar object. A `Session` holds plain
callables, so that what is timed is one call into the engine's own Python binding:

- earleymask: `Matcher.fill_bitmask(row)`, `Matcher.accept(token)`;
- llguidance: `LLMatcher.unsafe_compute_mask_ptr(address, n_bytes)`, `LLMatcher.consume_token(token)`. Its usual entry
  `llguidance.numpy.fill_next_token_bitmask` wraps that in about a microsecond of Python, which is left out;
- xgrammar: `GrammarMatcher.fill_next_token_bitmask(bitmask)`, `GrammarMatcher.accept_token(token)`; its compiler may
  use one thread, as everybody here.

All three write into the same kind of preallocated int32 row. Settings are the engines' defaults but for llguidance's
`no_forcing`: without it, a forced text is given as the one token that its tokenizer would choose, which is not the mask
of the grammar and cannot be compared. Its `allow_initial_skip` is Lark's meaning of `%ignore`.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from earleymask.trie import Vocabulary

from .. import ROOT

GRAMMARS = ROOT / "bench" / "grammars"
LLGUIDANCE_OPTIONS = '%llguidance {"no_forcing": true, "allow_initial_skip": true}\n'

Row = NDArray[np.int32]


@dataclass
class Session:
    """One text being followed by one engine."""

    row: Row
    """Where `fill` writes: bit `t % 32` of word `t // 32` is token `t`."""
    fill: Callable[[], object]
    accept: Callable[[int], bool]
    error: Callable[[], str]
    """Why the engine gave up; empty while it has not."""
    stats: Callable[[], dict[str, int]]
    """The engine's own counters since the session began; empty for peers."""
    again: Callable[[], Session] | None = None
    """Another session from the start, with all that was learned of the grammar; this one is over then."""
    walk: Callable[[Row], object] | None = None
    """Fills a row by the engine's slow reference; where the engine has one."""
    grammar_stats: Callable[[], dict[str, int]] | None = None
    """What is kept with the grammar; where the engine tells."""
    allows: Callable[[int], bool] | None = None
    """Whether one token may come next, not by way of a mask; where the engine can tell and take it back."""


class Engine(Protocol):
    name: str
    version: str
    trivial: str
    """A grammar of one letter, in this engine's syntax."""

    def grammar(self, kind: str) -> str:
        """The grammar `kind` in this engine's syntax."""

    def open(self, grammar: str) -> Session:
        """From grammar text to a session whose first mask can be filled."""

    def open_schema(self, schema: Any, order: str) -> Session:
        """The same from a JSON Schema in memory; `order` of keys: "schema" or "any", where the engine has a choice."""


def engines(vocabulary: Vocabulary, names: Sequence[str]) -> tuple[list[Engine], dict[str, str]]:
    """Those of `names` that are installed, ready for this vocabulary; and why the others are missing."""
    makers: dict[str, Callable[[Vocabulary], Engine]] = {
        "earleymask": Earleymask,
        "llguidance": LLGuidance,
        "xgrammar": XGrammar,
    }
    found: list[Engine] = []
    missing: dict[str, str] = {}
    for name in names:
        try:
            engine = makers[name](vocabulary)
        except ImportError as error:
            missing[name] = str(error)
            continue
        engine.open(engine.trivial).fill()
        found.append(engine)
    return found, missing


def n_words(vocabulary: Vocabulary) -> int:
    return (vocabulary.size + 31) // 32


def new_row(vocabulary: Vocabulary) -> Row:
    """A bitmask row, its memory touched, so that no first mask pays for the system's zeroing of pages."""
    return np.full(n_words(vocabulary), -1, np.int32)


def grammar_file(kind: str, syntax: str) -> Path:
    """The file of a grammar in a syntax ("lark" or "ebnf"); those written after tuning lie in `heldout/`."""
    file = GRAMMARS / f"{kind}.{syntax}"
    return file if file.exists() else GRAMMARS / "heldout" / f"{kind}.{syntax}"


class Earleymask:
    name = "earleymask"
    trivial = 'start: "a"\n'

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
        return self._session(self.module.Grammar.from_json_schema(schema, property_order=order))

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
        )


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
        # It knows the schema's order alone. As `%json` in a grammar, because options stand there.
        return self.open(f"{LLGUIDANCE_OPTIONS}start: %json {json.dumps(schema)}\n")


class _LLGuidanceTokens:
    """What `llguidance.TokenizerWrapper` asks a tokenizer for."""

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


class XGrammar:
    name = "xgrammar"
    trivial = 'root ::= "a"\n'

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.module: Any = importlib.import_module("xgrammar")
        self.version = importlib.metadata.version("xgrammar")
        self.vocabulary = vocabulary
        # It never allows a token without bytes, so special tokens need no other mark.
        tokens = [vocabulary.token_bytes(i) for i in range(vocabulary.size)]
        info = self.module.TokenizerInfo(tokens, stop_token_ids=list(vocabulary.eos_token_ids))
        self.compiler = self.module.GrammarCompiler(info, max_threads=1, cache_enabled=False)

    def grammar(self, kind: str) -> str:
        return grammar_file(kind, "ebnf").read_text(encoding="utf-8")

    def open(self, grammar: str) -> Session:
        return self._session(self.compiler.compile_grammar(grammar))

    def open_schema(self, schema: Any, order: str) -> Session:
        # Its strict mode means that properties that a schema does not name are forbidden, which JSON Schema does not.
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
