"""All that is done with what strangers send: bodies are read, prompts and grammars made of them, and masks of these.

`Preparer` does it, a body or a mask at a time. `Threads` lets it work in threads of this process, `grammar_process` in
other processes.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from decimal import Decimal
from math import inf
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ...bitmask import allocate_bitmask
from ...earley import Matcher
from ...earley._meter import Within
from ...errors import EarleymaskError, LimitError, excluded_mask
from ...grammar.tools.style import Style
from ...prepare import prepare
from ...trie import Vocabulary
from .constraints import Constraint, Grammars, Tools
from .conversation import Prompts, shown_tools
from .errors import ApiError, bad, given_up, of_grammar, ours
from .fields import check, shown
from .options import Kind, Options
from .requests import Request, read_back, read_chat, read_response
from .thinking import Reasoning, reasoning_after

LOADERS = 8
"""Threads that read prompts and load grammars. Each costly grammar, with its first mask, keeps one busy for
`Limits.load_seconds` and `Limits.seconds` at most."""

MASK_SECONDS, MASK_SECONDS_OF_TOKEN = 2.0, 0.002
"""Processor time that the masks of an answer may take in all: so much, and so much more for each of its tokens. Most
answers need some milliseconds. `Limits.seconds` bounds a single mask, but an answer has thousands."""

MASKS_IN_ALL = 5
"""In a process that gives up what is slow, all masks of an answer together may take so many times as long as one of
them, and `MASK_SECONDS_OF_TOKEN` for each token. Then the answer moves to the next process."""

SLOW_FOR, MOST_SLOW = 60.0, 1024
"""Seconds for which a preparer knows that it has given up a grammar, before it tries again; and how many it knows,
before it forgets them all."""

READERS: dict[str, Callable[[Any], Request]] = {"chat": read_chat, "responses": read_response}

Mask = npt.NDArray[np.int32]
"""One row of a bitmask."""

log = logging.getLogger("earleymask.server")


class Slow(Exception):
    """A grammar or a mask takes longer than this preparer may take. The next one has to begin anew.

    Attributes:
        is_lasting: whether it would take as long the next time.
    """

    def __init__(self, is_lasting: bool = False) -> None:
        self.is_lasting = is_lasting


class Demand(NamedTuple):
    """What the answers to a body must be: what their grammar is made of.

    Attributes:
        tools, answer, reasoning: of `Grammars.matcher`.
        n: how many answers there are.
        budget: the tokens within which each of them must end; None: it may be cut.
        max_param: the field that says how many tokens it may have.
    """

    tools: Tools
    answer: Constraint | None
    reasoning: Reasoning | None
    n: int
    budget: int | None
    max_param: str

    def n_characters(self) -> int:
        """Return how many characters its grammar is made of."""
        text = "" if self.answer is None else self.answer.text
        return len(self.tools.definitions) + len(self.tools.choice) + len(text)


class Leaving:
    """Says that the client of a request has left. Threads may share it.

    Attributes:
        is_said: whether it has been said.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._call: Callable[[], None] | None = None
        self.is_said = False

    def say(self) -> None:
        with self._lock:
            self.is_said = True
            call = self._call
        if call is not None:
            call()

    def when_said(self, call: Callable[[], None]) -> None:
        """Let a function, instead of the one before, be called when it is said; at once if it has been said."""
        with self._lock:
            self._call = call
            is_said = self.is_said
        if is_said:
            call()


class Masks(Protocol):
    """The masks of one answer, one after the other. An error is an ApiError.

    Attributes:
        eos_token_ids: the tokens that end the answer where its masks allow them.
    """

    eos_token_ids: frozenset[int]

    def after(self, token: int | None, remaining: int | None) -> Future[Mask]:
        """Accept the token that was chosen, None at the beginning, and make the mask of the next one. The answer must
        end within `remaining` tokens; None: it may be cut."""

    def close(self) -> None:
        """Say that no mask is needed any more. A mask that is being made is given up; a grammar that is being loaded
        once more, because the answer moves to another process, is loaded to its end there."""


class Prepared(NamedTuple):
    """What becomes of a body.

    Attributes:
        request: what it asks for.
        prompt: the ids of its prompt.
        reasoning: what stands before its answers; None: nothing that is told from them.
        masks: `Masks` for each answer, or None for free text.
        seconds: the time in which its grammar was loaded.
    """

    request: Request
    prompt: list[int]
    reasoning: Reasoning | None
    masks: Sequence[Masks | None]
    seconds: float


class Prepares(Protocol):
    """What the server asks for. `start` takes some seconds; `prepare` may be called after it."""

    def start(self) -> None:
        """Get ready."""

    def prepare(self, body: bytes, endpoint: str, leaving: Leaving) -> Future[Prepared]:
        """Read the body of a request to an endpoint of `READERS`. An error is an ApiError. If the client leaves, what
        has not begun may be dropped, and is an error then; what is there nevertheless must be closed."""

    def n_grammars(self) -> int:
        """Return how many grammars are remembered."""

    def close(self) -> None:
        """End all calls."""


class Preparer:
    """Reads bodies for one model.

    Args:
        vocabulary: that of the model.
        tokenizer: with a chat template.
        style: in which calls are written.
        options: of the server.
        max_length: the most tokens of a prompt and its answer.
        n_scores: how many scores the model gives for a token. A tokenizer may have ids beyond; None: it has none.
        kind: whether it gives up what takes longer than `Options.seconds(kind)`, and raises Slow; "slow": it does not.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        tokenizer: Any,
        style: str | Style,
        options: Options,
        max_length: int,
        n_scores: int | None = None,
        kind: Kind = "slow",
    ) -> None:
        self.vocabulary = vocabulary
        self.prompts = Prompts(tokenizer)
        self.options = options
        self.kind = kind
        self.max_length = max_length
        self.n_scores = vocabulary.size if n_scores is None else min(n_scores, vocabulary.size)
        limits = options.limits
        self._match_seconds = limits.load_seconds + limits.seconds  # the grammar and its first mask
        self._answer_seconds = MASK_SECONDS
        self._slow: dict[int, float] = {}  # when grammars were too slow, by the hash of what they are made of
        self._most = most = options.seconds(kind)
        if most is not None:
            limits = replace(limits, seconds=min(most, limits.seconds), load_seconds=min(most, limits.load_seconds))
            self._match_seconds = min(most, self._match_seconds)
            self._answer_seconds = min(MASKS_IN_ALL * most, MASK_SECONDS)
        self.grammars = Grammars(vocabulary, style, limits)

    def warm_up(self) -> None:
        prepare(self.vocabulary, memory=256 << 20)

    def read(self, body: bytes, endpoint: str) -> tuple[Prepared, Demand | None]:
        """Read a body, and make its prompt. Return both without masks, and what its answers must be; None: free text.

        Raises ApiError.
        """
        try:
            return self._read(body, endpoint)
        except ApiError:
            raise
        except RecursionError:
            raise bad("the body is nested too deeply", None, "invalid_json") from None
        except Exception as error:
            log.exception("a request could not be read")
            raise ours(error) from None

    def match(self, demand: Demand, tokens: Sequence[int] = ()) -> list[Matching]:
        """Return matchings for the answers, which have some tokens already.

        Raises ApiError, and Slow.
        """
        key = hash((demand.tools, demand.answer, demand.reasoning, demand.budget is None))
        if time.monotonic() - self._slow.get(key, -inf) < SLOW_FOR:
            raise Slow(is_lasting=True)
        try:
            with Within(self._match_seconds):  # a grammar of several parts may take as long as one
                found: list[Matching] = self._work(self._match, demand, not tokens)
        except Slow as slow:
            if slow.is_lasting:
                if len(self._slow) >= MOST_SLOW:
                    self._slow.clear()
                self._slow[key] = time.monotonic()
            raise
        for matching in found:
            self._work(matching.follow, tokens)
        return found

    def make(self, matching: Matching, token: int | None, remaining: int | None) -> Mask:
        """Return what `Matching.make` does.

        Raises ApiError, and Slow.
        """
        return self._work(matching.make, token, remaining)

    def _work(self, work: Callable[..., Any], *given: Any) -> Any:
        """Return what a function does. Raises ApiError.

        A preparer that gives up what is slow raises Slow instead if a limit of time has been met, or if more than half
        of its time is over: some errors say less if no time is left to find out more.
        """
        began = time.thread_time()
        try:
            return work(*given)
        except ApiError as error:
            is_limit = error.limit in ("seconds", "load_seconds")
            if self._most is not None and (is_limit or time.thread_time() - began > self._most / 2):
                raise Slow(is_lasting=is_limit) from None
            raise
        except RecursionError:
            raise bad("the constraint is nested too deeply", None, "grammar_too_costly") from None
        except Exception as error:
            log.exception("a constraint could not be followed")
            raise ours(error) from None

    def _read(self, body: bytes, endpoint: str) -> tuple[Prepared, Demand | None]:
        request = READERS[endpoint](read_json(body))
        check_model(request.model, self.options.name)
        most = self.options.most_answers
        if request.n > most:  # later would be no better
            raise bad(f"n={request.n}: at most {most} answers are generated or wait at the same time", "n")
        for token, _ in request.sampling.bias:
            if token >= self.n_scores:
                raise bad(f"logit_bias: the model has no score for a token {token}", "logit_bias")
        if (
            request.tools
            and request.sampling.n_alternatives is not None
            and not begins_with_content(self.grammars.style)
        ):
            message = f"logprobs beside tools are not supported in the style {self.grammars.style.name!r}"
            raise bad(message, request.logprobs_param, "unsupported_parameter")
        tools = request.tools_text()
        shown = shown_tools(json.loads(tools.definitions)) if tools.definitions else []
        text, prompt = self.prompts.read(request.messages, shown, request.template, request.prompt_param)
        marks, is_bound = self.options.reasoning, request.answer is not None or bool(request.tools)
        reasoning = None if marks is None else reasoning_after(text, marks, is_bound)
        left = self.left(request, len(prompt))
        demand = None
        if is_bound:
            budget = left if request.fits else None
            demand = Demand(tools, request.answer, reasoning, request.n, budget, request.max_param)
        # To make objects of what goes to another process takes a tenth of a second for a megabyte of lists.
        short = replace(request, messages=[], choice=None, tools=read_back(request.tools, self.grammars.style))
        return Prepared(short, prompt, reasoning, [None] * request.n, 0.0), demand

    def _match(self, demand: Demand, is_new: bool) -> list[Matching]:
        matcher = self.grammars.matcher(demand.tools, demand.answer, demand.reasoning)
        assert matcher is not None
        if demand.budget is not None and is_new:
            try:
                needed = matcher.tokens_to_finish()
            except EarleymaskError as error:
                raise of_grammar(error, "fit_max_tokens") from None
            if needed > demand.budget:
                message = (
                    f"an answer that the constraint allows may need {needed} tokens, and {demand.budget} are allowed"
                )
                raise bad(message, demand.max_param, "budget_too_small")
        try:
            forks = [matcher.fork() for _ in range(demand.n)]
        except EarleymaskError as error:
            raise of_grammar(error, "n") from None
        return [Matching(fork, self.vocabulary, self.n_scores, self._answer_seconds) for fork in forks]

    def left(self, request: Request, n_prompt: int) -> int:
        """Return how many tokens an answer may have."""
        room = self.max_length - n_prompt
        if room < (request.max_tokens or 1):
            asked = f" and {request.max_param}={request.max_tokens}" if request.max_tokens else ""
            message = f"the prompt has {n_prompt} tokens{asked}, and the model reads {self.max_length} in all"
            raise bad(message, request.max_param if room > 0 else request.prompt_param, "context_length_exceeded")
        return request.max_tokens or room


class Matching:
    """The position of one answer in its grammar, and the processor time that its masks have taken."""

    def __init__(self, matcher: Matcher, vocabulary: Vocabulary, n_scores: int, seconds: float = MASK_SECONDS) -> None:
        self.matcher = matcher
        self.eos_token_ids = frozenset(matcher.eos_token_ids)
        self.is_closed = False
        self._row = allocate_bitmask(1, vocabulary)[0]
        within = np.zeros(32 * len(self._row), np.uint8)
        within[:n_scores] = 1
        self._within = np.packbits(within, bitorder="little").view("<i4")  # the ids that have scores
        self._most = seconds
        self._seconds = 0.0
        self._n_tokens = 0

    def follow(self, tokens: Sequence[int]) -> None:
        """Accept tokens. Raises ApiError."""
        for token in tokens:
            self._within_limits(self._accept, token)

    def make(self, token: int | None, remaining: int | None) -> Mask:
        """Accept a token, and make the mask after it; the next call makes it anew. Raises ApiError."""
        return self._within_limits(self._make, token, remaining)

    def _within_limits(self, work: Callable[..., Any], *given: Any) -> Any:
        began = time.thread_time()
        try:
            found = work(*given)
            self._seconds += time.thread_time() - began
            if self._seconds > self._most + MASK_SECONDS_OF_TOKEN * self._n_tokens:
                message = f"the masks of {self._n_tokens} tokens took {self._seconds:.1f} s; simplify the grammar"
                raise LimitError(message).at_limit("seconds")
        except EarleymaskError as error:
            raise of_grammar(error, None) from None
        return found

    def _accept(self, token: int) -> None:
        self._n_tokens += 1
        if not self.matcher.accept(token):
            raise AssertionError("this is a bug in earleymask: a token of its own mask is not accepted")
        if self.is_closed:
            raise given_up()

    def _make(self, token: int | None, remaining: int | None) -> Mask:
        if token is not None:
            self._accept(token)
        if self.is_closed:
            raise given_up()
        self.matcher.fill_bitmask(self._row, remaining=remaining)
        if not self._row.any():
            raise EarleymaskError("the model's vocabulary has no token for what the grammar demands here")
        if not (self._row & self._within).any():
            raise excluded_mask(f"token {self._n_tokens + 1} of the answer")
        return self._row

    def close(self) -> None:
        self.is_closed = True
        self.matcher.cancel()


class Workers:
    """Threads for bodies and threads for masks."""

    def __init__(self, slots: int) -> None:
        self.loaders = ThreadPoolExecutor(LOADERS, "earleymask-load")
        self.makers = ThreadPoolExecutor(2 * slots, "earleymask-mask")  # some may still end calls that nobody waits for

    def close(self) -> None:
        self.loaders.shutdown(cancel_futures=True)
        self.makers.shutdown(cancel_futures=True)


class Threads:
    """Lets a preparer work in threads of this process."""

    def __init__(self, preparer: Preparer) -> None:
        self.preparer = preparer
        self.workers = Workers(preparer.options.slots)

    def start(self) -> None:
        self.preparer.warm_up()

    def prepare(self, body: bytes, endpoint: str, leaving: Leaving) -> Future[Prepared]:
        return self.workers.loaders.submit(self._prepared, body, endpoint, leaving)

    def _prepared(self, body: bytes, endpoint: str, leaving: Leaving) -> Prepared:
        if leaving.is_said:
            raise given_up()
        found, demand = self.preparer.read(body, endpoint)
        if demand is None:
            return found
        began = time.perf_counter()
        masks = [ThreadMasks(self.preparer, one, self.workers.makers) for one in self.preparer.match(demand)]
        return found._replace(masks=masks, seconds=time.perf_counter() - began)

    def n_grammars(self) -> int:
        return self.preparer.grammars.pool.stats()["grammars"]

    def close(self) -> None:
        self.workers.close()


class ThreadMasks:
    """The masks of an answer, each made in a thread."""

    def __init__(self, preparer: Preparer, matching: Matching, makers: ThreadPoolExecutor) -> None:
        self.eos_token_ids = matching.eos_token_ids
        self._preparer = preparer
        self._matching = matching
        self._makers = makers

    def after(self, token: int | None, remaining: int | None) -> Future[Mask]:
        return self._makers.submit(self._preparer.make, self._matching, token, remaining)

    def close(self) -> None:
        self._matching.close()


def begins_with_content(style: Style) -> bool:
    """Return whether a message in a style begins with its content, so that its first characters are those of the
    content."""
    return style.layout == "free" and style.content.startswith("${text}")


def check_model(name: str, known: str) -> None:
    if name != known:
        message = f"the model {name[:100]!r} does not exist; this server has {known!r}"
        raise ApiError(404, message, "model", "model_not_found")


def read_json(data: bytes) -> Any:
    """Return the value of a JSON text; numbers with a fraction or an exponent as decimals, which lose nothing.

    Raises ApiError if it is malformed, nested too deeply, or has a string that is no text, or an object that has a
    member twice: of two constraints, one would be dropped.
    """

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            counts = Counter(name for name, _ in pairs)
            twice = next(name for name, count in counts.items() if count > 1)
            raise bad(f"an object of the body has the member {shown(twice)} twice", None, "invalid_json")
        return found

    def refused(name: str) -> Any:
        raise ValueError(f"{name} is no JSON")

    try:
        found = json.loads(data, parse_float=Decimal, parse_constant=refused, object_pairs_hook=members)
    except RecursionError:
        raise bad("the body is nested too deeply", None, "invalid_json") from None
    except ArithmeticError:
        raise bad("the body has a number whose exponent is too large", None, "invalid_json") from None
    except ValueError as error:  # malformed, no UTF-8, or an integer of thousands of digits
        raise bad(f"the body is no JSON: {error}", None, "invalid_json") from None
    check(found, "the body", None)
    return found
