"""Masks that are due: a part of the mask that holds a token, and the whole mask in the end."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from earleymask import Grammar, GrammarError, LimitError, Limits, Matcher, Vocabulary
from earleymask.earley._meter import fail_checks
from earleymask.earley._partial import Partial
from earleymask.trie._build import is_debug
from earleymask.trie._memory import run_out
from support import vocabularies
from support.in_time import AMBIGUOUS, HARD, SECONDS, slow_first_mask, stopped_walks
from support.mask_paths import all_strings, cut, filled, go_on, walked
from support.strategies import make_grammar


def partial(matcher: Matcher, seconds: float, n_tries: int = 50) -> tuple[npt.NDArray[np.bool_], bool]:
    """Return what a mask with a deadline allows, and whether it is complete. Nothing is found in time if other
    processes keep this one from running, so it is tried some times."""
    row = np.full((matcher.vocabulary.size + 31) // 32 + 1, -1, dtype=np.int32)  # dirty, and a word too long
    for k in range(n_tries):
        try:
            is_complete = matcher.fill_bitmask(row, seconds=seconds)
            break
        except LimitError:
            assert (row == -1).all()
            if k == n_tries - 1:
                raise
    assert type(is_complete) is bool
    bits = np.unpackbits(row.view(np.uint8), bitorder="little").view(np.bool_)
    assert not bits[matcher.vocabulary.size :].any()
    return bits[: matcher.vocabulary.size], is_complete


def check(matcher: Matcher, exact: npt.NDArray[np.bool_], seconds: float) -> int:
    """Ask for masks with a deadline until one is complete, and return how many were not."""
    before, n = matcher.tokens, 0
    seen = np.zeros_like(exact)
    while True:
        try:
            mask, is_complete = partial(matcher, seconds, 1)
        except LimitError:  # a step takes longer than that: making a rule, on a machine that is busy
            seconds = 2 * seconds + 0.001
            assert seconds < 1 and matcher.tokens == before
            continue
        assert not (mask & ~exact).any() and mask.any() == exact.any()
        assert matcher.tokens == before
        if is_complete:
            assert np.array_equal(mask, exact)
            return n
        assert not (seen & ~mask).any(), "what has been found is kept"
        seen = mask
        n += 1
        assert n < 100_000


@pytest.mark.parametrize("name", HARD)
def test_partial_masks_of_a_real_vocabulary(name: str) -> None:
    """At each place of a text, with another deadline; nothing is known about the grammar at first. The exact masks are
    made with the same grammar loaded once more."""
    vocabulary = vocabularies.load("tekken")
    matcher, twin, rng = Matcher(HARD[name](), vocabulary), Matcher(HARD[name](), vocabulary), Random(name)
    for k in range(18):
        exact = walked(twin) if k % 3 else filled(twin)
        check(matcher, exact, SECONDS[k % len(SECONDS)])
        assert np.array_equal(filled(matcher), exact)
        if not go_on(twin, rng, exact):
            break
        assert matcher.accept(twin.tokens[-1])


@settings(deadline=None)
@given(st.randoms(use_true_random=False))
def test_partial_masks_of_random_grammars(rng: Random) -> None:
    text = make_grammar(rng).text
    try:
        grammar = Grammar.from_lark(text)
    except (GrammarError, LimitError):
        assume(False)
    vocabulary = Vocabulary.from_tokens(cut("tekken", 4000), eos_token_id=4000)
    matcher, twin = Matcher(grammar, vocabulary), Matcher(Grammar.from_lark(text), vocabulary)
    for _ in range(4):
        exact = walked(twin)
        check(matcher, exact, 0)
        if not go_on(twin, rng, exact):
            break
        assert matcher.accept(twin.tokens[-1])


@pytest.mark.parametrize("n_nodes", [1, 2, 3, 7, 50])
@pytest.mark.parametrize("name", ["ambiguous", "unique", "lookaheads", "patterns"])
def test_a_walk_that_stops_anywhere(name: str, n_nodes: int) -> None:
    """The calls come to the end together, and what they find does not depend on where they stop."""
    vocabulary = all_strings('{"[a1: ,', 3) if name != "patterns" else all_strings('{"key7: 0endab', 2)
    matcher, twin, rng = Matcher(HARD[name](), vocabulary), Matcher(HARD[name](), vocabulary), Random(n_nodes)
    n_partial = 0
    for _ in range(8):
        exact = walked(twin)
        with stopped_walks(n_nodes):
            n_partial += check(matcher, exact, 0)
        if not go_on(twin, rng, exact):
            break
        assert matcher.accept(twin.tokens[-1])
    assert n_partial > 0 or n_nodes == 50


def test_doubtful_tokens_are_tried_once() -> None:
    """Each of the last calls tries one of them: if each began anew, they would never come to the end."""
    vocabulary = all_strings("[]1,2", 5)
    tokens = {vocabulary.token_bytes(token): token for token in range(vocabulary.size)}
    matcher, twin = Matcher(HARD["unique numbers"](), vocabulary), Matcher(HARD["unique numbers"](), vocabulary)
    written = [tokens[b"["], tokens[b"12"], tokens[b","], tokens[b"1"]]
    assert matcher.accept_tokens(written) == twin.accept_tokens(written) == 4
    exact = filled(twin)
    assert exact[[tokens[b",2,"], tokens[b",22,1"]]].all()
    assert not exact[[tokens[b",1,"], tokens[b",12,"], tokens[b"2,"], tokens[b"1,12]"]]].any()
    with stopped_walks(1):
        assert check(matcher, exact, 0) > exact.sum()


def test_a_token_that_is_spelled_as_one_that_is_allowed_by_its_id() -> None:
    """The other one is not allowed."""
    vocabulary = Vocabulary.from_tokens([b"a", b"b", b"a", b"b", b""], eos_token_id=4)
    with stopped_walks(1):
        assert check(Matcher('start: <[0-0]> "b" | "b"', vocabulary), np.array([True, True, False, True, False]), 0)


def n_walks() -> int:
    """Return how many walks of masks that are due are in memory."""
    return sum(type(one) is Partial for one in gc.get_objects())


def test_a_walk_is_dropped_with_its_mask_or_its_text() -> None:
    """It takes the memory of three masks, which no limit counts."""
    vocabulary = all_strings("abx+(", 2)
    before = n_walks()
    moves: list[Callable[[Matcher], object]] = [
        lambda matcher: matcher.accept(0),
        lambda matcher: matcher.accept_tokens([0]),
        lambda matcher: matcher.rollback(1),
        lambda matcher: matcher.reset(),
        lambda matcher: matcher.fill_bitmask(np.zeros(1, dtype=np.int32), seconds=1),
    ]
    for move in moves:
        matcher = Matcher(HARD["ambiguous"](), vocabulary)
        assert matcher.accept(0)
        with stopped_walks(1):
            assert not partial(matcher, 0)[1] and n_walks() == before + 1
            assert not partial(matcher.fork(), 0)[1] and n_walks() == before + 1
        move(matcher)
        assert n_walks() == before


def test_forks_and_going_back_do_not_mix_walks_up() -> None:
    vocabulary = vocabularies.load("tekken")
    matcher, twin, rng = Matcher(HARD["unique"](), vocabulary), Matcher(HARD["unique"](), vocabulary), Random(5)
    with stopped_walks(40):
        for _ in range(60):
            exact = walked(twin)
            mask, _ = partial(matcher, 0)
            assert mask.any() and not (mask & ~exact).any()
            fork = matcher.fork()
            mask, _ = partial(fork, 0)
            assert mask.any() and not (mask & ~exact).any()
            if rng.randrange(3) == 0 and matcher.n_tokens:
                n = rng.randint(1, matcher.n_tokens)
                matcher.rollback(n)
                twin.rollback(n)
            elif rng.randrange(2) and go_on(twin, rng, exact):
                assert matcher.accept(twin.tokens[-1])
    assert np.array_equal(filled(matcher), walked(twin))


@pytest.mark.skipif(not is_debug(), reason="checks fail, and memory runs out, on demand in debug builds alone")
@pytest.mark.parametrize("fail", [fail_checks, run_out], ids=["a limit", "memory"])
def test_a_complete_walk_that_cannot_be_remembered(fail: Callable[[int | None], Any]) -> None:
    """The mask is given all the same, and the next call has it at once."""
    vocabulary = all_strings("ab+(", 2)
    exact = walked(Matcher(HARD["ambiguous"](), vocabulary))
    n_forgotten = 0
    for after in range(1000):
        matcher = Matcher(HARD["ambiguous"](), vocabulary)
        fail(after)
        try:
            mask, is_complete = partial(matcher, 0, 1)
        except (LimitError, MemoryError):
            continue
        finally:
            fail(None)
        assert mask.any() and not (mask & ~exact).any()
        if is_complete and matcher.stats()["masks_walked"]:
            with stopped_walks(1):
                mask, is_complete = partial(matcher, 0)
            assert is_complete and np.array_equal(mask, exact)
            n_forgotten += matcher.stats()["masks_known"] == 0
        assert np.array_equal(filled(matcher), exact)
    assert n_forgotten


def test_a_mask_that_is_known_is_complete() -> None:
    vocabulary = Vocabulary.bytes()
    matcher = Matcher(Grammar.from_lark(AMBIGUOUS), vocabulary)
    filled(matcher)
    assert partial(matcher, 0)[1]
    assert matcher.fill_bitmask(np.zeros(9, dtype=np.int32)) is None
    assert matcher.fill_bitmask(np.zeros(9, dtype=np.int32), seconds=None) is None
    assert matcher.fill_bitmask(np.zeros(9, dtype=np.int32), "end", seconds=0.5) is True


def test_the_end_is_a_token() -> None:
    """After EOS, EOS is all that is allowed; before it, EOS is what is found first."""
    matcher = Matcher(Grammar.from_regex("a*"), Vocabulary.bytes())
    mask, _ = partial(matcher, 0)
    assert mask[256]
    assert matcher.accept(256)
    mask, is_complete = partial(matcher, 0)
    assert is_complete and np.flatnonzero(mask).tolist() == [256]


def test_no_token_at_all() -> None:
    """The vocabulary cannot spell the `b`, so the mask is empty, and complete."""
    vocabulary = Vocabulary.from_tokens([b"a", b"aa", b""], eos_token_id=2)
    matcher = Matcher(Grammar.from_lark('start: "ab"'), vocabulary)
    assert matcher.accept(0)
    mask, is_complete = partial(matcher, 0)
    assert is_complete and not mask.any()


@pytest.mark.parametrize("seconds", [-1, -1e-9, float("nan")])
def test_what_is_no_time(seconds: float) -> None:
    matcher, row = Matcher(AMBIGUOUS, Vocabulary.bytes()), np.full(9, 7, dtype=np.int32)
    with pytest.raises(ValueError, match="seconds must be 0 or more"):
        matcher.fill_bitmask(row, seconds=seconds)
    with pytest.raises(TypeError):
        matcher.fill_bitmask(row, seconds="1")  # type: ignore[arg-type]
    assert (row == 7).all()
    assert matcher.fill_bitmask(row, seconds=float("inf")) is True


def test_nothing_is_found_in_time() -> None:
    """Only a rule that takes long would say what may come. The matcher is as it was, and its mask can be made later."""
    grammar, begun = slow_first_mask(0.2, Limits(seconds=10))
    matcher = Matcher(grammar, Vocabulary.bytes())
    row = np.full(9, 7, dtype=np.int32)
    assert matcher.accept_tokens([97]) == 1 and not begun
    begin = time.perf_counter()
    with pytest.raises(LimitError, match=r"due after 0\.002 seconds") as caught:
        matcher.fill_bitmask(row, seconds=0.002)
    assert time.perf_counter() - begin < 0.15 and begun
    assert caught.value.limit == "seconds" and (row == 7).all() and matcher.tokens == [97]
    assert filled(matcher).nonzero()[0].tolist() == [97]


def test_masks_are_not_late() -> None:
    """By processor time, because other processes may keep this one from running. The walk takes a millisecond; the
    longest step without a look at the clock took another one when it was measured."""
    vocabulary = vocabularies.load("tekken")
    for name in HARD:
        matcher, twin, rng = Matcher(HARD[name](), vocabulary), Matcher(HARD[name](), vocabulary), Random(name)
        row = np.zeros((vocabulary.size + 31) // 32, dtype=np.int32)
        late = []
        for k in range(20):
            seconds = SECONDS[k % len(SECONDS)]
            begin = time.thread_time()
            with suppress(LimitError):
                matcher.fill_bitmask(row, seconds=seconds)
            late.append(time.thread_time() - begin - seconds)
            if not go_on(twin, rng, filled(twin)):
                break
            assert matcher.accept(twin.tokens[-1])
        assert sorted(late)[-2] < 0.005, (name, late)  # a full garbage collection may be in one of them


@pytest.mark.parametrize("seconds", [0, 1])
def test_a_limit_is_met_before_the_mask_is_due(seconds: float) -> None:
    """Where a plain mask fails, one that is due fails, too, or allows what it has found. Elsewhere it is complete."""
    text = 'start: "a" start "a" | "b" start "b" | "a" | "b" |'
    vocabulary = all_strings("ab", 6)
    matcher = Matcher(Grammar.from_lark(text, limits=Limits(grammar_bytes=60_000)), vocabulary)
    twin = Matcher(Grammar.from_lark(text), vocabulary)
    n_failed = n_complete = 0
    for _ in range(400):
        exact = filled(twin)
        try:
            mask, is_complete = partial(matcher.fork(), seconds, 1)
            assert mask.any() and not (mask & ~exact).any()
            assert not is_complete or np.array_equal(mask, exact)
            n_complete += is_complete
        except LimitError as error:
            assert error.limit in ("grammar_bytes", "seconds")  # noqa: PT017
        try:
            filled(matcher)
        except LimitError:
            n_failed += 1
        if not matcher.accept(0):
            break
        assert twin.accept(0)
        if n_failed > 3:
            break
    assert n_failed and (n_complete or not seconds)
