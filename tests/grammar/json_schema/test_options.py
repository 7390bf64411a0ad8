"""White space as RFC 8259 has it, an exact indent, closed objects, drafts, and any JSON value."""

import json
import pickle
import random
from typing import Any

import pytest

from earleymask import Grammar, Matcher
from support.schema_grammars import BYTES, DOCUMENTS, EOS, accepts
from support.schema_oracle import Oracle

VALUES: list[Any] = [
    1,
    "",
    [],
    {},
    [1],
    [[], {}],
    [1, [2, {}]],
    {"a": 1},
    {"a": {"b": [1, {"c": []}]}, "d": [[[]]], "e": "x"},
]


def spaced(value: Any, rng: random.Random, most: int) -> str:
    """Return a JSON text of a value with random white space wherever it may stand."""

    def space() -> str:
        return "".join(rng.choices(" \t\n\r", k=rng.randint(0, most)))

    def text(one: Any) -> str:
        if isinstance(one, dict):
            members = [f"{json.dumps(name)}{space()}:{space()}{text(member)}" for name, member in one.items()]
        elif isinstance(one, list):
            members = [text(item) for item in one]
        else:
            return json.dumps(one)
        begin, end = "{}" if isinstance(one, dict) else "[]"
        if not members:
            return begin + space() + end
        return begin + space() + f"{space()},{space()}".join(members) + space() + end

    return space() + text(value) + space()


@pytest.mark.parametrize("value", VALUES, ids=json.dumps)
def test_white_space_of_any_kind(value: Any) -> None:
    rng = random.Random(3)
    grammar = Grammar.json(whitespace="any", max_whitespace=3)
    schema = Grammar.from_json_schema({"const": value}, whitespace="any", max_whitespace=3)
    for _ in range(40):
        text = spaced(value, rng, 3)
        assert json.loads(text) == value
        assert accepts(grammar, text), text
        assert accepts(schema, text), text
    for text in (" " * 4 + json.dumps(value), json.dumps(value) + "\n" * 4):
        assert not accepts(grammar, text)
    assert not accepts(Grammar.json(), " " + json.dumps(value))
    none = Grammar.json(whitespace="any", max_whitespace=0)
    assert accepts(none, json.dumps(value, separators=(",", ":")))
    assert not accepts(none, json.dumps(value) + " ")


def test_white_space_is_bounded_at_each_place() -> None:
    grammar = Grammar.json(whitespace="any", max_whitespace=2)
    for text in ("[  1  ,  2  ]", '{  "a"  :  1  }', "[  ]", "  1  "):
        assert accepts(grammar, text)
        for at, char in enumerate(text):
            if char == " ":
                assert not accepts(grammar, text[:at] + " " + text[at:]), (text, at)


INDENTS: list[int | str | None] = [None, 0, 1, 2, 4, 7, "", "\t", "\t ", "  "]


@pytest.mark.parametrize("indent", INDENTS[1:])
def test_an_exact_indent_is_that_of_json_dumps(indent: int | str) -> None:
    grammar = Grammar.json(indent=indent)
    separated = Grammar.json(indent=indent, separators=(" ,", ":"))
    for value in VALUES:
        expected = json.dumps(value, indent=indent)
        for other in INDENTS:
            text = json.dumps(value, indent=other)
            assert accepts(grammar, text) == (text == expected), (indent, other, text)
        text = json.dumps(value, indent=indent, separators=(" ,", ":"))
        assert accepts(separated, text)
        assert accepts(grammar, text) == (text == expected)


def test_an_exact_indent_within_schemas() -> None:
    tree = {
        "type": "object",
        "properties": {"kids": {"type": "array", "items": {"$ref": "#"}}, "v": {"type": "integer"}},
        "required": ["v"],
        "additionalProperties": {"type": "null"},
    }
    value = {"kids": [{"v": 1}, {"kids": [], "v": 2, "x": None}], "v": 3}
    for order in ("schema", "any"):
        grammar = Grammar.from_json_schema(tree, indent=2, property_order=order)
        assert accepts(grammar, json.dumps(value, indent=2))
        assert not accepts(grammar, json.dumps(value, indent=3))
    unique = {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}
    assert accepts(Grammar.from_json_schema(unique, indent=4), json.dumps([1, 2], indent=4))
    # What cannot be finished at any depth is refused, and the parser is led along one line break at a time.
    with pytest.raises(ValueError, match="no document satisfies"):
        Grammar.from_json_schema({"type": "object", "properties": {"k": {"$ref": "#"}}, "required": ["k"]}, indent=1)
    matcher = Matcher(Grammar.from_json_schema({"const": {"a": [1]}}, indent=2, spellings="plain"), BYTES)
    assert matcher.forced_bytes() == json.dumps({"a": [1]}, indent=2).encode()


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


def test_beyond_the_longest_indent_white_space_is_flexible() -> None:
    grammar = Grammar.json(indent=2, max_indent=6)
    for depth in (1, 2, 3):
        assert accepts(grammar, json.dumps(nested(depth), indent=2))
    deep = json.dumps(nested(3), indent=2)
    inner = deep.index("[]")
    for inside in ("[1]", "[ 1 ]", "[\n1\n]", "[\n      1\n   ]", json.dumps(nested(90))):
        assert accepts(grammar, deep[:inner] + inside + deep[inner + 2 :]), inside
    assert not accepts(grammar, deep[:inner] + "[\n       1]" + deep[inner + 2 :])
    flat = Grammar.json(indent=0)
    assert accepts(flat, json.dumps(nested(60), indent=0))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"indent": True}, TypeError, "indent must be an int, a str or None, not bool"),
        ({"indent": -1}, ValueError, "indent must be from 0 to 1000, not -1"),
        ({"indent": " x"}, ValueError, "indent must have blanks and tabs only"),
        ({"indent": 2, "whitespace": "compact"}, ValueError, "indent says which white space is written"),
        ({"whitespace": "any", "separators": (",", ":")}, ValueError, "give one of them"),
        ({"max_whitespace": 1001}, ValueError, "max_whitespace must be from 0 to 1000"),
        ({"draft": "5"}, ValueError, "draft must be one of '4', '6', '7', '2019-09', '2020-12', not '5'"),
        ({"draft": 7}, ValueError, "draft must be one of"),
        ({"closed": 1}, TypeError, "closed must be a bool, not int"),
    ],
)
def test_wrong_options(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Grammar.json(**options)


def test_the_draft_of_a_schema_that_does_not_name_one() -> None:
    schema = {"items": [{"type": "null"}], "additionalItems": False}
    assert not accepts(Grammar.from_json_schema(schema, draft="7"), "[null, 1]")
    with pytest.raises(ValueError, match="items"):
        Grammar.from_json_schema(schema)
    bound = {"type": "integer", "minimum": 3, "exclusiveMinimum": True}
    grammar = Grammar.from_json_schema(bound, draft="4")
    assert [text for text in ("3", "4", "5.0") if accepts(grammar, text)] == ["4"]
    assert pickle.loads(pickle.dumps(grammar)) == grammar
    assert {row.pointer for row in grammar.report if row.pointer} == {"/type", "/minimum", "/exclusiveMinimum"}
    named = {"$schema": "https://json-schema.org/draft/2020-12/schema", "prefixItems": [False]}
    assert not accepts(Grammar.from_json_schema(named, draft="4"), "[1]")


def test_any_json_value() -> None:
    every, objects = Grammar.json(), Grammar.json(object=True)
    for text in DOCUMENTS:
        assert accepts(every, text)
        assert accepts(objects, text) == text.startswith("{")
    assert Grammar.json(spellings="all", whitespace="compact") == Grammar.from_json_schema(
        True, spellings="all", whitespace="compact"
    )


NOTHING_ELSE: dict[str, Any] = {"unevaluatedProperties": False, "unevaluatedItems": False}


@pytest.mark.parametrize(
    ("schema", "explicit"),
    [
        ({"type": "object"}, {"type": "object", "maxProperties": 0}),
        ({"type": "array"}, {"type": "array", "maxItems": 0}),
        (True, True),
        ({"title": "anything"}, True),
        ({"properties": {"a": {}}}, {"properties": {"a": {}}, **NOTHING_ELSE}),
        ({"properties": {"a": {}}, "additionalProperties": True}, {"unevaluatedItems": False}),
        (
            {"patternProperties": {"^a": {"type": "integer"}}},
            {"patternProperties": {"^a": {"type": "integer"}}, **NOTHING_ELSE},
        ),
        ({"required": ["a"]}, {"required": ["a"], "properties": {"a": True}, **NOTHING_ELSE}),
        ({"prefixItems": [{}, {}]}, {"prefixItems": [{}, {}], **NOTHING_ELSE}),
        ({"items": {"type": "integer"}}, {"items": {"type": "integer"}, **NOTHING_ELSE}),
        ({"contains": {"const": 1}}, {"contains": {"const": 1}, **NOTHING_ELSE}),
        (
            {"properties": {"a": {"properties": {"b": {}}}}, "additionalProperties": {"type": "array"}},
            {
                "properties": {"a": {"properties": {"b": {}}, **NOTHING_ELSE}},
                "additionalProperties": {"type": "array", "maxItems": 0},
                "unevaluatedItems": False,
            },
        ),
        (
            {"allOf": [{"properties": {"a": {}}}, {"$ref": "#/$defs/b"}], "$defs": {"b": {"properties": {"b": {}}}}},
            {"properties": {"a": {}, "b": {}}, **NOTHING_ELSE},
        ),
        (
            {"anyOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}, "required": ["b"]}, {"type": "null"}]},
            {
                "anyOf": [
                    {"properties": {"a": {}}, **NOTHING_ELSE},
                    {"properties": {"b": {}}, "required": ["b"], **NOTHING_ELSE},
                    {"type": "null"},
                ]
            },
        ),
        (
            {"if": {"required": ["a"]}, "then": {"properties": {"b": {}}}, "else": {"properties": {"c": {}}}},
            {
                "anyOf": [
                    {"required": ["a"], "properties": {"a": {}, "b": {}}, **NOTHING_ELSE},
                    {"not": {"required": ["a"]}, "properties": {"c": {}}, **NOTHING_ELSE},
                ]
            },
        ),
        # Constants, and what negations say, stay as they are.
        ({"enum": [{"a": 1}, [1], 2]}, {"enum": [{"a": 1}, [1], 2]}),
        ({"not": {"properties": {"a": {"type": "object"}}}, "additionalProperties": True},
         {"not": {"properties": {"a": {"type": "object"}}}, "unevaluatedItems": False}),
        ({"properties": {"a": {"const": {"a": 1}}}}, {"properties": {"a": {"const": {"a": 1}}}, **NOTHING_ELSE}),
    ],
)  # fmt: skip
def test_closed_schemas_write_only_what_they_speak_of(schema: Any, explicit: Any) -> None:
    oracle = Oracle(explicit)
    grammar = Grammar.from_json_schema(schema, closed=True, property_order="any")
    assert [text for text in DOCUMENTS if accepts(grammar, text)] == [
        text for text in DOCUMENTS if oracle.accepts(text)
    ]
    opened = Oracle(schema)
    assert all(opened.accepts(text) for text in DOCUMENTS if accepts(grammar, text))
    assert any("closed=True" in row.why for row in grammar.report)


def test_items_of_closed_schemas_differ() -> None:
    items: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}}
    for rest in ({}, {"additionalProperties": False}):
        unique = {"type": "array", "items": items | rest, "uniqueItems": True, "minItems": 3}
        grammar = Grammar.from_json_schema(unique, closed=True, whitespace="compact")
        assert accepts(grammar, '[{"a":1},{},{"a":2}]')
        for text in ('[{"a":1},{},{"a":1}]', '[{"a":1},{}]', '[{"a":1},{},{"a":2,"b":1}]'):
            assert not accepts(grammar, text)
    strings = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
    assert not accepts(Grammar.from_json_schema(strings, closed=True), '["a", "a"]')
    # What is closed may be too little.
    for few in ({"items": {"type": "object"}}, {"prefixItems": [{"type": "object"}, {"type": "object"}]}):
        schema = {"type": "array", "uniqueItems": True, "minItems": 2, **few}
        Grammar.from_json_schema(schema)
        with pytest.raises(ValueError, match="with closed=True there may be too few items that differ"):
            Grammar.from_json_schema(schema, closed=True)


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"not": {"properties": {"a": {"type": "string"}}}}, '{"a": 1, "b": [2]}'),
        ({"not": {"type": "string"}, "title": "t"}, '[{"a": 1}]'),
        ({"properties": {"a": {"not": {"type": "null"}}}}, '{"a": {"b": 1}}'),
        ({"allOf": [{"properties": {"a": {"title": "t"}}}, {"properties": {"a": {}}}]}, '{"a": {"b": 1}}'),
    ],
)
def test_what_says_nothing_of_members_and_items_stays_open(schema: Any, text: str) -> None:
    grammar = Grammar.from_json_schema(schema, closed=True)
    assert Oracle(schema).accepts(text) and accepts(grammar, text)


def test_closed_schemas_have_no_dead_end() -> None:
    for schema in ({"type": "object", "minProperties": 1}, {"type": "array", "minItems": 2}):
        with pytest.raises(ValueError, match="no document that satisfies the schema is written: closed=True"):
            Grammar.from_json_schema(schema, closed=True)
        inside = Grammar.from_json_schema({"properties": {"a": schema, "b": {}}, "type": "object"}, closed=True)
        matcher = Matcher(inside, BYTES)
        assert matcher.validate(b'{"a') == 2
    node = {"properties": {"next": {"$ref": "#"}, "v": {"type": "integer"}}, "type": "object"}
    assert accepts(Grammar.from_json_schema(node, closed=True), '{"next": {"next": {"v": 1}, "v": 2}}')
    assert not accepts(Grammar.from_json_schema(node, closed=True), '{"next": {"w": 1}}')
    # A walk ends for every choice that the masks allow.
    schema = {"type": "object", "properties": {"a": {"type": "array", "minItems": 1, "contains": {"type": "null"}}}}
    grammar = Grammar.from_json_schema(schema, closed=True, whitespace="compact")
    rng = random.Random(5)
    for _ in range(30):
        matcher = Matcher(grammar, BYTES)
        n = 0
        while not matcher.is_finished() and n < 200:
            allowed = matcher.mask().nonzero()[0]
            assert len(allowed)
            matcher.accept(EOS if EOS in allowed else int(rng.choice(allowed)))
            n += 1


def test_valid_options_do_not_make_equal_ones_of_other_types_valid() -> None:
    Grammar.from_json_schema({}, strict=True, max_indent=1)
    with pytest.raises(TypeError, match="strict must be a bool, not int"):
        Grammar.from_json_schema({}, strict=1, max_indent=1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="max_indent must be an int, not bool"):
        Grammar.from_json_schema({}, strict=True, max_indent=True)
    with pytest.raises(ValueError, match="draft must be one of"):
        Grammar.from_json_schema({}, draft=["7"])  # type: ignore[arg-type]
