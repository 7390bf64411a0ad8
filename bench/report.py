"""From tracks to figures: a JSON record, a Markdown table, a plot."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from . import ROOT
from .measure import MAX_ASKED, Checks, Track

# Points of the cumulative distribution that the record keeps, in percent: enough to draw the plot again.
CURVE_PERCENT = [0.0, *range(1, 100), 99.2, 99.4, 99.6, 99.8, 99.9, 99.95, 100.0]
N_FIRST = 100
# Masks by how many tokens they allow: a lexeme nearly forced, a choice of lexemes, free text. Upper bounds, inclusive.
BREADTHS = {"at most 100": 100, "101 to 10,000": 10_000, "more": 1 << 32}
COLOURS = {"earleymask": "#d1495b", "llguidance": "#2e6f95", "xgrammar": "#7a9e3f"}

Record = dict[str, Any]


def distribution(times_ns: Sequence[int]) -> Record:
    """Count, mean and quantiles, in microseconds; quantiles are times that were seen, not interpolated ones."""
    if not times_ns:
        return {"n": 0}
    times = np.asarray(times_ns, np.float64) / 1000
    median, p90, p99, p999 = np.percentile(times, [50, 90, 99, 99.9], method="inverted_cdf")
    figures = {"mean": times.mean(), "median": median, "p90": p90, "p99": p99, "p99.9": p999, "max": times.max()}
    return {"n": len(times_ns), **{name: round(float(value), 3) for name, value in figures.items()}}


def engine_record(track: Track, first_mask_ns: Sequence[int], stride: int) -> Record:
    curve = np.percentile(np.asarray(track.fill_ns) / 1000, CURVE_PERCENT, method="inverted_cdf")
    first = [ns for ns, position in zip(track.fill_ns, track.positions, strict=True) if position < N_FIRST]
    return {
        "first_mask_us": {"first": round(first_mask_ns[0] / 1000, 1), **distribution(first_mask_ns)},
        "mask_us": distribution(track.fill_ns),
        f"mask_us_first_{N_FIRST}_tokens": distribution(first),
        "mask_us_by_tokens_allowed": _by_breadth(track),
        "accept_us": distribution(track.accept_ns),
        "stride": stride,
        "gave_up_at": track.gave_up_at,
        "reason": track.reason,
        "mean_tokens_allowed": round(float(np.mean(track.n_allowed)), 1),
        "stats": track.stats,
        "curve_us": [round(float(value), 3) for value in curve],
    }


def _by_breadth(track: Track) -> Record:
    groups: dict[str, list[int]] = {name: [] for name in BREADTHS}
    for ns, n_allowed in zip(track.fill_ns, track.n_allowed, strict=True):
        groups[next(name for name, bound in BREADTHS.items() if n_allowed <= bound)].append(ns)
    return {name: distribution(times) for name, times in groups.items()}


def checks_record(checks: Checks) -> Record:
    return {**asdict(checks), "clean": checks.clean}


# -- where and when ---------------------------------------------------------------


def environment() -> Record:
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "revision": _revision(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "load": [round(value, 2) for value in os.getloadavg()],
        "versions": _versions(("earleymask", "llguidance", "xgrammar", "numpy")),
    }


def _versions(names: Iterable[str]) -> dict[str, str]:
    versions = {}
    for name in names:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def _revision() -> str:
    def git(*arguments: str) -> str:
        return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=True).stdout

    try:
        dirty = git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!bench/results").strip()
        return git("rev-parse", "--short=12", "HEAD").strip() + (" with changes" if dirty else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


# -- Markdown -----------------------------------------------------------------------


def markdown(record: Record, plot: str | None) -> str:
    where = record["environment"]
    versions = ", ".join(f"{name} {version}" for name, version in where["versions"].items())
    parts = [
        "# Mask latency",
        f"{where['date']}, revision {where['revision']}. {where['processor']}, {where['cores']} cores, "
        f"{where['system']}, Python {where['python']}; {versions}. Load average at the start "
        f"{where['load'][0]}, at the end {record['load_at_end'][0]}.",
        "Times in microseconds, one thread, all engines at the same position before any goes on to the next token. "
        "A stride of n means that only every n-th mask of that engine was filled (it accepts every token). "
        "*First mask* is the median from grammar text to the first filled mask, in milliseconds, tokenizer data ready, "
        "no cached grammars; in parentheses the first one of the process. "
        f"Written by `{record['command']}`.",
    ]
    if plot:
        parts.append(f"![Cumulative distribution of mask times]({plot})")
    for name in dict.fromkeys(case["vocabulary"]["name"] for case in record["cases"]):
        cases = [case for case in record["cases"] if case["vocabulary"]["name"] == name]
        vocabulary = cases[0]["vocabulary"]
        parts += [
            f"## {name}: {vocabulary['size']:,} ids",
            f"Copying one bitmask under the same timer takes {vocabulary['floor_us']:.2f} µs.",
            _times_table(cases),
            *_give_ups(cases),
            "### Median by the number of tokens allowed, µs (masks)",
            _breadth_table(cases),
            "### Counters of earleymask, whole text",
            _counters_table(cases),
            "### Checks of earleymask's masks",
            _checks_table(cases),
        ]
    parts.append(
        "llguidance lexes greedily, so it refuses some texts of these grammars: in SQL, `ORDER` may also be `OR` and a "
        "name `DER`, and `orders` the end of a condition and `OR ders`. It also ends a text at its last lexeme, "
        "without the white space that may follow. xgrammar has no lexer and decides in such places: every token in "
        f"dispute, or at a position with more than {MAX_ASKED:,} of them a part (`--thorough` asks about all)."
    )
    return "\n\n".join(parts) + "\n"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    rule = ["---" if index < left else "---:" for index in range(len(header))]
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, rule, *rows))


def _us(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _times_table(cases: Sequence[Record]) -> str:
    header = (
        "text",
        "engine",
        "first mask, ms",
        "masks",
        "stride",
        "median",
        "p90",
        "p99",
        "max",
        "mean",
        f"mean of first {N_FIRST}",
        "accept median",
        "accept p99",
    )
    rows = []
    for case in cases:
        for name, engine in case["engines"].items():
            mask, accept, opened = engine["mask_us"], engine["accept_us"], engine["first_mask_us"]
            rows.append(
                (
                    f"{case['kind']}, {case['text']['tokens']:,} tokens",
                    name,
                    f"{opened['median'] / 1000:.2f} ({opened['first'] / 1000:.2f})",
                    f"{mask['n']:,}",
                    str(engine["stride"]),
                    *(_us(mask.get(key)) for key in ("median", "p90", "p99", "max", "mean")),
                    _us(engine[f"mask_us_first_{N_FIRST}_tokens"].get("mean")),
                    *(_us(accept.get(key)) for key in ("median", "p99")),
                )
            )
    return _table(header, rows, left=2)


def _breadth_table(cases: Sequence[Record]) -> str:
    def cell(figures: Record) -> str:
        return f"{_us(figures['median'])} ({figures['n']:,})" if figures["n"] else ""

    rows = [
        (case["kind"], name, *(cell(engine["mask_us_by_tokens_allowed"][breadth]) for breadth in BREADTHS))
        for case in cases
        for name, engine in case["engines"].items()
    ]
    return _table(("text", "engine", *BREADTHS), rows, left=2)


def _give_ups(cases: Sequence[Record]) -> list[str]:
    lines = [
        f"- {name} gave up on {case['kind']} at token {engine['gave_up_at']:,} of {case['text']['tokens']:,}: "
        f"{engine['reason']}"
        for case in cases
        for name, engine in case["engines"].items()
        if engine["gave_up_at"] is not None
    ]
    return ["\n".join(lines)] if lines else ["Every engine followed every text to its end."]


def _counters_table(cases: Sequence[Record]) -> str:
    stats: list[tuple[Record, Mapping[str, int]]] = [
        (case, case["engines"]["earleymask"]["stats"]) for case in cases if "earleymask" in case["engines"]
    ]
    names = list(dict.fromkeys(name for _, counters in stats for name in counters))
    rows = [(name.replace("_", " "), *(f"{counters.get(name, 0):,}" for _, counters in stats)) for name in names]
    return _table(("counter", *(case["kind"] for case, _ in stats)), rows)


def _checks_table(cases: Sequence[Record]) -> str:
    names = {
        "positions": "masks",
        "text_refused": "masks without the text's next token",
        "with_llguidance": "compared with llguidance",
        "equal_llguidance": "equal to llguidance's, bit by bit",
        "with_xgrammar": "compared with xgrammar",
        "equal_xgrammar": "equal to xgrammar's, bit by bit",
        "unchecked": "compared with no peer",
        "greedy_tokens": "tokens that llguidance alone refuses (greedy lexing)",
        "too_wide_tokens": "tokens that llguidance alone allows",
        "not_asked_tokens": "of these two, not put to xgrammar",
        "xgrammar_alone_tokens": "tokens in which xgrammar stands alone",
        "undecided_tokens": "tokens against one peer, the other not there",
        "wrong_tokens": "tokens against both peers",
    }
    rows = [(text, *(f"{case['checks'][name]:,}" for case in cases)) for name, text in names.items()]
    return _table(("", *(case["kind"] for case in cases)), rows)


# -- plot ------------------------------------------------------------------------


def draw(record: Record, path: Path) -> None:
    """One panel for each vocabulary and text: the share of masks (up) done within a time (across, log scale)."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.ticker import FuncFormatter

    cases: Sequence[Record] = record["cases"]
    kinds = list(dict.fromkeys(case["kind"] for case in cases))
    names = list(dict.fromkeys(case["vocabulary"]["name"] for case in cases))
    figure, axes = pyplot.subplots(
        len(names),
        len(kinds),
        figsize=(4.2 * len(kinds), 3.1 * len(names) + 0.4),
        sharex=True,
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for case in cases:
        axis = axes[names.index(case["vocabulary"]["name"])][kinds.index(case["kind"])]
        for name, engine in case["engines"].items():
            axis.plot(engine["curve_us"], [p / 100 for p in CURVE_PERCENT], color=COLOURS.get(name), label=name, lw=1.8)
        axis.set_title(f"{case['kind']}, {case['vocabulary']['name']}", fontsize=10)
        axis.set_xscale("log")
        axis.grid(True, which="major", color="#dddddd", lw=0.6)
        axis.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{share:.0%}"))
        axis.xaxis.set_major_formatter(FuncFormatter(_time_label))
    for axis in axes[-1]:
        axis.set_xlabel("time of one mask")
    for row in axes:
        row[0].set_ylabel("masks done within it")
    lines: dict[str, Any] = {line.get_label(): line for axis in axes.flat for line in axis.get_lines()}
    figure.legend(lines.values(), lines.keys(), loc="outside upper center", ncols=len(lines), frameon=False)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def _time_label(us: float, _: object) -> str:
    for scale, unit in ((1e6, "s"), (1e3, "ms"), (1.0, "µs")):
        if us >= scale:
            return f"{us / scale:g} {unit}"
    return f"{us * 1000:g} ns"
