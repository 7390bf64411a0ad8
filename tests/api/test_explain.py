"""`Matcher.explain` against brute force: the byte, the characters, the nearest text, and the keywords that refuse."""

from __future__ import annotations

import json
import pickle
import re
import sys
import time
from random import Random
from typing import Any

import numpy as np
import pytest
from lark.exceptions import LarkError

from campaign.schema_random import random_schema
from campaign.schema_small import random_small_schema
from earleymask import (
    Constraint,
    Explanation,
    Grammar,
    GrammarError,
    LimitError,
    Limits,
    Matcher,
    RejectedTokenError,
    Vocabulary,
)
from earleymask.earley.nearest import units
from earleymask.errors import empty_mask
from siege.attack import FAMILIES
from support import exhaustive, vocabularies
from support.effort import EXHAUSTIVE
from support.sentences import strings
from support.strategies import make_gbnf, make_grammar
from support.twin import EmptyLanguage, Twin
from support.twin_regex import TooMuchWork, Unsupported

BYTES = Vocabulary.bytes()
LONGEST = 8
TEXTS = strings("ab", LONGEST)


def after(grammar: Grammar, text: str | bytes, vocabulary: Vocabulary = BYTES) -> Matcher:
    matcher = Matcher(grammar, vocabulary)
    for byte in text.encode() if isinstance(text, str) else text:
        assert matcher.accept(byte), text
    return matcher


def distance(left: str, right: str) -> int:
    """Return the Levenshtein distance."""
    row = list(range(len(right) + 1))
    for i, one in enumerate(left):
        above = row
        row = [i + 1]
        for j, other in enumerate(right):
            row.append(min(above[j] + (one != other), above[j + 1] + 1, row[j] + 1))
    return row[-1]


def contains(explanation: Explanation, char: str) -> bool:
    return any(first <= char <= last for first, last in explanation.characters)


# -- small grammars, every text -------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(25))
def test_every_text_of_a_random_grammar(number: int) -> None:
    grammar = exhaustive.random_grammar(Random(f"explain {number}"))
    viable = exhaustive.viable_prefixes(grammar, LONGEST)
    sentences = exhaustive.sentences(grammar, LONGEST)
    if not viable:
        return
    loaded = Grammar.from_lark(exhaustive.lark_text(grammar))
    rng = Random(number)
    prefixes = sorted([text for text in viable if len(text) <= 2])
    for prefix in rng.sample(prefixes, min(4, len(prefixes))):
        matcher = after(loaded, prefix)
        for asked in rng.sample(strings("ab", 3), 6):
            check_text(matcher, prefix, asked, viable, sentences)
        check_end(matcher, prefix, viable, sentences)


def check_text(matcher: Matcher, prefix: str, asked: str, viable: frozenset[str], sentences: frozenset[str]) -> None:
    found = matcher.explain(asked)
    whole = prefix + asked
    if whole in viable:
        assert found.is_allowed and found.offset == len(whole), (prefix, asked)
        return
    offset = max(n for n in range(len(prefix), len(whole)) if whole[:n] in viable)
    assert (found.reason, found.offset, found.at, found.refused) == ("text", offset, offset, whole[offset])
    assert {char for char in "abc" if contains(found, char)} == {c for c in "abc" if whole[:offset] + c in viable}
    assert found.may_end == (whole[:offset] in sentences)
    rest = whole[offset:]
    least = min(distance(rest, text) for text in TEXTS if whole[:offset] + text in viable)
    assert found.nearest is not None
    assert found.nearest.n_changed == least, (prefix, asked)
    new = found.nearest.text.decode()
    assert new.startswith(asked[: offset - len(prefix)]) and distance(asked, new) <= least
    assert prefix + new in viable
    check_rules(found, matcher, whole[:offset])


def check_end(matcher: Matcher, prefix: str, viable: frozenset[str], sentences: frozenset[str]) -> None:
    found = matcher.explain(None)
    assert found == matcher.explain(256)
    assert found.is_allowed == (prefix in sentences)
    endings = [text for text in TEXTS if prefix + text in sentences]
    if not found.is_allowed and endings:
        assert found.reason == "end" and found.nearest is not None
        assert found.nearest.n_changed == len(endings[0]) and prefix + found.nearest.text.decode() in sentences
        assert {char for char in "ab" if contains(found, char)} == {c for c in "ab" if prefix + c in viable}


def check_rules(found: Explanation, matcher: Matcher, text: str) -> None:
    there = after(matcher.grammar, text)
    assert {each.terminal for each in found.expected} == set(there.expected())
    for each in found.expected:
        assert each.rules[0] == "start" and each.begin == len(text)
        assert set(each.rules) <= {"start", "t", "u"}


# -- the twin -------------------------------------------------------------------------------------------------------

ALPHABET = [chr(code) for code in range(0x20, 0x7F)] + [
    "\n",
    "\t",
    "\0",
    "é",
    "ß",
    "Ω",
    "€",
    "\u2028",
    "🙂",
    "\U0010ffff",
]


@pytest.mark.parametrize("number", range(40))
def test_places_and_characters_are_those_of_the_twin(number: int) -> None:
    rng = Random(f"twin {number}")
    sketch = make_grammar(rng) if number % 2 else make_gbnf(rng)
    try:
        twin = Twin.from_lark(sketch.text)
        grammar = Grammar.from_lark(sketch.text) if number % 4 != 2 else Grammar.from_gbnf(sketch.gbnf)
    except (EmptyLanguage, GrammarError, TooMuchWork, Unsupported, LarkError):
        pytest.skip("no grammar that both read")
    if grammar.engine.special_names or grammar.engine.limits != Limits():
        pytest.skip("special tokens are no text")
    text = ""
    for _ in range(12):
        matcher = after(grammar, text)
        asked = "".join(rng.choice(ALPHABET) for _ in range(3))
        found = matcher.explain(asked)
        whole = (text + asked).encode()
        try:
            expected = next(
                (n for n in range(len(text.encode()), len(whole)) if not twin.is_viable(whole[: n + 1])), None
            )
            assert found.is_allowed == (expected is None)
            allowed = [char for char in ALPHABET if twin.is_viable(text.encode() + char.encode())]
            if expected is not None:
                assert found.offset == expected
                before = whole[: found.at]
                assert before.decode() in (text + asked) and found.at <= expected
                for char in ALPHABET:
                    assert contains(found, char) == twin.is_viable(before + char.encode()), (sketch.text, before, char)
                assert found.may_end == twin.is_sentence(before)
                if found.nearest is not None:
                    assert twin.is_viable(text.encode() + found.nearest.text), (sketch.text, text, asked)
        except TooMuchWork:
            return
        if not allowed:
            return
        text += rng.choice(allowed)


@pytest.mark.parametrize(
    "pattern", [r"\w+", r"[^\x00-\x1f\"]*!", "[à-ç]{1,2}|[€-₿]x|🙂", r"(?:[^é]|é[^é])*", r"\d(?=é)\w"]
)
def test_all_characters_of_unicode(pattern: str) -> None:
    """The next characters are exactly those with which some match can begin."""
    grammar = Grammar.from_regex(pattern)
    found = Matcher(grammar, BYTES).explain("\ud800".encode("utf-8", "surrogatepass"))
    first = Matcher(grammar, BYTES)
    rng = Random(pattern)
    points = [*range(0x250), *rng.sample(range(0x250, 0x110000), 3000), 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000]
    assert found.reason == "text" and found.at == 0
    for point in points:
        char = chr(point)
        if not 0xD800 <= point <= 0xDFFF:
            data = char.encode()
            assert contains(found, char) == (first.validate(data) == len(data)), hex(point)
    assert not any(first <= "\udfff" and last >= "\ud800" for first, last in found.characters)


def test_large_sets_of_characters_are_named_by_their_classes() -> None:
    def allowed(pattern: str) -> tuple[str, ...]:
        return Matcher(Grammar.from_regex(pattern), BYTES).explain(None).allowed

    assert allowed(r"\w") == ("letters", "digits and other numbers", '"_"')
    assert allowed(r"[\d\w ]") == ("letters", "digits and other numbers", "a space", '"_"')
    assert allowed(r"[0-9a-f]") == ('"0" to "9"', '"a" to "f"')
    assert allowed(r"[^\n\"]") == ("any character but a line feed and '\"'",)
    assert allowed(r"(?s:.)") == ("any character",)
    assert allowed("[acegikmoqsuwyACEGIKMOQSUWY]")[-1] == "14 more ranges of characters"


def test_a_character_split_between_tokens() -> None:
    vocabulary = Vocabulary.from_tokens([b"x", b"\xc3", b"\xa9", b"\xa0", b""], eos_token_id=4)
    matcher = Matcher(Grammar.from_regex("x[à-ç]"), vocabulary)
    assert matcher.accept(0) and matcher.accept(1)
    found = matcher.explain(2)
    assert (found.text, found.begin, found.offset, found.at, found.refused) == ("xé".encode(), 2, 2, 1, "é")
    assert found.characters == (("à", "ç"),)
    ended = matcher.explain(None)
    assert (ended.reason, ended.offset, ended.at) == ("end", 2, 1)
    assert ended.characters == (("à", "ç"),)
    assert ended.nearest is not None and ended.nearest.text == "à".encode(), (
        "in the place of the character's first byte"
    )
    assert matcher.tokens == [0, 1], "nothing has changed"


def test_bytes_that_are_no_text() -> None:
    found = Matcher(Grammar.from_regex("ab"), BYTES).explain(b"a\xff\xfe")
    assert (found.offset, found.at, found.refused) == (1, 1, r"\xff")
    assert found.nearest is not None and (found.nearest.text, found.nearest.n_changed) == (b"ab", 2)


def test_units_are_characters_or_single_bytes() -> None:
    assert units("aé".encode() + b"\xff\xc3") == [b"a", "é".encode(), b"\xff", b"\xc3"]


# -- rules ----------------------------------------------------------------------------------------------------------

STATEMENTS = r"""
start: statement+
statement: NAME "=" sum ";" | "print" sum (","  sum)~1..3
sum: sum "+" product | product
product: (product "*")? atom
?atom: NAME | NUMBER | "(" sum ")"
NAME: /[a-z]+/
NUMBER: /[0-9]+/
%ignore " "
"""


def test_rules_lead_from_the_start_to_the_terminal() -> None:
    found = after(Grammar.from_lark(STATEMENTS), "a = b; print (1 +").explain("+")
    assert {(each.terminal, each.rules) for each in found.expected if each.rules} == {
        ("NAME", ("start", "statement", "sum", "product", "atom", "sum", "product", "atom")),
        ("NUMBER", ("start", "statement", "sum", "product", "atom", "sum", "product", "atom")),
        ('"("', ("start", "statement", "sum", "product", "atom", "sum", "product", "atom")),
    }


def test_a_lexeme_that_has_begun_has_its_place() -> None:
    found = after(Grammar.from_lark(STATEMENTS), "print ab").explain("!")
    begun = {each.terminal: each.begin for each in found.expected if each.begin < 8}
    assert begun == {"NAME": 6}
    assert {'"+"', '"*"', '","'} <= {each.terminal for each in found.expected}


def test_what_lookaheads_demand_excludes_lexemes() -> None:
    grammar = 'start: a | NAME ("," NAME)*\na: NAME "=" NAME NAME\nNAME: /(?!(?:if|fi)\\b)[a-z]+/\n%ignore " "'
    matcher = after(Grammar.from_lark(grammar), "if")
    found = matcher.explain("= x y")
    assert found.characters == (("a", "z"),) and {each.terminal for each in found.expected} == {"NAME"}
    assert str(found).count("start > NAME") == 1
    ended = after(Grammar.from_lark(grammar), "ifs").explain("#")
    assert {each.terminal for each in ended.expected} == {"NAME", '","', '"="', "ignored 1"}
    assert matcher.expected().count("NAME") == 1


def test_helper_rules_are_not_shown() -> None:
    for grammar in (
        Grammar.from_lark('start: ("a" | "b" x)~3..9 [y]\nx: "x"+\ny: "y"\n%ignore " "'),
        Grammar.from_lark('start: A x\nA: /a+(?!b)/\nx: ("b" | "c" A)*\n%ignore /[ \\t]+/'),
        Grammar.from_lark('start: "a" %json {"type": "null"} inner\ninner: %lark { start: "i"* "j" }\n%ignore " "'),
        Grammar.from_gbnf('root ::= ("a" | x){2,9} x\nx ::= "x"+ root?'),
    ):
        found = Matcher(grammar, BYTES).explain("?")
        assert found.expected
        for each in found.expected:
            assert not any(rule.startswith("(") for rule in each.rules), each


def test_a_schema_within_a_grammar() -> None:
    found = after(Grammar.from_lark('start: "x" %json {"type": "array", "items": {"maximum": 3}} ";"'), "x[").explain(
        "7]"
    )
    assert found.conflicts == (("/items/maximum",),) and found.instance == "/0"
    assert ("start", "%json", "", "/items") in {each.rules for each in found.expected}


# -- tokens and the end ---------------------------------------------------------------------------------------------


def test_special_tokens() -> None:
    vocabulary = Vocabulary.from_tokens(
        [b"a", b"", b"", b"", b"a"], eos_token_id=3, special_tokens={"<|x|>": 1, "<|y|>": 2}
    )
    matcher = Matcher(Grammar.from_lark('start: "a" (<|x|> | "b") '), vocabulary)
    refused = matcher.explain(1)
    assert (refused.reason, refused.refused, refused.offset) == ("special token", "<|x|>", 0)
    assert refused.characters == (("a", "a"),) and refused.special_tokens == ()
    assert "the token <|x|> is not allowed" in str(refused)
    matcher.accept(0)
    assert matcher.explain(1).is_allowed
    other = matcher.explain(2)
    assert other.special_tokens == ("<|x|>",) and "the token <|x|>" in other.allowed
    matcher.accept(1)
    assert matcher.explain(3).is_allowed and matcher.explain(None).is_allowed
    assert matcher.explain(0).allowed == ("the end of the text",)
    assert matcher.explain(99).reason == "unknown id"
    assert matcher.accept(3)
    assert matcher.explain(0).reason == matcher.explain("a").reason == "finished" and matcher.explain(3).is_allowed


def test_a_budget_that_is_used_up() -> None:
    matcher = after(Grammar.from_lark('start: a "!"\na[max_tokens=2]: /[a-z]+/'), "ab")
    found = matcher.explain(ord("c"))
    assert (found.reason, found.refused) == ("max_tokens", "c")
    assert "max_tokens" in str(found) and matcher.explain(ord("!")).is_allowed
    matcher.rollback(1)
    assert matcher.explain("bcd").is_allowed  # of a text it is not known which tokens it will take


def test_what_may_be_given() -> None:
    matcher = Matcher(Grammar.from_regex("ab"), BYTES)
    assert matcher.explain("ac") == matcher.explain(b"ac") == matcher.explain(bytearray(b"ac"))
    assert matcher.explain(np.int64(97)).is_allowed
    for what in (1.5, [97], True, print):
        with pytest.raises(TypeError, match="explain takes a token id, a str, bytes, or None for the end, not"):
            matcher.explain(what)
    assert str(matcher.explain("ab")) == "It is allowed."


# -- nearest --------------------------------------------------------------------------------------------------------


NESTED = 'start: p /z{40}/\np: "(" p ")" | "[" p "]" |'
"""The shortest sentence has 40 characters, and very many texts of fewer characters begin one."""


def test_a_search_that_is_too_much_gives_up() -> None:
    found = Matcher(Grammar.from_lark(NESTED), BYTES).explain("!" * 60)
    assert found.nearest is None and found.gave_up and "gave up" in str(found)


def test_endings_are_shortest_however_long_they_are() -> None:
    for prefix in ("", "([", "[[(", "([])z", "zzz"):
        found = after(Grammar.from_lark(NESTED), prefix).explain(None)
        closing = {"([": ")]", "[[(": ")]]"}.get(prefix, "")
        n = 40 - prefix.count("z")
        expected = "".join({"(": ")", "[": "]"}[char] for char in reversed(prefix) if char in "([") if closing else ""
        assert found.nearest is not None and not found.gave_up
        assert found.nearest.text.decode() == expected + "z" * n and found.nearest.n_changed == n + len(expected)


@pytest.mark.parametrize("order", ["schema", "any"])
def test_the_shortest_ending_of_a_document(order: str) -> None:
    person = objects({"name": {"type": "string", "minLength": 2}, "age": {"minimum": 10}}, required=["name", "age"])
    schema = objects({"people": {"type": "array", "items": person, "minItems": 2}}, required=["people"])
    grammar = Grammar.from_json_schema({**schema, "additionalProperties": False}, property_order=order)  # type: ignore[arg-type]
    found = after(grammar, '{"people": [{"name": "').explain(None)
    assert found.nearest is not None and not found.gave_up
    whole = '{"people": [{"name": "' + found.nearest.text.decode()
    (first, second) = json.loads(whole)["people"]
    assert len(first["name"]) == len(second["name"]) == 2
    assert (
        found.nearest.n_changed == len('00","age":[]},{"name":"00","age":[]}]}') - 2 * (len("[]") - len('""')) - 2 * 0
    )


def test_an_ending_of_which_it_is_not_known_whether_it_is_the_shortest() -> None:
    found = Matcher(Grammar.from_json_schema({"type": "string", "format": "date-time"}), BYTES).explain(None)
    assert found.nearest is not None and found.gave_up and "there may be a nearer text" in str(found)
    assert re.fullmatch(rb'"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"', found.nearest.text)


def test_the_nearest_key_of_an_object() -> None:
    schema = {
        "properties": {"first_name": {"type": "string"}},
        "required": ["first_name"],
        "additionalProperties": False,
    }
    grammar = Grammar.from_json_schema({"type": "object", **schema}, string_escapes="shortest")
    found = Matcher(grammar, BYTES).explain('{"frist_name": "x"}')
    assert found.nearest is not None
    assert (found.nearest.text, found.nearest.n_changed) == (b'{"first_name": "x"}', 2)


# -- keywords -------------------------------------------------------------------------------------------------------


def objects(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **more}


CONFLICTS: list[tuple[Any, str, set[tuple[str, ...]]]] = [
    ({"type": "string"}, "1", {("/type",)}),
    (objects({"a": {"type": "integer"}}), '{"a": "x"}', {("/properties/a/type",)}),
    (objects({"a": {}, "b": {"type": "integer"}}), '{"a": 1, "b": "x"}', {("/properties/b/type",)}),
    (objects({"a": {"type": "integer"}, "b": {"type": "integer"}}), '{"b": "x"}', {("/properties/b/type",)}),
    (objects({"a": {"type": "integer", "maximum": 130}}), '{"a": 131}', {("/properties/a/maximum",)}),
    (objects({"a": {}}, required=["a"]), "{}", {("/required",)}),
    (objects({"a": {}}, additionalProperties=False), '{"b": 1}', {("/additionalProperties",)}),
    (objects({"a~/": {"maxLength": 1}}), '{"a~/": "xy"}', {("/properties/a~0~1/maxLength",)}),
    ({"anyOf": [{"type": "null"}, {"type": "integer"}]}, "true", {("/anyOf/0/type", "/anyOf/1/type")}),
    (
        {"allOf": [{"maxLength": 2}, {"type": "string"}, {"maxLength": 2}]},
        '"abc"',
        {("/allOf/0/maxLength",), ("/allOf/2/maxLength",)},
    ),
    ({"$ref": "#/$defs/c", "$defs": {"c": {"enum": ["red", "green"]}}}, '"blue"', {("/$defs/c/enum",)}),
    (
        {"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": True},
        '["a", "a"]',
        {("/items/enum", "/uniqueItems")},
    ),
    ({"type": "array", "minItems": 2}, "[1]", {("/minItems",)}),
    ({"type": "array", "maxItems": 1}, "[1, 2]", {("/maxItems",)}),
    ({"type": "array", "contains": {"const": 1}}, "[2]", {("/contains",)}),
    ({"type": "object", "minProperties": 1}, "{}", {("/minProperties",)}),
    ({"type": "object", "propertyNames": {"maxLength": 1}}, '{"ab": 1}', {("/propertyNames",)}),
    ({"type": "object", "dependentRequired": {"a": ["b"]}}, '{"a": 1}', {("/dependentRequired",)}),
    ({"type": "string", "pattern": "^a+$"}, '"ab"', {("/pattern",)}),
    ({"type": "string", "format": "date"}, '"2020-13-01"', {("/format",)}),
    ({"if": {"required": ["a"]}, "then": {"required": ["b"]}, "type": "object"}, '{"a": 1}', {("/then/required",)}),
    ({"type": "string", "not": {"enum": ["a"]}}, '"a"', {("/not",)}),
    (
        {
            "oneOf": [
                objects({"k": {"const": k}, "v": {"type": t}}, required=["k"])
                for k, t in (("a", "null"), ("b", "string"))
            ]
        },
        '{"k": "b", "v": 3}',
        {("/oneOf/1/properties/v/type",)},
    ),
    ({"type": "object", "patternProperties": {"^x": {"type": "null"}}}, '{"xa": 1}', {("/patternProperties/^x/type",)}),
    (
        {"type": "object", "allOf": [objects({"a": {}})], "unevaluatedProperties": False},
        '{"b": 1}',
        {("/unevaluatedProperties",)},
    ),
    (
        {
            "$ref": "#/$defs/t",
            "$defs": {"t": objects({"kids": {"type": "array", "items": {"$ref": "#/$defs/t"}}, "v": {"type": "null"}})},
        },
        '{"kids": [{"v": null}, {"v": 1}]}',
        {("/$defs/t/properties/v/type",)},
    ),
    ({"type": "object"}, '{"a": nul1}', set()),  # no keyword makes it JSON
    (objects({"b": {}, "a": {}}), '{"a": 1, "b": 2}', set()),  # the order is an option
]


@pytest.mark.parametrize(
    ("schema", "text", "expected"), CONFLICTS, ids=lambda each: json.dumps(each) if isinstance(each, dict) else ""
)
def test_the_keywords_that_refuse(schema: Any, text: str, expected: set[tuple[str, ...]]) -> None:
    found = Matcher(Grammar.from_json_schema(schema), BYTES).explain(text)
    assert found.reason == "text" and set(found.conflicts) == expected
    assert not expected or set(found.pointers) == {each for one in expected for each in one}


@pytest.mark.parametrize(
    ("schema", "text", "expected"), CONFLICTS, ids=lambda each: json.dumps(each) if isinstance(each, dict) else ""
)
def test_without_one_keyword_of_each_conflict_the_byte_is_allowed(schema: Any, text: str, expected: Any) -> None:
    """The definition, by editing the schema: see `without`. Only keywords whose absence allows more stand here."""
    found = Matcher(Grammar.from_json_schema(schema), BYTES).explain(text)
    names = {one[-1] for one in found.conflicts}
    if not names or "unevaluatedProperties" in text:
        return
    edited = json.loads(json.dumps(schema))
    for pointer in names:
        without(edited, pointer)
    whole = found.text[: found.offset + 1]
    assert Matcher(Grammar.from_json_schema(edited), BYTES).validate(whole) == len(whole)


def without(schema: Any, pointer: str) -> None:
    """Remove what a JSON pointer leads to."""
    *path, last = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    for part in path:
        schema = schema[int(part) if isinstance(schema, list) else part]
    del schema[last]


def test_the_order_of_keys_is_hinted_at() -> None:
    grammar = Grammar.from_json_schema(objects({"b": {}, "a": {}}), property_order="schema")
    found = Matcher(grammar, BYTES).explain('{"a": 1, "b": 2}')
    assert found.hint is not None and "property_order" in found.hint


@pytest.mark.parametrize(
    ("options", "text", "hint"),
    [
        ({}, '{"a" : 1}', "whitespace='any'"),
        ({"whitespace": "compact"}, '{"a": 1}', "whitespace='any'"),
        ({"spellings": "plain"}, r'{"\u0061": 1}', "spellings='all'"),
        ({"spellings": "plain"}, '{"a": 1.0}', "spellings='all'"),
        ({"string_escapes": "shortest"}, r'{"a": "\u0061"}', "spellings='all'"),
    ],
)
def test_options_that_would_allow_it_are_hinted_at(options: dict[str, Any], text: str, hint: str) -> None:
    schema = objects({"a": {"type": ["integer", "string"]}}, additionalProperties=False)
    found = Matcher(Grammar.from_json_schema(schema, **options), BYTES).explain(text)
    assert found.conflicts == () and found.hint is not None and hint in found.hint


def test_a_document_with_an_exact_indent() -> None:
    schema = objects({"a": objects({"b": {"type": "integer", "maximum": 5}}, required=["b"])})
    grammar = Grammar.from_json_schema(schema, indent=2)
    found = Matcher(grammar, BYTES).explain(json.dumps({"a": {"b": 7}}, indent=2))
    assert found.instance == "/a/b" and found.conflicts == (("/properties/a/properties/b/maximum",),)
    missing = Matcher(grammar, BYTES).explain(json.dumps({"a": {"c": 7}}, indent=2))
    assert missing.instance == "/a"


@pytest.mark.parametrize("gap", ["", " ", "   ", "\r\n \t"])
def test_a_document_with_any_white_space(gap: str) -> None:
    limited = {"type": "integer", "maximum": 5}
    schema = objects({"a": limited, "b": {"type": "array", "items": limited}})
    matcher = Matcher(Grammar.from_json_schema(schema, whitespace="any"), BYTES)
    member = matcher.explain(f'{gap}{{{gap}"a"{gap}:{gap}7{gap}}}')
    assert member.instance == "/a" and member.conflicts == (("/properties/a/maximum",),)
    for number in ("7", "12"):
        item = matcher.explain(f'{gap}{{{gap}"b"{gap}:{gap}[{gap}3{gap},{gap}{number}{gap}]')
        assert item.conflicts == (("/properties/b/items/maximum",),), str(item)
        assert item.instance == "/b/1"
    assert all(rule == "" or "/" in rule for each in item.expected for rule in each.rules)


def test_items_that_must_differ_and_may_be_anything() -> None:
    schema = {"type": "array", "items": objects({"a": {"type": "integer"}}, required=["a"]), "uniqueItems": True}
    matcher = Matcher(Grammar.from_json_schema(schema), BYTES)
    assert matcher.explain('[{"a": 1}, {"a": 1}]').pointers
    found = matcher.explain('[{"a": 1}, {"a": "x"}]')
    assert found.reason == "text" and found.offset == 17 and found.pointers


def test_where_in_the_document() -> None:
    schema = objects({"x~": {"type": "array", "items": objects({"y/": {"type": "null"}})}})
    found = Matcher(Grammar.from_json_schema(schema), BYTES).explain('{"x~": [{}, {"y/": 1}]}')
    assert found.instance == "/x~0/1/y~1" and found.schemas == ("/properties/x~0/items/properties/y~1",)


@pytest.mark.parametrize(
    ("schema", "opening"),
    [
        ({"items": {"not": {"type": "string"}}}, "["),
        ({"not": {"required": ["a"]}}, '{"b":'),
        ({"items": {"if": {"minItems": 9}, "then": {"items": False}}}, "["),
    ],
)
def test_a_deeply_nested_document(schema: Any, opening: str) -> None:
    matcher = Matcher(Grammar.from_json_schema(schema), BYTES)
    n = 2 * sys.getrecursionlimit()
    found = matcher.explain(opening * n + "x")
    assert (found.reason, found.offset) == ("text", n * len(opening))
    assert found.instance is not None and found.instance.count("/") >= n - 1
    assert found.nearest is not None and found.nearest.n_changed == 1


def test_a_caller_that_is_called_deeply() -> None:
    matcher = after(Grammar.from_json_schema({"not": {"required": ["a"]}}), '{"b":')

    matcher.explain("x")  # imports what explanations need: Python's own imports take more calls
    has_room = False

    def room(calls: int) -> bool:
        return calls == 0 or room(calls - 1)

    def deep(calls: int) -> Explanation | LimitError:
        nonlocal has_room
        if calls:
            return deep(calls - 1)
        has_room = room(5)  # fewer are not enough to make an error
        try:
            return matcher.explain("x")
        except LimitError as error:
            return error

    n_explained = n_refused = 0
    for left in [*range(20, 60), *range(60, 400, 20)]:
        has_room = False
        try:
            found = deep(sys.getrecursionlimit() - left)
        except RecursionError:
            assert not has_room
            continue
        if isinstance(found, Explanation):
            assert (found.reason, found.offset) == ("text", 5)
            n_explained += 1
        else:
            assert "a function that is called less deeply" in str(found)
            n_refused += 1
    assert n_explained
    assert n_refused or sys.version_info >= (3, 12)  # from then on, Python does not count calls of compiled functions


def test_a_text_that_is_too_much_to_read_with_all_readings() -> None:
    """The masks' parser forgets where rules began."""
    grammar = Grammar.from_lark('start: x "b"\nx: "a" x | "a"', limits=Limits(matcher_bytes=1 << 20))
    matcher = after(grammar, "a" * 3000)
    for what in (None, "c"):
        found = matcher.explain(what)
        assert found.unknown == ("rules",) and found.limit is not None and "matcher_bytes=1048576" in found.limit
        assert (found.offset, found.characters, found.expected) == (3000, (("a", "b"),), ())
        assert found.nearest is not None and found.nearest.text == b"b"
        assert "not known: the rules; the readings of the text take more memory" in str(found)


def test_an_ending_that_is_too_long_to_be_written() -> None:
    rules = "".join(f"r{i}: r{i + 1} r{i + 1}\n" for i in range(60))
    found = Matcher(Grammar.from_lark(f'start: r0\n{rules}r60: "a"'), BYTES).explain(None)
    assert found.gave_up and found.nearest is None and contains(found, "a")


@pytest.mark.parametrize("seconds", [0.2, 0.5] if EXHAUSTIVE else [0.2])
def test_an_explanation_takes_no_longer_than_a_call_may(seconds: float) -> None:
    """Each of its searches alone would take the whole time."""
    schema = FAMILIES["schema"]["unions"](Random(98806224), 13)
    limits = Limits(load_seconds=60, seconds=seconds)
    matcher = Matcher(Grammar.from_json_schema(schema, strict=False, limits=limits), BYTES)
    for what in (None, "ab", '{"a": 1', "é" * 300):
        found: Explanation | LimitError
        begin = time.thread_time()
        try:
            found = matcher.explain(what)
        except LimitError as error:
            found = error
        if isinstance(found, Explanation):
            assert found.unknown and found.limit is not None and "seconds" in found.limit
        else:
            assert found.limit == "seconds"
        assert time.thread_time() - begin < 2 * seconds + 0.05  # more than promised: other tests run beside this one


def test_a_schema_that_is_not_given_as_text_and_limits() -> None:
    limits = Limits(seconds=5)
    found = Matcher(Grammar.from_json_schema({"const": 1}, limits=limits), BYTES).explain("2")
    assert found.conflicts == (("/const",),)


# -- where else it is -----------------------------------------------------------------------------------------------


def test_a_rejected_token_carries_its_explanation() -> None:
    constraint = Constraint(Grammar.from_choices(["north", "south"]))
    with pytest.raises(RejectedTokenError) as caught:
        constraint.mask(list(b"nort!xyz"))
    constraint.mask(list(b"so"))  # it has moved on
    error = caught.value
    assert error.explanation is not None and error.explanation is error.explanation
    assert error.explanation.offset == 4 and error.explanation.characters == (("h", "h"),)
    assert pickle.loads(pickle.dumps(error)).explanation == error.explanation
    fresh = RejectedTokenError("no", index=0, token_id=0)
    assert fresh.explanation is None and pickle.loads(pickle.dumps(fresh)).explanation is None


def test_an_empty_mask_names_what_was_needed() -> None:
    vocabulary = Vocabulary.from_tokens([b"a", b"xy", b""], eos_token_id=2)
    error = empty_mask(after(Grammar.from_lark('start: "a" /[x-z]/'), "", vocabulary), "here")
    assert error.needed == b"a"
    matcher = Matcher(Grammar.from_lark('start: "a" /[x-z]/'), vocabulary)
    assert matcher.accept(0) and not matcher.mask().any()
    error = empty_mask(matcher, "row 3")
    assert error.needed == b"xyz" and str(error).startswith("row 3: ") and "b'xyz'" in str(error)


def test_representations() -> None:
    matcher = Matcher(Grammar.from_regex("ab"), BYTES)
    assert re.fullmatch(r"<Matcher after 0 tokens: <Grammar from regex.*>, <Vocabulary of 257 ids.*>>", repr(matcher))
    matcher.accept(97)
    assert repr(matcher).startswith("<Matcher after 1 token: ")
    matcher.accept(98)
    assert repr(matcher).startswith("<Matcher after 2 tokens, may end: ")
    matcher.accept(256)
    assert repr(matcher).startswith("<Matcher after 3 tokens, finished: ")
    assert repr(Matcher.__new__(Matcher, matcher.grammar, BYTES)) == "<Matcher that is not set up>"


def test_the_grammar_itself_learns_nothing() -> None:
    grammar = Grammar.from_json_schema(objects({"a": {"maximum": 3}}))
    matcher = Matcher(grammar, BYTES)
    matcher.mask()
    before = matcher.stats()
    matcher.explain('{"a": 4}')
    assert matcher.stats() == before


@pytest.mark.parametrize("number", range(24))
def test_random_schemas(number: int) -> None:
    """Wherever a text fails in the grammar of a schema: the place, the characters and the nearest text are right."""
    rng, schema = (random_schema if number % 2 else random_small_schema)(5, number, ("7", "2020-12")[number % 3 // 2])
    try:
        grammar = Grammar.from_json_schema(schema, strict=False, limits=Limits(seconds=3))
        matcher = Matcher(grammar, BYTES)
        for _ in range(rng.randrange(25)):
            allowed = [int(token_id) for token_id in matcher.mask().nonzero()[0] if token_id < 256]
            if not allowed:
                break
            matcher.accept(rng.choice(allowed))
        for asked in ("".join(rng.choice('{}[]",:01ae-. tfn') for _ in range(4)), '"a": 1}', None):
            found = matcher.explain(asked)
            if not found.is_allowed:
                check_failure(found, grammar, matcher, asked)
    except (GrammarError, LimitError):
        return  # much work, or nothing is allowed


def check_failure(found: Explanation, grammar: Grammar, matcher: Matcher, asked: str | None) -> None:
    if asked is not None:
        assert found.offset == found.begin + matcher.validate(asked.encode())
    there = after(grammar, found.text[: found.at])
    for char in map(chr, range(0x20, 0x7F)):
        assert contains(found, char) == (there.validate(char.encode()) == 1)
    if found.nearest is not None:
        whole = [*found.text[: min(found.begin, found.at)], *found.nearest.text, *([256] if asked is None else [])]
        assert Matcher(grammar, BYTES).validate(whole) == len(whole)
    assert str(found)


@pytest.mark.parametrize("name", ["llama3", "tekken"])
def test_real_vocabularies(name: str) -> None:
    vocabulary = vocabularies.load(name)
    encoder = vocabularies.load_encoder(name)
    schema = objects(
        {"colour": {"enum": ["red", "green"]}, "n": {"type": "integer", "minimum": 1}}, required=["colour"]
    )
    matcher = Matcher(Grammar.from_json_schema(schema), vocabulary)
    for token_id in encoder.encode('{"colour": "'):
        assert matcher.accept(token_id)
    (wrong,) = encoder.encode("blue")
    found = matcher.explain(wrong)
    assert found.conflicts == (("/properties/colour/enum",),) and found.instance == "/colour"
    assert {char for char in "abcdefghijklmnopqrstuvwxyz" if contains(found, char)} == {"g", "r"}
    allowed = matcher.mask()
    rng = Random(name)
    for token_id in rng.sample(range(vocabulary.size), 40):
        assert matcher.explain(token_id).is_allowed == bool(allowed[token_id])
    token_id = int(allowed.nonzero()[0][0])
    assert matcher.explain(token_id).is_allowed


def test_a_number_that_ends_before_the_failing_digit_is_the_value_that_is_refused() -> None:
    schema = {"items": {"type": "integer", "maximum": 99, "minimum": 0}, "type": "array"}
    matcher = Matcher(Grammar.from_json_schema(schema), Vocabulary.bytes())
    for text, pointer in (("[1, 120]", "/1"), ("[120]", "/0")):
        found = matcher.explain(text)
        assert found is not None and found.conflicts == (("/items/maximum",),)
        assert found.instance == pointer


def test_after_an_error_that_has_ended_the_sequence() -> None:
    """As the mask, the explanation allows EOS tokens alone. The error is named."""
    matcher = Matcher('start: "a" "b"', BYTES)
    assert matcher.accept(97)
    matcher.fill_bitmask(np.zeros(9, np.int32), on_error="end", remaining=0)
    assert matcher.explain(256).is_allowed
    for what in (98, "b", b"b", None):
        found = matcher.explain(what)
        assert (found.reason, found.text, found.offset) == ("finished", b"a", 1)
        assert str(found).startswith("line 1, column 2, byte 1: an error has ended the sequence: BudgetError: 0 tokens")
    assert matcher.explain(257).reason == "unknown id"
    with pytest.raises(TypeError, match="explain takes a token id"):
        matcher.explain(1.5)
    matcher.rollback(1)
    assert matcher.explain("ab").is_allowed


def test_a_finished_sequence_has_no_temperature() -> None:
    matcher = Matcher("start: x\nx[temperature=0.5]: /[ab]+/", BYTES)
    assert matcher.accept(97) and matcher.temperature() == 0.5
    ended = matcher.fork()
    ended.fill_bitmask(np.zeros(9, np.int32), on_error="end", remaining=0)
    assert ended.error is not None and ended.temperature() is None
    assert matcher.accept(256) and matcher.temperature() is None
