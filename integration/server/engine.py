"""The one thread that has the model: it gives slots to answers, and advances all of them by a token at a time.

Each answer is a row. Between two passes a row needs its mask, which a thread of its own makes while the others do
theirs; these threads do not hold the interpreter's lock meanwhile. A row whose mask is not there `GRACE` seconds after
the pass leaves the batch with its part of the cache and joins it again later, so that a costly grammar delays no other
answer. A prompt is read alone, when a slot is free.

An error ends the answers that it concerns: that of a grammar or a prompt one, that of a pass all rows of the batch.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from ...applying import apply_bitmask
from ...bitmask import allocate_bitmask
from ...earley import Matcher
from ...errors import EarleymaskError, LimitError
from ...trie import Vocabulary
from .batch import Model, Rows
from .errors import ApiError, of_grammar, ours
from .metrics import Metrics
from .sampling import Sampler
from .text import Text

GRACE = 0.002
"""Seconds for which a pass waits for masks that are not made yet. Most masks take some microseconds."""
LOOK = 0.005
"""Seconds after which the engine looks again whether there is something to do, while it waits for masks alone."""

MASK_SECONDS, MASK_SECONDS_OF_TOKEN = 2.0, 0.002
"""Processor time that the masks of an answer may take in all: so much, and so much more for each of its tokens. Most
answers need some milliseconds. `Limits.seconds` bounds a single mask, but an answer has thousands."""

Finish = Literal["stop", "length"]
log = logging.getLogger("earleymask.server")


class Piece(NamedTuple):
    """What an answer has written since the piece before.

    Attributes:
        text: text that will not change.
        entries: log probabilities of the tokens that begin in it, if the request wants them.
        finish: in the last piece, why the answer ends: "stop" if it is complete or met a stop string, "length" if it
            has as many tokens as it may have.
        error: in the last piece, what has ended the answer instead.
    """

    text: str = ""
    entries: tuple[dict[str, Any], ...] = ()
    finish: Finish | None = None
    error: ApiError | None = None


@dataclass(eq=False)
class Answer:
    """One answer to a prompt, as the engine has it.

    Attributes:
        prompt: the ids of the prompt, at least one.
        matcher: the position in its grammar; None for free text.
        ends: the ids that end free text.
        sampler: how it chooses tokens.
        text: what it has written.
        left: how many tokens it may still have, EOS included.
        fits: whether its grammar is followed so that it ends within these.
        deliver: takes its pieces, in the engine's thread.
        n_tokens: how many tokens it has.
        mask_seconds: processor time that its masks have taken.
        is_cancelled: whether nobody waits for it any more.
    """

    prompt: list[int]
    matcher: Matcher | None
    ends: frozenset[int]
    sampler: Sampler
    text: Text
    left: int
    fits: bool
    deliver: Callable[[Piece], None]
    n_tokens: int = 0
    is_cancelled: bool = False
    mask_seconds: float = 0.0
    # While it has a slot. Either it is a row of the batch and `token` is to be read next, or it has `scores` and waits
    # for its mask, which `job` makes; `rows` is its part of the cache when it is outside of the batch.
    token: int = -1
    scores: torch.Tensor | None = None
    rows: Rows | None = None
    job: Future[None] | None = None
    mask: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))

    def make_mask(self, token: int | None) -> None:
        """Accept the token that was chosen, and make the mask after it."""
        if self.matcher is None:
            return
        began = time.thread_time()
        if token is not None and not self.matcher.accept(token):
            raise AssertionError("this is a bug in earleymask: a token of its own mask is not accepted")
        if self.is_cancelled:
            return
        self.matcher.fill_bitmask(self.mask, remaining=self.left if self.fits else None)
        self.mask_seconds += time.thread_time() - began
        if self.mask_seconds > MASK_SECONDS + MASK_SECONDS_OF_TOKEN * self.n_tokens:
            raise LimitError(
                f"the masks of {self.n_tokens} tokens took {self.mask_seconds:.1f} s; simplify the grammar"
            )
        if not self.mask.any():
            raise EarleymaskError("the model's vocabulary has no token for what the grammar demands here")


class Engine:
    """Answers requests with a model, a batch at a time.

    Args:
        model: a causal model of `transformers`.
        vocabulary: its vocabulary.
        slots: how many answers are generated at the same time.
        metrics: counts what happens.
    """

    def __init__(self, model: Any, vocabulary: Vocabulary, slots: int, metrics: Metrics) -> None:
        self.model = Model(model)
        self.vocabulary = vocabulary
        self.slots = slots
        self.metrics = metrics
        self._waiting: deque[Answer] = deque()
        self._live: list[Answer] = []
        self._batch: list[Answer] = []  # the answers of `_rows`, in their order
        self._rows = Rows([], [])
        self._changed = threading.Condition()
        self._is_stopped = False
        self._makers = ThreadPoolExecutor(2 * slots, "earleymask-mask")  # some may still end cancelled calls
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
        self._makers.shutdown(cancel_futures=True)

    def submit(self, answers: Sequence[Answer]) -> None:
        """Put answers into the queue. Pieces come until one has `finish` or `error`, unless the answer is cancelled."""
        with self._changed:
            if self._is_stopped:
                raise ApiError(503, "the server is stopping", code="stopping")
            self._waiting.extend(answers)
            self._changed.notify()

    def cancel(self, answer: Answer) -> None:
        """Free the slot of an answer for which nobody waits any more."""
        answer.is_cancelled = True
        if answer.matcher is not None:
            answer.matcher.cancel()
        with self._changed:
            with suppress(ValueError):
                self._waiting.remove(answer)
            self._changed.notify()

    def counts(self) -> tuple[int, int]:
        """Return how many answers have a slot, and how many wait for one."""
        return len(self._live), len(self._waiting)

    # The thread

    def _run(self) -> None:
        with torch.inference_mode():
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
        self._fail([*self._live, *self._waiting], ApiError(503, "the server is stopping", code="stopping"))

    def _step(self) -> None:
        self._drop([answer for answer in self._live if answer.is_cancelled])
        self._admit()
        self._read()
        began = time.perf_counter()
        ready = self._wait()
        goes_on = [answer for answer in ready if self._choose(answer)]
        self._rebatch(goes_on)
        if ready:
            self.metrics.observe("earleymask_step_overhead_seconds", time.perf_counter() - began)

    def _admit(self) -> None:
        """Give free slots to answers that wait, and read their prompts: one at a time if others are being generated."""
        n_others = len(self._live)
        while len(self._live) < min(self.slots, n_others + 1 if n_others else self.slots):
            with self._changed:
                if not self._waiting:
                    return
                answer = self._waiting.popleft()
            self._live.append(answer)
            answer.mask = allocate_bitmask(1, self.vocabulary)[0]
            answer.job = self._makers.submit(answer.make_mask, None)
            began = time.perf_counter()
            try:
                answer.scores, answer.rows = self.model.read(answer.prompt)
            except Exception as error:
                log.exception("the model failed on a prompt of %d tokens", len(answer.prompt))
                self._fail([answer], ours(error))
            self.metrics.observe("earleymask_prefill_seconds", time.perf_counter() - began)

    def _read(self) -> None:
        """Let the model read the last token of each row of the batch."""
        if not self._batch:
            return
        began = time.perf_counter()
        try:
            scores, self._rows = self.model.advance(self._rows, [answer.token for answer in self._batch])
        except Exception as error:
            log.exception("the model failed on a batch of %d rows", len(self._batch))
            self._fail(list(self._batch), ours(error))
            return
        for index, answer in enumerate(self._batch):
            answer.scores = scores[index : index + 1]
        self.metrics.observe("earleymask_pass_seconds", time.perf_counter() - began)

    def _wait(self) -> list[Answer]:
        """Return the answers whose scores and masks are there. Those outside of the batch let no other one wait."""
        wait([answer.job for answer in self._batch if answer.job is not None], timeout=GRACE)
        ready = [answer for answer in self._live if answer.job is not None and answer.job.done()]
        if not ready:
            jobs = [answer.job for answer in self._live if answer.job is not None]
            wait(jobs, timeout=LOOK, return_when=FIRST_COMPLETED)
        return ready

    def _choose(self, answer: Answer) -> bool:
        """Choose the next token of an answer, and start the mask after it. Return whether the answer goes on."""
        assert answer.job is not None and answer.scores is not None
        job, scores = answer.job, answer.scores
        answer.job = answer.scores = None
        try:
            job.result()
            answer.sampler.adjust(scores[0])
            if answer.matcher is not None:
                apply_bitmask(scores, answer.mask[None])
            chosen = answer.sampler.choose(scores[0])
        except EarleymaskError as error:
            self._fail([answer], of_grammar(error, None))
            return False
        except Exception as error:
            if not answer.is_cancelled:
                log.exception("no token could be chosen")
            self._fail([answer], ours(error))
            return False
        answer.n_tokens += 1
        answer.left -= 1
        self.metrics.add("earleymask_generated_tokens_total")
        finish: Finish | None = None
        if chosen.token in (answer.ends if answer.matcher is None else answer.matcher.eos_token_ids):
            finish = "stop"
        else:
            answer.text.add(chosen)
            finish = "stop" if answer.text.is_stopped else "length" if answer.left == 0 else None
        if finish is not None:
            answer.text.finish()
        text, entries = answer.text.take()
        if text or finish is not None:
            answer.deliver(Piece(text, tuple(entries), finish))
        if finish is not None:
            return False
        answer.token = chosen.token
        answer.job = self._makers.submit(answer.make_mask, chosen.token)
        return True

    def _rebatch(self, goes_on: list[Answer]) -> None:
        """Let the rows leave that wait for their masks or have ended, and let those join that have a token to read."""
        chosen = set(map(id, goes_on))
        stays = [index for index, answer in enumerate(self._batch) if id(answer) in chosen]
        for index, answer in enumerate(self._batch):
            if answer.scores is not None:  # its mask is late
                answer.rows = self._rows.select([index])
        joining = [answer for answer in goes_on if answer.rows is not None]
        if len(stays) < len(self._batch) or joining:
            kept = self._rows if len(stays) == len(self._batch) else self._rows.select(stays)
            self._rows = kept.join([answer.rows for answer in joining if answer.rows is not None])
            self._batch = [self._batch[index] for index in stays] + joining
            for answer in joining:
                answer.rows = None
        left = set(map(id, self._batch))
        self._live = [answer for answer in self._live if id(answer) in left or answer.scores is not None]

    def _fail(self, answers: list[Answer], error: ApiError) -> None:
        """End answers with an error."""
        for answer in answers:
            if not answer.is_cancelled:
                answer.deliver(Piece(error=error))
        self._drop(answers)

    def _drop(self, answers: list[Answer]) -> None:
        """Forget answers."""
        gone = set(map(id, answers))
        if gone:
            self._live = [answer for answer in self._live if id(answer) not in gone]
            stays = [index for index, answer in enumerate(self._batch) if id(answer) not in gone]
            if len(stays) < len(self._batch):
                self._rows = self._rows.select(stays)
                self._batch = [self._batch[index] for index in stays]
