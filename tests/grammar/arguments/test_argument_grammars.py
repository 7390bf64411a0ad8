"""Grammars of arguments in the styles with tags: which texts are in them.

The oracle of random schemas is `jsonschema` on what `read_arguments` reads, and for the masks the walk over the trie.
"""

from __future__ import annotations

import gc
import json
from collections import Counter
from decimal import Decimal
from random import Random
from typing import Any
from weakref import ref

import pytest

from earleymask import Grammar, GrammarError, Limits, Matcher, Vocabulary
from earleymask.grammar.arguments.embed import embed_arguments
from earleymask.grammar.arguments.text import ArgumentsError, read_arguments, write_arguments
from earleymask.grammar.json_schema.grammar import embed, options_text
from earleymask.grammar.json_schema.options import DEFAULT_OPTIONS
from earleymask.grammar.loading import loading
from earleymask.grammar.model.compile import compile_model
from earleymask.grammar.model.model import Model
from support import vocabularies
from support.arguments import (
    STYLES,
    VOCABULARY,
    Reporter,
    accepts,
    arguments_grammar,
    random_schema,
    tried,
    vocabulary_of,
    written,
)
from support.effort import effort
from support.mask_paths import agreed
from support.schema_instances import mutated, near

NS = "]<]minimax[>["
ANY_ORDER = DEFAULT_OPTIONS._replace(property_order="any")
COHERE_K = '<cofl:value name="k" type="raw">\n</cofl:value>'
SEED = 3


def closed(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False, **more}


def plainly(value: Any) -> Any:
    """Write integers without a fraction: the default options do."""
    if isinstance(value, float) and value == int(value):
        return int(value)
    if isinstance(value, dict):
        return {name: plainly(one) for name, one in value.items()}
    return [plainly(one) for one in value] if isinstance(value, list) else value


def exactly(value: Any) -> Any:
    return json.loads(json.dumps(value), parse_float=Decimal)


@pytest.mark.parametrize("style", STYLES)
def test_random_schemas(style: str) -> None:
    pytest.importorskip("jsonschema")
    from support.schema_oracle import Oracle

    counts: Counter[str] = Counter()
    for number in range(effort(36, 2000)):
        rng, schema = random_schema(SEED, number)
        oracle = Oracle(schema)
        where = f"{style}, schema {number}: {json.dumps(schema)}"
        try:
            grammar = arguments_grammar(schema, style, ANY_ORDER)
        except GrammarError as error:
            if "can be written" not in str(error) and "must allow objects" not in str(error):
                raise
            grammar = None
        for _ in range(12):
            data = plainly(near(rng, schema))
            data = mutated(rng, data) if rng.random() < 0.4 else data
            if not isinstance(data, dict):
                continue
            data = plainly(data)
            try:
                text = write_arguments(data, style, schema)
            except ArgumentsError:
                counts["unwritten"] += 1
                continue
            read = read_arguments(text, style, schema)
            assert json.dumps(read) == json.dumps(data), where
            is_valid = oracle.is_valid(exactly(data))
            counts[f"valid {is_valid}"] += 1
            assert (grammar is not None and accepts(grammar, text)) == is_valid, (where, text)
        if grammar is None:
            continue
        vocabulary = vocabulary_of(style, rng)
        text_of_masks = written(rng, grammar, vocabulary, 80)
        if text_of_masks is not None:
            counts["written by masks"] += 1
            read = read_arguments(text_of_masks, style, schema)
            assert oracle.is_valid(exactly(read)), (where, text_of_masks)
    # The test is not empty.
    assert counts["valid True"] > 50 and counts["valid False"] > 30 and counts["written by masks"] > 5, counts


@pytest.mark.parametrize("style", STYLES)
def test_required_arguments_and_their_order(style: str) -> None:
    schema = closed({"a": {"type": "string"}, "b": {"type": "integer"}, "c": True}, required=["b"])
    ordered, free = arguments_grammar(schema, style), arguments_grammar(schema, style, ANY_ORDER)

    def both(arguments: dict[str, Any]) -> tuple[bool, bool]:
        text = write_arguments(arguments, style, schema)
        return accepts(ordered, text), accepts(free, text)

    assert both({"b": 1}) == both({"a": "x", "b": 1}) == both({"a": "x", "b": 1, "c": 5}) == (True, True)
    assert both({"b": 1, "a": "x"}) == both({"c": 5, "b": 1}) == (False, True)
    assert both({"a": "x"}) == both({}) == (False, False)
    one = write_arguments({"b": 1}, style, schema)
    assert not accepts(ordered, one + one) and not accepts(free, one + one)


@pytest.mark.parametrize("style", STYLES)
def test_arguments_without_a_name_come_once(style: str) -> None:
    schema = {"type": "object", "additionalProperties": {"type": "integer"}, "properties": {"c": {"type": "null"}}}
    grammar = arguments_grammar(schema, style)
    a, b = (write_arguments({name: 1}, style, schema) for name in "ab")
    assert accepts(grammar, a) and accepts(grammar, a + b) and accepts(grammar, b + a)
    assert not accepts(grammar, a + a) and not accepts(grammar, a + b + a)
    assert accepts(grammar, write_arguments({"c": None, "a": 1}, style, schema))
    assert not accepts(grammar, a.replace("1", "x"))


@pytest.mark.parametrize("style", STYLES)
def test_no_arguments(style: str) -> None:
    none = arguments_grammar(closed({}), style, end="!")
    assert accepts(none, "!") and not accepts(none, "x!")
    assert accepts(arguments_grammar(closed({"a": True}), style), "")
    assert not accepts(arguments_grammar({"type": "object", "minProperties": 1}, style), "")
    # `True` and `{}` are schemas of objects, among others: the arguments are an object.
    for schema in (True, {}):
        grammar = arguments_grammar(schema, style)
        assert accepts(grammar, "") and accepts(grammar, write_arguments({"a": 1}, style))


@pytest.mark.parametrize("style", STYLES)
def test_conditions_among_arguments(style: str) -> None:
    schema = closed(
        {"a": {"type": "integer"}, "b": {"type": "integer"}, "c": {"type": "integer"}},
        dependentRequired={"a": ["b"]},
        maxProperties=2,
        **{"if": {"required": ["c"]}, "then": {"properties": {"b": {"const": 7}}}},
    )
    grammar = arguments_grammar(schema, style)
    for arguments, is_valid in (
        ({"a": 1}, False),
        ({"a": 1, "b": 1}, True),
        ({"b": 1}, True),
        ({"b": 1, "c": 1}, False),
        ({"b": 7, "c": 1}, True),
        ({"a": 1, "b": 7, "c": 1}, False),
        ({}, True),
    ):
        assert accepts(grammar, write_arguments(arguments, style, schema)) == is_valid, arguments


@pytest.mark.parametrize("style", STYLES)
def test_what_is_demanded_of_raw_strings(style: str) -> None:
    def allowed(schema: Any, *values: Any) -> list[Any]:
        whole = closed({"a": schema}, required=["a"])
        grammar = arguments_grammar(whole, style)
        return [value for value in values if accepts(grammar, write_arguments({"a": value}, style, whole))]

    assert allowed({"type": "string", "pattern": "^a+$"}, "", "a", "aa", "ab") == ["a", "aa"]
    assert allowed({"type": "string", "minLength": 2, "maxLength": 3}, "a", "é\n", "é\n ", "abcd") == ["é\n", "é\n "]
    assert allowed({"enum": ["x", "\n", "y y"]}, "x", "\n", "y", "y y") == ["x", "\n", "y y"]
    assert allowed({"type": "string", "format": "date"}, "2024-02-29", "2023-02-29") == ["2024-02-29"]
    assert allowed({"not": {"const": "x"}, "type": "string"}, "x", "y") == ["y"]
    assert allowed({"$ref": "#/properties/a/allOf/0", "allOf": [{"type": "string", "maxLength": 1}]}, "x", "xx") == [
        "x"
    ]


def test_strings_that_would_be_read_otherwise_are_not_written() -> None:
    def allowed(schema: Any, *texts: str) -> list[str]:
        grammar = arguments_grammar(closed({"a": schema}, required=["a"]), "minimax_xml")
        return [text for text in texts if accepts(grammar, f'<parameter name="a">{text}</parameter>')]

    # A number is at least 10, a string has at most two characters: "5" would be read as the number 5.
    either = {"anyOf": [{"type": "string", "maxLength": 2}, {"type": "number", "minimum": 10}]}
    assert allowed(either, "5", "12", "1e", "x", " 5", "100", "") == ["12", "1e", "x", "100", ""]
    assert allowed({"type": ["string", "null"], "enum": ["null", "x"]}, "null", "x") == ["null", "x"]
    # Reading does not follow `not`: it takes the text for null, which is not allowed.
    no_null = {"type": ["string", "null"], "not": {"type": "null"}}
    assert allowed(no_null, "null", "x", " null", "nulls") == ["x", "nulls"]
    assert allowed({"enum": ["5", "x"]}, "5", "x") == ["5", "x"]
    # No string that begins as an array and ends as one; what cannot be JSON is a string.
    lists = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}]}
    assert allowed(lists, "[1]", '["x"]', "[x", "x]", "[1] ") == ["[1]", "[x", "x]", "[1] "]
    # If only such strings are allowed, there are no arguments.
    with pytest.raises(GrammarError, match="no arguments that satisfy the schema can be written in style glm_xml"):
        arguments_grammar(closed({"a": {**no_null, "pattern": "^null$"}}, required=["a"]), "glm_xml")


@pytest.mark.parametrize(
    ("style", "text", "is_written"),
    [
        ("qwen_xml", "<parameter=a>x</parameter>", True),
        ("qwen_xml", "<parameter=a>\nx\n</parameter>", True),
        ("qwen_xml", "<parameter=a>\nx</parameter>", False),
        ("qwen_xml", "<parameter=a>\n</parameter>", False),
        ("qwen_xml", "<parameter=a>\n\n</parameter>", True),
        ("mimo_xml", "<parameter=a>x</parameter>", True),
        ("mimo_xml", "<parameter=a>\nx</parameter>", True),
        ("mimo_xml", "<parameter=n>\n5\n</parameter>\n", True),
        ("qwen_xml", " \n<parameter=a>x</parameter>\t \n", True),
        ("qwen_xml", "<parameter=a>x</parameter></parameter>", False),
        ("qwen_xml", "<parameter=a></paramete</parameter>", True),
        ("qwen_xml", "<parameter= a>x</parameter>", False),
        ("qwen_xml", "<parameter=n> \t5\n</parameter>", True),
        ("qwen_xml", "<parameter=n>5</parameter>" + " " * 64, True),
        ("qwen_xml", "<parameter=n>5</parameter>" + " " * 65, False),
        ("glm_xml", "<arg_key>n</arg_key><arg_value>5</arg_value>", True),
        ("glm_xml", "<arg_key>n</arg_key> \n <arg_value>5</arg_value>", True),
        ("deepseek_xml", '<｜DSML｜parameter name="a" string="false">"x"</｜DSML｜parameter>', False),
        ("deepseek_xml", '<｜DSML｜parameter name="n" string="true">5</｜DSML｜parameter>', False),
        ("kimi_k3_xml", '<|open|>argument key="n" type="integer"<|sep|>5<|close|>argument<|sep|>', False),
        ("cohere_xml", '<cofl:value name="o" type="json">{}</cofl:value>', False),
        ("cohere_xml", '<cofl:value name="o" type="dict"></cofl:value>', True),
        ("cohere_xml", f'<cofl:value name="o" type="dict">\n{COHERE_K}</cofl:value>', True),
        ("qwen_xml", '<parameter=o>{"k": "</parameter>"}</parameter>', False),
        ("qwen_xml", '<parameter=o>{"k": "\\u003c/parameter>"}</parameter>', True),
        ("minimax_m3_xml", f"{NS}<o>{NS}<k>x{NS}</k>{NS}</o>", True),
        ("minimax_m3_xml", f"{NS}<o>{NS}<k>x{NS}</o>{NS}</k>", False),
        ("minimax_m3_xml", f'{NS}<o>{{"k": "x"}}{NS}</o>', False),
    ],
)  # fmt: skip
def test_white_space_tags_and_kinds(style: str, text: str, is_written: bool) -> None:
    schema = closed(
        {
            "a": {"type": "string"},
            "n": {"type": "integer"},
            "o": {"type": "object", "properties": {"k": {"type": "string"}}},
        }
    )
    assert accepts(arguments_grammar(schema, style), text) == is_written
    if is_written:
        read_arguments(text, style, schema)


def test_bounded_white_space() -> None:
    schema = closed({"n": {"type": "integer"}, "m": {"type": "integer"}})
    few = arguments_grammar(schema, "minimax_xml", DEFAULT_OPTIONS._replace(whitespace="any", max_whitespace=2))
    none = arguments_grammar(schema, "minimax_xml", DEFAULT_OPTIONS._replace(whitespace="compact"))
    n, m = '<parameter name="n">{}</parameter>', '<parameter name="m">1</parameter>'
    assert accepts(few, f"  {n.format('  5  ')}  {m}  ") and not accepts(few, n.format("   5"))
    assert accepts(none, n.format(5)) and not accepts(none, n.format(" 5"))
    assert accepts(none, write_arguments({"n": 5, "m": 1}, "minimax_xml"))  # what the style itself puts between them


def test_excluded_texts() -> None:
    schema = closed({"a": {"type": "string"}, "o": {"type": "object"}, "zzz": True, "e": {"enum": ["<|", "y"]}})
    grammar = arguments_grammar(schema, "minimax_xml", excluded=("<|", "zz"))

    def allowed(arguments: dict[str, Any]) -> bool:
        return accepts(grammar, write_arguments(arguments, "minimax_xml", schema))

    assert allowed({"a": "< |z", "o": {"z": ["<"]}, "e": "y"})
    assert (
        not allowed({"zzz": 1}) and not allowed({"a": "<|"}) and not allowed({"a": "azzb"}) and not allowed({"e": "<|"})
    )
    assert not allowed({"o": {"k": "<|"}}) and not allowed({"o": {"zz": 1}}) and not allowed({"o": {"k": ["azz"]}})
    required = closed({"e": {"const": "zz"}}, required=["e"])
    with pytest.raises(GrammarError, match="no arguments that satisfy the schema"):
        arguments_grammar(required, "minimax_xml", excluded=("zz",))


def test_special_tokens_in_tags() -> None:
    names = ("<|open|>", "<|close|>", "<|sep|>")
    tokens = [bytes([one]) for one in range(256)]
    specials = {name: 257 + index for index, name in enumerate(names)}
    vocabulary = Vocabulary.from_tokens(
        [*tokens, b"", b"", b"", b""], eos_token_id=256, special_tokens=specials, special_token_ids=specials.values()
    )
    schema = closed({"a": {"type": "string"}, "n": {"type": "integer"}}, required=["a"])
    schema["additionalProperties"] = {"type": "null"}
    grammar = arguments_grammar(schema, "kimi_k3_xml", specials=frozenset(names))
    text = write_arguments({"a": "", "n": 5, "z": None}, "kimi_k3_xml", schema)
    ids: list[int] = []
    while text:
        name = next((name for name in names if text.startswith(name)), None)
        ids += [specials[name]] if name else list(text[0].encode())
        text = text[len(name or text[0]) :]
    matcher = Matcher(grammar, vocabulary)
    for token in ids:
        assert agreed(matcher)[token]
        assert matcher.accept(token)
    assert matcher.is_accepting()
    # Text that spells their names is in the grammar as well; strings have no special tokens in them.
    spelled = write_arguments({"a": "x"}, "kimi_k3_xml", schema)
    assert accepts(grammar, spelled, vocabulary)
    matcher = Matcher(grammar, vocabulary)
    assert all(matcher.accept(token) for token in spelled[: spelled.index("x") + 1].encode())
    assert [name for name in names if agreed(matcher)[specials[name]]] == ["<|close|>"]


@pytest.mark.parametrize(
    ("schema", "style", "message", "pointer"),
    [
        ({"type": "string"}, "qwen_xml", "the schema of the arguments must allow objects", ""),
        ({"type": "array"}, "cohere_xml", "the schema of the arguments must allow objects", ""),
        (closed({"x>y": True}), "qwen_xml", "the name 'x>y' cannot be written", "/properties/x>y"),
        (closed({"/~": True}), "minimax_m3_xml", "the name '/~' cannot be written", "/properties/~1~0"),
        (
            closed({"l": {"type": "array", "uniqueItems": True}}),
            "cohere_xml",
            "`uniqueItems`",
            "/properties/l/uniqueItems",
        ),
        (
            closed({"a": {"type": "object", "properties": {"<": True}}}),
            "minimax_m3_xml",
            "the name '<' cannot be written",
            "/properties/a/properties/<",
        ),
        (closed({"a": {"type": "strin"}}), "glm_xml", "", "/properties/a/type"),
        (closed({"a": {"$ref": "#/nowhere"}}), "glm_xml", "", "/properties/a/$ref"),
    ],
)
def test_refused_schemas(schema: Any, style: str, message: str, pointer: str) -> None:
    with pytest.raises(GrammarError) as caught:
        arguments_grammar(schema, style)
    assert message in str(caught.value)
    assert caught.value.pointer == pointer


def test_names_of_keywords_are_names() -> None:
    schema = closed({"uniqueItems": True, "properties": {"type": "string"}, "const": {"const": {"uniqueItems": True}}})
    grammar = arguments_grammar(schema, "cohere_xml")
    for arguments in ({"uniqueItems": 1}, {"properties": "x"}, {"const": {"uniqueItems": True}}):
        assert accepts(grammar, write_arguments(arguments, "cohere_xml"))


def test_unknown_style() -> None:
    with pytest.raises(ValueError, match=r"style must be one of 'qwen_xml', .* not 'json'"):
        arguments_grammar(True, "json")


def test_unique_items_within_json() -> None:
    schema = closed({"l": {"type": "array", "items": {"type": "string"}, "uniqueItems": True}})
    grammar = arguments_grammar(schema, "qwen_xml")
    assert accepts(grammar, write_arguments({"l": ["a", "b"]}, "qwen_xml"))
    assert not accepts(grammar, write_arguments({"l": ["a", "a"]}, "qwen_xml"))


@pytest.mark.parametrize("style", ["cohere_xml", "minimax_m3_xml"])
def test_nested_arrays_and_recursion(style: str) -> None:
    node = closed({"v": {"type": "integer"}, "next": {"$ref": "#/$defs/node"}}, required=["v"])
    inner = {"type": "array", "items": {"type": "string"}, "maxItems": 2}
    outer = {"type": "array", "items": inner, "contains": {"minItems": 1}}
    schema = closed({"n": {"$ref": "#/$defs/node"}, "l": outer}, **{"$defs": {"node": node}})
    grammar = arguments_grammar(schema, style)
    for arguments, is_valid in (
        ({"n": {"v": 1, "next": {"v": 2, "next": {"v": 3}}}}, True),
        ({"n": {"v": 1, "next": {"next": {"v": 3}}}}, False),
        ({"l": [["a", ""], [], ["b"]]}, True),
        ({"l": [[], []]}, False),
        ({"l": [["a", "b", "c"]]}, False),
    ):
        assert accepts(grammar, write_arguments(arguments, style, schema)) == is_valid, arguments


def test_arrays_and_objects_that_only_their_tags_tell_apart() -> None:
    either = {
        "type": ["array", "object", "string"],
        "items": {"type": "null"},
        "additionalProperties": {"type": "null"},
    }
    schema = closed({"a": either})
    grammar = arguments_grammar(schema, "minimax_m3_xml")

    def argument(inner: str) -> str:
        return f"{NS}<a>{inner}{NS}</a>"

    for inner, value in (
        (f"{NS}<item>null{NS}</item>", [None]),
        (f"{NS}<b>null{NS}</b>", {"b": None}),
        ("", ""),
        ("[]", "[]"),
    ):
        assert accepts(grammar, argument(inner)), inner
        assert read_arguments(argument(inner), "minimax_m3_xml", schema) == {"a": value}
    assert not accepts(grammar, argument(f"{NS}<b>null{NS}</b>{NS}<item>null{NS}</item>"))
    assert not accepts(grammar, argument(f"{NS}<item>null{NS}</item>{NS}<b>null{NS}</b>"))


@pytest.mark.parametrize("style", STYLES)
def test_many_arguments(style: str) -> None:
    names = [f"p{number}" for number in range(100)]
    schema = closed({name: {"type": "integer"} for name in names}, required=names[::20])
    for options in (DEFAULT_OPTIONS, ANY_ORDER):
        grammar = arguments_grammar(schema, style, options, limits=Limits())
        assert accepts(grammar, write_arguments(dict.fromkeys(names[::20], 1), style, schema))
        assert accepts(grammar, write_arguments(dict.fromkeys(names[::10], 1), style, schema))
        assert not accepts(grammar, write_arguments(dict.fromkeys(names[::40], 1), style, schema))
    backwards = write_arguments(dict.fromkeys(names[::-20], 1) | dict.fromkeys(names[::20], 1), style, schema)
    assert accepts(grammar, backwards)


@pytest.mark.parametrize("style", STYLES)
def test_masks_of_a_real_vocabulary(style: str) -> None:
    vocabulary = vocabularies.load("llama3")
    encode = vocabularies.load_encoder("llama3").encode
    properties = {"city": {"type": "string"}, "n": {"type": ["string", "number"]}, "o": {"type": "object"}}
    others = {"type": ["string", "null"], "maxLength": 20}
    schema = {"type": "object", "properties": properties, "required": ["city"], "additionalProperties": others}
    grammar = arguments_grammar(schema, style)
    arguments = {"city": "Paris,\n<b>France</b>", "n": -1.5, "o": {"k": ["v"]}, "more": "x", "most": None}
    matcher = Matcher(grammar, vocabulary)
    for token in encode(write_arguments(arguments, style, schema)):
        assert agreed(matcher)[token]
        assert matcher.accept(token)
    assert matcher.is_accepting()
    assert matcher.stats()["masks_walked"] == 0  # else the walk was compared with itself
    # A name that has been written does not come again, in whatever tokens it is written.
    again = encode(write_arguments({"more": "x"}, style, schema))
    assert not all(agreed(matcher)[token] and matcher.accept(token) for token in again)


def test_two_schemas_in_one_grammar() -> None:
    """Doubtful tokens are described for a whole engine: those of JSON and of tags must both be there."""
    pattern = {"type": "object", "additionalProperties": {"type": "integer"}}
    options = options_text(DEFAULT_OPTIONS, {})
    tokens = [
        b'{"a":1,"a',
        b'":1,"a":',
        b'a":1,"',
        b"<parameter=a>1</parameter><parameter=a>",
        b"a>1</parameter><parameter=a>",
    ]
    vocabulary = Vocabulary.from_tokens([*[bytes([one]) for one in range(256)], b"", *tokens], eos_token_id=256)
    for json_first in (True, False):
        with loading(Limits.trusted()):
            model = Model(Reporter(), Limits.trusted())
            start = model.rule("start", None)
            parts = [
                model.made("json", lambda engine: embed(pattern, options, engine, Limits.trusted()), None),
                embed_arguments(pattern, "qwen_xml", DEFAULT_OPTIONS, model, None),
            ]
            model.produce(start, tuple(parts if json_first else parts[::-1]))
            grammar = Grammar._make("gbnf", "", "start", compile_model(model, start), ())
        for number in range(effort(6, 200)):
            rng = Random(f"two {number}")
            matcher = Matcher(grammar, vocabulary)
            for _ in range(40):
                mask = tried(matcher)
                allowed = [token for token in range(vocabulary.size) if mask[token] and token != 256]
                long = [token for token in allowed if token > 256 or token in b'{"a:1<>=/parmte,}']
                if not allowed or not matcher.accept(rng.choice(long or allowed)):
                    break


def test_grammars_are_freed() -> None:
    gc.collect()
    gc.disable()
    try:
        for style in ("qwen_xml", "cohere_xml"):
            grammar = arguments_grammar(random_schema(SEED, 1)[1], style, ANY_ORDER)
            assert accepts(grammar, "") in (True, False)
            engine = ref(grammar.engine)
            del grammar
            assert engine() is None
    finally:
        gc.enable()


def test_closed_arguments() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    text = write_arguments({"a": 1, "b": 2}, "qwen_xml")
    assert accepts(arguments_grammar(schema, "qwen_xml"), text)
    assert not accepts(arguments_grammar(schema, "qwen_xml", DEFAULT_OPTIONS._replace(closed=True)), text)


def test_explanations_name_tags_and_strings() -> None:
    schema = closed({"city": {"type": "string", "maxLength": 3}, "n": {"type": "integer"}}, required=["city"])
    matcher = Matcher(arguments_grammar(schema, "qwen_xml"), VOCABULARY)
    told = str(matcher.explain(b"<parameter=city>\nabcd"))
    assert "allowed there: a line feed" in told and "members > value > string" in told
    assert all(matcher.accept(token) for token in b"<parameter=city>\nabc\n</parameter>\n")
    assert "<parameter=n>" in matcher.expected()
