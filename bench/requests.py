"""Run the requests of one fresh process, which several engines follow in lockstep; `latency.py` pools them.

1. *cold*: the first request of the process, with a new grammar and the whole text. Its first tokens are the cold start.
2. *second*: another grammar of the same family, with the first tokens of its text.
3. *warm*: the first text again, with a new matcher of the same grammar.

Each engine prepares the vocabulary before the first grammar is read. That time is measured separately.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, TypedDict

from .engines import Engine, Session, engines
from .harness import measure, memory, vocabularies
from .harness.checks import Checker


class Job(TypedDict):
    vocabulary: str
    """The file of a saved vocabulary."""
    engines: list[str]
    number: int
    """The number of the process. It decides which engine begins."""
    kind: str
    tokens: list[int]
    second_kind: str
    second_tokens: list[int]
    strides: dict[str, dict[str, int]]
    """The strides by grammar and engine; 1 for others."""
    check: bool
    """Compare the masks, which takes longer and disturbs the times."""
    max_asked: int


def work(job: Job) -> dict[str, Any]:
    """Run the requests of one process.

    Returns the tracks of each request by engine, the nanoseconds to its sessions, checks, counters, memory, and how
    often the system ran another process instead, which adds some milliseconds to the call that is being timed.
    """
    before, start = memory.resident_bytes(), time.perf_counter_ns()
    vocabulary = vocabularies.load_saved(job["vocabulary"])
    ready_ns = {"vocabulary": time.perf_counter_ns() - start}
    ready_bytes: dict[str, int] = {"vocabulary": memory.resident_bytes() - before}
    found: list[Engine] = []
    missing: dict[str, str] = {}
    for name in job["engines"]:
        start, before = time.perf_counter_ns(), memory.resident_bytes()
        made, absent = engines(vocabulary, [name])
        ready_ns[name] = time.perf_counter_ns() - start
        ready_bytes[name] = memory.resident_bytes() - before
        found += made
        missing |= absent
    token_bytes = [vocabulary.token_bytes(token) for token in range(vocabulary.size)] if job["check"] else []
    requests = Requests(job, found, token_bytes)

    cold, sessions = requests.open("cold", job["kind"], job["tokens"])
    again = {name: session.again for name, session in sessions.items() if session.again is not None}
    counters = memory.counters(vocabulary, sessions)
    second, _ = requests.open("second", job["second_kind"], job["second_tokens"])
    opened: dict[str, int] = {}
    reopened: dict[str, Session] = {}
    for name, reopen in again.items():
        start = time.perf_counter_ns()
        reopened[name] = reopen()
        opened[name] = time.perf_counter_ns() - start
    warm = requests.follow("warm", job["kind"], reopened, job["tokens"]) | {"open_ns": opened, "refused": {}}
    return {
        "ready_ns": ready_ns,
        "ready_bytes": ready_bytes,
        "missing": missing,
        "counters": counters,
        "end_counters": memory.counters(vocabulary, reopened),
        "interruptions": resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw,
        "requests": {"cold": cold, "second": second, "warm": warm},
    }


class Requests:
    """The requests of one process."""

    def __init__(self, job: Job, found: Sequence[Engine], token_bytes: Sequence[bytes]) -> None:
        self.job = job
        self.engines = found
        self.token_bytes = token_bytes

    def open(self, what: str, kind: str, tokens: Sequence[int]) -> tuple[dict[str, Any], dict[str, Session]]:
        sessions, open_ns, refused = measure.open_all(self.engines, kind, self.job["number"])
        followed = self.follow(what, kind, sessions, tokens)
        return followed | {"open_ns": open_ns, "refused": refused}, sessions

    def follow(self, what: str, kind: str, sessions: dict[str, Session], tokens: Sequence[int]) -> dict[str, Any]:
        checker = Checker(sessions, tokens, self.token_bytes, self.job["max_asked"]) if self.job["check"] else None
        tracks = measure.follow(
            sessions,
            tokens,
            self.job["strides"].get(kind, {}),
            first=self.job["number"],
            on_masks=checker.at if checker else None,
            label=f"{kind}, {what}" if checker else "",
        )
        checks = asdict(checker.checks) | {"clean": checker.checks.clean} if checker else None
        return {"tracks": {name: asdict(track) for name, track in tracks.items()}, "checks": checks}
