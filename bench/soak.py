"""Serve random requests for as long as it is let, and fail if a mask is wrong or the process grows.

    python -m bench.soak [--minutes 60] [--threads 1] [--live 64] [--vocabulary llama3] [--memory 64] [--seed 0]

Each thread is a server of its own with some sequences at a time, of JSON Schemas, Lark grammars, regular expressions
and lists of choices that no earlier request had, and of some that come again, out of a `MatcherPool`. In each step a
batch of rows is filled, by itself or in the background, and applied to logits; then each sequence accepts a token, or
takes some back, forks, follows a draft, is pickled, or begins anew. Some masks are compared with those of the walk and
of a replay. Some grammars reach a limit on purpose, and end their sequences.

The memory of the process is noted at twelve times. In the second half it must not grow by more than the larger of
16 MB and 5 percent: by then what is remembered of the vocabulary has reached its bound. The exit code is 1 if it does,
or if a mask is wrong.
"""

from __future__ import annotations

import argparse
import gc
import pickle
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
from tqdm import tqdm

import earleymask
from earleymask import Grammar, Limits, Matcher, Vocabulary

from . import endurance
from .harness import vocabularies
from .harness.memory import resident_bytes

N_NOTES = 12
MOST_TOKENS = 60
"""Tokens after which a request is answered, whether its text is complete or not."""
GROWTH_BYTES = 16_000_000
GROWTH_SHARE = 0.05
N_RECURRING = 40
"""Schemas that come again, from the pool, which remembers fewer."""


# --- requests --------------------------------------------------------------------------------------------------------


def regex(rng: Random) -> str:
    """Make a regular expression of names, numbers, classes and groups."""
    pieces = [
        endurance.name(rng),
        rf"[0-9]{{1,{rng.randint(1, 12)}}}",
        r"\w+",
        rf"({endurance.name(rng)}|{endurance.name(rng)})",
        r"[^\x00-\x1f]*?;",
        rf"(?:[A-F0-9]{{2}}[:-]){{{rng.randint(1, 5)}}}",
    ]
    return "".join(rng.choices(pieces, k=rng.randint(1, 6)))


def schema_text(rng: Random) -> str:
    return endurance.json.dumps(endurance.schema(rng))


def deep(rng: Random) -> Grammar:
    """Make a grammar of many palindromes, which soon take more memory than they may."""
    text = f'start: "{endurance.name(rng)}" same~20..99\nsame: "a" same "a" | "b" same "b" | "a" | "b"'
    return Grammar.from_lark(text, limits=Limits(matcher_bytes=1 << 12))


def request(rng: Random, pool: earleymask.MatcherPool, recurring: Sequence[str]) -> Matcher:
    """Return the matcher of a new request."""
    vocabulary = pool.vocabulary
    kinds: list[Callable[[], Grammar]] = [
        lambda: Grammar.from_json_schema(endurance.schema(rng)),
        lambda: Grammar.from_lark(endurance.grammar(rng)),
        lambda: Grammar.from_regex(regex(rng)),
        lambda: Grammar.from_choices([endurance.name(rng) for _ in range(rng.randint(1, 300))]),
        lambda: deep(rng),
    ]
    eos = None if rng.random() < 0.7 else [max(vocabulary.special_token_ids)]
    if rng.random() < 0.3:
        return pool.matcher(Grammar.from_json_schema, rng.choice(recurring), eos_token_ids=eos)
    if rng.random() < 0.02:
        return Matcher.only_eos(vocabulary, eos)
    return Matcher(rng.choices(kinds, weights=[5, 4, 2, 2, 1])[0](), vocabulary, eos)


# --- servers ---------------------------------------------------------------------------------------------------------


@dataclass
class Counts:
    """What the servers have done; each counts for itself."""

    requests: int = 0
    masks: int = 0
    ended: int = 0
    compared: int = 0

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

    def __post_init__(self) -> None:
        self.rows = earleymask.allocate_bitmask(self.n_live, self.pool.vocabulary)
        self.logits = np.zeros((self.n_live, self.pool.vocabulary.size), np.float32)
        self.draft_rows = earleymask.allocate_bitmask(5, self.pool.vocabulary)
        self.live = [None] * self.n_live

    def step(self) -> None:
        """Begin requests in free places, fill the rows of all sequences, and let each go on."""
        rng = self.rng
        for place, matcher in enumerate(self.live):
            if matcher is None and rng.random() < 0.9:
                self.live[place] = request(rng, self.pool, self.recurring)
                self.counts.requests += 1
        threads = rng.choice([1, 2])
        if rng.random() < 0.5:
            earleymask.fill_bitmasks(self.live, self.rows, threads=threads, on_error="end")
        else:
            earleymask.start_bitmasks(self.live, self.rows, threads=threads, on_error="end").wait()
        self.counts.masks += sum(matcher is not None for matcher in self.live)
        if rng.random() < 0.05:
            self.apply()
        for place, matcher in enumerate(self.live):
            if matcher is not None:
                try:
                    self.live[place] = self.go_on(matcher, self.rows[place])
                except earleymask.LimitError:
                    self.counts.ended += 1
                    self.live[place] = None

    def apply(self) -> None:
        """Apply the rows, and look at one of them."""
        self.logits[:] = 0
        earleymask.apply_bitmask(self.logits, self.rows)
        place = self.rng.randrange(self.n_live)
        bits = np.unpackbits(self.rows[place].view(np.uint8), bitorder="little", count=self.logits.shape[1])
        assert np.array_equal(np.isfinite(self.logits[place]), bits.astype(bool)), "apply_bitmask is wrong"

    def go_on(self, matcher: Matcher, row: Any) -> Matcher | None:
        """Do something with a sequence whose row is filled; return what becomes of it."""
        rng = self.rng
        if matcher.error is not None:
            self.counts.ended += 1
            if rng.random() < 0.5 or not matcher.n_tokens:
                return None
            matcher.rollback(1 + rng.randrange(matcher.n_tokens))
            return matcher
        if matcher.is_finished() or matcher.n_tokens >= MOST_TOKENS:
            return None
        if rng.random() < 0.005:
            self.compare(matcher, row)
        way = rng.random()
        if way < 0.03:
            matcher.rollback(rng.randint(0, matcher.n_tokens))
        elif way < 0.06:
            matcher = matcher.fork()
        elif way < 0.08:
            self.follow_draft(matcher, row)
        elif way < 0.082:
            matcher = pickle.loads(pickle.dumps(matcher))
        elif way < 0.084:
            matcher.reset()
        elif way < 0.09:
            return None
        else:
            accepted = matcher.accept(endurance.chosen(rng, row, matcher.vocabulary))
            assert accepted, "a token of the mask is not accepted"
        return matcher

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

    def compare(self, matcher: Matcher, row: Any) -> None:
        """Compare a row with those of the walk, and of a matcher that accepts the same tokens once more."""
        other = np.empty_like(row)
        again = matcher.fork()
        again.reset()
        assert again.accept_tokens(matcher.tokens) == matcher.n_tokens
        for fill in (matcher.walk_bitmask, again.fill_bitmask):
            try:
                fill(other)
            except earleymask.LimitError:  # the limits of both are reached at other places
                continue
            assert np.array_equal(row, other), f"masks differ after {matcher.tokens} in {matcher.grammar!r}"
        self.counts.compared += 1


# --- memory ----------------------------------------------------------------------------------------------------------


@dataclass
class Note:
    seconds: float
    counts: Counts
    resident: int


def grown(notes: Sequence[Note]) -> int:
    """Return by how many bytes the process has grown in the second half beyond what it may: 0 if it has not.

    Halves of the second half are compared by their medians: a single note may fall into the making of a large grammar.
    """
    later = [note.resident for note in notes[len(notes) // 2 :]]
    before, after = (float(np.median(part)) for part in (later[: len(later) // 2], later[len(later) // 2 :]))
    return max(0, int(after - before - max(GROWTH_BYTES, GROWTH_SHARE * before)))


def table(notes: Sequence[Note]) -> str:
    lines = [
        "| after | requests | masks | compared | ended by a limit | memory |",
        "| --: | --: | --: | --: | --: | --: |",
    ]
    for note in notes:
        counts = note.counts
        lines.append(
            f"| {note.seconds:,.0f} s | {counts.requests:,} | {counts.masks:,} | {counts.compared:,} "
            f"| {counts.ended:,} | {note.resident / 1e6:,.1f} MB |"
        )
    return "\n".join(lines)


def soak(servers: Sequence[Server], seconds: float) -> list[Note]:
    """Let each server work in a thread of its own, and return the notes. Raises what a server raises."""
    begin = time.monotonic()
    errors: list[BaseException] = []

    def work(server: Server) -> None:
        try:
            while not errors and time.monotonic() - begin < seconds:
                server.step()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(server,), daemon=True) for server in servers]
    for thread in threads:
        thread.start()
    notes: list[Note] = []
    with tqdm(total=round(seconds), desc="soak", unit="s", mininterval=1.0) as progress:
        while not errors and (passed := time.monotonic() - begin) < seconds:
            progress.update(min(round(passed), progress.total) - progress.n)
            if passed >= seconds * (len(notes) + 1) / (N_NOTES + 1):
                gc.collect()
                counts = Counts()
                for server in servers:
                    counts += server.counts
                notes.append(Note(passed, counts, resident_bytes()))
                progress.set_postfix(requests=counts.requests, MB=notes[-1].resident // 1_000_000)
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
        print(f"\nThe process has grown by {excess / 1e6:,.1f} MB more than it may.")
        return 1
    print("\nThe memory is flat.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
