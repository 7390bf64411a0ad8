"""The oracle of JSON Schema passes the official suite, and departs from `jsonschema` exactly as listed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any

import pytest

pytest.importorskip("regress")
pytest.importorskip("jsonschema")

from campaign import schema_suite
from earleymask import Grammar
from support.schema_formats import FORMATS
from support.schema_grammars import accepts
from support.schema_oracle import Oracle, same

NOT_JUDGED = {
    "vocabulary": "jsonschema knows no vocabularies",
    "optional/format-assertion": "the same",
    "optional/content": "what a string contains is an annotation for us",
    "optional/format/idn-hostname": "not a format of the oracle",
}

YEAR_2019 = {"$schema": schema_suite.DRAFTS["2019-09"]}

DRAFT_4 = {"$schema": "http://json-schema.org/draft-04/schema#"}

# Kind of departure: (schema, valid texts, invalid texts)
DEPARTURES: dict[str, list[tuple[Any, list[str], list[str]]]] = {
    "what is evaluated in 2019-09": [
        (
            YEAR_2019 | {"additionalProperties": {"type": "integer"}, "unevaluatedProperties": False},
            ['{"zz": 1}'],
            ['{"zz": ""}'],
        ),
        (YEAR_2019 | {"contains": {"const": 1}, "unevaluatedItems": False}, ["1"], ["[1]", "[]"]),
        (YEAR_2019 | {"items": True, "unevaluatedItems": False}, ["[1]", "[]"], []),
    ],
    "through a root that says which draft it is of": [
        (
            YEAR_2019 | {"properties": {"a": {"$ref": "#"}, "b": {"format": "date"}}},
            ['{"a": {}}'],
            ['{"a": {"b": "x"}}'],
        ),
    ],
    "a root without `$id` in the dynamic scope": [
        (
            {
                "$dynamicAnchor": "node",
                "$defs": {"tree": {"$id": "http://h/t", "$dynamicAnchor": "node", "items": {"$dynamicRef": "#node"}}},
                "type": ["array", "null"],
                "$ref": "#/$defs/tree",
            },
            ["[null, [null]]"],
            ["[[1]]"],
        ),
    ],
    "exact numbers": [
        ({"multipleOf": 0.01}, ["0.07", "19.99", "4.35", "1e3"], ["0.075", "1e-3"]),
        ({"multipleOf": 1e-8}, ["12391239123", "1e308"], ["1e-9"]),
        ({"multipleOf": 0.3}, ["0.9", "3e50"], ["1e50", "1"]),
        ({"maximum": 0.1}, ["0.1", "0.10", "1e-1"], ["0.1000000000000000000001"]),
        ({"exclusiveMaximum": 9007199254740993}, ["9007199254740992.9"], ["9007199254740993", "9007199254740993.0"]),
        ({"const": 0.1}, ["0.1", "1e-1"], ["0.1000000000000000055511151231257827"]),
    ],
    "integers": [
        ({"type": "integer"}, ["1.0", "1e2", "-0.0", "1e400"], ["1.5", "1e-1", "true"]),
        (DRAFT_4 | {"type": "integer"}, ["1"], ["1.0", "1e2", "true"]),
    ],
    "items that are the same": [
        (
            {"uniqueItems": True},
            ["[1, true, [1], [true]]", '[{"a": 0}, {"a": false}]'],
            ["[1, 1.0]", "[[1], [1.0]]", "[[1], [true], [1]]"],
        ),
    ],
    "patterns of ECMA-262": [
        ({"pattern": r"^\d+$"}, ['"12"'], ['"\\u0663"', '"12\\n"']),
        ({"pattern": r"^\w$"}, ['"a"'], ['"\\u00e9"']),
        ({"pattern": r"^.$"}, ['"\\ud83d\\ude00"'], ['"ab"', '"\\u2028"']),
        ({"pattern": r"^\p{Lu}$"}, ['"\\u00c9"'], ['"\\u00e9"']),
        ({"pattern": r"^[^]$"}, ['"\\n"'], ['""']),
        ({"pattern": r"\-"}, ['"a-b"'], ['"ab"']),  # malformed with the flag u
    ],
    "patterns of keys": [
        ({"patternProperties": {r"^\d$": False}, "additionalProperties": True}, ['{"\\u0663": 1}'], ['{"1": 1}']),
        ({"patternProperties": {r"^\d$": True}, "additionalProperties": False}, ['{"1": 1}'], ['{"\\u0663": 1}']),
        ({"patternProperties": {r"^\d$": True}, "unevaluatedProperties": False}, ['{"1": 1}'], ['{"\\u0663": 1}']),
    ],
    "formats": [({"format": "date"}, ['"2024-02-29"', "1"], ['"2023-02-29"'])],
    "`dependencies` in later drafts": [({"dependencies": {"a": ["b"]}}, ['{"a": 1, "b": 1}', "{}"], ['{"a": 1}'])],
    "keys that stand twice, and what is no JSON": [
        (True, ["{}", "[{}, {}]"], ['{"a": 1, "a": 1}', '[{"a": {"b": 1, "\\u0062": 1}}]', "NaN", "[1", ""]),
    ],
}
CASES = [
    # `jsonschema` by itself is exact in these.
    ({"minLength": 2}, ['"\\ud83d\\ude00x"'], ['"\\ud83d\\ude00"']),
    ({"const": 1}, ["1", "1.0"], ["true"]),
    ({"const": {"a": [False]}}, ['{"a": [false]}'], ['{"a": [0]}']),
    ({"enum": [0, [True]]}, ["0", "0.0", "[true]"], ["false", "[1]"]),
    *(case for cases in DEPARTURES.values() for case in cases),
]


@pytest.mark.parametrize(("schema", "valid", "invalid"), CASES, ids=[json.dumps(case[0]) for case in CASES])
def test_what_is_made_exact(schema: Any, valid: list[str], invalid: list[str]) -> None:
    oracle = Oracle(schema)
    assert [text for text in valid if not oracle.accepts(text)] == []
    assert [text for text in invalid if oracle.accepts(text)] == []


ALONE = """
import json, sys, jsonschema
for schema, texts in json.load(sys.stdin):
    validator = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)(schema)
    verdicts = []
    for text in texts:
        try:
            verdicts.append(validator.is_valid(json.loads(text)))
        except json.JSONDecodeError:
            verdicts.append(False)
        except Exception:
            verdicts.append(None)  # such as patterns that `re` does not read
    print(json.dumps(verdicts))
"""


def test_jsonschema_alone_would_be_wrong() -> None:
    """Each kind of departure is needed: `jsonschema` alone, in a process without the oracle, judges one of its texts
    differently, or not at all."""
    given = [(schema, valid + invalid) for cases in DEPARTURES.values() for schema, valid, invalid in cases]
    ran = subprocess.run(
        [sys.executable, "-c", ALONE], input=json.dumps(given), capture_output=True, text=True, check=True, timeout=60
    )
    verdicts = iter(ran.stdout.splitlines())
    wrong = {
        kind
        for kind, cases in DEPARTURES.items()
        for _, valid, invalid in cases
        if json.loads(next(verdicts)) != [True] * len(valid) + [False] * len(invalid)
    }
    assert DEPARTURES.keys() - wrong == set()


def test_a_reference_to_a_dynamic_anchor_is_not_dynamic() -> None:
    """The known fault that remains: `referencing` resolves it like a `$dynamicRef`, against 8.2.3.1."""
    schema = {
        "$id": "http://h/root",
        "$dynamicAnchor": "node",
        "$defs": {"leaf": {"$id": "http://h/leaf", "$dynamicAnchor": "node", "type": "string"}},
        "anyOf": [{"const": 1}, {"type": "array", "items": {"$ref": "leaf#node"}}],
    }
    grammar = Grammar.from_json_schema(schema)
    assert accepts(grammar, '["x"]') and not accepts(grammar, "[1]")
    assert Oracle(schema).accepts("[1]") and not Oracle(schema).accepts('["x"]')


def test_formats_are_annotations_on_request() -> None:
    assert Oracle({"format": "date"}, format_assertion=False).accepts('"x"')


def test_equality() -> None:
    assert same({"a": 1, "b": [None]}, {"b": [None], "a": 1})
    assert not same([1, 2], [2, 1])
    assert not same("1", 1) and not same(None, False) and not same({}, []) and not same([1], [1, 1])


@pytest.mark.parametrize("draft", schema_suite.DRAFTS)
def test_the_official_suite(draft: str) -> None:
    wrong = []
    n = 0
    suite = schema_suite.folder(draft)
    registry = schema_suite.remotes(suite)
    if draft == "4":  # `referencing` fails when it searches schemas of later drafts for the names of draft 4
        registry = {
            uri: schema
            for uri, schema in registry.items()
            if "/draft4/" in uri or ("/draft" not in uri and re.search("true|false", json.dumps(schema)) is None)
        }
    for group in schema_suite.groups(suite, draft):
        if group.file in NOT_JUDGED:
            continue
        asserted = group.file.startswith("optional/format/")
        oracle = Oracle(group.schema, registry=registry, format_assertion=asserted)
        for test in group.tests:
            n += 1
            if oracle.accepts(json.dumps(test["data"])) != test["valid"]:
                wrong.append((group.file, group.description, test["description"], test["data"]))
    if not n:
        pytest.skip(f"no tests of draft {draft} in {suite}; .ci/suite fetches them")
    assert n > 800
    assert wrong == []


def test_a_root_without_an_id_is_in_the_dynamic_scope() -> None:
    tree = {"$id": "http://example.org/tree", "$dynamicAnchor": "node", "items": {"$dynamicRef": "#node"}}
    schema = {"$dynamicAnchor": "node", "$defs": {"tree": tree}, "type": ["array", "null"], "$ref": "#/$defs/tree"}
    assert Oracle(schema).accepts("[null, [null]]") and not Oracle(schema).accepts("[[1]]")
    anchors = {"$recursiveAnchor": True, "$schema": schema_suite.DRAFTS["2019-09"]}
    tree = {"$id": "http://example.org/tree", "$recursiveAnchor": True, "items": {"$recursiveRef": "#"}}
    schema = {**anchors, "$defs": {"tree": tree}, "type": ["array", "null"], "$ref": "#/$defs/tree"}
    assert Oracle(schema).accepts("[null, [null]]") and not Oracle(schema).accepts("[[1]]")


def test_each_format_has_texts_of_both_kinds() -> None:
    samples = {
        "date": ("0000-02-29", "1900-02-29"),
        "time": ("23:59:60Z", "22:59:60Z"),
        "date-time": ("1998-12-31t15:59:60.123-08:00", "1998-12-31T23:59:60+01:00"),
        "duration": ("P1Y2M3DT4H5M6S", "P1Y3D"),
        "email": ('"a b"@[IPv6:::1]', "a..b@c"),
        "hostname": ("xn--ihqwcrb4cv8a8dqg056pqjye", "a_b"),
        "idn-email": ("실례@실례.테스트", "é@@b"),
        "ipv4": ("255.0.0.1", "01.0.0.1"),
        "ipv6": ("::ffff:1.2.3.4", "1::2::3"),
        "uuid": ("2EB8AA08-aa98-11ea-B4AA-73B441D16380", "2eb8aa08aa9811eab4aa73b441d16380"),
        "uri": ("http://u:p@[::1]:80/%C3?a#b", "//h/a"),
        "uri-reference": ("a/b:c", "a:b c"),
        "iri": ("http://é.de/ü", "http://é.de/ "),
        "iri-reference": ("ü", "\\"),
        "uri-template": ("http://h/{+a,b:3}{?c*}", "{a"),
        "json-pointer": ("/a~1b/~0", "/~2"),
        "relative-json-pointer": ("1/a", "01"),
        "regex": ("(?<a>b)", "(?<a"),
    }
    assert samples.keys() == FORMATS.keys()
    for name, (good, bad) in samples.items():
        assert FORMATS[name](good) and not FORMATS[name](bad), name
