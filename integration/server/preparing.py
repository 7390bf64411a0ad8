"""All that is done with what strangers send: bodies are read, prompts and grammars made of them, and masks of these.

`Preparer` does it, a body or a mask at a time. `Threads` lets it work in threads of this process, `grammar_process` in
another process.
"""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from decimal import Decimal
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ...bitmask import allocate_bitmask
from ...earley import Matcher
from ...errors import EarleymaskError, LimitError, excluded_mask
from ...grammar.tools.style import Style
from ...prepare import prepare
from ...trie import Vocabulary
from .constraints import Grammars
from .conversation import Prompts, shown_tools
from .errors import ApiError, bad, given_up, of_grammar, ours
from .fields import check, shown
from .options import Options
from .requests import Request, read_chat, read_response
from .thinking import Reasoning, reasoning_after

LOADERS = 8
"""Threads that read prompts and load grammars. Each costly grammar keeps one busy for `Limits.load_seconds` at most."""

MASK_SECONDS, MASK_SECONDS_OF_TOKEN = 2.0, 0.002
"""Processor time that the masks of an answer may take in all: so much, and so much more for each of its tokens. Most
answers need some milliseconds. `Limits.seconds` bounds a single mask, but an answer has thousands."""

READERS: dict[str, Callable[[Any], Request]] = {"chat": read_chat, "responses": read_response}

Mask = npt.NDArray[np.int32]
"""One row of a bitmask."""

log = logging.getLogger("earleymask.server")


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
        """Say that no mask is needed any more, also of the call that is running."""


class Prepared(NamedTuple):
    """What becomes of a body.

    Attributes:
        request: what it asks for.
        prompt: the ids of its prompt.
        reasoning: what stands before its answers; None: nothing that is told from them.
        masks: `Masks` for each answer, or None for free text; within the preparer, `Matching`.
        seconds: the time in which its grammar was loaded.
    """

    request: Request
    prompt: list[int]
    reasoning: Reasoning | None
    masks: list[Any]
    seconds: float


class Prepares(Protocol):
    """What the server asks for. `start` takes some seconds; `prepare` may be called after it."""

    def start(self) -> None:
        """Get ready."""

    def prepare(self, body: bytes, endpoint: str) -> Future[Prepared]:
        """Read the body of a request to an endpoint of `READERS`. An error is an ApiError."""

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
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        tokenizer: Any,
        style: str | Style,
        options: Options,
        max_length: int,
        n_scores: int | None = None,
    ) -> None:
        self.vocabulary = vocabulary
        self.prompts = Prompts(tokenizer)
        self.options = options
        self.max_length = max_length
        self.n_scores = vocabulary.size if n_scores is None else min(n_scores, vocabulary.size)
        self.grammars = Grammars(vocabulary, style, options.limits)

    def warm_up(self) -> None:
        prepare(self.vocabulary, memory=256 << 20)

    def prepared(self, body: bytes, endpoint: str) -> Prepared:
        """Read a body, its prompt and its grammar. Raises ApiError."""
        try:
            return self._prepared(body, endpoint)
        except ApiError:
            raise
        except RecursionError:
            raise bad("the body is nested too deeply", None, "invalid_json") from None
        except Exception as error:
            log.exception("a request could not be read")
            raise ours(error) from None

    def _prepared(self, body: bytes, endpoint: str) -> Prepared:
        request = READERS[endpoint](read_json(body))
        check_model(request.model, self.options.name)
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
        began = time.perf_counter()
        matcher = self.grammars.matcher(tools, request.answer, reasoning)
        if matcher is not None and request.fits:
            try:
                needed = matcher.tokens_to_finish()
            except EarleymaskError as error:
                raise of_grammar(error, "fit_max_tokens") from None
            if needed > left:
                message = f"an answer that the constraint allows may need {needed} tokens, and {left} are allowed"
                raise bad(message, request.max_param, "budget_too_small")
        seconds = time.perf_counter() - began
        try:
            masks = [
                None if matcher is None else Matching(matcher.fork(), self.vocabulary, self.n_scores)
                for _ in range(request.n)
            ]
        except EarleymaskError as error:
            raise of_grammar(error, "n") from None
        return Prepared(request, prompt, reasoning, masks, seconds)

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

    def __init__(self, matcher: Matcher, vocabulary: Vocabulary, n_scores: int) -> None:
        self.matcher = matcher
        self.eos_token_ids = frozenset(matcher.eos_token_ids)
        self.is_closed = False
        self._row = allocate_bitmask(1, vocabulary)[0]
        within = np.zeros(32 * len(self._row), np.uint8)
        within[:n_scores] = 1
        self._within = np.packbits(within, bitorder="little").view("<i4")  # the ids that have scores
        self._seconds = 0.0
        self._n_tokens = 0

    def make(self, token: int | None, remaining: int | None) -> Mask:
        """Accept a token, and make the mask after it; the next call makes it anew. Raises ApiError."""
        try:
            return self._make(token, remaining)
        except ApiError:
            raise
        except EarleymaskError as error:
            raise of_grammar(error, None) from None
        except Exception as error:
            log.exception("no mask could be made")
            raise ours(error) from None

    def _make(self, token: int | None, remaining: int | None) -> Mask:
        began = time.thread_time()
        if token is not None:
            self._n_tokens += 1
            if not self.matcher.accept(token):
                raise AssertionError("this is a bug in earleymask: a token of its own mask is not accepted")
        if self.is_closed:
            raise given_up()
        self.matcher.fill_bitmask(self._row, remaining=remaining)
        self._seconds += time.thread_time() - began
        if self._seconds > MASK_SECONDS + MASK_SECONDS_OF_TOKEN * self._n_tokens:
            raise LimitError(f"the masks of {self._n_tokens} tokens took {self._seconds:.1f} s; simplify the grammar")
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

    def prepare(self, body: bytes, endpoint: str) -> Future[Prepared]:
        return self.workers.loaders.submit(self._prepared, body, endpoint)

    def _prepared(self, body: bytes, endpoint: str) -> Prepared:
        found = self.preparer.prepared(body, endpoint)
        return found._replace(masks=[one and ThreadMasks(one, self.workers.makers) for one in found.masks])

    def n_grammars(self) -> int:
        return self.preparer.grammars.pool.stats()["grammars"]

    def close(self) -> None:
        self.workers.close()


class ThreadMasks:
    """The masks of an answer, each made in a thread."""

    def __init__(self, matching: Matching, makers: ThreadPoolExecutor) -> None:
        self.eos_token_ids = matching.eos_token_ids
        self._matching = matching
        self._makers = makers

    def after(self, token: int | None, remaining: int | None) -> Future[Mask]:
        return self._makers.submit(self._matching.make, token, remaining)

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
