"""The parts of messages and their shapes, from texts that arrive in pieces: streams add up to the whole."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from earleymask import tools
from earleymask.integration.server.chat import Chat
from earleymask.integration.server.engine import Finish, Piece
from earleymask.integration.server.parts import Message
from earleymask.integration.server.requests import read_chat, read_response
from earleymask.integration.server.responses import Responses
from earleymask.integration.server.thinking import Reasoning, marks_of

FUNCTION = {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}
CHAT = [{"type": "function", "function": FUNCTION}, {"type": "custom", "custom": {"name": "run"}}]
FLAT = [{"type": "function", **FUNCTION}, {"type": "custom", "name": "run"}]
SCHEMA = {"type": "json_schema", "json_schema": {"name": "s", "schema": {"type": "object"}}}
F = tools.render([tools.ToolCall("f", {"a": 1})], "hermes")
RUN = tools.render([tools.ToolCall("run", input='say "hi"\n')], "hermes")
SAYINGS: list[tuple[str, Finish, str, list[tuple[str, str]], str]] = [
    # the text, why it ended; content, calls and finish reason
    ("Hello.", "stop", "Hello.", [], "stop"),
    ("Hello.", "length", "Hello.", [], "length"),
    (f"Let me look.\n{F}", "stop", "Let me look.", [("f", '{"a": 1}')], "tool_calls"),
    (f"{RUN}\n{F}", "stop", "", [("run", 'say "hi"\n'), ("f", '{"a": 1}')], "tool_calls"),
    (f"a\n{F}\nb", "stop", "a\nb", [("f", '{"a": 1}')], "tool_calls"),
    (F[:-14], "length", "", [("f", '{"a": 1}')], "length"),
    (f"a\n{F[:-14]}", "stop", "a", [], "stop"),  # a stop string has cut it
    ("a <tool_cal", "stop", "a <tool_cal", [], "stop"),
    ("a\n<tool_call>", "stop", "a", [], "stop"),  # cut before the name
    ('<tool_call>\n{"na', "length", "", [], "length"),
    ("", "stop", "", [], "stop"),
]


def cuts(rng: random.Random, text: str, finish: Finish) -> list[Piece]:
    """Cut a text into pieces; the last one may be empty."""
    places = sorted(rng.choices(range(len(text) + 1), k=rng.randint(0, 12)))
    texts = [text[begin:end] for begin, end in zip([0, *places], [*places, len(text)], strict=True)]
    return [*[Piece(each) for each in texts[:-1]], Piece(texts[-1], finish=finish)]


def read(lines: list[str]) -> list[dict[str, Any]]:
    """Return the data of the events of a stream."""
    return [json.loads(line.partition("data: ")[2]) for line in lines]


@pytest.mark.parametrize("saying", SAYINGS, ids=[text[:20] + end for text, end, *_ in SAYINGS])
@pytest.mark.parametrize("reasoning", ["", "<think>so\n</think>\n\n"])
def test_log_probabilities_are_those_of_the_content_before_the_first_call(saying: Any, reasoning: str) -> None:
    text, end, content, calls, _ = saying
    known = content if not calls and "<tool_call>" not in text else text.partition("<tool_call>")[0].rstrip("\n")
    request = read_chat({"model": "m", "messages": [{"role": "user", "content": ""}], "tools": CHAT, "logprobs": True})
    text = reasoning + text
    begins = range(len(reasoning), len(reasoning + known))
    for seed in range(30):
        rng = random.Random(seed)
        starts = sorted({0, *rng.sample(range(len(text)), len(text) // 2)}) if text else []
        pieces, at = [], 0
        for piece in cuts(rng, text, end):
            last = at + len(piece.text)
            entries = tuple((start, {"token": start}) for start in starts if at <= start < last)
            pieces.append(piece._replace(entries=entries))
            at = last
        for shape in (Chat, Responses):
            marks = Reasoning(marks_of("hermes"), "auto")
            message = Message(request, tools.find_style("hermes"), marks if reasoning else None)
            shaped = shape(request, [message])
            lines = [line for piece in pieces for line in shaped.piece(0, piece)]
            found = [entry["token"] for entry in message.entries]
            assert found == [start for start in starts if start in begins]
            if shape is Chat:
                chunks = [chunk["choices"][0]["logprobs"] for chunk in read(lines)]
                assert [entry["token"] for chunk in chunks if chunk for entry in chunk["content"]] == found
            else:
                deltas = [event for event in read(lines) if event["type"] == "response.output_text.delta"]
                assert [entry["token"] for event in deltas for entry in event["logprobs"]] == found


@pytest.mark.parametrize("given_tools", [[], CHAT], ids=["no tools", "tools"])
def test_tokens_without_text_at_the_end_have_log_probabilities(given_tools: list[Any]) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": ""}], "logprobs": True, "tools": given_tools}
    pieces = [Piece("Hi", ((0, {"token": 0}),)), Piece("", ((2, {"token": 2}),), "stop")]
    for shape in (Chat, Responses):
        request = read_chat(body)
        message = Message(request, tools.find_style("hermes"))
        shaped = shape(request, [message])
        events = read([line for piece in pieces for line in shaped.piece(0, piece)])
        assert message.entries == [{"token": 0}, {"token": 2}]
        if shape is Chat:
            parts = [event["choices"][0]["logprobs"] for event in events]
            assert [entry for part in parts if part for entry in part["content"]] == message.entries
        else:
            deltas = [event for event in events if event["type"] == "response.output_text.delta"]
            assert [entry for event in deltas for entry in event["logprobs"]] == message.entries
            assert "".join(event["delta"] for event in deltas) == "Hi"


@pytest.mark.parametrize("shape", [Chat, Responses])
def test_no_client_ends_a_line_within_an_event(shape: Any) -> None:
    """Some split lines as Python does, at more than line breaks."""
    text = "a\x85b\u2028c\u2029d\x0b\x0c\x1c\x1d\x1e\r\ne"
    request = read_chat({"model": "m", "messages": [{"role": "user", "content": ""}]})
    shaped = shape(request, [Message(request, tools.find_style("hermes"))])
    found = ""
    for event in shaped.piece(0, Piece(text)):
        (data,) = [
            line.removeprefix("data: ") for line in event.splitlines() if line and not line.startswith("event: ")
        ]
        shown = json.loads(data)
        delta = shown["choices"][0]["delta"].get("content") if shape is Chat else shown.get("delta")
        found += delta or ""
    assert found == text


@pytest.mark.parametrize("saying", SAYINGS, ids=[text[:20] + end for text, end, *_ in SAYINGS])
def test_chat_completions(saying: Any) -> None:
    text, end, content, calls, finish = saying
    request = read_chat({"model": "m", "messages": [{"role": "user", "content": ""}], "tools": CHAT})
    for seed in range(30):
        message = Message(request, tools.find_style("hermes"))
        chat = Chat(request, [message])
        lines = [line for piece in cuts(random.Random(seed), text, end) for line in chat.piece(0, piece)]
        (choice,) = json.loads(chat.whole(3, 4))["choices"]
        said = choice["message"]
        found = [
            (call[call["type"]]["name"], call[call["type"]]["arguments" if call["type"] == "function" else "input"])
            for call in said.get("tool_calls", [])
        ]
        assert ((said["content"] or ""), found, choice["finish_reason"]) == (content, calls, finish)
        assert (said["content"] is None) == (bool(calls) and not content)
        chunks = [chunk["choices"][0] for chunk in read(lines)]
        assert chunks[0]["delta"]["role"] == "assistant" and all("role" not in each["delta"] for each in chunks[1:])
        assert "".join(each["delta"].get("content") or "" for each in chunks) == content
        assert [each["finish_reason"] for each in chunks] == [None] * (len(chunks) - 1) + [finish]
        streamed: dict[int, list[str]] = {}
        for each in chunks:
            for delta in each["delta"].get("tool_calls", []):
                inner = delta.get("function") or delta.get("custom")
                one = streamed.setdefault(delta["index"], ["", ""])
                one[0] += inner.get("name", "")
                one[1] += inner.get("arguments", "") + inner.get("input", "")
        assert [tuple(one) for one in streamed.values()][: len(calls)] == calls


@pytest.mark.parametrize("saying", SAYINGS, ids=[text[:20] + end for text, end, *_ in SAYINGS])
def test_responses(saying: Any) -> None:
    text, end, content, calls, _ = saying
    request = read_response({"model": "m", "input": "", "tools": FLAT})
    for seed in range(30):
        response = Responses(request, [Message(request, tools.find_style("hermes"))])
        lines = list(response.begin())
        for piece in cuts(random.Random(seed), text, end):
            lines += response.piece(0, piece)
        lines += response.end(3, 4)
        events = read(lines)
        assert [event["sequence_number"] for event in events] == list(range(len(events)))
        final = events[-1]["response"]
        assert final["status"] == ("incomplete" if end == "length" else "completed")
        messages = [item for item in final["output"] if item["type"] == "message"]
        assert "".join(item["content"][0]["text"] for item in messages) == content
        done = [item for item in final["output"] if item["type"] != "message"]
        if end == "stop":
            done = [item for item in done if item["status"] == "completed"]
        assert [(item["name"], item.get("arguments", item.get("input"))) for item in done] == calls
        items = [event["item"] for event in events if event["type"] == "response.output_item.done"]
        assert items == final["output"] and final["output"]
        assert all(item["status"] == "completed" for item in items[:-1])


@pytest.mark.parametrize(
    ("text", "content", "n_calls"), [(' {"x": "<tool_call>"}', ' {"x": "<tool_call>"}', 0), (f"\n{F}", "", 1)]
)
def test_a_message_is_calls_or_an_answer(text: str, content: str, n_calls: int) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": ""}], "tools": CHAT, "response_format": SCHEMA}
    for seed in range(20):
        message = Message(read_chat(body), tools.find_style("hermes"))
        for piece in cuts(random.Random(seed), text, "stop"):
            message.add(piece)
        assert (message.content, len(message.calls)) == (content, n_calls)


LOOKS_LIKE_CALLS = [
    ("hermes", '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'),
    ("llama", '{"name": "Ada", "parameters": {"n": 1}}'),
    ("mistral", '[TOOL_CALLS]f{"a": 1}'),
    ("harmony", '<|channel|>commentary to=functions.f<|message|>{"a": 1}<|call|>'),
]


def cut_message(text: str, style: str, seed: int, finish: Finish = "stop", **fields: Any) -> Message:
    """Return the message of a text that arrives in pieces."""
    messages = [{"role": "user", "content": ""}]
    request = read_chat({"model": "m", "messages": messages, "tools": CHAT[:1], **fields})
    message = Message(request, tools.find_style(style))
    for piece in cuts(random.Random(seed), text, finish):
        message.add(piece)
    return message


@pytest.mark.parametrize(("style", "text"), LOOKS_LIKE_CALLS)
def test_without_calls_an_answer_may_look_like_one(style: str, text: str) -> None:
    for seed in range(20):
        for answer in ({"structured_outputs": {"choice": [text]}}, {"response_format": SCHEMA}):
            message = cut_message(text, style, seed, tool_choice="none", **answer)
            assert (message.content, message.calls, message.finish) == (text, [], "stop")


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "f"}}])
@pytest.mark.parametrize("style", ["hermes", "llama", "harmony", "another harmony", "mistral", "command_a"])
def test_with_a_call_demanded_an_answers_schema_changes_nothing(style: str, choice: Any) -> None:
    if style == "another harmony":  # which does not begin as the style's other calls do
        style, text = "harmony", ' to=functions.f<|channel|>commentary json<|message|>{"a": 1}<|call|>'
    else:
        text = tools.render([tools.ToolCall("f", {"a": 1})], style)
    for seed in range(20):
        message = cut_message(text, style, seed, tool_choice=choice, response_format=SCHEMA)
        assert message.content == "" and message.finish == "tool_calls"
        assert [(call.name, json.loads(call.text)) for call in message.calls] == [("f", {"a": 1})]


def test_in_a_style_with_frames_an_answer_without_calls_is_what_they_hold() -> None:
    for choice in ("none", "auto"):
        message = cut_message("<|channel|>final<|message|>Hello.<|return|>", "harmony", 0, tool_choice=choice)
        assert (message.content, message.calls) == ("Hello.", [])


@pytest.mark.parametrize("finish", ["stop", "length"])
def test_white_space_before_what_tells_a_call_from_an_answer(finish: Finish) -> None:
    for seed in range(10):
        message = cut_message(" \n ", "hermes", seed, finish, response_format=SCHEMA)
        assert (message.content, message.finish) == (" \n ", finish)
        message = cut_message(f' \n {{"b": 1}}{F}', "hermes", seed, finish, response_format=SCHEMA)
        assert (message.content, message.calls) == (f' \n {{"b": 1}}{F}', [])
        assert [call.name for call in cut_message(f"\n{F}", "hermes", seed, response_format=SCHEMA).calls] == ["f"]
