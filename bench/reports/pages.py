"""The tables of README.md and docs/performance.md, made of the last results, so that nobody types numbers.

    python -m bench.reports.pages        rewrite what stands between the markers from bench/results/latency.json

Tests fail where a section is not what this makes of the results in the repository.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from .. import ROOT
from . import steps, tables

README = ROOT / "README.md"
DOCUMENT = ROOT / "docs" / "performance.md"
RESULTS = ROOT / "bench" / "results" / "latency.json"
LACKING = "Not among the last results."
SECTION = re.compile(r"(?<=<!-- speed -->\n).*?(?=<!-- /speed -->)", re.S)


HEADINGS = ("vocabulary", "text", "engine", "masks: first 100 / seen before")
LEAST = {"p99": 100}
"""Samples without which a figure is left out: of fewer, their p99 is their greatest."""
# Heading, phase and figures of each column of times.
COLUMNS = (
    ("grammar to first mask", "cold", "first_mask_us", "median"),
    ("first 100 masks, mean", "cold", "mask_us", "mean"),
    ("p99", "cold", "mask_us", "p99"),
    ("seen before, median", "warm", "mask_us", "median"),
    ("mean", "warm", "mask_us", "mean"),
    ("p99", "warm", "mask_us", "p99"),
    ("`accept`", "whole", "accept_us", "median"),
)


def section(record: dict[str, Any]) -> str:
    """The section as Markdown: one row for each text and engine; in parentheses, times ours."""
    environment = record["environment"]
    versions = environment["versions"]
    lines = [
        "| " + " | ".join((*HEADINGS, *(heading for heading, *_ in COLUMNS))) + " |",
        "| --- | --- | --- |" + " ---: |" * (1 + len(COLUMNS)),
    ]
    for case in record["cases"]:
        text = f"{case['kind']}, {case['text']['tokens']:,} tokens"
        ours = case["engines"]["earleymask"]["phases"]
        for engine, figures in case["engines"].items():
            phases = figures["phases"]
            gave_up = phases["whole"].get("gave_up_at")
            note = f" (until token {gave_up:,})" if gave_up is not None else ""
            samples = " / ".join(f"{phases[phase].get('mask_us', {}).get('n', 0):,}" for phase in ("cold", "warm"))
            times = [_cell(phases, ours, *column) for _, *column in COLUMNS]
            lines.append(f"| {' | '.join([case['vocabulary']['name'], text, engine + note, samples, *times])} |")
    engines = ", ".join(
        f"{name} {versions[name]}" for name in ("earleymask", "llguidance", "xgrammar") if name in versions
    )
    where = f"{environment['processor']}, {environment['cores']} cores, Python {environment['python']}"
    lines += [
        "",
        f"Measured {environment['date']} at revision {environment['revision']}: {engines}; {where}; load average "
        f"{environment['load'][0]} at the start and {record['load_at_end'][0]} at the end. In parentheses: "
        "multiples of earleymask's.",
        "",
    ]
    return "\n".join(lines)


def _cell(phases: dict[str, Any], ours: dict[str, Any], phase: str, what: str, figure: str) -> str:
    figures = phases[phase].get(what, {})
    if figures.get("n", 0) < LEAST.get(figure, 1):
        return ""
    time, mine = figures.get(figure), ours[phase][what].get(figure)
    if time is None or phases is ours or not mine:
        return duration(time)
    return f"{duration(time)} ({_digits(time / mine)} ×)"


def duration(us: float | None) -> str:
    """Three significant digits in a unit that fits."""
    if us is None:
        return ""
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if us >= size:
            return f"{_digits(us / size)} {unit}"
    return f"{_digits(us)} µs"


def _digits(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def rewrite(path: Path, marker: str, text: str) -> str:
    """The text of a file with another section between `<!-- marker -->` and `<!-- /marker -->`."""
    whole, n = _section(marker).subn(lambda _: text, path.read_text(encoding="utf-8"))
    if n != 1:
        raise SystemExit(f"{path.name}: no <!-- {marker} --> ... <!-- /{marker} --> section to write")
    return whole


def _section(marker: str) -> re.Pattern[str]:
    return re.compile(rf"(?<=<!-- {marker} -->\n).*?(?=<!-- /{marker} -->)", re.S)


def documented(record: dict[str, Any]) -> dict[str, str]:
    """The sections of docs/performance.md: by marker, for the first vocabulary of the results."""
    name = record["cases"][0]["vocabulary"]["name"]
    size = record["cases"][0]["vocabulary"]["size"]
    environment = record["environment"]
    about = f"{name}, {size:,} ids; {environment['date']}, revision {environment['revision']}, "
    about += (
        f"{environment['processor']}. Ratios are to llguidance {environment['versions'].get('llguidance', '')}.\n\n"
    )
    profiled = [case for case in record["cases"] if "profile" in case and case["vocabulary"]["name"] == name]
    prepared = record.get("prepare", {}).get(name)
    return {
        "targets": about + tables.reached(record, name) + "\n",
        "prepared": (tables.prepared(prepared) if prepared else LACKING) + "\n",
        "profile": (tables.profile(profiled) if profiled else LACKING) + "\n",
        "steps": tables.table(("step", "predicted", "measured"), steps.steps(record, name), left=3) + "\n",
    }


def main() -> None:
    record = json.loads(RESULTS.read_text(encoding="utf-8"))
    README.write_text(rewrite(README, "speed", section(record)), encoding="utf-8")
    for marker, text in documented(record).items():
        DOCUMENT.write_text(rewrite(DOCUMENT, marker, text), encoding="utf-8")


if __name__ == "__main__":
    main()
