"""Follow one text with several engines at once, and time each mask and each accepted token.

At each position, every engine fills its mask, one after the other, before any accepts the next token, so that a
disturbance of the machine affects all of them. The engine that begins changes from position to position, because each
finds the processor's caches as the engine before it left them.

`checks.py` compares the masks, outside the timed calls, and in processes of its own.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from tqdm import tqdm

from ..engines import Engine, Session

OnMasks = Callable[[int, Sequence[str], Sequence[str]], None]
"""Called with a position, the engines that filled a mask there, and the engines that still follow the text."""


@dataclass
class Track:
    """The times of one engine on one text, in nanoseconds."""

    positions: list[int] = field(default_factory=list)
    """Where a mask was filled: at all positions, or at every n-th for a slow engine. Parallel to `fill_ns`,
    `n_allowed`."""
    fill_ns: list[int] = field(default_factory=list)
    n_allowed: list[int] = field(default_factory=list)
    accept_ns: list[int] = field(default_factory=list)
    """One for each accepted token."""
    gave_up_at: int | None = None
    reason: str = ""


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Keep Python's garbage collector, which stops whatever allocates, out of the timed calls."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def open_all(
    engines: Sequence[Engine], kind: str, first: int = 0
) -> tuple[dict[str, Session], dict[str, int], dict[str, str]]:
    """Open a session of each engine for the grammar `kind`, beginning with engine number `first`.

    Returns the sessions, the nanoseconds from grammar text to session, and the errors of engines that refused it.
    """
    sessions: dict[str, Session] = {}
    times: dict[str, int] = {}
    refused: dict[str, str] = {}
    begin = first % len(engines)
    with no_garbage_collection():
        for engine in [*engines[begin:], *engines[:begin]]:
            grammar = engine.grammar(kind)
            start = time.perf_counter_ns()
            try:
                session = engine.open(grammar)
            except Exception as error:  # that a peer cannot read a grammar is a result, too
                if engine.name == "earleymask":
                    raise
                refused[engine.name] = str(error).splitlines()[0]
                continue
            times[engine.name] = time.perf_counter_ns() - start
            sessions[engine.name] = session
    return {engine.name: sessions[engine.name] for engine in engines if engine.name in sessions}, times, refused


def follow(
    sessions: Mapping[str, Session],
    tokens: Sequence[int],
    strides: Mapping[str, int] | None = None,
    *,
    first: int = 0,
    on_masks: OnMasks | None = None,
    label: str = "",
) -> dict[str, Track]:
    """Follow `tokens` with all sessions; fill a mask before each token and after the last one.

    An engine with stride n fills every n-th mask only. Engine number `first` begins at position 0. An engine that
    refuses a token of the text stops there, and its track says where and why.
    """
    strides = strides or {}
    tracks = {name: Track() for name in sessions}
    live = list(sessions)
    with no_garbage_collection():
        for position in tqdm(
            range(len(tokens) + 1), desc=label, unit="token", leave=False, mininterval=1.0, disable=not label
        ):
            begin = (first + position) % len(live)
            turn = live[begin:] + live[:begin]
            filled = [name for name in turn if position % strides.get(name, 1) == 0]
            for name in filled:
                fill, track = sessions[name].fill, tracks[name]
                start = time.perf_counter_ns()
                fill()
                track.fill_ns.append(time.perf_counter_ns() - start)
            for name in filled:
                track = tracks[name]
                track.positions.append(position)
                track.n_allowed.append(int.from_bytes(sessions[name].row.tobytes(), "little").bit_count())
            if on_masks is not None:
                on_masks(position, filled, live)
            if position == len(tokens):
                break
            token = tokens[position]
            for name in turn:
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
    return tracks


def floor_ns(n_words: int, repeats: int = 2000) -> int:
    """Return the median nanoseconds of copying one bitmask under the same timer: the least that a mask can take."""
    source, target = np.zeros(n_words, np.int32), np.zeros(n_words, np.int32)
    times = []
    for _ in range(repeats):
        start = time.perf_counter_ns()
        np.copyto(target, source)
        times.append(time.perf_counter_ns() - start)
    return int(statistics.median(times))
