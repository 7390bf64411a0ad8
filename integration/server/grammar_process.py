"""Bodies, grammars and masks in four processes of their own.

A pass of the model takes the interpreter's lock hundreds of times. Each time it would wait for the threads of its
process that load grammars, make rules or read bodies: a millisecond for each of them, and longer while one collects
garbage. So all that strangers can make long is done in other processes, and the process of the model waits for none of
it.

- The quick process reads bodies of up to `QUICK_BYTES`, loads grammars and makes masks. It gives up a grammar or a mask
  that takes longer than `Options.quick_seconds`.
- The medium process takes over what the quick one has given up, and begins it anew with the tokens that it has. It
  gives up what takes longer than `Options.medium_seconds`.
- The slow process takes over what the medium one has given up.
- The long process reads longer bodies, and does nothing else. What their grammars are made of goes to the quick
  process, or to the medium one if it is more than `QUICK_CHARACTERS`.

So what is quick never waits for what is slow. Nobody knows beforehand how long a grammar takes: most begin in the quick
process, and go to the next one when their time is over (a multilevel feedback queue; Corbató, Merwin-Daggett and Daley,
1962). The quick process gets more of the cores than the others.

If a process ends by itself, the bodies and answers that it had end with status 503. The next request that needs it
starts it again.
"""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from .errors import ApiError, given_up, ours, stopping
from .link import Link, unanswered
from .options import Kind
from .preparing import Demand, Leaving, Mask, Prepared

QUICK_BYTES = 1 << 15
"""Bytes of the longest body that the quick process reads. To read 32 KiB takes a few milliseconds, or some dozens if
they are all tools or digits."""

QUICK_CHARACTERS = 1 << 16
"""Characters of the tools, `tool_choice` and constraint of a long body, together, with which the quick process begins.
The first steps with longer ones cannot be interrupted."""

log = logging.getLogger("earleymask.server")

_numbers = itertools.count()


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
        kind: which of them it is.
        next: the process to which goes what this one gives up, or leaves to others; None: it gives up nothing.

    Attributes:
        next: as given.
        n_grammars: how many grammars it remembers.
    """

    def __init__(self, arguments: tuple[Any, ...], kind: Kind, next: GrammarProcess | None = None) -> None:
        self.next = next
        self._arguments = arguments
        self._kind: Kind = kind
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
        link.start(self._arguments, self._kind)
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
                log.error("the %s process of the grammars has ended; it is started again", self._kind)
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
                log.exception("the %s process of the grammars cannot be reached", self._kind)
                future.set_exception(ours(error))

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
        if self._link is not None:
            self._link.end()  # first: who sends to one that hangs, or waits until it is ready, goes on
        self._sender.shutdown()  # what it has not begun is refused
        if self._link is not None:
            self._link.close()


class Beginning:
    """Answers that a process is asked to begin. As long as it has not begun them, they may be dropped.

    Args:
        process: the process.
        what: "match" for new answers, "move" for one that another process has given up.
        demand, tokens: as for `Preparer.match`.

    Attributes:
        future: what `GrammarProcess.ask` returns.
    """

    def __init__(self, process: GrammarProcess, what: str, demand: Demand, tokens: Sequence[int] = ()) -> None:
        self._process = process
        self._number = next(_numbers)
        self._lock = threading.Lock()
        self._is_over = False  # the process has answered
        self._is_dropped = False
        self.future = process.ask(what, demand, tuple(tokens), self._number)
        self.future.add_done_callback(self._ended)

    def drop(self) -> None:
        """Say that nobody waits for them any more."""
        with self._lock:
            if not self._is_over and not self._is_dropped:
                self._is_dropped = True
                self._process.tell("drop", self._number)

    def _ended(self, _: Future[Any]) -> None:
        with self._lock:
            self._is_over = True
            if self._is_dropped:  # `drop` may have come too late: nothing else would forget the number
                self._process.tell("forget", self._number)


class GrammarProcesses:
    """Lets preparers work in processes: three for grammars, by how long they take, and one for long bodies.

    Args:
        arguments: those of `Preparer`. They are pickled.
    """

    def __init__(self, *arguments: Any) -> None:
        self.slow = GrammarProcess(arguments, "slow")
        self.medium = GrammarProcess(arguments, "medium", self.slow)
        self.quick = GrammarProcess(arguments, "quick", self.medium)
        self.long = GrammarProcess(arguments, "long", self.quick)

    def start(self) -> None:
        """Start them at the same time. Raises what `GrammarProcess.start` does."""
        errors: list[BaseException] = []
        processes = self._all()

        def start(process: GrammarProcess) -> None:
            try:
                process.start()
            except BaseException as error:
                errors.append(error)
                for other in processes:
                    if other is not process:
                        other.close()

        try:
            with ThreadPoolExecutor(len(processes), "earleymask-start") as pool:
                for process in processes:
                    pool.submit(start, process)
        except BaseException:
            self.close()
            raise
        if errors:
            raise errors[0]

    def prepare(self, body: bytes, endpoint: str, leaving: Leaving) -> Future[Prepared]:
        future = unanswered()
        reader = self.quick if len(body) <= QUICK_BYTES else self.long

        def read(asked: tuple[Link, Any]) -> None:
            link, (prepared, demand, shown, seconds) = asked
            if demand is None:
                future.set_result(prepared)
                return
            skips_quick = reader is self.long and demand.n_characters() > QUICK_CHARACTERS
            matched(prepared, demand, self.quick if skips_quick else reader, (link, (shown, seconds)))

        def matched(prepared: Prepared, demand: Demand, process: GrammarProcess, asked: tuple[Link, Any]) -> None:
            link, (shown, seconds) = asked
            prepared = prepared._replace(seconds=prepared.seconds + seconds)
            if shown is not None:
                masks = [ProcessMasks(demand, process, link, number, ends) for number, ends in shown]
                future.set_result(prepared._replace(masks=masks))
                return
            following = process.next
            assert following is not None
            if leaving.is_said:
                raise given_up()
            beginning = Beginning(following, "match", demand)
            leaving.when_said(beginning.drop)
            then(beginning.future, future, lambda asked: matched(prepared, demand, following, asked))

        then(reader.ask("prepare", body, endpoint), future, read)
        return future

    def _all(self) -> tuple[GrammarProcess, ...]:
        return self.quick, self.medium, self.slow, self.long

    def n_grammars(self) -> int:
        return sum(process.n_grammars for process in self._all())

    def close(self) -> None:
        for process in self._all():
            process.close()


class ProcessMasks:
    """The masks of an answer, which another process makes.

    Args:
        demand: that of its request.
        process: the process; if that gives it up, the answer begins anew in the next one.
        link: the link to the process.
        number: what it is called there.
    """

    def __init__(
        self, demand: Demand, process: GrammarProcess, link: Link, number: int, eos_token_ids: frozenset[int]
    ) -> None:
        self.eos_token_ids = eos_token_ids
        self._demand = demand
        self._process = process
        self._link = link
        self._number = number
        self._tokens: list[int] = []
        self._lock = threading.Lock()  # of where it is, and whether it is closed
        self._is_closed = False
        self._beginning: Beginning | None = None  # in the next process, while it is in none

    def after(self, token: int | None, remaining: int | None) -> Future[Mask]:
        if token is not None and self._process.next is not None:
            self._tokens.append(token)
        future = unanswered()
        self._make(future, token, remaining)
        return future

    def _make(self, future: Future[Mask], token: int | None, remaining: int | None) -> None:
        def made(mask: Mask | None) -> None:
            if mask is not None:
                future.set_result(mask)
            else:
                self._begin_anew(future, remaining)

        then(self._link.masks.ask("make", self._number, token, remaining), future, made)

    def _begin_anew(self, future: Future[Mask], remaining: int | None) -> None:
        """Go to the next process, with the tokens. Nothing else is asked for meanwhile."""
        process = self._process.next
        assert process is not None
        with self._lock:
            if self._is_closed:
                raise given_up()
            if self._beginning is None:
                self._link.masks.tell("close", self._number)
            beginning = self._beginning = Beginning(process, "move", self._demand._replace(n=1), self._tokens)

        def begun(asked: tuple[Link, Any]) -> None:
            link, (shown, _) = asked
            self._process = process
            if shown is None:
                self._begin_anew(future, remaining)
                return
            ((number, _),) = shown
            if process.next is None:
                self._tokens = []
            with self._lock:
                self._link, self._number = link, number
                self._beginning = None
                is_closed = self._is_closed
            if is_closed:
                link.masks.tell("close", number)
                raise given_up()
            self._make(future, None, remaining)

        then(beginning.future, future, begun)

    def close(self) -> None:
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            link, number, beginning = self._link, self._number, self._beginning
        if beginning is None:
            link.masks.tell("close", number)
        else:
            beginning.drop()
