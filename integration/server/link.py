"""The server's end of a process for bodies, grammars and masks: what is asked, what comes back, and whether it hangs.

Two pipes lead to the process. Bodies and what becomes of them go through one, masks through the other, so that a long
body does not delay them. A message is a number and what is to be done; the answer has the same number. The process ends
when its pipes are closed. One that is silent for too long while it is asked for something hangs, and is ended.
"""

from __future__ import annotations

import itertools
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe
from typing import Any

from . import served
from .errors import ApiError
from .options import Kind

SECONDS_TO_END = 10
"""Seconds that threads which read from a process may take to end after it."""

SECONDS_TO_START = 300
"""Seconds that the process may take until it is ready. After them it is ended."""

SILENT_SECONDS = 60.0
"""Seconds for which the quick process may answer nothing while it is asked for something: what it does takes some
milliseconds."""

PATIENCE: dict[Kind, int] = {"quick": 1, "medium": 10, "slow": 60, "long": 10}
"""For so many times as long a process may be silent: all its threads together may get only a part of a core."""

log = logging.getLogger("earleymask.server")


def unanswered() -> Future[Any]:
    """Return a future that cannot be cancelled."""
    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()
    return future


class Asker:
    """One end of a pipe: asks, and reads the answers in a thread.

    Attributes:
        heard: when the last answer came, as `time.monotonic` has it.
    """

    def __init__(self, connection: Connection, when_lost: Callable[[], None]) -> None:
        self._connection = connection
        self._when_lost = when_lost
        self._lock = threading.Lock()
        self._asked: dict[int, tuple[Future[Any], float]] = {}  # and when
        self._numbers = itertools.count()
        self._is_lost = False
        self._teller = ThreadPoolExecutor(1, "earleymask-tell")
        self.heard = 0.0
        self.thread = threading.Thread(target=self._read, name="earleymask-read", daemon=True)
        self.thread.start()

    def ask(self, *what: Any) -> Future[Any]:
        """Send something to be done. Return what comes back; an error is an ApiError."""
        future = unanswered()
        number = next(self._numbers)
        self._asked[number] = future, time.monotonic()
        self._send(number, what)
        if self._is_lost and self._asked.pop(number, None) is not None:
            future.set_exception(_lost())
        return future

    def tell(self, *what: Any) -> None:
        """Send something to which nothing comes back, in a thread: who says it never waits."""
        with suppress(RuntimeError):  # after `close`
            self._teller.submit(self._send, -1, what)

    def oldest(self) -> float | None:
        """Return when that was asked which waits for the longest time; None: nothing waits."""
        return min((asked for _, asked in list(self._asked.values())), default=None)

    def _send(self, number: int, what: tuple[Any, ...]) -> None:
        try:
            with self._lock:
                if self._is_lost:
                    return
                self._connection.send((number, *what))
        except Exception as error:
            if not isinstance(error, OSError):
                log.exception("nothing can be sent to the process of the grammars")
            self._is_lost = True
            self._when_lost()

    def _read(self) -> None:
        try:
            while True:
                number, error, found = self._connection.recv()
                future, _ = self._asked.pop(number)
                self.heard = time.monotonic()
                if error is not None:
                    future.set_exception(error)
                else:
                    future.set_result(found)
        except (EOFError, OSError):
            pass
        except Exception:
            log.exception("the process of the grammars answers what cannot be read")
        self._is_lost = True
        self._when_lost()
        while self._asked:
            with suppress(KeyError):  # `ask` has taken the last one
                self._asked.popitem()[1][0].set_exception(_lost())

    def close(self) -> None:
        self._teller.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            self._is_lost = True
            self._connection.close()


def _lost() -> ApiError:
    return ApiError(503, "the process that made the masks has ended; send the request again", code="restarting")


class Link:
    """A process and the pipes to it. Call `start`, then `close`, even if `start` raises.

    Attributes:
        process: ends when the pipes are closed.
        bodies: asks what becomes of bodies, after `start`.
        masks: asks for masks, after `start`.
        is_lost: whether it cannot be asked, or no more.
    """

    bodies: Asker
    masks: Asker

    def __init__(self) -> None:
        self._mine, theirs = zip(Pipe(), Pipe(), strict=True)
        numbers = [each.fileno() for each in theirs]
        entries: list[object] = [*sys.path]  # a program may have put a pathlib.Path there
        path = [each for each in entries if isinstance(each, str)]
        code = f"import sys; sys.path[:] = {path!r}; from {served.__name__} import main; main(*{numbers!r})"
        self.is_lost = True
        self._kind: Kind = "quick"
        self._askers: list[Asker] = []
        self._ended = threading.Event()
        self._lock = threading.RLock()  # of the pipes and their readers: `close` may be called during `start`
        # A process of `multiprocessing` would run the main module of the program once more.
        self.process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.DEVNULL, pass_fds=numbers)
        for each in theirs:
            each.close()

    def start(self, arguments: tuple[Any, ...], kind: Kind) -> None:
        """Wait until the process is ready. `arguments` are those of `Preparer`, and are pickled.

        Raises RuntimeError if it ends, or takes more than `SECONDS_TO_START`.
        """
        self._kind = kind
        with self._lock:
            timer = threading.Timer(SECONDS_TO_START, self.end)
            timer.daemon = True
            timer.start()
            try:
                self._mine[0].send((log.getEffectiveLevel(), arguments, kind))
                self._mine[0].recv()
            except (EOFError, OSError):
                self.close()
                raise RuntimeError(f"the process of the grammars has ended with {self.process.wait()}") from None
            except BaseException:
                self.close()
                raise
            finally:
                timer.cancel()
            self._askers = [Asker(each, self.end) for each in self._mine]
            self.bodies, self.masks = self._askers
            self.is_lost = self._ended.is_set()  # last: from now on other threads use it
            threading.Thread(target=self._watch, name="earleymask-watch", daemon=True).start()

    def _watch(self) -> None:
        """End the process if it hangs."""
        while not self._ended.wait(min(SILENT_SECONDS / 4, 1)):
            most = SILENT_SECONDS * PATIENCE[self._kind]
            asked = [found for asker in self._askers if (found := asker.oldest()) is not None]
            if asked and time.monotonic() - max(min(asked), *(asker.heard for asker in self._askers)) > most:
                log.error("the %s process of the grammars has answered nothing for %g s; it is ended", self._kind, most)
                self.end()

    def end(self) -> None:
        """End the process at once. What waits for it ends with an error."""
        self.is_lost = True
        self._ended.set()
        self.process.kill()

    def close(self) -> None:
        self.end()
        self.process.wait()
        with self._lock:  # `start` returns, since the process has ended
            for asker in self._askers:
                asker.thread.join(SECONDS_TO_END)
                asker.close()
            for each in self._mine:
                each.close()
