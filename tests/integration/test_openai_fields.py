"""`extra_body` and `custom_tool`: what they make is read back as the same grammar."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest

from earleymask import Grammar, GrammarError, Matcher, Vocabulary
from earleymask.integration.openai import CustomTool, custom_tool, extra_body


@pytest.mark.parametrize(
    ("grammar", "expected"),
    [
        (Grammar.from_lark("%import common.INT\nstart: INT"), {"grammar": "%import common.INT\nstart: INT"}),
        (Grammar.from_gbnf('root ::= "a"'), {"grammar": 'root ::= "a"'}),
        (Grammar.from_regex("a+"), {"regex": "a+"}),
        (re.compile("b"), {"regex": "b"}),
        (Grammar.from_choices(["yes", "né"]), {"choice": ["né", "yes"]}),
        ({"type": "integer"}, {"json": '{"type": "integer"}'}),
        (
            Grammar.from_json_schema('{"maximum": 0.100000000000000000001}', whitespace="compact", closed=True),
            {
                "json": '{"maximum": 0.100000000000000000001}',
                "disable_any_whitespace": True,
                "disable_additional_properties": True,
            },
        ),
    ],
)
def test_a_grammar_becomes_fields(grammar: Any, expected: dict[str, Any]) -> None:
    found = extra_body(grammar)["structured_outputs"]
    if "choice" in found:
        found["choice"].sort()
    assert found == expected
    assert extra_body(grammar, fit_max_tokens=True)["fit_max_tokens"] is True


@pytest.mark.parametrize(
    "grammar",
    [
        Grammar.from_lark('a: "a"', start="a"),
        Grammar.from_lark("start: @x", grammars={"x": 'start: "a"'}),
        Grammar.from_regex("a", flags=re.IGNORECASE),
        Grammar.from_json_schema({"properties": {"a": {}, "b": {}}}, property_order="any"),
    ],
)
def test_a_grammar_that_the_fields_cannot_say_is_refused(grammar: Grammar) -> None:
    with pytest.raises((ValueError, GrammarError)):
        extra_body(grammar)


def test_no_framework_is_imported() -> None:
    program = "import sys, earleymask.integration.openai; print(*{'torch', 'starlette', 'openai'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""


def test_a_function_becomes_a_custom_tool() -> None:
    @custom_tool('start: "print(" /[a-z]+/ ")"')
    def run(program: str) -> str:
        """Run a program."""
        return program.upper()

    assert isinstance(run, CustomTool) and run("print(a)") == "PRINT(A)"
    assert run.definition["description"] == "Run a program." and run.definition["name"] == "run"
    letters = Vocabulary.bytes()
    for definition in (run.definition, run.chat_definition):
        grammar = Grammar.from_tools([definition], "hermes", "required")
        for text, is_allowed in (("print(ab)", True), ("exec(ab)", False)):
            call = f'<tool_call>\n{{"name": "run", "arguments": {{"input": "{text}"}}}}\n</tool_call>'.encode()
            assert (Matcher(grammar, letters).validate(call) == len(call)) == is_allowed


def test_a_malformed_grammar_is_found_where_the_tool_is_made() -> None:
    with pytest.raises(GrammarError):
        custom_tool("start: item")
    assert custom_tool("[0-9]+", syntax="regex", name="dial")(print).definition["format"]["syntax"] == "regex"
