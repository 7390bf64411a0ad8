"""The interface of an engine in the benches: an `Engine` opens sessions, a `Session` follows one text."""

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
    """An engine that follows a text."""

    row: Row
    """The bitmask that `fill` writes: bit `t % 32` of word `t // 32` is token `t`."""
    fill: Callable[[], object]
    accept: Callable[[int], bool]
    error: Callable[[], str]
    """Returns why the engine gave up; empty if it has not."""
    stats: Callable[[], dict[str, int]]
    """Returns the engine's counters since the session began; empty for peers."""
    again: Callable[[], Session] | None = None
    """Begins another session of the same grammar object, with all that was learned of it, and ends this one."""
    walk: Callable[[Row], object] | None = None
    """Fills a row by the engine's slow reference; None if the engine has none."""
    grammar_stats: Callable[[], dict[str, int]] | None = None
    """Returns the counters of the grammar; None if the engine has none."""
    warm: Callable[[float], object] | None = None
    """Makes masks ahead for so many seconds of processor time; None if the engine cannot."""
    allows: Callable[[int], bool] | None = None
    """Tells whether one token may come next, without a mask; None if the engine cannot undo a token."""


class Engine(Protocol):
    name: str
    version: str
    trivial: str
    """A grammar of one letter, in this engine's syntax."""

    def grammar(self, kind: str) -> str:
        """Return the grammar `kind` in this engine's syntax."""

    def open(self, grammar: str) -> Session:
        """Read a grammar and return a session whose first mask can be filled."""

    def open_schema(self, schema: Any, order: str) -> Session:
        """Do the same with a JSON Schema in memory. `order` of keys: "schema" or "any", if the engine has a choice."""


def n_words(vocabulary: Vocabulary) -> int:
    return (vocabulary.size + 31) // 32


def new_row(vocabulary: Vocabulary) -> Row:
    """Make a bitmask row and touch its memory, so that the first mask does not wait for the system to provide it."""
    return np.full(n_words(vocabulary), -1, np.int32)


def grammar_file(kind: str, syntax: str) -> Path:
    """Return the file of a grammar in a syntax ("lark" or "ebnf"); held-out ones are in `heldout/`."""
    file = GRAMMARS / f"{kind}.{syntax}"
    return file if file.exists() else GRAMMARS / "heldout" / f"{kind}.{syntax}"
