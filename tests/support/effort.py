"""How much a test tries: a sample, or with `EARLEYMASK_EXHAUSTIVE=1` everything.

Samples keep `pytest` short. Try everything before a release, and after a change of what such a test is about.
"""

from __future__ import annotations

import os

EXHAUSTIVE = bool(os.environ.get("EARLEYMASK_EXHAUSTIVE"))


def effort(sample: int, whole: int) -> int:
    """Return how many examples to try, or how large they are."""
    return whole if EXHAUSTIVE else sample
