"""Tell the garbage collector to leave alone what importing the tests made, and Hypothesis to give examples time."""

from __future__ import annotations

import gc

from hypothesis import settings

settings.register_profile("earleymask", deadline=None)
settings.load_profile("earleymask")


def pytest_collection_finish() -> None:
    """Freeze what exists: 400,000 objects of torch, lark and Hypothesis, which each `gc.collect()` visits for 0.2 s."""
    gc.collect()
    gc.freeze()
