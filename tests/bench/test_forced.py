"""What the bench of forced tokens counts, on a schema where it can be counted by hand."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from support.paths import ROOT

sys.path.append(str(ROOT))  # `bench` removes it again, for the root would hide the installed package

from bench import forced
from earleymask import Matcher, Vocabulary

SCHEMA = {
    "type": "object",
    "properties": {"ab": {"type": "integer"}},
    "required": ["ab"],
    "additionalProperties": False,
}
CASES = [
    ("one", SCHEMA, [{"valid": True, "data": {"ab": 7}}, {"valid": False, "data": {}}]),
    ("two", {"type": "no type"}, [{"valid": True, "data": 1}]),
    ("three", SCHEMA, [{"valid": True, "data": {"cd": 7}}]),
]


def test_counts() -> None:
    # `{"ab":7}` is nine tokens with EOS. `{"ab":` is forced; after `7` more digits, then only EOS may come.
    count = forced.counted(Vocabulary.bytes(), CASES, "compact")
    assert vars(count) == {"instances": 1, "left_out": 2, "tokens": 9, "forced": 6, "only": 1, "wrong": 0}
    assert count.record()["share_saved"] == 7 / 9


def test_other_tokens_than_the_tokenizers_are_wrong() -> None:
    vocabulary = Vocabulary.from_tokens([b"a", b"b", b"ab", b""], eos_token_id=3, encode=lambda text: [2])
    assert forced.follow(Matcher('start: "ab"', vocabulary), [0, 1]) == (0, 2, 1)
    assert forced.follow(Matcher('start: "ab"', vocabulary), [1]) is None


def test_files(tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text("\n".join(json.dumps({"name": n, "schema": s, "tests": t}) for n, s, t in CASES))
    output = tmp_path / "forced.md"
    forced.main(["--data", str(data), "--vocabularies", "small", "--whitespace", "compact", "--output", str(output)])
    assert "| small | compact | 1 |" in output.read_text()
    (row,) = json.loads(output.with_suffix(".json").read_text())["rows"]
    assert row["wrong"] == 0
