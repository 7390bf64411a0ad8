"""Masks are applied to logits: -inf for each token that is not allowed.

`earley/_apply.pyx` does it in the memory of the CPU, `integration/triton_apply.py` on a GPU. What they cannot do (other
devices, logits that need a gradient, numbers in another byte order) is left to operations of numpy and torch.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .bitmask import TOKENS_PER_WORD, as_words, checked, is_torch
from .earley._apply import apply_rows

if TYPE_CHECKING:
    import numpy.typing as npt
    import torch

MINUS_INFINITIES = {np.dtype(np.float16): 0xFC00, np.dtype(np.float32): 0xFF80_0000, np.dtype(np.float64): 0xFFF0 << 48}
"""The bits of -inf: a sign, and an exponent whose bits are all set."""


def apply_bitmask(
    logits: npt.NDArray[np.floating[Any]] | torch.Tensor,
    bitmask: npt.NDArray[np.int32] | torch.Tensor,
    *,
    indices: Sequence[int] | None = None,
) -> None:
    """Set the logits of all tokens that are not allowed to -inf, in place. It does the same as this slow code:

        for row in range(len(logits)):
            for t in range(logits.shape[1] if (bitmask[row] != -1).any() else 0):
                word = bitmask[row, t // 32] if t // 32 < bitmask.shape[1] else 0
                if not (word >> (t % 32)) & 1:
                    logits[row, t] = -inf

    Args:
        logits: shape `(rows, width)` or `(width,)`; numpy float16, float32 or float64, or torch of these or bfloat16 on
            any device, of any strides. They may be wider than the vocabulary (the rest becomes -inf) or narrower (the
            rest of the mask is ignored). If all bits of a row of the bitmask are set, those beyond the vocabulary, too,
            its logits stay as they are. Rows of `allocate_bitmask` are such rows, and those that `fill_bitmasks` gives
            to None; a mask is one only if the grammar allows all tokens, EOS and special ones, too, and there are a
            multiple of 32.
        bitmask: int32, shape `(rows, n_words)` or `(n_words,)`, numpy or torch. It is copied to the device of the
            logits if it is on another one.
        indices: the rows to which masks are applied, different ones: row i of the bitmask to row i of the logits. The
            other rows stay as they are. None: all rows.

    If a row of the bitmask is all zero, no logit of that row stays finite. On a GPU, one kernel does it if triton is
    installed, otherwise some operations of torch; this returns without waiting for either.

    Raises:
        TypeError, ValueError: dtypes or shapes do not fit, or an index is no row. Nothing has been written then.
    """
    if isinstance(logits, np.ndarray):
        if logits.dtype not in MINUS_INFINITIES and not np.issubdtype(logits.dtype, np.floating):
            raise TypeError(f"logits must be floating point, got {logits.dtype}")
        words = as_words(bitmask)
        _apply_in_memory(logits, words, _places(logits.shape, words.shape, indices), MINUS_INFINITIES.get(logits.dtype))
    elif is_torch(logits):
        _apply_torch(logits, bitmask, indices)
    else:
        raise TypeError(f"logits must be a numpy array or a torch tensor, got {type(logits).__name__}")


def _places(logits: Sequence[int], bitmask: Sequence[int], indices: Sequence[int] | None) -> list[int] | None:
    """Return the rows to which masks are applied; None for all. Raise ValueError if the shapes do not fit."""
    if indices is None:
        if len(logits) not in (1, 2) or logits[:-1] != bitmask[:-1]:
            raise ValueError(
                f"logits of shape {tuple(logits)} do not fit a bitmask of shape {tuple(bitmask)}: the rows differ"
            )
        return None
    if len(logits) != 2 or len(bitmask) != 2:
        raise ValueError(
            f"logits of shape {tuple(logits)} and a bitmask of shape {tuple(bitmask)}: with indices, both must have "
            "two dimensions"
        )
    return checked(indices, len(indices), min(logits[0], bitmask[0]))


# --- in memory -------------------------------------------------------------------------------------------------------


def _apply_in_memory(
    logits: npt.NDArray[Any], words: npt.NDArray[np.int32], places: list[int] | None, minus_infinity: int | None
) -> None:
    """Apply masks to logits of numpy, or to a view of those of torch as integers of their size.

    minus_infinity: the bits of -inf in the type of the logits; None if these are no native floats of 2, 4 or 8 bytes.
    """
    if not logits.flags.writeable:
        raise ValueError("logits are read-only; give an array that can be written")
    if minus_infinity is None or not logits.flags.aligned:
        _apply_by_numpy(logits, words, places)
        return
    if not words.flags.aligned or words.strides[-1] != words.itemsize:
        words = np.array(words)
    apply_rows(logits, words, places, minus_infinity)


def _apply_by_numpy(logits: npt.NDArray[Any], words: npt.NDArray[np.int32], places: list[int] | None) -> None:
    """Apply masks to logits of any type, in any layout."""
    if logits.ndim == 1:
        logits, words = logits[None], words[None]
    for place in range(len(logits)) if places is None else places:
        row, mask = logits[place], words[place]
        width = min(row.shape[0], mask.shape[0] * TOKENS_PER_WORD)
        octets = np.ascontiguousarray(~mask).astype("<i4", copy=False).view(np.uint8)
        refused = np.unpackbits(octets, count=width, bitorder="little").view(np.bool_)
        np.copyto(row[:width], -np.inf, where=refused)
        if (mask != -1).any():
            row[width:] = -np.inf


# --- torch -----------------------------------------------------------------------------------------------------------


@cache
def _types_of_torch() -> dict[torch.dtype, tuple[int, torch.dtype]]:
    """Return the bits of -inf by type, and the integers of the same size."""
    import torch

    return {
        torch.float16: (0xFC00, torch.int16),
        torch.bfloat16: (0xFF80, torch.int16),
        torch.float32: (0xFF80_0000, torch.int32),
        torch.float64: (0xFFF0 << 48, torch.int64),
    }


def _apply_torch(
    logits: torch.Tensor, bitmask: npt.NDArray[np.int32] | torch.Tensor, indices: Sequence[int] | None
) -> None:
    import torch

    known = _types_of_torch().get(logits.dtype)
    if known is None:
        raise TypeError(f"logits must be float16, bfloat16, float32 or float64, got {logits.dtype}")
    if not isinstance(bitmask, np.ndarray) and not is_torch(bitmask):
        raise TypeError(f"a bitmask must be a numpy array or a torch tensor, got {type(bitmask).__name__}")
    if bitmask.dtype not in (np.int32, torch.int32):
        raise TypeError(f"a bitmask must be int32, got {bitmask.dtype}")
    places = _places(logits.shape, bitmask.shape, indices)
    # Only torch knows what else a write must change if there are gradients, or in a class of tensors of one's own. And
    # some views negate what they read and write.
    is_plain = type(logits) is torch.Tensor and not logits.requires_grad and not logits.is_neg()
    if is_plain and logits.device.type == "cpu":
        words = bitmask if isinstance(bitmask, np.ndarray) else bitmask.cpu().numpy()
        minus_infinity, integer = known
        _apply_in_memory(logits.view(integer).numpy(), words, places, minus_infinity)
        torch.autograd.graph.increment_version(logits)
        return
    _apply_on_device(
        logits, torch.from_numpy(bitmask) if isinstance(bitmask, np.ndarray) else bitmask, places, is_plain
    )


def _apply_on_device(logits: torch.Tensor, words: torch.Tensor, places: list[int] | None, is_plain: bool) -> None:
    """Apply masks on the device of the logits, which need not wait for what it is computing."""
    import torch

    logit_rows = word_rows = None
    if places is not None:
        logit_rows = word_rows = _on_device(torch.tensor(places, dtype=torch.int64), logits.device)
    if words.device != logits.device:
        if places is not None:  # only these are copied
            words, word_rows = words[places], None
        words = _on_device(words, logits.device)
    kernel = _kernel() if is_plain and _has_kernel(logits) else None
    if kernel is not None:
        kernel(logits, words, logit_rows, word_rows)
        torch.autograd.graph.increment_version(logits)
    else:
        _apply_by_torch(logits, words, logit_rows, word_rows)


def _on_device(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Copy a tensor to a device, on a GPU in its stream.

    What is not pinned has been read when this returns. What is pinned would be read later, and the caller may fill it
    with the masks of the next step before that.
    """
    if device.type != "cuda":
        return tensor.to(device)
    return (tensor.clone() if tensor.is_pinned() else tensor).to(device, non_blocking=True)


def _has_kernel(logits: torch.Tensor) -> bool:
    return bool(logits.device.type == "cuda")


@cache
def _kernel() -> Callable[[torch.Tensor, torch.Tensor, torch.Tensor | None, torch.Tensor | None], None] | None:
    """Return the function that runs the kernel; None if triton is missing."""
    try:
        from .integration.triton_apply import apply_rows as apply_on_gpu
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "triton":
            raise
        warnings.warn(
            "triton is not installed, so masks are applied on the GPU by several operations of torch, which is slower: "
            "pip install triton",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    return apply_on_gpu


def _apply_by_torch(
    logits: torch.Tensor, words: torch.Tensor, logit_rows: torch.Tensor | None, word_rows: torch.Tensor | None
) -> None:
    """Do what `triton_apply.apply_rows` does, by operations of torch, on any device and with gradients."""
    import torch

    some = logits if logit_rows is None else logits.index_select(0, logit_rows)
    if word_rows is not None:
        words = words.index_select(0, word_rows)
    width = min(some.shape[-1], words.shape[-1] * TOKENS_PER_WORD)
    some[..., :width].masked_fill_(_unpack(~words, width), -torch.inf)
    if width < some.shape[-1]:
        some[..., width:].masked_fill_((words != -1).any(dim=-1, keepdim=True), -torch.inf)
    if logit_rows is not None:
        logits.index_copy_(0, logit_rows, some)


def _unpack(words: torch.Tensor, width: int) -> torch.Tensor:
    """Return the first `width` bits of each row as bools, on the device of the tensor."""
    import torch

    # Working on bytes needs one byte per token in between; shifting int32 words would need four.
    octets = words.contiguous().view(torch.uint8).unsqueeze(-1)
    shifts = torch.arange(8, dtype=torch.uint8, device=words.device)
    return ((octets >> shifts) & 1).bool().flatten(-2)[..., :width]
