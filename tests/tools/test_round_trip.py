"""What `render` writes, `parse` reads, wherever the text is cut; and the grammar allows it, and nothing else."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import jsonschema
import pytest

from earleymask import Grammar, Matcher, Vocabulary
from earleymask import tools as T
from support.effort import effort
from support.tool_requests import macros, random_message, random_tools, walk_grammar

VOCABULARY = Vocabulary.bytes()
STYLES = T.style_names()
N_MESSAGES = 300
"""Random requests for each style."""
N_WALKS = 25


def accepts(grammar: Grammar, text: str) -> bool:
    matcher = Matcher(grammar, VOCABULARY)
    return all(matcher.accept(byte) for byte in text.encode()) and matcher.is_accepting()


def rendered(name: str, n: int, seed: str = "") -> Iterable[tuple[random.Random, list[Any], T.Message, str]]:
    """Random tools, messages and their texts. A style cannot write every value; it writes nearly all of them."""
    style = T.find_style(name)
    rng = random.Random(f"{name}{seed}")
    n_refused = 0
    for _ in range(n):
        tools = random_tools(rng)
        message = random_message(rng, style, tools)
        try:
            text = T.render(message, style, tools=tools)
        except T.ToolCallError:
            n_refused += 1
            continue
        yield rng, tools, message, text
    assert n_refused <= max(1, n // 10)


@pytest.mark.parametrize("style", STYLES)
def test_parse_reads_what_render_writes(style: str) -> None:
    for rng, tools, message, text in rendered(style, N_MESSAGES):
        assert T.parse(text, style, tools=tools) == message, text
        parser = T.Parser(style, tools=tools)
        events = []
        at = 0
        while at < len(text):
            step = rng.choice([1, 1, 2, 3, 10])
            events += parser.feed(text[at : at + step])
            at += step
        events += parser.finish()
        assert parser.message == message, text
        check_events(events, message)


@pytest.mark.parametrize("style", STYLES)
def test_a_text_may_be_cut_anywhere(style: str) -> None:
    """Two pieces, cut at every place: the same message, and never a call that is not there."""
    for _, tools, message, text in list(rendered(style, effort(4, 12), "cut")):
        for at in range(len(text) + 1):
            parser = T.Parser(style, tools=tools)
            first = parser.feed(text[:at])
            assert parser.message.calls == message.calls[: len(parser.message.calls)]
            check_events([*first, *parser.feed(text[at:]), *parser.finish()], message)
            assert parser.message == message


@pytest.mark.parametrize("style", STYLES)
def test_a_text_that_breaks_off_has_no_wrong_calls(style: str) -> None:
    for _, tools, message, text in list(rendered(style, effort(6, 12), "break")):
        for at in range(len(text)):
            found = T.parse(text[:at], style, tools=tools)
            assert found.calls == message.calls[: len(found.calls)]
            assert text[:at].endswith(found.unfinished)


def check_events(events: list[T.Event], message: T.Message) -> None:
    """The events say the same as the message."""
    assert "".join([event.text for event in events if event.kind == "content"]) == message.content
    assert "".join([event.text for event in events if event.kind == "reasoning"]) == (message.reasoning or "")
    assert [event.text for event in events if event.kind == "call"] == [call.name for call in message.calls]
    assert [event.call for event in events if event.kind == "end"] == message.calls
    for index, call in enumerate(message.calls):
        of_call = [event for event in events if event.call_index == index]
        assert of_call[0].kind == "call"
        assert of_call[-1].kind == "end"
        pieces = "".join([event.text for event in of_call if event.kind == "arguments"])
        if call.input is not None:
            assert pieces == call.input
        else:
            assert T.parse(f'<tool_call>\n{{"name": "f", "arguments": {pieces}}}\n</tool_call>').calls == [
                T.ToolCall("f", call.arguments)
            ]


@pytest.mark.parametrize("style", STYLES)
def test_the_grammar_allows_what_the_choice_allows(style: str) -> None:
    """Every combination of choice, parallel calls and reasoning, against every kind of message."""
    found = T.find_style(style)
    schema = {
        "type": "object",
        "properties": {"s": {"type": "string"}, "n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    }
    tools = [{"type": "function", "function": {"name": "f", "parameters": schema}}, {"type": "function", "name": "g"}]
    f, g = T.ToolCall("f", {"s": 'a "b"\n</b>', "n": -3}), T.ToolCall("g")
    messages = [
        T.Message(content, calls, reasoning)
        for calls in ([], [f], [g], [f, g, f])
        for content in ("", "Hello")
        for reasoning in ((None, "hm") if found.reasoning else (None,))
        if not (content and calls and found.layout == "either" and not found.preamble)
    ]
    n_allowed = 0
    for choice in ("auto", "none", "required", "f"):
        for parallel in (True, False):
            for reasoning in (None, "auto", "think") if found.reasoning else (None,):
                grammar = Grammar.from_tools(tools, style, choice, parallel=parallel, reasoning=reasoning)
                for message in messages:
                    n = len(message.calls)
                    allowed = message.reasoning is None if reasoning is None else True
                    if reasoning == "think":
                        allowed = message.reasoning is not None
                    if choice == "none":
                        allowed = allowed and n == 0
                    elif choice == "f":
                        allowed = allowed and message.calls == [f]
                    elif choice == "required":
                        allowed = allowed and n > 0
                    if choice in ("required", "f") and message.content and found.layout == "free":
                        allowed = False  # nothing but calls
                    if n > 1 and not parallel:
                        allowed = False
                    text = T.render(message, style, tools=tools)
                    assert accepts(grammar, text) is allowed, (choice, parallel, reasoning, text)
                    n_allowed += allowed
    assert n_allowed > 20


@pytest.mark.parametrize("style", STYLES)
def test_the_grammar_refuses_wrong_calls(style: str) -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}, "w": {"enum": ["red", "blue"]}},
        "required": ["n"],
        "additionalProperties": False,
    }
    tools = [{"type": "function", "function": {"name": "f", "parameters": schema}}]
    grammar = Grammar.from_tools(tools, style, "required")
    text = T.render([T.ToolCall("f", {"n": 1, "w": "red"})], style)
    assert accepts(grammar, text)
    for call in (
        T.ToolCall("g", {"n": 1}),
        T.ToolCall("f", {"n": "one"}),
        T.ToolCall("f", {"n": 1.5}),
        T.ToolCall("f", {"w": "red"}),
        T.ToolCall("f", {"n": 1, "w": "green"}),
        T.ToolCall("f", {"n": 1, "x": 1}),
    ):
        assert not accepts(grammar, T.render([call], style)), call
    ends = T.find_style(style)
    for at in range(len(text)):
        allowed = accepts(grammar, text[:at])
        # A call is whole before the token that ends it, if that also ends generation.
        assert not allowed or (ends.optional_ends and at == len(text) - len("<|call|>")), text[:at]


@pytest.mark.parametrize("style", STYLES)
def test_walks_through_masks_are_read_as_valid_calls(style: str) -> None:
    found = T.find_style(style)
    rng = random.Random(f"walk {style}")
    n_calls = 0
    for _ in range(N_WALKS):
        tools = random_tools(rng, plain=True)
        inner = [tool.get("function", tool.get("custom", tool)) for tool in tools]
        choice = rng.choice(["required", "auto", inner[0]["name"]])
        parallel = rng.random() < 0.7
        reasoning: Any = rng.choice([None, "auto", "think"]) if found.reasoning else None
        grammar = Grammar.from_tools(tools, style, choice, parallel=parallel, reasoning=reasoning, whitespace="spaced")
        text = walk_grammar(rng, grammar, VOCABULARY, [word.encode() for word in macros(found, tools)])
        if text is None:
            continue
        message = T.parse(text, style, tools=tools)
        assert not message.unfinished
        assert (message.reasoning is not None) >= (reasoning == "think"), text
        assert (message.reasoning is None) >= (reasoning is None), text
        assert message.calls or choice == "auto", text
        assert len(message.calls) <= 1 or parallel, text
        for call in message.calls:
            definition = next(each for each in inner if each["name"] == call.name)
            tool = tools[inner.index(definition)]
            assert (call.input is not None) == (tool["type"] == "custom")
            schema = definition.get("parameters", {"type": "object", "maxProperties": 0})
            if call.input is None:
                jsonschema.validate(call.arguments, schema)
        n_calls += len(message.calls)
    assert n_calls > N_WALKS // 3
