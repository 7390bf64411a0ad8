"""The model's side of the server: rows that read tokens and choose the next ones.

A row reads its prompt, and from then on it chooses a token and reads it, again and again. Rows that read together are
the batch. A row that may not choose yet, because its mask is late, leaves the batch with its part of the cache when the
others read, and joins it again with the token that it has chosen.

The engine calls it from one thread.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ...applying import apply_bitmask
from .batch import Model, Rows
from .preparing import Mask
from .sampling import Chosen, Sampler, Sampling


@dataclass(eq=False)
class Row:
    """A row: how it chooses, the token that it has chosen, and the scores from which it will choose.

    `cache` is its part of the cache while it is outside of the batch.
    """

    sampler: Sampler
    scores: torch.Tensor | None
    cache: Rows | None
    token: int = -1


class Decoder:
    """The rows of a causal model of `transformers`. Raises ValueError if `Model` cannot serve it.

    Each row has a key, which the engine gives. `read` and `advance` return the seconds that they took. An error of the
    model is raised; then the rows that were to read are of no use, and must be dropped.
    """

    def __init__(self, model: Any) -> None:
        self.model = Model(model)
        self._rows: dict[int, Row] = {}
        self._batch: list[Row] = []  # the rows of `_cache`, in their order
        self._cache = Rows([], [])

    def read(self, key: int, prompt: Sequence[int], sampling: Sampling, index: int) -> float:
        """Make a row, and let it read its prompt. `index` says which of the answers to its request it is."""
        began = time.perf_counter()
        with torch.inference_mode():
            scores, cache = self.model.read(prompt)
        self._rows[key] = Row(Sampler(sampling, index), scores, cache)
        return time.perf_counter() - began

    def choose(self, masks: Sequence[tuple[int, Mask | None]]) -> list[Chosen | Exception]:
        """Let rows choose their next tokens, each among those of its mask, or all. Return what each has chosen, or why
        it cannot."""
        with torch.inference_mode():
            return [_chosen(self._rows[key], mask) for key, mask in masks]

    def advance(self, keys: Sequence[int]) -> float:
        """Let rows that have chosen read their tokens together."""
        began = time.perf_counter()
        with torch.inference_mode():
            self._rebatch([self._rows[key] for key in keys])
            scores, self._cache = self.model.advance(self._cache, [row.token for row in self._batch])
        for index, row in enumerate(self._batch):
            row.scores = scores[index : index + 1]
        return time.perf_counter() - began

    def drop(self, keys: Sequence[int]) -> None:
        """Forget rows. Those that are not known are ignored."""
        for key in keys:
            self._rows.pop(key, None)
        if not self._rows:  # otherwise the next pass drops their part of the cache
            self._batch, self._cache = [], Rows([], [])

    def _rebatch(self, reading: list[Row]) -> None:
        """Let rows leave the batch that do not read now, and let those join that do."""
        reads, known = set(map(id, reading)), set(map(id, self._rows.values()))
        stays = [index for index, row in enumerate(self._batch) if id(row) in reads]
        for index, row in enumerate(self._batch):
            if id(row) in known and id(row) not in reads:  # its mask is late
                row.cache = self._cache.select([index])
        joining = [row for row in reading if row.cache is not None]
        kept = self._cache if len(stays) == len(self._batch) else self._cache.select(stays)
        self._cache = kept.join([row.cache for row in joining if row.cache is not None]) if joining else kept
        self._batch = [self._batch[index] for index in stays] + joining
        for row in joining:
            row.cache = None


def _chosen(row: Row, mask: Mask | None) -> Chosen | Exception:
    scores, row.scores = row.scores, None
    assert scores is not None
    try:
        row.sampler.adjust(scores[0])
        if mask is not None:
            apply_bitmask(scores, mask[None])
        chosen = row.sampler.choose(scores[0])
    except Exception as error:  # the model gives scores that are no numbers, or the device fails
        return error
    row.token = chosen.token
    return chosen
