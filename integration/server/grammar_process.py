"""Bodies, grammars and masks in a process of their own.

A pass of the model takes the interpreter's lock hundreds of times. Each time it would wait for the threads of its
process that load grammars, make rules or read bodies: a millisecond for each of them, and longer while one collects
garbage. So all that strangers can make long is done in another process, and the process of the model waits for none of
it.

Two pipes lead there. Bodies and what becomes of them go through one, masks through the other, so that a long body does
not delay them. A message is a number and what is to be done; the answer has the same number. The process ends when
its pipes are closed. If it ends by itself, the answers that it had end with status 503, and the next body starts it
anew. One that is silent for `SILENT_SECONDS` while it is asked for something hangs, and is ended.
"""

from __future__ import annotations

import gc
import itertools
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe
from typing import Any

from .errors import ApiError, given_up, ours, stopping
from .preparing import Mask, Matching, Prepared, Preparer, Workers

SWITCH_SECONDS = 0.0005
"""How long a thread of the process that wants the interpreter's lock waits before it asks for it: one whose mask takes
some microseconds must not wait for one that loads a grammar. Python's default is 5 ms."""

SECONDS_TO_END = 10
"""Seconds that threads which read from a process may take to end after it."""

SECONDS_TO_START = 300
"""Seconds that the process may take until it is ready. After them it is ended."""

SILENT_SECONDS = 60.0
"""Seconds for which the process may answer nothing while it is asked for something. Limits allow a body or a mask some
seconds; many bodies wait for one another, but then some are answered."""

FULL_COLLECTION = 1000
"""Collections of the middle generation after which all objects are visited. Most of a grammar is freed without."""

log = logging.getLogger("earleymask.server")


class GrammarProcess:
    """Lets a preparer work in another process.

    Args:
        arguments: those of `Preparer`. They are pickled.
    """

    def __init__(self, *arguments: Any) -> None:
        self._arguments = arguments
        self._link: Link | None = None
        self._lock = threading.Lock()  # of the two that `close` reads
        self._is_closed = False
        # It sends bodies, since the pipe takes a part of a long one at a time, and starts a process that has ended.
        self._sender = ThreadPoolExecutor(1, "earleymask-send")
        self._n_grammars = 0

    def start(self) -> None:
        self._started()

    def _started(self) -> Link:
        """Start a process. Raises ApiError after `close`, and RuntimeError if it does not start."""
        with self._lock:
            if self._is_closed:
                raise stopping()
            link = self._link = Link()  # `close` may end it while it gets ready
        link.start(self._arguments)
        return link

    def prepare(self, body: bytes, endpoint: str) -> Future[Prepared]:
        future: Future[Prepared] = Future()
        future.set_running_or_notify_cancel()  # from now on it cannot be cancelled
        try:
            self._sender.submit(self._send, future, body, endpoint)
        except RuntimeError:  # after `close`
            future.set_exception(stopping())
        return future

    def _send(self, future: Future[Prepared], body: bytes, endpoint: str) -> None:
        try:
            if self._is_closed:
                raise stopping()
            link = self._link
            if link is None or link.is_lost:
                log.error("the process of the grammars has ended; it is started again")
                if link is not None:
                    link.close()
                link = self._started()

            def done(inner: Future[Any]) -> None:
                try:
                    found, matchings, self._n_grammars = inner.result()
                    prepared = Prepared(**found, masks=[one and ProcessMasks(link, *one) for one in matchings])
                except ApiError as error:
                    future.set_exception(error)
                except Exception as error:
                    log.exception("the process of the grammars answers what cannot be read")
                    future.set_exception(ours(error))
                else:
                    future.set_result(prepared)

            link.bodies.ask(body, endpoint).add_done_callback(done)
        except ApiError as error:
            future.set_exception(error)
        except Exception as error:
            if self._is_closed:  # while the process started again
                future.set_exception(stopping())
            else:
                log.exception("the process of the grammars cannot be reached")
                future.set_exception(ours(error))

    def n_grammars(self) -> int:
        return self._n_grammars

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
        if self._link is not None:
            self._link.end()  # first: who sends to one that hangs, or waits until it is ready, goes on
        self._sender.shutdown()  # what it has not begun is refused
        if self._link is not None:
            self._link.close()


class ProcessMasks:
    """The masks of an answer, which another process makes."""

    def __init__(self, link: Link, number: int, eos_token_ids: frozenset[int]) -> None:
        self.eos_token_ids = eos_token_ids
        self._link = link
        self._number = number
        self._is_closed = False

    def after(self, token: int | None, remaining: int | None) -> Future[Mask]:
        return self._link.masks.ask("make", self._number, token, remaining)

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._link.masks.tell("close", self._number)


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
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()  # from now on it cannot be cancelled
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
    """A process and the pipes to it. It is to be started, and to be closed also if that fails.

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
        code = f"import sys; sys.path[:] = {path!r}; from {__name__} import main; main(*{numbers!r})"
        self.is_lost = True
        self._askers: list[Asker] = []
        self._ended = threading.Event()
        self._lock = threading.RLock()  # of the pipes and their readers: `close` may be called during `start`
        # A process of `multiprocessing` would run the main module of the program once more.
        self.process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.DEVNULL, pass_fds=numbers)
        for each in theirs:
            each.close()

    def start(self, arguments: tuple[Any, ...]) -> None:
        """Wait until the process is ready. Raises RuntimeError if it ends, or takes more than `SECONDS_TO_START`."""
        with self._lock:
            timer = threading.Timer(SECONDS_TO_START, self.end)
            timer.daemon = True
            timer.start()
            try:
                self._mine[0].send((log.getEffectiveLevel(), arguments))
                self._mine[0].recv()
            except (EOFError, OSError):
                self.close()
                raise RuntimeError(f"the process of the grammars has ended with {self.process.wait()}") from None
            except BaseException:
                self.close()
                raise
            finally:
                timer.cancel()
            self.is_lost = self._ended.is_set()
            self._askers = [Asker(each, self.end) for each in self._mine]
            self.bodies, self.masks = self._askers
            threading.Thread(target=self._watch, name="earleymask-watch", daemon=True).start()

    def _watch(self) -> None:
        """End the process if it hangs."""
        while not self._ended.wait(min(SILENT_SECONDS / 4, 1)):
            asked = [found for asker in self._askers if (found := asker.oldest()) is not None]
            if asked and time.monotonic() - max(min(asked), *(asker.heard for asker in self._askers)) > SILENT_SECONDS:
                log.error("the process of the grammars has answered nothing for %g s; it is ended", SILENT_SECONDS)
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


# In the process


def main(*numbers: int) -> None:
    """What the process does: answer until a pipe is closed. `numbers` are those of the two pipes."""
    for each in (signal.SIGINT, signal.SIGTERM):  # which a group of processes gets: the server ends this
        signal.signal(each, signal.SIG_IGN)
    bodies, masks = Connection(numbers[0]), Connection(numbers[1])
    level, arguments = bodies.recv()
    sys.setswitchinterval(SWITCH_SECONDS)
    logging.basicConfig(level=level, format="%(levelname)s: %(message)s")
    preparer = Preparer(*arguments)
    preparer.warm_up()
    first, second, _ = gc.get_threshold()
    gc.set_threshold(first, second, FULL_COLLECTION)
    gc.collect()
    gc.freeze()
    served = Served(preparer, bodies, masks)
    bodies.send(None)
    threading.Thread(target=_to_the_end, args=(served.read_bodies,), daemon=True).start()
    _to_the_end(served.read_masks)


def _to_the_end(read: Callable[[], None]) -> None:
    """Read until a pipe is closed, and end the process: threads that work are not waited for."""
    try:
        read()
    except BaseException:
        log.exception("the process of the grammars cannot read what it is asked")
        os._exit(1)
    os._exit(0)


class Served:
    """Answers what `Asker` asks."""

    def __init__(self, preparer: Preparer, bodies: Connection, masks: Connection) -> None:
        self.preparer = preparer
        self.workers = Workers(preparer.options.slots)
        self._bodies, self._masks = bodies, masks
        self._locks = {id(bodies): threading.Lock(), id(masks): threading.Lock()}
        self._matchings: dict[int, Matching] = {}
        self._numbers = itertools.count()

    def read_bodies(self) -> None:
        while True:
            try:
                number, body, endpoint = self._bodies.recv()
            except (EOFError, OSError):
                return
            self.workers.loaders.submit(self._answer, self._bodies, number, self._prepared, body, endpoint)

    def read_masks(self) -> None:
        while True:
            try:
                number, what, which, *given = self._masks.recv()
            except (EOFError, OSError):
                return
            if what == "close":
                matching = self._matchings.pop(which, None)
                if matching is not None:
                    matching.close()
            else:
                self.workers.makers.submit(self._answer, self._masks, number, self._made, which, *given)

    def _prepared(self, body: bytes, endpoint: str) -> Any:
        found = self.preparer.prepared(body, endpoint)
        shown: list[Any] = []
        for matching in found.masks:
            number = next(self._numbers)
            if matching is not None:
                self._matchings[number] = matching
            shown.append(matching and (number, matching.eos_token_ids))
        fields = found._asdict()
        del fields["masks"]
        return fields, shown, self.preparer.grammars.pool.stats()["grammars"]

    def _made(self, which: int, token: int | None, remaining: int | None) -> Mask:
        matching = self._matchings.get(which)
        if matching is None:
            raise given_up()
        return matching.make(token, remaining)

    def _answer(self, pipe: Connection, number: int, work: Callable[..., Any], *given: Any) -> None:
        answer: tuple[int, ApiError | None, Any]
        try:
            answer = number, None, work(*given)
        except ApiError as error:
            answer = number, error, None
        except Exception as error:
            log.exception("an answer cannot be made")
            answer = number, ours(error), None
        with suppress(OSError):  # the server has ended
            try:
                self._send(pipe, answer)
            except OSError:
                raise
            except Exception as error:
                log.exception("an answer cannot be sent")
                self._send(pipe, (number, ours(error), None))

    def _send(self, pipe: Connection, answer: tuple[int, ApiError | None, Any]) -> None:
        with self._locks[id(pipe)]:
            pipe.send(answer)  # what cannot be pickled raises an error before anything is sent
