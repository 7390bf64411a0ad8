"""What must not stop a server: clients that go away, hostile grammars, long prompts, a model that raises."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from support.tiny_server import serving, tiny_llama, tokenizer_with_template

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
httpx = pytest.importorskip("httpx")

from earleymask.integration.server.app import create_app  # noqa: E402
from earleymask.integration.server.errors import given_up  # noqa: E402
from earleymask.integration.server.link import unanswered  # noqa: E402
from earleymask.integration.server.options import Options  # noqa: E402

torch.set_num_threads(1)

FREE: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
# Without the end of the text, an answer goes on until it is cut.
ENDLESS = {**FREE, "structured_outputs": {"regex": "a{3000}"}, "max_tokens": 3000}
SHORT = {**FREE, "structured_outputs": {"regex": "ab{3}c"}, "max_tokens": 20}
AMBIGUOUS = (
    "start: "
    + " | ".join(f"r{i}" for i in range(700))
    + "\n"
    + "\n".join(f'r{i}: r{(7 * i + 1) % 700} r{(3 * i + 2) % 700} | r{(5 * i + 3) % 700} | "a"' for i in range(700))
)
"""Each further letter takes this grammar longer than the letters before it together."""

PATIENCE = 120
"""Seconds after which a test gives up. No test is about time: the machine may be busy."""


class Served:
    """A server with two slots, and its parts."""

    def __init__(self, address: str, app: Any) -> None:
        self.address = address
        self.server = app.state.server
        self.model = self.server.engine.decoder.model.model

    def post(self, body: Any, path: str = "chat/completions", **options: Any) -> Any:
        return httpx.post(f"{self.address}/v1/{path}", json=body, timeout=PATIENCE, **options)

    def post_hastily(self, body: Any) -> None:
        """Leave when nothing has come for a while."""
        hasty = httpx.Timeout(PATIENCE, read=0.3)
        httpx.post(f"{self.address}/v1/chat/completions", json=body, timeout=hasty)

    def stream(self, body: Any) -> Any:
        path = f"{self.address}/v1/chat/completions"
        return httpx.stream("POST", path, json={**body, "stream": True}, timeout=PATIENCE)

    def is_idle(self) -> bool:
        """Wait until no answer has a slot or waits for one."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self.server.engine.counts() == (0, 0) and self.server._n_open == 0:
                return True
            time.sleep(0.01)
        return False

    def counts(self, *statuses: int, become: tuple[int, ...]) -> bool:
        """Wait until so many chat completions have ended with these statuses, and so many times have been observed."""
        end = time.monotonic() + PATIENCE
        while (*map(self.counted, statuses), self.n_timed()) != become and time.monotonic() < end:
            time.sleep(0.01)
        return (*map(self.counted, statuses), self.n_timed()) == become

    def counted(self, status: int) -> int:
        """Return how many chat completions have ended with a status."""
        key = ("earleymask_requests_total", f'endpoint="chat",status="{status}"')
        return int(self.server.metrics._counters.get(key, 0))

    def n_timed(self) -> int:
        """Return how many times of requests have been observed."""
        return sum(self.server.metrics._buckets.get("earleymask_request_seconds", []))

    def answers(self) -> bool:
        found = self.post(SHORT)
        return found.status_code == 200 and found.json()["choices"][0]["message"]["content"] == "abbbc"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let the model wait before each pass."""
        forward, goes_on = self.model.forward, threading.Event()

        def waiting(**given: Any) -> Any:
            goes_on.wait(PATIENCE)
            return forward(**given)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self.model, "forward", waiting)
            try:
                yield
            finally:
                goes_on.set()


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    tokenizer = tokenizer_with_template()
    options = Options(name="m", slots=2, queue=3, api_key="key", body_bytes=100_000, request_seconds=PATIENCE)
    app = create_app(tiny_llama(tokenizer), tokenizer, options)

    async def stallable(scope: Any, receive: Any, send: Any) -> None:
        """Let a client read nothing after the head of its answer, if it says so: its buffers are full."""

        async def stalls(message: Any) -> None:
            if message["type"] == "http.response.body":
                await asyncio.Event().wait()
            await send(message)

        is_stalled = (b"x-stalls", b"1") in scope.get("headers", ())
        await app(scope, receive, stalls if is_stalled else send)

    with serving(stallable) as address, pytest.MonkeyPatch.context() as patch:
        post, stream = httpx.post, httpx.stream
        headers = {"authorization": "Bearer key"}
        patch.setattr(httpx, "post", lambda *given, **options: post(*given, **{"headers": headers, **options}))
        patch.setattr(httpx, "stream", lambda *given, **options: stream(*given, **{"headers": headers, **options}))
        yield Served(address, app)


def test_a_key_is_demanded(served: Served) -> None:
    assert served.post(SHORT, headers={}).status_code == 401
    found = served.post(SHORT, headers={"authorization": "Bearer other"})
    assert found.status_code == 401 and found.json()["error"]["code"] == "invalid_api_key"
    for given, status in (
        ("bearer key", 200),
        ("Basic key", 401),
        ("key", 401),
    ):
        assert httpx.get(f"{served.address}/v1/models", headers={"authorization": given}).status_code == status, given
    assert httpx.get(f"{served.address}/v1/models").status_code == 401
    assert httpx.get(f"{served.address}/health").status_code == 200


def test_errors_say_what_is_allowed(served: Served) -> None:
    found = httpx.get(f"{served.address}/v1/chat/completions")
    assert (found.status_code, found.headers["allow"]) == (405, "POST")
    assert found.json()["error"]["type"] == "invalid_request_error"
    assert served.post(SHORT, headers={}).headers["www-authenticate"] == "Bearer"


def test_a_server_that_ends_says_so() -> None:
    """Answers for which the program that serves the application does not wait end with an error that clients read."""
    tokenizer = tokenizer_with_template()
    app = create_app(tiny_llama(tokenizer), tokenizer, Options(name="m", slots=2))
    whole: list[Any] = []
    streamed: list[str] = []
    with serving(app, seconds_to_end=1) as address:
        served = Served(address, app)
        forward = served.model.forward

        def slowly(**given: Any) -> Any:
            time.sleep(0.05)
            return forward(**given)

        def read() -> None:
            with served.stream(ENDLESS) as response:
                streamed.extend(response.iter_lines())

        served.model.forward = slowly
        threads = [threading.Thread(target=lambda: whole.append(served.post(ENDLESS))), threading.Thread(target=read)]
        for thread in threads:
            thread.start()
        end = time.monotonic() + PATIENCE
        while (served.server.engine.counts()[0] < 2 or len(streamed) < 4) and time.monotonic() < end:
            time.sleep(0.01)
    for thread in threads:
        thread.join(PATIENCE)
    assert whole[0].status_code == 503 and whole[0].headers["retry-after"] == "1"
    assert whole[0].json()["error"]["code"] == "stopping"
    last = [line for line in streamed if line][-1]
    assert json.loads(last.removeprefix("data: "))["error"]["code"] == "stopping"
    assert served.counted(503) == 2


def test_a_client_that_leaves_a_stream_frees_its_slot(served: Served) -> None:
    for _ in range(3):
        with served.stream(ENDLESS) as response:
            assert response.status_code == 200
            lines = response.iter_lines()  # as long as it lives, the connection is open
            next(lines)
            assert served.server.engine.counts()[0] == 1
        assert served.is_idle()
    assert served.server.metrics.value("earleymask_generated_tokens_total") < 3 * 3000


def test_a_client_that_does_not_wait_for_an_answer_frees_its_slot(served: Served) -> None:
    for _ in range(3):
        with pytest.raises(httpx.ReadTimeout):
            served.post_hastily(ENDLESS)
    assert served.is_idle()
    assert served.answers()
    assert served.server.metrics.value("earleymask_disconnects_total") >= 3


def test_a_client_that_leaves_while_its_grammar_is_loaded(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those who load it are told, and it keeps its place until they have given it up."""
    asked: list[tuple[Any, Any]] = []

    def prepare(body: bytes, endpoint: str, leaving: Any) -> Any:
        future = unanswered()
        asked.append((leaving, future))
        return future

    monkeypatch.setattr(served.server.preparing, "prepare", prepare)
    with pytest.raises(httpx.ReadTimeout):
        served.post_hastily(SHORT)
    ((leaving, future),) = asked
    end = time.monotonic() + PATIENCE
    while not leaving.is_said and time.monotonic() < end:
        time.sleep(0.01)
    assert leaving.is_said and served.server._n_loading == 1
    future.set_exception(given_up())
    while served.server._n_loading and time.monotonic() < end:
        time.sleep(0.01)
    assert served.server._n_loading == 0 and served.is_idle()


def test_a_full_queue_is_said(served: Served) -> None:
    found: list[Any] = []
    streams = [
        threading.Thread(target=lambda: found.append(served.post({**ENDLESS, "max_tokens": 20}))) for _ in range(5)
    ]
    with served.held():
        for some, n in ((streams[:3], 3), (streams[3:], 5)):
            for thread in some:
                thread.start()
            end = time.monotonic() + PATIENCE
            while served.server._n_open < n and time.monotonic() < end:
                time.sleep(0.005)
            refused = served.post({**SHORT, "n": 6 - n})  # one more than there is room for
            assert refused.status_code == 429 and refused.json()["error"]["code"] == "queue_full"
            assert refused.headers["retry-after"] == "1"
    for thread in streams:
        thread.join()
    assert [each.json()["choices"][0]["finish_reason"] for each in found] == ["length"] * 5
    assert served.post({**SHORT, "n": 6}).status_code == 400  # there is never room for so many
    assert served.is_idle() and served.answers()


def test_bodies_and_prompts_that_are_too_long(served: Served) -> None:
    content = "a" * 200_000
    assert served.post({**SHORT, "messages": [{"role": "user", "content": content}]}).status_code == 413

    def chunks() -> Iterator[bytes]:
        for _ in range(200):
            yield b" " * 1000

    headers = {"authorization": "Bearer key", "content-type": "application/json"}
    assert httpx.post(f"{served.address}/v1/responses", content=chunks(), headers=headers).status_code == 413
    found = served.post({**SHORT, "messages": [{"role": "user", "content": content[:50_000]}]})
    assert found.status_code == 400 and found.json()["error"]["code"] == "context_length_exceeded"
    assert found.headers["x-should-retry"] == "false"
    assert served.answers()


@pytest.mark.parametrize(
    "constraint",
    [
        {"grammar": AMBIGUOUS},
        {"regex": "(" * 500 + "a" + ")" * 500},
        {"regex": "((a{1000}){1000}){1000}" * 20},
        {"json": {"allOf": [{"patternProperties": {f"a.{{{i}}}$": {"type": "string"}}} for i in range(40)]}},
        {"grammar": 'start: "a"~1000000000'},
    ],
)
def test_hostile_grammars_end_within_their_limits(served: Served, constraint: dict[str, Any]) -> None:
    found = served.post({**SHORT, "structured_outputs": constraint})
    if found.status_code == 200:
        assert found.json()["choices"][0]["finish_reason"] in ("stop", "length")
    else:
        assert found.status_code == 400
        assert found.json()["error"]["code"] in ("grammar_too_costly", "invalid_grammar")
    assert served.is_idle() and served.answers()


def test_a_costly_mask_delays_no_other_answer(served: Served) -> None:
    """While a mask of one answer is being made, another answer is written from its first token to its last."""
    from earleymask.integration.server.preparing import Matching

    make = Matching.make
    has_begun, other_has_ended = threading.Event(), threading.Event()

    def slowly(self: Matching, token: int | None, remaining: int | None) -> Any:
        if self.matcher.grammar.source == "x{9}" and self.matcher.n_tokens == 4:
            has_begun.set()
            other_has_ended.wait(PATIENCE)
        return make(self, token, remaining)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Matching, "make", slowly)
        found: list[Any] = []
        body = {**SHORT, "structured_outputs": {"regex": "x{9}"}}
        thread = threading.Thread(target=lambda: found.append(served.post(body)))
        thread.start()
        assert has_begun.wait(PATIENCE)
        other = served.post({**ENDLESS, "max_tokens": 100})
        assert not found
        other_has_ended.set()
        thread.join()
    assert other.json()["usage"]["completion_tokens"] == 100
    assert found[0].json()["choices"][0]["message"]["content"] == "x" * 9


@pytest.mark.parametrize("on_prompt", [True, False])
def test_a_model_that_raises(served: Served, on_prompt: bool) -> None:
    forward = served.model.forward
    calls = []

    def raising(**given: Any) -> Any:
        calls.append(given["input_ids"].shape[1])
        if (calls[-1] > 1) == on_prompt:
            raise RuntimeError("secret details")
        return forward(**given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(served.model, "forward", raising)
        found = served.post(SHORT)
        with served.stream(SHORT) as response:  # it has more than one token, so there is a second pass
            lines = list(response.iter_lines())
    assert found.status_code == 500 and found.json()["error"]["type"] == "server_error"
    assert "secret" not in found.text + "".join(lines)
    if on_prompt:
        assert response.status_code == 500
    else:
        assert "error" in json.loads([line for line in lines if line][-1].removeprefix("data: "))
    assert served.is_idle() and served.answers()


def test_a_response_that_fails_ends_with_an_event(served: Served) -> None:
    types = pytest.importorskip("openai.types.responses")
    forward = served.model.forward

    def raising(**given: Any) -> Any:
        if given["input_ids"].shape[1] == 1:
            raise RuntimeError("secret details")
        return forward(**given)

    body = {"model": "m", "input": "hi", "stream": True, "structured_outputs": {"regex": "ab{3}c"}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(served.model, "forward", raising)
        found = served.post(body, "responses")
    assert found.status_code == 200 and "secret" not in found.text
    events = [json.loads(block.partition("data: ")[2]) for block in found.text.strip().split("\n\n")]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    last = types.ResponseFailedEvent.model_validate(events[-1])
    assert last.response.status == "failed" and last.response.error.code == "server_error"
    assert served.is_idle() and served.answers()


def test_health_says_that_the_engine_has_stopped() -> None:
    tokenizer = tokenizer_with_template()
    app = create_app(tiny_llama(tokenizer), tokenizer, Options(name="m"))  # it is not started

    async def asked() -> Any:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://server") as client:
            return await client.get("/health")

    found = asyncio.run(asked())
    assert found.status_code == 503 and found.json() == {"status": "the engine has stopped"}


def test_masks_that_take_too_long_in_all(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is within its limit, but an answer has thousands."""
    from earleymask.integration.server import preparing

    monkeypatch.setattr(preparing, "MASK_SECONDS_OF_TOKEN", -10.0)  # two seconds are over with the first token
    found = served.post(SHORT)
    assert found.status_code == 400 and found.json()["error"]["code"] == "grammar_too_costly"
    assert "simplify the grammar" in found.json()["error"]["message"]
    monkeypatch.undo()
    assert served.is_idle() and served.answers()


def test_scores_that_are_no_numbers(served: Served) -> None:
    forward = served.model.forward

    def broken(**given: Any) -> Any:
        output = forward(**given)
        output.logits[:] = torch.nan
        return output

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(served.model, "forward", broken)
        assert served.post(SHORT).status_code == 500
    assert served.is_idle() and served.answers()


def test_a_request_that_takes_too_long(served: Served) -> None:
    options = served.server.options
    object.__setattr__(options, "request_seconds", 0.2)
    try:
        found = served.post(ENDLESS)
        assert found.status_code == 408 and found.json()["error"]["code"] == "timeout"
    finally:
        object.__setattr__(options, "request_seconds", PATIENCE)
    assert served.is_idle() and served.answers()


@pytest.fixture
def hurried(served: Served) -> Iterator[Served]:
    """A server that gives a request a fifth of a second."""
    options = served.server.options
    object.__setattr__(options, "request_seconds", 0.2)
    try:
        yield served
    finally:
        object.__setattr__(options, "request_seconds", PATIENCE)


def test_a_stream_that_nobody_reads_ends_in_time(hurried: Served) -> None:
    before = hurried.counted(408), hurried.n_timed()
    headers = {"authorization": "Bearer key", "x-stalls": "1"}
    path, body = f"{hurried.address}/v1/chat/completions", {**ENDLESS, "stream": True}
    with httpx.stream("POST", path, json=body, headers=headers, timeout=PATIENCE) as response:
        assert response.status_code == 200
        assert hurried.is_idle()  # while the connection is open
        with pytest.raises(httpx.RemoteProtocolError):
            response.read()
    assert hurried.counts(408, become=(before[0] + 1, before[1] + 1))


def test_a_body_that_does_not_arrive_ends_in_time(hurried: Served) -> None:
    before = hurried.counted(408), hurried.n_timed()
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer key\r\nconnection: close\r\n"
    with socket.create_connection(("127.0.0.1", int(hurried.address.rpartition(":")[2]))) as connection:
        connection.settimeout(PATIENCE)
        connection.sendall(head + b"content-type: application/json\r\ncontent-length: 1000\r\n\r\n{")
        found = connection.recv(10_000)
    assert found.startswith(b"HTTP/1.1 408 ")
    assert hurried.counts(408, become=(before[0] + 1, before[1] + 1)) and hurried.is_idle()


def test_a_stream_that_is_read_says_that_its_time_is_over(hurried: Served) -> None:
    before = hurried.counted(408), hurried.counted(200), hurried.n_timed()
    with hurried.stream(ENDLESS) as response:
        lines = [line for line in response.iter_lines() if line]
    assert json.loads(lines[-1].removeprefix("data: "))["error"]["code"] == "timeout"
    assert hurried.is_idle()
    assert hurried.counts(408, 200, become=(before[0] + 1, before[1], before[2] + 1))


def test_the_time_of_a_stream_is_that_to_its_end(served: Served) -> None:
    sums = served.server.metrics._sums
    assert served.is_idle()
    before, n_before, left = sums["earleymask_request_seconds"], served.n_timed(), served.counted(499)
    began = time.perf_counter()
    with served.stream({**ENDLESS, "max_tokens": 200}) as response:
        lines = response.iter_lines()
        next(lines)
        begun = time.perf_counter() - began
        assert served.n_timed() == n_before  # it goes on
        assert list(lines)[-2:-1] == ["data: [DONE]"]
    assert served.is_idle() and served.counts(become=(n_before + 1,))
    assert sums["earleymask_request_seconds"] - before > begun / 2
    with served.stream(ENDLESS) as response:
        left_lines = response.iter_lines()
        next(left_lines)
    assert served.is_idle() and served.counts(499, become=(left + 1, n_before + 2))


def test_a_client_that_leaves_while_it_sends(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    before = served.counted(499), served.counted(500)
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer key\r\n"
    with caplog.at_level(logging.ERROR):
        with socket.create_connection(("127.0.0.1", int(served.address.rpartition(":")[2]))) as connection:
            connection.sendall(head + b"content-type: application/json\r\ncontent-length: 1000\r\n\r\n{")
            time.sleep(0.2)  # so that its body is being read
        end = time.monotonic() + PATIENCE
        while (served.counted(499), served.counted(500)) == before and time.monotonic() < end:
            time.sleep(0.01)
    assert (served.counted(499), served.counted(500)) == (before[0] + 1, before[1])
    assert not caplog.records


def test_a_key_that_is_not_ascii(served: Served) -> None:
    for key, given in (("schlüssel", "schlüssel".encode()), ("\udcff", b"\xff")):  # the second from a variable
        object.__setattr__(served.server.options, "api_key", key)
        try:
            path = f"{served.address}/v1/models"
            assert httpx.get(path, headers={"authorization": b"Bearer " + given}).status_code == 200
            assert httpx.get(path, headers={"authorization": "Bearer schlüssel".encode("latin-1")}).status_code == 401
        finally:
            object.__setattr__(served.server.options, "api_key", "key")


TOOL = '"tools": [{"type": "function", "function": {"name": "f", "parameters": '
FLAT_TOOL = '"tools": [{"type": "function", "name": "f", "parameters": '
ODD_CHATS = [
    ('"temperature": 1e9999999999999999999', None),
    ('"metadata": {"a": 1e9999999999999999999}', None),
    ('"max_tokens": 1e9999999', "max_tokens"),
    ('"n": -1e9999999', "n"),
    ('"seed": 1e9999999', "seed"),
    (TOOL + '{"maximum": 1e400}}}]', "tools"),
    (r'"messages": [{"role": "user", "content": "\ud800"}]', None),
    (r'"\ud800": 1', None),
    (r'"logit_bias": {"\ud800": 1}', None),
    ('"logit_bias": {"' + "1" * 5000 + '": 1}', "logit_bias." + "1" * 5000),
    (r'"stop": "a\udfff"', None),
    (r'"tools": [{"type": "function", "function": {"name": "\ud800"}}]', None),
    (r'"tools": [{"type": "function", "function": {"name": "f", "description": "\ud800"}}]', None),
    (
        r'"messages": [{"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": '
        r'{"name": "f", "arguments": "{\"a\": \"\\ud800\"}"}}]}]',
        "messages[0].tool_calls[0].function.arguments",
    ),
    (r'"structured_outputs": {"json": "{\"enum\": [1], \"\\ud800\": [], \"required\": 5}"}', "structured_outputs.json"),
    ('"metadata": {"a": ' + "[" * 980 + "]" * 980 + "}", None),
    (TOOL + '{"not":' * 970 + "{}" + "}" * 970 + "}}]", None),
]
ODD_RESPONSES = [
    ('"metadata": {"a": 1e400}', "metadata"),
    ('"metadata": {"a": -1e400}, "stream": true', "metadata"),
    (FLAT_TOOL + '{"type": "object", "properties": {"a": {"maximum": 1e400}}}}], "tool_choice": "none"', "tools"),
    ('"text": {"format": {"type": "json_schema", "name": "a", "schema": {"maximum": 1e400}}}', "text.format"),
    (r'"metadata": {"a": "\ud800"}', None),
    (r'"metadata": {"\ud800": "a"}, "stream": true', None),
    ('"metadata": {"a": ' + "[" * 980 + "]" * 980 + "}", None),
]


def sent(served: Served, path: str, text: str) -> Any:
    headers = {"authorization": "Bearer key", "content-type": "application/json"}
    return httpx.post(f"{served.address}/v1/{path}", content=text.encode(), headers=headers, timeout=PATIENCE)


@pytest.mark.parametrize(("odd", "param"), ODD_CHATS, ids=[odd[:60] for odd, _ in ODD_CHATS])
def test_chats_that_cannot_be_shown_or_sent_back(served: Served, odd: str, param: str | None) -> None:
    members = ['"model": "m"', '"max_tokens": 4', '"messages": [{"role": "user", "content": "hi"}]']
    members = [each for each in members if each.partition(":")[0] != odd.partition(":")[0]]
    found = sent(served, "chat/completions", f"{{{', '.join([*members, odd])}}}")
    assert found.status_code == 400 and found.json()["error"]["param"] == param


@pytest.mark.parametrize(("odd", "param"), ODD_RESPONSES, ids=[odd[:60] for odd, _ in ODD_RESPONSES])
def test_responses_that_cannot_be_shown_or_sent_back(served: Served, odd: str, param: str | None) -> None:
    found = sent(served, "responses", '{"model": "m", "max_output_tokens": 4, "input": "hi", ' + odd + "}")
    assert found.status_code == 400 and found.json()["error"]["param"] == param


def test_what_is_deep_but_not_too_deep_comes_back(served: Served) -> None:
    deep = "[" * 399 + "]" * 399
    found = sent(served, "responses", '{"model": "m", "max_output_tokens": 4, "input": "hi", "metadata": ' + deep + "}")
    assert found.status_code == 200 and found.json()["metadata"] == json.loads(deep)


@pytest.fixture(scope="module", params=[False, True], ids=["threads", "process"])
def narrow(request: pytest.FixtureRequest) -> Iterator[Served]:
    """A server whose tokenizer has tokens that its model gives no scores."""
    tokenizer = tokenizer_with_template()
    model = tiny_llama(tokenizer)
    tokenizer.add_tokens(["<word>"])
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|call|>"]})
    assert len(tokenizer) == model.config.vocab_size + 2
    app = create_app(model, tokenizer, Options(name="m", slots=2, queue=3, is_apart=request.param))
    with serving(app) as address:
        yield Served(address, app)


def test_tokens_beyond_the_scores_of_the_model(narrow: Served) -> None:
    n_scores = narrow.model.config.vocab_size
    for token in (n_scores, n_scores + 1, n_scores + 2):
        found = narrow.post({**SHORT, "logit_bias": {str(token): 5}})
        assert (found.status_code, found.json()["error"]["param"]) == (400, "logit_bias")
    assert narrow.post({**SHORT, "logit_bias": {str(n_scores - 1): 5}}).status_code == 200
    others: list[Any] = []
    thread = threading.Thread(target=lambda: others.append(narrow.post({**ENDLESS, "max_tokens": 100})))
    thread.start()
    for text in ('start: <|call|> "b"', 'start: "a" <|call|> "b"'):
        found = narrow.post({**SHORT, "structured_outputs": {"grammar": text}})
        assert found.status_code == 400 and found.json()["error"]["code"] == "cannot_be_enforced"
        assert "beyond the scores" in found.json()["error"]["message"]
    found = narrow.post({**SHORT, "structured_outputs": {"choice": ["<word>"]}})  # letters spell it, too
    assert found.json()["choices"][0]["message"]["content"] == "<word>"
    thread.join()
    assert others[0].json()["usage"]["completion_tokens"] == 100
    assert narrow.is_idle() and narrow.answers()


def test_a_grammar_whose_position_cannot_be_copied(served: Served) -> None:
    """`Matcher.fork` counts the memory of all forks, so that it may meet the limit."""
    from earleymask.errors import LimitError

    class Full:
        def fork(self) -> None:
            raise LimitError("the matcher takes too much memory")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("earleymask.integration.server.constraints.MatcherPool.matcher", lambda *given: Full())
        found = served.post({**SHORT, "n": 3})
    assert found.status_code == 400 and found.json()["error"]["code"] == "grammar_too_costly"
    assert served.is_idle() and served.answers()


def test_a_special_token_at_the_end_has_a_log_probability(served: Served) -> None:
    body = {**SHORT, "logprobs": True, "temperature": 0, "structured_outputs": {"grammar": 'start: "ab" <|eot|>'}}
    found = served.post(body).json()["choices"][0]
    tokens = [entry["token"] for entry in found["logprobs"]["content"]]
    assert (found["message"]["content"], "".join(tokens)) == ("ab", "ab<|eot|>")
    with served.stream(body) as response:
        lines = [line.removeprefix("data: ") for line in response.iter_lines() if line]
    chunks = [json.loads(line)["choices"][0]["logprobs"] for line in lines[:-1]]
    assert [entry["token"] for chunk in chunks if chunk for entry in chunk["content"]] == tokens
