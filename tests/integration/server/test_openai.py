"""The `openai` client against the server: typed calls, streams, tools, custom tools, errors."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
from collections.abc import Iterator
from typing import Any

import pytest

from support.tiny_server import serving, tiny_llama, tokenizer_with_template

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
openai = pytest.importorskip("openai")
jsonschema = pytest.importorskip("jsonschema")

from earleymask import Grammar, Matcher, Vocabulary  # noqa: E402
from earleymask.integration.server.app import create_app  # noqa: E402
from earleymask.integration.server.options import Options  # noqa: E402

torch.set_num_threads(1)

MESSAGES = [{"role": "user", "content": "hi"}]
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 5}, "days": {"type": "integer"}},
    "required": ["city", "days"],
    "additionalProperties": False,
}
FORMAT = {"type": "json_schema", "json_schema": {"name": "trip", "schema": SCHEMA, "strict": True}}
DEFINITION = 'start: "print(" /[a-z]{1,5}/ ")"'
FUNCTION = {"name": "weather", "parameters": SCHEMA, "strict": True}
CHAT_TOOLS = [
    {"type": "function", "function": FUNCTION},
    {
        "type": "custom",
        "custom": {
            "name": "run",
            "format": {"type": "grammar", "grammar": {"syntax": "lark", "definition": DEFINITION}},
        },
    },
    {
        "type": "custom",
        "custom": {
            "name": "dial",
            "format": {"type": "grammar", "grammar": {"syntax": "regex", "definition": "[0-9]{3}"}},
        },
    },
]
TOOLS = [
    {"type": "function", **FUNCTION},
    {"type": "custom", "name": "run", "format": {"type": "grammar", "syntax": "lark", "definition": DEFINITION}},
    {"type": "custom", "name": "dial", "format": {"type": "grammar", "syntax": "regex", "definition": "[0-9]{3}"}},
]
BROKEN = {"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: item"}}
INPUTS = {"run": r"print\([a-z]{1,5}\)", "dial": "[0-9]{3}"}
FIT = {"fit_max_tokens": True}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    tokenizer = tokenizer_with_template()
    with serving(create_app(tiny_llama(tokenizer), tokenizer, Options(name="tiny", slots=4))) as address:
        yield address


@pytest.fixture(scope="module")
def client(address: str) -> Any:
    return openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0)


def chat(client: Any, **options: Any) -> Any:
    options = {"max_tokens": 300, "seed": 1, **options}
    return client.chat.completions.create(model="tiny", messages=MESSAGES, **options)


def respond(client: Any, **options: Any) -> Any:
    extra = {"seed": 1, **options.pop("extra_body", {})}
    options = {"max_output_tokens": 300, "input": "hi", **options}
    return client.responses.create(model="tiny", extra_body=extra, **options)


def check_call(name: str, text: str) -> None:
    if name == "weather":
        jsonschema.validate(json.loads(text), SCHEMA)
    else:
        assert re.fullmatch(INPUTS[name], text)


# Answers


def test_free_text_ends_at_max_tokens(client: Any) -> None:
    found = chat(client, max_tokens=7, n=3)
    assert [choice.index for choice in found.choices] == [0, 1, 2]
    assert {choice.finish_reason for choice in found.choices} == {"length"}
    assert len({choice.message.content for choice in found.choices}) == 3
    assert found.usage.completion_tokens == 21 and found.usage.total_tokens == 21 + found.usage.prompt_tokens
    assert found.object == "chat.completion" and found.model == "tiny"


def test_a_seed_repeats_an_answer_whatever_else_is_generated(client: Any) -> None:
    first, second = chat(client, max_tokens=30, n=1), chat(client, max_tokens=30, n=4)
    assert first.choices[0].message.content == second.choices[0].message.content
    assert chat(client, max_tokens=30, seed=2).choices[0].message.content != first.choices[0].message.content


@pytest.mark.parametrize(
    ("options", "check"),
    [
        ({"response_format": FORMAT}, lambda text: jsonschema.validate(json.loads(text), SCHEMA)),
        ({"response_format": {"type": "json_object"}}, lambda text: isinstance(json.loads(text), dict) or 1 / 0),
        ({"structured_outputs": {"json": SCHEMA}}, lambda text: jsonschema.validate(json.loads(text), SCHEMA)),
        (
            {"structured_outputs": {"json": json.dumps(SCHEMA), "disable_any_whitespace": True}},
            lambda text: json.loads(text),
        ),
        ({"structured_outputs": {"regex": "[ab]{3}c"}}, lambda text: re.fullmatch("[ab]{3}c", text) or 1 / 0),
        ({"structured_outputs": {"choice": ["yes", "no"]}}, lambda text: ["yes", "no"].index(text)),
        ({"structured_outputs": {"grammar": 'start: "x" /y+/'}}, lambda text: re.fullmatch("xy+", text) or 1 / 0),
        ({"structured_outputs": {"grammar": 'root ::= "x" [y]+'}}, lambda text: re.fullmatch("xy+", text) or 1 / 0),
        (
            {"response_format": {"type": "structural_tag", "format": {"type": "const_string", "value": "abc"}}},
            lambda text: ["abc"].index(text),
        ),
    ],
)
def test_constraints_are_enforced(client: Any, options: dict[str, Any], check: Any) -> None:
    for seed in range(3):
        found = chat(client, seed=seed, extra_body={**options, **FIT})
        assert found.choices[0].finish_reason == "stop"
        check(found.choices[0].message.content)


def test_without_a_budget_an_answer_is_cut_and_parse_says_so(client: Any) -> None:
    from pydantic import BaseModel

    class Trip(BaseModel):
        city: str
        days: int

    with pytest.raises(openai.LengthFinishReasonError):
        client.chat.completions.parse(model="tiny", messages=MESSAGES, max_tokens=4, response_format=Trip)
    found = client.chat.completions.parse(
        model="tiny", messages=MESSAGES, max_tokens=400, seed=3, response_format=Trip, extra_body=FIT
    )
    assert isinstance(found.choices[0].message.parsed, Trip)
    found = client.responses.parse(model="tiny", input="hi", max_output_tokens=400, text_format=Trip, extra_body=FIT)
    assert isinstance(found.output_parsed, Trip) and found.status == "completed"


def test_stop_strings(client: Any) -> None:
    options = {"structured_outputs": {"regex": "a{5}b{5}c{5}"}}
    found = chat(client, stop=["bbc", "zz"], extra_body=options)
    assert (found.choices[0].message.content, found.choices[0].finish_reason) == ("aaaaabbb", "stop")
    pieces = [
        chunk.choices[0].delta.content or "" for chunk in chat(client, stop="bbc", extra_body=options, stream=True)
    ]
    assert "".join(pieces) == "aaaaabbb"


def test_log_probabilities_beside_tools(client: Any) -> None:
    found = chat(client, logprobs=True, tools=CHAT_TOOLS, max_tokens=20)
    choice = found.choices[0]
    assert not choice.message.tool_calls and choice.logprobs.content
    spelled = b"".join(bytes(entry.bytes) for entry in choice.logprobs.content)
    assert spelled.decode("utf-8", "replace") == choice.message.content
    found = chat(client, logprobs=True, tools=CHAT_TOOLS, tool_choice="required")
    assert found.choices[0].message.tool_calls and found.choices[0].logprobs.content == []


def test_log_probabilities(client: Any) -> None:
    options = {"structured_outputs": {"regex": "x[ab]{3}"}}
    found = chat(client, logprobs=True, top_logprobs=5, extra_body=options)
    entries = found.choices[0].logprobs.content
    assert "".join(entry.token for entry in entries) == found.choices[0].message.content
    assert [len(entry.top_logprobs) for entry in entries] == [1, 2, 2, 2]
    for entry in entries:
        assert entry.logprob in [each.logprob for each in entry.top_logprobs if each.token == entry.token]
        assert sum(2.718281828**each.logprob for each in entry.top_logprobs) == pytest.approx(1, abs=1e-4)
    streamed = []
    for chunk in chat(client, logprobs=True, top_logprobs=5, extra_body=options, stream=True):
        if chunk.choices[0].logprobs is not None:
            streamed += chunk.choices[0].logprobs.content
    assert [entry.model_dump() for entry in streamed] == [entry.model_dump() for entry in entries]
    response = respond(client, include=["message.output_text.logprobs"], top_logprobs=5, extra_body=options)
    assert [entry.logprob for entry in response.output[0].content[0].logprobs] == [entry.logprob for entry in entries]


def test_a_bias_decides(client: Any) -> None:
    options = {"structured_outputs": {"choice": ["a", "b"]}}
    vocabulary = Vocabulary.from_transformers(tokenizer_with_template())
    token = next(token for token in range(vocabulary.size) if vocabulary.token_bytes(token) == b"b")
    found = chat(client, n=4, logit_bias={str(token): 100}, extra_body=options)
    assert {choice.message.content for choice in found.choices} == {"b"}


# Shapes


CALLS = {
    "chat": {"tools": CHAT_TOOLS, "tool_choice": "required"},
    "responses": {"tools": TOOLS, "tool_choice": "required"},
}
ASKED: list[tuple[str, dict[str, Any]]] = [
    ("chat", {"max_tokens": 9, "n": 2, "logprobs": True, "top_logprobs": 3}),
    ("chat", {"response_format": FORMAT}),
    ("chat", {**CALLS["chat"], "stream_options": {"include_usage": True}}),
    ("chat", {**CALLS["chat"], "tool_choice": {"type": "function", "function": {"name": "weather"}}}),
    ("responses", {"max_output_tokens": 9, "include": ["message.output_text.logprobs"], "top_logprobs": 3}),
    ("responses", {"text": {"format": {"type": "json_schema", "name": "trip", "schema": SCHEMA}}}),
    ("responses", {**CALLS["responses"], "instructions": "be brief", "metadata": {"a": "b"}}),
    ("responses", {**CALLS["responses"], "tool_choice": {"type": "function", "name": "weather"}}),
    # The shapes of chat completions are understood there, too, and shown in those of responses.
    ("responses", CALLS["chat"]),
    ("responses", {**CALLS["chat"], "tool_choice": {"type": "custom", "custom": {"name": "run"}}}),
    (
        "responses",
        {
            **CALLS["chat"],
            "tool_choice": {
                "type": "allowed_tools",
                "allowed_tools": {"mode": "required", "tools": [{"type": "custom", "custom": {"name": "dial"}}]},
            },
        },
    ),
    ("responses", {"text": {"format": FORMAT}}),
]


@pytest.mark.parametrize(("endpoint", "options"), ASKED, ids=[json.dumps(each)[:70] for each in ASKED])
def test_bodies_and_events_are_of_the_types_of_the_client(address: str, endpoint: str, options: dict[str, Any]) -> None:
    """The client reads nearly anything; its types, asked to validate, demand each member that they require."""
    from openai.types.chat import ChatCompletion, ChatCompletionChunk
    from openai.types.responses import Response, ResponseStreamEvent
    from pydantic import TypeAdapter

    httpx = pytest.importorskip("httpx")
    is_chat = endpoint == "chat"
    path = f"{address}/v1/{'chat/completions' if is_chat else 'responses'}"
    body: dict[str, Any] = {"model": "tiny", "seed": 1, **FIT, **options, "stream": True}
    body |= {"messages": MESSAGES} if is_chat else {"input": "hi"}
    most = "max_tokens" if is_chat else "max_output_tokens"
    body.setdefault(most, 300)
    streamed = httpx.post(path, json=body, timeout=100).text.strip().split("\n\n")
    body = {name: value for name, value in body.items() if not name.startswith("stream")}
    whole = httpx.post(path, json=body, timeout=100).json()
    if not is_chat:
        Response.model_validate(whole)
        assert whole["tools"] == (TOOLS if "tools" in options else [])
        kinds = set()
        for event in streamed:
            name, _, data = event.partition("\n")
            read = TypeAdapter(ResponseStreamEvent).validate_json(data.removeprefix("data: "))
            assert name == f"event: {read.type}"
            kinds.add(read.type)
        assert {"response.created", "response.output_item.done"} < kinds
        return
    ChatCompletion.model_validate(whole)
    assert streamed.pop() == "data: [DONE]" and streamed
    for event in streamed:
        chunk = json.loads(event.removeprefix("data: "))
        for choice in chunk["choices"]:
            calls = choice["delta"].pop("tool_calls", [])
            # The type of a delta knows functions alone.
            choice["delta"]["tool_calls"] = [call for call in calls if "custom" not in call]
        ChatCompletionChunk.model_validate(chunk)


# Streams


@pytest.mark.parametrize("options", [{"max_tokens": 20}, {"response_format": FORMAT, "extra_body": FIT}])
def test_a_stream_has_the_same_answer(client: Any, options: dict[str, Any]) -> None:
    whole = chat(client, n=2, **options)
    texts = ["", ""]
    finishes: list[Any] = [None, None]
    chunks = list(chat(client, n=2, stream=True, stream_options={"include_usage": True}, **options))
    for chunk in chunks[:-1]:
        (choice,) = chunk.choices
        assert finishes[choice.index] is None and chunk.usage is None
        texts[choice.index] += choice.delta.content or ""
        finishes[choice.index] = choice.finish_reason
    assert texts == [choice.message.content for choice in whole.choices]
    assert finishes == [choice.finish_reason for choice in whole.choices]
    assert chunks[-1].choices == [] and chunks[-1].usage == whole.usage
    assert len({chunk.id for chunk in chunks}) == 1


def test_the_stream_helper_of_the_client(client: Any) -> None:
    with client.chat.completions.stream(
        model="tiny", messages=MESSAGES, max_tokens=300, tools=CHAT_TOOLS[:1], tool_choice="required", extra_body=FIT
    ) as stream:
        kinds = {event.type for event in stream}
        message = stream.get_final_completion().choices[0].message
    assert "tool_calls.function.arguments.done" in kinds
    for call in message.tool_calls:
        check_call(call.function.name, call.function.arguments)


def check_events(events: list[Any]) -> Any:
    """Check the order of a response's events, and that they add up to the response; return that."""
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert [event.type for event in events[:2]] == ["response.created", "response.in_progress"]
    final = events[-1].response
    assert events[-1].type == f"response.{final.status}"
    items: list[dict[str, Any]] = []
    open_item: dict[str, Any] | None = None
    for event in events[2:-1]:
        if event.type == "response.output_item.added":
            assert open_item is None and event.output_index == len(items) and event.item.status == "in_progress"
            open_item = {"id": event.item.id, "type": event.item.type, "text": "", "done": None}
            items.append(open_item)
            continue
        assert open_item is not None
        if event.type == "response.output_item.done":
            assert event.item.model_dump() == final.output[event.output_index].model_dump()
            assert open_item["type"] == event.item.type and open_item["done"] == open_item["text"]
            open_item = None
            continue
        assert (event.item_id, event.output_index) == (open_item["id"], len(items) - 1)
        if event.type.endswith(".delta"):
            assert open_item["done"] is None
            open_item["text"] += event.delta
        elif event.type == "response.output_text.done":
            open_item["done"] = event.text
        elif event.type == "response.function_call_arguments.done":
            open_item["done"] = event.arguments
        elif event.type == "response.custom_tool_call_input.done":
            open_item["done"] = event.input
        else:
            assert event.type in ("response.content_part.added", "response.content_part.done")
    assert open_item is None and len(items) == len(final.output)
    return final


@pytest.mark.parametrize("options", [{"max_output_tokens": 9}, {"text": {"format": {"type": "json_object"}}}])
def test_events_of_a_response(client: Any, options: dict[str, Any]) -> None:
    extra = FIT if "text" in options else {}
    streamed = check_events(list(respond(client, stream=True, extra_body=extra, **options)))
    whole = respond(client, extra_body=extra, **options)
    assert streamed.output_text == whole.output_text and streamed.usage == whole.usage
    assert streamed.status == whole.status == ("completed" if extra else "incomplete")
    assert (whole.incomplete_details is None) == bool(extra)


# Tools


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("choice", "names"),
    [
        ("required", {"weather", "run", "dial"}),
        ({"type": "function", "function": {"name": "weather"}}, {"weather"}),
        ({"type": "custom", "custom": {"name": "run"}}, {"run"}),
        (
            {
                "type": "allowed_tools",
                "allowed_tools": {
                    "mode": "required",
                    "tools": [{"type": "custom", "custom": {"name": "dial"}}],
                },
            },
            {"dial"},
        ),
    ],
)
def test_calls_of_chats(client: Any, seed: int, choice: Any, names: set[str]) -> None:
    options = {"tools": CHAT_TOOLS, "tool_choice": choice, "seed": seed, "extra_body": FIT}
    found = chat(client, **options)
    assert found.choices[0].finish_reason == "tool_calls" and found.choices[0].message.content is None
    calls = found.choices[0].message.tool_calls
    shown = []
    for call in calls:
        inner = getattr(call, call.type)
        shown.append((inner.name, inner.arguments if call.type == "function" else inner.input))
        check_call(*shown[-1])
    assert {name for name, _ in shown} <= names and len({call.id for call in calls}) == len(calls)
    streamed: dict[int, list[str]] = {}
    for chunk in chat(client, stream=True, **options):
        for delta in chunk.choices[0].delta.tool_calls or []:
            # The client's type of a delta knows functions alone; `custom` is an extra field of it.
            inner = delta.function.model_dump() if delta.function else delta.custom
            one = streamed.setdefault(delta.index, ["", ""])
            one[0] += inner.get("name") or ""
            one[1] += inner.get("arguments") or inner.get("input") or ""
    assert [tuple(one) for one in streamed.values()] == shown


@pytest.mark.parametrize("seed", range(4))
def test_calls_of_responses(client: Any, seed: int) -> None:
    options = {"tools": TOOLS, "tool_choice": "required", "extra_body": {**FIT, "seed": seed}}
    whole = respond(client, **options)
    assert whole.status == "completed" and whole.output
    for item in whole.output:
        check_call(item.name, item.arguments if item.type == "function_call" else item.input)
    streamed = check_events(list(respond(client, stream=True, **options)))
    assert [(item.type, item.name) for item in streamed.output] == [(item.type, item.name) for item in whole.output]


def test_at_most_one_call(client: Any) -> None:
    for seed in range(4):
        found = chat(
            client, tools=CHAT_TOOLS, tool_choice="required", parallel_tool_calls=False, seed=seed, extra_body=FIT
        )
        assert len(found.choices[0].message.tool_calls) == 1


def test_no_call(client: Any) -> None:
    found = chat(client, tools=CHAT_TOOLS, tool_choice="none", max_tokens=30)
    assert found.choices[0].message.tool_calls is None and found.choices[0].finish_reason == "length"


def test_calls_or_an_answer_of_a_schema(client: Any) -> None:
    kinds = set()
    for seed in range(8):
        found = chat(client, tools=CHAT_TOOLS, response_format=FORMAT, seed=seed, extra_body=FIT).choices[0]
        kinds.add(found.finish_reason)
        if found.finish_reason == "stop":
            jsonschema.validate(json.loads(found.message.content), SCHEMA)
        else:
            assert found.finish_reason == "tool_calls" and found.message.content is None
    assert kinds <= {"stop", "tool_calls"}


def test_a_conversation_with_results_of_tools(client: Any) -> None:
    found = chat(client, tools=CHAT_TOOLS, tool_choice="required", extra_body=FIT)
    message = found.choices[0].message
    results = [{"role": "tool", "tool_call_id": call.id, "content": "1"} for call in message.tool_calls]
    later = client.chat.completions.create(model="tiny", messages=[*MESSAGES, message, *results], max_tokens=5)
    assert later.usage.prompt_tokens > found.usage.prompt_tokens - 800
    first = respond(client, tools=TOOLS, tool_choice="required", extra_body=FIT)
    given = [{"role": "user", "content": "hi"}, *first.output]
    for item in first.output:
        given.append({"type": f"{item.type}_output", "call_id": item.call_id, "output": "1"})
    second = respond(client, input=given, tools=TOOLS, tool_choice="none", max_output_tokens=5)
    assert second.status == "incomplete" and second.usage.input_tokens > first.usage.input_tokens


# Errors


@pytest.mark.parametrize(
    ("options", "param", "code", "shown"),
    [
        (
            {
                "response_format": {
                    **FORMAT,
                    "json_schema": {"name": "a", "schema": {"properties": {"a": {"type": "str"}}}},
                }
            },
            "response_format.json_schema.schema",
            "invalid_grammar",
            "#/properties/a/type",
        ),
        ({"structured_outputs": {"grammar": "start: a\n"}}, "structured_outputs.grammar", "invalid_grammar", "line 1"),
        ({"structured_outputs": {"regex": "(a"}}, "structured_outputs.regex", "invalid_grammar", "column"),
        (
            {
                "tools": [
                    {"type": "function", "function": {"name": "f", "parameters": {"properties": {"a": {"type": 1}}}}}
                ]
            },
            "tools",
            "invalid_grammar",
            "#/tools/0/function/parameters/properties/a/type",
        ),
        (
            {"tools": CHAT_TOOLS, "tool_choice": {"type": "function", "function": {"name": "wether"}}},
            "tool_choice",
            "invalid_grammar",
            "did you mean weather",
        ),
        (
            {"tools": [{"type": "custom", "custom": {"name": "run", "format": BROKEN}}]},
            "tools",
            "invalid_grammar",
            "line 1, column 8, at #/tools/0/custom/format/grammar/definition: rule `item` is not defined",
        ),
        (
            {"structured_outputs": {"choice": ["no"]}, "max_tokens": 1, **FIT},
            "max_tokens",
            "budget_too_small",
            "may need",
        ),
        ({"max_tokens": 5000}, "max_tokens", "context_length_exceeded", "4096 in all"),
    ],
)
def test_what_cannot_be_enforced(client: Any, options: dict[str, Any], param: str, code: str, shown: str) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        chat(client, extra_body=options)
    assert (caught.value.param, caught.value.code, caught.value.type) == (param, code, "invalid_request_error")
    assert shown in str(caught.value)


def test_other_errors(client: Any, address: str) -> None:
    with pytest.raises(openai.NotFoundError) as caught:
        client.chat.completions.create(model="gpt", messages=MESSAGES)
    assert caught.value.code == "model_not_found"
    httpx = pytest.importorskip("httpx")
    assert httpx.post(f"{address}/v1/chat/completions", content=b"{}").status_code == 415
    for content in (b"{", b'{"a": NaN}', b"[" * 100_000, b"\xff", b"[1]"):
        found = httpx.post(f"{address}/v1/responses", content=content, headers={"content-type": "application/json"})
        assert found.status_code == 400 and found.json()["error"]["type"] == "invalid_request_error"
    assert httpx.get(f"{address}/v1/files").status_code == 404
    assert [model.id for model in client.models.list()] == ["tiny"] and client.models.retrieve("tiny").id == "tiny"
    assert httpx.get(f"{address}/health").json() == {"status": "ok"}
    metrics = httpx.get(f"{address}/metrics").text
    assert 'earleymask_requests_total{endpoint="responses",status="400"}' in metrics
    for line in metrics.splitlines():
        assert re.fullmatch(r"# (HELP|TYPE) .*|\w+(\{\w+=\"[^\"]*\"(,\w+=\"[^\"]*\")*\})? [0-9.e+-]+", line), line


def test_random_requests(address: str) -> None:
    """A slice of `campaign`: random schemas, grammars and tools, clients that leave, hostile grammars."""
    from support.openai_requests import Campaign

    seed = random.randrange(10**6)
    campaign = Campaign(address, seed)
    asyncio.run(campaign.run(40, 4, os.getpid()))
    assert not campaign.wrong, f"seed {seed}"
    assert sum(campaign.counts.values()) >= 40


def test_answers_follow_the_masks_of_a_matcher(client: Any) -> None:
    """The greedy answer is the one that a loop over the masks gives, without a cache and without a batch."""
    tokenizer = tokenizer_with_template()
    model, vocabulary = tiny_llama(tokenizer), Vocabulary.from_transformers(tokenizer)
    matcher = Matcher(Grammar.from_json_schema(SCHEMA), vocabulary)
    text = tokenizer.apply_chat_template(MESSAGES, tokenize=False, add_generation_prompt=True)
    prompt = tokenizer(text, add_special_tokens=False)["input_ids"]
    with torch.inference_mode():
        while not matcher.is_finished() and matcher.n_tokens < 40:
            ids = torch.tensor([prompt + matcher.tokens]).to(model.device)
            scores = model(input_ids=ids).logits[0, -1].cpu()
            scores[~torch.from_numpy(matcher.mask())] = -torch.inf
            matcher.accept(int(scores.argmax()))
    found = chat(client, temperature=0, max_tokens=40, n=3, response_format=FORMAT)
    expected = b"".join(map(vocabulary.token_bytes, matcher.tokens)).decode("utf-8", "replace")
    assert {choice.message.content for choice in found.choices} == {expected}


def test_what_typed_calls_return_is_sent_back(client: Any) -> None:
    """The helpers add `parsed` to what the server has sent, and conversations go on with it."""
    from pydantic import BaseModel

    class Trip(BaseModel):
        days: int

    options = {"extra_body": FIT, "seed": 2}
    found = client.chat.completions.parse(
        model="tiny", messages=MESSAGES, max_tokens=200, response_format=Trip, **options
    )
    message = found.choices[0].message
    assert isinstance(message.parsed, Trip)
    with client.chat.completions.stream(
        model="tiny", messages=MESSAGES, max_tokens=200, response_format=Trip, **options
    ) as stream:
        streamed = stream.get_final_completion().choices[0].message
    for each in (message, streamed, message.model_dump()):
        assert chat_with(client, [*MESSAGES, each, *MESSAGES]).usage.prompt_tokens > found.usage.prompt_tokens
    tools = [openai.pydantic_function_tool(Trip)]
    called = client.chat.completions.parse(
        model="tiny", messages=MESSAGES, max_tokens=300, tools=tools, tool_choice="required", extra_body=FIT
    )
    message = called.choices[0].message
    results = [{"role": "tool", "tool_call_id": call.id, "content": "ok"} for call in message.tool_calls]
    assert results and chat_with(client, [*MESSAGES, message, *results])
    response = client.responses.parse(
        model="tiny", input="hi", max_output_tokens=200, text_format=Trip, extra_body={**FIT, "seed": 2}
    )
    items = [item.model_dump() for item in response.output]
    assert items[0]["content"][0]["parsed"]
    assert respond(client, input=[*items, {"role": "user", "content": "hi"}], max_output_tokens=3)


def chat_with(client: Any, messages: list[Any]) -> Any:
    return client.chat.completions.create(model="tiny", messages=messages, max_tokens=3)


def test_a_call_without_arguments_is_sent_back(client: Any) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": ""}}
    history = [
        *MESSAGES,
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": ""},
    ]
    assert chat_with(client, history).choices


def test_more_answers_than_there_can_ever_be(client: Any) -> None:
    """The client would try again after status 429."""
    with pytest.raises(openai.BadRequestError, match="n=69: at most 68 answers"):
        chat(client, n=69, max_tokens=1)
