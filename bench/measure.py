"""Follow one text with several engines at once, time each mask and each accepted token, and check every answer.

All engines stand at the same position, fill their mask one after the other, and only then go on to the next token: what
disturbs the machine disturbs all of them alike. Who begins changes from position to position, because the first one
finds the caches of the processor as the checks left them.

Checks, outside the timed calls, at each position where a mask was filled:

- earleymask must allow the token that the text goes on with;
- its mask is compared with llguidance's bit by bit. The two differ where llguidance's lexer is greedy: it then refuses
  tokens that the grammar allows. So the differing tokens are put to xgrammar, which parses character by character and
  decides; without it they count as undecided;
- its mask is compared with xgrammar's wherever xgrammar filled one, and llguidance decides between the two if it can.

A token in which earleymask stands alone against a peer, or against both, is a finding and fails the bench.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from .engines import Engine, Row, Session

OURS = "earleymask"
GREEDY = "llguidance"
EXACT = "xgrammar"
MAX_EXAMPLES = 20
MAX_ASKED = 1000
"""Tokens put to xgrammar at one position; of more, about that many are taken at even distances. In `ORDER BY`, which
also reads as `... OR DER ...`, fifty thousand tokens can differ, and each costs 40 µs."""


@dataclass
class Track:
    """What one engine did on one text. Times are in nanoseconds."""

    positions: list[int] = field(default_factory=list)
    """Where a mask was filled: all positions, or every n-th of a slow engine. Parallel to `fill_ns` and `n_allowed`."""
    fill_ns: list[int] = field(default_factory=list)
    n_allowed: list[int] = field(default_factory=list)
    accept_ns: list[int] = field(default_factory=list)
    """One for each token accepted."""
    gave_up_at: int | None = None
    reason: str = ""
    stats: dict[str, int] = field(default_factory=dict)


@dataclass
class Checks:
    """How the masks of earleymask compared. Counts of positions, then of (position, token) pairs."""

    positions: int = 0
    text_refused: int = 0
    """Positions where earleymask did not allow the token that the text goes on with."""
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
        return not (self.text_refused or self.undecided_tokens or self.wrong_tokens)


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Python's collector stops whoever happens to allocate; keep it out of the timed calls."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def time_first_masks(engines: Sequence[Engine], kind: str, repeats: int) -> dict[str, list[int]]:
    """Nanoseconds from grammar text to the first mask, `repeats` times for each engine, taking turns."""
    times: dict[str, list[int]] = {engine.name: [] for engine in engines}
    grammars = {engine.name: engine.grammar(kind) for engine in engines}
    for _ in range(repeats):
        for engine in engines:
            grammar = grammars[engine.name]
            with no_garbage_collection():
                begin = time.perf_counter_ns()
                session = engine.open(grammar)
                session.fill()
                times[engine.name].append(time.perf_counter_ns() - begin)
            del session
    return times


def follow(
    sessions: Mapping[str, Session],
    tokens: Sequence[int],
    strides: Mapping[str, int],
    *,
    token_bytes: Sequence[bytes],
    size: int,
    max_asked: int = MAX_ASKED,
    label: str = "",
) -> tuple[dict[str, Track], Checks]:
    """Lead all sessions through `tokens`, and one mask further. An engine with stride n fills every n-th mask only.

    An engine that refuses a token of the text is dropped there, and its track says where and why.
    """
    tracks = {name: Track() for name in sessions}
    checks = Checks()
    live = list(sessions)
    with no_garbage_collection():
        for position in tqdm(range(len(tokens) + 1), desc=label, unit="token", leave=False, mininterval=1.0):
            begin = position % len(live)
            live = live[begin:] + live[:begin]
            filled = [name for name in live if position % strides.get(name, 1) == 0]
            for name in filled:
                fill, track = sessions[name].fill, tracks[name]
                start = time.perf_counter_ns()
                fill()
                track.fill_ns.append(time.perf_counter_ns() - start)
            for name in filled:
                track = tracks[name]
                track.positions.append(position)
                track.n_allowed.append(int.from_bytes(sessions[name].row.tobytes(), "little").bit_count())
            _check(sessions, filled, live, tokens, position, token_bytes, size, max_asked, checks)
            if position == len(tokens):
                break
            token = tokens[position]
            for name in tuple(live):
                accept, track = sessions[name].accept, tracks[name]
                start = time.perf_counter_ns()
                accepted = accept(token)
                elapsed = time.perf_counter_ns() - start
                if accepted:
                    track.accept_ns.append(elapsed)
                else:
                    track.gave_up_at = position
                    track.reason = sessions[name].error().splitlines()[0] if sessions[name].error() else "refused"
                    live.remove(name)
            if not live:
                break
    for name, track in tracks.items():
        track.stats = sessions[name].stats()
    return tracks, checks


def _check(
    sessions: Mapping[str, Session],
    filled: Sequence[str],
    live: Sequence[str],
    tokens: Sequence[int],
    position: int,
    token_bytes: Sequence[bytes],
    size: int,
    max_asked: int,
    checks: Checks,
) -> None:
    if OURS not in filled:
        return
    checks.positions += 1
    ours = sessions[OURS].row
    if position < len(tokens) and not has(ours, tokens[position]):
        checks.text_refused += 1
        checks.note(position, token_bytes[tokens[position]], False, "the text goes on with it")
    if GREEDY not in filled and EXACT not in filled:
        checks.unchecked += 1

    against_greedy: set[int] = set()
    asked: set[int] = set()
    if GREEDY in filled:
        checks.with_llguidance += 1
        differing = differences(ours, sessions[GREEDY].row, size)
        against_greedy.update(differing)
        checks.equal_llguidance += not differing
        ask = sessions[EXACT].allows if EXACT in live else None
        if ask is not None:
            asked.update(differing[:: 1 + len(differing) // max_asked])
        for token in differing:
            mine = has(ours, token)
            if ask is None:
                checks.undecided_tokens += 1
                checks.note(position, token_bytes[token], mine, "llguidance differs, nobody decides")
            elif token in asked and ask(token) != mine:
                checks.wrong_tokens += 1
                checks.note(position, token_bytes[token], mine, "both peers differ")
            else:
                checks.greedy_tokens += mine
                checks.too_wide_tokens += not mine
                checks.not_asked_tokens += token not in asked
    if EXACT in filled:
        checks.with_xgrammar += 1
        differing = differences(ours, sessions[EXACT].row, size)
        checks.equal_xgrammar += not differing
        for token in differing:
            if token in asked:
                continue
            mine = has(ours, token)
            if token in against_greedy:
                checks.wrong_tokens += 1
                checks.note(position, token_bytes[token], mine, "both peers differ")
            elif GREEDY in filled:
                checks.xgrammar_alone_tokens += 1
            else:
                checks.undecided_tokens += 1
                checks.note(position, token_bytes[token], mine, "xgrammar differs, nobody decides")


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


def floor_ns(n_words: int, repeats: int = 2000) -> int:
    """Median nanoseconds of copying one bitmask under this bench's timer: no mask can be had for less."""
    source, target = np.zeros(n_words, np.int32), np.zeros(n_words, np.int32)
    times = []
    for _ in range(repeats):
        start = time.perf_counter_ns()
        np.copyto(target, source)
        times.append(time.perf_counter_ns() - start)
    return int(statistics.median(times))
