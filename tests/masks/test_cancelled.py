"""A call that another thread cancels ends soon, and leaves the matcher as it was."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Literal

import numpy as np
import pytest

from earleymask import (
    BatchError,
    EarleymaskError,
    Grammar,
    LimitError,
    Limits,
    Matcher,
    MatcherCancelledError,
    MatcherInUseError,
    Vocabulary,
    allocate_bitmask,
    fill_bitmasks,
    fill_draft_bitmasks,
    start_bitmasks,
)
from siege.texts import tangle
from support import vocabularies
from support.mask_paths import USUAL, filled, limits

VOCABULARY = Vocabulary.bytes()
TANGLE = tangle(Random(920604107), 844)
"""844 rules that derive each other in circles: the second step takes many seconds."""

CALLS: dict[str, Callable[[Matcher], Any]] = {
    "fill": lambda matcher: matcher.fill_bitmask(np.zeros(9, dtype=np.int32)),
    "fill, or end": lambda matcher: matcher.fill_bitmask(np.zeros(9, dtype=np.int32), on_error="end"),
    "fill in time": lambda matcher: matcher.fill_bitmask(np.zeros(9, dtype=np.int32), seconds=20),
    "walk": lambda matcher: matcher.walk_bitmask(np.zeros(9, dtype=np.int32)),
    "accept": lambda matcher: matcher.accept(ord("a")),
    "accept tokens": lambda matcher: matcher.accept_tokens(b"ab"),
    "validate": lambda matcher: matcher.validate(b"ab"),
    "explain": lambda matcher: matcher.explain("abab"),
}


@pytest.fixture(autouse=True)
def usual_bounds() -> Iterator[None]:
    """Let masks take as long in a debug build as in others."""
    with limits(**USUAL):
        yield


def slow_matcher() -> Matcher:
    matcher = Matcher(Grammar.from_lark(TANGLE, limits=Limits.trusted()), VOCABULARY)
    assert matcher.accept(ord("a"))
    return matcher


def cancel_after(matcher: Matcher, seconds: float, times: list[float]) -> threading.Thread:
    def cancel() -> None:
        time.sleep(seconds)
        times.append(time.perf_counter())
        matcher.cancel()

    thread = threading.Thread(target=cancel)
    thread.start()
    return thread


@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_is_cancelled(name: str) -> None:
    matcher, times = slow_matcher(), list[float]()
    thread = cancel_after(matcher, 0.1, times)
    with pytest.raises(MatcherCancelledError, match=r"Matcher\.cancel"):
        CALLS[name](matcher)
    ended = time.perf_counter()
    thread.join()
    assert ended - times[0] < 1, "a thousand times what it takes, for busy machines"
    assert matcher.tokens == matcher.fork().tokens == [ord("a")] and matcher.error is None
    assert not matcher.is_finished()
    matcher.rollback(1)  # it can be used again
    assert matcher.accept(ord("a"))


def test_a_call_that_waits_for_the_grammar() -> None:
    """The other call, which has the grammar's lock, goes on."""
    first = slow_matcher()
    second, times, outcomes = first.fork(), list[float](), list[str]()

    def fill() -> None:
        with pytest.raises(MatcherCancelledError):
            filled(first)
        outcomes.append("cancelled")

    thread = threading.Thread(target=fill)
    thread.start()
    time.sleep(0.05)
    canceller = cancel_after(second, 0.1, times)
    with pytest.raises(MatcherCancelledError):
        filled(second)
    assert time.perf_counter() - times[0] < 1
    assert not outcomes
    first.cancel()
    thread.join()
    canceller.join()
    assert outcomes == ["cancelled"]


def test_a_mask_that_is_due_while_another_call_has_the_grammar() -> None:
    first = slow_matcher()
    second = first.fork()

    def fill() -> None:
        with pytest.raises(MatcherCancelledError):
            filled(first)

    thread = threading.Thread(target=fill)
    thread.start()
    time.sleep(0.05)
    begin = time.perf_counter()
    with pytest.raises(LimitError, match=r"due after 0\.01 seconds"):
        second.fill_bitmask(np.zeros(9, dtype=np.int32), seconds=0.01)
    assert time.perf_counter() - begin < 1
    first.cancel()
    thread.join()


def test_a_later_call_is_not_affected() -> None:
    matcher = Matcher(Grammar.from_regex("[ab]*"), VOCABULARY)
    matcher.cancel()
    matcher.cancel()
    assert filled(matcher).nonzero()[0].tolist() == [97, 98, 256]
    assert matcher.accept_tokens(b"abab") == 4 and matcher.validate(b"ab") == 2
    matcher.cancel()
    matcher.rollback(2)
    assert matcher.fork().tokens == [97, 98]


def test_rows_of_a_batch() -> None:
    """The row of the cancelled matcher fails alone."""
    slow, good = slow_matcher(), Matcher(Grammar.from_regex("[ab]*"), VOCABULARY)
    rows, times = allocate_bitmask(2, VOCABULARY), list[float]()
    filling = start_bitmasks([slow, good], rows)
    thread = cancel_after(slow, 0.1, times)
    with pytest.raises(BatchError) as caught:
        filling.wait()
    thread.join()
    assert list(caught.value.errors) == [0] and isinstance(caught.value.errors[0], MatcherCancelledError)
    assert not rows[0].any() and rows[1].any()
    assert slow.tokens == [ord("a")] and slow.error is None


BATCHES: dict[str, Callable[[list[Matcher], np.ndarray], Any]] = {
    "in the background": lambda matchers, rows: start_bitmasks(matchers, rows, on_error="end").wait(),
    "at once": lambda matchers, rows: fill_bitmasks(matchers, rows, on_error="end"),
    "in time": lambda matchers, rows: fill_bitmasks(matchers, rows, on_error="end", seconds=20),
}


@pytest.mark.parametrize("name", BATCHES)
def test_a_cancelled_row_does_not_end_its_sequence(name: str) -> None:
    slow, good = slow_matcher(), Matcher(Grammar.from_regex("[ab]*"), VOCABULARY)
    rows = allocate_bitmask(2, VOCABULARY)
    thread = cancel_after(slow, 0.1, [])
    with pytest.raises(BatchError) as caught:
        BATCHES[name]([slow, good], rows)
    thread.join()
    assert list(caught.value.errors) == [0] and isinstance(caught.value.errors[0], MatcherCancelledError)
    assert slow.error is None and not slow.is_finished() and not rows[0].any()
    assert np.unpackbits(rows[1].view(np.uint8), bitorder="little").nonzero()[0].tolist() == [97, 98, 256]


@pytest.mark.parametrize("on_error", ["raise", "end"])
def test_rows_behind_a_draft(on_error: Literal["raise", "end"]) -> None:
    matcher, times = Matcher(Grammar.from_lark(TANGLE, limits=Limits.trusted()), VOCABULARY), list[float]()
    rows = allocate_bitmask(3, VOCABULARY)
    matcher.fill_bitmask(rows[0])  # so the draft's call meets the slow step when it is cancelled
    expected = rows[0].copy()
    thread = cancel_after(matcher, 0.2, times)
    with pytest.raises(MatcherCancelledError):
        fill_draft_bitmasks(matcher, b"ab", rows, on_error=on_error)
    assert time.perf_counter() - times[0] < 1
    thread.join()
    assert (rows[0] == expected).all() and not rows[1:].any()
    assert matcher.n_tokens == 0 and matcher.error is None and matcher.accept(ord("a"))


CLAIMING: dict[str, Callable[[Matcher, Matcher], Any]] = {
    "accept_tokens": lambda slow, _: slow.accept_tokens(b"ab"),
    "fill_bitmasks": lambda slow, good: fill_bitmasks([slow, good], allocate_bitmask(2, VOCABULARY)),
    "fill_bitmasks in time": lambda slow, good: fill_bitmasks(
        [slow, good], allocate_bitmask(2, VOCABULARY), seconds=20
    ),
}


@pytest.mark.parametrize("name", CLAIMING)
def test_matchers_are_reserved_until_the_call_returns(name: str) -> None:
    slow, good = slow_matcher(), Matcher(Grammar.from_regex("[ab]*"), VOCABULARY)
    reserved = [slow] if name == "accept_tokens" else [slow, good]
    errors: list[EarleymaskError] = []

    def work() -> None:
        with pytest.raises(EarleymaskError) as caught:
            CLAIMING[name](slow, good)
        errors.append(caught.value)

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.1)
    for matcher in reserved:
        for call in (lambda m: m.rollback(0), lambda m: m.accept(ord("a")), lambda m: m.is_accepting()):
            with pytest.raises(MatcherInUseError):
                call(matcher)
    slow.cancel()
    thread.join()
    assert isinstance(errors[0], MatcherCancelledError | BatchError)
    assert slow.tokens == [ord("a")] and good.tokens == []
    slow.rollback(1)  # they can be used again
    assert slow.accept(ord("a")) and good.accept(ord("a"))


def test_many_threads_cancel_at_any_time() -> None:
    """Every call ends with its result, or cancelled; afterwards, all masks are right."""
    vocabulary = vocabularies.load("tekken")
    schema = {
        "type": "array",
        "items": {"type": "string", "pattern": "^([a-f]{2,30}|x.*y)[0-9]{0,9}$"},
        "uniqueItems": True,
    }
    twin = Matcher(Grammar.from_json_schema(schema), vocabulary)
    expected = []
    tokens = [
        next(t for t in range(1000, 4000) if vocabulary.token_bytes(t) == bytes([byte])) for byte in b'["abc12", "xy"]'
    ]
    for token in tokens:
        expected.append(filled(twin))
        assert twin.accept(token)
    matchers, is_over, n_cancelled = list[Matcher](), threading.Event(), [0]

    def cancel() -> None:
        while not is_over.is_set():
            for matcher in list(matchers):
                matcher.cancel()
            time.sleep(0.0003)

    threads = [threading.Thread(target=cancel) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for round_ in range(25):
            matcher = Matcher(Grammar.from_json_schema({**schema, "maxItems": 90 + round_}), vocabulary)
            matchers[:] = [matcher]
            for k, token in enumerate(tokens):
                done = 0
                while done < 2:
                    try:
                        if done == 0:
                            assert np.array_equal(filled(matcher), expected[k])
                            done = 1
                        assert matcher.accept_tokens([token]) == 1
                        done = 2
                    except MatcherCancelledError:
                        n_cancelled[0] += 1
                        assert matcher.n_tokens == k
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
    assert issubclass(MatcherCancelledError, EarleymaskError) and not issubclass(MatcherCancelledError, LimitError)


def test_a_refused_call_does_not_undo_a_cancel() -> None:
    """The thread that has cancelled asks at once for what only the running call may have."""
    matcher = slow_matcher()
    refused: list[bool] = []

    def cancel() -> None:
        time.sleep(0.1)
        matcher.cancel()
        try:
            matcher.is_accepting()
        except MatcherInUseError:
            refused.append(True)

    thread = threading.Thread(target=cancel)
    thread.start()
    with pytest.raises(MatcherCancelledError):
        matcher.accept(ord("a"))
    thread.join()
    assert refused
