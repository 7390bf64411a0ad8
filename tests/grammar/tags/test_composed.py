"""Grammars put together, tokens in formats, the older form, and what is said about wrong structural tags."""

from __future__ import annotations

import json
import pickle
from itertools import product
from typing import Any

import pytest

from earleymask import Constraint, Grammar, GrammarError, Limits, Matcher, Vocabulary
from earleymask.grammar import GrammarLimitError
from support.sentences import accepts

BYTES = Vocabulary.bytes()
SPECIAL = Vocabulary.from_tokens(
    [bytes([byte]) for byte in range(256)] + [b"", b"", b"", b"ab"],
    eos_token_id=256,
    special_tokens={"<think>": 257, "</think>": 258},
)
CONSTANT = {"type": "const_string", "value": "a"}
TAG = {"type": "tag", "begin": "<t>", "content": CONSTANT, "end": "</t>"}


def made(format: Any, vocabulary: Vocabulary | None = None, **options: Any) -> Grammar:
    return Grammar.from_structural_tag({"type": "structural_tag", "format": format}, vocabulary, **options)


def takes(grammar: Grammar, tokens: list[int], vocabulary: Vocabulary = SPECIAL) -> bool:
    return Matcher(grammar, vocabulary).validate([*tokens, 256]) == len(tokens) + 1


# Grammars put together.


def parts() -> list[Grammar]:
    lists = Grammar.from_lark('start: "[" (WORD ("," WORD)*)? "]"\nWORD: /[a-z]+/\n%ignore " "')
    return [
        lists,
        Grammar.from_gbnf('root ::= "g" d*\nd ::= [0-9]'),
        Grammar.from_json_schema({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}),
        Grammar.from_regex("(?i)x{1,2}"),
        Grammar.from_choices(["p", "pq"]),
        Grammar.text(until="."),
        made(TAG),
    ]


TEXTS = [["[ a , b ]", "[]"], ["g", "g12"], ['{"a": 1}'], ["x", "xX"], ["p", "pq"], [".", "free."], ["<t>a</t>"]]


def test_a_union_takes_what_any_of_its_grammars_takes() -> None:
    whole = Grammar.union(*parts(), "q")
    texts = [text for texts in TEXTS for text in texts] + ["q", "", "[a", "gg", "{}", "xxx", "pp", "fr.e.", "<t></t>"]
    for text in texts:
        assert accepts(whole, text) == (text == "q" or any(accepts(part, text) for part in parts())), text
    assert pickle.loads(pickle.dumps(whole)) == whole
    assert whole != Grammar.union(*parts()[:-1], "q")


def test_a_sequence_takes_a_text_of_each_grammar() -> None:
    whole = Grammar.sequence(*parts(), "q")
    for chosen in product(*TEXTS):
        assert accepts(whole, "".join(chosen) + "q")
    chosen = [texts[0] for texts in TEXTS]
    for index in range(len(chosen)):
        shorter = [*chosen[:index], *chosen[index + 1 :]]
        assert not accepts(whole, "".join(shorter) + "q"), index


def test_what_a_lark_grammar_ignores_stays_within_it() -> None:
    lists = parts()[0]
    whole = Grammar.sequence("<", lists, ">")
    assert accepts(whole, "<[a,b]>")
    assert accepts(whole, "< [ a ] >")  # it ignores blanks before, between and after its lexemes
    assert not accepts(Grammar.sequence("<<", lists, ">>"), "< <[a]>>")


def test_composed_grammars_within_composed_and_lark_grammars() -> None:
    inner = Grammar.union(Grammar.text(until="!"), parts()[0])
    outer = Grammar.sequence(inner, Grammar.sequence("-", inner))
    around = Grammar.from_lark('start: "(" @inner ")"', grammars={"inner": outer})
    for text in ("a b!-[ x ]", "[x]-!", "!-!"):
        assert accepts(outer, text)
        assert accepts(around, f"({text})")
    for text in ("a-b!", "[x]-", "!"):
        assert not accepts(outer, text)
        assert not accepts(around, f"({text})")
    assert pickle.loads(pickle.dumps(around)) == around


def test_text_ends_where_its_end_first_stands() -> None:
    text = Grammar.text(["--", "=="], excludes=["x"], max_chars=3)
    for accepted in ("--", "ab==", "a-==", "abc--"):
        assert accepts(text, accepted)
    for refused in ("", "ab", "a----", "x--", "abcd--", "a--b=="):
        assert not accepts(text, refused)
    assert accepts(Grammar.text(), "any \n\u00e9 text")
    with pytest.raises(ValueError, match="until"):
        Grammar.text([])


def test_what_text_excludes_is_one_text_or_several() -> None:
    for excludes in ("ab", ["ab"]):
        grammar = Grammar.text(excludes=excludes)
        assert accepts(grammar, "ba")
        assert not accepts(grammar, "xab")


def test_reasoning_before_an_answer() -> None:
    answer = Grammar.from_choices(["yes", "no"])
    grammar = Grammar.reasoning(answer)
    for text in ("<think>why</think>yes", "<think></think>\n\nno", "<think> <think> </think>\nno"):
        assert accepts(grammar, text)
    for text in ("yes", "<think>yes", "<think></think> yes", "<think></think></think>yes"):
        assert not accepts(grammar, text)
    assert accepts(Grammar.reasoning(answer, begin="", between=""), "why</think>no")


def test_reasoning_with_special_tokens_and_a_budget() -> None:
    grammar = Grammar.reasoning(Grammar.from_choices(["yes"]), max_tokens=4, vocabulary=SPECIAL)
    for begin, end in product(([257], list(b"<think>")), ([258], list(b"</think>"))):
        assert takes(grammar, [*begin, *b"ab", *end, *b"yes"])
    assert takes(grammar, [257, *b"abcd", 258, *b"yes"])
    assert not takes(grammar, [257, *b"abcde", 258, *b"yes"])  # a fifth token
    assert takes(grammar, [257, 259, 259, 259, *b"a", 258, *b"yes"])  # seven bytes, four tokens
    assert not takes(grammar, [257, 257, 258, *b"yes"])


@pytest.mark.parametrize("bound", ["max_tokens", "max_chars"])
@pytest.mark.parametrize("most", [0, 1, 2])
def test_bounds_count_nothing_of_an_end_that_holds_a_token(bound: str, most: int) -> None:
    tag = {"type": "tag", "begin": "<", "content": {"type": "any_text", bound: most}, "end": "ab</think>"}
    grammar = made(tag, SPECIAL)
    for n in range(4):
        for end in ([258], list(b"</think>")):
            assert takes(grammar, [*b"<", *b"x" * n, *b"ab", *end]) is (n <= most)


def test_what_text_excludes_may_stand_across_an_end_that_holds_a_token() -> None:
    tag = {"type": "tag", "begin": "<", "content": {"type": "any_text", "excludes": ["xa"]}, "end": "ab</think>"}
    grammar = made(tag, SPECIAL)
    for end in ([258], list(b"</think>")):
        assert takes(grammar, [*b"<xab", *end])
        assert not takes(grammar, [*b"<xaab", *end])


def test_optional_text_ends_where_the_end_of_its_tag_first_stands() -> None:
    text = {"type": "any_text"}
    for content in (text, {"type": "optional", "content": text}):
        grammar = made({"type": "tag", "begin": "<", "content": content, "end": "aa"})
        assert accepts(grammar, "<aa")
        assert accepts(grammar, "<xaa")
        assert not accepts(grammar, "<aaa")
        assert not accepts(grammar, "<xaaa")


def test_bounded_text_needs_no_end() -> None:
    for format in ({"type": "any_text", "max_chars": 2}, {"type": "any_tokens", "max_tokens": 2}):
        grammar = made({"type": "tag", "begin": "<", "content": format, "end": ""})
        assert accepts(grammar, "<ab")
        assert not accepts(grammar, "<abc")


def test_schemas_of_python_types_are_kept_as_json() -> None:
    pydantic = pytest.importorskip("pydantic")
    one, other = [
        made({"type": "json_schema", "json_schema": pydantic.create_model("Model", **{name: (int, ...)})})
        for name in "ab"
    ]
    assert one != other
    again = pickle.loads(pickle.dumps(one))
    assert again == one
    assert accepts(again, '{"a": 1}')
    assert not accepts(again, '{"b": 1}')


def test_a_schema_may_look_like_what_stands_for_a_grammar() -> None:
    schema = {"const": {"type": "earleymask", "grammar": 0}}
    grammar = made({"type": "sequence", "elements": [{"type": "json_schema", "json_schema": schema}, parts()[3]]})
    again = pickle.loads(pickle.dumps(grammar))
    assert again == grammar
    assert accepts(again, '{"type": "earleymask", "grammar": 0}x')


def test_parts_that_are_no_grammars_are_refused() -> None:
    with pytest.raises(TypeError, match="union is made of grammars and constant texts, not of int"):
        Grammar.union(Grammar.json(), 5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="sequence: give at least one grammar"):
        Grammar.sequence()


# Tokens.


def test_tokens_by_id_and_by_text() -> None:
    by_id = made({"type": "token", "token": 259})
    by_text = made({"type": "token", "token": "ab"}, SPECIAL)
    for grammar in (by_id, by_text):
        assert takes(grammar, [259])
        assert not takes(grammar, list(b"ab"))  # the same text in other tokens
    special = made({"type": "token", "token": "<think>"})
    assert takes(special, [257])
    assert not takes(special, list(b"<think>"))


def test_other_tokens() -> None:
    format = {"type": "exclude_token", "exclude_tokens": [97, "<think>", "ab"]}
    grammar = made(format, SPECIAL)
    allowed = {id_ for id_ in range(260) if takes(grammar, [id_])}
    assert allowed == set(range(260)) - {97, 256, 257, 259}
    some = made({"type": "any_tokens", "exclude_tokens": ["b"], "max_tokens": 2}, SPECIAL)
    for n, expected in ((0, True), (2, True), (3, False)):
        assert takes(some, [97] * n) == expected
    assert not takes(some, [98])
    by_id = made({**format, "exclude_tokens": [97, 257, 259]})  # without the vocabulary; EOS is never among them
    assert {id_ for id_ in range(260) if takes(by_id, [id_])} == allowed
    assert pickle.loads(pickle.dumps(grammar)) == grammar


def test_tags_that_tokens_begin() -> None:
    tags = [{"begin": {"type": "token", "token": 257}, "content": CONSTANT, "end": {"type": "token", "token": 258}}]
    format = {"type": "token_triggered_tags", "trigger_tokens": ["<think>"], "tags": tags, "exclude_tokens": ["x"]}
    grammar = made({**format, "trigger_tokens": [257]}, SPECIAL)
    call = [257, 97, 258]
    for tokens in ([], [98], call, [98, *call, 98, 259, *call]):
        assert takes(grammar, tokens)
    for tokens in ([257], [257, 98, 258], [120], [257, 97, 98]):
        assert not takes(grammar, tokens)
    once = made({**format, "trigger_tokens": [257], "at_least_one": True, "stop_after_first": True}, SPECIAL)
    assert takes(once, call)
    assert not any(takes(once, tokens) for tokens in ([], [98, *call], [*call, 98]))
    dispatch = {"type": "token_dispatch", "rules": [[257, CONSTANT], ["b", {"type": "token", "token": 99}]]}
    for loop in (True, False):
        grammar = made({**dispatch, "loop": loop}, SPECIAL)
        for tokens in ([], [100], [100, 257, 97], [98, 99]):
            assert takes(grammar, tokens)
        assert takes(grammar, [98, 99, 257, 97, 100]) == loop
        assert not takes(grammar, [98, 100])


# The forms of the JSON.


def test_the_older_form() -> None:
    schema = {"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"], "additionalProperties": False}
    older = {
        "type": "structural_tag",
        "structures": [
            {"begin": "<f=x>", "schema": schema, "end": "</f>"},
            {"begin": "<f=y>", "schema": json.dumps({"const": 2}), "end": "</f>"},
        ],
        "triggers": ["<f="],
    }
    grammar = Grammar.from_structural_tag(older)
    for text in ("", "a <f", 'b<f=x>{"a": 1}</f><f=y>2</f>c'):
        assert accepts(grammar, text)
    for text in ("<f=", "<f=z>", "<f=x>2</f>"):
        assert not accepts(grammar, text)
    assert not accepts(Grammar.from_structural_tag({**older, "at_least_one": True}), "")
    assert Grammar.from_structural_tag(json.dumps(older)) == grammar or accepts(grammar, "")
    older["structures"][1]["schema"] = {"type": "objec"}  # type: ignore[index]
    with pytest.raises(GrammarError) as caught:
        Grammar.from_structural_tag(older)
    assert caught.value.pointer == "/structures/1/schema/type"


def test_formats_without_a_type() -> None:
    format = {
        "elements": [
            {"value": "a"},
            {"pattern": "b+"},
            {"begin": "<", "content": {"json_schema": {"const": 1}}, "end": ">"},
            {"min": 0, "max": 1, "content": {"value": "c"}},
            {"tags": [TAG], "separator": ","},
        ]
    }
    grammar = made(format)
    for text in ("abb<1>", "ab<1>c<t>a</t>,<t>a</t>"):
        assert accepts(grammar, text)
    assert not accepts(grammar, "ab<2>")


def test_options_of_schemas() -> None:
    schema = {"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}}, "required": ["a", "b"]}
    format = {"type": "json_schema", "json_schema": {**schema, "additionalProperties": False}}
    assert accepts(made(format), '{"a": 1, "b": 2}')
    assert not accepts(made(format, whitespace="compact"), '{"a": 1, "b": 2}')
    assert accepts(made({**format, "any_order": True}), '{"b": 2, "a": 1}')
    assert not accepts(made({**format, "any_order": True}), '{"b": 2}')  # what is required stays required
    for most in range(3):
        grammar = made({**format, "max_whitespace_cnt": most})
        for n in range(4):
            assert accepts(grammar, '{"a":' + " " * n + '1,"b":2}') == (n <= most)
    with pytest.raises(TypeError, match="registry"):
        made(format, registry={})
    grammar = made(format, whitespace="compact", separators=(",", ":"))
    assert pickle.loads(pickle.dumps(grammar)) == grammar


SCHEMAS: list[Any] = [
    True,
    {"type": "string", "maxLength": 3},
    {"$schema": "http://json-schema.org/draft-04/schema#", "type": "object"},
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$ref": "#/definitions/a",
        "definitions": {"a": {"minLength": 1}},
    },
    {"properties": {"a": {"enum": ["x</t", "y"]}}, "unevaluatedProperties": False},
    {"items": {"anyOf": [{"type": "string"}, {"$ref": "#"}]}},
]
VALUES: list[Any] = ["", "a", "</t", "a</tb", "\nx", "nx", 'a"b', '"b', "\x1fx", 1, None, [], {}]
VALUES += (
    [[value] for value in VALUES[:9]] + [{"a": value} for value in VALUES[:9]] + [{value: 1} for value in VALUES[:9]]
)
VALUES += [{"a": "y"}, [[["</t"]]], [{"b": ["nx"]}]]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_texts_excluded_from_schemas(schema: Any) -> None:
    """What is written decides: in each string and key of a document, and nowhere else."""
    plain = made({"type": "json_schema", "json_schema": schema})
    excludes = ["</t", "nx", '"b', 'a"', "fx"]
    grammar = made({"type": "json_schema", "json_schema": schema, "excludes": excludes})

    def strings(value: Any) -> list[str]:
        if isinstance(value, dict):
            return [text for key, inner in value.items() for text in [key, *strings(inner)]]
        if isinstance(value, list):
            return [text for inner in value for text in strings(inner)]
        return [value] if isinstance(value, str) else []

    n_excluded = 0
    for value in VALUES:
        written = json.dumps(value, ensure_ascii=False)
        inside = [json.dumps(text, ensure_ascii=False)[1:-1] for text in strings(value)]
        is_clean = not any(excluded in text for text in inside for excluded in excludes)
        assert accepts(grammar, written) == (accepts(plain, written) and is_clean), written
        n_excluded += accepts(plain, written) and not is_clean
    assert n_excluded


def test_reports_and_warnings_have_their_places() -> None:
    grammar = made({"type": "sequence", "elements": [CONSTANT, {"type": "json_schema", "json_schema": {"typo": 1}}]})
    assert "/format/elements/1/json_schema/typo" in [row.pointer for row in grammar.report]
    assert [warning.pointer for warning in grammar.warnings] == ["/format/elements/1/json_schema/typo"]
    lark = Grammar.from_lark('start: %json {"typo": 1}')
    around = Grammar.sequence(Grammar.sequence(Grammar.from_json_schema({"typo": 1})), lark)
    first, second = "the grammar at /format/elements/0", "the grammar at /format/elements/1"
    places = [("/typo", f"{first}, {first}"), ("/typo", f"{second}, line 1, column 8")]
    assert [(row.pointer, row.source) for row in around.report if row.keyword == "typo"] == places
    for grammar in (around, pickle.loads(pickle.dumps(around))):
        assert [(warning.pointer, warning.source) for warning in grammar.warnings] == places


WRONG: dict[str, tuple[Any, str, str]] = {
    "no type": ({"foo": 1}, "", "a format needs a 'type'"),
    "unknown type": ({"type": "tagg"}, "/type", 'no format of type "tagg"\nhint: did you mean tag?'),
    "missing key": ({"type": "tag", "begin": "a", "end": "b"}, "", "'tag' needs 'content'"),
    "unknown key": ({**CONSTANT, "valu": 1}, "/valu", "has no 'valu'\nhint: did you mean value?"),
    "no string": ({"type": "const_string", "value": 1}, "/value", "a string must stand here, not 1"),
    "surrogate": ({"type": "const_string", "value": "a\ud800"}, "/value", "lone surrogate, at 1"),
    "no list": ({"type": "or", "elements": {}}, "/elements", "'elements' is a list, not {}"),
    "empty list": ({"type": "or", "elements": []}, "/elements", "'elements' is empty"),
    "within": (
        {"type": "or", "elements": [CONSTANT, {"type": "regex", "pattern": "("}]},
        "/elements/1/pattern",
        "missing",
    ),
    "no flag": ({"type": "dispatch", "rules": [["a", CONSTANT]], "loop": 1}, "/loop", "'loop' is true or false, not 1"),
    "no count": ({"type": "any_text", "max_chars": -1}, "/max_chars", "a whole number from 0 to 2147483647, not -1"),
    "counts": ({"type": "repeat", "min": 2, "max": 1, "content": CONSTANT}, "/max", "'max' is 1, less than 'min', 2"),
    "no end": ({**TAG, "content": {"type": "any_text"}, "end": ""}, "/content", "the content of the tag has no end"),
    "trigger": ({"type": "triggered_tags", "triggers": ["x"], "tags": [TAG]}, "/tags/0/begin", "none of the triggers"),
    "two": (
        {"type": "triggered_tags", "triggers": ["<", "<t"], "tags": [TAG]},
        "/tags/0/begin",
        "several do: '<', '<t'",
    ),
    "unused": ({"type": "triggered_tags", "triggers": ["<", "x"], "tags": [TAG]}, "/triggers/1", "no tag begins with"),
    "unused token": (
        {
            "type": "token_triggered_tags",
            "trigger_tokens": [97, 98],
            "tags": [{"begin": {"type": "token", "token": 97}, "content": CONSTANT, "end": "b"}],
        },
        "/trigger_tokens/1",
        "no tag begins with",
    ),
    "no tag": (
        {"type": "tags_with_separator", "tags": [parts()[3]], "separator": ","},
        "/tags/0",
        "a format of type 'tag' must stand here, not a Grammar",
    ),
    "excluded": (
        {"type": "triggered_tags", "triggers": ["<t"], "tags": [TAG], "excludes": ["<"]},
        "/tags/0/begin",
        "'<t' can never stand, because text that contains '<' is excluded",
    ),
    "excludes": ({"type": "json_schema", "json_schema": True, "excludes": ["x", ""]}, "/excludes/1", "empty string"),
    "style": ({"type": "json_schema", "json_schema": True, "style": "yaml"}, "/style", "yaml"),
    "schema": ({"type": "json_schema", "json_schema": {"minimum": "1"}}, "/json_schema/minimum", "`minimum`"),
    "no schema": ({"type": "json_schema", "json_schema": 5}, "/json_schema", "a schema must be a dict"),
    "a grammar as schema": ({"type": "json_schema", "json_schema": parts()[3]}, "/json_schema", "not Grammar"),
    "grammar": ({"type": "grammar", "grammar": "root ::= x"}, "/grammar", "rule `x` is not defined"),
    "token": ({"type": "token", "token": -1}, "/token", "a token is an id or a text, not -1"),
    "no text of a token": ({"type": "token", "token": ""}, "/token", "not an empty one"),
    "surrogate in a token": ({"type": "exclude_token", "exclude_tokens": ["\ud800"]}, "/exclude_tokens/0", "surrogate"),
    "no format": ([1], "", "a format is an object or a Grammar, not [1]"),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_have_their_places(name: str) -> None:
    format, pointer, message = WRONG[name]
    for vocabulary in (None, SPECIAL):
        with pytest.raises(GrammarError) as caught:
            made(format, vocabulary)
        assert caught.value.pointer == "/format" + pointer
        assert message in str(caught.value)


def test_wrong_outermost_values() -> None:
    for given, message in (
        ([], "a structural tag is a JSON object, not []"),
        ("{", "the structural tag is not JSON"),
        ({"type": "structural"}, "has type 'structural_tag'"),
        ({"type": []}, "has type 'structural_tag', not []"),
        ({"type": "structural_tag"}, "needs 'format'"),
        ({"format": CONSTANT, "triggers": []}, "has no 'triggers'"),
    ):
        with pytest.raises(GrammarError) as caught:
            Grammar.from_structural_tag(given)
        assert message in str(caught.value)
    assert accepts(Grammar.from_structural_tag(CONSTANT), "a")  # a format alone
    schema = {"type": "json_schema", "json_schema": {}, "max_whitespace_cnt": 2}
    for options in ({"indent": 2}, {"separators": (",", ":")}):
        with pytest.raises(GrammarError, match="already says which white space is written") as caught:
            made(schema, **options)
        assert caught.value.pointer == "/format/max_whitespace_cnt"
    with pytest.raises(TypeError, match="vocabulary must be a Vocabulary, not int"):
        Grammar.from_structural_tag(CONSTANT, 5)  # type: ignore[arg-type]


def test_limits() -> None:
    deep: Any = CONSTANT
    for _ in range(120):
        deep = {"type": "sequence", "elements": [deep]}
    with pytest.raises(GrammarLimitError, match="more than 100 formats"):
        made(deep)
    with pytest.raises(GrammarLimitError):
        made(
            {"type": "or", "elements": [{"type": "const_string", "value": str(n)} for n in range(500)]},
            limits=Limits(symbols=100),
        )
    circle: dict[str, Any] = {"type": "optional"}
    circle["content"] = circle
    with pytest.raises(GrammarLimitError):
        made(circle)


def test_structural_tags_stand_for_grammars() -> None:
    """A dict, its text and XGrammar's model are taken where a grammar is; the vocabulary then names the tokens."""
    tag = {"type": "structural_tag", "format": {"type": "tag", "begin": "<think>", "content": CONSTANT, "end": "."}}
    for given in (tag, json.dumps(tag)):
        matcher = Matcher(given, SPECIAL)
        assert matcher.grammar == Grammar.from_structural_tag(given, SPECIAL)
        assert matcher.validate([257, 97, 46, 256]) == 4
        assert Constraint(given, SPECIAL).mask([257])[97]
    schema = json.dumps({"const": "structural_tag"})
    assert Matcher(schema, BYTES).grammar.kind == "json_schema"


def test_structural_tags_of_xgrammar_stand_for_grammars() -> None:
    package = pytest.importorskip("xgrammar")
    format = package.structural_tag.ConstStringFormat(value="a")
    assert accepts(Matcher(package.StructuralTag(format=format), BYTES).grammar, "a")
