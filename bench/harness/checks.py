"""Whether the masks that are timed are right, at each position where earleymask filled one.

- It must allow the token that the text goes on with.
- Its mask must equal its own merged walk's, the reference, bit for bit.
- Its mask is compared with llguidance's bit by bit. The two differ where llguidance's lexer is greedy: it then refuses
  tokens that the grammar allows. So the differing tokens are put to xgrammar, which parses character by character and
  decides; without it they count as undecided.
- Its mask is compared with xgrammar's wherever xgrammar filled one, and llguidance decides between the two if it can.

A mask that differs from the walk, or a token in which earleymask stands alone against a peer, or against both, is a
finding and fails the bench. All of this disturbs the processor's caches and teaches the walk's automata, so it is done
in processes whose times of earleymask and llguidance are not reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..engines import Row, Session

OURS = "earleymask"
GREEDY = "llguidance"
EXACT = "xgrammar"
MAX_EXAMPLES = 20
MAX_ASKED = 1000
"""Tokens put to xgrammar at one position; of more, about that many are taken at even distances. In `ORDER BY`, which
also reads as `... OR DER ...`, fifty thousand tokens can differ, and each costs 40 µs."""


@dataclass
class Checks:
    """How the masks of earleymask compared. Counts of positions, then of (position, token) pairs."""

    positions: int = 0
    text_refused: int = 0
    """Positions where earleymask did not allow the token that the text goes on with."""
    with_walk: int = 0
    equal_walk: int = 0
    with_llguidance: int = 0
    equal_llguidance: int = 0
    with_xgrammar: int = 0
    equal_xgrammar: int = 0
    unchecked: int = 0
    """Positions where no peer had a mask."""
    greedy_tokens: int = 0
    """Allowed by earleymask, refused by llguidance; each that was asked about is allowed by xgrammar."""
    too_wide_tokens: int = 0
    """The other way round."""
    not_asked_tokens: int = 0
    """How many of these two were not put to xgrammar, because too many differed at one position."""
    xgrammar_alone_tokens: int = 0
    """earleymask and llguidance agree against xgrammar."""
    undecided_tokens: int = 0
    """earleymask against one peer, and no other peer to ask."""
    wrong_tokens: int = 0
    """earleymask against both."""
    examples: list[str] = field(default_factory=list)

    def note(self, position: int, token: bytes, allowed: bool, what: str) -> None:
        if len(self.examples) < MAX_EXAMPLES:
            self.examples.append(f"position {position}: {token!r} is {'allowed' if allowed else 'refused'}; {what}")

    @property
    def clean(self) -> bool:
        unlike_walk = self.with_walk - self.equal_walk
        return not (self.text_refused or unlike_walk or self.undecided_tokens or self.wrong_tokens)


@dataclass
class Checker:
    """Compares at every position; `measure.follow` calls `at` after each round of masks."""

    sessions: Mapping[str, Session]
    tokens: Sequence[int]
    """The text that is followed."""
    token_bytes: Sequence[bytes]
    """Of every id of the vocabulary."""
    max_asked: int = MAX_ASKED
    checks: Checks = field(default_factory=Checks)

    def at(self, position: int, filled: Sequence[str], live: Sequence[str]) -> None:
        """`filled`: the engines whose rows hold the mask of this position; `live`: those that stand at it."""
        if OURS not in filled:
            return
        self.checks.positions += 1
        ours = self.sessions[OURS].row
        if position < len(self.tokens) and not has(ours, self.tokens[position]):
            self.checks.text_refused += 1
            self.checks.note(position, self.token_bytes[self.tokens[position]], False, "the text goes on with it")
        if GREEDY not in filled and EXACT not in filled:
            self.checks.unchecked += 1
        self._with_walk(position, ours)
        against_greedy: set[int] = set()
        asked: set[int] = set()
        if GREEDY in filled:
            against_greedy, asked = self._with_greedy(position, ours, EXACT in live)
        if EXACT in filled:
            self._with_exact(position, ours, GREEDY in filled, against_greedy, asked)

    def _with_walk(self, position: int, ours: Row) -> None:
        walk = self.sessions[OURS].walk
        if walk is None:
            return
        reference = np.zeros_like(ours)
        walk(reference)
        self.checks.with_walk += 1
        if np.array_equal(ours, reference):
            self.checks.equal_walk += 1
            return
        for token in differences(ours, reference, len(self.token_bytes))[:MAX_EXAMPLES]:
            self.checks.note(position, self.token_bytes[token], has(ours, token), "the walk differs")

    def _with_greedy(self, position: int, ours: Row, exact_is_here: bool) -> tuple[set[int], set[int]]:
        """The tokens that differ, and those of them that were put to the exact engine."""
        checks, asked = self.checks, set[int]()
        checks.with_llguidance += 1
        differing = differences(ours, self.sessions[GREEDY].row, len(self.token_bytes))
        checks.equal_llguidance += not differing
        ask = self.sessions[EXACT].allows if exact_is_here else None
        if ask is not None:
            asked.update(differing[:: 1 + len(differing) // self.max_asked])
        for token in differing:
            mine = has(ours, token)
            if ask is None:
                checks.undecided_tokens += 1
                checks.note(position, self.token_bytes[token], mine, "llguidance differs, nobody decides")
            elif token in asked and ask(token) != mine:
                checks.wrong_tokens += 1
                checks.note(position, self.token_bytes[token], mine, "both peers differ")
            else:
                checks.greedy_tokens += mine
                checks.too_wide_tokens += not mine
                checks.not_asked_tokens += token not in asked
        return set(differing), asked

    def _with_exact(
        self, position: int, ours: Row, greedy_is_here: bool, against_greedy: set[int], asked: set[int]
    ) -> None:
        checks = self.checks
        checks.with_xgrammar += 1
        differing = differences(ours, self.sessions[EXACT].row, len(self.token_bytes))
        checks.equal_xgrammar += not differing
        for token in differing:
            if token in asked:
                continue
            mine = has(ours, token)
            if token in against_greedy:
                checks.wrong_tokens += 1
                checks.note(position, self.token_bytes[token], mine, "both peers differ")
            elif greedy_is_here:
                checks.xgrammar_alone_tokens += 1
            else:
                checks.undecided_tokens += 1
                checks.note(position, self.token_bytes[token], mine, "xgrammar differs, nobody decides")


def has(row: Row, token: int) -> bool:
    return bool(int(row[token >> 5]) >> (token & 31) & 1)


def differences(row: Row, other: Row, size: int) -> list[int]:
    """The tokens below `size` in which two bitmasks differ."""
    words: NDArray[np.uint32] = (row ^ other).view(np.uint32)
    found: list[int] = []
    for word in np.flatnonzero(words):
        bits = int(words[word])
        found += [int(word) * 32 + bit for bit in range(32) if bits >> bit & 1]
    return [token for token in found if token < size]
