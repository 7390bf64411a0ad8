"""Plain spellings: keys, constants and numbers as people and models write them; `spellings="all"` has all others."""

import json
import random
from typing import Any

import pytest

from earleymask import Grammar, Matcher
from earleymask.grammar.json.numbers import MAX_LISTED
from support.schema_grammars import BYTES, EOS, accepts


def plain(schema: Any, **options: Any) -> Grammar:
    return Grammar.from_json_schema(schema, spellings="plain", **options)


def accepted(schema: Any, texts: list[str], **options: Any) -> list[str]:
    grammar = plain(schema, **options)
    return [text for text in texts if accepts(grammar, text)]


WORDS = ["", "a", "a/b", 'say "hi"', "back\\slash", "line\n", "\x01\x7f", "é", "\U0001f600", "ab\u2028"]


def other_spellings(word: str) -> list[str]:
    """Return spellings of a string, none of which `json.dumps` writes."""
    escapes = [json.dumps(char)[1:-1] if ord(char) > 0xFFFF else f"\\u{ord(char):04X}" for char in word]
    every = f'"{"".join(escapes)}"'
    slashes = json.dumps(word).replace("/", "\\/")
    return [text for text in (every, slashes) if text not in (json.dumps(word), json.dumps(word, ensure_ascii=False))]


@pytest.mark.parametrize("word", WORDS)
def test_words_of_the_schema_are_written_as_json_dumps_writes_them(word: str) -> None:
    dumped = sorted({json.dumps(word), json.dumps(word, ensure_ascii=False)})
    others = other_spellings(word)
    assert all(json.loads(text) == word for text in others)
    for schema in ({"const": word}, {"enum": [word, 7]}, {"anyOf": [{"const": word}, {"const": 7}]}):
        assert accepted(schema, dumped + others) == dumped
        assert accepted(schema, dumped + others, ensure_ascii=True) == [json.dumps(word)]
        assert accepted(schema, dumped + others, string_escapes="all") == dumped + others
    member = {"properties": {word: {"type": "null"}}, "required": [word], "additionalProperties": False}
    assert accepted(member, [f"{{{text}: null}}" for text in dumped + others]) == [
        f"{{{text}: null}}" for text in dumped
    ]
    constant = {"const": [{word: [word]}]}
    texts = [f"[{{{key}: [{value}]}}]" for key in dumped + others for value in dumped + others]
    assert accepted(constant, texts) == [f"[{{{key}: [{value}]}}]" for key in dumped for value in dumped]


@pytest.mark.parametrize("word", WORDS)
def test_a_word_that_must_not_come_has_no_spelling(word: str) -> None:
    dumped = [json.dumps(word), json.dumps(word, ensure_ascii=False)]
    spelled = dumped + other_spellings(word)
    assert accepted({"not": {"const": word}}, spelled) == []
    assert accepted({"type": "string", "not": {"enum": [word, 1]}}, spelled) == []
    # A key that the schema names is no other key, however it is written.
    named = {"properties": {word: False}, "additionalProperties": True}
    assert accepted(named, [f"{{{text}: 1}}" for text in spelled]) == []
    # Other strings have all spellings.
    assert accepted({"type": "string"}, spelled) == spelled
    assert accepted({"type": "string", "minLength": len(word), "maxLength": len(word)}, spelled) == spelled
    assert accepted({"additionalProperties": True}, [f"{{{text}: 1}}" for text in spelled]) == [
        f"{{{text}: 1}}" for text in spelled
    ]


def test_the_own_spelling_of_the_schema_stays() -> None:
    schema = r'{"enum": ["a\/b", "\u00E9", 1.0, 1e3, 2.50, -0.0], "description": "\u0061"}'
    texts = [r'"a\/b"', '"a/b"', r'"\u00E9"', r'"\u00e9"', '"é"', "1.0", "1", "1e3", "1000.0", "1000", "2.50", "2.5"]
    assert accepted(schema, [*texts, "-0.0", "0"]) == [*texts, "-0.0", "0"]
    assert accepted(schema, [r'"\u0061/b"', "1.00", "1E3", "2.500", "0.0", "-0"]) == ["0.0"]  # as json.dumps(0.0) says
    assert accepted(json.loads(schema), ["1.0", "1000.0", "2.5", "1e3", "2.50", r'"a\/b"']) == ["1.0", "1000.0", "2.5"]
    # So does the spelling of a key.
    named = r'{"properties": {"a\/b": true}, "additionalProperties": false}'
    assert accepted(named, [r'{"a\/b": 1}', '{"a/b": 1}', r'{"a\u002fb": 1}']) == [r'{"a\/b": 1}', '{"a/b": 1}']
    # Within a constant as well, and what stands elsewhere does not count.
    nested = '{"anyOf": [{"const": {"a": 1.0}}, {"const": {"a": 2}}, {"type": "null", "maximum": 2.0}]}'
    assert accepted(nested, ['{"a": 1.0}', '{"a": 1}', '{"a": 2}', '{"a": 2.0}']) == [
        '{"a": 1.0}',
        '{"a": 1}',
        '{"a": 2}',
    ]


@pytest.mark.parametrize(
    "make",
    [lambda schema: schema, lambda schema: schema.encode(), json.loads],
    ids=["text", "bytes", "dict"],
)
def test_a_pickled_grammar_has_the_same_spellings(make: Any) -> None:
    import pickle

    grammar = plain(make(r'{"enum": ["a\/b", 1.0, 1e3, 1e22]}'))
    other = pickle.loads(pickle.dumps(grammar))
    assert other == grammar
    for text in (r'"a\/b"', '"a/b"', "1.0", "1e3", "1000.0", "1e+22", "1e22"):
        assert accepts(other, text) == accepts(grammar, text)


WHOLE = ["5", "5.0", "5e0", "50e-1", "0.5e1", "5.00"]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "integer"}, ["5"]),
        ({"type": "integer", "minimum": 3}, ["5"]),
        ({"type": ["integer", "string"], "multipleOf": 5}, ["5"]),
        ({"allOf": [{"type": "number"}, {"type": "integer"}]}, ["5"]),
        ({"type": "integer", "enum": [5, 6]}, ["5"]),
        ({"enum": [5, 6]}, ["5"]),
        ({"const": 5}, ["5"]),
        # A number that something else makes whole is written in both ways.
        ({"type": "number", "const": 5}, ["5", "5.0"]),
        ({"type": ["null", "number"], "enum": [5, None]}, ["5", "5.0"]),
        ({"type": "number", "minimum": 5, "maximum": 5}, ["5", "5.0"]),
        ({"type": "number", "multipleOf": 5}, WHOLE),
        ({"multipleOf": 1}, WHOLE),
        ({"type": "number"}, WHOLE),
        ({"type": ["integer", "number"]}, WHOLE),
        ({"anyOf": [{"type": "integer"}, {"type": "number", "multipleOf": 5}]}, WHOLE),
        # A negation is about values.
        ({"not": {"type": "integer"}}, []),
        ({"not": {"const": 5}}, []),
        ({"type": "number", "not": {"type": "integer", "minimum": 6}}, WHOLE),
        # In draft 4 an integer has neither, whatever the option.
        ({"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer"}, ["5"]),
        ({"$schema": "http://json-schema.org/draft-04/schema#", "not": {"type": "integer"}}, WHOLE[1:]),
    ],
)
def test_integers_have_neither_fraction_nor_exponent(schema: dict[str, Any], expected: list[str]) -> None:
    assert accepted(schema, WHOLE) == expected
    assert set(accepted(schema, WHOLE, number_plain=False)) >= set(expected)


def test_options_that_are_given_win() -> None:
    texts = ["5", "5.0", "5e0", "2.5", "25e-1"]
    assert accepted({"type": "number"}, texts, number_plain=True) == ["5", "5.0", "2.5"]
    assert accepted({"type": "number"}, texts, number_exponents=False) == ["5", "5.0", "2.5"]
    assert accepted({"type": "number"}, texts, number_plain=True, number_exponents=True) == texts
    assert accepted({"multipleOf": 0.5}, texts, number_plain=True, number_exponents=True) == texts
    assert accepted({"multipleOf": 5}, texts, number_plain=True, number_exponents=True) == ["5"]
    assert accepted({"type": "integer"}, texts, number_plain=False) == ["5", "5.0", "5e0"]
    every = Grammar.from_json_schema({"type": "integer"}, spellings="all", number_exponents=False)
    assert [text for text in texts if accepts(every, text)] == ["5", "5.0"]
    assert accepted({"const": "a/b"}, ['"a/b"', r'"a\/b"'], string_escapes="shortest") == ['"a/b"']


@pytest.mark.parametrize("options", [{"spellings": "brief"}, {"spellings": None}])
def test_wrong_spellings(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="spellings must be one of 'plain', 'all'"):
        Grammar.from_json_schema(True, **options)
    for name in ("lone_surrogates", "number_exponents", "number_plain"):
        with pytest.raises(TypeError, match=f"{name} must be a bool or None, not int"):
            Grammar.from_json_schema(True, **{name: 1})


def test_lone_surrogates_have_an_option() -> None:
    pair, lone = r'"\ud83d\ude00"', [r'"\ud800"', r'"\uDC00\ud800"', r'"a\udfff"']
    assert accepted({"type": "string"}, [pair, *lone]) == [pair]
    assert accepted({"type": "string"}, [pair, *lone], lone_surrogates=True) == [pair, *lone]
    assert accepted(True, [pair, *lone], string_escapes="all") == [pair, *lone]
    assert accepted({}, ['{"a\\ud800": 1}', '{"a": 1}']) == ['{"a": 1}']
    every = Grammar.from_json_schema(True, lone_surrogates=False, spellings="all")
    assert [text for text in [pair, *lone] if accepts(every, text)] == [pair]


def test_the_parser_forces_the_rest_of_a_key() -> None:
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "names": {"const": "x"}},
        "required": ["names"],
        "additionalProperties": False,
    }
    matcher = Matcher(plain(schema), BYTES)
    assert matcher.forced_bytes() == b"{"  # then white space may follow
    assert all(matcher.accept(byte) for byte in b'{"')
    assert matcher.forced_bytes() == b"name"
    assert all(matcher.accept(byte) for byte in b"names")
    assert matcher.forced_bytes() == b'":'
    every = Matcher(Grammar.from_json_schema(schema, spellings="all"), BYTES)
    assert all(every.accept(byte) for byte in b'{"')
    assert every.forced_bytes() == b""


def test_an_indent_is_blanks_or_tabs() -> None:
    value = {"a": [1, {"b": 2}], "c": {}}
    for indent in (None, 0, 1, 2, 4, 8, "\t", "\t\t"):
        text = json.dumps(value, indent=indent)
        assert accepted(True, [text]) == [text]
    mixed = ["[\n \t1\n]", "[\n\t 1]", "[1,\n  \t2]"]
    assert accepted(True, mixed) == []
    assert [text for text in mixed if accepts(Grammar.from_json_schema(True, spellings="all"), text)] == mixed
    longest = [f"[\n{char * n}1\n]" for char in " \t" for n in (64, 65)]
    assert accepted(True, longest) == [longest[0], longest[2]]


def test_a_list_of_many_numbers() -> None:
    numbers = [*random.Random(7).sample(range(-(10**6), 10**6), 3000), 0.5, 1e-300, 2**53 + 1, 10**30, 1e30]
    assert len(numbers) > MAX_LISTED
    grammar = plain({"enum": numbers})
    for number in numbers:
        assert accepts(grammar, json.dumps(number))
        assert not accepts(grammar, f"{number}{'.00' if isinstance(number, int) else '00'}")


def test_the_report_says_what_is_plain() -> None:
    def whys(**options: Any) -> set[str]:
        rows = Grammar.from_json_schema({"type": "integer"}, **options).report
        return {row.why for row in rows if not row.pointer and str(row.reason) not in ("property_order", "whitespace")}

    assert whys(spellings="all") == set()
    assert {why.partition(":")[0] for why in whys(spellings="plain")} == {"lone_surrogates=False", "spellings='plain'"}
    given = whys(spellings="plain", string_escapes="all", number_plain=False)
    assert given == {"spellings='plain': an indent has blanks or tabs, not both"}
    assert whys(spellings="plain", string_escapes="all", number_plain=False, whitespace="compact") == set()
    assert whys(spellings="all", number_exponents=False) == {"number_exponents=False: no number has an exponent"}
    assert whys(spellings="all", number_plain=True, number_exponents=True) == {
        "number_plain=True: no integer has a fraction or an exponent"
    }


@pytest.mark.parametrize("seed", range(40))
def test_random_walks_write_what_python_reads_and_writes_again(seed: int) -> None:
    """A walk takes any byte that a mask allows; `json` reads the text as finite values, and writes what is accepted."""
    rng = random.Random(seed)
    grammar = WALKED[seed % len(WALKED)]
    matcher = Matcher(grammar, BYTES)
    text = bytearray()
    while not matcher.is_finished() and len(text) < 300:
        allowed = [int(token) for token in matcher.mask().nonzero()[0]]
        digits = [token for token in allowed if chr(token) in "0123456789eE"] if len(text) < 150 else []
        ends = [token for token in allowed if chr(token) in '"]}'] if len(text) > 200 else []
        token = EOS if EOS in allowed and len(text) > 3 else rng.choice(ends or digits or allowed)
        assert matcher.accept(token)
        text.append(token) if token != EOS else None
    if matcher.is_finished():
        value = json.loads(text)
        again = json.dumps(value, allow_nan=False)  # raises ValueError for infinity
        assert json.loads(again) == value
        assert accepts(grammar, again)
        assert accepts(grammar, json.dumps(value, ensure_ascii=False, indent=2))


WALKED = [
    plain(schema)
    for schema in (
        {"type": "number"},
        {"type": "integer"},
        {"type": "number", "minimum": 0.5},
        {"type": "integer", "exclusiveMaximum": -7},
        {"type": "array", "items": {"type": ["number", "string"], "maxLength": 5}, "minItems": 1, "maxItems": 3},
        {"type": "object", "properties": {"é": {"enum": [1e30, "a/b"]}, "b": {"type": "number"}}, "required": ["é"]},
        True,
    )
]


def test_pickles_of_version_0_1_keep_all_spellings() -> None:
    """They have no text of options where options were the defaults, which had all spellings."""
    every = Grammar.from_json_schema('{"type": "integer"}', spellings="all")
    assert every.options == "" and Grammar.from_json_schema('{"type": "integer"}').options == '{"spellings": "plain"}'
    reads, content = every.__reduce__()
    assert len(content) == 4  # without options, as version 0.1 wrote it
    assert accepts(reads(*content), "1e0")  # type: ignore[operator]
