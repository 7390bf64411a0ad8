"""What runs in a process for bodies, grammars and masks: it answers what `link.Asker` asks until a pipe is closed."""

from __future__ import annotations

import gc
import itertools
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from .errors import ApiError, given_up, ours
from .options import Kind
from .preparing import Demand, Mask, Matching, Preparer, Slow, Workers

SWITCH_SECONDS = 0.0005
"""How long a thread of the process that wants the interpreter's lock waits before it asks for it: one whose mask takes
some microseconds must not wait for one that loads a grammar. Python's default is 5 ms."""

NICENESS: dict[Kind, int] = {"quick": 0, "medium": 5, "slow": 15, "long": 5}
"""With 5, a process gets about a quarter of a core that another program wants, too; with 15, about a thirtieth."""

FULL_COLLECTION = 1000
"""Collections of the middle generation after which all objects are visited. Most of a grammar is freed without."""

log = logging.getLogger("earleymask.server")


def main(*numbers: int) -> None:
    """What the process does: answer until a pipe is closed. `numbers` are those of the two pipes."""
    for each in (signal.SIGINT, signal.SIGTERM):  # which a group of processes gets: the server ends this
        signal.signal(each, signal.SIG_IGN)
    bodies, masks = Connection(numbers[0]), Connection(numbers[1])
    level, arguments, kind = bodies.recv()
    sys.setswitchinterval(SWITCH_SECONDS)
    logging.basicConfig(level=level, format="%(levelname)s: %(message)s")
    preparer = Preparer(*arguments, kind=kind)  # type: ignore[misc]
    if kind != "long":
        preparer.warm_up()
    with suppress(OSError):
        os.nice(NICENESS[kind])
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
        self._dropped: set[int] = set()  # numbers of each `Beginning` that was dropped before it was over

    def read_bodies(self) -> None:
        while True:
            try:
                number, what, *given = self._bodies.recv()
            except (EOFError, OSError):
                return
            work, workers = {
                "prepare": (self._prepared, self.workers.loaders),
                "match": (self._begun, self.workers.loaders),
                "move": (self._begun, self.workers.makers),  # it has a slot, so it does not wait for new requests
            }[what]
            workers.submit(self._answer, self._bodies, number, self._counted, work, *given)

    def read_masks(self) -> None:
        while True:
            try:
                number, what, which, *given = self._masks.recv()
            except (EOFError, OSError):
                return
            if what == "close":
                self._close(which)
            elif what == "drop":
                self._dropped.add(which)
            elif what == "forget":
                self._dropped.discard(which)
            else:
                self.workers.makers.submit(self._answer, self._masks, number, self._made, which, *given)

    def _close(self, which: int) -> None:
        matching = self._matchings.pop(which, None)
        if matching is not None:
            matching.close()

    def _counted(self, work: Callable[..., Any], *given: Any) -> tuple[Any, int]:
        """Return what a function does, and how many grammars are remembered."""
        return work(*given), self.preparer.grammars.pool.stats()["grammars"]

    def _prepared(self, body: bytes, endpoint: str) -> Any:
        """Return what `Preparer.read` does, and what `_matched` does; None and 0 seconds if there is no grammar, or if
        it is not loaded here."""
        found, demand = self.preparer.read(body, endpoint)
        is_here = self.preparer.kind != "long"
        return found, demand, *(self._matched(demand) if is_here and demand is not None else (None, 0.0))

    def _begun(self, demand: Demand, tokens: Sequence[int], number: int) -> Any:
        """Return what `_matched` does, unless `drop` has come with the number."""
        if number in self._dropped:
            raise given_up()
        return self._matched(demand, tokens)

    def _matched(
        self, demand: Demand, tokens: Sequence[int] = ()
    ) -> tuple[list[tuple[int, frozenset[int]]] | None, float]:
        """Return the number and the EOS tokens of each matching, None if that takes too long here, and the seconds that
        it took."""
        began = time.perf_counter()
        try:
            matchings = self.preparer.match(demand, tokens)
        except Slow:
            return None, time.perf_counter() - began
        shown = []
        for matching in matchings:
            number = next(self._numbers)
            self._matchings[number] = matching
            shown.append((number, matching.eos_token_ids))
        return shown, time.perf_counter() - began

    def _made(self, which: int, token: int | None, remaining: int | None) -> Mask | None:
        """Return a mask; None if it takes too long here."""
        matching = self._matchings.get(which)
        if matching is None:
            raise given_up()
        try:
            return self.preparer.make(matching, token, remaining)
        except Slow:
            return None

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
