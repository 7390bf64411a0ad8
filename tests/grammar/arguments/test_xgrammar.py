"""The same arguments in XGrammar: each difference is in the table of docs/structural_tags.md, and has a reason."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from earleymask import Grammar
from earleymask.grammar.arguments.styles import STYLES as ROWS
from earleymask.grammar.arguments.text import write_arguments
from earleymask.grammar.json_schema.options import DEFAULT_OPTIONS
from support.arguments import STYLES as OUR_STYLES
from support.arguments import accepts, arguments_grammar

xgrammar = pytest.importorskip("xgrammar")

NS = "]<]minimax[>["
STYLES = [one for one in OUR_STYLES if one != "mimo_xml"]
"""Those that XGrammar has."""
UNTYPED = ("qwen_xml", "minimax_xml", "glm_xml", "minimax_m3_xml")


def closed(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False, **more}


@cache
def compiler() -> Any:
    tokens = [*[bytes([one]) for one in range(256)], b""]
    return xgrammar.GrammarCompiler(
        xgrammar.TokenizerInfo(tokens, vocab_type=xgrammar.VocabType.RAW, stop_token_ids=[256])
    )


def theirs(schema: Any, style: str, text: str, **options: Any) -> bool | str:
    """Whether XGrammar accepts a text; "refused" if it does not take the schema."""
    content = {"type": "json_schema", "json_schema": schema, "style": style, **options}
    try:
        compiled = compiler().compile_structural_tag({"type": "structural_tag", "format": content})
    except RuntimeError:
        return "refused"
    matcher = xgrammar.GrammarMatcher(compiled)
    return bool(matcher.accept_string(text.encode()) and matcher.accept_token(256))


STRING, NUMBER = {"type": "string"}, {"type": "integer"}
SAME: list[tuple[dict[str, Any], dict[str, Any], bool]] = [
    (closed({"a": STRING}, required=["a"]), {"a": "x"}, True),
    (closed({"a": STRING}, required=["a"]), {"a": ""}, True),
    (closed({"a": STRING}, required=["a"]), {"a": "\n x <b>\n"}, True),
    (closed({"a": STRING}), {}, True),
    (closed({"a": STRING, "b": NUMBER}, required=["a"]), {"b": 1}, False),
    (closed({"a": STRING, "b": NUMBER}, required=["a"]), {"b": 1, "a": "x"}, False),
    (closed({"a": STRING, "b": NUMBER}, required=["a"]), {"a": "x", "b": 1}, True),
    (closed({"a": {"enum": ["x", "y", 1]}}), {"a": "x"}, True),
    (closed({"a": {"enum": ["x", "y", 1]}}), {"a": 1}, True),
    (closed({"a": {"enum": ["x", "y", 1]}}), {"a": "z"}, False),
    (closed({"a": {"type": ["string", "integer"]}}), {"a": 5}, True),
    (closed({"o": closed({"k": STRING}, required=["k"])}), {"o": {"k": "v"}}, True),
    (closed({"o": closed({"k": STRING}, required=["k"])}), {"o": {}}, False),
    (closed({"l": {"type": "array", "items": NUMBER}}), {"l": []}, True),
    (closed({"a": NUMBER}, minProperties=1), {}, False),
    ({**closed({"a": {"$ref": "#/$defs/s"}}), "$defs": {"s": STRING}}, {"a": "x"}, True),
]
"""Schemas, arguments, and what both say."""


@pytest.mark.parametrize("style", STYLES)
def test_the_same(style: str) -> None:
    for schema, arguments, expected in SAME:
        text = write_arguments(arguments, style, schema)
        if style == "minimax_m3_xml" and "\n" in str(arguments.get("a")):
            continue
        found = accepts(arguments_grammar(schema, style), text), theirs(schema, style, text)
        assert found == (expected, expected), (schema, arguments, text)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("schema", [STRING, {"type": "string", "pattern": "^x+$"}, {"enum": ["x", "a\nb"]}])
def test_a_string_alone_is_the_same(style: str, schema: dict[str, Any]) -> None:
    ours = Grammar.from_structural_tag({"format": {"type": "json_schema", "json_schema": schema, "style": style}})
    for text in ("", "x", "xx", '"x"', "a\nb", "\nx\n", "5", "<a>", "é", ROWS[style].stop, f"x{ROWS[style].stop}"):
        if style == "minimax_m3_xml" and "pattern" in schema:
            assert theirs(schema, style, text) == "refused"
        else:
            assert accepts(ours, text) == theirs(schema, style, text), text


ALL = tuple(STYLES)
M3 = ("minimax_m3_xml",)
BOTH = closed({"a": {"allOf": [STRING, {"minLength": 2}]}})
DEPENDENT = closed({"a": NUMBER, "b": NUMBER}, dependentRequired={"a": ["b"]})
PATTERN = closed({"a": {"type": "string", "pattern": "^a+$"}})
OPEN = {"type": "object", "properties": {"a": NUMBER}}
OTHERS = {"type": "object", "additionalProperties": NUMBER}
LIST = closed({"l": {"type": "array", "items": NUMBER}})
DIFFERENT: list[tuple[str, tuple[str, ...], Any, dict[str, Any], bool, bool | str]] = [
    ("allOf", tuple([one for one in STYLES if one not in M3]), BOTH, {"a": "x"}, False, True),
    ("dependentRequired", ALL, DEPENDENT, {"a": 1}, False, True),
    ("open objects", ALL, OPEN, {"b": 1}, True, False),
    ("names that are no identifiers", ("qwen_xml", "glm_xml"), OTHERS, {"a b": 1}, True, False),
    ("patterns in minimax_m3_xml", M3, PATTERN, {"a": "aa"}, True, "refused"),
    ("schemas without a type in minimax_m3_xml", M3, closed({"a": True}), {"a": 1}, True, "refused"),
    ("other names in minimax_m3_xml", M3, OTHERS, {"z": 1}, True, "refused"),
]
"""What differs, in which styles, and what we and XGrammar say."""


@pytest.mark.parametrize("case", DIFFERENT, ids=lambda case: case[0])
def test_arguments_on_which_xgrammar_differs(case: Any) -> None:
    _, styles, schema, arguments, ours, other = case
    for style in styles:
        text = write_arguments(arguments, style, True if style not in UNTYPED else schema)
        assert (accepts(arguments_grammar(schema, style), text), theirs(schema, style, text)) == (ours, other), style


@pytest.mark.parametrize(
    ("style", "schema", "text", "ours", "other"),
    [
        # A name comes once.
        (
            "qwen_xml",
            {"type": "object", "additionalProperties": NUMBER},
            "<parameter=a>1</parameter><parameter=a>2</parameter>",
            False,
            True,
        ),
        # White space may stand between the items of an array.
        (
            "cohere_xml",
            LIST,
            '<cofl:value name="l" type="list"><cofl:value type="json">1</cofl:value>\n'
            '<cofl:value type="json">2</cofl:value></cofl:value>',
            True,
            False,
        ),
        # The line breaks around a string come together.
        ("qwen_xml", closed({"a": STRING}), "<parameter=a>\nx</parameter>", False, True),
        # What ends a value does not stand in JSON.
        ("qwen_xml", closed({"a": {"type": "object"}}), '<parameter=a>{"k": "</parameter>"}</parameter>', False, True),
        # The type says what the value is.
        (
            "kimi_k3_xml",
            closed({"a": {"type": ["string", "integer"]}}),
            '<|open|>argument key="a" type="integer"<|sep|>x<|close|>argument<|sep|>',
            False,
            True,
        ),
        # A string would be read as the number that it spells, which is too small.
        (
            "minimax_xml",
            closed({"a": {"anyOf": [STRING, {"type": "integer", "minimum": 10}]}}),
            '<parameter name="a">5</parameter>',
            False,
            True,
        ),
        # White space may stand around numbers in this style, too.
        ("minimax_m3_xml", closed({"a": NUMBER}), f"{NS}<a> 5 {NS}</a>", True, False),
        # A bound of length does not let a string go on over its end.
        (
            "qwen_xml",
            closed({"a": {"type": "string", "maxLength": 40}}),
            "<parameter=a></parameter><parameter=b></parameter>",
            False,
            True,
        ),
    ],
)  # fmt: skip
def test_texts_on_which_xgrammar_differs(style: str, schema: Any, text: str, ours: bool, other: bool) -> None:
    assert (accepts(arguments_grammar(schema, style), text), theirs(schema, style, text)) == (ours, other)


@pytest.mark.parametrize("style", STYLES)
def test_arguments_in_any_order(style: str) -> None:
    schema = closed({"a": NUMBER, "b": NUMBER}, required=["a", "b"])
    grammar = arguments_grammar(schema, style, DEFAULT_OPTIONS._replace(property_order="any"))
    for names, ours in (("ba", True), ("ab", True), ("aa", False)):
        text = "".join([write_arguments({name: 1}, style, schema) for name in names])
        assert (accepts(grammar, text), theirs(schema, style, text, any_order=True)) == (ours, True)


@pytest.mark.parametrize("style", STYLES)
def test_excluded_texts(style: str) -> None:
    schema = closed({"a": {"type": "string", "pattern": "^x*y$"}})
    grammar = arguments_grammar(schema, style, excluded=("xx",))
    for value, ours in (("xy", True), ("xxy", False)):
        text = write_arguments({"a": value}, style, schema)
        other = "refused" if style in ("cohere_xml", "minimax_m3_xml") else True
        assert (accepts(grammar, text), theirs(schema, style, text, excludes=["xx"])) == (ours, other)
