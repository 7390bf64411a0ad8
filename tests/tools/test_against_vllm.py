"""`against_vllm`: what it calls a difference; and with EARLEYMASK_VLLM, a slice of the comparison itself."""

from __future__ import annotations

import os
from typing import Any

import pytest
from tools.against_vllm import (
    KNOWN,
    LOST,
    MARKUP,
    NO_TEXT,
    PEERS,
    SPACE,
    SPACED_NULL,
    Tally,
    compare,
    difference,
    markers,
    messages,
    start,
    unknown,
)

from earleymask import tools as T

PYTHON = os.environ.get("EARLEYMASK_VLLM", "")


def reading(*calls: tuple[str, str], content: str = "") -> dict[str, Any]:
    return {"content": content, "calls": [{"name": name, "arguments": text} for name, text in calls]}


@pytest.mark.parametrize(
    ("ours", "theirs", "kind"),
    [
        (T.Message("Hi", [T.ToolCall("f", {"a": 1})]), reading(("f", '{"a": 1.0}'), content="Hi"), ""),
        (T.Message("", [T.ToolCall("f", {"a": 1})]), reading(("f", '{"a": true}')), "arguments"),
        (T.Message("", [T.ToolCall("f", {"a": [1]})]), reading(("f", '{"a": [1, 2]}')), "arguments"),
        (T.Message("", [T.ToolCall("f", {"a": None})]), reading(("f", '{"a": "null\\n"}')), SPACED_NULL),
        (T.Message("", [T.ToolCall("f", {"a": 1})]), reading(("f", '{"a": 1')), "arguments are no JSON"),
        (T.Message("", [T.ToolCall("f")]), reading(("f", "")), NO_TEXT),
        (T.Message("", [T.ToolCall("f")]), reading(("g", "{}")), "name"),
        (T.Message("", [T.ToolCall("f")]), reading(), "no call"),
        (T.Message("", [T.ToolCall("f")] * 2), reading(("f", "{}")), "fewer calls"),
        (T.Message("Hi"), reading(("f", "{}"), content="Hi"), "more calls"),
        (T.Message("Hi", [T.ToolCall("f")]), reading(("f", "{}"), content="Hi\n"), SPACE),
        (T.Message("Hi\n", [T.ToolCall("f")]), reading(("f", "{}"), content="Hi"), SPACE),
        (T.Message("Hi there", [T.ToolCall("f")]), reading(("f", "{}"), content="Hi"), LOST),
        (T.Message("Hi there"), reading(content="Hi"), "answer"),
        (T.Message("Hi"), {"error": "KeyError: 'f'"}, "error: KeyError"),
    ],
)
def test_differences(ours: T.Message, theirs: dict[str, Any], kind: str) -> None:
    assert difference(ours, theirs) == kind


def test_markup_of_a_style() -> None:
    assert {"<tool_call>", "</tool_call>"} <= set(markers("hermes"))
    assert {"</parameter>", "<function=", "<parameter="} <= set(markers("qwen_3_coder"))
    assert not any(marker in '{"a": [1, "b"]}' for name in PEERS for marker in markers(name))


def test_only_kinds_that_are_not_listed_are_unknown() -> None:
    tally = Tally()
    for kind in (MARKUP, "no call", "name"):
        tally.kinds["whole", kind] += 1
    assert unknown({"llama": tally}) == ["llama, whole, name"]
    assert unknown({"hermes": tally}) == ["hermes, whole, name", "hermes, whole, no call"]
    assert set(KNOWN) <= set(PEERS)


def test_every_style_has_a_peer() -> None:
    assert set(T.style_names()) - set(PEERS) == {"phi_4"}


def test_messages_are_read_by_us() -> None:
    for tools, text, writer in messages("hermes", 8, 1):
        assert writer in ("render", "masks")
        assert all(tool["type"] == "function" for tool in tools)
        assert not T.parse(text, "hermes", tools=tools).unfinished


@pytest.mark.skipif(not PYTHON, reason="EARLEYMASK_VLLM names no Python of an environment with vLLM")
@pytest.mark.parametrize("style", PEERS)
def test_against_vllm(style: str) -> None:
    worker = start(PYTHON)
    try:
        tally = compare(style, messages(style, 40, 7), worker)
    finally:
        worker.kill()
    if style == "harmony" and tally.kinds["whole", "error: HarmonyError"] == 40:
        pytest.skip("no o200k_base.tiktoken for gpt-oss")
    assert unknown({style: tally}) == []
    assert tally.n == 40
