"""A schema of strings in a style that is not JSON: the raw string alone, as SGLang writes it for Kimi K3."""

from __future__ import annotations

from itertools import product
from typing import Any

import jsonschema
import pytest

from earleymask import Grammar, GrammarError, Matcher, Vocabulary
from earleymask.grammar.arguments.styles import STYLES
from support.mask_paths import agreed
from support.sentences import accepts

STRING: dict[str, Any] = {"type": "string"}
CLOSE = "<|close|>argument<|sep|>"


def string(schema: Any, style: str = "qwen_xml", **more: Any) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": schema, "style": style, **more}


def tag(content: Any, end: Any) -> dict[str, Any]:
    return {"type": "tag", "begin": ">", "content": content, "end": end}


def made(format: Any, vocabulary: Vocabulary | None = None) -> Grammar:
    return Grammar.from_structural_tag({"format": format}, vocabulary)


SCHEMAS: list[Any] = [
    STRING,
    {**STRING, "maxLength": 2},
    {**STRING, "minLength": 1},
    {**STRING, "pattern": "^[ab]{2}"},
    {**STRING, "not": {"pattern": "bb"}},
    {"enum": ["", "a", "ab", "b\n", "ba"]},
    {"allOf": [STRING, {"minLength": 2}], "maxLength": 3},
    {"$ref": "#/$defs/s", "$defs": {"s": {"type": ["string", "null"]}}, "not": {"type": "null"}},
    {"anyOf": [{"const": "b"}, {**STRING, "minLength": 4}]},
]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_the_text_is_the_string_itself(schema: Any) -> None:
    grammar = made(string(schema))
    validator = jsonschema.Draft202012Validator(schema)
    for n in range(6):
        for letters in product("ab\n", repeat=n):
            text = "".join(letters)
            assert accepts(grammar, text) == validator.is_valid(text), text


@pytest.mark.parametrize("style", STYLES)
def test_what_ends_a_value_of_the_style_is_in_no_string(style: str) -> None:
    stop = STYLES[style].stop
    for schema in (STRING, {**STRING, "minLength": 2}, {"enum": ["a", stop, f"a{stop}b", stop[:-1]]}):
        grammar = made(string(schema, style))
        texts = ("a", stop[:-1], stop, f"a{stop}b")
        validator = jsonschema.Draft202012Validator(schema)
        assert [accepts(grammar, text) for text in texts] == [
            validator.is_valid(text) and stop not in text for text in texts
        ]


ENDS = [
    *(["ba"], ["aba"], ["aa"], ["abab"], ["ab", "bba"], ["aab", "ba", "b-"], ["--", "-a"]),
    # An end within another one: that is never the first.
    *(["a", "ab"], ["ab", "-aba"], ["b-", "ab-a"], ["-", "a-", "a-b"], ["-b-b", "b", "a"]),
]


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("schema", [STRING, {**STRING, "maxLength": 3}, {"enum": ["", "a", "ab", "bab", "-", "b"]}])
def test_a_tag_ends_at_the_first_end(schema: Any, ends: list[str]) -> None:
    grammar = made(tag(string(schema), ends))
    free = made(tag({"type": "any_text"}, ends)) if schema == STRING else None
    validator = jsonschema.Draft202012Validator(schema)
    for n in range(7):
        for letters in product("ab-", repeat=n):
            text = "".join(letters)
            # Where an end is complete for the first time.
            first = min([text.find(end) + len(end) for end in ends if end in text], default=0)
            strings = [text[: -len(end)] for end in ends if text.endswith(end) and first == len(text)]
            expected = any([validator.is_valid(each) for each in strings])
            assert accepts(grammar, f">{text}") == expected, text
            if free is not None:
                assert accepts(free, f">{text}") == expected, text


@pytest.mark.parametrize(("ends", "texts"), [(["ab", "b-"], ["aab"]), (["-a", "a-"], ["aa-"]), (["aa", "b"], ["ab"])])
def test_an_end_that_no_string_may_stand_before(ends: list[str], texts: list[str]) -> None:
    grammar = made(tag(string({"enum": ["a"]}), ends))
    found = ["".join(letters) for n in range(5) for letters in product("ab-", repeat=n)]
    assert [text for text in found if accepts(grammar, f">{text}")] == texts


@pytest.mark.parametrize("end", ["\n</tool_call>\n", ["aa", "ab"], "x", {"type": "token", "token": 3}])
@pytest.mark.parametrize("schema", [STRING, {"type": "object", "properties": {"a": STRING}}])
def test_a_schema_is_loaded_once_for_all_ends(schema: Any, end: Any) -> None:
    grammar = made(tag(string({**schema, "examples": ["a"]}), end))
    assert [row.pointer for row in grammar.report].count("/format/content/json_schema/type") == 1


def test_an_end_that_the_string_cannot_run_into() -> None:
    content = {"type": "sequence", "elements": [{"type": "const_string", "value": "x="}, string(STRING)]}
    either = {"type": "or", "elements": [content, {"type": "const_string", "value": "none"}]}
    grammar = made(tag({"type": "optional", "content": either}, CLOSE))
    for text in ("", "none", "x=", "x=a", "x=<|close|>", "x=<|close|>argument"):
        assert accepts(grammar, f">{text}{CLOSE}"), text
    assert not accepts(grammar, f">x=a{CLOSE}b{CLOSE}")


@pytest.mark.parametrize("schema", [STRING, {**STRING, "maxLength": 4}])
def test_the_tokens_of_the_end_are_no_part_of_the_string(schema: Any) -> None:
    names = {"<|close|>": 257, "<|sep|>": 258}
    tokens = [*[bytes([byte]) for byte in range(256)], b"", b"", b"", b"<|", b"argument"]
    vocabulary = Vocabulary.from_tokens(tokens, eos_token_id=256, special_tokens=names)
    matcher = Matcher(made(tag(string(schema), CLOSE), vocabulary), vocabulary)
    for token in (*b">ab", 257, 260, 258):
        mask = agreed(matcher)
        assert mask[token] and not mask[256]
        assert not mask[258] or token == 258
        assert matcher.accept(token)
    assert agreed(matcher).nonzero()[0].tolist() == [256]


def test_excludes_hold_for_the_string() -> None:
    grammar = made(string(STRING, excludes=["ab"]))
    assert [accepts(grammar, text) for text in ("ba", "ab", "aab")] == [True, False, False]


def test_the_older_format_of_one_style_is_read_in_the_same_way() -> None:
    grammar = made(tag({"type": "qwen_xml_parameter", "json_schema": STRING}, "aa"))
    assert [accepts(grammar, text) for text in (">aa", ">baa", ">aaa")] == [True, True, False]


MUST = "the schema of the arguments must allow objects, or strings and nothing else"
WRITE = 'write "type": "object" or "type": "string" at the top of the schema'
NONE = "no string that satisfies the schema can be written in style qwen_xml"
IN_IT = "what is written has neither '</parameter>' nor an end of the tag around it in it"


@pytest.mark.parametrize(
    ("schema", "message", "hint"),
    [
        ({"type": ["string", "integer"]}, MUST, WRITE),
        ({"type": "array"}, MUST, WRITE),
        ({**STRING, "minLength": 2, "maxLength": 1}, MUST, "no value satisfies it"),
        ({"enum": ["</parameter>"]}, NONE, IN_IT),
        ({"enum": ["x", "ax"]}, NONE, IN_IT),
    ],
)
def test_what_is_refused(schema: Any, message: str, hint: str) -> None:
    with pytest.raises(GrammarError, match=message) as caught:
        made(tag(string(schema), "x"))
    assert caught.value.pointer == "/format/content/json_schema"
    assert caught.value.hint == hint
