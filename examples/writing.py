"""Write an answer with a model, under a grammar or without one, and take the time of each part.

This is the loop that a user would write around `earleymask.Matcher`, for one prompt at a time. Those who need no times
call `earleymask.integration.transformers.generate`, or give `GrammarLogitsProcessor` to the model's own `generate`: the
tests compare the three.
"""

from __future__ import annotations

import inspect
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import torch
from transformers import LlamaForCausalLM

import earleymask

from .small_model import SmallModel


@dataclass(frozen=True)
class Way:
    """A way to write."""

    name: str
    masks: bool = True
    """Allow only the tokens of the grammar's mask."""
    budget: bool = False
    """Let the masks end each answer within `max_tokens`."""
    forced: bool = False
    """Append forced text without asking the model."""


FREE = Way("no grammar", masks=False)
MASKED = Way("masks")
BUDGETED = Way("masks, budget", budget=True)
FORCED = Way("masks, forced text", forced=True)
WAYS = (FREE, MASKED, BUDGETED, FORCED)

CACHE = "cache" if "cache" in inspect.signature(LlamaForCausalLM.forward).parameters else "past_key_values"
"""What transformers calls the key-value cache, among the arguments of a model and in its output: that has changed."""

PARTS = ("prompt", "model", "mask", "choice")
"""Where the time goes: the model reads the prompt; the model reads tokens of the answer; the grammar finds the mask and
what is forced; the mask is applied and a token is chosen."""


@dataclass
class Answer:
    """What a model has written after a prompt."""

    tokens: list[int] = field(default_factory=list)
    """Its ids, the end of the answer included."""
    text: bytes = b""
    is_finished: bool = False
    """Whether the model has ended it; otherwise it was cut after `max_tokens`."""
    n_forced: int = 0
    """How many of the ids were appended without asking the model."""
    n_passes: int = 0
    """Passes of the model, the one over the prompt included."""
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    """The time of each of `PARTS`."""

    @contextmanager
    def timing(self, part: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[part] += time.perf_counter() - start


def write(
    small: SmallModel,
    prompt: Sequence[int],
    grammar: earleymask.Grammar,
    way: Way,
    *,
    max_tokens: int,
    temperature: float,
    seed: int,
) -> Answer:
    """Write the answer to a prompt.

    Args:
        prompt: its ids.
        grammar: what the answer must be, if the way has masks.
        max_tokens: how many ids the answer may have, its end included.
        temperature: 0 takes the most probable token, any other samples.
        seed: for sampling.
    """
    vocabulary = small.vocabulary
    matcher = earleymask.Matcher(grammar, vocabulary) if way.masks else None
    mask = earleymask.allocate_bitmask(1, vocabulary)
    generator = torch.Generator().manual_seed(seed)
    answer = Answer()
    unread = list(prompt)  # what the model has not read yet
    cache = None

    def append(tokens: Sequence[int]) -> int:
        """Append tokens, as many as there is room for. Return their number."""
        tokens = tokens[: max_tokens - len(answer.tokens)]
        assert matcher is None or matcher.accept_tokens(tokens) == len(tokens)
        answer.tokens.extend(tokens)
        unread.extend(tokens)
        answer.is_finished = bool(answer.tokens) and answer.tokens[-1] in vocabulary.eos_token_ids
        return len(tokens)

    while len(answer.tokens) < max_tokens and not answer.is_finished:
        if matcher is not None:
            with answer.timing("mask"):
                if way.forced:
                    answer.n_forced += append(matcher.forced_tokens())
                    if len(answer.tokens) == max_tokens:
                        break
                matcher.fill_bitmask(mask[0], remaining=max_tokens - len(answer.tokens) if way.budget else None)
                only = _only_token(mask[0]) if way.forced else None
            if only is not None:
                answer.n_forced += append([only])
                continue
        with answer.timing("model" if answer.n_passes else "prompt"):
            with torch.inference_mode():
                output = small.model(input_ids=torch.tensor([unread]), use_cache=True, **{CACHE: cache})
            cache = getattr(output, CACHE)
            unread.clear()
            answer.n_passes += 1
        with answer.timing("choice"):
            scores = output.logits[:, -1].float()
            earleymask.apply_bitmask(scores, mask)  # which allows every token if there is no grammar
            append([_chosen(scores, temperature, generator)])
    answer.text = b"".join(vocabulary.token_bytes(token) for token in answer.tokens)
    return answer


def _only_token(mask: npt.NDArray[np.int32]) -> int | None:
    """Return the token of a mask that allows one alone: the model need not be asked for it."""
    (allowed,) = np.unpackbits(mask.view(np.uint8), bitorder="little").nonzero()
    return int(allowed[0]) if len(allowed) == 1 else None


def _chosen(scores: torch.Tensor, temperature: float, generator: torch.Generator) -> int:
    if temperature == 0:
        return int(scores.argmax())
    return int(torch.multinomial(torch.softmax(scores / temperature, dim=-1), 1, generator=generator))
