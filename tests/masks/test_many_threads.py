"""Thousands of matchers, on eight threads: they are handed from thread to thread, and each mask is the expected one.

`EARLEYMASK_EXHAUSTIVE=1` tries ten times as many, and `python -m bench.soak --threads 8` new grammars for as long as it
is let.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from random import Random

import numpy as np
import numpy.typing as npt
import pytest

from earleymask import Grammar, Matcher, Vocabulary, fill_bitmasks, fill_draft_bitmasks, start_bitmasks
from support.effort import effort
from support.grammar_texts import GRAMMARS
from support.mask_paths import cut, go_on, walked

N_THREADS = 8
N_MATCHERS = effort(3_000, 30_000)
N_TOKENS = 2_000
N_VISITS = 3
"""How often each matcher is handed on."""
SECONDS = 600
"""After so long, the test fails, because a thread seems to hang."""


@dataclass
class Journey:
    """The tokens of a text, and the rows before each and after the last."""

    tokens: list[int]
    rows: npt.NDArray[np.int32]


@dataclass
class Traveller:
    matcher: Matcher
    journey: Journey
    n_visits: int = 0

    @property
    def row(self) -> npt.NDArray[np.int32]:
        """The row that the matcher must fill."""
        found: npt.NDArray[np.int32] = self.journey.rows[self.matcher.n_tokens]
        return found


@pytest.fixture(autouse=True)
def switch_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    yield
    sys.setswitchinterval(before)


def journeys(name: str) -> list[Journey]:
    """Walk through texts of a grammar, in one thread, with a vocabulary of its own, by the walk over the trie."""
    vocabulary = Vocabulary.from_tokens(cut("tekken", N_TOKENS), eos_token_id=N_TOKENS)
    grammar = Grammar.from_lark(GRAMMARS[name])
    found = []
    for seed in range(4):
        matcher, rng = Matcher(grammar, vocabulary), Random(f"{name} {seed}")
        masks = [walked(matcher)]
        while matcher.n_tokens < 12 and go_on(matcher, rng, masks[-1]):
            masks.append(walked(matcher))
        bits = np.zeros((len(masks), -(-vocabulary.size // 32) * 32), np.bool_)
        bits[:, : vocabulary.size] = masks
        rows = np.packbits(bits, axis=-1, bitorder="little").view("<i4").astype(np.int32)
        found.append(Journey(matcher.tokens, rows))
    return found


def visit(travellers: list[Traveller], rng: Random) -> None:
    """Call the matchers of some travellers in one of many ways, and compare all rows."""
    rows = np.full((len(travellers), travellers[0].journey.rows.shape[1]), -1, np.int32)
    way = rng.randrange(4)
    for traveller in travellers:
        if rng.random() < 0.3:
            traveller.matcher = traveller.matcher.fork()
        matcher, tokens = traveller.matcher, traveller.journey.tokens
        if rng.random() < 0.3:
            matcher.rollback(rng.randint(0, matcher.n_tokens))
        ahead = tokens[matcher.n_tokens : matcher.n_tokens + rng.randint(0, 4)]
        assert matcher.accept_tokens(ahead) == len(ahead)
    matchers = [traveller.matcher for traveller in travellers]
    if way == 0:
        for row, matcher in zip(rows, matchers, strict=True):
            matcher.fill_bitmask(row)
    elif way == 1:
        fill_bitmasks(matchers, rows, threads=rng.choice([1, 3]))
    elif way == 2:
        start_bitmasks(matchers, rows, threads=2).wait()
    else:
        for row, traveller in zip(rows, travellers, strict=True):
            draft = traveller.journey.tokens[traveller.matcher.n_tokens :][:3]
            along = np.zeros((len(draft) + 1, rows.shape[1]), np.int32)
            assert fill_draft_bitmasks(traveller.matcher, draft, along).all()
            at = traveller.matcher.n_tokens
            assert np.array_equal(along, traveller.journey.rows[at : at + len(along)])
            row[:] = along[0]
    for row, traveller in zip(rows, travellers, strict=True):
        assert np.array_equal(row, traveller.row), traveller.matcher.tokens


def test_thousands_of_matchers_on_eight_threads() -> None:
    known = {name: journeys(name) for name in GRAMMARS}
    vocabulary = Vocabulary.from_tokens(cut("tekken", N_TOKENS), eos_token_id=N_TOKENS)
    grammars = {name: Grammar.from_lark(text) for name, text in GRAMMARS.items()}
    rng = Random(8)
    waiting: SimpleQueue[Traveller] = SimpleQueue()
    for _ in range(N_MATCHERS):
        name = rng.choice(sorted(GRAMMARS))
        waiting.put(Traveller(Matcher(grammars[name], vocabulary), rng.choice(known[name])))
    done: list[Traveller] = []
    errors: list[BaseException] = []

    def work(number: int) -> None:
        mine = Random(number)
        try:
            while not errors and len(done) < N_MATCHERS:
                travellers: list[Traveller] = []
                with suppress(Empty):
                    while len(travellers) < 8:
                        travellers.append(waiting.get_nowait())
                if not travellers:
                    break
                visit(travellers, mine)
                for traveller in travellers:
                    traveller.n_visits += 1
                    (waiting.put if traveller.n_visits < N_VISITS else done.append)(traveller)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(N_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    if errors:
        raise errors[0]
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"
    while not waiting.empty():  # what the last thread put back after the others had found nothing
        traveller = waiting.get()
        while traveller.n_visits < N_VISITS:
            visit([traveller], rng)
            traveller.n_visits += 1
        done.append(traveller)
    assert len(done) == N_MATCHERS and all(traveller.n_visits == N_VISITS for traveller in done)
