"""The engines that are compared, each behind the same two calls: fill a bitmask row, accept a token.

`engines(vocabulary, encode)` readies every engine that is installed for one vocabulary: that is done once for a model
and is not timed. `Engine.open(grammar)` is what a request costs before its first mask: grammar text in, session out,
with every cache of compiled grammars off. A `Session` holds plain callables, so that what is timed is one call into the
engine's own Python binding:

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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from earleymask.trie import Vocabulary

GRAMMARS = Path(__file__).parent / "grammars"
LLGUIDANCE_OPTIONS = '%llguidance {"no_forcing": true, "allow_initial_skip": true}\n'

Row = NDArray[np.int32]
Encode = Callable[[str], Sequence[int]]


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
    allows: Callable[[int], bool] | None = None
    """Whether one token may come next, not by way of a mask; where the engine can tell and take it back."""


class Engine(Protocol):
    name: str
    version: str

    def grammar(self, kind: str) -> str:
        """The grammar `kind` in this engine's syntax."""

    def open(self, grammar: str) -> Session:
        """From grammar text to a session whose first mask can be filled."""


def engines(vocabulary: Vocabulary, encode: Encode, names: Sequence[str]) -> tuple[list[Engine], dict[str, str]]:
    """Those of `names` that are installed, ready for this vocabulary; and why the others are missing."""
    makers: dict[str, Callable[[Vocabulary, Encode], Engine]] = {
        "earleymask": Earleymask,
        "llguidance": LLGuidance,
        "xgrammar": XGrammar,
    }
    found: list[Engine] = []
    missing: dict[str, str] = {}
    for name in names:
        try:
            found.append(makers[name](vocabulary, encode))
        except ImportError as error:
            missing[name] = str(error)
    return found, missing


def n_words(vocabulary: Vocabulary) -> int:
    return (vocabulary.size + 31) // 32


class Earleymask:
    name = "earleymask"

    def __init__(self, vocabulary: Vocabulary, encode: Encode) -> None:
        self.module: Any = importlib.import_module("earleymask")
        self.version = str(self.module.__version__)
        self.vocabulary = vocabulary

    def grammar(self, kind: str) -> str:
        return (GRAMMARS / f"{kind}.lark").read_text(encoding="utf-8")

    def open(self, grammar: str) -> Session:
        matcher = self.module.Matcher(self.module.Grammar.from_lark(grammar), self.vocabulary)
        row = np.zeros(n_words(self.vocabulary), np.int32)
        return Session(row, partial(matcher.fill_bitmask, row), matcher.accept, lambda: "", matcher.stats)


class LLGuidance:
    name = "llguidance"

    def __init__(self, vocabulary: Vocabulary, encode: Encode) -> None:
        self.module: Any = importlib.import_module("llguidance")
        self.version = importlib.metadata.version("llguidance")
        self.vocabulary = vocabulary
        wrapper = self.module.TokenizerWrapper(_LLGuidanceTokens(vocabulary, encode))
        self.tokenizer = self.module.LLTokenizer(
            wrapper, n_vocab=vocabulary.size, eos_token=list(vocabulary.eos_token_ids)
        )

    def grammar(self, kind: str) -> str:
        return LLGUIDANCE_OPTIONS + (GRAMMARS / f"{kind}.lark").read_text(encoding="utf-8")

    def open(self, grammar: str) -> Session:
        matcher = self.module.LLMatcher(self.tokenizer, grammar, log_level=0)
        if matcher.is_error():
            raise ValueError(f"llguidance: {matcher.get_error()}")
        row = np.zeros(n_words(self.vocabulary), np.int32)
        fill = partial(matcher.unsafe_compute_mask_ptr, row.ctypes.data, row.nbytes)
        return Session(row, fill, matcher.consume_token, matcher.get_error, dict)


class _LLGuidanceTokens:
    """What `llguidance.TokenizerWrapper` asks a tokenizer for."""

    bos_token_id = None

    def __init__(self, vocabulary: Vocabulary, encode: Encode) -> None:
        self.eos_token_id = vocabulary.eos_token_ids[0]
        self.special_token_ids = sorted(vocabulary.special_token_ids)
        special = vocabulary.special_token_ids
        self.tokens = [
            f"<|special {i}|>".encode() if i in special else vocabulary.token_bytes(i) for i in range(vocabulary.size)
        ]
        self.encode = encode

    def __call__(self, text: str | bytes) -> list[int]:
        return list(self.encode(text if isinstance(text, str) else text.decode()))


class XGrammar:
    name = "xgrammar"

    def __init__(self, vocabulary: Vocabulary, encode: Encode) -> None:
        self.module: Any = importlib.import_module("xgrammar")
        self.version = importlib.metadata.version("xgrammar")
        self.vocabulary = vocabulary
        # It never allows a token without bytes, so special tokens need no other mark.
        tokens = [vocabulary.token_bytes(i) for i in range(vocabulary.size)]
        info = self.module.TokenizerInfo(tokens, stop_token_ids=list(vocabulary.eos_token_ids))
        self.compiler = self.module.GrammarCompiler(info, max_threads=1, cache_enabled=False)

    def grammar(self, kind: str) -> str:
        return (GRAMMARS / f"{kind}.ebnf").read_text(encoding="utf-8")

    def open(self, grammar: str) -> Session:
        matcher = self.module.GrammarMatcher(self.compiler.compile_grammar(grammar))
        bitmask = np.zeros((1, n_words(self.vocabulary)), np.int32)

        def allows(token: int) -> bool:
            allowed = bool(matcher.accept_token(token))
            if allowed:
                matcher.rollback(1)
            return allowed

        fill = partial(matcher.fill_next_token_bitmask, bitmask)
        return Session(bitmask[0], fill, matcher.accept_token, lambda: "", dict, allows)
