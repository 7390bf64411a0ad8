"""Masks are applied to logits on a GPU by one Triton kernel.

What is written does not depend on the logits, so they are handled as integers of their size, as in `earley/_apply.pyx`.
A program of the kernel has `BLOCK` neighbouring tokens of one row. Its threads handle groups of 16 bytes, which the GPU
stores at once: a group whose tokens are all refused is stored, one whose tokens are all allowed is left alone, and only
a mixed one is loaded, too. So the memory moves 1 bit for each token, and the groups that change.

This module is imported when the first logits on a GPU arrive, because it needs triton.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

BLOCK = 4096
"""Tokens of one program, a power of 2 and a multiple of 32. 64 rows of 128,256 tokens make 2,048 programs, several for
each multiprocessor of any GPU."""
N_WARPS = 8
"""Warps of one program: each of their 256 threads has 16 tokens."""
GROUP_BYTES = 16
"""The most bytes that a thread loads or stores at once."""
INTEGERS = {2: torch.int16, 4: torch.int32, 8: torch.int64}
"""Integers by the size of a logit in bytes."""
MINUS_INFINITIES = {
    torch.float16: -1 << 10,  # a sign, 5 bits of exponent, all set, and 10 of mantissa
    torch.bfloat16: -1 << 7,
    torch.float32: -1 << 23,
    torch.float64: -1 << 52,
}
"""The bits of -inf as a signed integer."""


@triton.jit  # type: ignore[untyped-decorator]
def apply_kernel(  # type: ignore[no-untyped-def]
    logits,
    words,
    logit_rows,
    word_rows,
    width,
    n_words,
    logits_stride,
    logits_step,
    words_stride,
    words_step,
    MINUS_INFINITY: tl.constexpr,  # capitals: constants of the compiled kernel
    GROUP: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Apply the mask of one row to `BLOCK` of its logits: program (i, j) has the tokens from `j * BLOCK` on.

    Args:
        logits, words: pointers to the first logit, as an integer, and to the first word of 32 bits.
        logit_rows, word_rows: pointers to the row of logits and of words of program i, int64; or None, for row i.
        width, n_words: logits and words of a row.
        logits_stride, words_stride: items between two rows.
        logits_step, words_step: items between two neighbours of a row.
        MINUS_INFINITY: the bits of -inf as a signed integer.
        GROUP: tokens of a group, a power of 2 up to 32.
    """
    row = tl.program_id(0).to(tl.int64)
    # Strides are multiplied as 64 bits: a batch may have more than 2 ** 31 logits.
    if logit_rows is None:
        logits += row * logits_stride
    else:
        logits += tl.load(logit_rows + row) * logits_stride
    if word_rows is None:
        words += row * words_stride
    else:
        words += tl.load(word_rows + row) * words_stride
    first = tl.program_id(1) * BLOCK
    groups = first // GROUP + tl.arange(0, BLOCK // GROUP)
    places = groups // (32 // GROUP)
    some = tl.load(words + places.to(tl.int64) * words_step, mask=places < n_words, other=0)
    bits = some >> (groups % (32 // GROUP) * GROUP)  # the lowest ones are those of the group
    refused = ~bits & ((1 << GROUP) - 1)
    if min(first + BLOCK, width) > 32 * n_words:
        # Logits beyond the mask are refused, unless all bits of the row are set. Programs before its end need not know
        # that: where all bits are set, they refuse nothing.
        is_mask = 0
        for begin in range(0, n_words, BLOCK // 32):
            others = begin + tl.arange(0, BLOCK // 32)
            more = tl.load(words + others.to(tl.int64) * words_step, mask=others < n_words, other=-1)
            is_mask = tl.maximum(is_mask, tl.max((more != -1).to(tl.int32)))
        refused = refused * is_mask
    tokens = groups[:, None] * GROUP + tl.arange(0, GROUP)[None, :]
    pointers = logits + tokens.to(tl.int64) * logits_step
    is_mixed = (refused != 0) & (refused != (1 << GROUP) - 1)
    values = tl.load(pointers, mask=is_mixed[:, None] & (tokens < width), other=0)
    is_refused = ((refused[:, None] >> tl.arange(0, GROUP)[None, :]) & 1) != 0
    values = tl.where(is_refused, MINUS_INFINITY, values)
    tl.store(pointers, values, mask=(refused != 0)[:, None] & (tokens < width))


def apply_rows(
    logits: torch.Tensor, words: torch.Tensor, logit_rows: torch.Tensor | None, word_rows: torch.Tensor | None
) -> None:
    """Write -inf into `logits` where masks have no bit, as `earleymask.apply_bitmask` says, without waiting for it.

    Args:
        logits: shape (rows, width) or (width,), float16, bfloat16, float32 or float64, of any strides, on a GPU.
        words: int32, shape (rows, n_words) or (n_words,), of any strides, on the same GPU.
        logit_rows, word_rows: the i-th mask that is applied is row `word_rows[i]` of `words`, and changes row
            `logit_rows[i]` of `logits`; int64, contiguous, on the same GPU. None: row i. They are not checked.
    """
    if logits.ndim == 1:
        logits, words = logits[None], words[None]
    n_rows = next((len(rows) for rows in (logit_rows, word_rows) if rows is not None), len(logits))
    if not n_rows or not logits.shape[1]:
        return
    integer = INTEGERS[logits.itemsize]
    with torch.cuda.device_of(logits):  # triton launches on the current device
        apply_kernel[n_rows, triton.cdiv(logits.shape[1], BLOCK)](
            logits.view(integer),
            words,
            logit_rows,
            word_rows,
            logits.shape[1],
            words.shape[1],
            *logits.stride(),
            *words.stride(),
            MINUS_INFINITY=MINUS_INFINITIES[logits.dtype],
            GROUP=GROUP_BYTES // logits.itemsize,
            BLOCK=BLOCK,
            num_warps=N_WARPS,
        )
