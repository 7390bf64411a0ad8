"""Time `apply_bitmask` beside XGrammar's `apply_token_bitmask_inplace`, on one thread of the CPU and on a GPU.

    python -m bench.applying [--quick] [--seconds 0.1]

Both write the same, which is checked first. Times are the shortest of many calls, in microseconds, so that other
processes matter little; each call includes its checks in Python. On a GPU, the table also has the time in which
`Tensor.fill_` writes all logits: what the bandwidth of the memory allows. Without a GPU, it says so.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence

import numpy as np
import torch
import xgrammar
from tqdm import tqdm

import earleymask

from .harness.environment import environment

VOCABULARIES = {"Llama 2": 32_000, "Llama 3": 128_256, "Gemma 3": 262_144}
BATCHES = (1, 8, 64)
TYPES = (torch.float32, torch.bfloat16)
DENSITIES = {"0.1%": 0.001, "50%": 0.5, "99%": 0.99, "100%": 1.0}
"""Shares of tokens that are allowed, at random: as between two keys, the worst case, inside a string, no constraint."""
INTEGERS = {2: torch.int16, 4: torch.int32}
Apply = Callable[[torch.Tensor, torch.Tensor], object]


def masks(n_rows: int, size: int, share: float) -> torch.Tensor:
    """Return masks in which each token is allowed with this probability: int32, shape (n_rows, size / 32)."""
    bits = np.random.default_rng(n_rows).random((n_rows, -(-size // 32) * 32)) < share
    return torch.from_numpy(np.packbits(bits, axis=-1, bitorder="little").view("<i4").astype(np.int32))


def check(apply: Apply, other: Apply, logits: torch.Tensor, words: torch.Tensor) -> None:
    """Assert that both write the same bits."""
    first, second = logits.clone(), logits.clone()
    apply(first, words)
    other(second, words)
    integer = INTEGERS[logits.itemsize]
    assert torch.equal(first.view(integer), second.view(integer))


def shortest_on_cpu(apply: Apply, logits: torch.Tensor, words: torch.Tensor, seconds: float) -> float:
    """Return the shortest time of a call in microseconds."""
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter_ns()
        apply(logits, words)
        best = min(best, (time.perf_counter_ns() - begin) / 1e3)
    return best


def shortest_on_gpu(apply: Apply, logits: torch.Tensor, words: torch.Tensor, seconds: float) -> float:
    """Return the shortest time that the GPU takes for a call in microseconds, without what the CPU does before it."""
    for _ in range(3):
        apply(logits, words)
    best, stop = float("inf"), time.perf_counter() + seconds
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    while time.perf_counter() < stop:
        torch.cuda._sleep(200_000)  # the CPU enters the call meanwhile
        begin.record()
        apply(logits, words)
        end.record()
        end.synchronize()
        best = min(best, begin.elapsed_time(end) * 1e3)
    return best


def table(device: str, seconds: float, batches: Sequence[int]) -> str:
    """Return a table in Markdown: a row for each type, vocabulary and batch, ours / theirs for each share."""
    shortest = shortest_on_cpu if device == "cpu" else shortest_on_gpu
    columns = ["type", "tokens", "rows", *(f"{share} allowed" for share in DENSITIES)]
    columns += ["`fill_`"] if device != "cpu" else []
    lines = ["| " + " | ".join(columns) + " |", "| --- |" + " --: |" * (len(columns) - 1)]
    cases = [(dtype, size, n) for dtype in TYPES for size in VOCABULARIES.values() for n in batches]
    for dtype, size, n_rows in tqdm(cases, desc=device):
        logits = torch.randn(n_rows, size, generator=torch.Generator().manual_seed(1)).to(dtype).to(device)
        cells = []
        for share in DENSITIES.values():
            words = masks(n_rows, size, share).to(device)
            check(earleymask.apply_bitmask, xgrammar.apply_token_bitmask_inplace, logits, words)
            ours = shortest(earleymask.apply_bitmask, logits.clone(), words, seconds)
            theirs = shortest(xgrammar.apply_token_bitmask_inplace, logits.clone(), words, seconds)
            cells.append(f"{ours:,.1f} / {theirs:,.1f}")
        if device != "cpu":
            cells.append(f"{shortest(lambda logits, _: logits.fill_(-torch.inf), logits, words, seconds):,.1f}")
        name = str(dtype).removeprefix("torch.")
        lines.append(f"| {name} | {size:,} | {n_rows} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.applying", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="batches of one row only")
    parser.add_argument("--seconds", type=float, default=0.1, help="the time for each figure (default: %(default)s)")
    options = parser.parse_args(arguments)
    batches = BATCHES[:1] if options.quick else BATCHES
    torch.set_num_threads(1)
    found = environment()
    print(f"{found['processor']}, load {found['load'][0]}; earleymask / XGrammar {found['versions']['xgrammar']}, µs\n")
    print(table("cpu", options.seconds, batches))
    if torch.cuda.is_available():
        print(f"\n{torch.cuda.get_device_name()}, torch {torch.__version__}, µs\n")
        print(table("cuda", options.seconds, batches))
    else:
        print("\nThere is no GPU here: the kernel for GPUs was not timed.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
