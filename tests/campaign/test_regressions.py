"""Failures that the campaign once found must not return: each file in `regressions/` is one case."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaign import (
    patterns,  # noqa: F401  defines kinds of cases
    sessions,  # noqa: F401  as well
)
from campaign.cases import read, write
from campaign.runner import REGRESSIONS

FILES = sorted(REGRESSIONS.glob("*.json"))


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_what_was_found(file: Path) -> None:
    read(file).check()


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_a_case_comes_back_from_its_file(file: Path, tmp_path: Path) -> None:
    case = read(file)
    write(case, tmp_path / "again.json", "the same")
    assert read(tmp_path / "again.json").data() == case.data()
