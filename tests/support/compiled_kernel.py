"""Compile the kernel for GPUs, which needs none, and print the instructions with which it stores, as JSON.

    python -m support.compiled_kernel

The rows are those of most models: of a multiple of 16 logits, one after another. `tests/api/test_applying.py` runs it.
"""

from __future__ import annotations

import json
import re
import sys

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from earleymask.integration import triton_apply
from support.applying_cases import TORCH_FLOATS

CAPABILITIES = {"A100": 80, "H100": 90}
TYPES = {"logits": "*i{}", "words": "*i32", "logit_rows": "*i64", "word_rows": "*i64"}
"""Types of the pointers; all other arguments are 32-bit integers."""
MULTIPLES = ("logits", "words", "width", "n_words", "logits_stride", "words_stride")
"""Arguments that are multiples of 16, as Triton finds out when it launches a kernel."""


def stores(dtype: torch.dtype, capability: int) -> list[str]:
    """Return the different instructions that store to the GPU's memory."""
    constants = {
        "logits_step": 1,
        "words_step": 1,
        "MINUS_INFINITY": triton_apply.MINUS_INFINITIES[dtype],
        "GROUP": triton_apply.GROUP_BYTES // dtype.itemsize,
        "BLOCK": triton_apply.BLOCK,
    }
    names = triton_apply.apply_kernel.arg_names
    signature = {name: TYPES.get(name, "i32").format(8 * dtype.itemsize) for name in names}
    source = ASTSource(
        triton_apply.apply_kernel,
        signature=signature | dict.fromkeys(constants, "constexpr"),
        constexprs=constants,
        attrs={(names.index(name),): [["tt.divisibility", 16]] for name in MULTIPLES},
    )
    target = GPUTarget("cuda", capability, 32)
    made = triton.compile(source, target=target, options={"num_warps": triton_apply.N_WARPS})
    assert made.asm["cubin"], "the machine code of the GPU"
    return sorted(set(re.findall(r"st\.global\S*", made.asm["ptx"])))


def main() -> int:
    found = {f"{dtype} on {gpu}": stores(dtype, n) for dtype in TORCH_FLOATS for gpu, n in CAPABILITIES.items()}
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
