"""The clients of `campaign` see what is wrong: a check that cannot fail says nothing."""

from __future__ import annotations

import asyncio
import json
import sys
from types import SimpleNamespace

import pytest

pytest.importorskip("openai")
pytest.importorskip("jsonschema")
httpx = pytest.importorskip("httpx")

from earleymask.integration.server.metrics import Metrics  # noqa: E402
from integration.server import campaign  # noqa: E402
from support.honest_clients import Honest, Waits, summary  # noqa: E402


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


@pytest.mark.parametrize(
    ("steps", "first", "gaps", "said"),
    [
        ([0.001, 0.05], [0.05], [0.04], []),
        ([0.001, 0.06, 3.0], [0.05], [0.04], ["2 steps took more than 0.05 s"]),
        ([0.001], [0.06, 0.01], [0.07], ["late by more than 0.05 s 2 times, 0.070 s at worst"]),
        ([], [], [], ["no new step", "no free text was measured"]),
    ],
)
def test_what_is_late(
    monkeypatch: pytest.MonkeyPatch, steps: list[float], first: list[float], gaps: list[float], said: list[str]
) -> None:
    """`--most` looks at the histogram that the server has, from its state before. It passes only what was measured."""
    metrics = Metrics()
    monkeypatch.setattr(httpx, "get", lambda address: SimpleNamespace(text=metrics.text()))
    for seconds in (0.001, 0.2):
        metrics.observe(campaign.OVERHEAD, seconds)
    before = campaign.histogram("", campaign.OVERHEAD)
    for seconds in steps:
        metrics.observe(campaign.OVERHEAD, seconds)
    problems = campaign.lateness("all", campaign.longer("", campaign.OVERHEAD, before), Waits(first, gaps), 0.05)
    assert len(problems) == len(said) and all(part in each for part, each in zip(said, problems, strict=True))


def test_a_histogram_that_is_not_there_is_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(httpx, "get", lambda address: SimpleNamespace(text='other_bucket{le="0.05"} 3\n'))
    (problem,) = campaign.lateness("all", campaign.longer("", campaign.OVERHEAD, {}), Waits([0.01]), 0.05)
    assert campaign.OVERHEAD in problem


def test_most_is_refused_where_a_gap_may_be_several_passes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["campaign", "--deepseek", "--most", "0.05"])
    with pytest.raises(SystemExit, match="2"):
        campaign.main()
    assert "--most cannot be had with --deepseek" in capsys.readouterr().err
