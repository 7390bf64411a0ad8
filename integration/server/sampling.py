"""How a row chooses its next token: each row of a batch in its own way, whatever the others do.

Log probabilities are those of the model among the tokens that the grammar allows, with biases and penalties, at
temperature 1. `temperature` and `top_p` change the choice alone. A seed gives a row its own stream of random numbers,
so that its choices do not depend on which rows are in the batch; only the rounding of the model's scores may.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:  # the process of the grammars knows what a request asks for, and needs no torch
    import torch

FIRST_TRIED = 256
"""Among so many of the most probable tokens `top_p` is looked for first. Models mostly find it among a few, and to sort
all tokens of a large vocabulary takes ten milliseconds."""


@dataclass(frozen=True)
class Sampling:
    """What a request asks for.

    Attributes:
        temperature: divides the scores; 0 takes the most probable token.
        top_p: the most probable tokens that have at least this probability together are chosen from.
        seed: of the random numbers; None for different ones each time.
        frequency_penalty, presence_penalty: taken from the score of a token for each time, or if, the answer has it.
        bias: added to the scores of tokens.
        n_alternatives: how many tokens are listed beside each that is chosen; None: no log probabilities.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    seed: int | None = None
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    bias: tuple[tuple[int, float], ...] = ()
    n_alternatives: int | None = None


class Chosen(NamedTuple):
    """A token, its log probability, and the most probable tokens with theirs. None: the request wants none."""

    token: int
    logprob: float | None
    alternatives: tuple[tuple[int, float], ...]


@dataclass
class Sampler:
    """The choices of one row."""

    sampling: Sampling
    index: int = 0
    counts: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        seed = self.sampling.seed
        # A text as seed: `Random` hashes all of it, so the choices of one request differ from each other.
        self._random = random.Random(None if seed is None else f"{seed}/{self.index}")

    def adjust(self, scores: torch.Tensor) -> None:
        """Add biases and penalties to the scores of this row, in place."""
        import torch

        sampling = self.sampling
        if sampling.bias:
            ids, values = zip(*sampling.bias, strict=True)
            scores[list(ids)] += torch.tensor(values)
        if self.counts and (sampling.frequency_penalty or sampling.presence_penalty):
            counts = torch.tensor(list(self.counts.values()), dtype=scores.dtype)
            scores[list(self.counts)] -= counts * sampling.frequency_penalty + sampling.presence_penalty

    def choose(self, scores: torch.Tensor) -> Chosen:
        """Choose among the finite scores of this row: float32, on the CPU, masked. Raises ValueError if there are none,
        or NaN."""
        # numpy, because each operation of torch gives the interpreter's lock away, and waits for it then.
        values = scores.numpy()
        best = int(values.argmax())
        if not np.isfinite(values[best]):
            raise ValueError("the model gave no finite score to any allowed token")
        token = best if self.sampling.temperature == 0 else self._sample(values, best)
        if self.sampling.frequency_penalty or self.sampling.presence_penalty:
            self.counts[token] = self.counts.get(token, 0) + 1
        n = self.sampling.n_alternatives
        if n is None:
            return Chosen(token, None, ())
        import torch

        logprobs = torch.log_softmax(scores, dim=-1)
        top = torch.topk(logprobs, min(n, len(logprobs)))
        pairs = zip(top.indices.tolist(), top.values.tolist(), strict=True)
        listed = tuple([pair for pair in pairs if pair[1] > -torch.inf])
        return Chosen(token, float(logprobs[token]), listed)

    def _sample(self, scores: npt.NDArray[np.float32], best: int) -> int:
        """Return a token at random; `best` is the most probable one."""
        ids = np.flatnonzero(np.isfinite(scores))  # where a grammar allows few tokens, the rest is fast
        # The highest score becomes 0 first, so that no power is too large.
        weights = np.exp((scores[ids].astype(np.float64) - float(scores[best])) / self.sampling.temperature)
        if self.sampling.top_p < 1:
            order = _nucleus(weights, self.sampling.top_p)
            weights, ids = weights[order], ids[order]
        sums = weights.cumsum()
        at = int(np.searchsorted(sums, self._random.random() * sums[-1], side="right"))
        if at == len(sums) or not weights[at]:  # by the rounding of sums
            return best
        return int(ids[at])


def _nucleus(weights: npt.NDArray[np.float64], top_p: float) -> npt.NDArray[np.intp]:
    """Return the places of the highest weights that have at least `top_p` of the sum together, the highest first.
    There is always one."""
    least = top_p * weights.sum()
    for n in (min(FIRST_TRIED, len(weights)), len(weights)):
        order = np.argpartition(-weights, n - 1)[:n]
        order = order[np.argsort(-weights[order], kind="stable")]
        before = weights[order].cumsum() - weights[order]
        n_kept = max(int((before < least).sum()), 1)
        if n_kept < n:
            break
    return order[:n_kept]
