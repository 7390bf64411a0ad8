"""The clients of `campaign` see what is wrong: a check that cannot fail says nothing."""

from __future__ import annotations

import asyncio
import json

import pytest

pytest.importorskip("openai")
pytest.importorskip("jsonschema")

from support.honest_clients import Honest, summary


def chunk(text: str, finish: str | None = None) -> str:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    return f"data: {json.dumps({'choices': [choice]})}\n\n"


HEAD = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n"
GOOD = "abcdef" * 25 + "1"
ANSWERS: list[tuple[bool, str, str]] = [
    # whether the client gives a grammar, what it gets, what is said about it
    (False, f"{HEAD}{chunk('a')}{chunk('b')}{chunk('', 'length')}data: [DONE]\n\n", ""),
    (True, f"{HEAD}{chunk(GOOD)}{chunk('', 'stop')}data: [DONE]\n\n", ""),
    (True, f"{HEAD}{chunk(GOOD + 'a')}{chunk('', 'stop')}data: [DONE]\n\n", "an honest answer, stop"),
    (True, f"{HEAD}{chunk(GOOD)}{chunk('', 'length')}data: [DONE]\n\n", "an honest answer, length"),
    (False, f"{HEAD}{chunk('a')}", "broke off"),
    (False, f'{HEAD}{chunk("a")}data: {{"error": {{"message": "the server failed"}}}}\n\n', "the server failed"),
    (False, "HTTP/1.1 429 Too Many Requests\r\nconnection: close\r\n\r\nqueue_full", "queue_full"),
]


@pytest.mark.parametrize(("is_bound", "answer", "said"), ANSWERS, ids=[said or "good" for *_, said in ANSWERS])
def test_an_honest_client_sees_what_is_wrong(is_bound: bool, answer: str, said: str) -> None:
    asked: list[dict[str, object]] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = int(head.partition("content-length: ")[2].split()[0])
        asked.append(json.loads(await reader.readexactly(length)))
        writer.write(answer.encode())
        await writer.drain()
        writer.close()

    async def run() -> Honest:
        async with await asyncio.start_server(handle, "127.0.0.1", 0) as server:
            host, port = server.sockets[0].getsockname()
            honest = Honest(f"http://{host}:{port}", {"7": -100})
            await honest._answer(is_bound)
            return honest

    honest = asyncio.run(run())
    assert ("structured_outputs" in asked[0]) is is_bound and ("logit_bias" in asked[0]) is not is_bound
    assert len(honest.wrong) == bool(said) and said in "".join(honest.wrong)
    waits, others = (honest.bound, honest.free) if is_bound else (honest.free, honest.bound)
    if not said:
        assert len(waits.first) == 1 and len(waits.gaps) == (not is_bound)
        assert waits.first[0] > 0 and all(gap >= 0 for gap in waits.gaps)
    assert not others.first


def test_cells_of_waits() -> None:
    waits = [number / 1000 for number in range(1000, 0, -1)]  # 1 to 1,000 ms
    assert summary(waits, 0.95) == "1000 | 501.0 | 991.0 | 1000.0 | 1000.0 | 50"
    assert summary([], 0.05) == "0 | – | – | – | – | –"
