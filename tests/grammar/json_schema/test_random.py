"""Random schemas: texts of walks are valid, and instances are accepted exactly if the oracle says valid."""

from __future__ import annotations

import json
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from random import Random
from typing import Any

import pytest

pytest.importorskip("regress")
pytest.importorskip("jsonschema")
pytest.importorskip("hypothesis_jsonschema")

import hypothesis_jsonschema
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky

import earleymask
from campaign.schema_checks import Report, check
from campaign.schema_meetings import Spelling, check_meetings, random_meeting
from campaign.schema_random import Schemas, random_schema
from campaign.schema_small import SMALL_DRAFTS, check_small, documents, random_small_schema
from campaign.schema_suite import DRAFTS, open_earleymask
from earleymask.grammar.json_schema.check import check_schema
from earleymask.grammar.json_schema.documents import Documents
from earleymask.grammar.json_schema.keywords import DRAFTS as NUMBERS
from earleymask.grammar.json_schema.keywords import rows
from support.effort import effort
from support.schema_instances import mutated, near
from support.schema_oracle import Oracle

N_SCHEMAS = 40
N_SMALL, SMALL_SEED = 80, 7
N_MEETINGS = 20
SEED = 5


@pytest.mark.parametrize("draft", DRAFTS)
def test_random_schemas(draft: str) -> None:
    report = Report()
    for number in range(N_SCHEMAS):
        rng, schema = random_schema(SEED, number, draft)
        check(rng, schema, report)
    assert report.wrong == []
    # The test is not empty: most schemas are loaded, and there are valid and invalid instances.
    assert report.counts["loaded"] > N_SCHEMAS, (report.counts, report.refusals)
    assert report.counts["valid"] > 100 and report.counts["invalid"] > 100 and report.counts["walked"] > N_SCHEMAS


@pytest.mark.parametrize("draft", SMALL_DRAFTS)
def test_random_small_schemas(draft: str) -> None:
    report = Report()
    for number in range(N_SMALL):
        rng, schema = random_small_schema(SMALL_SEED, number, draft)
        check_small(rng, schema, report)
    assert report.wrong == []
    assert report.counts["loaded"] > N_SMALL // 2, (report.counts, report.refusals)
    n_texts = 2 * N_SMALL * len(documents())
    assert report.counts["valid"] > n_texts // 8 and report.counts["invalid"] > n_texts // 8, report.counts


@pytest.mark.parametrize("draft", DRAFTS)
def test_random_meetings_of_keywords(draft: str) -> None:
    report = Report()
    for number in range(N_MEETINGS):
        rng, schema = random_meeting(SEED, number, draft)
        check_meetings(rng, schema, report)
    assert report.wrong == []
    assert report.counts["loaded"] > N_MEETINGS // 2, (report.counts, report.refusals)
    assert report.counts["valid"] > 100 and report.counts["invalid"] > 100 and report.counts["misspelled"] > 5


@pytest.mark.parametrize(
    ("options", "fits"),
    [
        ({}, lambda text: not re.search(r":\s\s|\s,|[ \t]\n", text)),
        ({"whitespace": "compact"}, lambda text: not re.search(r"\s", text)),
        ({"whitespace": "spaced"}, lambda text: not re.search(r"\s|[,:]", re.sub("[,:] ", "", text))),
        ({"ensure_ascii": True}, str.isascii),
        ({"string_escapes": "shortest"}, lambda text: not re.search(r"\\[u/]", text)),
    ],
)
def test_documents_are_spelled_as_the_options_say(options: dict[str, Any], fits: Any) -> None:
    data = [1, "é/a\n", {"a": 2.5, "b": []}, True]
    texts = set()
    n_others = 0
    for seed in range(300):
        spelling = Spelling(Random(seed), options)
        text = spelling.text(data)
        assert json.loads(text) == data
        if spelling.fits:
            assert fits(text), text
            texts.add(text)
        else:
            n_others += 1
    assert len(texts) > 50 and n_others > 5


def plainly(value: object) -> str:
    """Return a value as JSON, with numbers that have neither an exponent nor a fraction of zeros."""
    if isinstance(value, list):
        return f"[{', '.join(map(plainly, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{json.dumps(key)}: {plainly(each)}' for key, each in value.items())}}}"
    return format(Decimal(repr(value)), "f").removesuffix(".0") if isinstance(value, float) else json.dumps(value)


def writes_plainly(schema: Any) -> bool:
    """Return whether the report says that numbers must be written plainly, in at most 150 characters, to differ."""
    report = earleymask.Grammar.from_json_schema(schema, property_order="any", spellings="all").report
    return any(row.keyword == "uniqueItems" and "without an exponent" in row.why for row in report)


def test_plain_numbers_are_the_same_numbers() -> None:
    rng = Random(3)
    for _ in range(200):
        number = rng.choice([1e300, -2.5e-7, 4.0, 1e22, 0.1]) * rng.choice([1, rng.random()])
        text = plainly([{"a": number, "b\u00b4": [7, None, "1e5"]}])
        assert json.loads(text, parse_int=float) == [{"a": number, "b\u00b4": [7.0, None, "1e5"]}]
        assert "e" not in text.replace("1e5", "")


def test_instances_of_hypothesis_jsonschema() -> None:
    """Its instances, and changed ones, are accepted exactly if the oracle says valid."""
    counts: Counter[bool] = Counter()
    wrong: list[tuple[Any, str]] = []

    @settings(max_examples=effort(100, 250), suppress_health_check=list(HealthCheck))
    @given(st.integers(0, 10_000), st.sampled_from(["4", "6", "7"]), st.data())
    def compare(number: int, draft: str, data: st.DataObject) -> None:
        rng = Random(number)
        schema = Schemas(rng, draft).whole()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                strategy = hypothesis_jsonschema.from_schema(schema, allow_x00=False)
                instance = data.draw(strategy)
            except Exception:  # recursive references, or a schema that it finds unsatisfiable, in many ways
                assume(False)
                raise
        try:
            accepts = open_earleymask(schema, property_order="any", spellings="all")  # of 1000.0, too
        except earleymask.GrammarError:
            assume(False)
            raise
        oracle = Oracle(schema)
        for one in (instance, mutated(rng, instance), mutated(rng, instance)):
            text = json.dumps(one)
            valid = oracle.accepts(text)
            if valid and not accepts(text) and writes_plainly(schema):
                text = plainly(one)
                if any(len(number) > 150 for number in re.findall(r"[0-9.]+", text)):
                    continue
            if accepts(text) != valid:
                wrong.append((schema, text))
            counts[valid] += 1

    # Its choices may depend on earlier ones, which Hypothesis refuses; then try again with another seed.
    for _ in range(3):
        try:
            compare()
            break
        except Flaky:
            continue
    assert wrong == []
    assert counts[True] > effort(40, 100) and counts[False] > effort(16, 40), counts


# The report.

HOLD_ONE = ("not", "if", "then", "else", "contains", "propertyNames", "additionalProperties", "additionalItems")
HOLD_ONE += ("unevaluatedItems", "unevaluatedProperties", "items", "contentSchema")
HOLD_LIST = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
HOLD_MAP = ("properties", "patternProperties", "dependentSchemas", "dependencies", "definitions", "$defs")


def pointers(schema: Any, known: Any, at: str = "") -> Iterator[str]:
    """Yield the JSON pointers of all keywords in a schema, given the keywords of its draft."""
    if not isinstance(schema, dict):
        return
    for keyword, value in schema.items():
        here = f"{at}/{escaped(keyword)}"
        yield here
        if keyword not in known:
            continue
        inside: dict[str, Any] = {}
        if keyword in HOLD_LIST and isinstance(value, list):
            inside = {str(index): one for index, one in enumerate(value)}
        elif keyword in HOLD_MAP:
            inside = value
        elif keyword in HOLD_ONE:
            yield from pointers(value, known, here)
        for name, one in inside.items():
            yield from pointers(one, known, f"{here}/{escaped(name)}")


def escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def strewn(rng: Random, schema: Any) -> Any:
    """Return the schema with annotations, keywords of other drafts and unknown ones added here and there."""
    if isinstance(schema, list):
        return [strewn(rng, one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: strewn(rng, value) if isinstance(value, (dict, list)) else value for name, value in schema.items()}
    if "type" in found or "allOf" in found:
        for keyword in rng.sample(["title", "x-own", "$comment", "prefixItem", "contentEncoding", "a/b~c"], 2):
            found[keyword] = rng.choice([{"type": "nonsense"}, "text", None])
    return found


@pytest.mark.parametrize(("draft", "number"), list(zip(reversed(DRAFTS), NUMBERS, strict=True)))
def test_the_report_has_one_row_for_each_keyword(draft: str, number: int) -> None:
    n_loaded = 0
    for i in range(60):
        rng, schema = random_schema(SEED + 1, i, draft)
        schema = strewn(rng, schema)
        unused = {"pattern": "(", "x": 1, "not": {"multipleOf": -1, "properties": {"a": True, "b": {"type": 5}}}}
        schema["definitions"] = {"unused~/": unused, **schema.get("definitions", {})}
        try:
            grammar = earleymask.Grammar.from_json_schema(schema, strict=False)
        except earleymask.GrammarError:
            continue
        n_loaded += 1
        found = [row.pointer for row in grammar.report if row.keyword]
        assert sorted(found) == sorted(pointers(schema, rows(number))), schema
        assert {row.status for row in grammar.report} <= {"exact", "narrowed", "widened", "ignored"}
        assert all(row.why for row in grammar.report if row.status != "exact")
    assert n_loaded > 20


# The generator of schemas.


@pytest.mark.parametrize(("draft", "number"), list(zip(reversed(DRAFTS), NUMBERS, strict=True)))
def test_generated_schemas_are_well_formed_and_hold_every_keyword(draft: str, number: int) -> None:
    met: set[str] = set()
    for i in range(400):
        _, schema = random_schema(SEED, i, draft)
        check_schema(Documents(schema), lambda place: met.update(place.schema))
    wanted = {row.name for row in rows(number).values() if row.role == "assertion"}
    assert wanted - met <= {"$dynamicRef", "$recursiveRef"}


@pytest.mark.parametrize("draft", SMALL_DRAFTS)
def test_small_schemas_are_well_formed_and_hold_every_keyword_of_objects_and_arrays(draft: str) -> None:
    number = dict(zip(reversed(DRAFTS), NUMBERS, strict=True))[draft]
    met: set[str] = set()
    for i in range(400):
        _, schema = random_small_schema(SEED, i, draft)
        check_schema(Documents(schema), lambda place: met.update(place.schema))
    wanted = {row.name for row in rows(number).values() if row.role == "assertion"}
    said_of_scalars = {
        "minLength",
        "format",
        "multipleOf",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
    }
    assert wanted - met <= said_of_scalars | {"$dynamicRef", "$recursiveRef"}


def test_instances_near_a_schema_are_often_valid() -> None:
    valid = invalid = 0
    for number in range(100):
        rng, schema = random_schema(SEED, number, "2020-12")
        oracle = Oracle(schema)
        for _ in range(5):
            try:
                judged = oracle.accepts(json.dumps(near(rng, schema)))
            except RecursionError:
                continue
            valid += judged
            invalid += not judged
    assert valid > 50 and invalid > 50


@pytest.mark.parametrize(
    ("accepted", "wrong"),
    [
        ("null", ["1 is refused, though valid", "null is accepted, though invalid"]),
        ("1", []),
    ],
)
def test_what_is_wrong_is_found(monkeypatch: pytest.MonkeyPatch, accepted: str, wrong: list[str]) -> None:
    """The checks find an engine that accepts one text for every schema."""

    def made(schema: Any, **options: Any) -> earleymask.Grammar:
        return earleymask.Grammar.from_choices([accepted])

    monkeypatch.setattr(earleymask.Grammar, "from_json_schema", made, raising=False)
    report = Report()
    check(Random(1), {"const": 1}, report, n_instances=200)
    small = Report()
    check_small(Random(1), {"const": 1}, small)
    for one in (report, small):
        told = " ".join(one.wrong)
        assert all(expected in told for expected in wrong)
        assert (one.wrong == []) == (wrong == [])
        assert ("was written, though invalid" in told) == (accepted == "null")
