"""Honest clients beside attackers: how long they wait for their first token, and from each token to the next.

The honest clients read plain sockets, because OpenAI's client takes as long for a token as a tiny model does. The
attackers are another process: their grammars are large, and would delay the clients that are measured.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import jsonschema

from support.openai_requests import MESSAGES, NAME

TOKENS = 200
"""The most tokens of an answer."""
LETTERS = "[a-f]{150}"
"""The honest grammars: so many letters, and a number that makes each of them new."""
SLOW = "slow grammar"
KINDS = ("free text", "grammar", "long body", SLOW)
"""What honest clients ask for: no grammar, a small one, a small one in a body of `LONG` bytes and more, and one that
takes some 30 ms to load."""
LONG = 60_000
RECORDS, MEMBERS = 30, 10
"""The slow grammar: a text of letters, or one of so many records of so many members."""


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
        waits: of the clients of each of `KINDS`.
        n_complete: how many answers of each kind have not been cut.
        wrong: what was wrong with answers.
    """

    def __init__(self, address: str, bias: dict[str, float]) -> None:
        self.address = urlsplit(address)
        self.bias = bias
        self.waits = {kind: Waits() for kind in KINDS}
        self.n_complete = dict.fromkeys(KINDS, 0)
        self.wrong: list[str] = []
        self._number = 0

    async def run(self, seconds: float, clients: Mapping[str, int]) -> None:
        """Stream for some seconds, with so many clients of each kind."""
        end = time.monotonic() + seconds

        async def stream(kind: str) -> None:
            while time.monotonic() < end:
                await self._answer(kind)

        await asyncio.gather(*[stream(kind) for kind, n in clients.items() for _ in range(n)])

    async def _answer(self, kind: str) -> None:
        self._number += 1
        pattern = f"{LETTERS}{self._number}"
        try:
            text, finish = await self._stream(self._constraint(kind, pattern), kind)
        except Exception as error:
            self.wrong.append(f"an honest request, {kind}: {type(error).__name__}: {str(error)[:300]}")
            return
        self.n_complete[kind] += finish == "stop"
        if kind != "free text" and not is_right(kind, pattern, text, finish):
            self.wrong.append(f"an honest answer, {kind}, {finish}: {text[:300]!r}")

    def _constraint(self, kind: str, pattern: str) -> dict[str, Any]:
        if kind == "free text":
            return {"logit_bias": self.bias}
        if kind == "grammar":
            return {"structured_outputs": {"regex": pattern}}
        if kind == "long body":
            comment = "// Letters from a to f, and a number.\n"
            return {"structured_outputs": {"grammar": f"{comment * (LONG // len(comment))}start: /{pattern}/"}}
        json_schema = {"name": "answer", "schema": schema(pattern)}
        return {"response_format": {"type": "json_schema", "json_schema": json_schema}}

    async def _stream(self, constraint: dict[str, Any], kind: str) -> tuple[str, str]:
        """Stream one answer. Return its text, and why it ended. A header says the kind."""
        waits = self.waits[kind]
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


def schema(pattern: str) -> dict[str, Any]:
    """Return a schema of texts with a pattern, or of one of `RECORDS` records."""

    def record(number: int) -> dict[str, Any]:
        types: list[dict[str, Any]] = [
            {"type": "string", "maxLength": 40},
            {"type": "integer", "minimum": number},
            {"enum": ["a", "b", f"c{number}"]},
            {"type": "array", "items": {"type": "number"}},
        ]
        properties = {f"member_{number}_{each}": types[each % len(types)] for each in range(MEMBERS)}
        names = [*properties]
        return {"type": "object", "properties": properties, "required": names[:1], "additionalProperties": False}

    records = {f"record_{number}": record(number) for number in range(RECORDS)}
    text = {"type": "string", "pattern": f"^{pattern}$"}
    return {"anyOf": [text, *({"$ref": f"#/$defs/{name}"} for name in records)], "$defs": records}


def is_right(kind: str, pattern: str, text: str, finish: str) -> bool:
    """Return whether a grammar of the kind with this pattern allows an answer. Answers of schemas, whose texts may have
    many escapes, may be cut."""
    if kind != SLOW:
        return finish == "stop" and re.fullmatch(pattern, text) is not None
    if finish == "length":
        return text[:1] in ('"', "{")
    try:
        found = json.loads(text)
    except ValueError:
        return False
    return jsonschema.Draft202012Validator(schema(pattern)).is_valid(found)


def summary(waits: Sequence[float], bound: float) -> str:
    """Return cells of a table: how many waits there were, some of them in milliseconds, how many exceed a bound."""
    if not waits:
        return "0 | – | – | – | – | –"
    ordered = sorted(waits)

    def at(share: float) -> str:
        return f"{1000 * ordered[min(int(share * len(ordered)), len(ordered) - 1)]:.1f}"

    n_longer = sum(wait > bound for wait in ordered)
    return f"{len(ordered)} | {at(0.5)} | {at(0.99)} | {at(0.999)} | {at(1)} | {n_longer}"
