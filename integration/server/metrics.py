"""Counters and histograms in Prometheus' text format."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable

BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Upper bounds of the buckets, in seconds. A step takes less than the first ones, a long answer more than the last."""

HELP = {
    "earleymask_requests_total": "Requests that have ended, by endpoint and status: for a failed stream, its error's.",
    "earleymask_finished_total": "Answers that ended, by the reason.",
    "earleymask_disconnects_total": "Requests whose client went away before the answer was complete.",
    "earleymask_prompt_tokens_total": "Tokens of prompts.",
    "earleymask_generated_tokens_total": "Tokens that the model has chosen.",
    "earleymask_load_seconds": "Time in which the grammar of a request was loaded, or found in the pool.",
    "earleymask_prefill_seconds": "Time of a pass over a prompt, in the process of the model.",
    "earleymask_pass_seconds": "Time of a pass over one token of each row, in the process of the model.",
    "earleymask_step_overhead_seconds": "Time of a step beyond its passes: masks, choices, and all that delays them.",
    "earleymask_first_token_seconds": "Time from a request to its first piece of text.",
    "earleymask_request_seconds": "Time from a request to the end of its answer.",
    "earleymask_running_answers": "Answers that have a slot.",
    "earleymask_waiting_answers": "Answers that wait for a slot.",
    "earleymask_known_grammars": "Grammars that are remembered.",
}


class Metrics:
    """What has happened. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counters: defaultdict[tuple[str, str], float] = defaultdict(float)
        self._buckets: dict[str, list[int]] = {}
        self._sums: defaultdict[str, float] = defaultdict(float)
        self.gauges: dict[str, Callable[[], float]] = {}

    def add(self, name: str, amount: float = 1, **labels: object) -> None:
        """Add to a counter. The values of labels are words, without quotes."""
        key = (name, ",".join([f'{label}="{value}"' for label, value in labels.items()]))
        with self._lock:
            self._counters[key] += amount

    def observe(self, name: str, seconds: float) -> None:
        """Add a time to a histogram."""
        with self._lock:
            self._buckets.setdefault(name, [0] * (len(BOUNDS) + 1))[bisect_left(BOUNDS, seconds)] += 1
            self._sums[name] += seconds

    def value(self, name: str) -> float:
        """Return the sum of a counter over its labels."""
        with self._lock:
            return sum(amount for (each, _), amount in self._counters.items() if each == name)

    def text(self) -> str:
        """Return all metrics as Prometheus reads them."""
        with self._lock:
            counters = sorted(self._counters.items())
            histograms = [(name, list(counts), self._sums[name]) for name, counts in sorted(self._buckets.items())]
        lines: list[str] = []
        described = ""
        for (name, labels), amount in counters:
            if name != described:
                described = name
                lines += _head(name, "counter")
            lines.append(f"{name}{{{labels}}} {amount:g}" if labels else f"{name} {amount:.0f}")
        for name, counts, total in histograms:
            lines += _head(name, "histogram")
            so_far = 0
            for bound, count in zip((*map(str, BOUNDS), "+Inf"), counts, strict=True):
                so_far += count
                lines.append(f'{name}_bucket{{le="{bound}"}} {so_far}')
            lines += [f"{name}_sum {total:.6f}", f"{name}_count {so_far}"]
        for name, value in self.gauges.items():
            lines += [*_head(name, "gauge"), f"{name} {value():g}"]
        return "\n".join(lines) + "\n"


def _head(name: str, kind: str) -> list[str]:
    return [f"# HELP {name} {HELP[name]}", f"# TYPE {name} {kind}"]
