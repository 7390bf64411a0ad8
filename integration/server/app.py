"""The application: endpoints, bounds on what strangers may send, and clients that go away.

create_app(model, tokenizer)      # an ASGI application (Starlette)
"""

from __future__ import annotations

import asyncio
import gc
import hmac
import json
import logging
import sys
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from ...earley import Limits
from ...errors import EarleymaskError
from ...prepare import prepare
from ..vocabularies import model_vocabulary
from .chat import Chat
from .constraints import LIMITS, Grammars
from .conversation import Prompts, shown_tools
from .engine import Answer, Engine, Piece
from .errors import ApiError, bad, of_grammar, ours
from .metrics import Metrics
from .parts import Message
from .requests import Request, read_chat, read_response
from .responses import Responses
from .sampling import Sampler
from .style_guess import guessed_style
from .text import Text

log = logging.getLogger("earleymask.server")

LOADERS = 8
"""Threads that read prompts and load grammars. Each costly grammar keeps one busy for `Limits.load_seconds` at most."""

SWITCH_SECONDS = 0.0001
"""How long a thread that wants the interpreter's lock waits before it asks for it. A pass of the model takes the lock
hundreds of times, and a grammar that is being loaded has it otherwise: Python's 5 ms would be seconds for each pass."""


@dataclass(frozen=True)
class Options:
    """How a model is served.

    Attributes:
        name: what clients call the model.
        style: the style of tool calls; None: that of the chat template, guessed.
        api_key: what clients must send; None: nothing.
        slots: answers that are generated at the same time.
        queue: answers that may wait, beside those that have slots.
        max_length: the most tokens of a prompt and its answer; None: as many as the model can read.
        body_bytes: the most bytes of a body.
        request_seconds: the longest time that a request may take.
        limits: bounds on the grammar of a request.
    """

    name: str = "model"
    style: str | None = None
    api_key: str | None = None
    slots: int = 8
    queue: int = 64
    max_length: int | None = None
    body_bytes: int = 1 << 20
    request_seconds: float = 600.0
    limits: Limits = LIMITS


def create_app(model: Any, tokenizer: Any, options: Options | None = None) -> Starlette:
    """Return an application that answers OpenAI's chat completions and responses with a model.

    Args:
        model: a causal model of `transformers`, on its device.
        tokenizer: its tokenizer, with a chat template.
        options: see `Options`.

    Raises ValueError if the model cannot be served, or the tokenizer has no chat template.
    """
    return Server(model, tokenizer, options or Options()).app


class Server:
    """What all requests share."""

    def __init__(self, model: Any, tokenizer: Any, options: Options) -> None:
        self.options = options
        self.prompts = Prompts(tokenizer)
        self.vocabulary = model_vocabulary(model, tokenizer)
        style = options.style or guessed_style(str(tokenizer.chat_template))
        log.info("tool calls are written in the style %s", style)
        self.grammars = Grammars(self.vocabulary, style, options.limits)
        self.metrics = Metrics()
        self.engine = Engine(model, self.vocabulary, options.slots, self.metrics)
        longest = getattr(model.config.get_text_config(), "max_position_embeddings", None) or 1 << 20
        self.max_length = min(longest, options.max_length or longest)
        self.metrics.gauges = {
            "earleymask_running_answers": lambda: self.engine.counts()[0],
            "earleymask_waiting_answers": lambda: self.engine.counts()[1],
            "earleymask_known_grammars": lambda: self.grammars.pool.stats()["grammars"],
        }
        self._names = {token: name for name, token in self.vocabulary.special_tokens.items()}
        self._ends = frozenset(self.vocabulary.eos_token_ids)
        self._loaders = ThreadPoolExecutor(LOADERS, "earleymask-load")
        self._n_open = 0  # answers of requests that are being served
        self._n_loading = 0  # requests in the threads of `_loaders`, or waiting for one
        self._began = int(time.time())
        routes = [
            Route("/v1/chat/completions", self._endpoint("chat", read_chat, Chat), methods=["POST"]),
            Route("/v1/responses", self._endpoint("responses", read_response, Responses), methods=["POST"]),
            Route("/v1/models", self.models),
            Route("/v1/models/{name:path}", self.one_model),
            Route("/health", self.health),
            Route("/metrics", self.show_metrics),
        ]
        handlers: dict[Any, Any] = {HTTPException: _http_error, ApiError: _api_error, Exception: _other_error}
        self.app = Starlette(routes=routes, exception_handlers=handlers, lifespan=self._lifespan)
        self.app.state.server = self

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        before = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_SECONDS)
        await asyncio.to_thread(prepare, self.vocabulary, memory=256 << 20)
        gc.collect()
        gc.freeze()
        self.engine.start()
        try:
            yield
        finally:
            await asyncio.to_thread(self.engine.stop)
            self._loaders.shutdown(cancel_futures=True)
            sys.setswitchinterval(before)

    # Endpoints

    async def models(self, request: HttpRequest) -> Response:
        self._check_key(request)
        return JSONResponse({"object": "list", "data": [self._model()]})

    async def one_model(self, request: HttpRequest) -> Response:
        self._check_key(request)
        self._check_model(request.path_params["name"])
        return JSONResponse(self._model())

    async def health(self, _: HttpRequest) -> Response:
        is_well = self.engine.is_alive()
        return JSONResponse({"status": "ok" if is_well else "the engine has stopped"}, 200 if is_well else 503)

    async def show_metrics(self, _: HttpRequest) -> Response:
        return PlainTextResponse(self.metrics.text(), media_type="text/plain; version=0.0.4")

    def _model(self) -> dict[str, Any]:
        return {
            "id": self.options.name,
            "object": "model",
            "created": self._began,
            "owned_by": "earleymask",
            "max_model_len": self.max_length,
        }

    def _endpoint(self, name: str, read: Callable[[Any], Request], shape: Any) -> Any:
        async def endpoint(request: HttpRequest) -> Response:
            began = time.perf_counter()
            status = 500
            try:
                response = await self._serve(request, read, shape)
                status = response.status_code
                return response
            except ApiError as error:
                status = error.status
                raise
            finally:
                self.metrics.add("earleymask_requests_total", endpoint=name, status=status)
                self.metrics.observe("earleymask_request_seconds", time.perf_counter() - began)

        return endpoint

    # One request

    async def _serve(self, http: HttpRequest, read: Callable[[Any], Request], shape: Any) -> Response:
        self._check_key(http)
        kind = http.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":  # which a page of another site cannot send unasked
            raise ApiError(415, "the content type must be application/json")
        data = await self._body(http)
        run = Run(self, http)
        try:
            request, prompt = await run.within(self._load(run, data, read))
            messages = [Message(request, self.grammars.style) for _ in run.answers]
            shaped = shape(request, messages)
            if not request.streams:
                async for index, piece in run.pieces():
                    for _ in shaped.piece(index, piece):
                        pass
                whole = shaped.whole(len(prompt), run.n_tokens)
                run.close()
                return JSONResponse(whole)
            pieces = run.pieces()
            first = await anext(pieces)  # an error before it is still an HTTP status
        except BaseException:
            run.close()
            raise
        return Stream(run, run.stream(shaped, first, pieces, len(prompt)))

    async def _load(self, run: Run, data: bytes, read: Callable[[Any], Request]) -> tuple[Request, list[int]]:
        """Read the body, load its grammar, and give its answers to the engine."""
        most = self.options.slots + self.options.queue
        if max(self._n_open, self._n_loading) >= most:
            raise ApiError(429, "too many requests are waiting; try again later", code="queue_full")
        run.enter(1)
        loop = asyncio.get_running_loop()
        loading = loop.run_in_executor(self._loaders, self._prepared, data, read)
        self._n_loading += 1  # until it is done, even if the client goes away
        loading.add_done_callback(self._loaded)
        request, prompt, matcher = await asyncio.shield(loading)
        if self._n_open + request.n - 1 > most:
            raise ApiError(429, f"n={request.n}: so many answers cannot wait; try again later", "n", "queue_full")
        run.enter(request.n - 1)
        left = self._left(request, len(prompt))
        for index in range(request.n):
            run.answers.append(
                Answer(
                    prompt=prompt,
                    matcher=matcher.fork() if matcher is not None else None,
                    ends=self._ends,
                    sampler=Sampler(request.sampling, index),
                    text=Text(self.vocabulary, request.stop, self._names, bool(request.tools)),
                    left=left,
                    fits=request.fits,
                    deliver=run.delivery(loop, index),
                )
            )
        self.metrics.add("earleymask_prompt_tokens_total", len(prompt))
        self.engine.submit(run.answers)
        return request, prompt

    def _loaded(self, loading: asyncio.Future[Any]) -> None:
        self._n_loading -= 1
        if not loading.cancelled():
            loading.exception()  # it has been seen, also if nobody waits any more

    def _prepared(self, data: bytes, read: Callable[[Any], Request]) -> tuple[Request, list[int], Any]:
        """Read a body, its prompt and its grammar, in a thread of its own."""
        request = read(_json(data))
        self._check_model(request.model)
        for token, _ in request.sampling.bias:
            if token >= self.vocabulary.size:
                raise bad(f"logit_bias: there is no token {token}", "logit_bias")
        tools = request.tools_text()
        shown = shown_tools(json.loads(tools.definitions)) if tools.definitions else []
        prompt = self.prompts.ids(request.messages, shown)
        left = self._left(request, len(prompt))
        began = time.perf_counter()
        matcher = self.grammars.matcher(tools, request.answer)
        if matcher is not None and request.fits:
            try:
                needed = matcher.tokens_to_finish()
            except EarleymaskError as error:
                raise of_grammar(error, "fit_max_tokens") from None
            if needed > left:
                message = f"an answer that the constraint allows may need {needed} tokens, and {left} are allowed"
                raise bad(message, request.max_param, "budget_too_small")
        self.metrics.observe("earleymask_load_seconds", time.perf_counter() - began)
        return request, prompt, matcher

    def _left(self, request: Request, n_prompt: int) -> int:
        """Return how many tokens an answer may have."""
        room = self.max_length - n_prompt
        if room < (request.max_tokens or 1):
            asked = f" and {request.max_param}={request.max_tokens}" if request.max_tokens else ""
            message = f"the prompt has {n_prompt} tokens{asked}, and the model reads {self.max_length} in all"
            raise bad(message, request.max_param if room > 0 else "messages", "context_length_exceeded")
        return request.max_tokens or room

    async def _body(self, http: HttpRequest) -> bytes:
        most = self.options.body_bytes
        error = ApiError(413, f"the body has more than {most} bytes", code="body_too_large")
        declared = http.headers.get("content-length", "")
        if declared.isdigit() and int(declared) > most:
            raise error
        data = bytearray()

        async def read() -> None:
            async for chunk in http.stream():
                data.extend(chunk)
                if len(data) > most:
                    raise error

        try:
            await asyncio.wait_for(read(), self.options.request_seconds)
        except asyncio.TimeoutError:
            raise ApiError(408, "the body did not arrive in time", code="timeout") from None
        return bytes(data)

    def _check_key(self, http: HttpRequest) -> None:
        key = self.options.api_key
        given = http.headers.get("authorization", "").encode()
        if key is not None and not hmac.compare_digest(given, f"Bearer {key}".encode()):
            raise ApiError(401, "the API key is missing or wrong", code="invalid_api_key")

    def _check_model(self, name: str) -> None:
        if name != self.options.name:
            message = f"the model {name[:100]!r} does not exist; this server has {self.options.name!r}"
            raise ApiError(404, message, "model", "model_not_found")


class Run:
    """One request on its way: its answers, the queue of their pieces, and whether its client is still there."""

    def __init__(self, server: Server, http: HttpRequest) -> None:
        self.server = server
        self.answers: list[Answer] = []
        self._queue: asyncio.Queue[tuple[int, Piece]] = asyncio.Queue()
        self._gone = asyncio.ensure_future(_disconnect(http))
        self._began = time.perf_counter()
        self._n_entered = 0
        self._has_text = False

    @property
    def n_tokens(self) -> int:
        return sum(answer.n_tokens for answer in self.answers)

    def enter(self, n: int) -> None:
        """Count answers among those that are being served."""
        self._n_entered += n
        self.server._n_open += n

    def delivery(self, loop: asyncio.AbstractEventLoop, index: int) -> Callable[[Piece], None]:
        """Return a function with which the engine's thread gives the pieces of an answer to this loop."""

        def deliver(piece: Piece) -> None:
            with suppress(RuntimeError):  # the loop is closed, so nobody waits for the piece
                loop.call_soon_threadsafe(self._queue.put_nowait, (index, piece))

        return deliver

    async def within(self, work: Any) -> Any:
        """Return the result of something that is waited for while the client is there and the time is not over."""
        task = asyncio.ensure_future(work)
        left = self.server.options.request_seconds - (time.perf_counter() - self._began)
        try:
            await asyncio.wait([task, self._gone], timeout=max(left, 0), return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
        finally:
            task.cancel()
        if self._gone.done():
            self.server.metrics.add("earleymask_disconnects_total")
            raise ApiError(499, "the client has gone away", code="disconnected")
        raise ApiError(408, f"the request took more than {self.server.options.request_seconds:g} s", code="timeout")

    async def pieces(self) -> AsyncIterator[tuple[int, Piece]]:
        """Yield the pieces of all answers until each has ended. Raises ApiError for an answer that failed."""
        n_left = len(self.answers)
        while n_left:
            index, piece = await self.within(self._queue.get())
            if piece.error is not None:
                raise piece.error
            if piece.text and not self._has_text:
                self._has_text = True
                seconds = time.perf_counter() - self._began
                self.server.metrics.observe("earleymask_first_token_seconds", seconds)
            if piece.finish is not None:
                n_left -= 1
                self.server.metrics.add("earleymask_finished_total", reason=piece.finish)
            yield index, piece

    async def stream(
        self, shaped: Any, first: tuple[int, Piece], pieces: AsyncIterator[tuple[int, Piece]], n_prompt: int
    ) -> AsyncIterator[str]:
        """Yield the events of a stream."""
        try:
            for line in shaped.begin():
                yield line
            for line in shaped.piece(*first):
                yield line
            async for index, piece in pieces:
                for line in shaped.piece(index, piece):
                    yield line
            for line in shaped.end(n_prompt, self.n_tokens):
                yield line
        except ApiError as error:
            for line in shaped.fail(error):
                yield line
        except Exception as error:
            log.exception("a stream failed")
            for line in shaped.fail(ours(error)):
                yield line

    def close(self) -> None:
        """Free the slots of answers that are not complete, and stop looking after the client."""
        for answer in self.answers:
            self.server.engine.cancel(answer)
        self._gone.cancel()
        self.server._n_open -= self._n_entered
        self._n_entered = 0


class Stream(StreamingResponse):
    """A stream of events whose run is closed however it ends, also before its first event."""

    def __init__(self, run: Run, lines: AsyncIterator[str]) -> None:
        headers = {"cache-control": "no-cache", "x-accel-buffering": "no"}
        super().__init__(lines, media_type="text/event-stream", headers=headers)
        self._run = run

    async def __call__(self, *arguments: Any) -> None:
        try:
            await super().__call__(*arguments)
        finally:
            self._run.close()


async def _disconnect(http: HttpRequest) -> None:
    """Return when the client has gone away."""
    while (await http.receive())["type"] != "http.disconnect":
        pass


def _json(data: bytes) -> Any:
    """Return the value of a JSON text; numbers with a fraction or an exponent as decimals, which lose nothing."""

    def refused(name: str) -> Any:
        raise ValueError(f"{name} is no JSON")

    try:
        return json.loads(data, parse_float=Decimal, parse_constant=refused)
    except RecursionError:
        raise bad("the body is nested too deeply", None, "invalid_json") from None
    except ValueError as error:  # malformed, no UTF-8, or an integer of thousands of digits
        raise bad(f"the body is no JSON: {error}", None, "invalid_json") from None


def _api_error(_: HttpRequest, error: Any) -> Response:
    # OpenAI's clients send a request again after 408, 409, 429 and 5xx. Here, only a full queue will be better soon.
    headers = {"retry-after": "1"} if error.status == 429 else {"x-should-retry": "false"}
    return JSONResponse(error.body(), error.status, headers=headers)


def _http_error(_: HttpRequest, error: Any) -> Response:
    return JSONResponse(ApiError(error.status_code, str(error.detail), None, None).body(), error.status_code)


def _other_error(_: HttpRequest, error: Any) -> Response:
    log.error("a request failed", exc_info=error)
    return JSONResponse(ours(error).body(), 500, headers={"x-should-retry": "false"})
