"""Check that the masks that are timed are right, at each position where earleymask filled one.

- The mask must allow the next token of the text.
- The mask must equal that of the merged walk, the reference, bit by bit.
- The mask is compared with llguidance's, bit by bit. They differ where llguidance's lexer is greedy: it then refuses
  tokens that the grammar allows. xgrammar, which parses character by character, decides about each differing token.
  Without xgrammar, the token counts as undecided.
- The mask is compared with xgrammar's, where xgrammar filled one. llguidance decides about differing tokens, if
  present.

The bench fails if a mask refuses the next token or differs from the walk's, if both peers disagree with earleymask
about a token, or if one does and the other is missing. The checks disturb the processor's caches and extend the
automata of the walk, so they run in processes whose times of earleymask and llguidance are not reported.
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
"""The most differing tokens that the report lists; the counts have all."""
MAX_ASKED = 1000
"""The most tokens that xgrammar is asked about at one position. If more differ, some are taken at even distances.
In `ORDER BY`, which can also be read as `... OR DER ...`, fifty thousand tokens can differ, and each question takes 40
µs."""


@dataclass
class Checks:
    """The results of the comparisons: counts of positions, then of pairs of a position and a token."""

    positions: int = 0
    text_refused: int = 0
    """Positions where earleymask did not allow the next token of the text."""
    with_walk: int = 0
    equal_walk: int = 0
    with_llguidance: int = 0
    equal_llguidance: int = 0
    with_xgrammar: int = 0
    equal_xgrammar: int = 0
    unchecked: int = 0
    """Positions where no peer filled a mask."""
    greedy_tokens: int = 0
    """Tokens that earleymask allows and llguidance refuses; xgrammar allows each that it was asked about."""
    too_wide_tokens: int = 0
    """Tokens that llguidance allows and earleymask refuses; xgrammar refuses each that it was asked about."""
    not_asked_tokens: int = 0
    """The tokens among these two that xgrammar was not asked about, because too many differed at one position."""
    xgrammar_alone_tokens: int = 0
    """Tokens about which xgrammar disagrees with both others."""
    undecided_tokens: int = 0
    """Tokens about which one peer disagrees with earleymask, and the other is missing."""
    wrong_tokens: int = 0
    """Tokens about which both peers disagree with earleymask."""
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
    """Makes the comparisons; `measure.follow` calls `at` after each round of masks."""

    sessions: Mapping[str, Session]
    tokens: Sequence[int]
    """The tokens of the text that is followed."""
    token_bytes: Sequence[bytes]
    """The bytes of each id of the vocabulary."""
    max_asked: int = MAX_ASKED
    checks: Checks = field(default_factory=Checks)

    def at(self, position: int, filled: Sequence[str], live: Sequence[str]) -> None:
        """Compare at a position. `filled`: the engines that filled a mask there; `live`: those that still follow the
        text."""
        if OURS not in filled:
            return
        self.checks.positions += 1
        ours = self.sessions[OURS].row
        if position < len(self.tokens) and not has(ours, self.tokens[position]):
            self.checks.text_refused += 1
            self.checks.note(
                position, self.token_bytes[self.tokens[position]], False, "it is the next token of the text"
            )
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
        """Return the tokens that differ, and those of them that the exact engine was asked about."""
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
                checks.note(position, self.token_bytes[token], mine, "llguidance differs, and xgrammar is missing")
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
                checks.note(position, self.token_bytes[token], mine, "xgrammar differs, and llguidance is missing")


def has(row: Row, token: int) -> bool:
    """Tell whether a bitmask allows a token."""
    return bool(int(row[token >> 5]) >> (token & 31) & 1)


def differences(row: Row, other: Row, size: int) -> list[int]:
    """Return the tokens below `size` in which two bitmasks differ."""
    words: NDArray[np.uint32] = (row ^ other).view(np.uint32)
    found: list[int] = []
    for word in np.flatnonzero(words):
        bits = int(words[word])
        found += [int(word) * 32 + bit for bit in range(32) if bits >> bit & 1]
    return [token for token in found if token < size]
