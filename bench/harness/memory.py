"""Resident memory of the process, and the counters of the engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..engines import Session


def resident_bytes() -> int:
    """Return the resident memory of this process; 0 on systems without /proc."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:")), 0)


def counters(vocabulary: Any, sessions: Mapping[str, Session]) -> dict[str, dict[str, int]]:
    """Return `stats()` of the vocabulary, the grammar and the matcher of earleymask."""
    session = sessions.get("earleymask")
    return {
        "vocabulary": _numbers(getattr(vocabulary, "stats", None)),
        "grammar": _numbers(session.grammar_stats if session is not None else None),
        "matcher": _numbers(session.stats if session is not None else None),
    }


def _numbers(stats: Callable[[], Mapping[str, Any]] | None) -> dict[str, int]:
    return {name: value for name, value in stats().items() if isinstance(value, int)} if stats is not None else {}
