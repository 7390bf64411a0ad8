"""Masks made before they are asked for, by threads in the background (`Grammar.warm`, `Matcher.ahead`).

One list of work serves the whole process, so that many requests do not start many threads. The newest work comes first:
what has waited long has probably been asked for in the meantime. Grammars that are being loaded go before it for a
while, because their requests wait for them; so do masks that are asked for, one after the other, for a batch. The
threads are daemons. They begin with the first work, and end with the process.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections import deque
from typing import TYPE_CHECKING

from ._meter import masks_asked

if TYPE_CHECKING:
    from ._likely import LikelyTexts


def n_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 2


MOST_THREADS = max(1, min(4, n_cores() // 2))
"""Threads of the process that make masks in the background. Those of one grammar are made one after the other."""

MOST_WAITING = 256
"""How much work may wait for a thread. The oldest is given up for more: each keeps a matcher and its grammar."""


MOST_PATIENCE = 0.05
"""Seconds, for one grammar and in all, for which the background lets loads and masks go first.

PERF: steps of 256 sequences with new tools in vLLM (two cores, one process, by turns) take 9.3 ms in the mean and 31 at
99 % if masks go first, and 12.4 and 41 if not; with new schemas 6.3 and 17, and 7.0 and 25. With 32 it makes no
difference.
"""

GAP = 0.002
"""Seconds after a load in which the next one of a queue begins.

PERF: when 32 requests with schemas of their own come to vLLM at once (`bench.in_vllm`, two cores), their grammars are
ready after 13 ms in the mean. It was 20 when the background did not wait; without warming it is 10.
"""

PAUSE = 0.001
"""Seconds between two looks at whether loads go on, and whether more masks have been asked for."""


class Loads:
    """The loads that are going on in this process, for whose ends requests wait: `with loads: ...`."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        self._lock = threading.RLock()  # a handler of signals may load a grammar at any place
        self._n = 0
        self._ended = -GAP

    def __enter__(self) -> None:
        with self._lock:
            self._n += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._n = max(0, self._n - 1)  # a load may end in a forked child, which has begun anew
            self._ended = time.monotonic()

    def go_on(self) -> bool:
        """Return whether a load is going on, or the next one may be about to begin."""
        return self._n > 0 or time.monotonic() - self._ended < GAP


loads = Loads()


class Warming:
    """Masks of a grammar that are being made in the background.

    They are made faster when they are asked for afterwards; they are the same without it. Whoever asks for a mask
    meanwhile waits for some tens of microseconds at most, because the background gives way.

    Attributes:
        error: what has ended the work, if that was not a limit; else None. It never concerns masks that are asked for.
    """

    def __init__(self, texts: LikelyTexts) -> None:
        self._texts: LikelyTexts | None = texts
        self._is_stopped = False
        self._ended = threading.Event()
        self._stats = {"masks": 0, "texts": 0, "nanoseconds": 0, "complete": 0}
        self.error: BaseException | None = None
        _workers.add(self)

    def stop(self) -> None:
        """Make no more masks. The one that is being made is given up within a millisecond."""
        self._is_stopped = True
        texts = self._texts
        if texts is not None:
            texts.stop()
            _workers.drop(self)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the work has ended, at most `timeout` seconds. Return whether it has."""
        return self._ended.wait(timeout)

    @property
    def is_done(self) -> bool:
        """Whether the work has ended: nothing is left to do, or something has ended it before (see `Grammar.warm`)."""
        return self._ended.is_set()

    def stats(self) -> dict[str, int]:
        """Return what has been done: `masks` asked for, along so many `texts`; `nanoseconds` of processor time; and
        `complete`, 1 if the work has ended because no likely text is left."""
        texts = self._texts
        if texts is not None:
            self._note(texts)
        return dict(self._stats)

    def _note(self, texts: LikelyTexts) -> None:
        self._stats = {
            "masks": texts.n_masks,
            "texts": texts.n_texts,
            "nanoseconds": texts.nanoseconds,
            "complete": int(texts.is_complete),
        }

    def _work(self) -> None:
        texts = self._texts
        if texts is None:
            return
        patience = MOST_PATIENCE
        n_asked = masks_asked()
        try:
            while not texts.is_done:
                n_before, n_asked = n_asked, masks_asked()
                if patience > 0 and (loads.go_on() or n_asked > n_before) and not self._is_stopped:
                    time.sleep(PAUSE)
                    patience -= PAUSE
                else:
                    texts.work()
        except BaseException as error:  # it must not end the thread
            self.error = error.with_traceback(None)
        self._note(texts)

    def _end(self) -> None:
        self._texts = None
        self._ended.set()


class _Workers:
    """The threads, and the work that no thread has begun.

    Work that has not ended is always in one of the lists, so that a forked child finds it.
    """

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._change = threading.Condition()
        self._waiting: deque[Warming] = deque()  # the newest at the end
        self._working: dict[threading.Thread, Warming] = {}
        self._n_threads = 0
        self._n_idle = 0

    def add(self, warming: Warming) -> None:
        with self._change:
            self._waiting.append(warming)
            if self._n_idle >= len(self._waiting):
                self._change.notify()
            elif self._n_threads < MOST_THREADS:
                self._start()
            if len(self._waiting) > MOST_WAITING:
                self._waiting[0]._end()
                self._waiting.popleft()

    def _start(self) -> None:
        """Start a thread. If the system has none left and there is no other one, end the work with its error."""
        self._n_threads += 1
        try:
            threading.Thread(target=self._run, name="earleymask-warming", daemon=True).start()
        except BaseException as error:
            self._n_threads -= 1
            while self._waiting and not self._n_threads:
                warming = self._waiting[-1]
                warming.error = error.with_traceback(None)
                warming._end()
                self._waiting.pop()

    def _run(self) -> None:
        while True:
            with self._change:
                self._n_idle += 1
                while not self._waiting:
                    self._change.wait()
                self._n_idle -= 1
                warming = self._waiting[-1]
                self._working[threading.current_thread()] = warming
                self._waiting.pop()
            warming._work()
            warming._end()
            with self._change:
                del self._working[threading.current_thread()]
            del warming

    def drop(self, warming: Warming) -> None:
        """End work that no thread has begun."""
        with self._change:
            if warming in self._waiting:
                warming._end()
                self._waiting.remove(warming)

    def stop(self) -> None:
        """Let all work end soon, before the interpreter ends."""
        with self._change:
            waiting, working = list(self._waiting), list(self._working.values())
        for warming in [*waiting, *working]:
            warming.stop()
        for warming in working:
            warming.wait(1.0)

    def forget(self) -> None:
        """In a forked child, which has no threads of its parent, end what they have not done."""
        unfinished = [*self._waiting, *self._working.values()]
        self._begin()
        loads.begin()
        for warming in unfinished:
            warming._ended = threading.Event()  # nobody knows who has the lock of the old one
            warming._end()


_workers = _Workers()
atexit.register(_workers.stop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_workers.forget)
