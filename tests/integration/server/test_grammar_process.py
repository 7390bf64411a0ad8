"""Bodies, grammars and masks in processes of their own: the same answers, answers that move, processes that end."""

from __future__ import annotations

import json
import os
import pickle
import pickletools
import random
import signal
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
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

from earleymask import Grammar, Matcher, Vocabulary, allocate_bitmask  # noqa: E402
from earleymask.integration.server import grammar_process, preparing  # noqa: E402
from earleymask.integration.server import link as link_module  # noqa: E402
from earleymask.integration.server.app import create_app  # noqa: E402
from earleymask.integration.server.constraints import LIMITS  # noqa: E402
from earleymask.integration.server.errors import ApiError  # noqa: E402
from earleymask.integration.server.fields import MAX_DEPTH  # noqa: E402
from earleymask.integration.server.grammar_process import GrammarProcess, GrammarProcesses, then  # noqa: E402
from earleymask.integration.server.link import Asker, unanswered  # noqa: E402
from earleymask.integration.server.options import Kind, Options  # noqa: E402
from earleymask.integration.server.preparing import Leaving, Preparer, Slow  # noqa: E402
from earleymask.integration.server.served import Served  # noqa: E402

torch.set_num_threads(1)

PATIENCE = 120
BODY: dict[str, Any] = {
    "model": "m",
    "messages": [{"role": "user", "content": "hi"}],
    "max_tokens": 60,
    "temperature": 0,
}
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


def both(seconds: float) -> dict[str, float]:
    """Return options by which both processes that give up what is slow do so after these seconds."""
    return {"quick_seconds": seconds, "medium_seconds": seconds}


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


class Local:
    """Stands for a process, in threads of this one."""

    n_grammars = 0

    def __init__(self, preparer: Preparer, next: Local | None = None) -> None:
        self.next = next
        (bodies, their_bodies), (masks, their_masks) = Pipe(), Pipe()
        self.preparer = preparer
        self.served = Served(preparer, their_bodies, their_masks)
        self.bodies, self.masks = Asker(bodies, lambda: None), Asker(masks, lambda: None)
        self._pipes = their_bodies, their_masks
        self._threads = [threading.Thread(target=read) for read in (self.served.read_bodies, self.served.read_masks)]
        for thread in self._threads:
            thread.start()

    def ask(self, *what: Any) -> Any:
        future = unanswered()
        then(self.bodies.ask(*what), future, lambda counted: future.set_result((self, counted[0])))
        return future

    def tell(self, *what: Any) -> None:
        self.masks.tell(*what)

    def close(self) -> None:
        for pipe in self._pipes:
            with socket.socket(fileno=os.dup(pipe.fileno())) as end:
                end.shutdown(socket.SHUT_RDWR)  # as if the process had ended: `close` would not wake who reads
        for asker in (self.bodies, self.masks):
            asker.thread.join()
            asker.close()
        self.served.workers.close()
        for thread in self._threads:
            thread.join()


@pytest.fixture
def local() -> Iterator[GrammarProcesses]:
    """All processes, in threads of this one."""
    tokenizer = tokenizer_with_template()
    given = Vocabulary.from_transformers(tokenizer), tokenizer, "hermes", Options(name="m", **both(10)), 4096
    made = GrammarProcesses(*given)
    here: Any = made
    next: Any = None
    for kind in ("slow", "medium", "quick", "long"):
        next = Local(Preparer(*given, kind=kind), next)
        setattr(here, kind, next)
    yield made
    for one in here._all():  # all that was told before has arrived
        one.tell("drop", -1)
        wait_for(lambda one=one: -1 in one.served._dropped)
        one.tell("forget", -1)
        wait_for(lambda one=one: not one.served._dropped and not one.served._matchings)
    made.close()


GRAMMAR = 'start: ("[" start "]" | /[a-c]+/)~1..4'


def refuse(*_: Any) -> Any:
    raise Slow


@pytest.mark.parametrize("is_accepted", [False, True], ids=["before its token is accepted", "after it"])
@pytest.mark.parametrize(
    "then_at", [None, -1, 0, 3], ids=["medium", "slow at once", "slow at its first mask", "slow later"]
)
@pytest.mark.parametrize("place", range(-1, 6))
def test_an_answer_that_becomes_slow_goes_on_elsewhere(
    local: Any, place: int, then_at: int | None, is_accepted: bool
) -> None:
    """Its masks are those that one matcher makes, wherever it is moved: before its first mask if `place` is -1, and
    later once more."""

    def make_until(process: Any, place: int) -> None:
        """Let a process refuse the mask at a place, and those after it."""
        make = process.preparer.make

        def made(matching: Any, token: int | None, remaining: int | None) -> Any:
            if matching._n_tokens + (token is not None) < place:
                return make(matching, token, remaining)
            if token is not None and is_accepted:
                matching.follow([token])
            raise Slow

        process.preparer.make = made
        if place < 0:
            process.preparer.match = refuse

    quick = local.quick
    make_until(quick, place)
    if then_at is not None:
        make_until(local.medium, max(place, 0) + then_at if then_at >= 0 else -1)
    body = json.dumps({**BODY, "structured_outputs": {"grammar": GRAMMAR}, "n": 2, "fit_max_tokens": True}).encode()
    found = local.prepare(body, "chat", Leaving()).result(PATIENCE)
    began = quick if place >= 0 else local.slow if then_at == -1 else local.medium
    assert {id(one): len(one.served._matchings) for one in local._all()} == {
        id(one): 2 * (one is began) for one in local._all()
    }
    vocabulary = quick.preparer.vocabulary
    for seed, masks in enumerate(found.masks):
        rng = random.Random(seed)
        matcher = Matcher(Grammar.from_lark(GRAMMAR), vocabulary)
        assert masks.eos_token_ids == set(matcher.eos_token_ids)
        row = allocate_bitmask(1, vocabulary)[0]
        token: int | None = None
        for left in range(20, 0, -1):
            matcher.fill_bitmask(row, remaining=left)
            assert (masks.after(token, left).result(PATIENCE) == row).all()
            token = rng.choice([one for one in range(vocabulary.size) if row[one // 32] >> one % 32 & 1])
            if token in masks.eos_token_ids:
                break
            assert matcher.accept(token)
        else:
            raise AssertionError("the budget is over, and the answer is not complete")
        masks.close()


@pytest.mark.parametrize("n_refused", [0, 1, 2], ids=["quick", "medium", "slow"])
@pytest.mark.parametrize("kind", ["grammar", "tools", "tool_choice"])
@pytest.mark.parametrize("length", [0, grammar_process.QUICK_BYTES, grammar_process.QUICK_CHARACTERS])
def test_where_a_body_is_read_and_its_grammar_loaded(local: Any, length: int, kind: str, n_refused: int) -> None:
    """The quick process loads the grammars of long bodies, too, unless these are long themselves. What is slow goes to
    one after the other."""
    order = ("quick", "medium", "slow")
    did: list[tuple[str, str]] = []

    def noted(name: str, what: str) -> Any:
        work = getattr(getattr(local, name).preparer, what)

        def note(*given: Any) -> Any:
            did.append((name, what))
            if what == "match" and name in order[:n_refused]:
                raise Slow
            return work(*given)

        return note

    for name in (*order, "long"):
        preparer = getattr(local, name).preparer
        preparer.read, preparer.match = noted(name, "read"), noted(name, "match")
    is_long, is_longer = length > 0, length == grammar_process.QUICK_CHARACTERS
    text = "// " + "b" * length + '\nstart: "ab"'
    bound: dict[str, Any] = {"n": 2}
    if kind == "grammar":
        bound |= {"structured_outputs": {"grammar": text}}
    else:
        of_tool = {"format": {"type": "grammar", "grammar": {"syntax": "lark", "definition": text}}}
        tools = [{"type": "custom", "custom": {"name": "f", **(of_tool if kind == "tools" else {})}}]
        one = {"type": "custom", "name": "f"}
        allowed = {"mode": "required", "tools": [one] * (1 + (kind == "tool_choice") * length // 20)}
        bound |= {"tools": tools, "tool_choice": {"type": "allowed_tools", "allowed_tools": allowed}}
    local.long.preparer.max_length = local.quick.preparer.max_length = 1 << 30
    for constraint in ({"metadata": {"a": text}}, bound):
        found = local.prepare(json.dumps({**BODY, **constraint}).encode(), "chat", Leaving()).result(PATIENCE)
        expected = [("long" if is_long else "quick", "read")]
        if "n" in constraint:
            expected += [(name, "match") for name in order[is_longer : max(n_refused, is_longer) + 1]]
            assert found.seconds > 0 and len(found.masks) == 2
            for masks in found.masks:
                assert masks.after(None, None).result(PATIENCE).any()
                masks.close()
        else:
            assert found.masks == [None]
        assert did == expected
        did.clear()


@pytest.mark.parametrize("is_new", [False, True], ids=["an answer", "a request"])
@pytest.mark.parametrize("where", ["medium", "slow"])
@pytest.mark.parametrize("has_begun", [False, True], ids=["before it is there", "while its grammar is loaded"])
def test_what_nobody_waits_for_while_it_is_moved(local: Any, has_begun: bool, where: str, is_new: bool) -> None:
    """Nothing is left of it, the one who waits is told, and nothing is loaded in vain."""
    process = getattr(local, where)
    if where == "slow":
        local.medium.preparer.match = refuse
    if is_new:
        local.quick.preparer.match = refuse
    local.quick.preparer.make = refuse
    match, begun, loaded = process.preparer.match, process.served._begun, []
    is_there, may_go_on = threading.Event(), threading.Event()

    def match_later(*given: Any) -> Any:
        is_there.set()
        if has_begun:
            assert may_go_on.wait(PATIENCE)
        loaded.append(given)
        return match(*given)

    def begun_later(*given: Any) -> Any:
        if not has_begun:
            is_there.set()
            assert may_go_on.wait(PATIENCE)
        return begun(*given)

    process.preparer.match, process.served._begun = match_later, begun_later
    body, leaving = json.dumps({**BODY, "structured_outputs": {"grammar": GRAMMAR}}).encode(), Leaving()
    waiting = local.prepare(body, "chat", leaving)
    if not is_new:
        (masks,) = waiting.result(PATIENCE).masks
        waiting = masks.after(None, None)
        wait_for(lambda: not local.quick.served._matchings)  # it is closed there when it is moved
    assert is_there.wait(PATIENCE)
    (leaving.say if is_new else masks.close)()
    wait_for(lambda: process.served._dropped)
    may_go_on.set()
    if is_new and has_begun:
        (masks,) = waiting.result(PATIENCE).masks  # they are there, and must be closed
        masks.close()
    else:
        error: Any = waiting.exception(PATIENCE)
        assert error.code == "given_up"
    assert len(loaded) == has_begun


def test_an_answer_that_is_closed_when_its_move_has_failed(local: Any) -> None:
    """The process is told nothing more about the move."""

    def fail(*_: Any) -> Any:
        raise ApiError(400, "too much", None, "grammar_too_costly")

    local.quick.preparer.make, local.medium.preparer.match = refuse, fail
    body = json.dumps({**BODY, "structured_outputs": {"grammar": GRAMMAR}}).encode()
    (masks,) = local.prepare(body, "chat", Leaving()).result(PATIENCE).masks
    error: Any = masks.after(None, None).exception(PATIENCE)
    assert error.message == "too much"
    masks.close()


@pytest.mark.parametrize("is_slow", [False, True], ids=["begun", "given up"])
def test_an_answer_that_is_closed_when_it_has_been_moved(local: Any, is_slow: bool) -> None:
    """The process has answered before it hears that the answer is closed."""
    local.quick.preparer.make = refuse
    if is_slow:
        local.medium.preparer.match = refuse
    ask, heard = local.medium.ask, threading.Event()

    def ask_and_close(*what: Any) -> Any:
        asked, future = ask(*what), unanswered()

        def close_first(_: Any) -> None:
            masks.close()
            heard.set()
            future.set_result(asked.result())

        asked.add_done_callback(close_first)
        return future

    local.medium.ask = ask_and_close
    body = json.dumps({**BODY, "structured_outputs": {"grammar": GRAMMAR}}).encode()
    (masks,) = local.prepare(body, "chat", Leaving()).result(PATIENCE).masks
    error: Any = masks.after(None, None).exception(PATIENCE)
    assert error.code == "given_up" and heard.is_set()


def test_a_client_that_leaves_early(local: Any) -> None:
    """The next process is not asked."""
    leaving = Leaving()

    def leave(*_: Any) -> Any:
        leaving.say()
        raise Slow

    local.quick.preparer.match = leave
    local.medium.ask = None
    body = json.dumps({**BODY, "structured_outputs": {"grammar": GRAMMAR}}).encode()
    error: Any = local.prepare(body, "chat", leaving).exception(PATIENCE)
    assert error.code == "given_up"


def test_who_hears_that_a_client_leaves() -> None:
    leaving, called = Leaving(), []
    leaving.when_said(lambda: called.append(1))
    leaving.when_said(lambda: called.append(2))
    assert not called and not leaving.is_said
    leaving.say()
    assert called == [2] and leaving.is_said
    leaving.when_said(lambda: called.append(3))  # too late to wait for it
    assert called == [2, 3]


def test_what_is_refused_elsewhere_is_refused(local: Any) -> None:
    """What is too much for all processes, a grammar or a mask, ends with the error of the last."""
    quick, medium, slow = local.quick, local.medium, local.slow

    def fail(*_: Any) -> Any:
        raise ApiError(400, "too much", None, "grammar_too_costly")

    quick.preparer.make = medium.preparer.make = refuse
    slow.preparer.make = fail
    body = json.dumps({**BODY, "structured_outputs": {"grammar": GRAMMAR}}).encode()
    (masks,) = local.prepare(body, "chat", Leaving()).result(PATIENCE).masks
    error: Any = masks.after(None, None).exception(PATIENCE)
    assert error.message == "too much"
    masks.close()
    quick.preparer.match = medium.preparer.match = refuse
    slow.preparer.match = fail
    error = local.prepare(body, "chat", Leaving()).exception(PATIENCE)
    assert error.message == "too much"


def test_a_quick_preparer_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes long, also to be refused; and nothing else."""
    tokenizer = tokenizer_with_template()
    vocabulary = Vocabulary.from_transformers(tokenizer)
    patient, hasty = (
        Preparer(vocabulary, tokenizer, "hermes", Options(name="m", **both(seconds)), 4096, kind="quick")
        for seconds in (10, 1e-9)
    )
    good, bad = (
        patient.read(json.dumps({**BODY, "structured_outputs": each}).encode(), "chat")[1]
        for each in ({"regex": "a{5}"}, {"grammar": "start: item"})
    )
    assert good is not None and bad is not None
    for demand in (good, bad):
        with pytest.raises(Slow):
            hasty.match(demand)
    load, loaded = hasty.grammars.matcher, []
    monkeypatch.setattr(hasty.grammars, "matcher", lambda *given: (loaded.append(given), load(*given))[1])
    for seconds, n in ((60.0, 0), (0.0, 1)):  # it is known to be slow, and nothing is loaded; until the time is over
        monkeypatch.setattr(preparing, "SLOW_FOR", seconds)
        with pytest.raises(Slow):
            hasty.match(good)
        assert len(loaded) == n
    with pytest.raises(Slow):
        hasty.match(good._replace(budget=100))  # more is asked of it
    assert len(loaded) == 2
    with pytest.raises(ApiError, match="not defined"):
        patient.match(bad)
    (matching,) = patient.match(good)
    assert patient.make(matching, None, None).any()
    monkeypatch.setattr(matching, "_seconds", 200.0)  # as if its masks had taken so long
    with pytest.raises(Slow):
        patient.make(matching, None, None)


def test_what_each_process_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A grammar that takes longer than the quick one may take, and not longer than the medium one may."""
    options = Options(name="m", quick_seconds=1e-9, medium_seconds=10)
    kinds: list[Kind] = ["quick", "medium", "slow", "long"]
    assert [options.seconds(kind) for kind in kinds] == [1e-9, 10, None, None]
    tokenizer = tokenizer_with_template()
    vocabulary = Vocabulary.from_transformers(tokenizer)
    quick, medium, slow = (Preparer(vocabulary, tokenizer, "hermes", options, 4096, kind=kind) for kind in kinds[:3])
    demand = slow.read(json.dumps({**BODY, "structured_outputs": {"regex": "a{5}"}}).encode(), "chat")[1]
    assert demand is not None
    with pytest.raises(Slow):
        quick.match(demand)
    matchings = [preparer.match(demand)[0] for preparer in (medium, slow)]
    for preparer, matching, what in zip((medium, slow), matchings, (Slow, ApiError), strict=True):
        assert preparer.make(matching, None, None).any()
        monkeypatch.setattr(matching, "_seconds", 200.0)  # as if its masks had taken so long
        with pytest.raises(what):
            preparer.make(matching, None, None)


@pytest.mark.parametrize("endpoint", ["chat", "responses"])
@pytest.mark.parametrize("field", ["tools", "metadata", "messages"])
def test_what_is_long_leaves_the_process_as_text(field: str, endpoint: str) -> None:
    """The process of the model would have to make objects of it, and no pass can run meanwhile."""
    tokenizer = tokenizer_with_template()
    preparer = Preparer(Vocabulary.from_transformers(tokenizer), tokenizer, "hermes", Options(name="m"), 1 << 30)
    lists: list[Any] = [[]] * 10_000
    given: dict[str, Any] = {"model": "m", "metadata": {"a": lists}} if field == "metadata" else {"model": "m"}
    said: list[Any] = [{"role": "user", "content": "hi"}] * (5_000 if field == "messages" else 1)
    given["messages" if endpoint == "chat" else "input"] = said
    if field == "tools":
        inner = {"name": "f", "parameters": {"type": "object", "default": lists}}
        given["tools"] = [
            {"type": "function", "function": inner} if endpoint == "chat" else {"type": "function", **inner}
        ]
    found, _ = preparer.read(json.dumps(given).encode(), endpoint)
    marks = Counter(code.name for code, _, _ in pickletools.genops(pickle.dumps(found._replace(prompt=[]))))
    assert sum(marks[name] for name in ("EMPTY_LIST", "EMPTY_DICT", "EMPTY_TUPLE", "TUPLE")) < 100
    if endpoint == "responses" and field != "messages":
        echo = json.loads(found.request.echo)
        assert (
            len(echo["metadata"]["a"] if field == "metadata" else echo["tools"][0]["parameters"]["default"]) == 10_000
        )


def test_options_that_make_no_sense() -> None:
    for seconds in (0.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="quick_seconds must be more than 0"):
            Options(quick_seconds=seconds)
    for seconds in (0.09, float("nan")):
        with pytest.raises(ValueError, match=r"medium_seconds=.* must be at least quick_seconds=0.1"):
            Options(quick_seconds=0.1, medium_seconds=seconds)


def test_tools_together_take_as_long_as_one() -> None:
    """Each custom tool has a grammar of its own. All of them are bounded together."""
    tokenizer = tokenizer_with_template()
    options = Options(name="m", limits=replace(LIMITS, load_seconds=0.1, seconds=0.1))
    vocabulary = Vocabulary.from_transformers(tokenizer)
    preparer = Preparer(vocabulary, tokenizer, "hermes", options, 1 << 22)
    words = [[f"{tool}_{number}" for number in range(200)] for tool in range(200)]
    tools = [
        {
            "type": "custom",
            "custom": {
                "name": f"tool_{index}",
                "format": {
                    "type": "grammar",
                    "grammar": {"syntax": "lark", "definition": "start: " + " | ".join(map(json.dumps, some))},
                },
            },
        }
        for index, some in enumerate(words)
    ]
    _, demand = preparer.read(json.dumps({**BODY, "tools": tools}).encode(), "chat")
    assert demand is not None
    one = demand.tools._replace(definitions=json.dumps(tools[:1]))
    Preparer(vocabulary, tokenizer, "hermes", Options(name="m"), 1 << 22).match(demand._replace(tools=one))  # warms up
    (matching,) = preparer.match(demand._replace(tools=one))
    assert preparer.make(matching, None, None).any()
    began = time.thread_time()
    with pytest.raises(ApiError) as caught:
        preparer.match(demand)
    assert caught.value.code == "grammar_too_costly" and time.thread_time() - began < 2


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


def wait_for(is_so: Any) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.001)


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
