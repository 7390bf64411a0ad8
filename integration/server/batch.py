"""The key-value cache of the rows that are generated together, while rows come and go.

Rows have different lengths. Their tokens stand at the right of the cache, so each row is one run of columns; what
stands at its left is masked, and position ids count the tokens of the row. So its scores do not depend on the others,
but for the rounding of sums. A prompt is read alone, with a cache of its own, which then joins the batch: the shorter
of the two caches gets empty columns at the left. A row that leaves takes its part of the cache with it, or drops it.

The batching of transformers (`generate_batch`) has no place for a grammar of each request but private ones
(`supports_continuous_batching` of `GrammarLogitsProcessor`), so it is not used.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

from ..generation import cache_name

Layers = list[tuple[torch.Tensor, torch.Tensor]]
"""Keys and values of each layer: shape `(rows, heads, columns, width)`."""

ATTENTION = {"full_attention", "sliding_attention"}
"""The kinds of layers that can be served. Recurrent ones have no columns that a mask could hide."""


class Rows:
    """Some rows, and what the model has read of them: its keys and values, and how many tokens each row has."""

    def __init__(self, layers: Layers, lengths: list[int]) -> None:
        self.layers = layers
        self.lengths = lengths

    @property
    def n_columns(self) -> int:
        return self.layers[0][0].shape[2] if self.layers else 0

    def select(self, indexes: Sequence[int]) -> Rows:
        """Return these rows alone, without columns that are empty in all of them."""
        lengths = [self.lengths[index] for index in indexes]
        if not lengths:
            return Rows([], [])
        first = self.n_columns - max(lengths)
        at = torch.tensor(indexes, device=self.layers[0][0].device)
        return Rows([(keys[at, :, first:], values[at, :, first:]) for keys, values in self.layers], lengths)

    def join(self, others: Sequence[Rows]) -> Rows:
        """Return these rows and, after them, others."""
        all_rows = [rows for rows in (self, *others) if rows.lengths]
        if len(all_rows) == 1:
            return all_rows[0]
        width = max((rows.n_columns for rows in all_rows), default=0)
        layers = []
        for layer in zip(*[rows.layers for rows in all_rows], strict=True):
            keys, values = zip(*layer, strict=True)
            layers.append((_cat(keys, width), _cat(values, width)))
        return Rows(layers, [length for rows in all_rows for length in rows.lengths])


def _cat(some: Sequence[torch.Tensor], width: int) -> torch.Tensor:
    """Return all rows, with empty columns at the left of those that have fewer."""
    return torch.cat([torch.nn.functional.pad(each, (0, 0, width - each.shape[2], 0)) for each in some])


def _layer(keys: torch.Tensor, values: torch.Tensor) -> DynamicLayer:
    layer = DynamicLayer()
    layer.keys, layer.values = keys, values
    layer.dtype, layer.device = keys.dtype, keys.device
    layer.is_initialized = True
    return layer


class Model:
    """A causal model that reads rows.

    Raises ValueError for a model whose rows cannot be read together: one with recurrent layers, without `position_ids`,
    or with a cache of its own kind.
    """

    def __init__(self, model: Any) -> None:
        parameters = inspect.signature(model.forward).parameters
        if "position_ids" not in parameters:
            raise ValueError(f"{type(model).__name__} cannot be served: its forward takes no position_ids")
        others = set(getattr(model.config.get_text_config(), "layer_types", None) or []) - ATTENTION
        if others:
            raise ValueError(f"{type(model).__name__} cannot be served: it has layers of {', '.join(sorted(others))}")
        self.model = model
        self.device = model.device
        self._cache_name = cache_name(model)
        self._keeps_last = "logits_to_keep" in parameters
        try:
            with torch.inference_mode():
                _, rows = self.read([0])
                self.advance(rows, [0])
        except Exception as error:  # models raise nearly any type for a cache that is not theirs
            raise ValueError(f"{type(model).__name__} cannot be served: {error}") from error

    def read(self, prompt: Sequence[int]) -> tuple[torch.Tensor, Rows]:
        """Read a prompt. Return the scores after it, float32 of shape `(1, logits)` on the CPU, and its row."""
        return self._pass(Rows([], []), torch.tensor([list(prompt)]))

    def advance(self, rows: Rows, tokens: Sequence[int]) -> tuple[torch.Tensor, Rows]:
        """Read one more token of each row. Return the scores after it, one row each as in `read`, and the rows."""
        return self._pass(rows, torch.tensor(tokens)[:, None])

    def _pass(self, rows: Rows, ids: torch.Tensor) -> tuple[torch.Tensor, Rows]:
        n_new = ids.shape[1]
        lengths = torch.tensor(rows.lengths or [0])
        columns = torch.arange(rows.n_columns + n_new)
        mask = columns >= (rows.n_columns - lengths)[:, None]
        positions = lengths[:, None] + torch.arange(n_new)
        # Layers of the plain kind keep all columns, also those of a sliding window: its mask counts columns, and the
        # tokens of a row have no gaps.
        cache = DynamicCache()
        cache.layers += [_layer(*each) for each in rows.layers]
        output = self.model(
            input_ids=ids.to(self.device),
            attention_mask=mask.long().to(self.device),
            position_ids=positions.to(self.device),
            use_cache=True,
            **{self._cache_name: cache},
            **({"logits_to_keep": 1} if self._keeps_last else {}),
        )
        layers = [(layer.keys, layer.values) for layer in cache.layers]
        # The scores are chosen from in the memory of the CPU. One copy brings those of all rows there, and waits until
        # the device has made them, so that what the caller measures is the pass.
        return output.logits[:, -1].cpu().float(), Rows(layers, (lengths + n_new).tolist())
