"""Random schemas: what walks write validates, and instances are accepted exactly when the oracle says valid."""

from __future__ import annotations

import json
import warnings
from random import Random
from typing import Any

import pytest

pytest.importorskip("regress")
pytest.importorskip("jsonschema")
pytest.importorskip("hypothesis_jsonschema")

import hypothesis_jsonschema
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from schema_oracle import Oracle
from schema_random import Report, Schemas, check, near, random_schema
from schema_suite import DRAFTS, open_earleymask

import earleymask
from earleymask.grammar.schema_documents import Documents
from earleymask.grammar.schema_keywords import DRAFTS as NUMBERS
from earleymask.grammar.schema_keywords import rows

needs_schemas = pytest.mark.skipif(
    not hasattr(earleymask.Grammar, "from_json_schema"), reason="this build reads no JSON Schemas"
)
N_SCHEMAS = 40
SEED = 5


@needs_schemas
@pytest.mark.parametrize("draft", DRAFTS)
def test_random_schemas(draft: str) -> None:
    report = Report()
    for number in range(N_SCHEMAS):
        rng, schema = random_schema(SEED, number, draft)
        check(rng, schema, report)
    assert report.wrong == []
    # The test is about something: most are loaded, and instances are of both kinds.
    assert report.counts["loaded"] > N_SCHEMAS, (report.counts, report.refusals)
    assert report.counts["valid"] > 100 and report.counts["invalid"] > 100 and report.counts["walked"] > N_SCHEMAS


@needs_schemas
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 10_000), st.data())
def test_instances_of_hypothesis_jsonschema(number: int, data: st.DataObject) -> None:
    schema = Schemas(Random(number), "7").whole()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            strategy = hypothesis_jsonschema.from_schema(schema, allow_x00=False)
            instance = data.draw(strategy)
        except Exception:  # recursive references, or what it finds out to be unsatisfiable, in many ways
            assume(False)
            raise
    text = json.dumps(instance)
    try:
        accepts = open_earleymask(schema, property_order="any")
    except earleymask.GrammarError:
        assume(False)
        raise
    assert accepts(text) == Oracle(schema).accepts(text)


# The generator itself.


@pytest.mark.parametrize(("draft", "number"), list(zip(reversed(DRAFTS), NUMBERS, strict=True)))
def test_generated_schemas_are_well_formed_and_hold_every_keyword(draft: str, number: int) -> None:
    met: set[str] = set()
    for i in range(400):
        _, schema = random_schema(SEED, i, draft)
        Documents(schema).scan(lambda found, resource, path: met.update(found))
    wanted = {row.name for row in rows(number).values() if row.role == "assertion"}
    assert wanted - met <= {"$dynamicRef", "$recursiveRef"}


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
    """On an engine that accepts one text, whatever the schema says."""

    def made(schema: Any, **options: Any) -> earleymask.Grammar:
        return earleymask.Grammar.from_choices([accepted])

    monkeypatch.setattr(earleymask.Grammar, "from_json_schema", made, raising=False)
    report = Report()
    check(Random(1), {"const": 1}, report, n_instances=200)
    told = " ".join(report.wrong)
    assert all(expected in told for expected in wrong)
    assert (report.wrong == []) == (wrong == [])
    assert ("was written, though invalid" in told) == (accepted == "null")
