"""Figures of times: distributions, and the points of their cumulative curves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

Record = dict[str, Any]
"""An object of JSON."""

CURVE_PERCENT = [0.0, *range(1, 100), 99.2, 99.4, 99.6, 99.8, 99.9, 99.95, 99.99, 100.0]


def write_json(record: Record, file: Path) -> None:
    """Write a record as one line of JSON, for programs; people read the table beside it."""
    file.write_text(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


def distribution(times_ns: Sequence[int]) -> Record:
    """Return the count, mean and quantiles in microseconds. Quantiles are measured times, not interpolated."""
    if not len(times_ns):
        return {"n": 0}
    times = np.asarray(times_ns, np.float64) / 1000
    median, p90, p99, p999 = np.percentile(times, [50, 90, 99, 99.9], method="inverted_cdf")
    figures = {"mean": times.mean(), "median": median, "p90": p90, "p99": p99, "p99.9": p999, "max": times.max()}
    return {"n": len(times_ns), **{name: round(float(value), 3) for name, value in figures.items()}}


def curve(times_ns: Sequence[int]) -> list[float]:
    """Return the quantiles in microseconds at each of `CURVE_PERCENT`."""
    if not len(times_ns):
        return []
    times = np.percentile(np.asarray(times_ns) / 1000, CURVE_PERCENT, method="inverted_cdf")
    return [round(float(value), 3) for value in times]


def ratio(ours: Record, theirs: Record, figure: str) -> float | None:
    """Return our figure divided by theirs; None if one of them is missing."""
    mine, other = ours.get(figure), theirs.get(figure)
    return None if mine is None or not other else float(mine) / float(other)
