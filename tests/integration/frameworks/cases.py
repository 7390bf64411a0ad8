"""What is asked of every example, and what its answers must be. Checked by `jsonschema`, `re` and `lark`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import jsonschema
import lark

YES_OR_NO = 'start: "yes" | "no, " reason\nreason: /[a-z]{1,9}/\n'
TIME = "([01][0-9]|2[0-3]):[0-5][0-9]"
POINT = {
    "type": "object",
    "properties": {"x": {"type": "integer", "minimum": 0, "maximum": 99}, "label": {"enum": ["a", "b"]}},
    "required": ["x"],
    "additionalProperties": False,
}
COLOURS = ["red", "green", "light blue"]
BROKEN = "start: item"
BROKEN_MESSAGE = "rule `item` is not defined"
PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 20},
        "age": {"type": "integer", "minimum": 0, "maximum": 130},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
QUERY = r"""
start: "SELECT " column ("," column)* " FROM people" [" LIMIT " /[1-9]/]
column: "name" | "age" | "count(" column ")"
"""
"""The grammar of the custom tools in the examples."""
WEATHER = "(Oslo|Paris): rain for ([1-9]|1[0-4]) days"
"""What the function `weather` of the examples returns."""

Bodies = list[dict[str, Any]]


class Case(NamedTuple):
    """A call of a function of an example.

    Attributes:
        name: for the report.
        function: the function; an example may lack it, if its framework cannot do it.
        arguments: its arguments.
        check: raises an error if the answer is wrong.
        sent: whether the bodies that have arrived at the server ask for what was meant.
        message: what an error must say; None: there must be none.
        vllm_message: the same for vLLM.
    """

    name: str
    function: str
    arguments: list[Any]
    check: Callable[[Any], object]
    sent: Callable[[Bodies], bool]
    message: str | None = None
    vllm_message: str | None = None


def is_sentence(grammar: str, text: str) -> None:
    lark.Lark(grammar, parser="earley", lexer="dynamic_complete").parse(text)


def matches(pattern: str, text: str) -> None:
    assert re.fullmatch(pattern, text), text


def each(check: Callable[[str], object], answers: list[str]) -> None:
    """Check the results of all calls of a tool."""
    for answer in answers:
        check(answer)


def ran(answer: str) -> None:
    assert answer.startswith("ran "), answer
    is_sentence(QUERY, answer.removeprefix("ran "))


def constrained(constraint: dict[str, Any]) -> Callable[[Bodies], bool]:
    return lambda bodies: bool(bodies) and all([body.get("structured_outputs") == constraint for body in bodies])


def has_schema(bodies: Bodies) -> bool:
    """Whether there is a schema for the answer: in `response_format`, or as the parameters of the one tool."""
    (body, *_) = bodies
    forms = [(body.get("response_format") or {}).get("json_schema", {}).get("schema")]
    forms += [tool["function"]["parameters"] for tool in body.get("tools", ())]
    return '"maxLength": 20' in json.dumps(forms)


def has_function(bodies: Bodies) -> bool:
    (body, *_) = bodies
    return "weather" in json.dumps(body["tools"]).lower()


def has_grammar(bodies: Bodies) -> bool:
    (body, *_) = bodies
    forms = [tool.get("format", tool.get("custom", {}).get("format")) for tool in body["tools"]]
    return {"type": "grammar", "syntax": "lark", "definition": QUERY} in forms


CASES = (
    Case(
        "Lark",
        "ask",
        ["Is it so?", {"grammar": YES_OR_NO}],
        lambda answer: is_sentence(YES_OR_NO, answer),
        constrained({"grammar": YES_OR_NO}),
    ),
    Case(
        "regex",
        "ask",
        ["When?", {"regex": TIME}],
        lambda answer: matches(TIME, answer),
        constrained({"regex": TIME}),
    ),
    Case(
        "schema",
        "ask",
        ["Where?", {"json": POINT}],
        lambda answer: jsonschema.validate(json.loads(answer), POINT),
        constrained({"json": POINT}),
    ),
    Case(
        "choice",
        "ask",
        ["Which colour?", {"choice": COLOURS}],
        lambda answer: COLOURS.index(answer),
        constrained({"choice": COLOURS}),
    ),
    Case(
        "mistake",
        "ask",
        ["What?", {"grammar": BROKEN}],
        lambda answer: None,
        constrained({"grammar": BROKEN}),
        BROKEN_MESSAGE,
        BROKEN_MESSAGE,
    ),
    Case("model", "fill", ["Who?"], lambda answer: jsonschema.validate(answer, PERSON), has_schema),
    Case(
        "model by a tool",
        "fill_by_a_tool",
        ["Who?"],
        lambda answer: jsonschema.validate(answer, PERSON),
        has_schema,
    ),
    Case(
        "function",
        "use_tool",
        ["How is the weather?"],
        lambda answer: each(lambda text: matches(WEATHER, text), answer),
        has_function,
    ),
    Case(
        "custom tool",
        "use_custom_tool",
        ["Who is there?"],
        lambda answer: each(ran, answer),
        has_grammar,
        None,
        "Custom tools with a grammar",
    ),
    Case(
        "code",
        "write_code",
        ["How is the weather?"],
        lambda answer: matches(WEATHER, answer),
        lambda bodies: all(["final_answer(weather(" in body["structured_outputs"]["grammar"] for body in bodies]),
    ),
)
