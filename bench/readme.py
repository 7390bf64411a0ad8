"""The speed table of README.md, made of the last results, so that nobody types numbers.

    python -m bench.readme               rewrite the section between the `speed` markers from bench/results/latency.json

`tests/test_readme.py` fails where the section is not what this makes of the results in the repository.
"""

from __future__ import annotations

import json
import re
from typing import Any

from . import ROOT

README = ROOT / "README.md"
RESULTS = ROOT / "bench" / "results" / "latency.json"
SECTION = re.compile(r"(?<=<!-- speed -->\n).*?(?=<!-- /speed -->)", re.S)


def section(record: dict[str, Any]) -> str:
    """The section as Markdown: one row for each text and engine."""
    environment = record["environment"]
    versions = environment["versions"]
    lines = [
        "| vocabulary | text | engine | grammar to first mask | mask, median | mask, p99 | `accept`, median |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for case in record["cases"]:
        text = f"{case['kind']}, {case['text']['tokens']:,} tokens"
        for engine, figures in case["engines"].items():
            times = [
                figures["first_mask_us"].get("median"),
                figures["mask_us"].get("median"),
                figures["mask_us"].get("p99"),
                figures["accept_us"].get("median"),
            ]
            note = f" (until token {figures['gave_up_at']:,})" if figures["gave_up_at"] is not None else ""
            cells = [case["vocabulary"]["name"], text, engine + note, *map(duration, times)]
            lines.append(f"| {' | '.join(cells)} |")
    engines = ", ".join(f"{name} {versions[name]}" for name in ("earleymask", "llguidance", "xgrammar"))
    where = f"{environment['processor']}, {environment['cores']} cores, Python {environment['python']}"
    lines += [
        "",
        f"Measured {environment['date']} at revision {environment['revision']}: {engines}; {where}; load average "
        f"{environment['load'][0]} at the start and {record['load_at_end'][0]} at the end.",
        "",
    ]
    return "\n".join(lines)


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


def main() -> None:
    record = json.loads(RESULTS.read_text(encoding="utf-8"))
    text, n = SECTION.subn(lambda _: section(record), README.read_text(encoding="utf-8"))
    if n != 1:
        raise SystemExit("README.md: no <!-- speed --> ... <!-- /speed --> section to write")
    README.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
