"""MaskBench's protocol: which error is counted as what, and which files are read and written. Engines are tables."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.paths import ROOT

sys.path.append(str(ROOT))  # `bench` removes it again, for the root would hide the installed package

from bench import maskbench
from bench.engines import Session
from bench.harness.vocabularies import load, spelled


class TableEngine:
    """Accepts the texts that a schema lists under "texts"; refuses schemas without such a list."""

    version = "0"
    trivial = ""

    def __init__(self, name: str, vocabulary: Any, gives_up_at: int | None = None) -> None:
        self.name = name
        self.vocabulary = vocabulary
        self.gives_up_at = gives_up_at
        self.orders: list[str] = []

    def grammar(self, kind: str) -> str:
        return ""

    def open(self, grammar: str) -> Session:
        raise NotImplementedError

    def open_schema(self, schema: Any, order: str) -> Session:
        self.orders.append(order)
        texts = [text.encode() for text in schema["texts"]]
        return self._session(texts)

    def _session(self, texts: list[bytes]) -> Session:
        vocabulary = self.vocabulary
        row = np.zeros((vocabulary.size + 31) // 32, np.int32)
        written = bytearray()
        n_filled = 0

        def fill() -> None:
            nonlocal n_filled
            if n_filled == self.gives_up_at:
                raise ValueError("gave up")
            n_filled += 1
            bits = np.zeros(row.size * 32, np.uint8)
            for token in range(vocabulary.size):
                spelling = vocabulary.token_bytes(token)
                bits[token] = bool(spelling) and any(text.startswith(bytes(written) + spelling) for text in texts)
            for eos in vocabulary.eos_token_ids:
                bits[eos] = bytes(written) in texts
            row[:] = np.packbits(bits, bitorder="little").view(np.int32)

        def accept(token: int) -> bool:
            written.extend(vocabulary.token_bytes(token))
            return True

        return Session(row, fill, accept, lambda: "", dict, again=lambda: self._session(texts))


@pytest.fixture(scope="module")
def small() -> Any:
    return load("small")


def score(small: Any, schema: Any, tests: list[tuple[bool, Any]], **options: Any) -> maskbench.Score:
    vocabulary, encode = small
    engine = TableEngine("table", vocabulary, **options)
    given = [{"valid": valid, "data": data} for valid, data in tests]
    case, left_out = maskbench.tokenised("it", schema, given, lambda text: spelled(vocabulary, encode, text))
    assert left_out == 0
    scores = {"table": maskbench.Score()}
    maskbench.run(case, [engine], scores, "any", next(iter(vocabulary.eos_token_ids)))
    assert engine.orders == ["any"]
    return scores["table"]


def test_a_schema_passes_that_judges_every_instance_right(small: Any) -> None:
    found = score(small, {"texts": ["[1, 2]", '"a"']}, [(True, [1, 2]), (True, "a"), (False, "b"), (False, [1])])
    assert found.passing == 1
    assert not found.compile_errors and not found.validation_errors and not found.invalidation_errors
    assert len(found.ttfm_ns) == 1 and found.tbm_ns


def test_errors_are_told_apart(small: Any) -> None:
    found = score(small, {"texts": ["1"]}, [(True, "a"), (False, 1)])
    assert found.passing == 0
    assert len(found.validation_errors) == 1 and found.validation_errors[0].startswith("it #0: token 0 of ")
    assert found.invalidation_errors == ["it #1"]
    found = score(small, {}, [(True, 1)])
    assert (found.passing, list(found.compile_errors), found.ttfm_ns) == (0, ["it"], [])


def test_the_end_must_be_allowed(small: Any) -> None:
    """A text that begins like a sentence but is none is a validation error at its end."""
    found = score(small, {"texts": ["12"]}, [(True, 1)])
    assert found.validation_errors == ["it #0: token 1 of 1"]


def test_giving_up_is_refusing(small: Any) -> None:
    tests = [(True, [1, 2]), (False, [1, 2])]
    found = score(small, {"texts": ["[1, 2]"]}, tests, gives_up_at=2)  # the first mask is asked for twice
    assert found.validation_errors == [f"it #0: token 1 of {len(small[1]('[1, 2]'))}: gave up"]
    assert found.invalidation_errors == []


def test_all_masks_but_the_first_of_a_schema_are_counted(small: Any) -> None:
    texts = ["[1]", "[2]"]
    n_masks = sum(len(small[1](text)) + 1 for text in texts)
    assert len(score(small, {"texts": texts}, [(True, [1]), (True, [2])]).tbm_ns) == n_masks - 1


def test_texts_that_are_no_utf8_are_left_out(small: Any) -> None:
    vocabulary, encode = small
    tests = [{"valid": True, "data": "\ud800"}, {"valid": True, "data": "a"}]
    case, left_out = maskbench.tokenised("it", {}, tests, lambda text: spelled(vocabulary, encode, text))
    assert (len(case.tests), left_out) == (1, 1)


def test_files_and_folders(tmp_path: Path) -> None:
    cases = [{"name": f"c{i}", "schema": {"const": i}, "tests": [{"valid": True, "data": i}]} for i in range(3)]
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    plain, packed, folder = tmp_path / "a.jsonl", tmp_path / "a.jsonl.gz", tmp_path / "data"
    plain.write_text(lines)
    packed.write_bytes(gzip.compress(lines.encode()))
    folder.mkdir()
    for case in cases:
        (folder / f"{case['name']}.json").write_text(json.dumps({**case, "description": ""}))
    (folder / "meta.json").write_text("[]")
    expected = [(case["name"], case["schema"], case["tests"]) for case in cases]
    for data in (plain, packed, folder):
        assert list(maskbench.read(data)) == expected


def test_a_limit_takes_evenly() -> None:
    assert maskbench.spread(list(range(10)), 4) == [0, 2, 5, 7]
    assert maskbench.spread([1, 2], 5) == maskbench.spread([1, 2], None) == [1, 2]


def test_the_report_counts_reasons_of_a_kind_together() -> None:
    one = maskbench.Score(
        compile_errors={"a": 'at #/x/0: `pattern` has "(" at 3', "b": 'at #/y: `pattern` has ")" at 12'}
    )
    record = {
        "environment": {
            **dict.fromkeys(("date", "revision", "processor", "cores", "system", "python"), ""),
            "versions": {},
            "load": [0],
        },
        "schemas": 2,
        **dict.fromkeys(("data", "vocabulary", "order", "spellings", "command"), ""),
        "instances": 0,
        "only_first": False,
        "engines": {"one": maskbench.summary(one, 2)},
    }
    text = maskbench.markdown(record)
    assert '- 2: `pattern` has "…" at N' in text
    assert "| passing | 0 of 2 (0.0%) |" in text and "| compile errors | 2 |" in text
    assert "| TBM mean, µs | – |" in text


def test_first_masks_alone(small: Any) -> None:
    """The engines take turns with each block of schemas, and another one is the first for the next block."""
    opened: list[tuple[str, int]] = []

    class Noted(TableEngine):
        def open_schema(self, schema: Any, order: str) -> Session:
            opened.append((self.name, schema["number"]))
            return super().open_schema(schema, order)

    n = maskbench.BLOCK + 1
    cases: list[maskbench.Given] = [(f"c{i}", {"texts": ["1"], "number": i}, []) for i in range(n)]
    cases[3] = ("c3", {"number": 3}, [])
    scores = {name: maskbench.Score() for name in ("a", "b")}
    maskbench.first_masks(cases, [Noted(name, small[0]) for name in scores], scores, "any")
    block = range(maskbench.BLOCK)
    assert opened == [*(("a", i) for i in block), *(("b", i) for i in block), ("b", n - 1), ("a", n - 1)]
    for score in scores.values():
        found = maskbench.summary(score, n, only_first=True)
        assert (found["schemas"], found["compile_errors"], len(score.ttfm_ns)) == (n, 1, n - 1)
        assert "passing" not in found and "tbm_us" not in found


def test_alike_reasons_are_counted_together_by_the_first_of_several() -> None:
    import earleymask

    items = {"type": "string", "pattern": "(a)\\1"}
    reasons = []
    for schema in (items, {"properties": {"a": items, "b": items}}):
        with pytest.raises(earleymask.GrammarError) as refused:
            earleymask.Grammar.from_json_schema(schema)
        reasons.append(str(refused.value))
    assert reasons[1].startswith("2 errors")
    assert maskbench.kind_of(reasons[0]) == maskbench.kind_of(reasons[1])
    assert "pattern" in maskbench.kind_of(reasons[0])
