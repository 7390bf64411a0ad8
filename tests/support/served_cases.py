"""Requests of all kinds of constraints, each with a check of finished texts that does not use earleymask."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import jsonschema
import lark


class Case(NamedTuple):
    """A request.

    Attributes:
        kind: for the report.
        constraint: the fields of vLLM's `StructuredOutputsParams`.
        check: raises an error if a finished text is not what was asked for.
    """

    kind: str
    constraint: dict[str, Any]
    check: Callable[[str], object]


WEATHER = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "maxLength": 12},
        "days": {"type": "integer", "minimum": 1, "maximum": 14},
    },
    "required": ["city"],
    "additionalProperties": False,
}
TAGS = {
    "type": "structural_tag",
    "format": {
        "type": "triggered_tags",
        "triggers": ["<call:"],
        "tags": [
            {"begin": "<call:weather>", "content": {"type": "json_schema", "json_schema": WEATHER}, "end": "</call>"}
        ],
        "at_least_one": True,
        "stop_after_first": True,
    },
}
OLDER_TAGS = {
    "structures": [{"begin": "<call:weather>", "schema": WEATHER, "end": "</call>"}],
    "triggers": ["<call:"],
}
XGRAMMAR_EBNF = {
    "type": "structural_tag",
    "format": {"type": "grammar", "grammar": 'root ::= (("[" [0-9]{1,3} ((", " [0-9]{1,3}){0,4}) "]"))\n'},
}


def random_schema(rng: random.Random) -> dict[str, Any]:
    """Return a schema whose documents are short. Few are alike."""
    kinds: list[Callable[[], dict[str, Any]]] = [
        lambda: {"type": "string", "maxLength": rng.randint(3, 12)},
        lambda: {"type": "integer", "minimum": rng.randint(-5, 5), "maximum": rng.randint(6, 900)},
        lambda: {"enum": rng.sample(["red", "green", "blue", 1, 2.5, None, True], rng.randint(1, 4))},
        lambda: {"type": "boolean"},
        lambda: {
            "type": "array",
            "items": {"type": "integer", "maximum": 99, "minimum": 0},
            "maxItems": rng.randint(1, 4),
        },
        lambda: {"type": "string", "pattern": rf"^[a-c]{{1,{rng.randint(2, 5)}}}$"},
        lambda: {"type": "string", "format": "date"},
        lambda: {"anyOf": [{"type": "null"}, {"type": "number", "multipleOf": 0.5, "minimum": 0, "maximum": 50}]},
    ]
    names = rng.sample(["name", "age", "tags", "city", "x", "état", "unit", "id", "a b"], rng.randint(1, 5))
    return {
        "type": "object",
        "properties": {name: rng.choice(kinds)() for name in names},
        "required": rng.sample(names, rng.randint(1, len(names))),
        "additionalProperties": False,
    }


def json_case(schema: dict[str, Any], kind: str = "json", **constraint: Any) -> Case:
    return Case(kind, constraint or {"json": schema}, lambda text: jsonschema.validate(json.loads(text), schema))


def full_match(pattern: str, text: str) -> None:
    assert re.fullmatch(pattern, text, re.S), f"no match of {pattern}"


@cache
def oracle(grammar: str) -> lark.Lark:
    return lark.Lark(grammar, parser="earley", lexer="dynamic_complete")


def calls(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the calls of the weather begin and end. Raises an error if one begins that is none."""
    at = 0
    while (begin := text.find("<call:", at)) >= 0:
        assert text.startswith("<call:weather>", begin), "a call that is none"
        arguments, at = json.JSONDecoder().raw_decode(text, begin + len("<call:weather>"))
        jsonschema.validate(arguments, WEATHER)
        assert text.startswith("</call>", at), "a call without its end"
        at += len("</call>")
        yield begin, at


def any_calls(text: str) -> None:
    list(calls(text))


def one_call(text: str) -> None:
    """Check that text and one call follow one another, and that this is all."""
    ((_, end),) = calls(text)
    assert end == len(text), "text after the call"


def numbers(text: str) -> None:
    full_match(r"\[[0-9]{1,3}(, [0-9]{1,3}){0,4}\]", text)


def random_case(rng: random.Random) -> Case:
    def regex() -> Case:
        pattern = rf"[a-{rng.choice('mnop')}]{{2,{rng.randint(3, 8)}}}( [a-z]{{2,5}}){{0,{rng.randint(1, 3)}}}"
        return Case("regex", {"regex": pattern}, lambda text: full_match(pattern, text))

    def choice() -> Case:
        choices = rng.sample(
            ["hello world", "hello", "it is", 'a "quoted" one', "ünï", "two\nlines"], rng.randint(1, 4)
        )
        return Case("choice", {"choice": choices}, lambda text: choices.index(text))

    def from_lark() -> Case:
        most = rng.randint(1, 5)
        grammar = f'start: "[" (INT (", " INT)~0..{most})? "]" | "(" start ")"\nINT: /[1-9][0-9]{{0,2}}/'
        return Case("lark", {"grammar": grammar}, lambda text: oracle(grammar).parse(text))

    def gbnf() -> Case:
        most = rng.randint(1, 5)
        grammar = f'root ::= "[" number (", " number){{0,{most}}} "]"\nnumber ::= [0-9]{{1,2}}'
        pattern = rf"\[[0-9]{{1,2}}(, [0-9]{{1,2}}){{0,{most}}}\]"
        return Case("gbnf", {"grammar": grammar}, lambda text: full_match(pattern, text))

    makers: list[Callable[[], Case]] = [
        lambda: json_case(random_schema(rng)),
        lambda: json_case({"type": "object"}, "json_object", json_object=True),
        regex,
        choice,
        from_lark,
        gbnf,
        lambda: Case("structural_tag", {"structural_tag": json.dumps(TAGS)}, one_call),
        lambda: Case("older tag", {"structural_tag": json.dumps(OLDER_TAGS)}, any_calls),
        lambda: Case("tag with EBNF", {"structural_tag": json.dumps(XGRAMMAR_EBNF)}, numbers),
    ]
    return rng.choice(makers)()


def random_cases(seed: int) -> Iterator[Case]:
    rng = random.Random(seed)
    while True:
        yield random_case(rng)


class Bad(NamedTuple):
    """A constraint that must be refused, and a part of the message that must say so."""

    constraint: dict[str, Any]
    message: str


BAD = (
    Bad({"json": {"type": "object", "properties": {"a": {"$ref": "#/x"}}}}, "#/properties/a/$ref"),
    Bad({"json": {"type": "strin"}}, "#/type"),
    Bad({"json": '{"type":'}, "line 1, column 9"),
    Bad({"grammar": 'start: "a"\n    | item'}, "line 2, column 7"),
    Bad({"grammar": 'root ::= "a" | item'}, "line 1, column 16"),
    Bad({"regex": "a(b"}, "line 1, column 2"),
    Bad({"structural_tag": '{"type": "structural_tag", "format": {"type": "tag"}}'}, "#/format"),
)
IN_THE_ENGINE = Bad({"grammar": 'start: "a" <|nothing|>'}, "<|nothing|>")
"""Only the engine knows the special tokens."""


def hard_grammar(index: int = 0) -> str:
    """Return a grammar that loads in milliseconds, and after whose first tokens a mask takes more than a second.

    What a failed call has learned is kept, so the same grammar may succeed the next time: each `index` is another one.
    """
    n = 200 + index
    rules = "\n".join(f'r{i}: r{(7 * i + 1) % n} r{(3 * i + 2) % n} | r{(5 * i + 3) % n} | "a"' for i in range(n))
    return f'start: "ok: " ({" | ".join(f"r{i}" for i in range(n))})\n{rules}'
