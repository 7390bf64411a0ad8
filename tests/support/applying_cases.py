"""Logits, masks and rows of every kind that `apply_bitmask` takes, and the slow formula that says what it must write.

Logits are compared as integers of their size, so that NaN, -0.0 and what lies between rows count, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt
import torch

TORCH_FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
INTEGERS = {2: torch.int16, 4: torch.int32, 8: torch.int64}
DENSITIES = (0.0, 0.02, 0.5, 0.9, 0.99, 1.0)
"""Shares of tokens that a row allows: each way of writing words has some of these."""
LAYOUTS = ("plain", "rows apart", "columns apart", "transposed")


@dataclass
class Case:
    """Arguments of `apply_bitmask`, and all memory that the logits lie in."""

    name: str
    memory: torch.Tensor
    logits: torch.Tensor
    """A view of the memory, shape (rows, width)."""
    bitmask: torch.Tensor
    """int32, shape (rows, n_words)."""
    indices: list[int] | None

    def expected(self) -> npt.NDArray[np.signedinteger]:
        """Return the memory after the call, as integers, by the formula in the docstring of `apply_bitmask`."""
        memory = self.memory.clone()
        logits = memory.as_strided(self.logits.shape, self.logits.stride(), self.logits.storage_offset())
        for row in range(len(logits)) if self.indices is None else self.indices:
            mask = self.bitmask[row].numpy()
            for t in range(logits.shape[1] if (mask != -1).any() else 0):
                word = int(mask[t // 32]) if t // 32 < len(mask) else 0
                if not (word >> (t % 32)) & 1:
                    logits[row, t] = -torch.inf
        return as_integers(memory)

    def found(self) -> npt.NDArray[np.signedinteger]:
        return as_integers(self.memory)


def as_integers(tensor: torch.Tensor) -> npt.NDArray[np.signedinteger]:
    """Return the bits of a tensor of floats, copied."""
    bits: npt.NDArray[np.signedinteger] = tensor.view(INTEGERS[tensor.itemsize]).numpy().copy()
    return bits


def cases(dtype: torch.dtype, widths: list[tuple[int, int]], n_rows: int = 7) -> Iterator[Case]:
    """Yield cases of this type: each pair of a width of logits and a number of words, in each layout, with all rows and
    with some."""
    rng = np.random.default_rng(19)
    for (width, n_words), layout, some in product(widths, LAYOUTS, (False, True)):
        shape, strides, offset = _layout(layout, n_rows, width)
        octets = rng.integers(0, 256, size=(shape[0] * shape[1], dtype.itemsize), dtype=np.uint8)  # NaN, -0.0, anything
        memory = torch.from_numpy(octets.view(f"i{dtype.itemsize}").flatten()).view(dtype)
        yield Case(
            f"{dtype}, {width} logits, {n_words} words, {layout}, {'some' if some else 'all'} rows",
            memory,
            memory.as_strided((n_rows, width), strides, offset),
            torch.from_numpy(masks(rng, n_rows, n_words)),
            [5, 0, 6, 3] if some else None,
        )


def _layout(name: str, n_rows: int, width: int) -> tuple[tuple[int, int], tuple[int, int], int]:
    """Return the shape of a memory, and the strides and the offset of logits in it."""
    return {
        "plain": ((n_rows, width), (width, 1), 0),
        "rows apart": ((n_rows, width + 5), (width + 5, 1), 3),
        "columns apart": ((n_rows, 2 * width + 1), (2 * width + 1, 2), 1),
        "transposed": ((width, n_rows), (1, n_rows), 0),
    }[name]


def masks(rng: np.random.Generator, n_rows: int, n_words: int) -> npt.NDArray[np.int32]:
    """Make a mask of each density, and one whose last token alone is refused."""
    rows = [rng.random(32 * n_words) < density for density in DENSITIES]
    rows.append(np.arange(32 * n_words) != 32 * n_words - 1)
    packed = np.packbits(np.array(rows), axis=-1, bitorder="little").view("<i4").astype(np.int32)
    assert len(packed) == n_rows
    return packed
