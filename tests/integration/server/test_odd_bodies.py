"""Bodies in which something is odd are served or refused; they never fail.

`EARLEYMASK_SEED=2` draws other bodies.
"""

from __future__ import annotations

import copy
import json
import os
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from support.effort import effort
from support.tiny_server import tokenizer_with_template

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("starlette")
openai_types = pytest.importorskip("openai.types")

from earleymask import Vocabulary  # noqa: E402
from earleymask.integration.server.chat import Chat  # noqa: E402
from earleymask.integration.server.engine import Piece  # noqa: E402
from earleymask.integration.server.errors import ApiError  # noqa: E402
from earleymask.integration.server.options import Options  # noqa: E402
from earleymask.integration.server.parts import Message  # noqa: E402
from earleymask.integration.server.preparing import Preparer  # noqa: E402
from earleymask.integration.server.responses import Responses  # noqa: E402
from earleymask.tools import find_style  # noqa: E402

N_BODIES = effort(1500, 15_000)
"""Bodies of a run: some seconds, or many."""
SEED = int(os.environ.get("EARLEYMASK_SEED", "1"))
STYLES = ("hermes", "llama", "harmony")
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 5}, "days": {"type": "integer"}},
    "required": ["city"],
    "additionalProperties": False,
}
LARK = {"syntax": "lark", "definition": 'start: "a" /[0-9]/'}
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
FUNCTION = {"type": "function", "function": {"name": "f", "parameters": SCHEMA, "strict": True}}
CUSTOM = {"type": "custom", "custom": {"name": "r", "format": {"type": "grammar", "grammar": LARK}}}
ALLOWED = {
    "type": "allowed_tools",
    "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "f"}}]},
}
FLAT_ALLOWED = {
    "type": "allowed_tools",
    "mode": "auto",
    "tools": [{"type": "function", "name": "f"}, {"type": "custom", "name": "r"}],
}
BODIES: list[tuple[str, dict[str, Any]]] = [
    (
        "chat",
        {
            "model": "m",
            "messages": [
                {"role": "system", "content": "be brief"},
                {"role": "user", "content": [{"type": "text", "text": "hi"}]},
                {"role": "assistant", "content": None, "tool_calls": [CALL]},
                {"role": "tool", "tool_call_id": "c", "content": "1"},
            ],
            "tools": [FUNCTION, CUSTOM],
            "tool_choice": ALLOWED,
            "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA, "strict": True}},
            "stop": ["a"],
            "logit_bias": {"5": 1},
            "n": 2,
            "seed": 1,
            "temperature": 1,
            "top_p": 0.5,
            "max_tokens": 200,
            "fit_max_tokens": True,
            "logprobs": True,
            "top_logprobs": 2,
            "metadata": {"a": "b"},
            "parallel_tool_calls": False,
            "close_tools": True,
        },
    ),
    (
        "chat",
        {
            "model": "m",
            "messages": [{"role": "user", "content": "hi"}],
            "structured_outputs": {"json": SCHEMA, "disable_any_whitespace": True},
            "max_completion_tokens": 50,
            "fit_max_tokens": True,
            "stream": True,
            "stream_options": {"include_usage": True},
        },
    ),
    (
        "responses",
        {
            "model": "m",
            "input": [
                {"role": "user", "content": "hi"},
                {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c", "output": [{"type": "output_text", "text": "1"}]},
                {"type": "reasoning", "summary": []},
            ],
            "instructions": "be brief",
            "tools": [
                {"type": "function", "name": "f", "parameters": SCHEMA},
                {"type": "custom", "name": "r", "format": {"type": "grammar", **LARK}},
            ],
            "tool_choice": {"type": "custom", "name": "r"},
            "text": {"format": {"type": "json_schema", "name": "s", "schema": SCHEMA}},
            "include": ["message.output_text.logprobs"],
            "top_logprobs": 1,
            "max_output_tokens": 100,
            "reasoning": {"effort": None},
        },
    ),
    ("responses", {"model": "m", "input": "hi", "text": {"format": {"type": "json_object"}}, "tools": [CUSTOM]}),
    # Clients of chat completions send tools and choices in their shape.
    ("responses", {"model": "m", "input": "hi", "tools": [FUNCTION, CUSTOM], "tool_choice": ALLOWED}),
    ("responses", {"model": "m", "input": "hi", "tools": [FUNCTION, CUSTOM], "tool_choice": FLAT_ALLOWED}),
    (
        "chat",
        {"model": "m", "messages": [{"role": "user", "content": "hi"}], "tools": [FUNCTION], "tool_choice": ALLOWED},
    ),
]
ODD: list[Any] = [
    *(None, True, False, 0, -1, 1.5, 10**30, 1e300, "", "a", "\0", "\u00e9" * 50, "{", "{}", "start: a", "(("),
    *("none", "required", "function", "custom", "auto", "json_schema", "text", "grammar", "allowed_tools"),
    *([], {}, [[]], [None], [{}], ["a"], {"a": {"b": []}}, {"name": 1}, {"type": "grammar"}, {"type": []}),
    *({"type": {}}, {"type": "function"}, {"type": "custom", "custom": None}),
]
NAMES = ("type", "name", "x", "custom", "function", "format", "grammar", "json_schema", "tools")


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of each value within another."""
    if place:
        yield place
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*place, key))


def odd(rng: random.Random, body: dict[str, Any]) -> dict[str, Any]:
    """Return a body in which a value is replaced, dropped or added; in a tenth of them, two or three values."""
    body = copy.deepcopy(body)
    for _ in range(1 if rng.random() < 0.9 else rng.choice([2, 3])):
        *way, last = rng.choice([*places(body)] or [("model",)])
        within = at(body, way)
        draw = rng.random()
        if draw < 0.3 and (isinstance(within, list) or last in within):
            del within[last]
        elif draw < 0.4:
            within[last] = None
        elif draw < 0.5 and isinstance(within, dict):
            within[rng.choice(NAMES)] = copy.deepcopy(rng.choice(ODD))
        else:
            within[last] = copy.deepcopy(rng.choice(ODD))
    return body


def at(body: Any, way: Sequence[Any]) -> Any:
    """Return the value at a place of a body."""
    for key in way:
        body = body[key]
    return body


@pytest.fixture(scope="module")
def preparers() -> dict[str, Preparer]:
    tokenizer = tokenizer_with_template()
    vocabulary = Vocabulary.from_transformers(tokenizer)
    return {style: Preparer(vocabulary, tokenizer, style, Options(name="m"), 4096) for style in STYLES}


def status(preparer: Preparer, style: str, endpoint: str, body: dict[str, Any], shown: str) -> int:
    """Return the status with which a body is answered. What is said in it must be what OpenAI's client reads."""
    try:
        found, demand = preparer.read(json.dumps(body).encode(), endpoint)
        if demand is not None:
            preparer.match(demand)
    except ApiError as error:
        refused = error
    except Exception as error:
        raise AssertionError(shown) from error
    else:
        refused = None
    if refused is not None:
        assert refused.status in (400, 404), shown
        json.dumps(refused.body())
        return refused.status
    messages = [Message(found.request, find_style(style), found.reasoning) for _ in range(found.request.n)]
    shaped: Any = (Chat if endpoint == "chat" else Responses)(found.request, messages)
    for index in range(len(messages)):
        assert list(shaped.piece(index, Piece("a", (), "stop"))), shown
    whole = json.loads(shaped.whole(1, 1, 0))
    if endpoint == "chat":
        openai_types.chat.ChatCompletion.model_validate(whole)
    else:  # `metadata` and `text` are repeated as they came, also where OpenAI demands more, such as a name
        openai_types.responses.Response.model_validate({**whole, "metadata": {}, "text": {}})
    return 200


def test_odd_bodies_are_served_or_refused(preparers: dict[str, Preparer]) -> None:
    rng = random.Random(SEED)
    statuses: Counter[int] = Counter()
    for _ in range(N_BODIES):
        endpoint, body = rng.choice(BODIES)
        body, style = odd(rng, body), rng.choice(STYLES)
        statuses[status(preparers[style], style, endpoint, body, f"seed {SEED}, {style}: {json.dumps(body)}")] += 1
    assert statuses[200] > N_BODIES / 10 and statuses[400] > N_BODIES / 2, statuses


@pytest.mark.parametrize(("endpoint", "body"), BODIES, ids=[f"{endpoint}{i}" for i, (endpoint, _) in enumerate(BODIES)])
def test_values_that_are_missing_or_null(preparers: dict[str, Preparer], endpoint: str, body: dict[str, Any]) -> None:
    """Each value in turn. A member that is null is answered as one that is missing, but for schemas, where it is
    a value, and definitions of tools, which templates show."""
    assert status(preparers["hermes"], "hermes", endpoint, body, "the whole body") == 200
    for *way, last in places(body):
        found = []
        for is_null in (False, True):
            changed = copy.deepcopy(body)
            within = at(changed, way)
            if is_null:
                within[last] = None
            else:
                del within[last]
            shown = f"{'null' if is_null else 'missing'} at {[*way, last]}: {json.dumps(changed)}"
            found.append(status(preparers["hermes"], "hermes", endpoint, changed, shown))
        if isinstance(last, str) and not {"schema", "json", "parameters"} & {*way} and way[:1] != ["tools"]:
            assert found[0] == found[1], ([*way, last], found)
