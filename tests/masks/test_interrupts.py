"""Calls of matchers end at Ctrl-C, and other threads run meanwhile."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from earleymask import Grammar, Limits, Matcher, Vocabulary
from siege.texts import tangle

CALLS: dict[str, Callable[[Matcher], Any]] = {
    "accept": lambda matcher: matcher.accept(ord("a")),
    "validate": lambda matcher: matcher.validate(b"ab"),
    "explain": lambda matcher: matcher.explain("abab"),
}


def slow_matcher() -> Matcher:
    """Return a matcher of 844 rules that derive each other in circles: its second step takes many seconds."""
    matcher = Matcher(Grammar.from_lark(tangle(Random(920604107), 844), limits=Limits.trusted()), Vocabulary.bytes())
    assert matcher.accept(ord("a"))
    return matcher


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.skipif(os.name == "nt", reason="Windows has no os.kill with SIGINT for itself")
def test_ctrl_c_ends_a_call(name: str) -> None:
    matcher = slow_matcher()
    sent: list[float] = []
    n_turns = [0]

    def press() -> None:
        for _ in range(100):
            time.sleep(0.002)
            n_turns[0] += 1
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=press)
    begin = time.perf_counter()
    try:
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            CALLS[name](matcher)
        ended = time.perf_counter()
    finally:
        thread.join()
        signal.signal(signal.SIGINT, before)
    assert ended - sent[0] < 1, "ten times a busy machine's slowest"
    assert sent[0] - begin < 5, "the other thread was kept from running"
    assert matcher.tokens == matcher.fork().tokens == [ord("a")]  # the lock of the grammar is free, nothing has moved
