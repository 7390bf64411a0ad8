"""Walks through masks with a real vocabulary write valid documents, and the walker finds wrong masks."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

pytest.importorskip("regress")
pytest.importorskip("jsonschema")

import earleymask
from campaign.schema_random import random_schema
from campaign.schema_suite import DRAFTS
from campaign.schema_walks import Report, Walker, cases, check
from support import vocabularies
from support.effort import effort

N_SCHEMAS = effort(10, 25)


@pytest.mark.parametrize("draft", DRAFTS)
def test_texts_of_walks_are_valid(draft: str) -> None:
    walker = Walker(vocabularies.load("tekken"))
    report = Report()
    for number in range(N_SCHEMAS):
        rng, schema = random_schema(8, number, draft)
        check(walker, schema, rng, 2, ("schema", "any")[number % 2], report)
    assert report.wrong == []
    assert report.counts["valid"] > N_SCHEMAS and report.counts["walked on"] <= 2, report.counts


@pytest.mark.parametrize(("written", "said"), [("null", "though invalid"), ("1", ""), ("12", "though invalid")])
def test_what_is_wrong_is_found(monkeypatch: pytest.MonkeyPatch, written: str, said: str) -> None:
    """The walker finds an engine that writes one text for every schema."""

    def made(schema: Any, **options: Any) -> earleymask.Grammar:
        return earleymask.Grammar.from_choices([written])

    monkeypatch.setattr(earleymask.Grammar, "from_json_schema", made)
    report = Report()
    check(Walker(vocabularies.load("tekken")), {"const": 1}, Random(1), 3, "any", report)
    assert sum(report.counts.values()) == 4 and len(report.wrong) == (3 if said else 0)
    assert all(said in wrong for wrong in report.wrong)


def test_cases_are_read_from_a_file_or_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"schema": {"type": "null"}, "tests": []}))
    (tmp_path / "other.json").write_text("[]")
    assert list(cases(tmp_path)) == [("a", {"type": "null"})]
    lines = tmp_path / "lines.jsonl"
    lines.write_text("".join(json.dumps({"name": name, "schema": True}) + "\n" for name in "bc"))
    assert list(cases(lines)) == [("b", True), ("c", True)]
