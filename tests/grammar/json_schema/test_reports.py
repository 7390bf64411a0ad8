"""What a schema is refused for, what is left out of it, and the report; schemas in pickles and in Lark grammars."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

pytest.importorskip("regress")
pytest.importorskip("jsonschema")

from earleymask import Grammar, GrammarError
from earleymask.grammar.errors import Reason
from support.schema_grammars import accepts, documents
from support.schema_oracle import Oracle

RUN_OUT: dict[str, Any] = {
    "items": {"type": "array", "allOf": [{"contains": {"const": 2}}, {"contains": {"const": 3}}]},
    "minItems": 2,
    "uniqueItems": True,
}
"""There are enough arrays with a 2 and a 3, but that is not counted."""
MIXED: dict[str, Any] = {"prefixItems": [{"type": "string"}], "items": {"type": "number"}, "uniqueItems": True}
"""Its negation is refused, because items out of many have different schemas."""


@pytest.mark.parametrize(
    ("schema", "pointer", "said"),
    [
        ({"items": RUN_OUT}, "/items/uniqueItems", "there may be too few items that differ"),
        ({"not": MIXED}, "/not/uniqueItems", "negation"),
        ({"properties": {"a": {"pattern": "("}}}, "/properties/a/pattern", "pattern"),
        ({"patternProperties": {"(": True}}, "/patternProperties", "patternProperties"),
        ({"multipleOf": 10**18 + 9}, "/multipleOf", "remainders"),
        ({"const": "\ud800"}, "/const", "surrogate"),
        ({"$ref": "#"}, "", "circle"),
        ({"properties": {"a": {"anyOf": [True, {"$ref": "#/properties/a"}]}}}, "/properties/a", "circle"),
        ({"$ref": "#/nowhere"}, "/$ref", "nowhere"),
        ({"type": "text"}, "/type", "must be"),
    ],
)
def test_refusals_name_the_place(schema: Any, pointer: str, said: str) -> None:
    with pytest.raises(GrammarError, match=said) as caught:
        Grammar.from_json_schema(schema)
    assert caught.value.pointer == pointer


def test_a_list_in_items_hides_no_other_fault_of_its_schema() -> None:
    with pytest.raises(GrammarError) as caught:
        Grammar.from_json_schema({"pattern": "(a)\\1", "items": [{}], "not": 5})
    assert [error.pointer for error in caught.value.errors] == ["/pattern", "/items", "/not"]
    with pytest.raises(GrammarError) as caught:  # what is malformed in another way is found as well, and once
        Grammar.from_json_schema({"items": [{}], "not": 5, "minItems": "1"})
    assert [error.pointer for error in caught.value.errors] == ["/items", "/not", "/minItems"]


def test_all_faults_are_reported_at_once() -> None:
    """Each of these is found at another stage of loading: the check of one keyword, negations, unique items."""
    schemas = {
        "keyword": ({"pattern": "(a)\\1"}, "/pattern"),
        "name": ({"format": "idn-hostname"}, "/format"),
        "negated": ({"not": {"format": "hostname"}}, "/not/format"),
        "many": ({"not": {"maxItems": 5000}}, "/not/maxItems"),
        "unique": ({"not": MIXED}, "/not/uniqueItems"),
    }
    expected = []
    for name, (schema, pointer) in schemas.items():
        with pytest.raises(GrammarError) as caught:
            Grammar.from_json_schema(schema)
        assert [error.pointer for error in caught.value.errors] == [pointer]
        expected.append((f"/properties/{name}{pointer}", caught.value.message))
    together = {"properties": {name: schema for name, (schema, _) in schemas.items()}}
    with pytest.raises(GrammarError) as caught:
        Grammar.from_json_schema(together)
    assert [(error.pointer, error.message) for error in caught.value.errors] == expected
    assert [row.pointer for row in caught.value.report] == [pointer for pointer, _ in expected]
    assert all(f"at #{pointer}: {message}" in str(caught.value) for pointer, message in expected)
    # Without `strict`, the same keywords are left out.
    report = Grammar.from_json_schema(together, strict=False).report
    assert {pointer for pointer, _ in expected} <= {row.pointer for row in report if row.why.startswith("strict=False")}


def test_all_circles_are_reported_at_once() -> None:
    circles = {f"p{index}": {"allOf": [{"$ref": f"#/properties/p{index}"}]} for index in range(3)}
    circles["chain"] = {"anyOf": [{"$ref": "#/$defs/one"}, {"$ref": "#/$defs/two"}]}
    schema = {
        "properties": {**circles, "refused": {"pattern": "(a)\\1"}},
        "$defs": {"one": {"not": {"$ref": "#/$defs/two"}}, "two": {"if": {"$ref": "#/$defs/one"}}},
    }
    with pytest.raises(GrammarError) as caught:
        Grammar.from_json_schema(schema)
    found = [error.pointer for error in caught.value.errors]
    assert found[:4] == ["/properties/p0", "/properties/p1", "/properties/p2", "/properties/refused/pattern"]
    assert len(found) == 5 and found[4] in ("/$defs/one", "/$defs/two")


def test_what_depends_on_a_refused_fault_is_not_guessed() -> None:
    """Without the constants nothing would say what the items are. With them, they can be distinguished."""
    schema = {"items": {"enum": ["\ud800", 1, 2]}, "uniqueItems": True}
    with pytest.raises(GrammarError) as caught:
        Grammar.from_json_schema(schema)
    assert [error.pointer for error in caught.value.errors] == ["/items/enum"]
    Grammar.from_json_schema({**schema, "items": {"enum": ["a", 1, 2]}})


def test_errors_have_the_rows_of_what_is_refused() -> None:
    schema = {"items": RUN_OUT, "properties": {"a": {"pattern": "("}, "b": {"multipleOf": 10**18 + 9}}}
    with pytest.raises(GrammarError) as caught:
        Grammar.from_json_schema(schema)
    error = pickle.loads(pickle.dumps(caught.value))
    assert [row[:3] for row in error.report] == [
        ("/items/uniqueItems", "uniqueItems", "refused"),
        ("/properties/a/pattern", "pattern", "refused"),
        ("/properties/b/multipleOf", "multipleOf", "refused"),
    ]
    with pytest.raises(GrammarError) as caught:
        Grammar.from_json_schema({"items": schema["items"]})
    assert [row[:3] for row in caught.value.report] == [("/items/uniqueItems", "uniqueItems", "refused")]
    left = Grammar.from_json_schema({"items": schema["items"]}, strict=False)
    widened = [row for row in left.report if row.status == "widened"]
    assert [(row.pointer, f"strict=False: {row.why}") for row in caught.value.report] == [
        (row.pointer, row.why) for row in widened
    ]
    with pytest.raises(GrammarError) as caught:  # a malformed schema has no rows
        Grammar.from_json_schema({"type": "text"})
    assert caught.value.report == ()


def test_report_has_a_row_for_each_keyword() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "x",
        "type": "object",
        "properties": {"a": {"pattern": "(a)\\1", "x-own": 1, "own": 2, "format": "no-format"}},
    }
    grammar = Grammar.from_json_schema(schema, strict=False)
    rows = {row.pointer: (row.keyword, row.status) for row in grammar.report if row.keyword}
    assert rows == {
        "/$schema": ("$schema", "exact"),
        "/title": ("title", "exact"),
        "/type": ("type", "exact"),
        "/properties": ("properties", "exact"),
        "/properties/a/pattern": ("pattern", "widened"),
        "/properties/a/x-own": ("x-own", "exact"),
        "/properties/a/own": ("own", "ignored"),
        "/properties/a/format": ("format", "exact"),
    }
    assert accepts(grammar, '{"a": "b"}')


DRAFT_4 = {"$schema": "http://json-schema.org/draft-04/schema#"}


@pytest.mark.parametrize(
    ("schema", "narrowed", "not_written"),
    [
        ({"type": "string", "minLength": 1}, {"/minLength"}, r'"\ud800"'),
        ({"pattern": "."}, {"/pattern"}, r'"\ud800"'),
        ({"format": "hostname"}, {"/format"}, '"xn--ihqwcrb4cv8a8dqg056pqjye"'),
        ({"items": {"type": "number"}, "uniqueItems": True}, {"/uniqueItems"}, "[1e0]"),
        ({"type": "integer"}, {"/type"}, "0." + 30 * "0" + "1e31"),
        ({"enum": ["a", [1]]}, {"/enum"}, "[0." + 30 * "0" + "1e31]"),
        ({"const": {"a": 1}}, {"/const"}, '{"a": 0.' + 30 * "0" + "1e31}"),
        ({"multipleOf": 7}, {"/multipleOf"}, "0." + 30 * "0" + "7e31"),
        (DRAFT_4 | {"enum": [1, 2]}, {"/enum"}, "0." + 30 * "0" + "1e31"),
        ({"not": {"const": 5}}, {"/not/const"}, "0." + 30 * "0" + "1e31"),
        ({"not": {"format": "date"}}, {"/not/format"}, r'"\ud800"'),
        ({"if": {"format": "date"}, "then": {"const": "2020-02-02"}}, {"/if/format"}, r'"\ud800"'),
        ({"type": "number", "not": {"minimum": 3, "format": "date"}}, {"/not/minimum"}, "0." + 30 * "0" + "1e31"),
        ({"type": ["null", "string"], "not": {"format": "date"}}, {"/not/format"}, r'"\ud800"'),
    ],
)
def test_what_is_valid_and_not_written_has_its_row(schema: Any, narrowed: set[str], not_written: str) -> None:
    grammar = Grammar.from_json_schema(schema, spellings="all")
    assert {row.pointer for row in grammar.report if row.status == "narrowed" and row.keyword} == narrowed
    assert all(row.why for row in grammar.report if row.status == "narrowed")
    if "format" not in schema:  # the oracle does not decode Punycode, either
        assert Oracle(schema).accepts(not_written)
    assert not accepts(grammar, not_written)


MANY_ZEROS = "0." + 30 * "0"
"""Before an exponent, more digits than are counted."""


@pytest.mark.parametrize(
    ("schema", "narrowed", "not_written"),
    [
        ({"type": "number"}, set(), "1e400"),
        ({"const": 5}, set(), "5e0"),
        ({"type": "integer", "minimum": 3}, set(), "5e0"),
        ({"minimum": 3}, {"/minimum"}, MANY_ZEROS + "5e31"),
        ({"not": {"const": 5}}, {"/not/const"}, MANY_ZEROS + "6e31"),
        ({"items": {"not": {"enum": ["a", [5]]}}}, {"/items/not/enum"}, f"[[{MANY_ZEROS}6e31]]"),
        ({"not": {"type": "integer"}}, {"/not/type"}, MANY_ZEROS + "15e31"),
        ({"not": {"type": "integer", "minimum": 3}}, {"/not/minimum", "/not/type"}, MANY_ZEROS + "15e31"),
        ({"if": {"const": 5}, "then": {"type": "string"}}, {"/if/const"}, MANY_ZEROS + "6e31"),
        ({"oneOf": [{"const": 5}, {"type": "number"}]}, {"/oneOf/0/const"}, MANY_ZEROS + "6e31"),
        ({"oneOf": [{"type": "integer", "const": 5}, {"type": "string"}]}, set(), "5e0"),
        ({"contains": {"const": 5}, "minContains": 0, "maxContains": 0}, {"/contains/const"}, f"[{MANY_ZEROS}6e31]"),
        ({"not": {"$ref": "#/$defs/a"}, "$defs": {"a": {"const": 5}}}, {"/$defs/a/const"}, MANY_ZEROS + "6e31"),
        ({"multipleOf": 123457, "not": {"const": 246914}}, {"/multipleOf", "/not/const"}, "370371e0"),
        (DRAFT_4 | {"not": {"type": "integer"}}, set(), "1e400"),
        ({"type": "integer", "not": {"const": 5}}, set(), "6e0"),
        ({"type": ["integer", "null"], "if": {"const": 5}, "then": False}, set(), "6e0"),
        ({"type": ["string", "boolean"], "not": {"const": 5}}, set(), '"\\ud800"'),
        ({"type": ["number", "null"], "not": {"const": 5}}, {"/not/const"}, MANY_ZEROS + "6e31"),
        ({"type": "array", "not": {"items": {"const": 5}}}, {"/not/items/const"}, f"[{MANY_ZEROS}6e31]"),
        (
            {"type": "integer", "not": {"const": 5}, "$defs": {"a": {"not": {"$ref": "#/not"}}}},
            set(),
            "6e0",
        ),
        (
            {"items": {"not": {"$ref": "#/not"}}, "type": ["integer", "array"], "not": {"const": 5}},
            {"/not/const"},
            f"[{MANY_ZEROS}6e31]",
        ),
    ],
)
def test_numbers_that_plain_spellings_leave_out_have_their_row(
    schema: Any, narrowed: set[str], not_written: str
) -> None:
    """Constants and integers have no exponent; numbers that must not be one of them may have one."""
    grammar = Grammar.from_json_schema(schema)
    rows = {row.pointer: row for row in grammar.report if row.status == "narrowed"}
    assert {pointer for pointer in rows if pointer} == narrowed
    assert all(rows[pointer].reason is Reason.NUMBER_DIGITS for pointer in narrowed)
    assert any("finite in double precision" in row.why for row in grammar.report if not row.pointer)
    assert Oracle(schema).accepts(not_written) and not accepts(grammar, not_written)
    without = Grammar.from_json_schema(schema, number_exponents=False)  # one row about the document says all
    assert not [row for row in without.report if row.pointer and row.status == "narrowed"]
    assert "number_exponents=False: no number has an exponent" in [row.why for row in without.report if not row.pointer]


def test_rows_about_digits_say_that_computed_multiples_may_have_more() -> None:
    """Each row beside a `multipleOf` whose multiples are computed: more digits than it counts are written."""
    longest = "123457" + 20 * "0" + "e0"
    for schema in ({"multipleOf": 123457, "minimum": 1}, {"multipleOf": 123457, "not": {"multipleOf": 7}}):
        grammar = Grammar.from_json_schema(schema)
        found = [row for row in grammar.report if row.reason is Reason.NUMBER_DIGITS]
        assert len(found) == 2 and all("unless multiples are computed" in row.why for row in found)
        assert Oracle(schema).accepts(longest) and accepts(grammar, longest)
        assert accepts(grammar, "123457e099") and not accepts(grammar, "123457e0000")
        assert any("unless multiples are computed" in row.why for row in grammar.report if not row.pointer)
    alone = Grammar.from_json_schema({"minimum": 1}).report
    assert not any("computed" in row.why for row in alone)


def test_negated_numbers_of_a_keyword_that_is_left_out_have_no_row() -> None:
    schema = {"not": {"multipleOf": 10**18 + 9}, "items": {"not": {"const": 5}}}
    rows = {row.pointer: row.status for row in Grammar.from_json_schema(schema, strict=False).report}
    assert rows["/not/multipleOf"] == "widened" and rows["/items/not/const"] == "narrowed"


@pytest.mark.parametrize(
    ("schema", "options", "not_written", "reason"),
    [
        ({"properties": {"a": True, "b": True}}, {}, '{"b": 1, "a": 1}', "property_order"),
        ({"type": "object"}, {"closed": True}, '{"a": 1}', "closed"),
        ({"const": "a"}, {}, r'"\u0061"', "spellings"),
        ({"properties": {"a": {"type": "null"}}, "required": ["a"]}, {}, r'{"\u0061": null}', "spellings"),
        ({"type": "integer"}, {}, "5.0", "spellings"),
        ({"type": "number"}, {}, "123456789e0", "spellings"),
        ({"type": "number"}, {}, "1e0001", "spellings"),
        ({}, {}, "[\n\t 1]", "spellings"),
        ({"type": "string"}, {"ensure_ascii": True}, '"\xe9"', "string_escapes"),
        ({"type": "string"}, {"string_escapes": "shortest"}, r'"\/"', "string_escapes"),
        ({"type": "string"}, {"lone_surrogates": False, "spellings": "all"}, r'"\ud800"', "lone_surrogates"),
        ({"type": "number"}, {"number_plain": True}, "5e0", "number_plain"),
        ({"type": "integer"}, {"number_plain": True, "number_exponents": True}, "5e0", "number_plain"),
        ({"type": "number"}, {"number_exponents": False}, "5e0", "number_exponents"),
        ({}, {"whitespace": "any", "max_whitespace": 1}, "[  1]", "whitespace"),
        ({}, {"indent": 1}, "[1]", "whitespace"),
        ({}, {"separators": (",", ":")}, "[1, 1]", "whitespace"),
    ],
)
def test_each_option_that_narrows_has_a_row_about_the_document(
    schema: Any, options: dict[str, Any], not_written: str, reason: str
) -> None:
    def about(grammar: Grammar) -> list[str]:
        rows = [row for row in grammar.report if row.reason == reason]
        assert all((row.pointer, row.keyword, row.status) == ("", "", "narrowed") and row.why for row in rows)
        return [row.why for row in rows]

    grammar = Grammar.from_json_schema(schema, **options)
    assert Oracle(schema).accepts(not_written) and not accepts(grammar, not_written)
    assert len(about(grammar)) == 1
    free = Grammar.from_json_schema(schema, spellings="all", property_order="any", whitespace="any")
    assert accepts(free, not_written)
    assert len(about(free)) == (reason == "whitespace")


@pytest.mark.parametrize(
    ("options", "not_written", "why"),
    [
        ({}, '{"a":  1}', "whitespace='flexible', max_indent=64: no other white space is written"),
        ({"max_indent": 2}, '{\n   "a": 1}', "whitespace='flexible', max_indent=2: no other white space is written"),
        ({"whitespace": "compact"}, '{"a": 1}', "whitespace='compact': no other white space is written"),
        (
            {"separators": (" , ", " : "), "whitespace": "compact"},
            '{"a":1}',
            "whitespace='compact', separators=(' , ', ' : '): no other white space is written",
        ),
        (
            {"number_plain": True},
            '{"a": 1.0}',
            "number_plain=True: no number has an exponent, and no integer a fraction",
        ),
        (
            {"number_plain": True},
            '{"a": 1e0}',
            "number_plain=True: no number has an exponent, and no integer a fraction",
        ),
    ],
)
def test_rows_name_the_options_that_they_are_due_to(options: dict[str, Any], not_written: str, why: str) -> None:
    grammar = Grammar.from_json_schema({"properties": {"a": {"type": "integer"}}}, **options)
    assert not accepts(grammar, not_written)
    assert why in [row.why for row in grammar.report if not row.pointer]


@pytest.mark.parametrize(
    ("schema", "pointer", "why"),
    [
        (
            {"items": {"$schema": "http://json-schema.org/draft-04/schema#"}},
            "/items/$schema",
            "ignored: it counts at the root, and beside `$id`",
        ),
        (DRAFT_4 | {"items": {"$schema": "x"}}, "/items/$schema", "ignored: it counts at the root, and beside `id`"),
        (DRAFT_4, "/$schema", "asserts nothing"),
        ({"items": DRAFT_4 | {"id": "http://h/x"}}, "/items/$schema", "asserts nothing"),
        ({"then": {"type": "null"}}, "/then", "without `if`, asserts nothing"),
        ({"else": {"type": "null"}}, "/else", "without `if`, asserts nothing"),
        ({"minContains": 2}, "/minContains", "without `contains`, asserts nothing"),
        ({"maxContains": 2}, "/maxContains", "without `contains`, asserts nothing"),
        (DRAFT_4 | {"additionalItems": False}, "/additionalItems", "without a list as `items`, asserts nothing"),
        (
            DRAFT_4 | {"items": {}, "additionalItems": False},
            "/additionalItems",
            "without a list as `items`, asserts nothing",
        ),
        (DRAFT_4 | {"items": [{}], "additionalItems": False}, "/additionalItems", ""),
        ({"if": {"type": "null"}, "then": {"const": 1}}, "/then", ""),
        ({"contains": True, "minContains": 2}, "/minContains", ""),
    ],
)
def test_rows_say_why_a_keyword_asserts_nothing(schema: dict[str, Any], pointer: str, why: str) -> None:
    found = {row.pointer: (row.status, row.why) for row in Grammar.from_json_schema(schema).report}
    assert found[pointer] == ("exact", why)


def test_a_format_of_which_some_is_left_out_is_not_negated() -> None:
    for schema in ({"not": {"format": "hostname"}}, {"oneOf": [{"$ref": "#/$defs/a"}, {"minLength": 3}]}):
        with pytest.raises(GrammarError, match="under a negation"):
            Grammar.from_json_schema(schema | {"$defs": {"a": {"format": "hostname"}}})
    Grammar.from_json_schema({"anyOf": [{"format": "hostname"}, {"format": "ipv4"}]})


@pytest.mark.parametrize("keyword", ["x-defs", "const"])
def test_what_stands_in_no_schema_under_a_negation_is_not_negated(keyword: str) -> None:
    """A reference may lead into an unknown keyword or a constant; the schema there counts only for the reference."""
    schema = {
        "not": {"type": "object", keyword: {"h": {"format": "hostname"}}},
        "properties": {"a": {"$ref": f"#/not/{keyword}/h"}},
    }
    assert {row.pointer: row.status for row in Grammar.from_json_schema(schema).report}["/not"] == "exact"


@pytest.mark.parametrize(
    ("demanded", "why"),
    [
        ({"format": "hostname"}, "`format` cannot be enforced: it may stand under a negation"),
        ({"type": "array", **MIXED}, "would have to be equal"),
        ({"type": "array", "maxItems": 5000}, "at most 2048 items or members can be counted"),
        ({"type": "integer", "maximum": 10**308 - 1}, "of numbers that are not integers the bound has too many digits"),
    ],
)
def test_items_that_are_not_to_be_counted_are_a_negation(demanded: Any, why: str) -> None:
    """With `maxContains`, or if one item must not count for two, other items must not match: a negation."""
    counted = {"contains": demanded}
    for schema in (
        {**counted, "maxContains": 1},
        {**counted, "minContains": 0, "maxContains": 0},
        {"properties": {"a": {"allOf": [{"$ref": "#/$defs/hosts"}, {"maxItems": 3}]}}, "$defs": {"hosts": counted}}
        | {"$defs": {"hosts": {**counted, "maxContains": 2}}},
        {"allOf": [{"$ref": "#/$defs/hosts"}, {"uniqueItems": True}], "items": {"type": "string"}}
        | {"$defs": {"hosts": counted}},
        {"$dynamicRef": "#node", "$defs": {"a": {"$dynamicAnchor": "node", "not": {"$dynamicRef": "#other"}}}}
        | {"allOf": [{"$defs": {"b": {"$dynamicAnchor": "other", **demanded}}}]},
    ):
        with pytest.raises(GrammarError, match=why):
            Grammar.from_json_schema(schema)
    for schema in (
        counted,
        {**counted, "minContains": 2},
        {"properties": {"a": counted, "b": {"uniqueItems": True, "items": {"type": "string"}}}},
    ):
        Grammar.from_json_schema(schema)


SETS: list[Any] = [
    {"format": "hostname"},
    {"type": "array", "maxItems": 5000},
    {"type": "integer", "maximum": 10**308 - 1},
]


@pytest.mark.parametrize("inner", SETS, ids=json.dumps)
def test_branches_that_are_told_apart_are_not_negated(inner: Any) -> None:
    """The branches are like those of a discriminated union of models, with references, also references alone."""
    kinds = {
        kind: {"type": "object", "properties": {"kind": {"const": kind}, "it": inner}, "required": ["kind", "it"]}
        for kind in "ab"
    }
    chain = {"c": {"$ref": "#/definitions/b", "title": "the other"}}
    union = {"oneOf": [{"$ref": "#/definitions/a"}, {"$ref": "#/definitions/c", "description": "a chain"}]}
    either = {"oneOf": [{"$ref": "#/definitions/it"}, {"type": "boolean"}], "definitions": {"it": inner}}
    for uri in ("http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"):
        grammar = Grammar.from_json_schema({"$schema": uri, **union, "definitions": {**kinds, **chain}})
        assert not accepts(grammar, '{"kind": "c", "it": []}')
        if inner.get("type") == "array":
            assert accepts(grammar, '{"kind": "b", "it": []}')
        kinds["a"]["required"] = ["it"]
        with pytest.raises(GrammarError, match="it may stand under a negation"):
            Grammar.from_json_schema({"$schema": uri, **union, "definitions": {**kinds, **chain}})
        kinds["a"]["required"] = ["kind"]
        if "type" in inner:
            Grammar.from_json_schema({"$schema": uri, **either})
    # Up to draft 7, keywords beside `$ref` are ignored, and so do not distinguish branches.
    beside = {
        "oneOf": [
            {"$ref": "#/definitions/it", "type": "array"},
            {"$ref": "#/definitions/it", "type": ["string", "integer"]},
        ]
    }
    beside["definitions"] = {"it": inner}  # type: ignore[assignment]
    Grammar.from_json_schema({"$schema": "https://json-schema.org/draft/2020-12/schema", **beside})
    with pytest.raises(GrammarError):
        Grammar.from_json_schema({"$schema": "http://json-schema.org/draft-07/schema#", **beside})


@pytest.mark.parametrize("draft", ["draft-04", "draft-06", "draft-07"])
@pytest.mark.parametrize("value", [5, None, True, "a", [1]])
def test_keywords_that_mean_nothing_where_they_stand_may_have_any_value(draft: str, value: Any) -> None:
    uri = {"$schema": f"http://json-schema.org/{draft}/schema#"}
    later = {"dependentSchemas": value, "dependentRequired": value, "prefixItems": value, "unevaluatedItems": value}
    ignored = {"oneOf": value, "allOf": value, "anyOf": value, "not": value, "dependencies": value, "items": value}
    ignored |= {"properties": value, "patternProperties": value, "if": value, "required": value, "pattern": value}
    string = {"definitions": {"s": {"type": "string"}}}
    beside = {"$ref": "#/definitions/s", **ignored}
    many = [{"properties": {"a": {"pattern": "a{9}"}, "b": beside}, "minProperties": 2} for _ in range(9)]
    for schema in (later, {"not": {"not": later}}, {"items": later}, {"allOf": [later, later]}):
        grammar = Grammar.from_json_schema({**uri, **schema})
        assert accepts(grammar, "1") and accepts(grammar, '{"a": [1]}')
    for schema in (
        {"properties": {"b": beside}},
        {"properties": {"b": {"not": {"not": beside}}}},
        {"properties": {"b": {"anyOf": [beside, {"not": {"not": beside}}]}}},
        {"allOf": many, "anyOf": many},
    ):
        grammar = Grammar.from_json_schema({**uri, **string, **schema}, property_order="any")
        assert accepts(grammar, '{"a": "aaaaaaaaa", "b": "x"}')
        assert not accepts(grammar, '{"a": "aaaaaaaaa", "b": 1}')


def test_pickles_read_the_schema_again() -> None:
    grammar = Grammar.from_json_schema(
        {"$ref": "http://example.org/x"},
        registry={"http://example.org/x": {"properties": {"a": {"type": "null"}}}},
        property_order="any",
        separators=(",", ":"),
    )
    copy = pickle.loads(pickle.dumps(grammar))
    assert copy == grammar
    assert copy.report == grammar.report
    for text in ('{"a":null}', '{"a":1}', '{"a": null}'):
        assert accepts(copy, text) == accepts(grammar, text)
    assert grammar != Grammar.from_json_schema(True)


def test_schemas_within_lark_grammars() -> None:
    grammar = Grammar.from_lark(
        r"""
        start: "call " NAME "(" arguments ")" tail
        arguments: %json {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
        tail: (" then " @again)*
        NAME: /[a-z]+/
        %ignore "~"
        """,
        grammars={"again": Grammar.from_json_schema({"enum": [[1], "x"]}, whitespace="compact", spellings="all")},
    )
    for text in ('call f({"a": 1})', '~call ~f({"a": 1, "b": {}})~', 'call f({"a":1}) then [1]~ then "\\u0078"'):
        assert accepts(grammar, text), text
    wrong_ones = [
        'call f({"a": "1"})',
        'call f({"a": 1, "b": 1, "b": 2})',
        'call f({~"a": 1})',
        'call f({"a":1}) then [ 1]',
    ]
    for text in wrong_ones:
        assert not accepts(grammar, text), text
    copy = pickle.loads(pickle.dumps(grammar))
    assert copy == grammar
    assert accepts(copy, 'call f({"a": 1})')


@pytest.mark.parametrize(
    ("block", "said"),
    [
        ('{"type": "strin"}', "at #/type: `type` must be"),
        ('{"not": {}}', "no document satisfies"),
        ('{"type": }', "not JSON"),
        ('{"pattern": "(a)\\\\1"}', "backreferences"),
    ],
)
def test_faults_of_schemas_within_lark_grammars(block: str, said: str) -> None:
    with pytest.raises(GrammarError, match=said) as caught:
        Grammar.from_lark(f'start: "x"\n  | %json {block}\n')
    assert caught.value.line == 2


LEFT_OUT: list[dict[str, Any]] = [
    {"properties": {"a": {"not": {"type": "array", **MIXED}}}},
    {"oneOf": [{"type": "array", **MIXED}, {"type": "array", "minItems": 2}]},
    {"oneOf": [{"enum": ["aa", "a"], "pattern": "^(a)\\1"}, {"enum": ["a", "ab"]}]},
    {"allOf": [{"not": {"enum": ["a", 1], "pattern": "^(a)\\1"}}, {"enum": ["a", "ab"]}]},
    {"if": {"type": "array", **MIXED}, "then": {"maxItems": 1}},
    {"if": {"type": "array", **MIXED}, "then": {"maxItems": 1}, "else": {"type": "string"}},
    {"not": {"type": "array", "minItems": 3000}},
    {"type": "array", "contains": {"pattern": "^(a)\\1"}, "maxContains": 1},
    {"type": "array", "contains": {"pattern": "^(a)\\1"}, "unevaluatedItems": {"type": "integer"}},
    {"patternProperties": {"^(a)\\1": {"type": "integer"}}, "unevaluatedProperties": {"type": "string"}},
    {"not": {"patternProperties": {"^(a)\\1": {"type": "integer"}}, "unevaluatedProperties": False}},
    {"type": "integer", "not": {"multipleOf": 1000000000000000009}},
    {"not": {"propertyNames": {"pattern": "^(a|b)\\1$"}}},
    {"oneOf": [{"type": "object"}, {"propertyNames": {"format": "regex"}}]},
    {"if": {"propertyNames": {"anyOf": [{"const": "a"}, {"$ref": "#/$defs/b"}]}}, "$defs": {"b": {"pattern": "(b)\\1"}}}
    | {"then": {"minProperties": 1, "type": "object"}},
    {"allOf": [{"properties": {"b": True}}, {"not": {"propertyNames": {"pattern": "^(a)\\1"}}}], "type": "object"},
    {"dependentSchemas": {"aa": {"not": {"properties": {"aa": {"multipleOf": 1000000000000000009}}}}}},
]


@pytest.mark.parametrize("schema", LEFT_OUT, ids=json.dumps)
def test_what_is_left_out_never_makes_a_valid_document_invalid(schema: dict[str, Any]) -> None:
    with pytest.raises(GrammarError, match="cannot be enforced"):
        Grammar.from_json_schema(schema)
    grammar = Grammar.from_json_schema(schema, strict=False, property_order="any")
    oracle = Oracle(schema)
    found = [*documents(), [1, 1], [1, 1, 1], ["aa", "b"], ["aa", "aa"], {"a": [1, 1]}, {"aa": 1}, {"aa": "x"}, 8198]
    valid = [document for document in found if oracle.is_valid(document)]
    assert valid and [document for document in valid if not accepts(grammar, json.dumps(document))] == []


def test_what_stands_in_a_keyword_that_is_left_out_is_reported_as_left_out() -> None:
    schema = {"patternProperties": {"(a)\\1": True, "^b": {"type": "string"}}, "additionalProperties": {"type": "null"}}
    grammar = Grammar.from_json_schema(schema, strict=False)
    assert accepts(grammar, '{"b": 1}') and accepts(grammar, '{"c": 1}')
    assert {row.pointer: row.status for row in grammar.report if row.pointer} == dict.fromkeys(
        [
            "/additionalProperties",
            "/additionalProperties/type",
            "/patternProperties",
            "/patternProperties/^b/type",
        ],
        "widened",
    )


BEHIND = {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"pattern": "^(a|b)\\1$"}}}


@pytest.mark.parametrize(
    ("schema", "document", "pointer"),
    [
        (
            {"patternProperties": {"^(a|b)\\1$": {}}, "unevaluatedProperties": False},
            '{"c": 1}',
            "/unevaluatedProperties",
        ),
        ({"contains": {"pattern": "^(a|b)\\1$"}, "maxContains": 1}, '["aa", "bb"]', "/maxContains"),
        ({"if": {"pattern": "^(a|b)\\1$"}, "then": {"maxLength": 1}}, '"aa"', "/then"),
        ({"if": {"allOf": [{"pattern": "^(a|b)\\1$"}]}, "else": {"maxLength": 1}}, '"ac"', "/else"),
        ({"not": {"items": {"pattern": "^(a|b)\\1$"}}}, "[1]", "/not"),
        ({"oneOf": [{"pattern": "^(a|b)\\1$"}, {"minLength": 1}]}, '"aa"', "/oneOf"),
        ({"not": {"$ref": "#/$defs/a"}, **BEHIND}, '"aa"', "/not"),
        ({"oneOf": [{"$ref": "#/$defs/a"}, {"minLength": 1}], **BEHIND}, '"aa"', "/oneOf"),
        ({"if": {"$ref": "#/$defs/a"}, "then": {"maxLength": 1}, **BEHIND}, '"aa"', "/then"),
        ({"contains": {"$ref": "#/$defs/a"}, "maxContains": 1, **BEHIND}, '["aa", "bb"]', "/maxContains"),
    ],
)
def test_what_demands_that_a_schema_fails_is_widened_with_it(schema: Any, document: str, pointer: str) -> None:
    """If something is left out of a schema, it is not known whether an instance fails it."""
    grammar = Grammar.from_json_schema(schema, strict=False)
    assert accepts(grammar, document) and not Oracle(schema).accepts(document)
    assert {row.pointer: row.status for row in grammar.report}[pointer] == "widened"
    beside = {"a": {"not": {"pattern": "^a"}}, "b": schema}
    whole = Grammar.from_json_schema({"properties": beside, **BEHIND}, strict=False)
    assert {row.pointer: row.status for row in whole.report}["/properties/a/not"] == "exact"


@pytest.mark.parametrize("reference", [5, ["a"], None])
def test_a_report_on_a_reference_that_is_no_string_in_a_schema_that_nothing_reaches(reference: Any) -> None:
    schema = {
        "not": {"type": "string", "$defs": {"x": {"$ref": reference}}},
        "properties": {"a": {"minItems": 100000}},
    }
    rows = {row.pointer: row.status for row in Grammar.from_json_schema(schema, strict=False).report}
    assert rows["/not"] == rows["/not/$defs/x/$ref"] == "exact"
    assert rows["/properties/a/minItems"] == "widened"


def test_a_keyword_without_a_name_does_not_hide_what_is_left_out() -> None:
    schema = {"": 1, "unevaluatedProperties": False, "properties": {"a": {"minItems": 100000}}}
    rows = {row.pointer: row.status for row in Grammar.from_json_schema(schema, strict=False).report}
    assert rows["/unevaluatedProperties"] == "widened"


def test_a_report_after_a_reference_to_true_under_a_negation() -> None:
    schema = {
        "$defs": {"anything": True, "surrogate": {"enum": ["\ud800"]}},
        "properties": {"a": {"$ref": "#/$defs/surrogate"}},
        "not": {"allOf": [{"$ref": "#/$defs/anything"}, {"required": ["b"]}]},
    }
    grammar = Grammar.from_json_schema(schema, strict=False)
    assert [row.pointer for row in grammar.report if row.status == "widened"] == ["/$defs/surrogate/enum"]
