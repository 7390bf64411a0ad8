"""Walks of the campaign: random vocabularies, and random calls made on engine and twin at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from random import Random
from typing import Any

import numpy as np

from campaign.cases import Found, Wrong
from campaign.fronts import Source
from campaign.sessions import BUFFERS, Calls, Session, Tokens
from support import vocabularies
from support.mask_paths import NEVER, all_strings, limits, pieces_of
from support.strategies import SMALL, TokenPool, choose_token

SAMPLED_FROM = ("tekken", "llama3", "deepseek", "mistral-spm-32k")
SPECIALS = ("<|call|>", "<|end|>", "<|other|>")


@cache
def pool(name: str) -> TokenPool:
    vocabulary = vocabularies.load(name)
    return TokenPool.of([vocabulary.token_bytes(i) for i in range(vocabulary.size)])


def sampled(rng: Random) -> Tokens:
    """Make a vocabulary of 500 to 4,000 tokens of a real one, mostly near 500, with EOS ids, gaps and special tokens.

    It contains all single bytes, some tokens twice, and now and then long runs of blanks.
    """
    size = int(500 * 8 ** (rng.random() ** 2))
    tokens = pool(rng.choice(SAMPLED_FROM)).sample(rng, size)
    if rng.randrange(3) == 0:
        tokens += [rng.choice([b" ", b"\n", b"\t", b"  ", b" \n"]) * n for n in (2, 3, 5, 8, 13, 31, 64)]
    size = len(tokens)
    special = {name: size + 1 + i for i, name in enumerate(SPECIALS)}
    return Tokens.of([*tokens, b"", *(b"" for _ in SPECIALS), b""], [special["<|end|>"], size + 4], special)


@cache
def small(alphabet: str) -> Tokens:
    every_byte = [bytes([b]) for b in range(256)]  # ignored text may need bytes beyond the alphabet
    vocabulary = all_strings(alphabet, SMALL[alphabet][0], [*pieces_of(alphabet), *every_byte])
    return Tokens.of([vocabulary.token_bytes(i) for i in range(vocabulary.size)], list(vocabulary.eos_token_ids))


def make_bounds(rng: Random) -> dict[str, int]:
    """Return bounds of masks; half of the sessions get the usual ones."""
    bounds = {}
    if rng.randrange(2):
        bounds["split_nodes"] = rng.choice([1, 2, 5, 30, 50, 150, 300, NEVER])
        bounds["small_nodes"] = rng.choice([0, 4, 50, 200, NEVER])
    if rng.randrange(6) == 0:
        bounds["memory"] = rng.choice([0, 5_000, 1 << 14, 1 << 18])
    if rng.randrange(12) == 0:
        bounds["budget"] = rng.choice([1, 100, 5_000])
    return bounds


def run_session(
    rng: Random,
    counts: Counter[str],
    sources: Iterable[Source],
    tokens: Tokens,
    *,
    n_calls: int,
    choose: Callable[[Random, Session], list[Any]],
    budget: int = 1_500_000,
) -> None:
    """Make calls drawn by `choose`; a difference raises `Found` with all calls made so far."""
    bounds = make_bounds(rng)
    session = Session(tuple(sources), tokens, budget)
    with limits(**bounds):
        try:
            for n in range(len(session.sources)):
                session.do("new", n)
            for _ in range(n_calls if session.pairs else 0):
                session.do(*choose(rng, session))
        except Wrong as wrong:
            case = Calls(session.sources, tokens, bounds, tuple(session.calls), budget * 2)
            raise Found(case, str(wrong)) from wrong
        finally:
            counts["grammars"] += len(session.sources)
            counts["grammars refused"] += len(session.refused)
            counts.update(session.refused.values())
            counts["masks"] += session.n_masks
            counts["calls"] += len(session.calls)


def next_token(rng: Random, session: Session, number: int) -> int:
    """Choose a token of the twin's mask, not EOS if there is another: short or long, or a part of a character."""
    pair = session.pairs[number]
    allowed = np.flatnonzero(pair.twin.mask()).tolist()
    ordinary = [t for t in allowed if t not in session.vocabulary.eos_token_ids]
    if not ordinary:
        return int(rng.choice(allowed)) if allowed else 0
    spelled = session.vocabulary.token_bytes
    if rng.randrange(8) == 0 and len(ordinary) < 5000:  # enter a character, within which UTF-8 alone decides
        parts = [t for t in ordinary if len(spelled(t)) == 1 and spelled(t) >= b"\x80"]
        if parts:
            return int(rng.choice(parts))
    some = rng.sample(ordinary, min(200, len(ordinary)))
    return choose_token(rng, some, {t: spelled(t) for t in some})


def walking(rng: Random, session: Session) -> list[Any]:
    """Draw a call: mostly masks and tokens, now and then a rollback, a fork or a new matcher."""
    roll = rng.randrange(100)
    last = session.calls[-1]
    # Mostly the same matcher, for the first positions of sequences are alike and cheap.
    stays = last[0] != "new" and rng.randrange(4) > 0
    number = last[1] % len(session.pairs) if stays else rng.randrange(len(session.pairs))
    if last[0] == "mask" and roll < 88:
        number = last[1] % len(session.pairs)
        return ["accept", number, next_token(rng, session, number)]
    if roll < 88:
        return ["mask", number]
    if roll < 91:
        return ["rollback", number, rng.choice([1, 1, 2, 5, 100])]
    if roll < 94:
        return ["fork", number]
    if roll < 95:
        return ["reset", number]
    if roll < 96:
        return ["new", rng.randrange(len(session.sources))]
    if roll < 97:
        return ["drop", number]
    return ["accept", number, rng.randrange(session.vocabulary.size)]


def calling(rng: Random, session: Session) -> list[Any]:
    """Draw a call of any kind."""
    number = rng.randrange(len(session.pairs))
    size = session.vocabulary.size
    roll = rng.randrange(26)
    if roll < 7:
        return ["accept", number, next_token(rng, session, number)]
    if roll < 9:
        return ["accept", number, rng.randrange(size)]
    if roll < 12:
        return ["mask", number]
    if roll == 12:
        tokens = [next_token(rng, session, number), *(rng.randrange(size + 2) - 1 for _ in range(rng.randrange(3)))]
        return ["validate", number, tokens]
    if roll == 13:
        return ["buffer", number, rng.choice(list(BUFFERS))]
    if roll == 14:
        name, values = rng.choice(
            [
                ("memory", [0, 5_000, 1 << 26]),
                ("split_nodes", [1, 5, 50, NEVER]),
                ("small_nodes", [0, 4, NEVER]),
                ("budget", [1, 300, 10**9]),
            ]
        )
        return ["bounds", number, name, rng.choice(values)]
    if roll == 15:
        return ["threads", number, rng.randint(1, 3)]
    if roll == 16:
        return ["new", rng.randrange(len(session.sources))]
    if roll == 17:
        return ["rollback_too_far", number, rng.randrange(-3, 4)]
    if roll == 18:
        return ["rollback", number, rng.choice([0, 1, 1, 2, 5, 1000])]
    if roll == 19:
        return [rng.choice(["fork", "fork", "drop", "reset"]), number]
    if roll == 20:
        return [rng.choice(["collect", "reload", "pickled", "constraint"]), number]
    if roll == 21:
        return rng.choice([["batch", number, rng.randint(1, 3)], ["ahead", number, rng.randint(1, 4)]])
    return [rng.choice(["odd_ids", "forced", "look", "fork"]), number]
