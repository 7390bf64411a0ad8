"""Bodies, grammars and masks in a process of their own.

A pass of the model takes the interpreter's lock hundreds of times. Each time it would wait for the threads of its
process that load grammars, make rules or read bodies: a millisecond for each of them, and longer while one collects
garbage. So all that strangers can make long is done in another process, and the process of the model waits for none of
it.

Two pipes lead there. Bodies and what becomes of them go through one, masks through the other, so that a long body does
not delay them. A message is a number and what is to be done; the answer has the same number. The process ends when
its pipes are closed. If it ends by itself, the answers that it had end with status 503, and the next body starts it
anew.
"""

from __future__ import annotations

import gc
import itertools
import logging
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe
from typing import Any

from .errors import ApiError, ours
from .preparing import Mask, Matching, Prepared, Preparer, Workers

SWITCH_SECONDS = 0.0005
"""How long a thread of the process that wants the interpreter's lock waits before it asks for it: one whose mask takes
some microseconds must not wait for one that loads a grammar. Python's default is 5 ms."""

SECONDS_TO_END = 10
"""Seconds that the process may take to end. After them it is killed."""

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
        # It sends bodies, since the pipe takes a part of a long one at a time, and starts a process that has ended.
        self._sender = ThreadPoolExecutor(1, "earleymask-send")
        self._n_grammars = 0

    def start(self) -> None:
        self._link = Link(self._arguments)

    def prepare(self, body: bytes, endpoint: str) -> Future[Prepared]:
        future: Future[Prepared] = Future()
        self._sender.submit(self._send, future, body, endpoint)
        return future

    def _send(self, future: Future[Prepared], body: bytes, endpoint: str) -> None:
        try:
            if self._link is None or self._link.is_lost:
                log.error("the process of the grammars has ended; it is started again")
                if self._link is not None:
                    self._link.close()
                self._link = Link(self._arguments)
            link = self._link

            def done(inner: Future[Any]) -> None:
                error = inner.exception()
                if error is not None:
                    future.set_exception(error)
                    return
                found, matchings, self._n_grammars = inner.result()
                masks = [one and ProcessMasks(link, *one) for one in matchings]
                future.set_result(Prepared(**found, masks=masks))

            link.bodies.ask(body, endpoint).add_done_callback(done)
        except Exception as error:
            log.exception("the process of the grammars cannot be reached")
            future.set_exception(ours(error))

    def n_grammars(self) -> int:
        return self._n_grammars

    def close(self) -> None:
        self._sender.shutdown(cancel_futures=True)
        if self._link is not None:
            self._link.close()


class ProcessMasks:
    """The masks of an answer, which another process makes."""

    def __init__(self, link: Link, number: int, eos_token_ids: frozenset[int]) -> None:
        self.eos_token_ids = eos_token_ids
        self._link = link
        self._number = number

    def after(self, token: int | None, remaining: int | None) -> Future[Mask]:
        return self._link.masks.ask("make", self._number, token, remaining)

    def close(self) -> None:
        self._link.masks.tell("close", self._number)


class Asker:
    """One end of a pipe: asks, and reads the answers in a thread."""

    def __init__(self, connection: Connection, when_lost: Callable[[], None]) -> None:
        self._connection = connection
        self._when_lost = when_lost
        self._lock = threading.Lock()
        self._asked: dict[int, Future[Any]] = {}
        self._numbers = itertools.count()
        self._is_lost = False
        self.thread = threading.Thread(target=self._read, name="earleymask-read", daemon=True)
        self.thread.start()

    def ask(self, *what: Any) -> Future[Any]:
        """Send something to be done. Return what comes back; an error is an ApiError."""
        future: Future[Any] = Future()
        number = next(self._numbers)
        self._asked[number] = future
        self._send(number, what)
        if self._is_lost and self._asked.pop(number, None) is not None:
            future.set_exception(_lost())
        return future

    def tell(self, *what: Any) -> None:
        """Send something to which nothing comes back."""
        self._send(-1, what)

    def _send(self, number: int, what: tuple[Any, ...]) -> None:
        try:
            with self._lock:
                self._connection.send((number, *what))
        except OSError:
            self._is_lost = True

    def _read(self) -> None:
        while True:
            try:
                number, error, found = self._connection.recv()
            except (EOFError, OSError):
                break
            future = self._asked.pop(number)
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(found)
        self._is_lost = True
        self._when_lost()
        while self._asked:
            self._asked.popitem()[1].set_exception(_lost())

    def close(self) -> None:
        self._connection.close()


def _lost() -> ApiError:
    return ApiError(503, "the process that made the masks has ended; send the request again", code="restarting")


class Link:
    """A process and the pipes to it. Raises RuntimeError if it does not start."""

    def __init__(self, arguments: tuple[Any, ...]) -> None:
        mine, theirs = zip(Pipe(), Pipe(), strict=True)
        numbers = [each.fileno() for each in theirs]
        code = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import main; main(*{numbers!r})"
        # A process of `multiprocessing` would run the main module of the program once more.
        self.process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.DEVNULL, pass_fds=numbers)
        for each in theirs:
            each.close()
        try:
            mine[0].send((log.getEffectiveLevel(), arguments))
            mine[0].recv()
        except (EOFError, OSError):
            raise RuntimeError(f"the process of the grammars has ended with {self.process.wait()}") from None
        self.is_lost = False
        self.bodies, self.masks = [Asker(each, self._lose) for each in mine]

    def _lose(self) -> None:
        self.is_lost = True

    def close(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for asker in (self.bodies, self.masks):
            asker.thread.join(SECONDS_TO_END)
            asker.close()


# In the process


def main(*numbers: int) -> None:
    """What the process does: answer until a pipe is closed. `numbers` are those of the two pipes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the server, and the server ends this
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
    thread = threading.Thread(target=served.read_bodies, daemon=True)
    thread.start()
    served.read_masks()


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

    def _made(self, which: int, token: int | None, remaining: int | None) -> Mask | None:
        matching = self._matchings.get(which)
        return None if matching is None else matching.make(token, remaining)

    def _answer(self, pipe: Connection, number: int, work: Callable[..., Any], *given: Any) -> None:
        answer: tuple[int, ApiError | None, Any]
        try:
            answer = number, None, work(*given)
        except ApiError as error:
            answer = number, error, None
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
