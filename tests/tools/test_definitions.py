"""Definitions of tools and the choice among them: all shapes, and errors with their places."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any

import pytest

from earleymask import Grammar, GrammarError, Matcher, Vocabulary
from earleymask import tools as T
from earleymask.grammar.tools.definitions import read_choice, read_tools

VOCABULARY = Vocabulary.bytes()
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = {"type": "function", "function": {"name": "weather", "parameters": CITY}}
CUSTOM = {"type": "custom", "custom": {"name": "run"}}


def accepts(grammar: Grammar, text: str) -> bool:
    matcher = Matcher(grammar, VOCABULARY)
    return all(matcher.accept(byte) for byte in text.encode()) and matcher.is_accepting()


def written(name: str, arguments: Any) -> str:
    return f'<tool_call>\n{{"name": "{name}", "arguments": {json.dumps(arguments)}}}\n</tool_call>'


def weather(city: str, days: int = 1) -> None:
    """A tool."""


@dataclass
class Search:
    query: str


def pydantic_model() -> Any:
    pydantic = pytest.importorskip("pydantic")
    return pydantic.create_model("Lookup", key=(int, ...))


def test_definitions_in_all_shapes() -> None:
    tools = [
        WEATHER,
        {"type": "function", "name": "flat", "parameters": CITY, "strict": True, "description": "..."},
        {"name": "anthropic", "description": "...", "input_schema": CITY},
        {"name": "mcp", "inputSchema": CITY, "annotations": {}},
    ]
    grammar = Grammar.from_tools(tools, tool_choice="required")
    for name in ("weather", "flat", "anthropic", "mcp"):
        assert accepts(grammar, written(name, {"city": "Oslo"}))
        assert not accepts(grammar, written(name, {"city": 1}))
    assert not accepts(grammar, written("other", {"city": "Oslo"}))


def test_python_types_are_tools() -> None:
    pytest.importorskip("pydantic")
    grammar = Grammar.from_tools([weather, Search, pydantic_model()], tool_choice="required")
    assert accepts(grammar, written("weather", {"city": "Oslo", "days": 2}))
    assert accepts(grammar, written("weather", {"city": "Oslo"}))
    assert not accepts(grammar, written("weather", {"days": 2}))
    assert accepts(grammar, written("Search", {"query": "x"}))
    assert accepts(grammar, written("Lookup", {"key": 5}))
    assert not accepts(grammar, written("Lookup", {"key": "5"}))


def test_a_function_without_parameters_has_none() -> None:
    for parameters in ({}, {"parameters": None}):
        grammar = Grammar.from_tools([{"type": "function", "function": {"name": "f", **parameters}}], "hermes", "f")
        assert accepts(grammar, written("f", {}))
        assert not accepts(grammar, written("f", {"a": 1}))


@pytest.mark.parametrize(
    ("strict", "declared", "enforced"),
    [
        (True, None, True),
        (True, False, True),
        ("declared", None, False),
        ("declared", False, False),
        ("declared", True, True),
        (False, True, False),
    ],
)
def test_strict_decides_which_schemas_are_enforced(strict: Any, declared: bool | None, enforced: bool) -> None:
    function = {"name": "f", "parameters": CITY}
    if declared is not None:
        function["strict"] = declared
    grammar = Grammar.from_tools([{"type": "function", "function": function}], "hermes", "f", strict=strict)
    assert accepts(grammar, written("f", {"city": "Oslo"}))
    assert accepts(grammar, written("f", {"town": 1})) is not enforced
    assert not accepts(grammar, written("f", [1]))  # arguments are an object in any case


FUNCTION = {"type": "function", "function": {"name": "search"}}
TWO = [WEATHER, FUNCTION, CUSTOM]


@pytest.mark.parametrize(
    ("choice", "called"),
    [
        ("search", "search"),
        ({"type": "function", "function": {"name": "search"}}, "search"),
        ({"type": "function", "name": "search"}, "search"),
        ({"type": "function", "function": {"name": "search", "n": None}, "mode": None}, "search"),
        ({"type": "function", "name": "search", "function": None}, "search"),
        ({"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "search"}]}, "search"),
        (
            {
                "type": "allowed_tools",
                "allowed_tools": {"mode": "required", "tools": [{"type": "function", "function": {"name": "search"}}]},
            },
            "search",
        ),
        (
            {
                "type": "allowed_tools",
                "allowed_tools": None,
                "mode": "required",
                "tools": [{"type": "function", "function": None, "name": "search"}],
            },
            "search",
        ),
        (
            {
                "type": "allowed_tools",
                "allowed_tools": {"mode": "required", "tools": [{"type": "function", "name": "search"}], "n": None},
                "tools": None,
                "mode": None,
            },
            "search",
        ),
    ],
)
def test_a_choice_of_tools(choice: Any, called: str) -> None:
    grammar = Grammar.from_tools(TWO, "hermes", choice)
    assert accepts(grammar, written(called, {}))
    assert not accepts(grammar, written("weather", {"city": "Oslo"}))
    assert not accepts(grammar, written("run", {"input": "x"}))
    assert not accepts(grammar, "Hello")


def test_choices_of_a_mode() -> None:
    allowed = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "custom", "name": "run"}]}
    for choice, answer, call in [
        ("auto", True, True),
        (None, True, True),
        ("none", True, False),
        ("required", False, True),
        (allowed, True, True),
        ({**allowed, "mode": None}, True, True),
        ({**allowed, "tools": []}, True, False),
    ]:
        grammar = Grammar.from_tools(TWO, "hermes", choice)
        assert accepts(grammar, "Hello") is answer
        assert accepts(grammar, written("run", {"input": "x"})) is call
        assert accepts(grammar, f"Hello\n{written('run', {'input': 'x'})}") is (answer and call)
    assert not accepts(Grammar.from_tools(TWO, "hermes", allowed), written("search", {}))
    nothing = Grammar.from_tools([], "hermes")
    assert accepts(nothing, "Hello")
    assert not accepts(nothing, "<tool_call>")


WRONG = [
    # tools, tool_choice, pointer, a part of the message, a part of the hint
    ([WEATHER, 5], "auto", "/tools/1", "not int", None),
    ([{"type": "function"}], "auto", "/tools/0/name", "needs a name", None),
    ([{"type": "function", "function": []}], "auto", "/tools/0/function", "must be an object", None),
    ([{"type": "function", "function": {"name": ""}}], "auto", "/tools/0/function/name", "needs a name", None),
    ([{"type": "web_search"}], "auto", "/tools/0/type", "'web_search' is not supported", "custom"),
    ([WEATHER, CUSTOM, WEATHER], "auto", "/tools/2/function/name", "two tools have the name 'weather'", "rename"),
    (
        [{"type": "function", "function": {"name": "f", "parameter": CITY}}],
        "auto",
        "/tools/0/function/parameter",
        "unknown key",
        "parameters",
    ),
    (
        [{"type": "function", "function": {"name": "f", "parameters": {"type": "array"}}}],
        "auto",
        "/tools/0/function/parameters/type",
        "arguments are an object",
        "properties",
    ),
    (
        [WEATHER, {"type": "function", "name": "f", "parameters": {"properties": {"a": {"type": "strin"}}}}],
        "auto",
        "/tools/1/parameters/properties/a/type",
        "strin",
        None,
    ),
    ([{"name": "f", "input_schema": {"minProperties": -1}}], "auto", "/tools/0/input_schema/minProperties", "", None),
    ([{"type": "function", "function": {"name": 'a"b'}}], "auto", "/tools/0/function/name", "cannot write", "letters"),
    ([{"type": "function", "name": "a b"}], "auto", "/tools/0/name", "cannot write ' '", "letters"),
    ([{"type": "function", "name": "f", "strict": "yes"}], "auto", "/tools/0/strict", "true or false", None),
    ([{"name": "f", "input_schema": {}, "strict": "yes"}], "auto", "/tools/0/strict", "true or false", None),
    ([{"type": "function", "name": "f", 5: 6}], "auto", "/tools/0/5", "unknown key 5", "the keys are"),
    ([{"type": "custom", "name": "c", "format": {"type": "x"}}], "auto", "/tools/0/format", "format", None),
    (
        [{"type": "custom", "name": "c", "format": {"type": "text", "grammar": {}}}],
        "auto",
        "/tools/0/format/grammar",
        "unknown key",
        None,
    ),
    (
        [{"type": "custom", "name": "c", "format": {"type": "grammar", "syntax": "regex", "definition": "a", "x": 1}}],
        "auto",
        "/tools/0/format/x",
        "unknown key",
        "definition, syntax, type",
    ),
    (
        [{"type": "custom", "name": "c", "format": {"type": "grammar", "syntax": "ebnf", "definition": ""}}],
        "auto",
        "/tools/0/format/syntax",
        "'lark' or 'regex'",
        None,
    ),
    (
        [
            {
                "type": "custom",
                "custom": {
                    "name": "c",
                    "format": {"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: A"}},
                },
            }
        ],
        "auto",
        "/tools/0/custom/format/grammar/definition",
        "A",
        None,
    ),
    ([WEATHER], "wether", "/tool_choice", "names 'wether', which is no tool", "did you mean weather?"),
    ([WEATHER], {"type": "custom", "name": "weather"}, "/tool_choice/name", "not of type 'custom'", None),
    ([WEATHER], {"type": "function", "function": {}}, "/tool_choice/function/name", "needs its name", None),
    ([WEATHER], {"type": "file_search"}, "/tool_choice", "unknown tool_choice", "allowed_tools"),
    ([], "required", "/tool_choice", "there is no tool to call", "none"),
    (
        [WEATHER],
        {"type": "allowed_tools", "mode": "any", "tools": []},
        "/tool_choice/mode",
        "'auto' or 'required'",
        None,
    ),
    ([WEATHER], {"type": "allowed_tools", "tools": ["x"]}, "/tool_choice/tools/0", "an allowed tool is", None),
    (
        [WEATHER],
        {"type": "allowed_tools", "tools": [{"type": "function", "name": "wether"}]},
        "/tool_choice/tools/0/name",
        "names 'wether', which is no tool",
        "did you mean weather?",
    ),
    (
        [WEATHER],
        {"type": "allowed_tools", "allowed_tools": {"tools": [{"type": "function", "function": {"name": 1}}]}},
        "/tool_choice/allowed_tools/tools/0/function/name",
        "needs its name",
        None,
    ),
    # Members that are not known might be constraints.
    ([WEATHER], {"type": "function", "name": "weather", "n": 1}, "/tool_choice/n", "unknown key 'n'", "name"),
    (
        [WEATHER],
        {"type": "function", "function": {"name": "weather"}, "mode": "auto"},
        "/tool_choice/mode",
        "unknown key 'mode'",
        None,
    ),
    (
        [WEATHER],
        {"type": "function", "function": {"name": "weather", "n": 1}},
        "/tool_choice/function/n",
        "unknown key 'n'",
        None,
    ),
    ([WEATHER], {"type": "allowed_tools", "tool": []}, "/tool_choice/tool", "unknown key", "did you mean tools?"),
    # Without `tools`, no tool would be allowed, and `auto` would be `none`.
    ([WEATHER], {"type": "allowed_tools", "mode": "auto"}, "/tool_choice/tools", "needs its tools", "list the tools"),
    ([WEATHER], {"type": "allowed_tools", "tools": None}, "/tool_choice/tools", "needs its tools", None),
    (
        [WEATHER],
        {"type": "allowed_tools", "allowed_tools": {"mode": "auto"}},
        "/tool_choice/allowed_tools/tools",
        "needs its tools",
        None,
    ),
    ([WEATHER], {"type": "function", "function": None}, "/tool_choice/name", "needs its name", None),
    (
        [WEATHER],
        {"type": "allowed_tools", "allowed_tools": {"tools": []}, "mode": "required"},
        "/tool_choice/mode",
        "unknown key 'mode'",
        None,
    ),
]


@pytest.mark.parametrize(("tools", "choice", "pointer", "message", "hint"), WRONG)
def test_errors_have_their_place(tools: Any, choice: Any, pointer: str, message: str, hint: str | None) -> None:
    with pytest.raises(GrammarError) as caught:
        Grammar.from_tools(tools, "hermes", choice)
    assert caught.value.pointer == pointer
    assert message in caught.value.message
    assert f"#{pointer}" in str(caught.value)
    if hint is not None:
        assert caught.value.hint is not None
        assert hint in caught.value.hint


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(GrammarError, match=r"no tool style 'hermez'[\s\S]*did you mean hermes"):
        Grammar.from_tools([WEATHER], "hermez")
    with pytest.raises(TypeError, match="tools must be a list"):
        Grammar.from_tools(WEATHER)
    for strict in ("all", 0, 1, None):
        with pytest.raises(ValueError, match="strict must be True, False or 'declared'"):
            Grammar.from_tools([WEATHER], strict=strict)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="reasoning must be None, 'think', 'auto' or 'open'"):
        Grammar.from_tools([WEATHER], reasoning="yes")  # type: ignore[arg-type]
    with pytest.raises(GrammarError, match="the style 'jamba' has no reasoning"):
        Grammar.from_tools([WEATHER], "jamba", reasoning="think")
    with pytest.raises(TypeError, match="takes no option 'colour'"):
        Grammar.from_tools([WEATHER], colour=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="tool_choice must be a str or a dict"):
        Grammar.from_tools([WEATHER], tool_choice=5)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"call": "CALL ${nam} ${arguments}"}, r"no \$\{name\} before"),
        ({"call": "${arguments} ${name}"}, r"no \$\{name\} before"),
        ({"call": "CALL ${name}"}, r"has no \$\{arguments\}"),
        ({"call": "${name} ${arguments}"}, "needs a text before the name"),
        ({"call": ()}, "needs a text before the name"),
        ({"call": "${name} ${arguments}", "section": "${calls}"}, "needs a text before the name"),
    ],
)
def test_styles_that_say_too_little(fields: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        T.Style(name="mine", **fields)
    assert T.Style(name="mine", call="${name} ${arguments}", trigger="CALL").triggers == ("CALL",)


def test_tools_with_the_names_of_modes_are_chosen_by_objects() -> None:
    tools = [{"type": "function", "name": name} for name in ("auto", "none", "required", "any")]
    for tool in tools:
        grammar = Grammar.from_tools(tools, "hermes", tool)
        for other in tools:
            assert accepts(grammar, written(other["name"], {})) is (other is tool)
        assert not accepts(grammar, "Hello")


def test_names_of_styles() -> None:
    assert T.find_style("Qwen-3.5").name == "qwen_3_5"
    assert {T.find_style(name).name for name in T.style_names()} == set(T.style_names())
    asked = "llama kimi kimi_k3 deepseek_r1 deepseek_v3_1 deepseek_v3_2 deepseek_v4 deepseek_v4_1 qwen_3 qwen_3_5 "
    asked += "qwen_3_coder mimo harmony minimax minimax_m3 glm_4_7 cohere exaone hermes mistral gemma phi_4_mini"
    assert set(asked.split()) <= set(T.style_names())


def test_a_style_of_ones_own() -> None:
    style = T.Style("mine", call="CALL ${name} ${arguments} END", between="\n")
    grammar = Grammar.from_tools([WEATHER], style, "required")
    text = T.render([T.ToolCall("weather", {"city": "Oslo"})], style)
    assert text == 'CALL weather {"city": "Oslo"} END'
    assert accepts(grammar, text)
    assert T.parse(f"Hi {text}", style) == T.Message("Hi ", [T.ToolCall("weather", {"city": "Oslo"})])


def test_thousands_of_allowed_tools() -> None:
    """Each is found without a look at all others; within each other, they are refused before anything is made."""
    tools = [{"type": "function", "name": f"f{index}"} for index in range(4000)]
    known = read_tools(tools)
    allowed = {"type": "allowed_tools", "tools": tools[::-1] * 2}
    began = time.thread_time()
    assert [tool.name for tool in read_choice(allowed, known).tools] == [tool["name"] for tool in tools[::-1]]
    nested: Any = allowed
    for _ in range(150):
        nested = {"type": "allowed_tools", "tools": [nested]}
    with pytest.raises(GrammarError, match="an allowed tool is") as caught:
        read_choice(nested, known)
    assert caught.value.pointer == "/tool_choice/tools/0"
    assert time.thread_time() - began < 1  # 40 ms; a look at all others takes seconds
