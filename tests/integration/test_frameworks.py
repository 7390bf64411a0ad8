"""What agent frameworks send, as `python -m tests.integration.frameworks --record` wrote it down: the server reads it,
and enforces what was meant. This needs none of the frameworks.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from integration.frameworks.cases import CASES
from integration.frameworks.environments import FRAMEWORKS

from support.paths import ROOT

pytest.importorskip("torch")
pytest.importorskip("transformers")

from earleymask import Matcher, Vocabulary
from earleymask.integration.server.constraints import Grammars
from earleymask.integration.server.errors import ApiError
from earleymask.integration.server.requests import read_chat, read_response

FOLDER = Path(__file__).with_name("frameworks")
RECORDED = json.loads((FOLDER / "recorded.json").read_text(encoding="utf-8"))
ENTRIES = [(name, number, entry) for name, entries in RECORDED.items() for number, entry in enumerate(entries)]
PAGE = (ROOT / "docs" / "agent_frameworks.md").read_text(encoding="utf-8")
PERSON = '{"name": "Ada", "age": 36}'
TEXTS = {
    "Lark": (["yes", "no, never"], ["no", "yes, it is"]),
    "regex": (["23:59"], ["24:00", "1:00"]),
    "schema": (['{"x": 7}', '{"x": 99, "label": "b"}'], ['{"x": 100}', '{"y": 7}']),
    "choice": (["light blue"], ["blue"]),
}
"""Answers to the cases of `ask` that are allowed, and some that are not."""


@pytest.fixture(scope="module")
def grammars() -> Grammars:
    tokens = [*(bytes([byte]) for byte in range(256)), b"</s>"]
    return Grammars(Vocabulary.from_tokens(tokens, eos_token_id=256), "hermes")


def read(entry: dict[str, Any]) -> Any:
    return (read_response if entry["path"].endswith("/responses") else read_chat)(entry["body"])


def is_answer(matcher: Matcher, text: str) -> bool:
    one, data = matcher.fork(), text.encode()
    return one.accept_tokens(data) == len(data) and one.is_accepting()


def call(name: str, arguments: dict[str, Any]) -> str:
    """Write a call in the style "hermes"."""
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


def call_with(request: Any, arguments: dict[str, Any]) -> str:
    """Write a call of the first tool of a request."""
    (tool, *_) = request.tools
    return call(tool.get(tool["type"], tool)["name"], arguments)


def first_of_each(case: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the first body of each framework for a case."""
    found: dict[str, dict[str, Any]] = {}
    for name, _, entry in ENTRIES:
        if entry["case"] == case:
            found.setdefault(name, entry)
    return list(found.items())


@pytest.mark.parametrize(("name", "number", "entry"), ENTRIES, ids=[f"{name}-{number}" for name, number, _ in ENTRIES])
def test_what_frameworks_send_is_read(name: str, number: int, entry: dict[str, Any], grammars: Grammars) -> None:
    request = read(entry)
    assert request.model == "qwen" and request.messages
    if entry["case"] == "mistake":
        with pytest.raises(ApiError, match="rule `item` is not defined"):
            grammars.matcher(request.tools_text(), request.answer)
    else:
        matcher = grammars.matcher(request.tools_text(), request.answer)
        assert (matcher is None) == (request.answer is None and not request.tools)


@pytest.mark.parametrize("case", TEXTS)
def test_grammars_of_one_request_are_enforced(case: str, grammars: Grammars) -> None:
    found = first_of_each(case)
    assert {name for name, _ in found} == set(FRAMEWORKS)
    allowed, refused = TEXTS[case]
    for name, entry in found:
        request = read(entry)
        matcher = grammars.matcher(request.tools_text(), request.answer)
        assert matcher is not None
        assert all([is_answer(matcher, text) for text in allowed]), (name, allowed)
        assert not any([is_answer(matcher, text) for text in refused]), (name, refused)


def test_models_of_pydantic_are_enforced(grammars: Grammars) -> None:
    found = [*first_of_each("model"), *first_of_each("model by a tool")]
    assert {name for name, _ in found} == set(FRAMEWORKS) - {"smolagents"}
    for name, entry in found:
        request = read(entry)
        matcher = grammars.matcher(request.tools_text(), request.answer)
        assert matcher is not None
        for age, is_allowed in ((36, True), (131, False)):
            person = {"name": "Ada", "age": age}
            value = {"person": person} if name == "dspy" else person
            text = call_with(request, value) if entry["case"] == "model by a tool" else json.dumps(value)
            assert is_answer(matcher, text) is is_allowed, (name, text)


def test_functions_are_enforced(grammars: Grammars) -> None:
    found = first_of_each("function")
    assert {name for name, _ in found} == set(FRAMEWORKS)
    for name, entry in found:
        request = read(entry)
        matcher = grammars.matcher(request.tools_text(), request.answer)
        assert matcher is not None
        good = call_with(request, {"city": "Oslo", "days": 3})
        assert is_answer(matcher, good), name
        assert not is_answer(matcher, call_with(request, {"city": "Rome", "days": 3})), name
        assert not is_answer(matcher, call_with(request, {"city": "Oslo", "days": 3, "wind": 1})), f"{name}: it is open"
        assert not is_answer(matcher, f"{good}\n{good}"), f"{name}: parallel calls"
        assert not is_answer(matcher, "Rain."), f"{name}: a call is required"


def test_custom_tools_are_enforced(grammars: Grammars) -> None:
    found = first_of_each("custom tool")
    assert {name for name, _ in found} == {"openai-agents", "langchain-openai", "litellm"}
    for name, entry in found:
        request = read(entry)
        matcher = grammars.matcher(request.tools_text(), request.answer)
        assert matcher is not None
        assert is_answer(matcher, call_with(request, {"input": "SELECT age,count(name) FROM people LIMIT 3"})), name
        assert not is_answer(matcher, call_with(request, {"input": "DROP TABLE people"})), name


def test_loops_go_on_after_a_call(grammars: Grammars) -> None:
    """The last body of these has the call and its result, and an answer may be a text."""
    for name, case in (("openai-agents", "function"), ("pydantic-ai", "function"), ("litellm", "custom tool")):
        entry = [entry for each, _, entry in ENTRIES if (each, entry["case"]) == (name, case)][-1]
        request = read(entry)
        roles = [message["role"] for message in request.messages]
        assert roles == ["user", "assistant", "tool"], name
        assert request.messages[1]["tool_calls"] and request.messages[2]["content"]
        matcher = grammars.matcher(request.tools_text(), request.answer)
        assert matcher is not None and is_answer(matcher, "Rain."), name


def test_every_case_of_an_example_is_recorded() -> None:
    for name, framework in FRAMEWORKS.items():
        source = (FOLDER / "examples" / f"{framework.example}.py").read_text(encoding="utf-8")
        expected = {case.name for case in CASES if f"def {case.function}(" in source}
        assert {entry["case"] for entry in RECORDED[name]} == expected, name


def test_the_page_shows_the_examples() -> None:
    shown = dict(
        re.findall(r"<!-- (tests/integration/frameworks/examples/\w+\.py) -->\n```py\n(.*?)^```$", PAGE, re.M | re.S)
    )
    files = sorted((FOLDER / "examples").glob("*.py"))
    assert set(shown) == {file.relative_to(ROOT).as_posix() for file in files}
    for file in files:
        assert shown[file.relative_to(ROOT).as_posix()] == file.read_text(encoding="utf-8"), file.name


def test_the_page_names_the_versions_that_were_tried() -> None:
    for framework in FRAMEWORKS.values():
        for requirement in framework.requirements:
            package, _, version = re.sub(r"\[\w+\]", "", requirement).partition("==")
            assert f"{package} {version}" in PAGE, requirement
