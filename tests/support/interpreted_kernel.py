"""Run the kernel for GPUs in Triton's interpreter, on the CPU, and compare it with the formula bit for bit.

    TRITON_INTERPRET=1 python -m support.interpreted_kernel

Prints the number of cases. `tests/api/test_applying.py` runs it. Each type of logits tries every third case, and the
types together every case; with EARLEYMASK_EXHAUSTIVE=1 each type tries all.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice

import numpy as np
import torch

from earleymask import applying
from earleymask.integration import triton_apply
from support.applying_cases import TORCH_FLOATS, Case, cases
from support.effort import effort

BLOCK = 256
"""Tokens of a program, so that rows of some hundred tokens have several."""
WIDTHS = [(0, 2), (5, 1), (33, 0), (257, 9), (300, 8), (300, 10), (700, 5)]
"""Logits and words of a row: narrower, as wide, wider, and so much wider that a program has no word."""


def sampled(begin: int, dtype: torch.dtype, widths: list[tuple[int, int]]) -> Iterator[Case]:
    """Yield the cases of a type, from `begin` on, each third one or all."""
    step = effort(3, 1)
    return islice(cases(dtype, widths), begin % step, None, step)


def check(case: Case, way: str) -> None:
    expected = case.expected()
    if way == "whole":
        applying._apply_on_device(case.logits, case.bitmask, case.indices, is_plain=True)
    else:  # the rows of the mask were chosen before they were copied to the GPU
        rows = torch.tensor(case.indices)
        triton_apply.apply_rows(case.logits, case.bitmask[case.indices], rows, None)
    found = case.found()
    assert np.array_equal(found, expected), (case.name, way, np.flatnonzero(found != expected)[:9])


def main() -> int:
    assert type(triton_apply.apply_kernel).__name__ == "InterpretedFunction", "set TRITON_INTERPRET=1"
    triton_apply.BLOCK = BLOCK
    applying._has_kernel = lambda logits: True
    n = 0
    for begin, dtype in enumerate(TORCH_FLOATS):
        for case in sampled(begin, dtype, WIDTHS):
            check(case, "whole")
            n += 1
        for case in sampled(begin, dtype, WIDTHS[-3:]):
            if case.indices is not None:
                check(case, "chosen")
                n += 1
        logits = torch.zeros(100, dtype=dtype)
        applying._apply_on_device(logits, torch.tensor([6, 0, -1], dtype=torch.int32), None, is_plain=True)
        assert torch.isfinite(logits).nonzero().flatten().tolist() == [1, 2, *range(64, 96)]
        triton_apply.apply_rows(torch.zeros(0, 9, dtype=dtype), torch.zeros(0, 1, dtype=torch.int32), None, None)
        triton_apply.apply_rows(logits[None], torch.zeros(1, 4, dtype=torch.int32), torch.tensor([]).long(), None)
        assert torch.isfinite(logits).sum() == 34
    print(n, "cases")
    return 0


if __name__ == "__main__":
    sys.exit(main())
