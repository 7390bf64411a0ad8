"""What was measured, as a record, a Markdown table and a picture."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from . import ROOT
from .writing import PARTS

if TYPE_CHECKING:
    from .measuring import Row, Task
    from .small_model import SmallModel

Record = dict[str, Any]
"""Plain values, as JSON has them."""
RESULTS = ROOT / "examples" / "results"
PAGE = ROOT / "docs" / "examples.md"

VERSIONS = ("earleymask", "torch", "transformers", "tokenizers")
COLOURS = {"prompt": "#b8c4cc", "model": "#2e6f95", "mask": "#d1495b", "choice": "#e9b44c"}
LABELS = {"prompt": "reading the prompt", "model": "model", "mask": "mask and forced text", "choice": "choosing"}


def record(task: Task[Any], small: SmallModel, seconds: float, rows: list[Row], same: dict[str, int]) -> Record:
    """Return what is kept of a task. `seconds`: how long the training took; `same`: how the
    answers with forced text compare with those of masks alone."""
    return {
        "name": task.name,
        "title": task.title,
        "max_tokens": task.max_tokens,
        "training": {
            "dialogues": len(task.dialogues),
            "weights": sum(weights.numel() for weights in small.model.parameters()),
            "vocabulary": small.vocabulary.size,
            "seconds": round(seconds, 1),
        },
        "environment": {
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
            "revision": _revision(),
            "processor": _processor(),
            "threads": torch.get_num_threads(),
            "load": [round(value, 2) for value in os.getloadavg()] if hasattr(os, "getloadavg") else [],
            "python": platform.python_version(),
            "versions": {name: importlib.metadata.version(name) for name in VERSIONS},
        },
        "same": same,
        "rows": [row.record() for row in rows],
    }


def markdown(record: Record) -> str:
    """Return the table of a task, and a line that says how it was made."""
    lines = [
        "| temperature | way | finished | valid | right | tokens | forced | passes | model | mask | choice | answer |",
        "| --- | --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |",
    ]
    for row in record["rows"]:
        n, n_tokens, us = row["answers"], row["tokens"], row["us_per_token"]
        cells = [f"{row['temperature']:g}", row["way"]]
        cells += [f"{row[share]:.0%}" for share in ("finished", "valid", "right")]
        cells += [
            f"{row['tokens'] / n:.1f}",
            f"{row['forced'] / max(1, row['tokens']):.0%}",
            f"{row['passes'] / n:.1f}",
        ]
        cells += [f"{us[part]:,.0f} µs" for part in ("model", "mask", "choice")]
        cells += [f"{sum(us.values()) * n_tokens / n / 1000:,.0f} ms"]
        lines.append("| " + " | ".join(cells) + " |")
    made, where, same = record["training"], record["environment"], record["same"]
    versions = ", ".join(f"{name} {version}" for name, version in where["versions"].items())
    lines += [
        "",
        f"At temperature 0, masks alone gave the tokenizer's own tokens for {same['own_tokens']} of {same['questions']}"
        f" questions, and forced text the same tokens for {same['same_tokens']} of these. The texts were the same for "
        f"{same['same_texts']} of {same['questions']}.",
        "",
        f"{record['rows'][0]['questions']} questions; at most {record['max_tokens']} tokens an answer. A model of "
        f"{made['weights'] / 1e6:.1f} million weights with {made['vocabulary']:,} tokens, trained in "
        f"{made['seconds']:.0f} s on {made['dialogues']:,} dialogues. {where['date']}, revision {where['revision']}: "
        f"{versions}; {where['processor']}, {where['threads']} threads, Python {where['python']}; load average "
        f"{where['load'][0] if where['load'] else 'unknown'}.",
    ]
    if where["load"] and where["load"][0] > where["threads"] + 1:
        lines[-1] += (
            " Other programs were running: the times are too high. The shares and counts do not depend on that."
        )
    return "\n".join(lines) + "\n"


def write(record: Record, folder: Path) -> None:
    """Write the record, the table and the picture of a task."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / record["name"]
    path.with_suffix(".json").write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    path.with_suffix(".md").write_text(f"# {record['title']}\n\n{markdown(record)}", encoding="utf-8")
    draw(record, path.with_suffix(".png"))


def put_into_page(record: Record, page: str) -> str:
    """Return a page with the table of a task between `<!-- NAME -->` and `<!-- /NAME -->`."""
    begin, end = f"<!-- {record['name']} -->\n", f"<!-- /{record['name']} -->"
    before, found, rest = page.partition(begin)
    _, ended, after = rest.partition(end)
    if not found or not ended:
        raise ValueError(f"the page has no {begin.strip()} ... {end}")
    return f"{before}{begin}{markdown(record)}{end}{after}"


def draw(record: Record, path: Path) -> None:
    """Draw the shares of valid and right answers, where the time of a token goes, and the passes of an answer."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.ticker import FuncFormatter

    rows = record["rows"]
    labels = [f"{row['way']}\ntemperature {row['temperature']:g}" for row in rows]
    places = list(range(len(rows)))
    figure, (shares, times, passes) = pyplot.subplots(
        1, 3, figsize=(12.5, 0.5 * len(rows) + 1.6), sharey=True, layout="constrained"
    )
    shares.barh([at - 0.2 for at in places], [row["valid"] for row in rows], 0.38, color="#7a9e3f", label="valid")
    shares.barh([at + 0.2 for at in places], [row["right"] for row in rows], 0.38, color="#3f5e1f", label="right")
    shares.set_xlim(0, 1)
    shares.xaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{share:.0%}"))
    shares.set_xlabel("valid: of all answers; right: of all questions")
    left = [0.0] * len(rows)
    for part in PARTS:
        taken = [row["us_per_token"][part] / 1000 for row in rows]
        times.barh(places, taken, 0.6, left=left, color=COLOURS[part], label=LABELS[part])
        left = [one + other for one, other in zip(left, taken, strict=True)]
    times.set_xlabel("time per token, ms")
    chosen = [row["passes"] / row["answers"] for row in rows]
    forced = [row["forced"] / row["answers"] for row in rows]
    passes.barh(places, chosen, 0.6, color=COLOURS["model"], label="chosen by the model, a pass each")
    passes.barh(places, forced, 0.6, left=chosen, color=COLOURS["mask"], label="forced, no pass")
    passes.set_xlabel("tokens of an answer")
    for axis in (shares, times, passes):
        axis.grid(True, axis="x", color="#dddddd", lw=0.6)
        axis.set_axisbelow(True)
        axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False, fontsize=8)
    shares.set_yticks(places, labels, fontsize=8)
    shares.invert_yaxis()
    figure.suptitle(record["title"])
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def _revision() -> str:
    """Return the commit, and whether the working tree differs from it."""

    def git(*arguments: str) -> str:
        return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=True).stdout

    try:
        changed = git(
            "status", "--porcelain", "--untracked-files=no", "--", ".", ":!examples/results", ":!docs"
        ).strip()
        return git("rev-parse", "--short=12", "HEAD").strip() + (" with changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
