"""Plots of recorded results: how the times of masks are distributed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..harness.figures import CURVE_PERCENT, Record

COLOURS = {"earleymask": "#d1495b", "llguidance": "#2e6f95", "xgrammar": "#7a9e3f"}
STYLES = {"cold": (0, (4, 2)), "warm": "solid", "whole": "solid"}
LABELS = {"cold": "first 100 masks of a process", "warm": "the same text for the second time"}


def draw(recorded: Sequence[Record], path: Path, phases: Sequence[str] = ("cold", "warm")) -> None:
    """Draw one panel for each vocabulary and text: the share of masks (up) that take no longer than a time (across, log
    scale). `phases` says of which masks there are lines; with several, the legend says which line is which."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.lines import Line2D
    from matplotlib.ticker import FuncFormatter

    cases = [case for case in recorded if "engines" in case]
    kinds = list(dict.fromkeys(case["kind"] for case in cases))
    names = list(dict.fromkeys(case["vocabulary"]["name"] for case in cases))
    figure, axes = pyplot.subplots(
        len(names),
        len(kinds),
        figsize=(4.2 * len(kinds), 3.1 * len(names) + 0.6),
        sharex=True,
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    shares = [percent / 100 for percent in CURVE_PERCENT]
    for case in cases:
        axis = axes[names.index(case["vocabulary"]["name"])][kinds.index(case["kind"])]
        for name, engine in case["engines"].items():
            for phase in phases:
                times = engine["phases"][phase].get("curve_us")
                if times:
                    axis.plot(
                        times, shares, color=COLOURS.get(name), ls=STYLES[phase], lw=1.3 if phase == "cold" else 1.8
                    )
        axis.set_title(f"{case['kind']}, {case['vocabulary']['name']}", fontsize=10)
        axis.set_xscale("log")
        axis.grid(True, which="major", color="#dddddd", lw=0.6)
        axis.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{share:.0%}"))
        axis.xaxis.set_major_formatter(FuncFormatter(_time_label))
    for axis in axes[-1]:
        axis.set_xlabel("time of one mask")
    for row in axes:
        row[0].set_ylabel("masks that take no longer")
    shown = list(dict.fromkeys(name for case in cases for name in case["engines"]))
    keys: list[Any] = [Line2D([], [], color=COLOURS.get(name), lw=1.8, label=name) for name in shown]
    if len(phases) > 1:
        keys += [Line2D([], [], color="#444444", ls=STYLES[phase], lw=1.3, label=LABELS[phase]) for phase in phases]
    figure.legend(handles=keys, loc="outside upper center", ncols=len(keys), frameon=False)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def _time_label(us: float, _: object) -> str:
    for scale, unit in ((1e6, "s"), (1e3, "ms"), (1.0, "µs")):
        if us >= scale:
            return f"{us / scale:g} {unit}"
    return f"{us * 1000:g} ns"
