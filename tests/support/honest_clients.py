"""Honest clients beside attackers: how long they wait for their first token, and from each token to the next.

The honest clients read plain sockets, because OpenAI's client takes as long for a token as a tiny model does. The
attackers are another process: their grammars are large, and would delay the clients that are measured.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from support.openai_requests import MESSAGES, NAME

TOKENS = 200
"""The most tokens of an answer."""
LETTERS = "[a-f]{150}"
"""The honest grammars: so many letters, and a number that makes each of them new."""


@dataclass
class Waits:
    """Seconds for which clients of one kind have waited.

    Attributes:
        first: from each request to its first token.
        gaps: from each token to the next one of the same answer.
    """

    first: list[float] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)


class Honest:
    """Clients that stream answers one after the other.

    Args:
        address: that of the server.
        bias: `logit_bias` of free text. It should leave only tokens that are whole characters: others arrive with the
            tokens that complete them, and a gap would be several passes.

    Attributes:
        free, bound: the waits of clients that ask for free text, and of those that give a grammar.
        wrong: what was wrong with answers.
    """

    def __init__(self, address: str, bias: dict[str, float]) -> None:
        self.address = urlsplit(address)
        self.bias = bias
        self.free = Waits()
        self.bound = Waits()
        self.wrong: list[str] = []
        self._number = 0

    async def run(self, seconds: float, n_free: int, n_bound: int) -> None:
        """Stream for some seconds, with so many clients of each kind."""
        end = time.monotonic() + seconds

        async def stream(is_bound: bool) -> None:
            while time.monotonic() < end:
                await self._answer(is_bound)

        await asyncio.gather(*[stream(number >= n_free) for number in range(n_free + n_bound)])

    async def _answer(self, is_bound: bool) -> None:
        self._number += 1
        pattern = f"{LETTERS}{self._number}"
        constraint = {"structured_outputs": {"regex": pattern}} if is_bound else {"logit_bias": self.bias}
        try:
            kind, waits = ("grammar", self.bound) if is_bound else ("free text", self.free)
            text, finish = await self._stream(constraint, kind, waits)
        except Exception as error:
            self.wrong.append(f"an honest request: {type(error).__name__}: {str(error)[:300]}")
            return
        if is_bound and not (finish == "stop" and re.fullmatch(pattern, text)):
            self.wrong.append(f"an honest answer, {finish}: {text[:300]!r}")

    async def _stream(self, constraint: dict[str, Any], kind: str, waits: Waits) -> tuple[str, str]:
        """Stream one answer. Return its text, and why it ended. A header says the kind."""
        body = {"model": NAME, "messages": MESSAGES, "max_tokens": TOKENS, "stream": True, **constraint}
        data = json.dumps(body).encode()
        head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: {self.address.netloc}\r\nx-kind: {kind}\r\n"
        head += "content-type: application/json\r\n"
        reader, writer = await asyncio.open_connection(self.address.hostname, self.address.port)
        text, finish, before = "", "", None
        try:
            began = time.perf_counter()
            writer.write(f"{head}content-length: {len(data)}\r\nconnection: close\r\n\r\n".encode() + data)
            if b" 200 " not in await reader.readline():
                raise RuntimeError((await reader.read()).decode(errors="replace"))
            async for line in reader:
                if not line.startswith(b"data: {"):
                    continue
                now = time.perf_counter()
                event = json.loads(line.removeprefix(b"data: "))
                if "error" in event:
                    raise RuntimeError(event["error"])
                (choice,) = event["choices"]
                finish = choice["finish_reason"] or finish
                if not choice["delta"].get("content"):
                    continue
                text += choice["delta"]["content"]
                if before is None:
                    waits.first.append(now - began)
                else:
                    waits.gaps.append(now - before)
                before = now
        finally:
            writer.close()
        if not finish:
            raise RuntimeError("the stream broke off")
        return text, finish


def summary(waits: Sequence[float], bound: float) -> str:
    """Return cells of a table: how many waits there were, some of them in milliseconds, how many exceed a bound."""
    if not waits:
        return "0 | – | – | – | – | –"
    ordered = sorted(waits)

    def at(share: float) -> str:
        return f"{1000 * ordered[min(int(share * len(ordered)), len(ordered) - 1)]:.1f}"

    n_longer = sum(wait > bound for wait in ordered)
    return f"{len(ordered)} | {at(0.5)} | {at(0.99)} | {at(0.999)} | {at(1)} | {n_longer}"
