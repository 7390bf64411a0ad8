"""MaskBench in processes of their own: what counts as passing, and how the figures of several runs come together."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from support.paths import ROOT

sys.path.append(str(ROOT))  # `bench` removes it again, for the root would hide the installed package

from bench import maskbench
from bench.engines import Earleymask
from bench.harness.vocabularies import load, spelled
from bench.own_processes import Followed, figures, follow, markdown

SCHEMA = {"type": "array", "items": {"enum": [1, 20]}}


@pytest.fixture(scope="module")
def small() -> Any:
    return load("small")


def followed(small: Any, schema: Any, tests: list[tuple[bool, Any]]) -> Followed:
    vocabulary, encode = small
    given = [(valid, spelled(vocabulary, encode, json.dumps(data))) for valid, data in tests]
    eos = next(iter(vocabulary.eos_token_ids))
    return follow(Earleymask(vocabulary, prepare=False), schema, given, "schema", eos)


def test_a_schema_passes_that_judges_every_instance_right(small: Any) -> None:
    tests = [(True, [1, 20]), (True, []), (False, [2]), (False, [1, 200])]
    found = followed(small, SCHEMA, tests)
    assert found.why == "" and found.open_ns > 0 and found.first_ns > 0
    n_tokens = [len(small[1](json.dumps(data))) for valid, data in tests if valid]
    assert len(found.step_ns) >= sum(n_tokens) + 1  # an EOS after each, without the first mask


def test_wrong_verdicts_and_refused_schemas_are_told(small: Any) -> None:
    assert followed(small, SCHEMA, [(True, [1]), (True, [2])]).why.startswith("instance 1: token ")
    assert followed(small, SCHEMA, [(False, [1])]).why == "instance 0: accepted, and invalid"
    refused = followed(small, {"type": "sting"}, [(True, [1])])
    assert "sting" in refused.why and refused.step_ns == []


def test_figures_of_several_runs() -> None:
    def run(*steps: int) -> list[Followed]:
        return [Followed("", 1000, 500, list(steps)), Followed("refused"), Followed("", 3000, 500, [1000])]

    found = figures([run(2000, 9000), run(4000, 5000), run(7000, 8000)], [0, 2])
    # Sorted with the 1000 ns of the last schema; the medians of 2, 4 and 7 µs, and the least of each: 2, 5 and 1.
    assert found["step_us"]["p50"] == 4.0 and found["step_us"]["longest"] == 5.0 and found["step_us"]["n"] == 3
    assert found["to_first_mask_us"]["longest"] == 3.5 and found["first_mask_us"]["p50"] == 0.5
    assert figures([[Followed("refused")]], [])["step_us"] == {"n": 0}


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, output = tmp_path / "cases.jsonl", tmp_path / "found.md"
    tests = [{"valid": True, "data": [1, 20]}, {"valid": False, "data": [3]}]
    lines = [{"name": name, "schema": schema, "tests": tests} for name, schema in (("a", SCHEMA), ("b", {"type": 1}))]
    data.write_text("".join(json.dumps(line) + "\n" for line in lines))
    options = ["--engines", "earleymask", "--vocabulary", "small", "--runs", "2", "--own-processes"]
    maskbench.main(["--data", str(data), "--output", str(output), *options])
    record = json.loads(output.with_suffix(".json").read_text())
    assert (record["schemas"], record["passed_by_all"], record["runs"]) == (2, 1, 2)
    assert record["engines"]["earleymask"]["passing"] == 1 and record["engines"]["earleymask"]["step_us"]["n"] > 3
    assert "| mask + accept, longest |" in output.read_text() and output.read_text() in capsys.readouterr().out
    assert " | earleymask / llguidance |" in markdown(
        {**record, "engines": dict.fromkeys(("earleymask", "llguidance"), record["engines"]["earleymask"])}
    )
