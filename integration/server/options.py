"""How a model is served."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...earley import Limits
from .constraints import LIMITS
from .thinking import Marks

Kind = Literal["quick", "medium", "slow", "long"]
"""What a process for bodies, grammars and masks does, see `grammar_process`."""


@dataclass(frozen=True)
class Options:
    """How a model is served.

    Attributes:
        name: what clients call the model.
        style: the style of tool calls; None: that of the chat template, guessed.
        reasoning: marks of the reasoning that comes before answers; None: it is not told from the answer.
        api_key: what clients must send; None: nothing.
        slots: answers that are generated at the same time.
        queue: answers that may wait, beside those that have slots.
        max_length: the most tokens of a prompt and its answer; None: as many as the model can read.
        body_bytes: the most bytes of a body.
        request_seconds: the longest time that a request may take.
        limits: bounds on the grammar of a request.
        is_apart: whether bodies are read, grammars loaded and masks made in processes of their own.
        quick_seconds: in the first of these processes, the processor time that a grammar may take until it has made its
            first mask, and that any other mask may take; all masks of an answer together may take five times as much,
            and two milliseconds more for each token. What takes longer goes to the second. It has no effect unless
            `is_apart`.
        medium_seconds: the same in the second process. What takes longer there goes to the third.

    Raises ValueError unless `quick_seconds` is positive, and `medium_seconds` at least as much.
    """

    name: str = "model"
    style: str | None = None
    reasoning: Marks | None = None
    api_key: str | None = None
    slots: int = 8
    queue: int = 64
    max_length: int | None = None
    body_bytes: int = 1 << 20
    request_seconds: float = 600.0
    limits: Limits = LIMITS
    is_apart: bool = False
    quick_seconds: float = 0.01
    medium_seconds: float = 0.1

    def __post_init__(self) -> None:
        if not self.quick_seconds > 0:
            raise ValueError(f"quick_seconds must be more than 0, got {self.quick_seconds}")
        if not self.medium_seconds >= self.quick_seconds:
            raise ValueError(
                f"medium_seconds={self.medium_seconds} must be at least quick_seconds={self.quick_seconds}"
            )

    @property
    def most_answers(self) -> int:
        """How many answers are generated or wait at the same time."""
        return self.slots + self.queue

    def seconds(self, kind: Kind) -> float | None:
        """Return the processor time after which a process gives up a grammar or a mask; None: it gives up nothing."""
        return {"quick": self.quick_seconds, "medium": self.medium_seconds}.get(kind)
