"""Definitions and texts that are wrong, deep or large: each gets an error with its place, or is read in good time."""

from __future__ import annotations

from typing import Any

import pytest

from earleymask import Grammar, GrammarError, Limits, tools
from earleymask.grammar import GrammarLimitError
from support.sentences import accepts

QUOTE = '<|"|>'


def gemma(schema: Any, **options: Any) -> Grammar:
    definition = {"type": "function", "name": "f", "parameters": schema}
    return Grammar.from_tools([definition], "gemma", "required", **options)


def takes(grammar: Grammar, arguments: str) -> bool:
    return accepts(grammar, f"<|tool_call>call:f{{{arguments}}}<tool_call|>")


def member(schema: Any, **others: Any) -> Any:
    return {"type": "object", "properties": {"a": schema}, "required": ["a"], **others}


def test_values_of_an_enumeration_have_its_type() -> None:
    grammar = gemma(member({"type": "string", "enum": ["x", 1]}))
    assert takes(grammar, f"a:{QUOTE}x{QUOTE}") and not takes(grammar, "a:1")
    numbers = gemma(member({"type": "integer", "enum": [1, 2.0, 2.5, True]}))
    assert [takes(numbers, f"a:{text}") for text in ("1", "2.0", "2.5", "true")] == [True, True, False, False]


def test_counts_may_be_written_with_a_fraction() -> None:
    grammar = gemma(member({"type": "string", "minLength": 2.0, "maxLength": 3.0}))
    assert [takes(grammar, f"a:{QUOTE}{'x' * n}{QUOTE}") for n in range(5)] == [False, False, True, True, False]


def test_arguments_that_are_not_enforced_are_an_object() -> None:
    """And what the grammar takes, the parser reads."""
    for grammar in (gemma(member({"type": "integer"}), strict=False), gemma({"type": "object"})):
        for arguments in ("", "b:1", f"a:{QUOTE}x<|y{QUOTE},b:[1,{{c:true}},-2.5e3,null]"):
            assert takes(grammar, arguments)
            message = tools.parse(f"<|tool_call>call:f{{{arguments}}}<tool_call|>", "gemma")
            assert len(message.calls) == 1 and not message.unfinished
        for arguments in ("garbage", "a:", "a:1,", f"a:{QUOTE}x"):
            assert not takes(grammar, arguments)


def test_hundreds_of_members_may_be_missing() -> None:
    schema = {"type": "object", "properties": {f"a{i}": {"type": "null"} for i in range(150)}}
    grammar = gemma(schema, limits=Limits(load_seconds=30))
    for arguments in ("", "a0:null", "a149:null", "a3:null,a70:null,a149:null"):
        assert takes(grammar, arguments)
    for arguments in (",a1:null", "a1:null,", "a2:null,a1:null"):
        assert not takes(grammar, arguments)


def deep(n: int) -> Any:
    """Two members of each definition lead to the next one."""
    both = [{"l": {"$ref": f"#/$defs/d{i + 1}"}, "r": {"$ref": f"#/$defs/d{i + 1}"}} for i in range(n)]
    defined = {f"d{i}": {"type": "object", "properties": members} for i, members in enumerate(both)}
    return member({"$ref": "#/$defs/d0"}, **{"$defs": {**defined, f"d{n}": {"type": "integer"}}})


@pytest.mark.parametrize(
    ("schema", "pointer", "message"),
    [
        (
            member({"$ref": "#/$defs/s", "maxLength": 2}, **{"$defs": {"s": {"type": "string"}}}),
            "/a/maxLength",
            "enforce",
        ),
        (
            member({"$ref": "#s"}, **{"$defs": {"s": {"$anchor": "s", "type": "string"}}}),
            "/a/$ref",
            "the reference '#s'",
        ),
        (member({"type": "array", "items": {"type": "integer"}, "minItems": 3, "maxItems": 2}), "/a", "no document"),
        (
            {"type": "object", "properties": {"a/b~": {"type": "string", "pattern": "x"}}},
            "/a~1b~0/pattern",
            "'pattern'",
        ),
        (member({"anyOf": 3}), "/a/anyOf", "`anyOf` must be a list"),
    ],
)
def test_what_gemma_cannot_say_is_refused_with_its_place(schema: Any, pointer: str, message: str) -> None:
    with pytest.raises(GrammarError) as caught:
        gemma(schema)
    assert caught.value.pointer == f"/tools/0/parameters/properties{pointer}" and message in str(caught.value)


def test_definitions_in_many_places_are_counted() -> None:
    assert takes(gemma(deep(4)), "a:{l:{l:{l:{l:1}}}}")
    with pytest.raises(GrammarLimitError, match="more than 10000 formats"):
        gemma(deep(14))


@pytest.mark.parametrize("style", ["exaone", "gemma", "qwen_3_coder", "llama"])
def test_deep_arguments_end_a_parser(style: str) -> None:
    begin = {
        "exaone": '<tool_call>{"name": "f", "arguments": {"a": ',
        "gemma": "<|tool_call>call:f{a:",
        "qwen_3_coder": "<tool_call>\n<function=f>\n<parameter=a>\n",
        "llama": '{"name": "f", "parameters": {"a": ',
    }[style]
    for closed in ("", "]" * 100_000):
        parser = tools.Parser(style)
        error = None
        try:
            parser.feed(begin + "[" * 100_000 + closed)
            parser.finish()
        except tools.ToolCallError as found:
            error = found
        assert (error is not None and "deeply" in str(error) and error.position > 0) or parser.message.unfinished
        if error is not None:
            with pytest.raises(tools.ToolCallError):  # the error stays
                parser.feed("x")


def test_strictness_of_definitions_in_other_shapes() -> None:
    def function(a: int) -> None: ...

    schema = member({"type": "integer"})
    for definition, is_declared in (
        ({"name": "f", "input_schema": schema, "strict": True}, True),
        ({"name": "f", "input_schema": schema}, False),
        (function, False),
    ):
        name = "f" if isinstance(definition, dict) else "function"
        wrong = f'<tool_call>\n{{"name": "{name}", "arguments": {{"a": "x"}}}}\n</tool_call>'
        for strict, enforced in ((True, True), ("declared", is_declared), (False, False)):
            grammar = Grammar.from_tools([definition], "hermes", "required", strict=strict)  # type: ignore[arg-type]
            assert accepts(grammar, wrong) != enforced, (definition, strict)


@pytest.mark.parametrize("inner", [[], 3, {"tools": 3}])
def test_wrong_allowed_tools(inner: Any) -> None:
    definition = {"type": "function", "name": "f"}
    with pytest.raises(GrammarError) as caught:
        Grammar.from_tools([definition], "hermes", {"type": "allowed_tools", "allowed_tools": inner})
    assert caught.value.pointer == "/tool_choice/allowed_tools"


def test_thousands_of_tags_and_bytes_that_are_no_text() -> None:
    tags = [{"begin": f"<{i}>", "content": {"type": "const_string", "value": "a"}, "end": "."} for i in range(1000)]
    format = {"type": "triggered_tags", "triggers": [tag["begin"] for tag in tags], "tags": tags}
    grammar = Grammar.from_structural_tag({"format": format}, limits=Limits.trusted())
    assert accepts(grammar, "x<7>a.<999>a.") and not accepts(grammar, "<7>b.")
    with pytest.raises(GrammarError, match="not UTF-8: byte 0 is 0xff"):
        Grammar.from_structural_tag(b"\xff")
