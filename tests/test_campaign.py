"""A short slice of the campaigns (`campaign.py`), with a seed that is printed."""

from __future__ import annotations

import os
from pathlib import Path

import campaign
import pytest
from twin import Twin


def seed() -> str:
    return os.environ.get("EARLEYMASK_SEED", "2")


def test_sampled_vocabularies() -> None:
    assert campaign.main(["--masks", "1500", "--seed", seed(), "--quiet"]) == 0


def test_whole_vocabularies_and_bench_grammars() -> None:
    assert campaign.main(["--masks", "24", "--seed", seed(), "--full", "--quiet"]) == 0


def test_a_run_goes_on_where_it_stopped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = tmp_path / "totals.json"
    common = ["--seed", "5", "--quiet", "--resume", str(state)]
    assert campaign.main(["--masks", "60", *common]) == 0
    assert campaign.main(["--masks", "120", *common]) == 0
    resumed = capsys.readouterr().out.splitlines()[-2:]
    assert campaign.main(["--masks", "120", "--seed", "5", "--quiet"]) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == resumed


def test_a_difference_is_shrunk_and_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a twin that forgets ignored text, the campaign must notice, print a reproducer and fail."""
    monkeypatch.setattr(Twin, "_carried", lambda self, row: iter(()))
    assert campaign.main(["--masks", "1000", "--seed", "3", "--quiet", "--most-differences", "1"]) == 1
    out = capsys.readouterr().out
    assert "wrongly allowed" in out and "--- shrunk" in out
    assert len(out[out.index("--- shrunk") :].splitlines()) < 10 and "%ignore" in out
