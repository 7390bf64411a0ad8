"""What becomes of requests that the program that serves the application cancels, as uvicorn does when it ends."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.tiny_server import tiny_llama, tokenizer_with_template

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("starlette")

from earleymask.integration.server.app import Stream, create_app
from earleymask.integration.server.options import Options

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


def test_a_request_that_is_cancelled_is_told_that_the_server_ends() -> None:
    """`create_app` says so: a program that cancels for another reason must not use this."""
    tokenizer = tokenizer_with_template()
    app = create_app(tiny_llama(tokenizer), tokenizer, Options(name="m"))  # its engine does not run, so nothing ends
    server = app.state.server
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 5}
    sent: list[Any] = []

    async def run() -> None:
        messages = [{"type": "http.request", "body": json.dumps(body).encode(), "more_body": False}]

        async def receive() -> Any:
            if messages:
                return messages.pop()
            return await asyncio.Event().wait()

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "method": "POST",
            "path": "/v1/chat/completions",
            "query_string": b"",
            "headers": [(b"content-type", b"application/json")],
        }
        task = asyncio.ensure_future(app(scope, receive, send))
        for _ in range(PATIENCE * 100):
            if task.done() or server.engine.counts() == (0, 1):
                break
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.wait_for(task, PATIENCE)

    server.preparing.start()
    try:
        asyncio.run(run())
    finally:
        server.preparing.close()
    assert sent[0]["status"] == 503 and (b"retry-after", b"1") in sent[0]["headers"]
    assert json.loads(sent[1]["body"])["error"]["code"] == "stopping"
    assert server.engine.counts() == (0, 0) and server._n_open == 0
    assert 'earleymask_requests_total{endpoint="chat",status="503"} 1\n' in server.metrics.text()
