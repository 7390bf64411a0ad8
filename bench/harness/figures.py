"""From times to figures: distributions, and the points of a curve that draw one again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

Record = dict[str, Any]
"""What JSON can say."""

CURVE_PERCENT = [0.0, *range(1, 100), 99.2, 99.4, 99.6, 99.8, 99.9, 99.95, 99.99, 100.0]


def write_json(record: Record, file: Path) -> None:
    """One line of JSON: for programs, beside a table for people."""
    file.write_text(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


def distribution(times_ns: Sequence[int]) -> Record:
    """Count, mean and quantiles, in microseconds; quantiles are times that were seen, not interpolated ones."""
    if not len(times_ns):
        return {"n": 0}
    times = np.asarray(times_ns, np.float64) / 1000
    median, p90, p99, p999 = np.percentile(times, [50, 90, 99, 99.9], method="inverted_cdf")
    figures = {"mean": times.mean(), "median": median, "p90": p90, "p99": p99, "p99.9": p999, "max": times.max()}
    return {"n": len(times_ns), **{name: round(float(value), 3) for name, value in figures.items()}}


def curve(times_ns: Sequence[int]) -> list[float]:
    """Microseconds at each of `CURVE_PERCENT` of the cumulative distribution."""
    if not len(times_ns):
        return []
    times = np.percentile(np.asarray(times_ns) / 1000, CURVE_PERCENT, method="inverted_cdf")
    return [round(float(value), 3) for value in times]


def ratio(ours: Record, theirs: Record, figure: str) -> float | None:
    """Ours divided by theirs; None where one has no such figure."""
    mine, other = ours.get(figure), theirs.get(figure)
    return None if mine is None or not other else float(mine) / float(other)
