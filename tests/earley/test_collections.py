"""Full garbage collections, which visit all objects of the process, are no time of the call in which they happen."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

import pytest

from earleymask import LimitError, Limits, Matcher, Vocabulary
from earleymask.earley import Engine, Regexes
from earleymask.earley._meter import tick


class Grammar:
    def __init__(self, engine: Engine) -> None:
        self.engine = engine


def matcher_that(works: Callable[[], object]) -> Matcher:
    """Return a matcher of `"a" "b"`, whose first step does some work in Python."""
    engine = Engine(Regexes())
    a, b = (
        engine.add_terminal("a", engine.regexes.literal(b"a")),
        engine.add_terminal("b", engine.regexes.literal(b"b")),
    )

    def expand() -> list[tuple[int]]:
        for work in (lambda: spin(0.01), works):
            tick()  # the clock is read when a millisecond has passed since the last time
            work()
            tick()
        return [(b,)]

    start = engine.add_nonterminal("start")
    engine.add_production(start, [a, engine.add_lazy("lazy", expand)])
    engine.finish(start)
    engine.set_limits(Limits(seconds=0.15))
    return Matcher(Grammar(engine), Vocabulary.bytes())


def spin(seconds: float) -> None:
    ends = time.thread_time() + seconds
    while time.thread_time() < ends:
        pass


def collect_for(seconds: float) -> None:
    ends = time.thread_time() + seconds
    while time.thread_time() < ends:
        gc.collect()


def test_a_full_collection_is_no_time_of_a_call() -> None:
    matcher = matcher_that(lambda: collect_for(0.5))
    assert matcher.accept(ord("a"))
    assert matcher.expected() == ["b"]
    assert not [known for known in gc.callbacks if getattr(known, "__name__", "") == "collecting"]


@pytest.mark.parametrize("work", [lambda: spin(0.5), lambda: [gc.collect(1), spin(0.5)]])
def test_other_work_is(work: Callable[[], object]) -> None:
    matcher = matcher_that(work)
    with pytest.raises(LimitError, match="seconds"):
        matcher.accept(ord("a"))
    assert matcher.n_tokens == 0
    assert not [known for known in gc.callbacks if getattr(known, "__name__", "") == "collecting"]
