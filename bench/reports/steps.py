"""The steps of the design: what was predicted for each before the engine was written, and what the bench measures."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..harness.figures import Record

Row = tuple[str, str, str]
LACKING = "not in the last results"
TEXTS = {"json": "JSON", "language": "language", "sql": "SQL"}


def steps(record: Record, vocabulary: str) -> Iterator[Row]:
    """Yield each step with what was predicted and what was measured."""
    cases = {
        case["kind"]: case
        for case in record["cases"]
        if case["vocabulary"]["name"] == vocabulary and case["kind"] in TEXTS
    }

    def each(figure: Callable[[Record], str]) -> str:
        """Show a figure for each text, except for texts whose results lack it."""
        found = []
        for kind, case in cases.items():
            try:
                found.append(f"{TEXTS[kind]} {figure(case)}")
            except KeyError:
                continue
        return ", ".join(found) or LACKING

    walk = record.get("walk")
    yield (
        "packed walk: u64 nodes, flat tables, branchless writes",
        "5.2 → 2.5 ns a node",
        f"{walk['ns_per_node']:.1f} ns a node ({walk['nodes']:,} nodes, in a JSON string)" if walk else LACKING,
    )
    yield (
        "skeletons: rows without their stack",
        "rows met: JSON 1,804 → 10, language 43,149 → 183",
        each(_skeletons),
    )
    yield "parts per regex, seen before / first time, median", "JSON 1.6 / 12 µs, language 3.5 / 18 µs", each(_parts)
    yield (
        "text seen before, all positions, median / p99",
        "JSON 0.3 / 10 µs, language 1.1 / 62 µs",
        each(lambda case: _times(_masks(case, "warm"), "median", "p99")),
    )
    yield (
        "policy of paths: first 100 tokens of a new grammar, mean",
        "JSON 4 µs, language 138 µs",
        each(lambda case: _times(_masks(case, "cold"), "mean")),
    )
    prepared = record.get("prepare", {}).get(vocabulary)
    yield (
        "parts prepared for the vocabulary (strings, numbers, families, quotient, white space)",
        "made in 28 ms",
        f"made in {prepared['built']['again_ms']:.0f} ms" if prepared else LACKING,
    )


def _skeletons(case: Record) -> str:
    """Show the rows that were computed in the first request, and the skeletons after it."""
    return f"{case['counters']['matcher']['rows_made']:,} → {case['counters']['grammar']['skeletons']:,}"


def _parts(case: Record) -> str:
    cold = case["profile"]["cold"]
    return f"{cold['masks_parts_known']['median']:.1f} / {cold['masks_new_part']['median']:.0f} µs"


def _masks(case: Record, phase: str) -> Record:
    figures: Record = case["engines"]["earleymask"]["phases"][phase]["mask_us"]
    return figures


def _times(figures: Record, *names: str) -> str:
    return " / ".join(_time(figures[name]) for name in names) + " µs"


def _time(us: float) -> str:
    return f"{us:.2f}" if us < 10 else f"{us:.0f}"
