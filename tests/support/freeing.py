"""The threads that free what was loaded, for which full garbage collections wait (`earley/_large.pyx`)."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable


def becomes(condition: Callable[[], bool]) -> bool:
    """Return whether a condition is met within a minute."""
    until = time.monotonic() + 60
    while not condition() and time.monotonic() < until:
        time.sleep(0.005)
    return condition()


def n_freeing() -> int:
    return sum(thread.name == "earleymask frees what it loaded" for thread in threading.enumerate())


def usual_thresholds() -> tuple[int, int, int]:
    """Return the collector's thresholds, once no thread frees what an earlier test loaded."""
    assert becomes(lambda: n_freeing() == 0)
    return gc.get_threshold()


def collects_as(thresholds: tuple[int, int, int]) -> bool:
    """Return whether the collector has these thresholds, once no thread frees what was loaded."""
    return usual_thresholds() == thresholds
