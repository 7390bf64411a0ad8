"""`earleymask serve` with more histograms, which say what requests and steps wait for.

    python -m tests.integration.server.timed --model PATH ...

The model is on the device that EARLEYMASK_DEVICE says.

- `STEP`: the time of each step, but for what its thread waited for a core. Where other programs use the cores, the time
  of a step says more about them than about the server. Linux counts for each thread how long it was ready to run and
  did not. What is left of a step is its own work, passes included, and what it waited for: the interpreter's lock,
  masks.
- `FIRST`: the time from a request, whose header `x-kind` says which kind it is, to its first piece of text, but for the
  passes of the model from when it came to the engine until its prompt had been read. A request waits for these in every
  server that has one model. What is left is the time that its body, its grammar and its masks took, what they waited
  for, and the passes of others while its first mask was made.
"""

from __future__ import annotations

import sys
import time
import weakref
from pathlib import Path
from typing import Any

from earleymask import cli
from earleymask.integration.server import metrics
from earleymask.integration.server.app import Run
from earleymask.integration.server.decoder import Decoder
from earleymask.integration.server.engine import Engine
from support.second_device import chosen_device

STEP = "earleymask_step_without_cores_seconds"
FIRST = {
    kind: f"earleymask_first_token_of_{kind.replace(' ', '_')}_seconds"
    for kind in ("free text", "grammar", "long body", "slow grammar")
}
SCHEDSTAT = Path("/proc/thread-self/schedstat")


def waited() -> float:
    """Return the seconds for which this thread has waited for a core; 0 where that is not known."""
    return int(SCHEDSTAT.read_text().split()[1]) / 1e9 if SCHEDSTAT.exists() else 0.0


class Passes:
    """The time in which the model has worked. One thread runs passes, and others ask."""

    def __init__(self) -> None:
        self._state: tuple[float, float | None] = 0.0, None  # of those that have ended; when the running one began

    def seconds(self) -> float:
        """Return the seconds of all passes so far, with the part of one that is running."""
        total, began = self._state
        return total if began is None else total + time.perf_counter() - began

    def time(self, work: Any) -> Any:
        """Return a method that does the same in a pass."""

        def timed(decoder: Any, *given: Any) -> Any:
            total, began = self._state[0], time.perf_counter()
            self._state = total, began
            try:
                return work(decoder, *given)
            finally:
                self._state = total + time.perf_counter() - began, None

        return timed


def time_steps() -> None:
    metrics.HELP[STEP] = "Time of a step, passes included, without the time in which its thread waited for a core."
    step = Engine._step

    def timed(self: Engine) -> None:
        began, before = time.perf_counter(), waited()
        step(self)
        self.metrics.observe(STEP, max(time.perf_counter() - began - (waited() - before), 0.0))

    Engine._step = timed  # type: ignore[method-assign]


def time_first_tokens() -> None:
    for kind, name in FIRST.items():
        metrics.HELP[name] = f"Time to a first token ({kind}), without the passes until its prompt has been read."
    passes = Passes()
    until_read: dict[int, float] = {}  # by the key of a row
    read, drop = passes.time(Decoder.read), Decoder.drop
    begin, delivery, submit = Run.__init__, Run.delivery, Engine.submit
    at_engine: weakref.WeakKeyDictionary[Any, float] = weakref.WeakKeyDictionary()  # by answer

    def read_timed(self: Decoder, key: int, *given: Any) -> float:
        seconds: float = read(self, key, *given)
        until_read[key] = passes.seconds()
        return seconds

    def drop_timed(self: Decoder, keys: Any) -> None:
        drop(self, keys)
        for key in keys:
            until_read.pop(key, None)

    def begin_timed(self: Any, server: Any, http: Any) -> None:
        begin(self, server, http)
        self.first_of = http.headers.get("x-kind")
        self.began = time.perf_counter()

    def submit_timed(self: Engine, answers: Any) -> None:
        for answer in answers:
            at_engine[answer] = passes.seconds()
        submit(self, answers)

    def delivery_timed(self: Any, index: int) -> Any:
        deliver = delivery(self, index)

        def delivered(piece: Any) -> None:
            if piece.text and self.first_of in FIRST:
                name, self.first_of = FIRST[self.first_of], None
                answer = self.answers[index]
                ended = until_read.get(answer.key)
                if ended is not None:  # not if the answer is complete already, whose row is gone
                    seconds = time.perf_counter() - self.began - (ended - at_engine[answer])
                    self.server.metrics.observe(name, max(seconds, 0.0))
            deliver(piece)

        return delivered

    Decoder.read, Decoder.drop = read_timed, drop_timed  # type: ignore[method-assign]
    Decoder.advance = passes.time(Decoder.advance)  # type: ignore[method-assign]
    Run.__init__, Run.delivery = begin_timed, delivery_timed  # type: ignore[method-assign]
    Engine.submit = submit_timed  # type: ignore[method-assign]


def main() -> int:
    time_steps()
    time_first_tokens()
    return cli.main(["serve", "--device", str(chosen_device()), *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
