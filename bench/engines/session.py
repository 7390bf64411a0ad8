"""What every engine offers to the benches: a `Session` follows one text, an `Engine` opens sessions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from earleymask.trie import Vocabulary

from .. import ROOT

GRAMMARS = ROOT / "bench" / "grammars"

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


def n_words(vocabulary: Vocabulary) -> int:
    return (vocabulary.size + 31) // 32


def new_row(vocabulary: Vocabulary) -> Row:
    """A bitmask row, its memory touched, so that no first mask pays for the system's zeroing of pages."""
    return np.full(n_words(vocabulary), -1, np.int32)


def grammar_file(kind: str, syntax: str) -> Path:
    """The file of a grammar in a syntax ("lark" or "ebnf"); those written after tuning lie in `heldout/`."""
    file = GRAMMARS / f"{kind}.{syntax}"
    return file if file.exists() else GRAMMARS / "heldout" / f"{kind}.{syntax}"
