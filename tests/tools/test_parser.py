"""What the parser makes of texts that a model may write: white space, reasoning, other forms, and errors."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import earleymask
from earleymask import Grammar, GrammarError
from earleymask import tools as T
from support.sentences import accepts

F = T.ToolCall("f", {"a": 1})
CALL = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
TOOL = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", T.Message()),
        ("Hello", T.Message("Hello")),
        (" \n", T.Message(" \n")),
        (CALL, T.Message("", [F])),
        (f"Hi{CALL}", T.Message("Hi", [F])),
        (f"Hi\n{CALL}", T.Message("Hi", [F])),  # the line break that the style writes before a call
        (f"Hi\n\n{CALL}", T.Message("Hi\n", [F])),
        (f"{CALL}{CALL}", T.Message("", [F, F])),
        (f"{CALL}\n \n{CALL}\n\n", T.Message("", [F, F])),
        (f"{CALL} and\n{CALL} done. \n", T.Message(" and done. \n", [F, F])),
        (CALL.replace("\n", ""), T.Message("", [F])),  # the form without line breaks
        (CALL.replace("\n", " \n "), T.Message("", [F])),  # white space is free where the style has some
        (CALL.replace('{"a": 1}', '{ "a" :\n1 }'), T.Message("", [F])),
        ("<tool_call> is a tag", T.Message("<tool_call> is a tag")),  # no call, as its next text shows
        ("<tool_cal", T.Message("<tool_cal")),
        ("<tool_call>\n{", T.Message("", unfinished="<tool_call>\n{")),
        (CALL[:40], T.Message("", unfinished=CALL[:40])),
        (f"{CALL}\n{CALL[:-3]}", T.Message("", [F], unfinished=CALL[:-3])),
        (f"<think>\nhm\n</think>\n\n{CALL}", T.Message("", [F], "\nhm\n")),
        (f"\n<think>hm</think>\nHi{CALL}", T.Message("\nHi", [F], "hm")),
        ("<think>never ends", T.Message("", [], "never ends")),
        (f"<think>{CALL}</think>Hi", T.Message("Hi", [], CALL)),
        ("Hi <think>late</think>", T.Message("Hi <think>late</think>")),
    ],
)
def test_hermes(text: str, message: T.Message) -> None:
    assert T.parse(text) == message
    for size in (1, 2, 5):
        parser = T.Parser()
        for at in range(0, len(text), size):
            parser.feed(text[at : at + size])
        parser.finish()
        assert parser.message == message


def test_reasoning_that_the_prompt_has_begun() -> None:
    assert T.parse("hm</think>\n\nHi", reasoning="open") == T.Message("Hi", [], "hm")
    assert T.parse("<think>hm</think>Hi", reasoning=None) == T.Message("<think>hm</think>Hi")
    assert T.parse("hm<|close|>think<|sep|><|open|>response<|sep|>Hi", "kimi_k3", reasoning="open") == T.Message(
        "Hi", [], "hm"
    )


def test_frames() -> None:
    """Answers in frames, whose last end may be missing because its token ends generation."""
    text = "<|channel|>analysis<|message|>hm<|end|><|start|>assistant"
    call = '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a": 1}'
    assert T.parse(f"{text}<|channel|>final<|message|>Hi", "harmony") == T.Message("Hi", [], "hm")
    assert T.parse(f"{text}<|channel|>final<|message|>Hi<|return|>", "harmony") == T.Message("Hi", [], "hm")
    for end in ("", "<|call|>"):
        assert T.parse(f"{text}{call}{end}", "harmony") == T.Message("", [F], "hm")
    preamble = "<|channel|>commentary<|message|>Wait.<|end|><|start|>assistant"
    assert T.parse(f"{preamble}{call}<|call|><|start|>assistant{call}", "harmony") == T.Message("Wait.", [F, F])
    other = ' to=functions.f<|channel|>commentary json<|message|>{"a": 1}<|call|>'
    assert T.parse(other, "harmony") == T.Message("", [F])
    assert T.parse("Hi<|close|>response<|sep|><|close|>message<|sep|>", "kimi_k3") == T.Message("Hi")
    assert T.parse('<|START_RESPONSE|>{"a": []}<|END_RESPONSE|>', "command_a") == T.Message('{"a": []}')


def test_types_come_from_the_schema() -> None:
    text = "<tool_call>\n<function=f>\n<parameter=a>\n5\n</parameter>\n<parameter=b>\n5\n</parameter>\n"
    text += '<parameter=c>\n{"x": null}\n</parameter>\n</function>\n</tool_call>'
    properties: dict[str, Any] = {"a": {"type": "integer"}, "b": {"type": "string"}, "c": {"$ref": "#/$defs/c"}}
    schema = {"type": "object", "properties": properties, "$defs": {"c": {"type": ["object", "null"]}}}
    tools = [{"type": "function", "name": "f", "parameters": schema}]
    assert T.parse(text, "qwen_3_coder", tools=tools).calls == [T.ToolCall("f", {"a": 5, "b": "5", "c": {"x": None}})]
    assert T.parse(text, "qwen_3_coder").calls == [T.ToolCall("f", {"a": "5", "b": "5", "c": '{"x": null}'})]


LONG = "9" * (sys.get_int_max_str_digits() + 1)
COHERE = '<cofl:tool_calls><cofl:tool_call id="0" name="f"><cofl:value name="a" type="json">'


def test_an_integer_that_python_does_not_read_is_no_string() -> None:
    tools = [{"type": "function", "name": "f", "parameters": {"properties": {"a": {"type": ["string", "integer"]}}}}]
    with pytest.raises(T.ToolCallError, match="an integer of at most"):
        T.parse(f"<tool_call><function=f><parameter=a>{LONG}</parameter></function></tool_call>", "mimo", tools=tools)


def test_schemas_that_are_not_enforced_do_not_tell_types() -> None:
    tools = [{"type": "function", "name": "f", "parameters": {"properties": {"a": {"type": "integer"}}}}]
    grammar = Grammar.from_tools(tools, "mimo", "required", strict=False)
    for text, value in (("x", "x"), ("5", 5), ("[true]", [True])):
        message = f"<tool_call><function=f><parameter=a>{text}</parameter></function></tool_call>"
        assert accepts(grammar, message)
        calls = T.parse(message, "mimo", tools=tools, strict=False).calls
        assert calls == [T.ToolCall("f", {"a": value})]
        assert T.render(calls, "mimo", tools=tools, strict=False) == message
    with pytest.raises(T.ToolCallError, match="JSON of the types that the schema allows"):
        T.parse("<tool_call><function=f><parameter=a>x</parameter></function></tool_call>", "mimo", tools=tools)


def test_arguments_can_be_sent_whatever_a_model_writes() -> None:
    (call,) = T.parse('<tool_call>{"name": "f", "arguments": {"a": "é\\ud800"}}</tool_call>', "hermes").calls
    assert call.arguments_json.encode() == b'{"a": "\\u00e9\\ud800"}'


@pytest.mark.parametrize(
    ("style", "text", "position", "message"),
    [
        ("hermes", '<tool_call>\n{"name": "f", "arguments": {"a": 1}]', 47, "expected '}"),
        ("hermes", '<tool_call>\n{"name": "f", "arguments": [1]}\n</tool_call>', 39, "a JSON object"),
        ("hermes", '<tool_call>\n{"name": "f", "arguments": {"a": 01}}', 39, "a JSON object"),
        ("mistral_v3", '[TOOL_CALLS] [{"name": "f", "arguments": {}} {"name"', 45, "expected ', '"),
        ("hermes", '<tool_call>\n{"name": "f", "arguments": {"a": NaN}}', 39, "a JSON object"),
        ("hermes", '<tool_call>\n{"name": "f", "arguments": {"a": 1e400}}', 39, "a number that a float can hold"),
        ("hermes", f'<tool_call>\n{{"name": "f", "arguments": {{"a": {LONG}}}}}', 39, "an integer of at most"),
        ("gemma", f"<|tool_call>call:f{{a:{LONG}}}", 21, "an integer of at most"),
        ("cohere", f"{COHERE}{LONG}</cofl:value></cofl:tool_call>", 49, "an integer of at most"),
        ("kimi", "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>x", 88, ""),
    ],
)
def test_a_call_that_goes_on_otherwise_is_an_error(style: str, text: str, position: int, message: str) -> None:
    with pytest.raises(T.ToolCallError, match=f"^character {position}: expected") as caught:
        T.parse(text, style)
    assert message in str(caught.value)
    assert caught.value.position == position
    parser = T.Parser(style)
    failed = False
    for char in text:
        try:
            parser.feed(char)
            assert not failed, "once it has failed, it always fails"
        except T.ToolCallError:
            failed = True
    with pytest.raises(T.ToolCallError):
        parser.finish()


def test_wrong_uses() -> None:
    with pytest.raises(GrammarError, match="no tool style"):
        T.Parser("none")
    with pytest.raises(ValueError, match="reasoning must be"):
        T.Parser(reasoning="no")  # type: ignore[arg-type]
    parser = T.Parser()
    parser.finish()
    with pytest.raises(ValueError, match="the text is finished"):
        parser.feed("x")


NESTED: Any = {}
for _ in range(sys.getrecursionlimit() * 3):
    NESTED = {"a": NESTED}


@pytest.mark.parametrize(
    ("message", "style", "why"),
    [
        (T.Message("Hi", [F]), "command_a", "an answer or calls, not both"),
        (T.Message("a <tool_call> b"), "hermes", "means something else"),
        (T.Message("Hi", [], "a</think>b"), "hermes", "means something else"),
        (T.Message("Hi", [], "hm"), "jamba", "has no reasoning"),
        (T.Message("", [T.ToolCall("a b", {})]), "hermes", "cannot write ' '"),
        (T.Message("", [T.ToolCall("", {})]), "hermes", "a call needs the name of a tool"),
        *[
            (T.Message("", [T.ToolCall("f", {"a": value})]), style, "cannot write a call of 'f'")
            for style in ("hermes", "gemma", "cohere", "qwen_3_coder")
            for value in (float("nan"), {1}, "\ud800", 10**5000, {"b": NESTED})
        ],
        (T.Message("", [T.ToolCall("f", {1: "a"})]), "gemma", "cannot write a call of 'f'"),  # type: ignore[dict-item]
        (T.Message("", [T.ToolCall("f", {1: "a"})]), "cohere", "cannot write a call of 'f'"),  # type: ignore[dict-item]
        (T.Message("", [T.ToolCall("a:b", {})]), "kimi", "cannot write ':'"),
        (T.Message("", [T.ToolCall("f", {"a": '<|"|>'})]), "gemma", "cannot write a call of 'f'"),
        (T.Message("", [T.ToolCall("f", {"a": "</parameter>"})]), "qwen_3_coder", "cannot write a call of 'f'"),
    ],
)
def test_what_a_style_cannot_write(message: T.Message, style: str, why: str) -> None:
    with pytest.raises(T.ToolCallError, match=why):
        T.render(message, style)


def test_the_module_is_imported_when_it_is_first_used() -> None:
    code = "import sys, earleymask; assert 'earleymask.tools' not in sys.modules; earleymask.tools.parse('')"
    subprocess.run([sys.executable, "-P", "-c", code], check=True)
    assert earleymask.tools is T
