"""Fill the figures into README.md and docs/performance.md, so that no number is typed by hand.

    python -m bench.reports.pages

Each figure comes from `bench/results/latency.json`. It goes between two markers of a page, `<!-- name -->` and
`<!-- /name -->`; what stands outside the markers is written by hand. The plot of README.md is drawn anew, too.
Tests fail while a page shows other figures than the recorded results.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from .. import ROOT
from ..harness.figures import Record
from . import plots, steps, tables

README = ROOT / "README.md"
PERFORMANCE = ROOT / "docs" / "performance.md"
RESULTS = ROOT / "bench" / "results" / "latency.json"
PLOT = ROOT / "bench" / "results" / "summary.png"
LACKING = "The last results do not have this."
OURS = "earleymask"
VOCABULARIES = {"llama3": "Llama 3", "tekken": "Tekken"}

MIN_SAMPLES = {"p99": 100}
"""The fewest masks that a figure needs; with fewer, its cell stays empty. The p99 of fewer than 100 times is the
greatest time."""

Column = tuple[str, str, str, str]
"""A heading, then where the figure is in the results: the phase, what was timed, which figure of its distribution."""

SUMMARY: tuple[Column, ...] = (
    ("grammar to first mask", "cold", "first_mask_us", "median"),
    ("mask, median", "whole", "mask_us", "median"),
    ("mask, p99", "whole", "mask_us", "p99"),
)
COLUMNS: tuple[Column, ...] = (
    ("grammar to first mask", "cold", "first_mask_us", "median"),
    ("first 100 masks: mean", "cold", "mask_us", "mean"),
    ("first 100 masks: p99", "cold", "mask_us", "p99"),
    ("second time: median", "warm", "mask_us", "median"),
    ("second time: mean", "warm", "mask_us", "mean"),
    ("second time: p99", "warm", "mask_us", "p99"),
    ("`accept`: median", "whole", "accept_us", "median"),
)


def sections(record: Record) -> dict[Path, dict[str, str]]:
    """Return the text of each section, by page and by marker."""
    name = record["cases"][0]["vocabulary"]["name"]
    profiled = [case for case in record["cases"] if "profile" in case and case["vocabulary"]["name"] == name]
    prepared = record.get("prepare", {}).get(name)
    return {
        README: {"speed summary": summary(record)},
        PERFORMANCE: {
            "speed": speed(record),
            "targets": _about(record) + tables.reached(record, name) + "\n",
            "prepared": (tables.prepared(prepared) if prepared else LACKING) + "\n",
            "profile": (tables.profile(profiled) if profiled else LACKING) + "\n",
            "steps": tables.table(("step", "predicted", "measured"), steps.steps(record, name), left=3) + "\n",
        },
    }


def summary(record: Record) -> str:
    """Return the short table: a row for each text, with the first vocabulary of the results."""
    first = record["cases"][0]["vocabulary"]
    cases = [case for case in record["cases"] if case["vocabulary"]["name"] == first["name"]]
    rows = []
    for case in cases:
        ours = case["engines"][OURS]["phases"]
        cells = []
        for _, *column in SUMMARY:
            times = {name: _time(each["phases"], ours, *column) for name, each in case["engines"].items()}
            lines = [f"{name} {time}" for name, time in times.items() if time and name != OURS]
            cells.append("<br>".join([f"**{times[OURS]}**", *lines]))
        rows.append([_text(case), *cells])
    lines = [
        "| text | " + " | ".join(heading for heading, *_ in SUMMARY) + " |",
        "| --- |" + " --- |" * len(SUMMARY),
        *(f"| {' | '.join(row)} |" for row in rows),
        "",
        f"Bold: earleymask; in parentheses: multiples of its time. {_named(first)}; each text is followed once by "
        f"every process, from its first mask to its last. {_strides(cases)}{_measured(record)}",
        "",
    ]
    return "\n".join(lines)


def _strides(cases: Sequence[Record]) -> str:
    """Say which engines filled only every n-th mask."""
    strides: dict[str, list[str]] = {}
    for case in cases:
        for name, engine in case["engines"].items():
            whole = engine["phases"]["whole"]
            if whole.get("stride", 1) > 1:
                strides.setdefault(name, []).append(
                    f"every {whole['stride']}th mask of {case['kind']} ({whole['mask_us']['n']:,})"
                )
    return "".join(
        f"{name}, which is slow there, fills {' and '.join(each)}; a p99 needs 100 masks. "
        for name, each in strides.items()
    )


def speed(record: Record) -> str:
    """Return the long table: a row for each vocabulary, text and engine."""
    lines = [
        "| vocabulary | text | engine | masks: first 100 / second time | "
        + " | ".join(heading for heading, *_ in COLUMNS)
        + " |",
        "| --- | --- | --- | ---: |" + " ---: |" * len(COLUMNS),
    ]
    for case in record["cases"]:
        ours = case["engines"][OURS]["phases"]
        for engine, figures in case["engines"].items():
            phases = figures["phases"]
            gave_up = phases["whole"].get("gave_up_at")
            note = f" (until token {gave_up:,})" if gave_up is not None else ""
            samples = " / ".join(f"{phases[phase].get('mask_us', {}).get('n', 0):,}" for phase in ("cold", "warm"))
            times = [_time(phases, ours, *column) for _, *column in COLUMNS]
            lines.append(f"| {' | '.join([case['vocabulary']['name'], _text(case), engine + note, samples, *times])} |")
    lines += ["", f"In parentheses: multiples of earleymask's time. {_measured(record)}", ""]
    return "\n".join(lines)


def _text(case: Record) -> str:
    return f"{case['kind']}, {case['text']['tokens']:,} tokens"


def _named(vocabulary: Record) -> str:
    name = vocabulary["name"]
    return f"{VOCABULARIES.get(name, name)}'s vocabulary ({vocabulary['size']:,} tokens)"


def _measured(record: Record) -> str:
    """Say when and where the results were recorded, and with which versions."""
    environment = record["environment"]
    engines = ", ".join(
        f"{name} {environment['versions'][name]}"
        for name in (OURS, "llguidance", "xgrammar")
        if name in environment["versions"]
    )
    return (
        f"Measured {environment['date']} at revision {environment['revision']}: {engines}; "
        f"{environment['processor']}, {environment['cores']} cores, Python {environment['python']}; load average "
        f"{environment['load'][0]} at the start and {record['load_at_end'][0]} at the end."
    )


def _about(record: Record) -> str:
    environment = record["environment"]
    vocabulary = record["cases"][0]["vocabulary"]
    return (
        f"{vocabulary['name']}, {vocabulary['size']:,} ids; {environment['date']}, revision "
        f"{environment['revision']}, {environment['processor']}. Ratios are to llguidance "
        f"{environment['versions'].get('llguidance', '')}.\n\n"
    )


def _time(phases: Record, ours: Record, phase: str, what: str, figure: str) -> str:
    """Return a time, for a peer with its multiple of ours; empty where the results have too few."""
    figures = phases[phase].get(what, {})
    if figures.get("n", 0) < MIN_SAMPLES.get(figure, 1):
        return ""
    time, mine = figures.get(figure), ours[phase][what].get(figure)
    if time is None or phases is ours or not mine:
        return duration(time)
    return f"{duration(time)} ({_digits(time / mine)} ×)"


def duration(us: float | None) -> str:
    """Return microseconds with three significant digits, in a unit that fits."""
    if us is None:
        return ""
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if us >= size:
            return f"{_digits(us / size)} {unit}"
    return f"{_digits(us)} µs"


def _digits(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def section(page: str, marker: str) -> str | None:
    """Return what a page shows between `<!-- marker -->` and `<!-- /marker -->`; None if it has no such markers."""
    found = _between(marker).search(page)
    return None if found is None else found[0]


def filled(page: str, texts: Mapping[str, str]) -> str:
    """Return a page with these texts between their markers."""
    for marker, text in texts.items():
        parts = _between(marker).split(page)
        if len(parts) != 2:
            raise SystemExit(
                f"the page has {len(parts) - 1} sections <!-- {marker} --> ... <!-- /{marker} -->, not one"
            )
        page = parts[0] + text + parts[1]
    return page


def _between(marker: str) -> re.Pattern[str]:
    return re.compile(rf"(?<=<!-- {marker} -->\n).*?(?=<!-- /{marker} -->)", re.S)


def main() -> None:
    record = json.loads(RESULTS.read_text(encoding="utf-8"))
    for path, texts in sections(record).items():
        path.write_text(filled(path.read_text(encoding="utf-8"), texts), encoding="utf-8")
    first = record["cases"][0]["vocabulary"]["name"]
    plots.draw([case for case in record["cases"] if case["vocabulary"]["name"] == first], PLOT, ("whole",))


if __name__ == "__main__":
    main()
