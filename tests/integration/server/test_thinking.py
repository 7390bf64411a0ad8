"""Reasoning before the answer: where it stands, and that the grammar of a request begins after it."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from support.tiny_server import TEMPLATE, serving, tiny_llama, tokenizer_with_template

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
httpx = pytest.importorskip("httpx")
openai = pytest.importorskip("openai")
jsonschema = pytest.importorskip("jsonschema")

from earleymask.errors import GrammarError  # noqa: E402
from earleymask.integration.server.app import create_app  # noqa: E402
from earleymask.integration.server.options import Options  # noqa: E402
from earleymask.integration.server.thinking import (  # noqa: E402
    Marks,
    Mode,
    Reasoning,
    Splitter,
    marks_of,
    reasoning_after,
)

torch.set_num_threads(1)

QWEN = Marks("<think>", "</think>", "\n\n")
DEEPSEEK = Marks("<think>", "</think>", "")
TEXTS: list[tuple[Marks, Mode, str, str | None, str, int | None]] = [
    # the marks, the mode and a text; its reasoning, its answer, and where that begins
    (QWEN, "think", "<think>\nso\n</think>\n\nyes", "\nso\n", "yes", 21),
    (QWEN, "think", "<think></think>\n\n\n\nyes", None, "\n\nyes", 17),
    (QWEN, "think", "<think>a</think>\nyes", "a", "\nyes", 16),
    (QWEN, "think", "<think>a</think>", "a", "", 16),
    (QWEN, "think", "<think>a</thin", "a</thin", "", None),
    (QWEN, "open", "a<think>b</think>\n\nc</think>", "a<think>b", "c</think>", 19),
    (QWEN, "open", "", None, "", None),
    (QWEN, "auto", "yes <think>a</think>", None, "yes <think>a</think>", 0),
    (QWEN, "auto", "\n <think>a</think>\n\nb", "a", "b", 20),
    (QWEN, "auto", " <thin", None, " <thin", 0),
    (QWEN, "auto", "", None, "", 0),
    (DEEPSEEK, "open", "a < b</think>\n\nc", "a < b", "\n\nc", 13),
]


@pytest.mark.parametrize("case", TEXTS, ids=[f"{mode} {text!r}" for _, mode, text, *_ in TEXTS])
def test_reasoning_and_answer_of_a_text(case: Any) -> None:
    marks, mode, text, reasoning, answer, start = case
    for seed in range(40):
        rng = random.Random(seed)
        places = sorted(rng.choices(range(len(text) + 1), k=rng.randint(0, 12)))
        splitter = Splitter(Reasoning(marks, mode))
        events = []
        for begin, end in zip([0, *places], places, strict=False):
            events += splitter.feed(text[begin:end])
        events += splitter.feed(text[(places or [0])[-1] :], is_last=True)
        assert "".join(event.text for event in events if event.kind == "reasoning") == (reasoning or "")
        assert "".join(event.text for event in events if event.kind == "content") == answer
        assert all(event.text for event in events) and splitter.answer_start == start


def test_marks() -> None:
    assert marks_of("qwen3") == marks_of("qwen_3") == QWEN and marks_of("deepseek-r1") == DEEPSEEK
    with pytest.raises(GrammarError, match="qwen"):
        marks_of("qwen33")
    for name in ("harmony", "jamba"):
        with pytest.raises(ValueError, match="has no reasoning"):
            marks_of(name)


def test_the_prompt_says_where_reasoning_stands() -> None:
    assert reasoning_after("assistant: <think>\n", QWEN, False) == Reasoning(QWEN, "open")
    assert reasoning_after("assistant: <think>\n\n</think>\n\n", QWEN, True) is None
    assert reasoning_after("assistant: ", QWEN, True) == Reasoning(QWEN, "think")
    assert reasoning_after("assistant: ", QWEN, False) == Reasoning(QWEN, "auto")


# In the server

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
FORMAT = {"type": "json_schema", "json_schema": {"name": "s", "schema": SCHEMA}}
FUNCTION = {"type": "function", "function": {"name": "f", "parameters": SCHEMA}}
MESSAGES: list[Any] = [{"role": "user", "content": "hi"}]
FIT = {"fit_max_tokens": True, "seed": 1}
OFF = {"chat_template_kwargs": {"enable_thinking": False}}
ENDS = ["", "{% if enable_thinking is not defined or enable_thinking %}<think>\n{% endif %}"]
"""What the template of a model has after `assistant: `: the model begins its reasoning, or the prompt has begun it."""
SWITCH = "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}"


@pytest.fixture(scope="module", params=ENDS, ids=["the model begins it", "the prompt begins it"])
def client(request: Any) -> Iterator[Any]:
    tokenizer = tokenizer_with_template()
    tokenizer.chat_template = TEMPLATE + request.param + SWITCH
    options = Options(name="m", style="hermes", reasoning=QWEN)
    with serving(create_app(tiny_llama(tokenizer), tokenizer, options)) as address:
        yield openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0)


def chat(client: Any, extra: dict[str, Any], **options: Any) -> Any:
    options = {"max_tokens": 80, **options}
    return client.chat.completions.create(model="m", messages=MESSAGES, extra_body=extra, **options)


def test_a_schema_holds_after_the_reasoning(client: Any) -> None:
    options = {"response_format": FORMAT, "logprobs": True}
    found = chat(client, FIT, **options)
    choice, usage = found.choices[0], found.usage
    message = choice.message
    jsonschema.validate(json.loads(message.content), SCHEMA)
    assert choice.finish_reason == "stop"
    assert message.reasoning and message.reasoning == message.reasoning_content
    assert "think>" not in message.reasoning + message.content
    entries = choice.logprobs.content
    assert "".join(entry.token for entry in entries) == message.content
    thinking = usage.completion_tokens_details.reasoning_tokens
    assert thinking > 0 and thinking + len(entries) + 1 == usage.completion_tokens <= 80  # and the end of the text

    reasoning, content, tokens = "", "", []
    chunks = list(chat(client, FIT, stream=True, stream_options={"include_usage": True}, **options))
    for chunk in chunks[:-1]:
        delta = chunk.choices[0].delta
        reasoning += getattr(delta, "reasoning", None) or ""
        content += delta.content or ""
        tokens += chunk.choices[0].logprobs.content if chunk.choices[0].logprobs else []
    assert (reasoning, content) == (message.reasoning, message.content)
    assert [entry.logprob for entry in tokens] == [entry.logprob for entry in entries]
    assert chunks[-1].usage.completion_tokens_details.reasoning_tokens == thinking


def test_calls_come_after_the_reasoning(client: Any) -> None:
    found = chat(client, FIT, tools=[FUNCTION], tool_choice="required", max_tokens=150)
    message = found.choices[0].message
    assert found.choices[0].finish_reason == "tool_calls" and message.reasoning and not message.content
    for call in message.tool_calls:
        jsonschema.validate(json.loads(call.function.arguments), SCHEMA)


def test_a_budget_that_the_reasoning_takes_in(client: Any) -> None:
    """The reasoning ends in time, also where there is room for nothing else; or the request is refused."""
    n_refused = 0
    for max_tokens in range(1, 60, 3):
        body = {"model": "m", "messages": MESSAGES, "max_tokens": max_tokens, "response_format": FORMAT, **FIT}
        found = httpx.post(f"{client.base_url}chat/completions", json=body, timeout=120).json()
        if "error" in found:
            assert found["error"]["code"] == "budget_too_small" and n_refused == max_tokens // 3
            n_refused += 1
        else:
            jsonschema.validate(json.loads(found["choices"][0]["message"]["content"]), SCHEMA)
    assert 3 < n_refused < 20


def test_an_answer_that_is_cut_within_its_reasoning(client: Any) -> None:
    found = chat(client, {"seed": 1}, response_format=FORMAT, max_tokens=9)
    message, usage = found.choices[0].message, found.usage
    assert found.choices[0].finish_reason == "length" and not message.content
    assert usage.completion_tokens_details.reasoning_tokens == usage.completion_tokens == 9


def test_reasoning_that_is_switched_off(client: Any) -> None:
    found = chat(client, {**FIT, **OFF}, response_format=FORMAT)
    message = found.choices[0].message
    jsonschema.validate(json.loads(message.content), SCHEMA)
    assert not hasattr(message, "reasoning")
    assert found.usage.completion_tokens_details.reasoning_tokens == 0


def test_responses_have_an_item_of_reasoning(client: Any) -> None:
    options: dict[str, Any] = {"model": "m", "input": "hi", "max_output_tokens": 80, "extra_body": FIT}
    options["text"] = {"format": {"type": "json_schema", "name": "s", "schema": SCHEMA}}
    found = client.responses.create(**options)
    thought, message = found.output
    assert (thought.type, thought.status, thought.summary) == ("reasoning", "completed", [])
    assert thought.content[0].type == "reasoning_text" and thought.content[0].text
    jsonschema.validate(json.loads(message.content[0].text), SCHEMA)
    assert found.output_text == message.content[0].text
    assert found.usage.output_tokens_details.reasoning_tokens > 0

    events = list(client.responses.create(**options, stream=True))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    deltas = [event.delta for event in events if event.type == "response.reasoning_text.delta"]
    (done,) = [event for event in events if event.type == "response.reasoning_text.done"]
    assert "".join(deltas) == done.text == thought.content[0].text and len(deltas) > 1
    assert [item.type for item in events[-1].response.output] == ["reasoning", "message"]
    assert events[-1].response.output[1].content[0].text == message.content[0].text

    # What a client sends back is understood.
    again = [{"role": "user", "content": "hi"}, *[item.to_dict() for item in found.output], *MESSAGES]
    assert client.responses.create(**{**options, "input": again}).status == "completed"
