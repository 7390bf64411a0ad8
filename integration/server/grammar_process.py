"""Bodies, grammars and masks in two processes of their own.

A pass of the model takes the interpreter's lock hundreds of times. Each time it would wait for the threads of its
process that load grammars, make rules or read bodies: a millisecond for each of them, and longer while one collects
garbage. So all that strangers can make long is done in other processes, and the process of the model waits for none of
it.

The first of them is for what is quick. It gives up a grammar or a mask that takes longer than `Options.quick_seconds`.
Such an answer begins anew in the second process, with the tokens that it has. Bodies of more than `QUICK_BYTES` go
there at once. There, slow requests and long bodies delay one another, and no others; and the second process gets only
what other programs leave of the cores.

If a process ends by itself, the bodies and answers that it had end with status 503. The next request that needs it
starts it again.
"""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from .errors import ApiError, given_up, ours, stopping
from .link import Link, unanswered
from .preparing import Demand, Mask, Prepared

QUICK_BYTES = 1 << 15
"""Bytes of the longest body that the quick process reads. To read 32 KiB takes a few milliseconds, or some dozens if
they are all tools or digits."""

log = logging.getLogger("earleymask.server")

_moves = itertools.count()


def then(asked: Future[Any], future: Future[Any], use: Callable[..., None]) -> None:
    """When something that was asked for is there, let `use` set a future by it. An error of either is the future's."""

    def done(asked: Future[Any]) -> None:
        try:
            use(asked.result())
        except ApiError as error:
            future.set_exception(error)
        except Exception as error:
            log.exception("what a process of the grammars answers cannot be used")
            future.set_exception(ours(error))

    asked.add_done_callback(done)


class GrammarProcess:
    """One process, which is started again when it is asked for something and has ended.

    Args:
        arguments: those of `Preparer`. They are pickled.
        is_quick: whether it gives up what is slow.

    Attributes:
        n_grammars: how many grammars it remembers.
    """

    def __init__(self, arguments: tuple[Any, ...], is_quick: bool) -> None:
        self._arguments = arguments
        self._is_quick = is_quick
        self._name = "quick" if is_quick else "slow"
        self._link: Link | None = None
        self._lock = threading.Lock()  # of the two that `close` reads
        self._is_closed = False
        self.n_grammars = 0
        # It sends bodies, since the pipe takes a part of a long one at a time, and starts a process that has ended.
        self._sender = ThreadPoolExecutor(1, "earleymask-send")

    def start(self) -> None:
        """Start it. Raises ApiError after `close`, and RuntimeError if it does not start."""
        self._started()

    def _started(self) -> Link:
        with self._lock:
            if self._is_closed:
                raise stopping()
            link = self._link = Link()  # `close` may end it while it gets ready
        link.start(self._arguments, self._is_quick)
        return link

    def ask(self, *what: Any) -> Future[tuple[Link, Any]]:
        """Send something long. Return the link by which it went, and what came back; an error is an ApiError."""
        future = unanswered()
        try:
            self._sender.submit(self._send, future, what)
        except RuntimeError:  # after `close`
            future.set_exception(stopping())
        return future

    def tell(self, *what: Any) -> None:
        """Send something short to which nothing comes back, if the process is there."""
        link = self._link
        if link is not None and not link.is_lost:
            link.masks.tell(*what)

    def _send(self, future: Future[tuple[Link, Any]], what: tuple[Any, ...]) -> None:
        try:
            if self._is_closed:
                raise stopping()
            link = self._link
            if link is None or link.is_lost:
                log.error("the %s process of the grammars has ended; it is started again", self._name)
                if link is not None:
                    link.close()
                link = self._started()

            def answered(counted: tuple[Any, int]) -> None:
                found, self.n_grammars = counted
                future.set_result((link, found))

            then(link.bodies.ask(*what), future, answered)
        except ApiError as error:
            future.set_exception(error)
        except Exception as error:
            if self._is_closed:  # while the process started again
                future.set_exception(stopping())
            else:
                log.exception("the %s process of the grammars cannot be reached", self._name)
                future.set_exception(ours(error))

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
        if self._link is not None:
            self._link.end()  # first: who sends to one that hangs, or waits until it is ready, goes on
        self._sender.shutdown()  # what it has not begun is refused
        if self._link is not None:
            self._link.close()


class GrammarProcesses:
    """Lets preparers work in two processes: one for what is quick, and one for what is slow.

    Args:
        arguments: those of `Preparer`. They are pickled.
    """

    def __init__(self, *arguments: Any) -> None:
        self.quick = GrammarProcess(arguments, is_quick=True)
        self.slow = GrammarProcess(arguments, is_quick=False)

    def start(self) -> None:
        """Start both at the same time. Raises what `GrammarProcess.start` does."""
        errors: list[BaseException] = []

        def start(one: GrammarProcess, other: GrammarProcess) -> None:
            try:
                one.start()
            except BaseException as error:
                errors.append(error)
                other.close()

        starting = threading.Thread(target=start, args=(self.slow, self.quick), name="earleymask-start")
        starting.start()
        start(self.quick, self.slow)
        starting.join()
        if errors:
            raise errors[0]

    def prepare(self, body: bytes, endpoint: str) -> Future[Prepared]:
        future = unanswered()

        def answered(asked: tuple[Link, Any]) -> None:
            link, (prepared, demand, shown, seconds) = asked
            if demand is None:
                future.set_result(prepared)
            elif shown is not None:
                finish(prepared, demand, seconds, link, shown, self.slow if is_quick else None)
            else:
                then(self.slow.ask("match", demand), future, lambda again: begun(prepared, demand, seconds, again))

        def begun(prepared: Prepared, demand: Demand, seconds: float, asked: tuple[Link, Any]) -> None:
            link, (shown, more_seconds) = asked
            finish(prepared, demand, seconds + more_seconds, link, shown, None)

        def finish(
            prepared: Prepared, demand: Demand, seconds: float, link: Link, shown: Any, slow: GrammarProcess | None
        ) -> None:
            masks = [ProcessMasks(demand, link, number, ends, slow) for number, ends in shown]
            future.set_result(prepared._replace(masks=masks, seconds=seconds))

        is_quick = len(body) <= QUICK_BYTES
        then((self.quick if is_quick else self.slow).ask("prepare", body, endpoint), future, answered)
        return future

    def n_grammars(self) -> int:
        return self.quick.n_grammars + self.slow.n_grammars

    def close(self) -> None:
        self.quick.close()
        self.slow.close()


class ProcessMasks:
    """The masks of an answer, which another process makes.

    Args:
        demand: that of its request.
        link: the link to the process.
        number: what it is called there.
        slow: the process in which the answer begins anew if it is slow; None: it is there already.
    """

    def __init__(
        self, demand: Demand, link: Link, number: int, eos_token_ids: frozenset[int], slow: GrammarProcess | None
    ) -> None:
        self.eos_token_ids = eos_token_ids
        self._demand = demand
        self._link = link
        self._number = number
        self._slow = slow
        self._tokens: list[int] = []
        self._lock = threading.Lock()  # of where it is, and whether it is closed
        self._is_closed = False
        self._moving: tuple[GrammarProcess, int] | None = None  # where to, and the number of the move

    def after(self, token: int | None, remaining: int | None) -> Future[Mask]:
        if self._slow is None:
            return self._link.masks.ask("make", self._number, token, remaining)
        if token is not None:
            self._tokens.append(token)
        asked = self._link.masks.ask("make", self._number, token, remaining)
        future = unanswered()

        def made(mask: Mask | None) -> None:
            if mask is not None:
                future.set_result(mask)
            else:
                self._begin_anew(future, remaining)

        then(asked, future, made)
        return future

    def _begin_anew(self, future: Future[Mask], remaining: int | None) -> None:
        """Go to the other process, with the tokens. Nothing else is asked for meanwhile."""
        assert self._slow is not None
        slow, self._slow = self._slow, None
        demand, tokens = self._demand._replace(n=1), self._tokens
        self._tokens = []
        move = next(_moves)
        with self._lock:
            if self._is_closed:
                raise given_up()
            self._moving = slow, move
        self._link.masks.tell("close", self._number)

        def begun(asked: tuple[Link, Any]) -> None:
            link, (((number, _),), _) = asked
            with self._lock:
                self._link, self._number = link, number
                self._moving = None
                is_closed = self._is_closed
            if is_closed:
                link.masks.tell("close", number)
                raise given_up()
            then(link.masks.ask("make", number, None, remaining), future, future.set_result)

        moved = slow.ask("move", demand, tokens, move)
        moved.add_done_callback(self._move_ended)
        then(moved, future, begun)

    def _move_ended(self, moved: Future[Any]) -> None:
        """Note that it is in neither process if the other one has failed to begin it."""
        if moved.exception() is not None:
            with self._lock:
                self._moving = None

    def close(self) -> None:
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            link, number, moving = self._link, self._number, self._moving
        if moving is None:
            link.masks.tell("close", number)
        else:
            slow, move = moving
            slow.tell("drop", move)
