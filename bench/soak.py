"""Serve random requests for as long as it is let, and fail if a mask is wrong or the process grows.

    python -m bench.soak [--minutes 60] [--threads 1] [--live 64] [--vocabulary llama3] [--memory 64] [--seed 0]

Each thread is a server of its own with some sequences at a time, of JSON Schemas, Lark grammars, regular expressions,
lists of choices, structural tags and tool calls that no earlier request had, and of some that come again, out of a
`MatcherPool`. In each step a batch of rows is filled, by itself or in the background, and applied to logits; then each
sequence accepts a token, or takes some back, forks, follows a draft, accepts forced tokens, is pickled, moves through a
snapshot, or begins anew. Some sequences may have so many tokens only, and must end in time; some masks are due at once.
Some masks are compared with those of the walk and of a replay. Some grammars reach a limit on purpose, and end their
sequences.

The memory of the process is noted at twelve times: as it is, and at rest, when all sequences have been dropped and the
pool has been emptied. The first depends on which grammars are alive. The second is what requests leave behind, and must
not grow in the second half by more than the larger of 16 MB and 5 percent: by then what is remembered of the vocabulary
has reached its bound. The exit code is 1 if it does, or if a mask is wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import pickle
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

import numpy as np
from tqdm import tqdm

import earleymask
from earleymask import BudgetError, LimitError, Matcher, Vocabulary

from . import endurance
from .harness import vocabularies
from .harness.memory import resident_bytes
from .random_requests import request, schema_text

N_NOTES = 12
MOST_TOKENS = 60
"""Tokens after which a request is answered, whether its text is complete or not."""
GROWTH_BYTES = 16_000_000
GROWTH_SHARE = 0.05
N_RECURRING = 40
"""Schemas that come again, from the pool, which remembers fewer."""


# --- servers ---------------------------------------------------------------------------------------------------------


@dataclass
class Counts:
    """What the servers have done; each counts for itself."""

    requests: int = 0
    masks: int = 0
    ended: int = 0
    compared: int = 0
    in_time: int = 0
    """Sequences with a budget that have ended with a sentence."""
    numberless: int = 0
    """Sequences for which no budget is known."""
    partial: int = 0
    forced: int = 0
    restored: int = 0

    def __iadd__(self, other: Counts) -> Counts:
        for name, number in vars(other).items():
            setattr(self, name, getattr(self, name) + number)
        return self


@dataclass
class Server:
    """Sequences that take turns in one thread."""

    pool: earleymask.MatcherPool
    recurring: Sequence[str]
    rng: Random
    n_live: int
    counts: Counts = field(default_factory=Counts)
    live: list[Matcher | None] = field(default_factory=list)
    budgets: list[int | None] = field(default_factory=list)
    """How many tokens may still come in each place; None: any number."""

    def __post_init__(self) -> None:
        self.rows = earleymask.allocate_bitmask(self.n_live, self.pool.vocabulary)
        self.logits = np.zeros((self.n_live, self.pool.vocabulary.size), np.float32)
        self.draft_rows = earleymask.allocate_bitmask(5, self.pool.vocabulary)
        self.drop()

    def drop(self) -> None:
        """Drop all sequences."""
        self.live = [None] * self.n_live
        self.budgets = [None] * self.n_live

    def step(self) -> None:
        """Begin requests in free places, fill the rows of all sequences, and let each go on."""
        rng = self.rng
        for place, matcher in enumerate(self.live):
            if matcher is None and rng.random() < 0.9:
                self.live[place] = matcher = request(rng, self.pool, self.recurring)
                self.budgets[place] = self.some_budget(matcher)
                self.counts.requests += 1
        threads = rng.choice([1, 2])
        if rng.random() < 0.5:
            earleymask.fill_bitmasks(self.live, self.rows, threads=threads, on_error="end", remaining=self.budgets)
        else:
            filling = earleymask.start_bitmasks(
                self.live, self.rows, threads=threads, on_error="end", remaining=self.budgets
            )
            filling.wait()
        self.counts.masks += sum(matcher is not None for matcher in self.live)
        if rng.random() < 0.05:
            self.apply()
        for place, matcher in enumerate(self.live):
            if matcher is not None:
                assert not isinstance(matcher.error, BudgetError), f"not done in time: {matcher.grammar!r}"
                before = matcher.n_tokens
                try:
                    self.live[place] = after = self.go_on(place, matcher, self.rows[place])
                    if after is not None and (budget := self.budgets[place]) is not None:
                        self.budgets[place] = budget + before - after.n_tokens
                except LimitError:
                    self.counts.ended += 1
                    self.live[place] = None

    def some_budget(self, matcher: Matcher) -> int | None:
        """Give a few requests a budget: the fewest tokens that they need, or some more; none if no number is known."""
        if self.rng.random() < 0.8:
            return None
        try:
            return matcher.tokens_to_finish() + self.rng.choice([0, 1, 5, 30])
        except (BudgetError, LimitError):
            self.counts.numberless += 1
            return None

    def apply(self) -> None:
        """Apply the rows, and look at one of them."""
        self.logits[:] = 0
        earleymask.apply_bitmask(self.logits, self.rows)
        place = self.rng.randrange(self.n_live)
        bits = np.unpackbits(self.rows[place].view(np.uint8), bitorder="little", count=self.logits.shape[1])
        assert np.array_equal(np.isfinite(self.logits[place]), bits.astype(bool)), "apply_bitmask is wrong"

    def go_on(self, place: int, matcher: Matcher, row: Any) -> Matcher | None:
        """Do something with a sequence whose row is filled; return what becomes of it."""
        rng = self.rng
        if matcher.error is not None:
            self.counts.ended += 1
            if rng.random() < 0.5 or not matcher.n_tokens:
                return None
            matcher.rollback(1 + rng.randrange(matcher.n_tokens))
            return matcher
        if matcher.is_finished():
            self.counts.in_time += self.budgets[place] is not None
            return None
        if matcher.n_tokens >= MOST_TOKENS and self.budgets[place] is None:
            return None
        if rng.random() < 0.005:
            self.compare(matcher, row, self.budgets[place])
        way = rng.random()
        if way < 0.03:
            matcher.rollback(rng.randint(0, matcher.n_tokens))
        elif way < 0.06:
            matcher = matcher.fork()
        elif way < 0.08:
            self.budgets[place] = None  # drafts, and the tokenizer's cuts, know of none
            self.follow_draft(matcher, row)
        elif way < 0.082:
            matcher = pickle.loads(pickle.dumps(matcher))
        elif way < 0.084:
            matcher.reset()
        elif way < 0.09:
            return None
        elif way < 0.1 and matcher.vocabulary.encode is not None:
            self.budgets[place] = None
            tokens = matcher.forced_tokens()
            assert matcher.accept_tokens(tokens) == len(tokens), "a forced token is not accepted"
            self.counts.forced += len(tokens)
        elif way < 0.11:
            matcher = self.moved(matcher)
        else:
            accepted = matcher.accept(endurance.chosen(rng, row, matcher.vocabulary))
            assert accepted, "a token of the mask is not accepted"
            if rng.random() < 0.01:
                self.fill_in_time(matcher)
        return matcher

    def moved(self, matcher: Matcher) -> Matcher:
        """Return what a snapshot makes of a matcher."""
        taken = matcher.snapshot()
        restored = Matcher.restore(taken, matcher.grammar, self.pool.vocabulary)
        assert restored.snapshot() == taken and restored.tokens == matcher.tokens, "a restored matcher differs"
        self.counts.restored += 1
        return restored

    def fill_in_time(self, matcher: Matcher) -> None:
        """Fill a row that is due soon, which must be a part of the mask and have a token."""
        part, whole = self.draft_rows[:2]
        try:
            is_complete = matcher.fill_bitmask(part, seconds=self.rng.choice([0, 0.0001, 0.001]))
        except LimitError:  # nothing was found in time
            return
        matcher.fill_bitmask(whole)
        assert part.any() and not (part & ~whole).any(), "a mask in time is no part of the mask"
        assert not is_complete or np.array_equal(part, whole), "a mask in time is said to be complete"
        self.counts.partial += not is_complete

    def follow_draft(self, matcher: Matcher, row: Any) -> None:
        """Fill rows along a draft, and accept what of it is allowed."""
        draft: list[int] = []
        fork = matcher.fork()
        for n in range(4):
            draft.append(endurance.chosen(self.rng, row, matcher.vocabulary))
            if n == 3 or not fork.accept(draft[-1]):
                break
            row = self.draft_rows[-1]
            fork.fill_bitmask(row, on_error="end")
        rows = self.draft_rows[: len(draft) + 1]
        allowed = earleymask.fill_draft_bitmasks(matcher, draft, rows.copy(), on_error="end").tolist()
        n_allowed = allowed.index(False) if False in allowed else len(draft)
        assert matcher.accept_tokens(draft[:n_allowed]) == n_allowed, "a draft token that is allowed is not accepted"

    def compare(self, matcher: Matcher, row: Any, budget: int | None = None) -> None:
        """Compare a row with those of the walk, and of a matcher that accepts the same tokens once more. The walk knows
        no budget: a row with one is a part of its row."""
        other = np.empty_like(row)
        again = matcher.fork()
        again.reset()
        assert again.accept_tokens(matcher.tokens) == matcher.n_tokens
        message = f"masks differ after {matcher.tokens} in {matcher.grammar!r}"
        for fill, is_whole in ((matcher.walk_bitmask, True), (partial(again.fill_bitmask, remaining=budget), False)):
            try:
                fill(other)
            except LimitError:  # the limits of both are reached at other places
                continue
            assert np.array_equal(row, row & other if is_whole and budget is not None else other), message
        self.counts.compared += 1


# --- memory ----------------------------------------------------------------------------------------------------------


@dataclass
class Note:
    seconds: float
    counts: Counts
    resident: int
    at_rest: int


def grown(notes: Sequence[Note]) -> int:
    """Return by how many bytes the process at rest has grown in the second half beyond what it may: 0 if it has not.

    Halves of the second half are compared by their medians.
    """
    later = [note.at_rest for note in notes[len(notes) // 2 :]]
    before, after = (float(np.median(part)) for part in (later[: len(later) // 2], later[len(later) // 2 :]))
    return max(0, int(after - before - max(GROWTH_BYTES, GROWTH_SHARE * before)))


def table(notes: Sequence[Note]) -> str:
    lines = [
        "| after | requests | masks | compared | ended by a limit | in budget | no budget known | partial | forced "
        "| restored | memory | at rest |",
        "| --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |",
    ]
    for note in notes:
        counts = note.counts
        lines.append(
            f"| {note.seconds:,.0f} s | {counts.requests:,} | {counts.masks:,} | {counts.compared:,} "
            f"| {counts.ended:,} | {counts.in_time:,} | {counts.numberless:,} | {counts.partial:,} "
            f"| {counts.forced:,} | {counts.restored:,} | {note.resident / 1e6:,.1f} MB "
            f"| {note.at_rest / 1e6:,.1f} MB |"
        )
    return "\n".join(lines)


def resident_at_rest(servers: Sequence[Server]) -> int:
    """Drop what all servers have, and return the memory that the process still takes. No server may be at work."""
    for server in servers:
        server.drop()
        server.pool.clear()
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    return resident_bytes()


def soak(servers: Sequence[Server], seconds: float) -> list[Note]:
    """Let each server work in a thread of its own, and return the notes. Raises what a server raises."""
    begin = time.monotonic()
    errors: list[BaseException] = []
    notes: list[Note] = []
    may_work = threading.Event()  # cleared when it is time for a note
    may_work.set()

    def take_note() -> None:
        """Take a note. The last server that comes to the barrier does it, while the others wait."""
        passed, counts, resident = time.monotonic() - begin, Counts(), resident_bytes()
        for server in servers:
            counts += server.counts
        notes.append(Note(passed, counts, resident, resident_at_rest(servers)))
        may_work.set()

    barrier = threading.Barrier(len(servers), take_note)

    def work(server: Server) -> None:
        try:
            while not errors and (time.monotonic() - begin < seconds or not may_work.is_set()):
                if not may_work.is_set():
                    barrier.wait()
                server.step()
        except threading.BrokenBarrierError:
            pass
        except BaseException as error:
            errors.append(error)
        finally:
            barrier.abort()  # nobody waits for this one any more

    threads = [threading.Thread(target=work, args=(server,), daemon=True) for server in servers]
    for thread in threads:
        thread.start()
    with tqdm(total=round(seconds), desc="soak", unit="s", mininterval=1.0) as progress:
        while not errors and (passed := time.monotonic() - begin) < seconds:
            progress.update(min(round(passed), progress.total) - progress.n)
            if notes:
                progress.set_postfix(requests=notes[-1].counts.requests, MB=notes[-1].at_rest // 1_000_000)
            if passed >= seconds * (len(notes) + 1) / (N_NOTES + 1):
                may_work.clear()
            time.sleep(0.1)
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return notes


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--minutes", type=float, default=60.0, help="(default: %(default)s)")
    parser.add_argument("--threads", type=int, default=1, help="servers side by side (default: %(default)s)")
    parser.add_argument("--live", type=int, default=64, help="sequences of a server (default: %(default)s)")
    parser.add_argument("--vocabulary", choices=vocabularies.NAMES, default="llama3")
    parser.add_argument(
        "--memory", type=int, default=64, help="MiB remembered of the vocabulary (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    vocabulary: Vocabulary = vocabularies.load(options.vocabulary)[0]
    earleymask.prepare(vocabulary, memory=options.memory << 20)
    pool = earleymask.MatcherPool(vocabulary, capacity=N_RECURRING // 2)
    recurring = [schema_text(Random(f"recurring {number}")) for number in range(N_RECURRING)]
    servers = [
        Server(pool, recurring, Random(f"{options.seed} {number}"), options.live) for number in range(options.threads)
    ]
    notes = soak(servers, 60 * options.minutes)
    print(f"{options.vocabulary}, {vocabulary.size:,} tokens, {options.threads} threads, seed {options.seed}\n")
    print(table(notes))
    if excess := grown(notes):
        print(f"\nAt rest, the process has grown by {excess / 1e6:,.1f} MB more than it may.")
        return 1
    print("\nThe memory at rest is flat.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
