"""Targets and results.

A ratio is a figure of earleymask divided by that of llguidance in the same phase; both are pooled over the same
processes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..harness.figures import Record, ratio
from ..texts import families

PEER = "llguidance"
# The greatest ratio to the peer, by family, phase and figure. Other figures have no target.
RATIOS: dict[str, list[tuple[str, str, str, float]]] = {
    "json": [
        ("whole", "mask_us", "median", 1 / 2),
        *(("whole", "mask_us", figure, 1 / 4) for figure in ("mean", "p99", "p99.9", "max")),
        ("cold", "first_mask_us", "median", 1 / 4),
        ("cold", "mask_us", "mean", 1 / 3),
        ("cold", "mask_us", "p99", 1 / 4),
        ("whole", "accept_us", "median", 1 / 3),
    ],
}
RATIOS["language"] = RATIOS["sql"] = [
    *(("whole", "mask_us", figure, least) for figure, least in (("median", 1 / 200), ("mean", 1 / 20))),
    *(("whole", "mask_us", figure, least) for figure, least in (("p99", 1 / 10), ("max", 1 / 2))),
    ("cold", "first_mask_us", "median", 1 / 4),
    ("cold", "mask_us", "mean", 1 / 4),
    ("cold", "mask_us", "p99", 1 / 4),
    ("whole", "accept_us", "median", 1 / 3),
]
NAMES = {
    ("whole", "mask_us"): "mask, whole texts",
    ("cold", "mask_us"): "mask, first 100 of a process",
    ("cold", "first_mask_us"): "grammar to first mask",
    ("whole", "accept_us"): "`accept`",
}
SAME = 1.1
"""Two medians count as equal up to this ratio: those of two parts of a text differ as much."""
MAX_CACHE_BYTES = 100_000_000
"""The target: the most bytes that the vocabulary, the trie, the caches and the grammar take together."""
MAX_MATCHER_BYTES = 1_000_000
"""The target: the most bytes that a matcher takes."""


@dataclass(frozen=True)
class Target:
    figure: str
    text: str
    target: str
    reached: str
    met: bool | None
    """None if there is no target."""

    @property
    def verdict(self) -> str:
        return "" if self.met is None else "yes" if self.met else "no"


def targets(record: Record, vocabulary: str) -> Iterator[Target]:
    """Yield the targets for which the record has figures."""
    cases = [case for case in record["cases"] if case["vocabulary"]["name"] == vocabulary]
    for case in cases:
        yield from _recurring(case)
    for case in cases:
        yield from _ratios(case)
    long = record.get("long_output", {})
    if long.get("vocabulary") == vocabulary:
        for kind, figures in long["texts"].items():
            yield from _long(kind, figures)
    for kind, sizes in record.get("scaling", {}).items():
        if vocabulary == record["cases"][0]["vocabulary"]["name"] and len(sizes) > 1:
            yield _scaling(kind, sizes)
    for case in cases:
        if "checks" in case and case["checks"]["with_walk"]:
            same, n = case["checks"]["equal_walk"], case["checks"]["with_walk"]
            yield Target("masks equal to the merged walk's", case["kind"], "all", f"{same:,} of {n:,}", same == n)
    for case in cases:
        yield from _memory(case)


def _recurring(case: Record) -> Iterator[Target]:
    if "recurring" in case:
        figures = case["recurring"]
        reached = figures["mask_us"]["median"]
        yield Target(
            "recurring position, median",
            case["kind"],
            f"1.5 copies and the call: {figures['bound_us']:.2f} µs",
            f"{reached:.2f} µs; one copy {figures['copy_us']:.2f} µs",
            reached <= figures["bound_us"],
        )


def _ratios(case: Record) -> Iterator[Target]:
    engines = case.get("engines", {})
    if "earleymask" not in engines or PEER not in engines:
        return
    for phase, what, figure, most in RATIOS[families.family(case["kind"])]:
        ours, theirs = (engines[name]["phases"][phase].get(what, {}) for name in ("earleymask", PEER))
        reached = ratio(ours, theirs, figure)
        if reached is not None:
            name = f"{NAMES[phase, what]}, {figure}"
            yield Target(name, case["kind"], fraction(most), fraction(reached), reached <= most)


def _long(kind: str, figures: Record) -> Iterator[Target]:
    reached = figures["median_ratio"]
    name = f"{figures['tokens']:,} tokens: mask median, last tenth to first"
    yield Target(name, kind, "equal", f"× {reached:.2f}", reached <= SAME)
    first, last = figures["memory"][0], figures["memory"][-1]
    name = f"{figures['tokens']:,} tokens: memory of the matcher, with its history"
    yield Target(name, kind, "1 MB", megabytes(kept_bytes(last)), kept_bytes(last) < MAX_MATCHER_BYTES)
    if last["tokens"] > first["tokens"]:
        each = (last.get("text_bytes", 0) - first.get("text_bytes", 0)) / (last["tokens"] - first["tokens"])
        name = f"{figures['tokens']:,} tokens: memory for each token of history"
        yield Target(name, kind, "none", f"{each:.1f} bytes", None)


def kept_bytes(stats: Mapping[str, int]) -> int:
    """Return the memory of a matcher by its own counters: for its text, and the scratch memory of its calls."""
    return stats.get("text_bytes", 0) + stats.get("walk_bytes", 0)


def _scaling(kind: str, sizes: list[Record]) -> Target:
    growth = sizes[-1]["warm_us"]["median"] / sizes[0]["warm_us"]["median"]
    name = f"warm median, {sizes[0]['size']:,} → {sizes[-1]['size']:,} ids"
    most = sizes[-1]["size"] / sizes[0]["size"]
    return Target(name, kind, f"× {most:.0f}, as the bitmask", f"× {growth:.1f}", growth <= most)


def _memory(case: Record) -> Iterator[Target]:
    """Yield the growth of a process that does nothing else, and the memory of the matcher by its own counters."""
    if "profile" in case:
        total = case["profile"]["resident_bytes"]["end"]
        name = "memory of vocabulary, trie, caches, grammar"
        yield Target(name, case["kind"], "100 MB", megabytes(total), 0 < total <= MAX_CACHE_BYTES)
    if "counters_warm" in case:
        kept = kept_bytes(case["counters_warm"]["matcher"])
        name = f"{case['text']['tokens']:,} tokens: memory of the matcher"
        yield Target(name, case["kind"], "1 MB", megabytes(kept), kept < MAX_MATCHER_BYTES)


def fraction(value: float) -> str:
    """Show 0.02 as 1/50, and 1.5 as × 1.50."""
    if value > 0.95:
        return f"× {value:.2f}"
    return f"1/{1 / value:,.0f}" if value < 0.1 else f"1/{1 / value:.1f}".removesuffix(".0")


def megabytes(n_bytes: float) -> str:
    return f"{n_bytes / 1e6:.2f} MB" if n_bytes < 1e7 else f"{n_bytes / 1e6:.0f} MB"
