"""Packed masks for batches: filling many rows at once, and applying them to logits.

A bitmask row is a vector of int32 words; bit `t & 31` of word `t >> 5` is 1 where token `t` is allowed. This is the
layout that xgrammar and llguidance use too, so serving code written for one of them can take ours.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from .earley import Matcher
from .errors import BatchError, VocabularyError
from .trie import Vocabulary

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    import numpy.typing as npt
    import torch

TOKENS_PER_WORD = 32


def fill_bitmasks(matchers: Sequence[Matcher], rows: npt.NDArray[np.int32] | torch.Tensor, *, threads: int = 1) -> None:
    """Fill row `i` of `rows` with the mask of `matchers[i]`.

    Args:
        matchers: one for each sequence. A matcher that is listed several times is walked once.
        rows: int32, shape `(len(matchers), n_words)` or taller (further rows are left alone), `n_words` at least
            `ceil(vocab.size / 32)`; numpy, or torch on the CPU. Words and bits beyond the vocabulary are cleared.
        threads: how many rows are filled at a time. The walk runs without the GIL; matchers of the same grammar take
            turns, so this helps batches of different grammars.

    Raises:
        VocabularyError: the matchers are not all of one vocabulary, so the rows could not serve one model.
        TypeError, ValueError: `matchers` are no matchers, or `rows` are of another dtype or shape, too narrow or
            read-only. Nothing has been written then.
        BatchError: some rows failed, and are all zero; the others are filled.
    """
    words = _as_words(rows)
    _check_vocabulary(matchers)
    if words.ndim != 2 or len(words) < len(matchers):
        raise ValueError(f"rows must have shape ({len(matchers)}, n_words), got {words.shape}")
    if len(matchers):
        _check_writable(words, matchers[0].vocabulary)
    if threads < 1:
        raise ValueError(f"threads must be at least 1, got {threads}")
    # Two threads must not share a matcher: rows of the same one are copied from the first that has it.
    first_row: dict[int, int] = {}
    for row, matcher in enumerate(matchers):
        first_row.setdefault(id(matcher), row)
    errors: dict[int, Exception] = {}
    pending = iter(list(first_row.values()))  # shared by the workers; `next` on a list's iterator is atomic
    n_helpers = min(threads, len(first_row)) - 1
    helpers = []
    if n_helpers > 0:
        pool = _pool(n_helpers)
        helpers = [pool.submit(_fill, matchers, words, pending, errors) for _ in range(n_helpers)]
    _fill(matchers, words, pending, errors)
    for helper in helpers:
        helper.result()
    for row, matcher in enumerate(matchers):
        source = first_row[id(matcher)]
        if source != row:
            words[row] = words[source]
            if source in errors:
                errors[row] = errors[source]
    if errors:
        failed = {row: errors[row] for row in sorted(errors)}
        raise BatchError(failed) from next(iter(failed.values()))


def apply_bitmask(
    logits: npt.NDArray[np.floating[Any]] | torch.Tensor, bitmask: npt.NDArray[np.int32] | torch.Tensor
) -> None:
    """Set the logits of tokens that are not allowed to -inf, in place. Slowly:

        for row in range(len(logits)):
            for t in range(logits.shape[1]):
                word = bitmask[row, t // 32] if t // 32 < bitmask.shape[1] else 0
                if not (word >> (t % 32)) & 1:
                    logits[row, t] = -inf

    Args:
        logits: shape `(rows, width)` or `(width,)`; numpy float16, float32, float64, or torch of these and bfloat16 on
            any device. May be wider than the vocabulary (the rest becomes -inf) or narrower (the rest of the mask is
            ignored).
        bitmask: int32, shape `(rows, n_words)` or `(n_words,)`, numpy or torch; copied to the device of the logits if
            it is elsewhere.

    A row of the bitmask that is all zero leaves no finite logit: check for it where that can happen.
    """
    if isinstance(logits, np.ndarray):
        if not np.issubdtype(logits.dtype, np.floating):
            raise TypeError(f"logits must be floating point, got {logits.dtype}")
        words = _as_words(bitmask)
        _check_shapes(logits.shape, words.shape)
        width = min(logits.shape[-1], words.shape[-1] * TOKENS_PER_WORD)
        np.copyto(logits[..., :width], -np.inf, where=_unpack(~words, width))
        logits[..., width:] = -np.inf
    elif _is_torch(logits):
        _apply_torch(logits, bitmask)
    else:
        raise TypeError(f"logits must be a numpy array or a torch tensor, got {type(logits).__name__}")


def _apply_torch(logits: torch.Tensor, bitmask: npt.NDArray[np.int32] | torch.Tensor) -> None:
    import torch

    if logits.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise TypeError(f"logits must be float16, bfloat16, float32 or float64, got {logits.dtype}")
    words = torch.from_numpy(bitmask) if isinstance(bitmask, np.ndarray) else bitmask
    if not _is_torch(words) or words.dtype != torch.int32:
        raise TypeError(f"a bitmask must be int32, got {getattr(words, 'dtype', type(words).__name__)}")
    _check_shapes(tuple(logits.shape), tuple(words.shape))
    width = min(logits.shape[-1], words.shape[-1] * TOKENS_PER_WORD)
    refused: torch.Tensor
    if logits.device.type == "cpu":
        # PERF: numpy unpacks 8 rows of 131,072 tokens in 0.05 ms, the torch operations below take 4 on one core.
        refused = torch.from_numpy(_unpack(~words.cpu().numpy(), width))
    else:
        refused = ~_unpack_on_device(words.to(logits.device), width)
    logits[..., :width].masked_fill_(refused, -torch.inf)
    logits[..., width:] = -torch.inf


def _unpack(words: npt.NDArray[np.int32], width: int) -> npt.NDArray[np.bool_]:
    """The first `width` bits of each row, as bool."""
    octets = np.ascontiguousarray(words).astype("<i4", copy=False).view(np.uint8)
    return np.unpackbits(octets, axis=-1, count=width, bitorder="little").view(np.bool_)


def _unpack_on_device(words: torch.Tensor, width: int) -> torch.Tensor:
    """The same where the tensor lies."""
    import torch

    # As bytes, eight bits each: one byte a token in between instead of the four that shifting int32 words takes.
    octets = words.contiguous().view(torch.uint8).unsqueeze(-1)
    weights = torch.tensor([1, 2, 4, 8, 16, 32, 64, 128], dtype=torch.uint8, device=words.device)
    return ((octets & weights) != 0).flatten(-2)[..., :width]


def _check_vocabulary(matchers: Sequence[Matcher]) -> None:
    """All rows of a batch are for one model."""
    for row, matcher in enumerate(matchers):
        if not hasattr(matcher, "fill_bitmask"):
            raise TypeError(
                f"matchers[{row}] must be a Matcher, not {type(matcher).__name__}; constraint.matcher(tokens) gives one"
            )
        first, other = matchers[0].vocabulary, matcher.vocabulary
        if other is not first and other != first:
            raise VocabularyError(
                f"row {row} is for a vocabulary of {other.size} tokens with fingerprint {other.fingerprint[:12]}, "
                f"row 0 for one of {first.size} with {first.fingerprint[:12]}; fill the rows of each model in a call "
                "of its own"
            )


def _fill(
    matchers: Sequence[Matcher], words: npt.NDArray[np.int32], pending: Iterator[int], errors: dict[int, Exception]
) -> None:
    """Fill rows until none is pending; a row that fails is emptied and noted."""
    for row in pending:
        try:
            matchers[row].fill_bitmask(words[row])
        except Exception as error:  # whatever it is, it belongs to this row: the others must not suffer from it
            words[row] = 0
            errors[row] = error


def _as_words(rows: npt.NDArray[np.int32] | torch.Tensor) -> npt.NDArray[np.int32]:
    """A numpy view of an int32 bitmask."""
    words: object = rows
    if _is_torch(rows):
        if rows.device.type != "cpu":
            raise ValueError(f"bitmasks are filled on the CPU, got a tensor on {rows.device}; copy it there afterwards")
        words = rows.numpy()
    if not isinstance(words, np.ndarray) or words.dtype != np.int32:
        raise TypeError(f"a bitmask must be int32, got {getattr(words, 'dtype', type(words).__name__)}")
    return words


def _check_writable(words: npt.NDArray[np.int32], vocabulary: Vocabulary) -> None:
    """Every row has the same width and layout, so what is wrong with one is wrong with the call."""
    n_words = -(-vocabulary.size // TOKENS_PER_WORD)
    if words.shape[1] < n_words:
        raise ValueError(f"rows have {words.shape[1]} words; a vocabulary of {vocabulary.size} tokens needs {n_words}")
    if not words.flags.writeable:
        raise ValueError("rows are read-only; the masks are written into them")
    if not words[0].flags.c_contiguous:
        raise ValueError(f"the words of a row must lie side by side, got strides {words.strides}; fill a copy")


def _check_shapes(logits: tuple[int, ...], bitmask: tuple[int, ...]) -> None:
    if len(logits) not in (1, 2) or logits[:-1] != bitmask[:-1]:
        raise ValueError(f"logits of shape {logits} and a bitmask of shape {bitmask} do not belong together")


def _is_torch(value: object) -> TypeGuard[torch.Tensor]:
    """Whether it is a torch tensor, without importing torch."""
    return type(value).__module__.partition(".")[0] == "torch" or (
        hasattr(value, "masked_fill_") and hasattr(value, "device")
    )


class _Pool:
    """Threads kept between calls: starting one costs about as much as a mask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._executor: ThreadPoolExecutor | None = None
        self._size = 0

    def __call__(self, n_threads: int) -> ThreadPoolExecutor:
        from concurrent.futures import ThreadPoolExecutor  # with what it imports, a tenth of `import earleymask`

        with self._lock:
            if self._executor is None or self._size < n_threads:
                # A smaller one is only let go: another caller may be about to use it. It ends with its last reference.
                self._size = n_threads
                self._executor = ThreadPoolExecutor(n_threads, thread_name_prefix="earleymask")
            return self._executor

    def forget(self) -> None:
        """Threads do not survive a fork of the process."""
        self._lock = threading.Lock()
        self._executor = None


_pool = _Pool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.forget)
