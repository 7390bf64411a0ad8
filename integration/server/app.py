"""The application: endpoints, bounds on what strangers may send, and clients that go away.

create_app(model, tokenizer)      # an ASGI application (Starlette)
"""

from __future__ import annotations

import asyncio
import gc
import hmac
import logging
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from ...grammar.tools.style import find
from ..vocabularies import model_vocabulary
from .chat import Chat
from .decoder import Decoder
from .engine import Answer, Engine, Piece
from .errors import ApiError, ours, stopping
from .grammar_process import GrammarProcesses
from .metrics import Metrics
from .options import Options
from .parts import Message
from .preparing import Leaving, Prepared, Preparer, Prepares, Threads, check_model
from .requests import Request
from .responses import Responses
from .style_guess import guessed_style
from .text import Text
from .thinking import Reasoning

log = logging.getLogger("earleymask.server")

SWITCH_SECONDS = 0.0001
"""How long a thread that wants the interpreter's lock waits before it asks for it. A pass of the model takes the lock
hundreds of times, and a grammar that is being loaded has it otherwise: Python's 5 ms would be seconds for each pass."""

SECONDS_TO_TELL = 1.0
"""Seconds for which a client of a stream may read that its time is over. After them the connection is closed."""


def create_app(model: Any, tokenizer: Any, options: Options | None = None) -> Starlette:
    """Return an application that answers OpenAI's chat completions and responses with a model.

    The program that serves it may cancel a request only because it ends, as uvicorn does: the client is told that the
    server stops (status 503, or an event of the stream), and clients of OpenAI ask again. The application cannot tell
    another reason, because uvicorn cancels before it says that it ends. Bound the time of requests by
    `Options.request_seconds`, not by a middleware that cancels them.

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
        self.vocabulary = model_vocabulary(model, tokenizer)
        style = options.style or guessed_style(str(tokenizer.chat_template))
        log.info("tool calls are written in the style %s", style)
        self.style = find(style)
        self.metrics = Metrics()
        self.engine = Engine(Decoder(model), self.vocabulary, options.slots, self.metrics)
        longest = getattr(model.config.get_text_config(), "max_position_embeddings", None) or 1 << 20
        self.max_length = min(longest, options.max_length or longest)
        n_scores = model.config.get_text_config().vocab_size
        given = self.vocabulary, tokenizer, self.style, options, self.max_length, n_scores
        self.preparing: Prepares = GrammarProcesses(*given) if options.is_apart else Threads(Preparer(*given))
        self.metrics.gauges = {
            "earleymask_running_answers": lambda: self.engine.counts()[0],
            "earleymask_waiting_answers": lambda: self.engine.counts()[1],
            "earleymask_known_grammars": self.preparing.n_grammars,
        }
        self._names = {token: name for name, token in self.vocabulary.special_tokens.items()}
        marks = options.reasoning
        self._marks = {
            token for token, name in self._names.items() if marks and (name in marks.begin or name in marks.end)
        }
        self._ends = frozenset(self.vocabulary.eos_token_ids)
        self._n_open = 0  # answers of requests that are being served
        self._n_loading = 0  # requests that are being prepared
        self._began = int(time.time())
        routes = [
            Route("/v1/chat/completions", self._endpoint("chat", Chat), methods=["POST"]),
            Route("/v1/responses", self._endpoint("responses", Responses), methods=["POST"]),
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
        await asyncio.to_thread(self.preparing.start)
        gc.collect()
        gc.freeze()
        loop = asyncio.get_running_loop()

        def call(function: Callable[..., object], *given: Any) -> None:
            with suppress(RuntimeError):  # the loop is closed, so nobody waits for pieces
                loop.call_soon_threadsafe(function, *given)

        self.engine.call = call
        self.engine.start()
        try:
            yield
        finally:
            await asyncio.to_thread(self.engine.stop)
            await asyncio.to_thread(self.preparing.close)
            sys.setswitchinterval(before)

    # Endpoints

    async def models(self, request: HttpRequest) -> Response:
        self._check_key(request)
        return JSONResponse({"object": "list", "data": [self._model()]})

    async def one_model(self, request: HttpRequest) -> Response:
        self._check_key(request)
        check_model(request.path_params["name"], self.options.name)
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

    def _endpoint(self, name: str, shape: Any) -> Any:
        async def endpoint(request: HttpRequest) -> Response:
            began = time.perf_counter()

            def count(status: int) -> None:
                self.metrics.add("earleymask_requests_total", endpoint=name, status=status)
                self.metrics.observe("earleymask_request_seconds", time.perf_counter() - began)
                if status == 499:
                    self.metrics.add("earleymask_disconnects_total")

            try:
                response = await self._serve(request, name, shape)
            except asyncio.CancelledError:  # by the program that serves this, because it ends: see `create_app`
                count(503)
                raise stopping() from None
            except BaseException as error:
                count(error.status if isinstance(error, ApiError) else 500)
                raise
            if isinstance(response, Stream):
                response.count = count
            else:
                count(response.status_code)
            return response

        return endpoint

    # One request

    async def _serve(self, http: HttpRequest, endpoint: str, shape: Any) -> Response:
        self._check_key(http)
        kind = http.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":  # which a page of another site cannot send unasked
            raise ApiError(415, "the content type must be application/json")
        data = await self._body(http)
        run = Run(self, http)
        try:
            request, prompt, reasoning = await run.within(self._load(run, data, endpoint))
            messages = run.messages = [Message(request, self.style, reasoning) for _ in run.answers]
            shaped = shape(request, messages)
            if not request.streams:
                async for index, piece in run.pieces():
                    for _ in shaped.piece(index, piece):
                        pass
                whole = shaped.whole(len(prompt), run.n_tokens, run.n_reasoning)
                run.close()
                return Response(whole, media_type="application/json")
            pieces = run.pieces()
            first = await anext(pieces)  # an error before it is still an HTTP status
        except BaseException:
            run.close()
            raise
        return Stream(run, run.stream(shaped, first, pieces, len(prompt)))

    async def _load(self, run: Run, data: bytes, endpoint: str) -> tuple[Request, list[int], Reasoning | None]:
        """Read the body, load its grammar, and give its answers to the engine."""
        most = self.options.most_answers
        if max(self._n_open, self._n_loading) >= most:
            raise ApiError(429, "too many requests are waiting; try again later", code="queue_full")
        run.enter(1)
        leaving = Leaving()
        loading = asyncio.wrap_future(self.preparing.prepare(data, endpoint, leaving))
        self._n_loading += 1  # until it is done, even if the client goes away
        loading.add_done_callback(self._loaded)
        try:
            request, prompt, reasoning, masks, seconds = await asyncio.shield(loading)
        except asyncio.CancelledError:
            loading.add_done_callback(_close_masks)
            leaving.say()
            raise
        self.metrics.observe("earleymask_load_seconds", seconds)
        if self._n_open + request.n - 1 > most:
            _close_masks(loading)
            raise ApiError(429, f"n={request.n}: so many answers cannot wait; try again later", "n", "queue_full")
        run.enter(request.n - 1)
        left = request.max_tokens or self.max_length - len(prompt)
        written = self._names if request.has_tools else self._marks if reasoning else ()
        for index in range(request.n):
            run.answers.append(
                Answer(
                    prompt=prompt,
                    masks=masks[index],
                    ends=self._ends,
                    sampling=request.sampling,
                    index=index,
                    text=Text(self.vocabulary, request.stop, self._names, written),
                    left=left,
                    fits=request.fits,
                    deliver=run.delivery(index),
                )
            )
        self.metrics.add("earleymask_prompt_tokens_total", len(prompt))
        self.engine.submit(run.answers)
        return request, prompt, reasoning

    def _loaded(self, loading: asyncio.Future[Any]) -> None:
        self._n_loading -= 1
        if not loading.cancelled():
            loading.exception()  # it has been seen, also if nobody waits any more

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
        except ClientDisconnect:
            raise _gone_away() from None
        return bytes(data)

    def _check_key(self, http: HttpRequest) -> None:
        key = self.options.api_key
        scheme, _, given = http.headers.get("authorization", "").partition(" ")
        is_right = scheme.lower() == "bearer" and hmac.compare_digest(
            given.encode("latin-1"),  # the bytes that were sent
            (key or "").encode(errors="surrogateescape"),
        )
        if key is not None and not is_right:
            raise ApiError(401, "the API key is missing or wrong", code="invalid_api_key")


class Run:
    """One request on its way: its answers, the queue of their pieces, and whether its client is still there.

    Attributes:
        status: with what its stream has ended; None while it goes on.
    """

    def __init__(self, server: Server, http: HttpRequest) -> None:
        self.server = server
        self.answers: list[Answer] = []
        self.messages: list[Message] = []
        self.status: int | None = None
        self._queue: asyncio.Queue[tuple[int, Piece]] = asyncio.Queue()
        self._gone = asyncio.ensure_future(_disconnect(http))
        self._began = time.perf_counter()
        self._n_entered = 0
        self._has_text = False

    @property
    def n_tokens(self) -> int:
        return sum(answer.n_tokens for answer in self.answers)

    @property
    def n_reasoning(self) -> int:
        return sum(
            message.n_reasoning(answer.text.starts) for message, answer in zip(self.messages, self.answers, strict=True)
        )

    @property
    def left(self) -> float:
        """The seconds that the request may still take."""
        return max(self.server.options.request_seconds - (time.perf_counter() - self._began), 0)

    def enter(self, n: int) -> None:
        """Count answers among those that are being served."""
        self._n_entered += n
        self.server._n_open += n

    def delivery(self, index: int) -> Callable[[Piece], None]:
        """Return a function that takes the pieces of an answer, in the thread of this loop."""
        return lambda piece: self._queue.put_nowait((index, piece))

    async def within(self, work: Any) -> Any:
        """Return the result of something that is waited for while the client is there and the time is not over."""
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait([task, self._gone], timeout=self.left, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
        finally:
            task.cancel()
        if self._gone.done():
            raise _gone_away()
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
            for line in shaped.end(n_prompt, self.n_tokens, self.n_reasoning):
                yield line
            self.status = 200
        except ApiError as error:
            self.status = error.status
            for line in shaped.fail(error):
                yield line
        except Exception as error:
            log.exception("a stream failed")
            self.status = 500
            for line in shaped.fail(ours(error)):
                yield line

    def stop(self) -> None:
        """End the pieces with an error, because the server ends."""
        self._queue.put_nowait((0, Piece(error=stopping())))

    def free(self) -> None:
        """Free the slots and the places in the queue of answers that are not complete."""
        for answer in self.answers:
            self.server.engine.cancel(answer)
        self.server._n_open -= self._n_entered
        self._n_entered = 0

    def close(self) -> None:
        """Free what the answers have, and stop looking after the client."""
        self.free()
        self._gone.cancel()


class Stream(StreamingResponse):
    """A stream of events whose run is closed however it ends, also before its first event.

    When its time is over, its slots are free, also if its client reads nothing: then no event can be sent, so that the
    run alone would wait for the client.

    Attributes:
        count: is called with the status at the end.
    """

    def __init__(self, run: Run, lines: AsyncIterator[str]) -> None:
        headers = {"cache-control": "no-cache", "x-accel-buffering": "no"}
        super().__init__(lines, media_type="text/event-stream", headers=headers)
        self._run = run
        self.count: Callable[[int], None] = lambda status: None

    async def __call__(self, *arguments: Any) -> None:
        sending = asyncio.ensure_future(super().__call__(*arguments))
        status = 499  # if the run does not end with one
        try:
            try:
                await asyncio.wait([sending], timeout=self._run.left)
            except asyncio.CancelledError:  # by the program that serves this, because it ends
                status = 503
                self._run.stop()
            else:
                if not sending.done():
                    status = 408
                    self._run.free()
            if not sending.done():
                await asyncio.wait([sending], timeout=SECONDS_TO_TELL)
            if sending.done():
                with suppress(ClientDisconnect):
                    sending.result()
            else:
                log.warning("a client did not read its stream in time")
        finally:
            sending.cancel()
            self._run.close()
            self.count(self._run.status or status)


async def _disconnect(http: HttpRequest) -> None:
    """Return when the client has gone away."""
    while (await http.receive())["type"] != "http.disconnect":
        pass


def _gone_away() -> ApiError:
    return ApiError(499, "the client has gone away", code="disconnected")


def _close_masks(loading: asyncio.Future[Prepared]) -> None:
    """Say that nobody needs the masks of a request."""
    if not loading.cancelled() and loading.exception() is None:
        for masks in loading.result().masks:
            if masks is not None:
                masks.close()


def _api_error(_: HttpRequest, error: Any) -> Response:
    # OpenAI's clients send a request again after 408, 409, 429 and 5xx. Here, only a full queue, and a process or a
    # server that is started again will be better soon.
    will_be_better = error.status == 429 or error.code in ("restarting", "stopping")
    headers = {"retry-after": "1"} if will_be_better else {"x-should-retry": "false"}
    if error.status == 401:
        headers["www-authenticate"] = "Bearer"
    return JSONResponse(error.body(), error.status, headers=headers)


def _http_error(_: HttpRequest, error: Any) -> Response:
    body = ApiError(error.status_code, str(error.detail), None, None).body()
    return JSONResponse(body, error.status_code, headers=error.headers)


def _other_error(_: HttpRequest, error: Any) -> Response:
    log.error("a request failed", exc_info=error)
    return JSONResponse(ours(error).body(), 500, headers={"x-should-retry": "false"})
