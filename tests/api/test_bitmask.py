"""Packed masks are filled for batches as documented."""

from __future__ import annotations

import gc
import os
import pickle
import threading
import time
from collections.abc import Callable
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest

from earleymask import (
    BatchError,
    Constraint,
    EarleymaskError,
    Grammar,
    LimitError,
    Matcher,
    MatcherInUseError,
    Vocabulary,
    VocabularyError,
    fill_bitmasks,
    start_bitmasks,
)
from earleymask.bitmask import _pool
from earleymask.earley import Engine, Regexes
from earleymask.earley._batch import Batch
from support.grammar_texts import GRAMMARS
from support.mask_paths import cut

torch = pytest.importorskip("torch")

LIST = r"""
start: "[" (ITEM ("," ITEM)~0..2)? "]"
ITEM: /[a-z]{1,3}/
"""
TEXTS = ["", "[", "[a", "[abc", "[abc,", "[a,b,c", "[]", "[a,b"]
N_WORDS = 9  # ceil(257 / 32)


def matchers_at(texts: list[str], vocabulary: Vocabulary | None = None) -> list[Matcher]:
    constraint = Constraint(LIST, vocabulary)
    return [constraint.matcher(list(text.encode())) for text in texts]


def unpacked(row: np.ndarray, n: int = 257) -> np.ndarray:
    """Unpack a row slowly, by the definition of the layout."""
    return np.array([(int(row[t >> 5]) >> (t & 31)) & 1 == 1 for t in range(n)])


VOCABULARY = Vocabulary.from_tokens([*(bytes([byte]) for byte in range(256)), b"", b"[x"], eos_token_id=256)


class OwnFill(Matcher):
    """A matcher with a `fill_bitmask` of its own, which fails halfway."""

    failure: Exception

    def fill_bitmask(self, row: np.ndarray, **options: object) -> None:
        row[0] = -1
        raise self.failure


def failing(error: BaseException, *, own: bool = False) -> Matcher:
    """Return a matcher whose mask raises this error: in a `fill_bitmask` of its own, or in a rule that is made where
    the token `[x` leads."""
    if own:
        matcher = OwnFill(LIST, VOCABULARY)
        matcher.failure = error
        return matcher

    def expand() -> list[list[int]]:
        raise error

    engine = Engine(Regexes())
    bracket = engine.add_terminal("[", engine.regexes.literal(b"["))
    start = engine.add_nonterminal("start")
    engine.add_production(start, [bracket, engine.add_lazy("lazy", expand)])
    engine.finish(start)
    return Matcher(SimpleNamespace(engine=engine), VOCABULARY)


def test_a_fill_bitmask_of_ones_own_is_told_what_was_given() -> None:
    class Noting(Matcher):
        def fill_bitmask(self, row: np.ndarray, **options: object) -> None:  # type: ignore[override]
            noted.append({name: value if name == "remaining" else None for name, value in options.items()})
            super().fill_bitmask(row)

    noted: list[dict[str, object]] = []
    rows = np.zeros((1, N_WORDS), np.int32)
    for options in ({}, {"remaining": [5]}, {"seconds": 1}, {"seconds": 1, "remaining": [5]}):
        fill_bitmasks([Noting(LIST, VOCABULARY)], rows, **options)  # type: ignore[arg-type]
    assert noted == [{}, {"remaining": 5}, {"seconds": None}, {"seconds": None, "remaining": 5}]


def test_matchers_of_two_vocabularies_are_not_mixed() -> None:
    """They are refused even if both are of the same size; an equal vocabulary made again counts as the same."""
    one = Constraint(LIST)
    swapped = [bytes([byte]) for byte in range(255, -1, -1)]
    other = Constraint(LIST, Vocabulary.from_tokens(swapped, eos_token_id=256, size=257))
    rows = np.full((2, N_WORDS), 77, np.int32)
    with pytest.raises(VocabularyError, match="matcher 1 is for a vocabulary of 257 tokens"):
        fill_bitmasks([one.matcher([]), other.matcher([])], rows)
    assert (rows == 77).all()
    fill_bitmasks([one.matcher([]), Constraint(LIST, Vocabulary.bytes()).matcher([])], rows)
    assert np.array_equal(rows[0], rows[1])


# -- filling --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2, 3, 20])
@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_every_row_gets_its_matchers_mask(kind: str, threads: int) -> None:
    matchers = matchers_at(TEXTS)
    rows = np.full((len(TEXTS) + 2, N_WORDS + 3), 77, np.int32)
    given_rows = torch.from_numpy(rows) if kind == "torch" else rows
    fill_bitmasks(matchers, given_rows, threads=threads)
    for row, matcher in zip(rows, matchers, strict=False):
        assert np.array_equal(unpacked(row), matcher.mask())
        assert not (row[N_WORDS - 1] & ~1) and not row[N_WORDS:].any(), "tail bits and words beyond the vocabulary"
    assert (rows[len(TEXTS) :] == 77).all(), "further rows are left alone"


def test_many_batches_in_a_row() -> None:
    """Threads are kept between calls, and a larger batch after a small one gets more of them."""
    matchers = matchers_at(TEXTS)
    expected = [matcher.mask() for matcher in matchers]
    for threads in (2, 4, 3, 8, 1, 8):
        for _ in range(20):
            rows = np.zeros((len(TEXTS), N_WORDS), np.int32)
            fill_bitmasks(matchers, rows, threads=threads)
            assert all(np.array_equal(unpacked(row), mask) for row, mask in zip(rows, expected, strict=True))


def test_a_matcher_may_stand_in_several_rows() -> None:
    one, other = matchers_at(["[a", "["])
    rows = np.zeros((5, N_WORDS), np.int32)
    fill_bitmasks([one, other, one, one, other], rows, threads=4)
    for row, matcher in zip(rows, [one, other, one, one, other], strict=True):
        assert np.array_equal(unpacked(row), matcher.mask())


def fill_in_background(matchers: list[Matcher], rows: np.ndarray, threads: int) -> None:
    start_bitmasks(matchers, rows, threads=threads).wait()


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("fill", [fill_bitmasks, fill_in_background])
@pytest.mark.parametrize("threads", [1, 3])
def test_one_rows_error_leaves_the_others_filled(fill: Callable[..., None], threads: int, own: bool) -> None:
    if own and fill is fill_in_background:
        pytest.skip("it does not call a fill_bitmask of one's own")
    good = matchers_at(TEXTS[:3], VOCABULARY)
    errors = LimitError("too many rows"), RuntimeError("a bug")
    limit, bug = (failing(error, own=own) for error in errors)
    batch = [good[0], limit, good[1], bug, good[2], limit]
    rows = np.full((6, N_WORDS), -1, np.int32)
    with pytest.raises(BatchError) as caught:
        fill(batch, rows, threads=threads)
    assert list(caught.value.errors) == [1, 3, 5]
    assert caught.value.errors[1] is errors[0] and caught.value.errors[3] is errors[1]
    assert caught.value.__cause__ is errors[0]
    assert "row 1: LimitError: too many rows" in str(caught.value) and "3 rows" in str(caught.value)
    assert isinstance(caught.value, EarleymaskError)
    for at, matcher in zip([0, 2, 4], good, strict=True):
        assert np.array_equal(unpacked(rows[at]), matcher.mask()[:257])
    assert not rows[[1, 3, 5]].any(), "rows that failed allow nothing"
    with pytest.raises(BatchError) as caught:  # and the matchers have been given back
        fill(batch, rows, threads=threads)
    assert list(caught.value.errors) == [1, 3, 5] and caught.value.errors[3] is errors[1]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("fill", [fill_bitmasks, fill_in_background])
def test_what_the_handler_of_a_signal_raises_leaves_rows_that_allow_nothing(
    fill: Callable[..., None], threads: int
) -> None:
    good = matchers_at(TEXTS[:1], VOCABULARY) + matchers_at(TEXTS[1:2], VOCABULARY)
    stopped = failing(KeyboardInterrupt())
    others = [stopped, good[0]] if fill is fill_in_background else [stopped, failing(RuntimeError(), own=True)]
    rows = np.full((5, N_WORDS), -1, np.int32)
    with pytest.raises(KeyboardInterrupt):
        fill([good[0], stopped, good[1], *others], rows, threads=threads)
    assert not rows[[1, 3, 4]].any()
    with pytest.raises(KeyboardInterrupt):  # and not MatcherInUseError
        stopped.mask()
    for at, matcher in ((0, good[0]), (2, good[1])):
        assert not rows[at].any() or np.array_equal(unpacked(rows[at]), matcher.mask()[:257])
    fill(good, rows, threads=threads)
    for row, matcher in zip(rows, good, strict=False):
        assert np.array_equal(unpacked(row), matcher.mask()[:257])


@pytest.mark.parametrize("fill", [fill_bitmasks, fill_in_background])
def test_threads_fill_rows_of_many_grammars_side_by_side(fill: Callable[..., None]) -> None:
    tokens = cut("tekken", 20_000)
    vocabulary = Vocabulary.from_tokens(tokens, eos_token_id=len(tokens) - 1)
    rng = Random(3)
    texts = [*GRAMMARS.values()]
    matchers = [Matcher(Grammar.from_lark(f"{rng.choice(texts)}\n// {n}\n"), vocabulary) for n in range(40)]
    matchers += [matcher.fork() for matcher in matchers[:20]]
    rows = np.zeros((len(matchers), -(-vocabulary.size // 32)), np.int32)
    expected = np.zeros_like(rows)
    for _ in range(6):
        fill(matchers, rows, threads=3)
        for matcher, row in zip(matchers, expected, strict=True):
            matcher.walk_bitmask(row)
        assert np.array_equal(rows, expected)
        for matcher, row in zip(matchers, rows, strict=True):
            allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))
            assert matcher.accept(int(rng.choice(allowed)))


def test_threads_help_with_few_slow_rows() -> None:
    workers = set()

    def slow_engine() -> Engine:
        def expand() -> list[list[int]]:
            workers.add(threading.get_ident())
            time.sleep(0.02)
            return [[letter]]

        engine = Engine(Regexes())
        bracket = engine.add_terminal("[", engine.regexes.literal(b"["))
        letter = engine.add_terminal("x", engine.regexes.literal(b"x"))
        start = engine.add_nonterminal("start")
        engine.add_production(start, [bracket, engine.add_lazy("lazy", expand)])
        engine.finish(start)
        return engine

    matchers = [Matcher(SimpleNamespace(engine=slow_engine()), VOCABULARY) for _ in range(3)]
    assert not workers
    rows = np.zeros((3, N_WORDS), np.int32)
    fill_bitmasks(matchers, rows, threads=2)
    assert len(workers) == 2
    assert all(list(np.flatnonzero(unpacked(row, 258))) == [ord("["), 257] for row in rows)


def test_several_threads_may_wait() -> None:
    matchers = matchers_at(TEXTS)
    expected = [matcher.mask() for matcher in matchers_at(TEXTS)]
    for _ in range(100):
        rows = np.full((len(matchers), N_WORDS), -1, np.int32)
        filling = start_bitmasks(matchers, rows)
        waiting = [threading.Thread(target=filling.wait) for _ in range(3)]
        for thread in waiting:
            thread.start()
        filling.wait()
        assert all(np.array_equal(unpacked(row), mask) for row, mask in zip(rows, expected, strict=True))
        for thread in waiting:
            thread.join()
        matchers = [matcher.fork() for matcher in matchers]


def test_without_other_threads_the_caller_fills_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if some could be started: a helper that remains in the queue of the pool must not run later."""
    started: list[object] = []
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if started:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(_pool, "_executor", None)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    matchers = [matcher for _ in range(20) for matcher in matchers_at(TEXTS)]
    for fill in (fill_bitmasks, fill_in_background):
        rows = np.full((len(matchers), N_WORDS), -1, np.int32)
        fill(matchers, rows, threads=4)
        for row, matcher in zip(rows, matchers, strict=True):
            assert np.array_equal(unpacked(row), matcher.mask())
        matchers = [matcher for _ in range(20) for matcher in matchers_at(TEXTS)]


def test_matchers_and_a_batch_are_freed_in_any_order() -> None:
    rows = np.zeros((2, N_WORDS), np.int32)
    matchers = matchers_at(["[a", "["])
    kept = matchers[0].fork()
    batch = Batch(tuple(matchers), rows, range(len(matchers)), [None] * len(matchers))
    batch.claim([0, 1], strict=True)
    circle: list[object] = [batch, matchers]
    circle.append(circle)
    del matchers, batch, circle
    gc.collect()
    assert kept.accept(ord("b"))


def test_forks_at_one_place_share_the_mask() -> None:
    (matcher,) = matchers_at(["[a"])
    forks = [matcher, matcher.fork(), matcher.fork()]
    fill_bitmasks(forks, np.zeros((3, N_WORDS), np.int32), threads=2)
    assert matcher.stats()["masks_known"] == 2


@pytest.mark.parametrize("threads", [1, 2, 20])
def test_rows_are_filled_in_the_background(threads: int) -> None:
    matchers = matchers_at(TEXTS)
    matchers.append(matchers[2])
    rows = np.full((len(matchers), N_WORDS), -1, np.int32)
    filling = start_bitmasks(matchers, rows, threads=threads)
    filling.wait()
    assert filling.is_done
    filling.wait()  # once more does nothing
    for row, matcher in zip(rows, matchers, strict=True):
        assert np.array_equal(unpacked(row), matcher.mask())


def test_a_matcher_whose_row_is_being_filled_raises() -> None:
    """Every call does until `wait` has returned, also when the row has been filled; then all go on as before."""
    matchers = matchers_at(["[a", "["])
    rows = np.zeros((2, N_WORDS), np.int32)
    filling = start_bitmasks(matchers, rows)
    calls: list[Callable[[], object]] = [
        lambda: matchers[0].accept(ord("b")),
        lambda: matchers[1].mask(),
        lambda: matchers[0].rollback(1),
        lambda: matchers[0].fork(),
        lambda: matchers[0].captures(),
        lambda: matchers[0].explain("?"),
        lambda: matchers[0].ahead(),
        lambda: fill_bitmasks(matchers, np.zeros_like(rows)),
        lambda: start_bitmasks(matchers, rows),
    ]
    for call in calls:
        with pytest.raises((MatcherInUseError, BatchError), match=r"Filling\.wait"):
            call()
    filling.wait()
    fork = matchers[0].fork()
    filling = start_bitmasks(matchers[1:], rows[1:])
    others = np.full_like(rows, 77)
    with pytest.raises(MatcherInUseError, match=r"Filling\.wait"):
        start_bitmasks([fork, matchers[1]], others)
    assert (others == 77).all()
    filling.wait()
    assert fork.accept(ord("b")), "a batch that was refused has given back what it had taken"
    for row, matcher in zip(rows, matchers, strict=True):
        assert np.array_equal(unpacked(row), matcher.mask())


def test_a_fill_bitmask_of_ones_own_is_not_passed_over() -> None:
    """It would be called while its matcher is reserved, so only `fill_bitmasks` calls it."""
    matchers = [*matchers_at(["["], VOCABULARY), failing(RuntimeError("called"), own=True)]
    rows = np.full((2, N_WORDS), 77, np.int32)
    with pytest.raises(TypeError, match=r"OwnFill has a fill_bitmask of its own.*use fill_bitmasks"):
        start_bitmasks(matchers, rows)
    assert (rows == 77).all()
    assert matchers[0].accept(ord("a")), "no matcher has been reserved"
    with pytest.raises(BatchError, match="row 1: RuntimeError: called"):
        fill_bitmasks(matchers, rows)


def test_a_filling_that_nobody_waits_for_gives_the_matchers_back() -> None:
    matchers = matchers_at(["[a", "["])
    start_bitmasks(matchers, np.zeros((2, N_WORDS), np.int32))
    gc.collect()
    assert matchers[0].accept(ord("b"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_child_does_not_wait_for_threads_of_its_parent() -> None:
    matchers = matchers_at(["[a", "["])
    filling = start_bitmasks(matchers, np.zeros((2, N_WORDS), np.int32))
    child = os.fork()
    if child == 0:
        code = 1
        try:
            assert filling.is_done
            with pytest.raises(RuntimeError, match="forked"):
                filling.wait()
            code = 0 if matchers[0].accept(ord("b")) else 2
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    filling.wait()


def test_a_batch_error_survives_pickling() -> None:
    again = pickle.loads(pickle.dumps(BatchError({3: LimitError("too deep")})))
    assert list(again.errors) == [3] and "row 3: LimitError: too deep" in str(again)


def test_rows_that_are_too_short_are_refused() -> None:
    rows = np.full((2, N_WORDS - 1), 77, np.int32)
    with pytest.raises(ValueError, match="rows have 8 words; a vocabulary of 257 tokens needs 9"):
        fill_bitmasks(matchers_at(["", "["]), rows)
    assert (rows == 77).all()


def test_rows_that_cannot_be_written_are_refused() -> None:
    rows = np.zeros((2, N_WORDS), np.int32)
    rows.flags.writeable = False
    with pytest.raises(ValueError, match="rows are read-only"):
        fill_bitmasks(matchers_at(["", "["]), rows)
    with pytest.raises(ValueError, match="must be contiguous"):
        fill_bitmasks(matchers_at(["", "["]), np.zeros((N_WORDS, 2), np.int32).T)


def test_what_is_no_matcher_is_refused() -> None:
    with pytest.raises(TypeError, match=r"matchers\[0\] must be a Matcher, not int; constraint.matcher"):
        fill_bitmasks([1, 2], np.zeros((2, N_WORDS), np.int32))
    with pytest.raises(TypeError, match=r"matchers\[1\] must be a Matcher, not str"):
        fill_bitmasks([*matchers_at([""]), LIST], np.zeros((2, N_WORDS), np.int32))


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        (np.zeros((2, N_WORDS), np.int64), TypeError),
        (np.zeros((2, N_WORDS), np.uint32), TypeError),
        (torch.zeros((2, N_WORDS), dtype=torch.int64), TypeError),
        ([[0] * N_WORDS] * 2, TypeError),
        (np.zeros(N_WORDS, np.int32), ValueError),
        (np.zeros((1, N_WORDS), np.int32), ValueError),
        (torch.zeros((2, N_WORDS), dtype=torch.int32, device="meta"), ValueError),
    ],
)
def test_rows_of_the_wrong_kind_are_refused(rows: object, error: type[Exception]) -> None:
    with pytest.raises(error):
        fill_bitmasks(matchers_at(["", "["]), rows)


def test_an_empty_batch_is_filled_already() -> None:
    fill_bitmasks([], np.zeros((0, N_WORDS), np.int32), threads=4)
    with pytest.raises(ValueError, match="threads"):
        fill_bitmasks([], np.zeros((0, N_WORDS), np.int32), threads=0)
