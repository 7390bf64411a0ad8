"""Styles against XGrammar's structural tags for its 18 models, and our structural tags in XGrammar's compiler.

docs/tools.md lists the differences that these tests leave out.
"""

from __future__ import annotations

import json
import random
import warnings
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import jsonschema
import numpy as np
import pytest

from earleymask import tools as T
from earleymask.grammar.tools.request import Request
from support.tool_requests import macros, random_message, random_tools, walk

xgrammar = pytest.importorskip("xgrammar")
if version("xgrammar") != "0.2.8":
    pytest.skip("docs/tools.md describes xgrammar 0.2.8", allow_module_level=True)

MODELS = "llama kimi kimi_k3 deepseek_r1 deepseek_v3_1 deepseek_v3_2 deepseek_v4 deepseek_v4_1 qwen_3 qwen_3_5 "
MODELS += "qwen_3_coder mimo harmony minimax minimax_m3 glm_4_7 cohere exaone"
EOS = 256
N_MESSAGES = 40
N_WALKS = 25


def compiled(tag: Any) -> Any:
    words = [*[bytes([byte]) for byte in range(256)], b"</s>"]
    info = xgrammar.TokenizerInfo(words, vocab_type=xgrammar.VocabType.RAW, stop_token_ids=[EOS])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return xgrammar.GrammarCompiler(info).compile_structural_tag(tag)


def accepts(grammar: Any, text: str) -> bool:
    matcher = xgrammar.GrammarMatcher(grammar, terminate_without_stop_token=True)
    return bool(matcher.accept_string(text) and (matcher.is_terminated() or matcher.accept_token(EOS)))


def functions(rng: random.Random) -> list[Any]:
    """Tools in the one shape that XGrammar reads."""
    found = []
    for tool in random_tools(rng, plain=True):
        if tool["type"] == "function":
            inner = dict(tool.get("function", tool))
            inner.pop("type", None)
            inner.setdefault("parameters", {"type": "object", "properties": {}, "additionalProperties": False})
            found.append({"type": "function", "function": inner})
    return found


def theirs(model: str, tools: list[Any], choice: str, reasoning: str) -> Any:
    return xgrammar.get_model_structural_tag(model, tools=tools, tool_choice=choice, reasoning=reasoning)


def messages(rng: random.Random, style: T.Style) -> Iterator[tuple[T.Message, list[Any]]]:
    """Yield random messages with calls, each with its tools."""
    for _ in range(N_MESSAGES):
        tools = functions(rng)
        message = random_message(rng, style, tools) if tools else T.Message()
        if message.calls:
            yield message, tools


@pytest.mark.parametrize("style", T.style_names())
def test_xgrammar_accepts_messages_under_our_tags(style: str) -> None:
    """XGrammar compiles the tags of every style, and accepts what `render` writes."""
    found = T.find_style(style)
    rng = random.Random(f"tags {style}")
    n_accepted = 0
    for message, tools in messages(rng, found):
        try:
            text = T.render(message, found, tools=tools)
            request = Request(tools, found, "auto", True, True, "auto" if found.reasoning else None, None)
            # XGrammar has no `mimo_xml`; all texts in it are in `qwen_xml`, too.
            grammar = compiled(json.dumps(request.tag).replace('"mimo_xml"', '"qwen_xml"'))
        except (T.ToolCallError, RuntimeError):  # XGrammar refuses some schemas
            continue
        assert accepts(grammar, text), text
        n_accepted += 1
        last = message.calls[-1]
        for wrong in (T.ToolCall("other", last.arguments), T.ToolCall(last.name, {**last.arguments, "other": 1})):
            calls = [*message.calls[:-1], wrong]
            assert not accepts(grammar, T.render(T.Message(calls=calls), found)), wrong
    assert n_accepted > N_MESSAGES // 4


@pytest.mark.parametrize("model", MODELS.split())
def test_xgrammar_accepts_messages_under_its_own_tags(model: str) -> None:
    style = T.find_style(model)
    rng = random.Random(f"messages {model}")
    n_accepted = 0
    for message, tools in messages(rng, style):
        message.reasoning = "hm" if model == "kimi_k3" else None
        if model == "harmony":
            message.content = ""
        try:
            text = T.render(message, style, tools=tools)
            reasoning = "auto" if model in ("kimi_k3", "minimax") else "disabled"
            grammar = compiled(theirs(model, tools, "auto", reasoning))
        except (T.ToolCallError, RuntimeError):
            continue
        if model == "harmony":
            text = text.replace(" <|constrain|>", "<|constrain|>")
        assert accepts(grammar, text), text
        n_accepted += 1
    assert n_accepted > N_MESSAGES // 4


@pytest.mark.parametrize("model", MODELS.split())
def test_walks_through_xgrammars_masks_are_read_as_valid_calls(model: str) -> None:
    style = T.find_style(model)
    rng = random.Random(f"walks {model}")
    n_read = 0
    for _ in range(N_WALKS):
        tools = functions(rng)
        if not tools:
            continue
        choice = rng.choice(["required", "auto"])
        grammar = compiled(theirs(model, tools, choice, "auto"))
        text = walked(rng, grammar, [word.encode() for word in macros(style, tools)])
        if text is None:
            continue
        try:
            message = T.parse(text, style, tools=tools)
        except T.ToolCallError as error:
            # A string within a JSON value has the tag that ends the value, or there is a number such as 8E4249.
            if "JSON of the types" not in error.message and "that a float can hold" not in error.message:
                raise
            continue
        assert not message.unfinished
        assert message.calls or choice == "auto" or model == "harmony"
        for call in message.calls:
            schema = next(each["function"] for each in tools if each["function"]["name"] == call.name)["parameters"]
            # It allows white space around enumerated strings between tags, and the tags of Kimi K3 may tell another
            # type than the value's.
            if model != "kimi_k3":
                jsonschema.validate(stripped(call.arguments), schema)
        n_read += 1
    assert n_read > N_WALKS // 3


def stripped(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: stripped(item) for key, item in value.items()}
    if isinstance(value, list):
        return [stripped(item) for item in value]
    return value.strip() if isinstance(value, str) else value


def walked(rng: random.Random, grammar: Any, words: list[bytes]) -> str | None:
    matcher = xgrammar.GrammarMatcher(grammar)
    row = xgrammar.allocate_token_bitmask(1, EOS + 1)

    def allowed() -> list[int]:
        matcher.fill_next_token_bitmask(row)
        bits = np.unpackbits(row.numpy()[0].view(np.uint8), bitorder="little")[: EOS + 1]
        tokens: list[int] = np.flatnonzero(bits).tolist()
        return tokens

    found = walk(rng, allowed, matcher.accept_token, matcher.rollback, words, EOS)
    try:
        return None if found is None else found.decode()
    except UnicodeDecodeError:  # its free text may be any bytes
        return None
