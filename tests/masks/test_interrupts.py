"""Calls of matchers end at Ctrl-C, and other threads run meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

from earleymask import (
    BatchError,
    Grammar,
    Limits,
    Matcher,
    Vocabulary,
    fill_bitmasks,
    fill_draft_bitmasks,
)
from siege.texts import tangle
from support import vocabularies
from support.effort import effort
from support.paths import TESTS

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


def first_masks(tag: str, vocabulary: Vocabulary, limits: Limits | None = None) -> None:
    """Make first masks of a grammar that nobody has loaded before: they build parts, which all grammars share."""
    limits = limits or Limits.trusted()
    ways = "|".join(f"[a-m{i}]{{1,{i + 9}}}[^{letter}]*{tag}" for i, letter in enumerate("nopqrstu"))
    matcher = Matcher(Grammar.from_regex(f"(?:{ways})*", limits=limits), vocabulary)
    matcher.mask()
    assert matcher.accept(matcher.mask().nonzero()[0][0])
    matcher.mask()


@pytest.mark.parametrize("milliseconds", [[30_000], [2, 4, 6, 8, 10, 12, 14]], ids=["in time", "out of time"])
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no timers that send signals")
def test_the_handler_of_a_signal_may_make_masks(milliseconds: list[int]) -> None:
    """A mask under way never has a lock that the handler's mask would wait for, not even while its LimitError is made.
    In a process of its own, because a thread that waits for itself cannot be woken."""
    code = (
        "import signal, time\n"
        "from earleymask import LimitError, Limits\n"
        "from masks.test_interrupts import first_masks\n"
        "from support import vocabularies\n"
        "vocabulary, n = vocabularies.load('tekken'), [0]\n"
        "first_masks('warm', vocabulary)\n"
        "def handle(*_):\n"
        "    n[0] += 1\n"
        "    first_masks(f'h{n[0]}', vocabulary)\n"
        "    signal.setitimer(signal.ITIMER_REAL, 0.003)\n"
        "signal.signal(signal.SIGALRM, handle)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.003)\n"
        f"ends, k = time.monotonic() + {effort(1, 3)}, 0\n"
        "while time.monotonic() < ends or n[0] < 5:\n"
        "    k += 1\n"
        f"    seconds = {milliseconds}[k % {len(milliseconds)}] / 1000\n"
        "    try:\n"
        "        first_masks(f'm{k}', vocabulary, Limits(seconds=seconds))\n"
        "    except LimitError as error:\n"
        "        assert error.limit == 'seconds'\n"
        "signal.setitimer(signal.ITIMER_REAL, 0)\n"
        "print('done')\n"
    )
    vocabularies.load("tekken")  # or skip
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=TESTS, capture_output=True, text=True, timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip
    assert done.stdout == "done\n", done.stderr[-2000:]


def test_a_finalizer_may_make_masks() -> None:
    """Up to Python 3.11, to make an error may start a garbage collection. A mask that a finalizer makes then is refused
    while the mask that it interrupts holds what both need. In a process of its own, as above."""
    code = (
        "import gc, sys\n"
        "from random import Random\n"
        "from earleymask import Grammar, LimitError, Limits, Matcher, MatcherInUseError, Vocabulary\n"
        "from masks.test_interrupts import first_masks\n"
        "rng = Random(1)\n"
        "tokens = {bytes(rng.choices(range(97, 123), k=rng.randrange(1, 9))) for _ in range(60_000)}\n"
        "vocabulary = Vocabulary.from_tokens([*sorted(tokens), b''], eos_token_id=len(tokens))\n"
        "outcomes, is_making, n_limits = [], False, 0\n"
        "class Knot:\n"
        "    def __init__(self):\n"
        "        self.itself = self\n"
        "    def __del__(self):\n"
        "        if is_making:\n"
        "            Knot()  # for the next collection\n"
        "            k = len(outcomes) % 900 + 2\n"
        "            try:\n"
        "                outcomes.append(Matcher(Grammar.from_regex(f'a|[b-t]{{{k}}}c'), vocabulary).mask().any())\n"
        "            except MatcherInUseError as error:\n"
        "                outcomes.append(str(error))\n"
        "gc.disable()\n"
        "gc.set_threshold(1)\n"
        "for k in range(40):\n"
        "    Knot()\n"
        "    is_making = True\n"
        "    gc.enable()\n"
        "    try:\n"
        "        first_masks(f'm{k}', vocabulary, Limits(seconds=(k % 10 + 1) / 1000))\n"
        "    except LimitError:\n"
        "        n_limits += 1\n"
        "    gc.disable()\n"
        "    is_making = False\n"
        "    if any('Make no masks in finalizers' in str(each) for each in outcomes):\n"
        "        break\n"
        "else:\n"
        "    assert sys.version_info >= (3, 12), (n_limits, len(outcomes))\n"
        "assert n_limits\n"
        "print('done')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=TESTS, capture_output=True, text=True, timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip
    assert done.stdout == "done\n", done.stderr[-2000:]


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


class TooLateError(Exception):
    """What the handler of a signal raises."""


PAIRS = Vocabulary.from_tokens([*map(bytes, zip(range(256))), b"aa", b"ab", b""], eos_token_id=258)
"""With it, a first mask needs the second step of `slow_matcher`, in a debug build, too."""

ENDING: dict[str, Callable[[Matcher, np.ndarray], Any]] = {
    "mask": lambda matcher, rows: matcher.fill_bitmask(rows[0], on_error="end"),
    "batch": lambda matcher, rows: fill_bitmasks([matcher], rows, on_error="end"),
    "draft": lambda matcher, rows: fill_draft_bitmasks(matcher, b"ab", rows, on_error="end"),
}


@pytest.mark.parametrize("name", ENDING)
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no timers that send signals")
def test_what_a_handler_raises_ends_no_sequence(name: str) -> None:
    matcher = slow_matcher()
    if name == "draft":
        matcher.rollback(1)
    else:
        matcher = Matcher(matcher.grammar, PAIRS)
    rows = np.full((3, -(-matcher.vocabulary.size // 32)), -1, np.int32)

    def handle(*_: object) -> None:
        raise TooLateError

    before = signal.signal(signal.SIGALRM, handle)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises((TooLateError, BatchError)) as caught:
            ENDING[name](matcher, rows)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    error = caught.value
    assert isinstance(error.errors[0] if isinstance(error, BatchError) else error, TooLateError)
    assert matcher.error is None and not matcher.is_finished()
    if name == "draft":
        assert not rows[1:].any()
    elif name == "batch":
        assert not rows[0].any()


def test_rows_behind_a_draft_that_ctrl_c_ends() -> None:
    class Interrupted(Matcher):
        n_left = 2

        def fill_bitmask(self, row: np.ndarray, **options: Any) -> None:  # type: ignore[override]
            if not Interrupted.n_left:
                raise KeyboardInterrupt
            Interrupted.n_left -= 1
            super().fill_bitmask(row, **options)

    matcher = Interrupted('start: "abc"', Vocabulary.bytes())
    rows = np.full((4, 9), 7, np.int32)
    with pytest.raises(KeyboardInterrupt):
        fill_draft_bitmasks(matcher, b"ab", rows)
    assert rows[0].any() and not rows[1:3].any() and (rows[3] == 7).all()
