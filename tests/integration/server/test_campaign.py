"""The clients of `campaign` see what is wrong: a check that cannot fail says nothing."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from types import SimpleNamespace

import pytest

pytest.importorskip("openai")
pytest.importorskip("jsonschema")
httpx = pytest.importorskip("httpx")

from earleymask.integration.server.metrics import Metrics  # noqa: E402
from integration.server import campaign, timed  # noqa: E402
from support.honest_clients import KINDS, LONG, Honest, Waits, summary  # noqa: E402
from support.openai_requests import NAME  # noqa: E402
from support.tiny_server import serving, tiny_llama, tokenizer_with_template  # noqa: E402


def chunk(text: str, finish: str | None = None) -> str:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    return f"data: {json.dumps({'choices': [choice]})}\n\n"


HEAD = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n"
GOOD = "abcdef" * 25 + "1"
RECORD = {"member_3_0": "a"}


def written(value: object, finish: str = "stop") -> str:
    """Return the stream of a JSON text."""
    return f"{chunk(json.dumps(value))}{chunk('', finish)}data: [DONE]\n\n"


ANSWERS: list[tuple[str, str, str]] = [
    # what the client asks for, what it gets, what is said about it
    ("free text", f"{HEAD}{chunk('a')}{chunk('b')}{chunk('', 'length')}data: [DONE]\n\n", ""),
    ("grammar", f"{HEAD}{chunk(GOOD)}{chunk('', 'stop')}data: [DONE]\n\n", ""),
    ("grammar", f"{HEAD}{chunk(GOOD + 'a')}{chunk('', 'stop')}data: [DONE]\n\n", "an honest answer, grammar, stop"),
    ("grammar", f"{HEAD}{chunk(GOOD)}{chunk('', 'length')}data: [DONE]\n\n", "an honest answer, grammar, length"),
    ("free text", f"{HEAD}{chunk('a')}", "broke off"),
    ("free text", f'{HEAD}{chunk("a")}data: {{"error": {{"message": "the server failed"}}}}\n\n', "the server failed"),
    ("free text", "HTTP/1.1 429 Too Many Requests\r\nconnection: close\r\n\r\nqueue_full", "queue_full"),
    ("long body", f"{HEAD}{chunk(GOOD)}{chunk('', 'stop')}data: [DONE]\n\n", ""),
    ("long body", f"{HEAD}{written(GOOD)}", "an honest answer, long body, stop"),
    ("slow grammar", f"{HEAD}{written(GOOD)}", ""),
    ("slow grammar", f"{HEAD}{written(GOOD + 'a')}", "an honest answer, slow grammar, stop"),
    ("slow grammar", f"{HEAD}{written(RECORD)}", ""),
    ("slow grammar", f"{HEAD}{written(RECORD, 'length')}", ""),
    (
        "slow grammar",
        f"{HEAD}{chunk('a')}{chunk('', 'length')}data: [DONE]\n\n",
        "an honest answer, slow grammar, length",
    ),
    ("slow grammar", f"{HEAD}{chunk(GOOD)}{chunk('', 'stop')}data: [DONE]\n\n", "an honest answer, slow grammar, stop"),
    ("slow grammar", f"{HEAD}{written({**RECORD, 'b': 1})}", "an honest answer, slow grammar, stop"),
]


@pytest.mark.parametrize(
    ("kind", "answer", "said"), ANSWERS, ids=[f"{kind}, {said or 'good'}" for kind, _, said in ANSWERS]
)
def test_an_honest_client_sees_what_is_wrong(kind: str, answer: str, said: str) -> None:
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
            await honest._answer(kind)
            return honest

    honest = asyncio.run(run())
    field = {"free text": "logit_bias", "slow grammar": "response_format"}.get(kind, "structured_outputs")
    assert field in asked[0] and (len(json.dumps(asked[0])) > LONG) is (kind == "long body")
    assert len(honest.wrong) == bool(said) and said in "".join(honest.wrong)
    waits = honest.waits[kind]
    if not said:
        assert len(waits.first) == 1 and len(waits.gaps) == (kind == "free text")
        assert waits.first[0] > 0 and all(gap >= 0 for gap in waits.gaps)
    assert not any(honest.waits[other].first for other in KINDS if other != kind)


def test_cells_of_waits() -> None:
    waits = [number / 1000 for number in range(1000, 0, -1)]  # 1 to 1,000 ms
    assert summary(waits, 0.95) == "1000 | 501.0 | 991.0 | 1000.0 | 1000.0 | 50"
    assert summary([], 0.05) == "0 | – | – | – | – | –"


@pytest.mark.parametrize(
    ("steps", "gaps", "said"),
    [
        ([0.001, 0.05], [0.05, 0.04], []),
        ([0.001, 0.06, 3.0], [0.04], ["2 times in earleymask_step_overhead_seconds are longer than 0.05 s"]),
        ([0.001], [0.06, 0.01, 0.07], ["free text was late by more than 0.05 s 2 times, 0.070 s at worst"]),
        ([], [], ["no new time", "no token after another"]),
    ],
)
def test_what_is_late(monkeypatch: pytest.MonkeyPatch, steps: list[float], gaps: list[float], said: list[str]) -> None:
    """`--most` looks at the histograms that the server has, from their state before. It passes only what was
    measured."""
    metrics = Metrics()
    monkeypatch.setattr(httpx, "get", lambda address: SimpleNamespace(text=metrics.text()))
    for seconds in (0.001, 0.2):
        metrics.observe(campaign.OVERHEAD, seconds)
    before = campaign.histogram("", campaign.OVERHEAD)
    for seconds in steps:
        metrics.observe(campaign.OVERHEAD, seconds)
    counts = {campaign.OVERHEAD: campaign.longer("", campaign.OVERHEAD, before)}
    problems = campaign.lateness("all", counts, {"free text": Waits([1.0], gaps)}, 0.05)
    assert len(problems) == len(said) and all(part in each for part, each in zip(said, problems, strict=True))


def test_a_histogram_that_is_not_there_is_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(httpx, "get", lambda address: SimpleNamespace(text='other_bucket{le="0.05"} 3\n'))
    counts = {campaign.OVERHEAD: campaign.longer("", campaign.OVERHEAD, {})}
    (problem,) = campaign.lateness("all", counts, {"grammar": Waits([], [0.01])}, 0.05)
    assert campaign.OVERHEAD in problem


def test_passes_are_timed() -> None:
    """What the model has worked, with the part of a pass that is running."""
    passes = timed.Passes()
    seen: list[float] = []

    def work(decoder: object, seconds: float) -> str:
        time.sleep(seconds)
        seen.append(passes.seconds())
        return "done"

    assert passes.seconds() == 0
    began = time.perf_counter()
    assert passes.time(work)(None, 0.02) == "done"
    assert 0.02 <= seen[0] <= passes.seconds() <= time.perf_counter() - began
    total = passes.seconds()
    assert passes.seconds() == total  # nothing runs

    def fail(decoder: object) -> None:
        raise ValueError("no scores")

    with pytest.raises(ValueError, match="no scores"):
        passes.time(fail)(None)
    before = passes.seconds()
    assert total < before == passes.seconds()


@pytest.mark.parametrize("is_late", [False, True], ids=["at once", "late"])
def test_first_tokens_whose_bodies_are_read_late(monkeypatch: pytest.MonkeyPatch, is_late: bool) -> None:
    """Passes of others in the meantime are no excuse."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from earleymask.integration.server import app, decoder, engine, metrics, preparing

    for where, names in (
        (app.Run, ("__init__", "delivery")),
        (decoder.Decoder, ("read", "advance", "drop")),
        (engine.Engine, ("submit",)),
    ):
        for name in names:
            monkeypatch.setattr(where, name, getattr(where, name))  # so that it is undone
    monkeypatch.setattr(metrics, "HELP", dict(metrics.HELP))
    timed.time_first_tokens()
    read = preparing.Preparer.read

    def read_late(self: object, body: bytes, endpoint: str) -> object:
        time.sleep(0.5 if is_late else 0.0)
        return read(self, body, endpoint)  # type: ignore[arg-type]

    monkeypatch.setattr(preparing.Preparer, "read", read_late)
    tokenizer = tokenizer_with_template()
    with serving(app.create_app(tiny_llama(tokenizer), tokenizer, app.Options(name=NAME))) as address:
        honest = Honest(address, campaign.bias())
        asyncio.run(honest.run(5.0, dict.fromkeys(KINDS, 1)))
        assert not honest.wrong and min(len(each.first) for each in honest.waits.values()) >= 2
        assert min(honest.n_complete[kind] for kind in KINDS[1:3]) >= 1
        assert timed.FIRST.keys() == honest.waits.keys()
        for name in timed.FIRST.values():
            counts = campaign.longer(address, name, {})
            assert counts[0.0] >= 2
            assert (counts[0.25] == counts[0.0]) is is_late


def test_most_is_refused_where_a_gap_may_be_several_passes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["campaign", "--deepseek", "--most", "0.05"])
    with pytest.raises(SystemExit, match="2"):
        campaign.main()
    assert "--most cannot be had with --deepseek" in capsys.readouterr().err
