"""How arguments are read and written in the styles with tags, without a grammar."""

from __future__ import annotations

import ast
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earleymask.grammar.arguments.styles import STYLES
from earleymask.grammar.arguments.text import ArgumentsError, read_arguments, write_arguments
from support.paths import ROOT

NS = "]<]minimax[>["
SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer"},
        "near": {"type": "object", "properties": {"km": {"type": "number"}}},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
}
ARGUMENTS = {"city": "Paris", "days": 3, "near": {"km": 1.5}, "tags": ["a b"]}
TEXTS = {
    "qwen_xml": (
        "<parameter=city>\nParis\n</parameter>\n<parameter=days>\n3\n</parameter>\n"
        '<parameter=near>\n{"km": 1.5}\n</parameter>\n<parameter=tags>\n["a b"]\n</parameter>\n'
    ),
    "mimo_xml": (
        "<parameter=city>Paris</parameter><parameter=days>3</parameter>"
        '<parameter=near>{"km": 1.5}</parameter><parameter=tags>["a b"]</parameter>'
    ),
    "minimax_xml": (
        '<parameter name="city">Paris</parameter>\n<parameter name="days">3</parameter>\n'
        '<parameter name="near">{"km": 1.5}</parameter>\n<parameter name="tags">["a b"]</parameter>\n'
    ),
    "minimax_m3_xml": (
        f"{NS}<city>Paris{NS}</city>\n{NS}<days>3{NS}</days>\n{NS}<near>\n{NS}<km>1.5{NS}</km>\n{NS}</near>\n"
        f"{NS}<tags>\n{NS}<item>a b{NS}</item>\n{NS}</tags>\n"
    ),
    "deepseek_xml": (
        '<｜DSML｜parameter name="city" string="true">Paris</｜DSML｜parameter>\n'
        '<｜DSML｜parameter name="days" string="false">3</｜DSML｜parameter>\n'
        '<｜DSML｜parameter name="near" string="false">{"km": 1.5}</｜DSML｜parameter>\n'
        '<｜DSML｜parameter name="tags" string="false">["a b"]</｜DSML｜parameter>\n'
    ),
    "deepseek_v4_1_xml": (
        '<｜DSML｜ parameter name="city" string="true">Paris</｜DSML｜ parameter>\n'
        '<｜DSML｜ parameter name="days" string="false">3</｜DSML｜ parameter>\n'
        '<｜DSML｜ parameter name="near" string="false">{"km": 1.5}</｜DSML｜ parameter>\n'
        '<｜DSML｜ parameter name="tags" string="false">["a b"]</｜DSML｜ parameter>\n'
    ),
    "glm_xml": (
        "<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n"
        '<arg_key>near</arg_key>\n<arg_value>{"km": 1.5}</arg_value>\n'
        '<arg_key>tags</arg_key>\n<arg_value>["a b"]</arg_value>\n'
    ),
    "cohere_xml": (
        '<cofl:value name="city" type="raw">Paris</cofl:value><cofl:value name="days" type="json">3</cofl:value>'
        '<cofl:value name="near" type="dict"><cofl:value name="km" type="json">1.5</cofl:value></cofl:value>'
        '<cofl:value name="tags" type="list"><cofl:value type="raw">a b</cofl:value></cofl:value>'
    ),
    "kimi_k3_xml": (
        '<|open|>argument key="city" type="string"<|sep|>Paris<|close|>argument<|sep|>'
        '<|open|>argument key="days" type="number"<|sep|>3<|close|>argument<|sep|>'
        '<|open|>argument key="near" type="object"<|sep|>{"km": 1.5}<|close|>argument<|sep|>'
        '<|open|>argument key="tags" type="array"<|sep|>["a b"]<|close|>argument<|sep|>'
    ),
}
"""The arguments as the chat templates of these models write them."""


def test_all_styles_have_a_text() -> None:
    assert set(TEXTS) == set(STYLES)


@pytest.mark.parametrize("style", STYLES)
def test_the_text_of_each_style(style: str) -> None:
    assert write_arguments(ARGUMENTS, style, SCHEMA) == TEXTS[style]
    assert read_arguments(TEXTS[style], style, SCHEMA) == ARGUMENTS
    assert read_arguments("", style, SCHEMA) == read_arguments(" \n", style, SCHEMA) == {}


@pytest.mark.parametrize("style", STYLES)
@given(text=st.text(alphabet=st.one_of(st.sampled_from('<>/\n "&a5]['), st.characters(exclude_categories=["Cs"]))))
def test_strings_are_read_as_they_are_written(style: str, text: str) -> None:
    """All but those in which the end tag stands."""
    schema = {"properties": {"a": {"type": "string"}}}
    if STYLES[style].stop in text:
        with pytest.raises(ArgumentsError, match="would end it"):
            write_arguments({"a": text}, style, schema)
        return
    written = write_arguments({"a": text}, style, schema)
    assert read_arguments(written, style, schema) == {"a": text}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"]), max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize("style", STYLES)
@given(arguments=st.dictionaries(st.sampled_from(["a", "b c", 'x&"<']), JSON, max_size=3))
def test_what_can_be_written_is_read_as_itself(style: str, arguments: dict[str, Any]) -> None:
    try:
        written = write_arguments(arguments, style)
    except ArgumentsError:
        # Without a schema, some styles do not show what is a string; some names have no spelling; and a string may have
        # the end tag in it.
        assert style not in ("cohere_xml", "kimi_k3_xml") or STYLES[style].stop in json.dumps(arguments)
        return
    assert read_arguments(written, style) == arguments


def test_the_schema_decides_what_is_a_string() -> None:
    def read(text: str, schema: Any) -> Any:
        return read_arguments(f"<parameter=a>\n{text}\n</parameter>", "qwen_xml", {"properties": {"a": schema}})["a"]

    assert read("5", {"type": "string"}) == "5"
    assert read("5", {"type": ["string", "integer"]}) == 5
    assert read("five", {"type": ["string", "integer"]}) == "five"
    assert read("5", {"enum": ["5", True]}) == "5"  # no number is allowed
    assert read("true", {"enum": ["5", True]}) is True
    assert read("null", {"type": "string"}) == "null"
    assert read("null", {"anyOf": [{"type": "string"}, {"type": "null"}]}) is None
    assert read("[1]", {"type": ["string", "array"]}) == [1]
    assert read("[1", {"type": ["string", "array"]}) == "[1"
    assert read("NaN", True) == "NaN"
    assert read('"5"', True) == '"5"'  # a string is never JSON
    assert read(" 5 ", {"type": "number"}) == 5
    assert read(" 5 ", {"type": "string"}) == " 5 "
    assert read("\n5\n", {"type": "string"}) == "\n5\n"


def test_line_breaks_around_a_string() -> None:
    schema = {"properties": {"a": {"type": "string"}}}
    for text, value in (("x", "x"), ("\nx\n", "x"), ("\n\n", ""), ("", ""), ("\n\nx\n\n", "\nx\n"), ("\nx", "\nx")):
        assert read_arguments(f"<parameter=a>{text}</parameter>", "qwen_xml", schema) == {"a": value}


def test_an_escape_hides_what_would_end_a_value() -> None:
    written = write_arguments({"a": {"b": "</parameter>"}}, "qwen_xml")
    assert written == '<parameter=a>\n{"b": "\\u003c/parameter>"}\n</parameter>\n'
    assert read_arguments(written, "qwen_xml") == {"a": {"b": "</parameter>"}}


def test_names_with_entities() -> None:
    name = 'a&amp;"<'
    written = write_arguments({name: 1}, "cohere_xml")
    assert written == '<cofl:value name="a&amp;amp;&quot;&lt;" type="json">1</cofl:value>'
    assert read_arguments(written, "cohere_xml") == {name: 1}
    assert 'key="a&amp;amp;&quot;<"' in write_arguments({name: 1}, "kimi_k3_xml")


@pytest.mark.parametrize(
    ("text", "style", "message", "position"),
    [
        ("<parameter=a>1</parameter><parameter=a>2</parameter>", "qwen_xml", "written twice", 26),
        ("<parameter=a>1", "qwen_xml", "expected '</parameter>' after this place", 13),
        ("<parameter=a", "qwen_xml", "expected '>' after this place", 11),
        ("x", "glm_xml", "expected an argument, which begins with '<arg_key>'", 0),
        ("<arg_key>a</arg_key>1", "glm_xml", "expected '<arg_value>'", 20),
        ('<｜DSML｜parameter name="a">', "deepseek_xml", "expected ' string=\"true\">' or", 25),
        ('<｜DSML｜parameter name="a" string="false">x</｜DSML｜parameter>', "deepseek_xml", "expected JSON", 41),
        (f"{NS}<a>1{NS}</b>", "minimax_m3_xml", "expected ']<]minimax[>[</a>'", 17),
        ('<cofl:value name="a" type="dict">1</cofl:value>', "cohere_xml", "expected JSON", 33),
        ('<cofl:value name="a" type="json">-1e999</cofl:value>', "cohere_xml", "that a float can hold", 33),
        (f"<parameter=a>{'[' * 100_000}{']' * 100_000}</parameter>", "qwen_xml", "JSON that is nested less deeply", 13),
        ('<cofl:value name="a" type="dict">' * 10_000, "cohere_xml", "arguments that are nested less deeply", None),
    ],
)
def test_malformed_texts(text: str, style: str, message: str, position: int) -> None:
    with pytest.raises(ArgumentsError) as caught:
        read_arguments(text, style)
    assert message in str(caught.value)
    assert position in (None, caught.value.position)


@pytest.mark.parametrize(
    ("arguments", "style", "schema", "message"),
    [
        ({"a": "x</parameter>"}, "qwen_xml", {"properties": {"a": {"type": "string"}}}, "would end it"),
        ({"a": "5"}, "qwen_xml", True, "would be read as JSON"),
        ({"a": 5}, "qwen_xml", {"properties": {"a": {"type": "string"}}}, "allows no number"),
        ({"a>b": 5}, "minimax_xml", True, "name of '/a>b' cannot be written"),
        ({"a": {}}, "minimax_m3_xml", True, "would be read as the empty string"),
        ({"a": {"item": 1}}, "minimax_m3_xml", True, "would be read as an array"),
        ({"a": [float("inf")]}, "qwen_xml", True, "'/a' cannot be written as JSON: Out of range"),
        ({"a": "x\udc00"}, "cohere_xml", True, "'/a' has a lone surrogate"),
        ({"a": {1: 2}}, "cohere_xml", True, "name of '/a/1' cannot be written"),
    ],
)
def test_what_cannot_be_written(arguments: dict[str, Any], style: str, schema: Any, message: str) -> None:
    with pytest.raises(ArgumentsError, match=message):
        write_arguments(arguments, style, schema)


def test_unknown_styles() -> None:
    with pytest.raises(ValueError, match="style must be one of 'qwen_xml', "):
        read_arguments("", "xml")


def test_reading_needs_no_other_part_of_the_library() -> None:
    imported = set()
    for name in ("text", "views", "styles"):
        source = (ROOT / "grammar" / "arguments" / f"{name}.py").read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom):
                imported.add("." * node.level + (node.module or ""))
    assert imported == {"__future__", "typing", "collections.abc", "urllib.parse", ".styles", ".views"}
