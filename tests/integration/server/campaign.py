"""Many requests against `earleymask serve` (by `timed`), as a program of its own, with OpenAI's client.

    python -m tests.integration.server.campaign --requests 1000 --at-once 8 --seed 1

A tiny random model is written to a folder and served from there. Each request has another grammar: a schema, a pattern,
a Lark grammar, choices, tools, custom tools; as a whole or as a stream, to both endpoints. Every finished answer must
be valid. Some clients leave in the middle, some send hostile grammars or prompts that are too long. At the end, no
answer may have a slot, and the memory must be flat. `--deepseek` takes DeepSeek's vocabulary of 129,280 tokens,
EARLEYMASK_DEVICE=cuda a GPU.

The last part is a siege: honest clients stream free text and answers of grammars, first alone and then while others
send nothing but hostile grammars. Some honest grammars are small, some come in long bodies, and some take long to load
(`support.honest_clients`). It shows

- what the honest clients saw: the time to their first token, and from each token to the next;
- what the server says: how many steps took how long beyond the passes of the model, how many passes took how long, how
  many steps, passes included, took how long but for the time in which other programs had the cores, and how many first
  tokens took how long but for the passes until their prompts had been read (`timed`).

This part alone, five times:

    python -m tests.integration.server.campaign --requests 0 --siege 30 --attackers 2 --repeat 5 --most 0.05

It fails if anybody was ever delayed by more than 50 ms: a step beyond its passes, a first token beyond the passes until
its prompt had been read, or a client from a token to the next, with the pass in between. It also fails if it has
measured nothing. The waits of slow grammars are shown and not bounded: nobody knows beforehand that they are honest, so
they share the cores with hostile ones. `--most` cannot be had with `--deepseek`, whose tokens may be parts of
characters: free text waits several passes for those that complete them.

These times mean something only on cores that nothing else uses: one each for the model, the honest clients and each
attacker, and one for the attackers' own program. With fewer, they have what is waited for a core, too.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
from integration.server.timed import FIRST, STEP, waited

from earleymask import Vocabulary
from support.honest_clients import KINDS, SLOW, Honest, Waits, summary
from support.openai_requests import NAME, Campaign, resident
from support.tiny_server import deepseek_tokenizer, tiny_llama, tokenizer_with_template

SHOWN = (0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1.0)
"""Bounds of the server's histograms that are shown, in seconds."""

OVERHEAD = "earleymask_step_overhead_seconds"
"""The histogram of the times of steps beyond their passes."""


def histogram(address: str, name: str) -> dict[float, int]:
    """Return how many times were at most each bound, from the server's metrics."""
    text = httpx.get(f"{address}/metrics").text
    found = re.findall(rf'{name}_bucket{{le="([^"]*)"}} (\d+)', text)
    return {float(bound): int(count) for bound, count in found}


def longer(address: str, name: str, before: dict[float, int]) -> dict[float, int]:
    """Return how many times were longer than each bound since `before`; under 0.0, how many there were."""
    new = histogram(address, name)
    if not new:
        return {}
    total = new[float("inf")] - before.get(float("inf"), 0)
    return {0.0: total, **{bound: total - new[bound] + before.get(bound, 0) for bound in SHOWN}}


def show_times(address: str, before: dict[str, dict[float, int]], what: str) -> None:
    print(f"{what} (load average {os.getloadavg()[0]:.1f})")
    for name, old in before.items():
        counts = longer(address, name, old)
        if counts:
            shown = [f"{bound * 1000:g} ms: {counts[bound]}" for bound in SHOWN]
            print(f"  {name}: {counts[0.0]}, of which longer than {', '.join(shown)}", flush=True)


def lateness(who: str, served: dict[str, dict[float, int]], waits: dict[str, Waits], most: float) -> list[str]:
    """Return what is wrong if nothing may take longer than `most` seconds, one of `SHOWN`. To have measured nothing is
    wrong, too.

    Args:
        served: from `longer`: histograms of the server, none of whose times may be longer.
        waits: what clients of each kind have waited for; none may have waited longer from a token to the next.
    """
    problems = []
    for name, counts in served.items():
        if not counts.get(0.0):
            problems.append(f"{who}: the server shows no new time in {name}")
        elif counts[most]:
            problems.append(f"{who}: {counts[most]} times in {name} are longer than {most:g} s")
    for kind, each in waits.items():
        late = [wait for wait in each.gaps if wait > most]
        if not each.gaps:
            problems.append(f"{who}: no token after another was measured, {kind}")
        elif late:
            worst = f"{max(late):.3f} s at worst"
            problems.append(f"{who}: {kind} was late by more than {most:g} s {len(late)} times, {worst}")
    return problems


def bias() -> dict[str, float]:
    """Return a `logit_bias` that leaves the tiny tokenizer's tokens of ASCII alone, each of which is text at once."""
    vocabulary = Vocabulary.from_transformers(tokenizer_with_template())
    others = [token for token in range(vocabulary.size) if not (vocabulary.token_bytes(token) or b"").isascii()]
    return {str(token): -100.0 for token in others}


@contextmanager
def attacking(address: str, clients: int, seconds: float, seed: int) -> Iterator[dict[str, Any]]:
    """Attack while the block runs, with clients in another process. Its result is there after the block."""
    command = [sys.executable, "-m", "tests.integration.server.attackers", address]
    command += ["--clients", str(clients), "--seconds", str(seconds), "--seed", str(seed)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            if process.stdout.readline() != "ready\n":
                raise RuntimeError("the attackers do not start")
            print(file=process.stdin, flush=True)
            found: dict[str, Any] = {}
            yield found
            found |= json.loads(process.stdout.readlines()[-1])
        finally:
            process.kill()


def besiege(
    address: str, given: argparse.Namespace, attackers: int, names: tuple[str, ...], seed: int
) -> tuple[dict[str, int], list[str]]:
    """Let honest clients stream beside attackers, and show what both they and the server have measured. Return what
    became of the attacks, and the problems."""
    honest = Honest(address, {} if given.deepseek else bias())
    clients = dict(zip(KINDS, given.clients, strict=True))
    with attacking(address, attackers, given.siege, seed) as attacks:
        before = {name: histogram(address, name) for name in names}
        began = waited()
        asyncio.run(honest.run(given.siege, clients))
        for_cores = waited() - began
    problems = honest.wrong + attacks["wrong"]
    who = f"streams: {', '.join(f'{n} {kind}' for kind, n in clients.items())}; {attackers} attackers"
    show_times(address, before, who)
    most = given.most or 0.05
    bounds = "median, ms | 99 % | 99.9 % | longest"
    print(f"  | honest clients, {attackers} attackers | times | {bounds} | > {most * 1000:g} ms |")
    print("  | --- | --: | --: | --: | --: | --: | --: |")
    waits = {kind: honest.waits[kind] for kind, n in clients.items() if n}
    for kind, each in waits.items():
        print(f"  | {kind}, first token | {summary(each.first, most)} |")
        print(f"  | {kind}, between tokens | {summary(each.gaps, most)} |")
    print(f"  the honest clients waited {for_cores:.2f} s for a core", flush=True)
    if given.siege:
        problems += [f"{who}: {kind} has not had two tokens" for kind, each in waits.items() if not each.gaps]
    if given.most is not None:
        bounded = {kind: each for kind, each in waits.items() if kind != SLOW}
        counts = {name: longer(address, name, before[name]) for name in (OVERHEAD, *[FIRST[kind] for kind in bounded])}
        problems += lateness(who, counts, bounded, given.most)
    return attacks["counts"], problems


@contextmanager
def served(is_deepseek: bool) -> Iterator[tuple[str, int]]:
    """Serve a tiny model from a folder, and give the address and the id of the process."""
    tokenizer = deepseek_tokenizer() if is_deepseek else tokenizer_with_template()
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save_pretrained(folder)
        tiny_llama(tokenizer).cpu().save_pretrained(folder)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        program = [sys.executable, "-m", "tests.integration.server.timed"]
        command = [*program, "--model", folder, "--name", NAME, "--port", str(port), "--quiet"]
        address = f"http://127.0.0.1:{port}"
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
    parser.add_argument(
        "--clients",
        type=int,
        nargs=len(KINDS),
        default=[2, 2, 1, 1],
        metavar="N",
        help=f"honest clients in it that ask for {', '.join(KINDS)} (2 2 1 1)",
    )
    parser.add_argument("--most", type=float, choices=SHOWN, metavar="SECONDS", help="fail if anybody is late by more")
    parser.add_argument("--repeat", type=int, default=1, help="how often the last part is run")
    given = parser.parse_args()
    if given.deepseek and given.most is not None:
        parser.error("--most cannot be had with --deepseek: a token may wait for those that complete its character")
    names = (OVERHEAD, "earleymask_pass_seconds", "earleymask_prefill_seconds", STEP, *FIRST.values())
    with served(given.deepseek) as (address, pid):
        campaign = Campaign(address, given.seed)
        memory = []
        if given.requests:
            memory = asyncio.run(campaign.run(given.requests, given.at_once, pid, print))
            show_times(address, {name: {} for name in names}, "all requests")
        if given.siege:  # the first answers of a server take longer
            asyncio.run(Honest(address, {}).run(1.0, dict(zip(KINDS, given.clients, strict=True))))
        for number in range(given.repeat):
            for attackers in (0, given.attackers):
                counts, problems = besiege(address, given, attackers, names, given.seed + number)
                campaign.counts.update(counts)
                campaign.wrong += problems
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
