"""Tests stand beside their like, and what they share is in `support` and `campaign`."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from support.paths import TESTS

# Each folder may import from itself and from those named; all other folders of tests, from any of these.
SHARED = {"support": set(), "campaign": {"support"}, "fuzz": {"support", "campaign"}}
FILES = sorted(TESTS.rglob("*.py"))


def imported(path: Path) -> set[str]:
    """Return the absolute names of the modules that a file imports at any depth, and of what it takes from them."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: `{ast.unparse(node)}`: tests are no package of which this could be a part"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def test_no_test_imports_another_one() -> None:
    wrong = {
        (str(path.relative_to(TESTS)), name)
        for path in FILES
        for name in imported(path)
        if any(part.startswith("test_") for part in name.split(".")) and not name.startswith("earleymask")
    }
    assert not wrong, "what two tests need belongs into tests/support"


@pytest.mark.parametrize("folder", SHARED)
def test_what_is_shared_leads_one_way(folder: str) -> None:
    paths = [path for path in (TESTS / folder).rglob("*.py") if not path.name.startswith("test_")]
    assert paths
    packages = {name.split(".")[0] for path in paths for name in imported(path)}
    assert packages & {*SHARED, "tests"} <= {folder, *SHARED[folder]}


def test_every_test_has_a_folder() -> None:
    assert not sorted(path.name for path in TESTS.glob("test_*.py"))
