"""Tell the garbage collector to leave alone what earlier tests made, and Hypothesis to give examples time."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("earleymask", deadline=None)
settings.load_profile("earleymask")


def pytest_collection_finish() -> None:
    """Freeze what exists: 400,000 objects of torch, lark and Hypothesis, which each `gc.collect()` visits for 0.2 s."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def _freeze() -> Iterator[None]:
    """Freeze what the tests of a file leave behind: pytest's reports, caches, and texts of Hypothesis."""
    yield
    gc.collect()
    gc.freeze()
