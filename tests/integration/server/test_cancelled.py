"""What becomes of requests that the program that serves the application cancels, as uvicorn does when it ends."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("starlette")

from earleymask.integration.server.app import Stream

PATIENCE = 120
"""Seconds after which a test gives up. No test is about time: the machine may be busy."""


class FakeRun:
    """What a stream needs of a run. `leaves`: whether its client leaves when it is to read that the server ends."""

    def __init__(self, leaves: bool) -> None:
        self.leaves = leaves
        self.left = float(PATIENCE)
        self.status: int | None = None
        self.begun = asyncio.Event()
        self.stopped = asyncio.Event()
        self.closed = 0

    async def lines(self) -> AsyncIterator[str]:
        yield "data: 1\n\n"
        self.begun.set()
        await self.stopped.wait()
        if not self.leaves:
            self.status = 503
        yield "data: stopping\n\n"

    def stop(self) -> None:
        self.stopped.set()

    def free(self) -> None:
        raise AssertionError("the time is not over")

    def close(self) -> None:
        self.closed += 1


@pytest.mark.parametrize("leaves", [False, True], ids=["reads on", "leaves"])
def test_a_stream_that_is_cancelled(leaves: bool) -> None:
    """It counts as 503, also if its client leaves before it has read so, and nothing is logged of that."""
    sent: list[bytes] = []
    counted: list[int] = []
    unseen: list[dict[str, Any]] = []

    async def stay() -> Any:
        await asyncio.Event().wait()

    async def run() -> FakeRun:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: unseen.append(context))
        fake = FakeRun(leaves)

        async def send(message: Any) -> None:
            if leaves and fake.stopped.is_set():
                raise OSError("the client has left")
            sent.append(message.get("body", b""))

        stream = Stream(fake, fake.lines())  # type: ignore[arg-type]
        stream.count = counted.append
        scope = {"type": "http", "asgi": {"spec_version": "2.4"}}  # since which `send` may raise
        task = asyncio.ensure_future(stream(scope, stay, send))
        await asyncio.wait_for(fake.begun.wait(), PATIENCE)
        task.cancel()
        await asyncio.wait_for(task, PATIENCE)
        del task, stream
        gc.collect()
        await asyncio.sleep(0)
        return fake

    fake = asyncio.run(run())
    assert counted == [503] and fake.closed == 1
    assert b"".join(sent) == (b"data: 1\n\n" if leaves else b"data: 1\n\ndata: stopping\n\n")
    assert not unseen
