"""Bodies, grammars and masks in processes of their own: the same answers, and processes that end or hang."""

from __future__ import annotations

import json
import os
import pickle
import signal
import socket
import struct
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from multiprocessing import Pipe
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from support.tiny_server import serving, tiny_llama, tokenizer_with_template

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
httpx = pytest.importorskip("httpx")

from earleymask import Vocabulary  # noqa: E402
from earleymask.integration.server import grammar_process  # noqa: E402
from earleymask.integration.server import link as link_module  # noqa: E402
from earleymask.integration.server.app import create_app  # noqa: E402
from earleymask.integration.server.errors import ApiError  # noqa: E402
from earleymask.integration.server.fields import MAX_DEPTH  # noqa: E402
from earleymask.integration.server.grammar_process import GrammarProcess, GrammarProcesses  # noqa: E402
from earleymask.integration.server.link import Asker  # noqa: E402
from earleymask.integration.server.options import Options  # noqa: E402
from earleymask.integration.server.preparing import Leaving, Preparer  # noqa: E402
from earleymask.integration.server.served import Served  # noqa: E402
from support.local_processes import BODY, PATIENCE, both, wait_for  # noqa: E402

torch.set_num_threads(1)

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
FUNCTION = {"type": "function", "function": {"name": "f", "parameters": SCHEMA}}
BODIES: list[dict[str, Any]] = [
    {},
    {"n": 3, "temperature": 1, "seed": 5, "logprobs": True, "top_logprobs": 2},
    {"structured_outputs": {"json": SCHEMA}, "fit_max_tokens": True},
    {"structured_outputs": {"grammar": 'start: "a" start "b" |'}, "n": 2},
    {"structured_outputs": {"regex": "[ab]{20}"}, "stop": ["ab"]},
    {"structured_outputs": {"choice": ["yes", "no"]}},
    {"tools": [FUNCTION], "tool_choice": "required"},
    {"structured_outputs": {"grammar": "start: item"}},
    {"structured_outputs": {"regex": "a{100}"}, "fit_max_tokens": True},
    {"structured_outputs": {"regex": "((a{1000}){1000}){1000}" * 20}},
    {"messages": "hi"},
    {"model": "other"},
    {"temprature": 1},
    {"messages": [{"role": "user", "content": "a" * 50_000}]},
    {"structured_outputs": {"regex": "[ab]{20}"}, "metadata": {"a": "b" * 50_000}, "n": 2},
    {"structured_outputs": {"grammar": "start: item"}, "metadata": {"a": "b" * 50_000}},
]


def stop(link: Any) -> None:
    """Stop a process, and wait until it stands still: its threads go on until one of them has seen the signal."""
    os.kill(link.process.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, link.process.pid, os.WSTOPPED | os.WNOWAIT)


class Servers:
    """Three servers of one model: one makes grammars in threads, one in the quick process, and one moves all answers to
    the slow one, at their first masks at the latest."""

    def __init__(self, addresses: Sequence[str], app: Any) -> None:
        self.addresses = addresses
        self.link = lambda: app.state.server.preparing.quick._link
        self.model = app.state.server.engine.decoder.model.model
        self.n_running = lambda: app.state.server.engine.counts()[0]

    def post(self, body: dict[str, Any], which: int = 1) -> Any:
        url = f"{self.addresses[which]}/v1/chat/completions"
        return httpx.post(url, json={**BODY, **body}, timeout=PATIENCE)

    def stream(self, body: dict[str, Any]) -> Any:
        url = f"{self.addresses[1]}/v1/chat/completions"
        return httpx.stream("POST", url, json={**BODY, **body, "stream": True}, timeout=PATIENCE)


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    tokenizer = tokenizer_with_template()
    kinds: list[dict[str, Any]] = [{}, *({"is_apart": True, **both(seconds)} for seconds in (10, 1e-9))]
    apps = [create_app(tiny_llama(tokenizer), tokenizer, Options(name="m", slots=4, **kind)) for kind in kinds]
    with ExitStack() as stack:
        yield Servers([stack.enter_context(serving(app)) for app in apps], apps[1])
    for app in apps[1:]:
        for process in app.state.server.preparing._all():
            assert process._link.process.poll() is not None


@pytest.mark.parametrize("body", BODIES, ids=[json.dumps(body)[:60] for body in BODIES])
def test_the_same_answers_as_in_threads(servers: Servers, body: dict[str, Any]) -> None:
    found = [servers.post(body, which) for which in range(3)]
    assert found[0].status_code == found[1].status_code == found[2].status_code
    if found[0].status_code == 200:
        shown = [each.json() for each in found]
        for one in shown:
            for choice in one["choices"]:
                for call in choice["message"].get("tool_calls", []):
                    del call["id"]
        for part in ("choices", "usage"):
            assert shown[0][part] == shown[1][part] == shown[2][part]
        assert shown[0]["usage"]["completion_tokens"] > 0
    else:
        assert found[0].json() == found[1].json() == found[2].json()


def test_a_process_that_ends(servers: Servers) -> None:
    """Answers whose masks it made end with an error, free text goes on, and the next request has a new process."""
    found: dict[str, Any] = {}
    bodies = {
        "free": {"max_tokens": 200},
        "bound": {"structured_outputs": {"regex": "[ab]{3000}"}, "max_tokens": 3000, "stream": True},
    }
    threads = [
        threading.Thread(target=lambda name=name: found.update({name: servers.post(bodies[name])})) for name in bodies
    ]
    for thread in threads:
        thread.start()
    link = servers.link()
    end = time.monotonic() + PATIENCE
    while servers.n_running() < 2 and time.monotonic() < end:
        time.sleep(0.001)
    link.process.kill()
    for thread in threads:
        thread.join()
    bound = found["bound"]
    if bound.status_code == 200:  # it had begun
        assert "send the request again" in bound.text and "[DONE]" not in bound.text
    else:
        assert bound.status_code == 503 and bound.json()["error"]["code"] == "restarting"
    assert found["free"].status_code == 200
    after = servers.post({"structured_outputs": {"regex": "ab{3}c"}})
    assert after.json()["choices"][0]["message"]["content"] == "abbbc"
    assert servers.link() is not link


def test_a_process_that_hangs_while_masks_are_waited_for(
    servers: Servers, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Free text goes on, and the answers that wait for masks end when the process has been silent for too long."""
    forward = servers.model.forward

    def slowly(**given: Any) -> Any:
        time.sleep(0.002)  # so that free text is not complete before
        return forward(**given)

    monkeypatch.setattr(servers.model, "forward", slowly)
    eos = tokenizer_with_template().eos_token_id
    link = servers.link()
    bound = {"structured_outputs": {"regex": "[ab]{3000}"}, "max_tokens": 3000}
    free = {"max_tokens": 3000, "logit_bias": {str(eos): -100}}
    with servers.stream(bound) as response, servers.stream(free) as other:
        lines, other_lines = response.iter_lines(), other.iter_lines()
        assert next(lines) and next(other_lines)
        stop(link)
        for _ in range(100):
            assert next(other_lines) != "data: [DONE]"
        assert link.process.poll() is None and not link.is_lost
        monkeypatch.setattr(link_module, "SILENT_SECONDS", 0.5)
        last = [line for line in lines if line][-1]
        assert json.loads(last.removeprefix("data: "))["error"]["code"] == "restarting"
        assert link.process.wait(PATIENCE) == -signal.SIGKILL
        monkeypatch.setattr(link_module, "SILENT_SECONDS", 60)
        for _ in range(100):  # after the end of the process, too
            assert next(other_lines) != "data: [DONE]"
    assert "has answered nothing" in caplog.text
    after = servers.post({"structured_outputs": {"regex": "ab{3}c"}})
    assert after.json()["choices"][0]["message"]["content"] == "abbbc"
    assert servers.link() is not link


def test_nothing_is_left_behind() -> None:
    """What the process has of an answer is gone when the server says that the answer has ended."""
    tokenizer = tokenizer_with_template()
    preparer = Preparer(Vocabulary.from_transformers(tokenizer), tokenizer, "hermes", Options(name="m"), 4096)
    (bodies, their_bodies), (masks, their_masks) = Pipe(), Pipe()
    served = Served(preparer, their_bodies, their_masks)
    threads = [threading.Thread(target=read) for read in (served.read_bodies, served.read_masks)]
    for thread in threads:
        thread.start()
    lost: list[int] = []
    askers = [Asker(pipe, lambda: lost.append(1)) for pipe in (bodies, masks)]
    body = json.dumps({**BODY, "structured_outputs": {"regex": "ab{3}c"}, "n": 3}).encode()
    (prepared, demand, matchings, _), n_grammars = askers[0].ask("prepare", body, "chat").result(PATIENCE)
    assert prepared.request.n == demand.n == len(matchings) == len(served._matchings) == 3 and n_grammars == 1
    for number, eos in matchings:
        assert eos == {tokenizer.eos_token_id}
        row = askers[1].ask("make", number, None, None).result(PATIENCE)
        assert row.any()
        assert (served._matchings[number]._row == row).all()
        askers[1].tell("close", number)
    end = time.monotonic() + PATIENCE
    while served._matchings and time.monotonic() < end:
        time.sleep(0.001)
    assert not served._matchings
    with pytest.raises(ApiError, match="given up"):  # no mask at all would be one that allows everything
        askers[1].ask("make", matchings[0][0], None, None).result(PATIENCE)
    broken = json.dumps({**BODY, "structured_outputs": {"grammar": "start: item"}}).encode()
    with pytest.raises(ApiError, match="rule `item` is not defined"):
        askers[0].ask("prepare", broken, "chat").result(PATIENCE)
    for pipe in (their_bodies, their_masks):
        with socket.socket(fileno=os.dup(pipe.fileno())) as end:
            end.shutdown(socket.SHUT_RDWR)  # as if the process had ended: `close` would not wake who reads
    for asker in askers:
        asker.thread.join()
    assert lost == [1, 1]
    with pytest.raises(ApiError, match="has ended"):
        askers[1].ask("make", 0, None, None).result(PATIENCE)
    for asker in askers:
        asker.close()
    served.workers.close()
    for thread in threads:
        thread.join()


def test_a_slow_process_that_ends() -> None:
    """It takes the answers that it has with it, and nothing else. The next one that is slow starts it again."""
    made = not_started(1e-9)
    made.start()
    try:
        body = json.dumps({**BODY, "structured_outputs": {"regex": "[ab]{9}"}, "n": 2}).encode()
        masks = made.prepare(body, "chat", Leaving()).result(PATIENCE).masks
        assert all(one.after(None, None).result(PATIENCE).any() for one in masks)  # they are in the slow process now
        quick, slow = made.quick._link, made.slow._link
        assert masks[0]._link is masks[1]._link is slow
        slow.process.kill()
        for one in masks:
            error: Any = one.after(ord("a"), None).exception(PATIENCE)
            assert (error.status, error.code) == (503, "restarting")
            one.close()
        assert made.prepare(json.dumps(BODY).encode(), "chat", Leaving()).result(PATIENCE).prompt  # free text
        (again,) = made.prepare(body.replace(b'"n": 2', b'"n": 1'), "chat", Leaving()).result(PATIENCE).masks
        assert again.after(None, None).result(PATIENCE).any()
        assert made.quick._link is quick and made.slow._link is not slow
        long = json.dumps({**BODY, "metadata": {"a": "b" * grammar_process.QUICK_BYTES}}).encode()
        for process in (quick, made.slow._link):
            process.process.kill()
        assert made.prepare(long, "chat", Leaving()).result(PATIENCE).prompt  # neither of them reads what is long
        assert made.quick._link is quick
    finally:
        made.close()


def test_what_is_nested_as_deeply_as_may_be_comes_back(servers: Servers) -> None:
    deep = "[" * (MAX_DEPTH - 2) + "]" * (MAX_DEPTH - 2)  # within the members of the body and beside their names
    text = '{"model": "m", "max_output_tokens": 4, "input": "hi", "metadata": {"a": %s}}'
    url, headers = f"{servers.addresses[1]}/v1/responses", {"content-type": "application/json"}
    found = httpx.post(url, content=text % deep, headers=headers, timeout=PATIENCE)
    assert found.status_code == 200 and found.json()["metadata"] == {"a": json.loads(deep)}
    found = httpx.post(url, content=text % f"[{deep}]", headers=headers, timeout=PATIENCE)
    assert found.status_code == 400 and f"more than {MAX_DEPTH} deep" in found.text


def test_an_answer_that_cannot_be_sent_is_an_error(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing would come back otherwise, and the request would wait until its time is over."""
    mine, theirs = Pipe()
    preparer: Any = SimpleNamespace(options=Options(), kind="slow")
    served = Served(preparer, theirs, theirs)
    deep: list[Any] = []
    for _ in range(2000):
        deep = [deep]
    served._answer(theirs, 7, lambda: deep)
    assert mine.poll(PATIENCE)
    number, error, found = mine.recv()
    assert (number, error.status, found) == (7, 500, None) and "cannot be sent" in caplog.text
    served.workers.close()
    for pipe in (mine, theirs):
        pipe.close()


def not_started(seconds: float = 10) -> GrammarProcesses:
    tokenizer = tokenizer_with_template()
    options = Options(name="m", **both(seconds))
    return GrammarProcesses(Vocabulary.from_transformers(tokenizer), tokenizer, "hermes", options, 1 << 22)


@pytest.fixture
def process() -> Iterator[GrammarProcesses]:
    """A process that has answered a body."""
    made = not_started()
    made.start()
    try:
        assert made.prepare(json.dumps(BODY).encode(), "chat", Leaving()).result(PATIENCE).prompt
        yield made
    finally:
        made.close()


def test_a_process_that_hangs_does_not_delay_the_end(
    process: GrammarProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grammar_process, "QUICK_BYTES", 1 << 30)
    link: Any = process.quick._link
    stop(link)
    long = {**BODY, "messages": [{"role": "user", "content": "h" * 2_000_000}]}  # more than a pipe takes
    waiting = [process.prepare(json.dumps(long).encode(), "chat", Leaving()) for _ in range(3)]
    time.sleep(0.2)  # so that the first one is being sent
    thread = threading.Thread(target=process.close, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive() and link.process.poll() == -signal.SIGKILL
    codes = [one.exception(PATIENCE).code for one in waiting]  # type: ignore[union-attr]
    assert codes == ["restarting", "stopping", "stopping"]
    late: Any = process.prepare(b"{}", "chat", Leaving()).exception(PATIENCE)
    assert (late.status, late.code) == (503, "stopping")


def test_what_the_processes_get_of_the_cores(process: GrammarProcesses) -> None:
    links: list[Any] = [each._link for each in (process.quick, process.medium, process.long, process.slow)]
    found = [os.getpriority(os.PRIO_PROCESS, link.process.pid) for link in links]
    least = os.getpriority(os.PRIO_PROCESS, 0)
    assert found == [min(least + more, 19) for more in (0, 5, 5, 15)]


@pytest.mark.parametrize("ends", ["killed", "hangs"])
@pytest.mark.parametrize("name", ["long", "medium"])
def test_another_process_that_ends(
    process: GrammarProcesses, monkeypatch: pytest.MonkeyPatch, name: str, ends: str
) -> None:
    """What it was asked ends with an error, all else goes on, and it is started again."""
    one: GrammarProcess = getattr(process, name)
    link: Any = one._link
    short = json.dumps({**BODY, "structured_outputs": {"regex": "[ab]{9}"}}).encode()
    long = json.dumps({**BODY, "structured_outputs": {"choice": ["b" * grammar_process.QUICK_CHARACTERS]}}).encode()
    (masks,) = process.prepare(short, "chat", Leaving()).result(PATIENCE).masks
    stop(link)
    waiting = process.prepare(long, "chat", Leaving())
    wait_for(lambda: link.bodies.oldest() is not None)
    row = masks.after(None, None).result(PATIENCE)
    if ends == "killed":
        link.process.kill()
    else:
        monkeypatch.setattr(link_module, "SILENT_SECONDS", 0.05)
    error: Any = waiting.exception(PATIENCE)
    assert (error.status, error.code) == (503, "restarting")
    monkeypatch.undo()
    (again,) = process.prepare(long, "chat", Leaving()).result(PATIENCE).masks
    assert again.after(None, None).result(PATIENCE).any() and one._link is not link
    allowed = int(np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))[0])
    assert masks.after(allowed, None).result(PATIENCE).any()  # of the quick process


def test_a_process_that_hangs_is_ended(process: GrammarProcesses, monkeypatch: pytest.MonkeyPatch) -> None:
    link: Any = process.quick._link
    monkeypatch.setattr(link_module, "SILENT_SECONDS", 0.5)
    time.sleep(1.5)  # one that is asked for nothing is left alone
    assert not link.is_lost
    stop(link)
    error: Any = process.prepare(json.dumps(BODY).encode(), "chat", Leaving()).exception(PATIENCE)
    assert (error.status, error.code) == (503, "restarting") and link.is_lost
    monkeypatch.undo()
    assert process.prepare(json.dumps(BODY).encode(), "chat", Leaving()).result(PATIENCE).prompt
    assert process.quick._link is not link


def test_a_process_that_hangs_has_made_no_mask(process: GrammarProcesses, monkeypatch: pytest.MonkeyPatch) -> None:
    body = {**BODY, "structured_outputs": {"regex": "[ab]{9}"}, "n": 2}
    link: Any = process.quick._link
    masks = process.prepare(json.dumps(body).encode(), "chat", Leaving()).result(PATIENCE).masks
    assert masks[0].after(None, None).result(PATIENCE).any()
    stop(link)
    waiting = [masks[0].after(ord("a"), None), masks[1].after(None, None), process.prepare(b"{}", "chat", Leaving())]
    wait_for(lambda: link.bodies.oldest() is not None)  # it is sent to this process, not to the next
    monkeypatch.setattr(link_module, "SILENT_SECONDS", 0.5)
    errors: list[Any] = [one.exception(PATIENCE) for one in waiting]
    assert [(error.status, error.code) for error in errors] == [(503, "restarting")] * 3
    late: Any = masks[1].after(None, None).exception(PATIENCE)  # at once: nothing is asked
    assert late.code == "restarting"
    for each in masks:
        each.close()


def test_the_end_does_not_wait_for_a_process_that_starts() -> None:
    made = not_started()
    errors: list[BaseException] = []

    def start() -> None:
        try:
            made.start()
        except BaseException as error:
            errors.append(error)

    starting = threading.Thread(target=start)
    starting.start()
    wait_for(lambda: made.quick._link is not None)
    link: Any = made.quick._link
    stop(link)  # it would never be ready
    made.close()
    starting.join(PATIENCE)
    assert not starting.is_alive() and link.process.poll() == -signal.SIGKILL
    assert isinstance(errors[0], RuntimeError) and "has ended with -9" in str(errors[0])
    with pytest.raises(ApiError, match="is stopping"):
        made.start()
    assert made.quick._link is link  # nothing was started


def test_the_end_does_not_wait_for_a_process_that_starts_again(
    process: GrammarProcesses, caplog: pytest.LogCaptureFixture
) -> None:
    link: Any = process.quick._link
    link.process.kill()
    wait_for(lambda: link.is_lost)
    waiting = [process.prepare(json.dumps(BODY).encode(), "chat", Leaving()) for _ in range(3)]
    wait_for(lambda: process.quick._link is not link)
    again: Any = process.quick._link
    stop(again)
    process.close()
    assert again.process.poll() == -signal.SIGKILL
    errors: list[Any] = [one.exception(PATIENCE) for one in waiting]
    assert [(error.status, error.code) for error in errors] == [(503, "stopping")] * 3
    assert "cannot be reached" not in caplog.text


@pytest.mark.parametrize("length", [10, 2_000_000], ids=["sent", "half sent"])
def test_a_process_that_is_killed_in_the_middle_of_a_body(
    process: GrammarProcesses, monkeypatch: pytest.MonkeyPatch, length: int
) -> None:
    monkeypatch.setattr(grammar_process, "QUICK_BYTES", 1 << 30)
    link: Any = process.quick._link
    stop(link)  # so that it has not answered
    body = {**BODY, "messages": [{"role": "user", "content": "h" * length}]}
    waiting = [process.prepare(json.dumps(body).encode(), "chat", Leaving())]
    wait_for(lambda: link.bodies.oldest() is not None)
    waiting.append(process.prepare(json.dumps(BODY).encode(), "chat", Leaving()))
    link.process.kill()
    first: Any = waiting[0].exception(PATIENCE)
    assert (first.status, first.code) == (503, "restarting") and link.is_lost
    # The next one was sent to the same process, or is the first that is sent to the new one.
    second: Any = waiting[1].exception(PATIENCE)
    assert second is None or second.code == "restarting"
    assert process.prepare(json.dumps(BODY).encode(), "chat", Leaving()).result(PATIENCE).prompt
    assert process.quick._link is not link


def test_half_an_answer_is_a_lost_process() -> None:
    mine, theirs = Pipe()
    lost: list[int] = []
    asker = Asker(mine, lambda: lost.append(1))
    waiting = asker.ask("a")
    os.write(theirs.fileno(), struct.pack("!i", 100) + b"x" * 10)  # the head of a message of 100 bytes, and ten of them
    theirs.close()
    error: Any = waiting.exception(PATIENCE)
    assert error.code == "restarting" and lost == [1]
    asker.thread.join(PATIENCE)
    asker.close()


def test_what_cannot_be_read_ends_the_process(process: GrammarProcesses) -> None:
    for name in ("bodies", "masks"):
        link: Any = process.quick._link
        asker = getattr(link, name)
        waiting = asker.ask("nothing that it knows") if name == "masks" else None
        if waiting is None:
            with asker._lock:
                asker._connection.send_bytes(b"no pickle")
        assert link.process.wait(PATIENCE) in (1, -signal.SIGKILL)  # the second, if the first is not yet over
        if waiting is not None:
            assert waiting.exception(PATIENCE).code == "restarting"
        asker.thread.join(PATIENCE)
        assert link.is_lost
        assert process.prepare(json.dumps(BODY).encode(), "chat", Leaving()).result(PATIENCE).prompt


def test_an_answer_that_cannot_be_read_is_a_lost_process() -> None:
    mine, theirs = Pipe()
    lost: list[int] = []
    asker = Asker(mine, lambda: lost.append(1))
    waiting = asker.ask("a")
    theirs.send_bytes(b"no pickle")
    error: Any = waiting.exception(PATIENCE)
    assert error.code == "restarting" and lost == [1]
    asker.thread.join(PATIENCE)
    late: Any = asker.ask("b").exception(PATIENCE)
    assert late.code == "restarting"
    asker.close()
    asker.tell("c")
    theirs.close()


def test_the_process_is_not_ended_by_a_signal_to_its_group(process: GrammarProcesses) -> None:
    link: Any = process.quick._link
    os.kill(link.process.pid, signal.SIGTERM)
    assert process.prepare(json.dumps(BODY).encode(), "chat", Leaving()).result(PATIENCE).prompt
    assert link.process.poll() is None and process.quick._link is link


def test_arguments_that_cannot_be_sent_leave_no_process() -> None:
    made = GrammarProcesses(lambda: None)
    with pytest.raises((AttributeError, TypeError, pickle.PicklingError)):
        made.start()
    links: list[Any] = [each._link for each in made._all() if each._link is not None]
    assert links and all(link.process.poll() is not None for link in links)
    made.close()
