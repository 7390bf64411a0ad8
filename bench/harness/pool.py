"""Pool the requests of several fresh processes into the figures of one case.

The phases of a case:
- `cold`: the first 100 masks of the first request.
- `whole`: all masks of the first request, so those of a fresh process are among them.
- `second`: the first 100 masks of a request with another grammar.
- `warm`: the first text again.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .figures import Record, curve, distribution

N_FIRST = 100
"""The number of masks at the beginning of a request that count as its first masks: the cold start."""
PHASES = {"cold": "cold", "whole": "cold", "second": "second", "warm": "warm"}
"""The request from which the figures of a phase are taken."""
BREADTHS = {"at most 100": 100, "101 to 10,000": 10_000, "more": 1 << 32}
"""Classes of masks by the number of tokens that they allow, with upper bounds: a lexeme that is nearly forced, a choice
of lexemes, free text."""


def engine_figures(results: Sequence[Mapping[str, Any]], name: str, strides: Mapping[str, int]) -> Record:
    """Return the figures of all phases of an engine. `strides` has the stride of each request."""
    phases: Record = {}
    for phase, request in PHASES.items():
        parts = [result["requests"][request] for result in results]
        tracks = [part["tracks"][name] for part in parts if name in part["tracks"]]
        if tracks:
            opened = [part["open_ns"][name] for part in parts if name in part["open_ns"]]
            phases[phase] = _phase(tracks, opened, N_FIRST if phase == "cold" else None, strides[request])
        else:
            phases[phase] = {"refused": next(part["refused"][name] for part in parts if name in part["refused"])}
    ready = [result["ready_ns"][name] / 1e6 for result in results if name in result["ready_ns"]]
    return {"processes": len(results), "ready_ms": round(statistics.median(ready), 2), "phases": phases}


def _phase(tracks: Sequence[Mapping[str, Any]], open_ns: Sequence[int], first: int | None, stride: int) -> Record:
    fills: list[int] = []
    accepts: list[int] = []
    breadths: dict[str, list[int]] = {breadth: [] for breadth in BREADTHS}
    for track in tracks:
        for position, ns, n_allowed in zip(track["positions"], track["fill_ns"], track["n_allowed"], strict=True):
            if first is None or position < first:
                fills.append(ns)
                breadths[next(key for key, bound in BREADTHS.items() if n_allowed <= bound)].append(ns)
        accepts += track["accept_ns"][:first]
    # The time to the session plus that from session to mask: other engines open their sessions in between.
    first_masks = [opened + track["fill_ns"][0] for opened, track in zip(open_ns, tracks, strict=True)]
    gave_up = [track for track in tracks if track["gave_up_at"] is not None]
    return {
        "stride": stride,
        "first_mask_us": distribution(first_masks),
        "mask_us": distribution(fills),
        "mask_us_by_tokens_allowed": {name: distribution(times) for name, times in breadths.items()},
        "accept_us": distribution(accepts),
        "curve_us": curve(fills),
        "gave_up_at": min((track["gave_up_at"] for track in gave_up), default=None),
        "reason": gave_up[0]["reason"] if gave_up else "",
    }


def added(counts: Iterable[Mapping[str, Any]]) -> Record:
    """Add up the checks of several requests."""
    total: Record = {}
    for checks in counts:
        for name, value in checks.items():
            if name == "clean":
                total[name] = total.get(name, True) and value
            else:
                total[name] = total[name] + value if name in total else value
    return total
