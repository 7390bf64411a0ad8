"""The one thread that asks the model: it gives slots to answers, and advances all of them by a token at a time.

Each answer is a row of a decoder (`decoder`). Between two passes a row needs its mask, which is made elsewhere while
the model reads (`preparing`). A row whose mask is not there `GRACE` seconds after the pass is not in the next passes,
until it has its mask, so that a costly grammar delays no other answer. A prompt is read alone, when a slot is free.

An error ends the answers that it concerns: that of a grammar or a prompt one, that of a pass all rows of the batch.
"""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from ...trie import Vocabulary
from .decoder import Decoder
from .errors import ApiError, ours, stopping
from .metrics import Metrics
from .preparing import Mask, Masks
from .sampling import Chosen, Sampling
from .text import Text

GRACE = 0.002
"""Seconds for which a pass waits for masks that are not made yet. Most masks take some microseconds, and
a fraction of a millisecond on their way if another process makes them."""
LOOK = 0.005
"""Seconds after which the engine looks again whether there is something to do, while it waits for masks alone."""
Finish = Literal["stop", "length"]
NO_JOB: Future[Any] = Future()
NO_JOB.set_result(None)
"""What free text has in place of a mask to wait for."""

log = logging.getLogger("earleymask.server")


class Piece(NamedTuple):
    """What an answer has written since the piece before.

    Attributes:
        text: text that will not change.
        entries: log probabilities of the tokens that begin in it, if the request wants them, each with the character of
            the answer at which its token begins.
        finish: in the last piece, why the answer ends: "stop" if it is complete or met a stop string, "length" if it
            has as many tokens as it may have.
        error: in the last piece, what has ended the answer instead.
    """

    text: str = ""
    entries: tuple[tuple[int, dict[str, Any]], ...] = ()
    finish: Finish | None = None
    error: ApiError | None = None


@dataclass(eq=False)
class Answer:
    """One answer to a prompt, as the engine has it.

    Attributes:
        prompt: the ids of the prompt, at least one.
        masks: makes its masks; None for free text.
        ends: the ids that end free text.
        sampling: how it chooses tokens.
        index: which of the answers to its request it is.
        text: what it has written.
        left: how many tokens it may still have, EOS included.
        fits: whether its grammar is followed so that it ends within these.
        deliver: takes its pieces, where `Engine.call` lets it.
        n_tokens: how many tokens it has.
        is_cancelled: whether nobody waits for it any more.
    """

    prompt: list[int]
    masks: Masks | None
    ends: frozenset[int]
    sampling: Sampling
    index: int
    text: Text
    left: int
    fits: bool
    deliver: Callable[[Piece], None]
    n_tokens: int = 0
    is_cancelled: bool = False
    # While it has a slot. `has_scores`: it may choose when `job` has its mask; otherwise it has chosen a token that the
    # model reads next.
    key: int = -1
    has_scores: bool = False
    job: Future[Any] | None = None


class Engine:
    """Answers requests with a model, a batch at a time.

    Args:
        decoder: the model.
        vocabulary: its vocabulary.
        slots: how many answers are generated at the same time.
        metrics: counts what happens.

    Attributes:
        call: calls a function with arguments, where pieces are to be delivered: at once, unless somebody sets it.
    """

    def __init__(self, decoder: Decoder, vocabulary: Vocabulary, slots: int, metrics: Metrics) -> None:
        self.decoder = decoder
        self.vocabulary = vocabulary
        self.slots = slots
        self.metrics = metrics
        self.call: Callable[..., object] = lambda function, *given: function(*given)
        self._waiting: deque[Answer] = deque()
        self._live: list[Answer] = []
        self._reading: list[Answer] = []  # those that have chosen a token that is to be read
        self._late: list[Answer] = []  # those of the last pass whose masks were not there at its end
        self._pieces: list[tuple[Answer, Piece]] = []  # of this step
        self._keys = itertools.count()
        self._changed = threading.Condition()
        self._is_stopped = False
        self._thread = threading.Thread(target=self._run, name="earleymask-engine", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def stop(self) -> None:
        """End all answers with an error, and the thread."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify()
        self._thread.join()

    def submit(self, answers: Sequence[Answer]) -> None:
        """Put answers into the queue. Pieces come until one has `finish` or `error`, unless the answer is cancelled."""
        with self._changed:
            if self._is_stopped:
                raise stopping()
            self._waiting.extend(answers)
            self._changed.notify()

    def cancel(self, answer: Answer) -> None:
        """Free the slot of an answer for which nobody waits any more."""
        answer.is_cancelled = True
        if answer.masks is not None:
            answer.masks.close()
        with self._changed:
            with suppress(ValueError):
                self._waiting.remove(answer)
            self._changed.notify()

    def counts(self) -> tuple[int, int]:
        """Return how many answers have a slot, and how many wait for one."""
        return len(self._live), len(self._waiting)

    # The thread

    def _run(self) -> None:
        while True:
            with self._changed:
                while not (self._is_stopped or self._waiting or self._live):
                    self._changed.wait()
                if self._is_stopped:
                    break
            try:
                self._step()
            except Exception as error:
                log.exception("the engine failed; all answers in it are ended")
                self._fail(list(self._live), ours(error))
            self._deliver()
        self._fail([*self._live, *self._waiting], stopping())
        self._deliver()

    def _step(self) -> None:
        began = time.perf_counter()
        self._drop([answer for answer in self._live if answer.is_cancelled])
        seconds = self._admit() + self._read()
        ready = self._wait()
        self._choose(ready)
        self._deliver()
        if ready:
            self.metrics.observe("earleymask_step_overhead_seconds", time.perf_counter() - began - seconds)

    def _admit(self) -> float:
        """Give free slots to answers that wait, and let the model read their prompts: one if others are being
        generated. Return the seconds that it took."""
        n_others = len(self._live)
        total = 0.0
        while len(self._live) < min(self.slots, n_others + 1 if n_others else self.slots):
            with self._changed:
                if not self._waiting:
                    break
                answer = self._waiting.popleft()
            self._live.append(answer)
            answer.key = next(self._keys)
            if not self._start_mask(answer, None):
                continue
            try:
                seconds = self.decoder.read(answer.key, answer.prompt, answer.sampling, answer.index)
            except Exception as error:
                log.exception("the model failed on a prompt of %d tokens", len(answer.prompt))
                self._fail([answer], ours(error))
                continue
            answer.has_scores = True
            self.metrics.observe("earleymask_prefill_seconds", seconds)
            total += seconds
        return total

    def _read(self) -> float:
        """Let the model read the tokens that have been chosen. Return the seconds that it took."""
        left = set(map(id, self._live))
        reading = [answer for answer in self._reading if id(answer) in left]
        self._reading = []
        if not reading:
            return 0.0
        try:
            seconds = self.decoder.advance([answer.key for answer in reading])
        except Exception as error:
            log.exception("the model failed on a batch of %d rows", len(reading))
            self._fail(reading, ours(error))
            return 0.0
        for answer in reading:
            answer.has_scores = True
        self.metrics.observe("earleymask_pass_seconds", seconds)
        self._late = [answer for answer in reading if answer.job is not None and not answer.job.done()]
        return seconds

    def _wait(self) -> list[Answer]:
        """Return the answers whose scores and masks are there. Only those whose scores are new may let others wait."""
        wait([answer.job for answer in self._late if answer.job is not None], timeout=GRACE)
        self._late = []
        waiting = [answer for answer in self._live if answer.job is not None and answer.has_scores]
        ready = [answer for answer in waiting if answer.job is not None and answer.job.done()]
        if not ready:
            jobs = [answer.job for answer in waiting if answer.job is not None]
            wait(jobs, timeout=LOOK, return_when=FIRST_COMPLETED)
        return ready

    def _choose(self, ready: list[Answer]) -> None:
        """Let answers choose their next tokens, and start the masks after them."""
        choosing: list[Answer] = []
        masks: list[tuple[int, Mask | None]] = []
        for answer in ready:
            assert answer.job is not None
            if answer.is_cancelled:  # its masks are closed, so that the next may be none; the next step drops it
                continue
            job, answer.job, answer.has_scores = answer.job, None, False
            try:
                mask = job.result()
                assert mask is not None or answer.masks is None
            except ApiError as error:
                self._fail([answer], error)
            except Exception as error:
                log.exception("no mask could be made")
                self._fail([answer], ours(error))
            else:
                choosing.append(answer)
                masks.append((answer.key, mask))
        if not choosing:
            return
        ended = []
        for answer, chosen in zip(choosing, self.decoder.choose(masks), strict=True):
            if isinstance(chosen, Exception):
                log.error("no token could be chosen", exc_info=chosen)
                self._fail([answer], ours(chosen))
            elif not self._goes_on(answer, chosen):
                ended.append(answer)
            elif self._start_mask(answer, chosen.token):
                self._reading.append(answer)
        self._drop(ended)

    def _start_mask(self, answer: Answer, token: int | None) -> bool:
        """Start to make the mask after a token. Return whether that is possible; if not, the answer ends."""
        if answer.masks is None:
            answer.job = NO_JOB
            return True
        try:
            answer.job = answer.masks.after(token, answer.left if answer.fits else None)
        except Exception as error:
            log.exception("no mask can be asked for")
            self._fail([answer], ours(error))
            return False
        return True

    def _goes_on(self, answer: Answer, chosen: Chosen) -> bool:
        """Write what an answer has chosen. Return whether the answer goes on."""
        answer.n_tokens += 1
        answer.left -= 1
        self.metrics.add("earleymask_generated_tokens_total")
        finish: Finish | None = None
        if chosen.token in (answer.ends if answer.masks is None else answer.masks.eos_token_ids):
            finish = "stop"
        else:
            answer.text.add(chosen)
            finish = "stop" if answer.text.is_stopped else "length" if answer.left == 0 else None
        if finish is not None:
            answer.text.finish()
        text, entries = answer.text.take()
        if text or finish is not None:
            self._pieces.append((answer, Piece(text, tuple(entries), finish)))
        return finish is None

    def _deliver(self) -> None:
        """Deliver the pieces of this step, in one call: another thread has to be woken for it."""
        pieces, self._pieces = [each for each in self._pieces if not each[0].is_cancelled], []
        if pieces:
            self.call(_deliver_all, pieces)

    def _fail(self, answers: list[Answer], error: ApiError) -> None:
        """End answers with an error."""
        self._pieces += [(answer, Piece(error=error)) for answer in answers if not answer.is_cancelled]
        self._drop(answers)

    def _drop(self, answers: list[Answer]) -> None:
        """Forget answers."""
        if not answers:
            return
        gone = set(map(id, answers))
        self._live = [answer for answer in self._live if id(answer) not in gone]
        self.decoder.drop([answer.key for answer in answers])


def _deliver_all(pieces: list[tuple[Answer, Piece]]) -> None:
    for answer, piece in pieces:
        answer.deliver(piece)
