"""The work for a schema is bounded, and so is what is kept of it."""

from __future__ import annotations

import gc
import json
import random
import weakref
from contextlib import suppress
from time import thread_time
from typing import Any

import pytest

pytest.importorskip("regress")
pytest.importorskip("jsonschema")

import earleymask
from earleymask import Grammar, LimitError, Limits, Matcher, Vocabulary
from earleymask.grammar.json_schema.shapes import ObjectShape
from support.schema_grammars import BYTES, accepts


def test_combinations_of_strings_are_bounded() -> None:
    """Each combination contains the one before it twice, so the last one is far larger than the schema."""
    definitions = {f"d{i}": {"oneOf": [{"$ref": f"#/$defs/d{i + 1}"}, {"minLength": i}]} for i in range(60)}
    for i in range(60):
        definitions[f"d{i}"]["oneOf"][1]["not"] = {"$ref": f"#/$defs/d{i + 1}"}
    with pytest.raises(earleymask.LimitError, match="sets of strings"):
        Grammar.from_json_schema({"$ref": "#/$defs/d0", "$defs": {**definitions, "d60": {"type": "null"}}})


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
@pytest.mark.parametrize("name", ["", "v"])
def test_enumerations_by_constants_are_quick(keyword: str, name: str) -> None:
    values: list[Any] = [f"{name}{i}" if name else i for i in range(3000)]
    begin = thread_time()
    grammar = Grammar.from_json_schema({keyword: [*[{"const": value} for value in values], {"const": values[7]}]})
    assert thread_time() - begin < 5
    for value, is_one in [(values[0], True), (values[7], keyword == "anyOf"), (values[2999], True), ("w", False)]:
        assert accepts(grammar, json.dumps(value)) == is_one, value


def test_oneof_of_many_objects_that_are_told_apart_is_no_work() -> None:
    """The constants or the types decide, so there are no cases to compute."""
    parts = [{"properties": {"kind": {"const": f"k{i}"}, "v": {"properties": {f"p{i}": True}}}} for i in range(100)]
    for schema in [
        {"oneOf": [{"allOf": [one, {"required": ["kind"]}]} for one in parts]},
        {
            "type": "object",
            "required": ["kind"],
            "allOf": [{"oneOf": parts}, {"properties": {"v": {"type": "object"}}}],
        },
        {"oneOf": [{"properties": {"kind": {"pattern": f"^k{i}$"}}, "required": ["kind"]} for i in range(100)]},
    ]:
        begin = thread_time()
        grammar = Grammar.from_json_schema(schema)
        assert thread_time() - begin < 2
        for text, is_one in [('{"kind": "k7"}', True), ('{"v": 1}', False), ('{"kind": "l"}', False), ("1", False)]:
            assert accepts(grammar, text) == is_one, text


class Name(str):
    """A name that counts how often it is hashed."""

    __slots__ = ()
    n_hashed = 0

    def __hash__(self) -> int:
        Name.n_hashed += 1
        return super().__hash__()


def test_a_shape_of_an_object_is_hashed_once() -> None:
    """A shape that holds others is looked up again and again: to hash all of their names each time took 100 ms."""
    inner = ObjectShape(((Name("a"), 2),))
    outer = ObjectShape(clauses=((inner, ObjectShape(most=1)),))
    found = {outer: 1, (outer, outer): 2}
    assert Name.n_hashed == 1
    assert found[ObjectShape(clauses=((ObjectShape((("a", 2),)), ObjectShape(most=1)),))] == 1
    more = outer._replace(least=1)
    assert type(more) is ObjectShape and more not in found
    assert hash(more) == hash(ObjectShape(least=1, clauses=outer.clauses)) != hash(outer)


def test_many_names_that_demand_others_are_loaded_where_all_members_must_be_evaluated() -> None:
    """This took more than 10 s, nearly all of it to hash shapes."""
    needed = {f"n{i}": [f"n{17 * i % 108}"] for i in range(108)}
    grammar = Grammar.from_json_schema(
        {"type": "object", "dependentRequired": needed}, closed=True, limits=Limits(load_seconds=5)
    )
    assert accepts(grammar, "{}")
    assert not accepts(grammar, '{"n1": 1}')


def test_many_items_that_differ_are_no_work() -> None:
    items = {"type": "integer", "minimum": 1, "maximum": 256}
    grammar = Grammar.from_json_schema({"type": "array", "minItems": 200, "uniqueItems": True, "items": items})
    for n, repeated in ((199, 0), (200, 0), (256, 0), (200, 7)):
        text = json.dumps([*range(1, n + 1), *([repeated] if repeated else [])])
        assert accepts(grammar, text) == (n >= 200 and not repeated)
    left = {"type": "array", "minItems": 200, "uniqueItems": True, "items": items}
    trusted = Limits.trusted()  # a call reads the whole text
    matcher = Matcher(Grammar.from_json_schema(left, number_plain=True, limits=trusted), BYTES)
    text = json.dumps(list(range(2, 257)))[:-1] + ", "
    assert matcher.validate(text.encode()) == len(text)
    for token in text.encode():
        assert matcher.accept(token)
    assert [chr(token) for token in matcher.mask().nonzero()[0]] == ["1"]


@pytest.mark.parametrize("kind", ["integer", "number", ["string", "number"]])
@pytest.mark.parametrize("begins", ["[1", "[-1", "[0.3", "[7, 1"])
def test_a_number_that_must_differ_grows_no_longer_than_it_can_be_told(kind: Any, begins: str) -> None:
    """A model that loops may write digit after digit: the mask ends the number before its comparison would fail."""
    if kind == "integer" and "." in begins:
        begins = begins.replace("0.", "")
    grammar = Grammar.from_json_schema({"type": "array", "items": {"type": kind}, "uniqueItems": True})
    matcher = Matcher(grammar, BYTES)
    for token in begins.encode():
        assert matcher.accept(token)
    n = 0
    while matcher.mask()[ord("3")]:
        assert matcher.accept(ord("3"))
        n += 1
    number = begins.rpartition(" ")[2].lstrip("[-") + n * "3"
    assert len(number) == 150
    assert not matcher.mask()[ord("e")] and matcher.mask()[ord(",")]
    again = f", {'-' * ('-' in begins)}{number}]"
    assert matcher.validate(again.encode()) == len(again) - 2  # with its last digit it would be a repetition
    other = f", 1{number[1:-1]}4]"
    assert matcher.validate(other.encode()) == len(other)


def test_what_is_learned_is_forgotten_and_learned_again() -> None:
    """Terminals that were added late keep their regexes when the engine forgets."""
    schema = {"properties": {f"k{i}": {"type": "string", "pattern": f"^(a|b)*a(a|b){{{i}}}$"} for i in range(8)}}
    limits = earleymask.Limits(lexer_states=600)
    grammar = Grammar.from_json_schema(schema, limits=limits)
    rng = random.Random(1)
    for _ in range(6):
        document = {}
        for i in range(8):
            document[f"k{i}"] = "".join(rng.choices("ab", k=40)) + "a" + "".join(rng.choices("ab", k=i))
        assert accepts(grammar, json.dumps(document))
        document["k7"] = "b" * 60
        assert not accepts(grammar, json.dumps(document))
    assert grammar.stats()["grammar_collections"]


def test_what_is_made_of_a_schema_is_freed_with_it() -> None:
    # Without the garbage collector: only what is kept for all grammars has reference cycles.
    schema = {
        "$id": "https://example.org/root",
        "$defs": {
            "node": {"properties": {"next": {"$ref": "#/$defs/node"}}, "unevaluatedProperties": False},
            "leaf": {"$anchor": "leaf", "$id": "leaf", "pattern": "^a+$"},
        },
        "properties": {
            "node": {"$ref": "#/$defs/node"},
            "leaf": {"$ref": "leaf"},
            "few": {"items": {"type": "string"}, "uniqueItems": True, "minItems": 2},
            "pairs": {"items": {"items": {"type": "array"}, "uniqueItems": True}, "uniqueItems": True},
            "one": {"oneOf": [{"type": "object", "required": ["b"]}, {"minimum": 2}, {"not": {"type": "number"}}]},
        },
        "patternProperties": {"^x": {"enum": [1, [2], {"a": 3}]}},
        "propertyNames": {"maxLength": 9},
    }
    text = json.dumps(
        {
            "node": {"next": {}},
            "leaf": "aa",
            "few": ["a", "b"],
            "pairs": [[[], [1]], [[1]]],
            "one": 3,
            "x1": [2],
            "y": 1,
        }
    )

    def engine() -> weakref.ref[Any]:
        grammar = Grammar.from_json_schema(schema, registry={})
        assert accepts(grammar, text)
        matcher = Matcher(grammar, BYTES)
        for byte in text.encode():
            matcher.mask()
            assert matcher.accept(byte)
        return weakref.ref(grammar.engine)

    engine()
    gc.collect()
    gc.disable()
    try:
        assert engine()() is None
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_texts_of_a_subclass_keep_nothing_alive() -> None:
    """Garbage collections do not visit sets of words, so these must be plain texts."""

    class Word(str):
        matcher: Matcher

    def engine() -> weakref.ref[Any]:
        words = [Word("aa"), Word("b")]
        schema = {"properties": {words[1]: {"enum": words}}, "required": [words[1]], "additionalProperties": False}
        words[0].matcher = words[1].matcher = Matcher(Grammar.from_json_schema(schema), BYTES)
        assert words[0].matcher.validate(b'{"b":"aa"}') == 10
        return weakref.ref(words[0].matcher.grammar.engine)

    found = engine()
    gc.collect()
    assert found() is None


def test_numbers_of_a_subclass_keep_nothing_alive() -> None:
    """Garbage collections do not visit sets of numbers, so these must be plain numbers."""

    class Whole(int):
        matcher: Matcher

    class Decimal(float):
        matcher: Matcher

    def engine() -> weakref.ref[Any]:
        numbers = [Whole(3), Decimal(9.5), Decimal(0.5), Whole(4)]
        schema = {"minimum": numbers[0], "maximum": numbers[1], "multipleOf": numbers[2], "not": {"const": numbers[3]}}
        matcher = Matcher(Grammar.from_json_schema({"type": "number", **schema}), BYTES)
        assert matcher.validate(b"5.5") == 3
        for number in numbers:
            number.matcher = matcher
        return weakref.ref(matcher.grammar.engine)

    found = engine()
    gc.collect()
    assert found() is None


def test_names_that_are_equal_as_texts_are_refused() -> None:
    class Word(str):
        __eq__ = object.__eq__
        __hash__ = object.__hash__

    properties = {Word("a"): {"type": "integer"}, Word("a"): {"type": "string"}}
    assert len(properties) == 2
    with pytest.raises(earleymask.GrammarError, match="two names of one object in the schema"):
        Grammar.from_json_schema({"properties": properties})


@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": [{"not": {"multipleOf": 2 * i + 3}} for i in range(60)]},
        {
            "type": "object",
            "dependentRequired": {f"n{i}": [f"n{random.Random(i).randrange(120)}"] for i in range(120)},
        },
        {
            "properties": {
                f"k{i}": [{"required": ["a"]}, {"not": {"type": "null"}}, {"maxItems": i}, {"maximum": i}][i % 4]
                for i in range(1_200)
            }
        },
        {"properties": {f"k{i}": {"maximum": i, "items": {"minimum": i}} for i in range(1_500)}},
    ],
    ids=["numbers", "dependencies", "names", "subschemas"],
)
@pytest.mark.parametrize("closed", [False, True])
def test_full_collections_visit_little_of_a_schema(schema: Any, closed: bool) -> None:
    """They hold the interpreter's lock: 10 ms for some 30,000 objects."""
    gc.collect()
    before = len(gc.get_objects())
    limits = Limits(seconds=0.5, load_seconds=60)  # a slow machine loads one of them for 2 seconds
    matcher = Matcher(Grammar.from_json_schema(schema, strict=False, closed=closed, limits=limits), BYTES)
    with suppress(LimitError):  # some take longer: what they have made until then is kept
        matcher.mask()
    gc.collect()
    assert len(gc.get_objects()) - before < 8_000


class Holder:
    """An object of the caller's that refers to the grammar that is made of it."""

    grammar: object


@pytest.mark.parametrize("place", ["value", "key", "registry"])
def test_a_schema_that_holds_what_refers_to_its_grammar_is_freed(place: str) -> None:
    holder = Holder()
    schema: Any = {"type": "integer", "default": holder} if place == "value" else {"type": "integer"}
    if place == "key":
        schema["default"] = {holder: 1}
    registry = {"urn:a": {"type": "integer", "default": holder}}
    if place == "registry":
        schema = {"$ref": "urn:a"}
    holder.grammar = Grammar.from_json_schema(schema, registry=registry, strict=False)
    watched = weakref.ref(holder)
    del holder, schema, registry
    gc.collect()
    assert watched() is None


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {name: {"type": "integer", "minimum": 3} for name in "abcde"}},
        {"type": "object", "properties": {"a": {"type": "object"}}, "required": ["a"], "additionalProperties": False},
        {"anyOf": [{"type": "array", "items": {"enum": ["a", "b"]}}, {"properties": {"c": {"type": "string"}}}]},
        {"type": ["string", "null"], "maxLength": 10},
        {"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"b": {"$ref": "#/$defs/a"}}, "type": "object"}}},
    ],
)
def test_the_first_mask_makes_no_rules(schema: dict[str, Any]) -> None:
    """They are made with the grammar, up to those after the first mark; the second mask needs more of them."""
    tokens = [bytes([i]) for i in range(128)]
    vocabulary = Vocabulary.from_tokens([*tokens, b'{"', b'["', b""], eos_token_id=130)
    grammar = Grammar.from_json_schema(schema)
    matcher = Matcher(grammar, vocabulary)
    assert matcher.mask().any()
    assert grammar.engine.n_added == 0
