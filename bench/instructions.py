"""Instructions that a fixed work takes, compared with what is committed: a regression that no busy machine hides.

    python -m bench.instructions             compare with bench/instructions.json; 1 where a phase takes more or less
    python -m bench.instructions --update    write bench/instructions.json instead

Counted by `valgrind --tool=callgrind`, which simulates the processor: the same build gives the same counts within a
fraction of a percent, whatever else the machine does. `instruction_work.py` says what the phases are. Counts include
Python's own and depend on the versions of Python, numpy and the compiler, and on the processor that libraries choose
their code for: where these are others than those of the committed counts, a wide tolerance holds that still finds what
has become several times slower. A phase that takes much *less* also fails, so that the gain is written down.

Without valgrind the check is skipped, by name. It counts release builds alone.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from earleymask.trie._build import is_debug

from . import ROOT, instruction_work

EXPECTED = ROOT / "bench" / "instructions.json"
TOLERANCE = 0.05
WIDE_TOLERANCE = 0.5
"""Where the counts come from another compiler, Python, numpy or processor."""
SLACK = 50_000
"""Instructions that may differ in any phase: what a small phase owes to Python's own moods is no small share of it."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.instructions", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--update", action="store_true", help="write the expectations")
    parser.add_argument("--tolerance", type=float, default=TOLERANCE, help="share by which a phase may differ (0.05)")
    options = parser.parse_args(arguments)
    why_not = reason_to_skip()
    if why_not:
        print(f"instruction counts: skipped, {why_not}")
        return 1 if options.update else 0
    found: dict[str, Any] = {"environment": environment(), "instructions": count()}
    if options.update:
        EXPECTED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        print(f"wrote {EXPECTED.relative_to(ROOT)}: {sum(found['instructions'].values()):,} instructions")
        return 0
    return 0 if report(json.loads(EXPECTED.read_text(encoding="utf-8")), found, options.tolerance) else 1


def reason_to_skip() -> str:
    """Empty where the check can be made."""
    if shutil.which("valgrind") is None:
        return "valgrind is not installed"
    return "this is a debug build" if is_debug() else ""


def environment() -> dict[str, str]:
    """What counts depend on beside our sources."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    built_by = ""
    if compiler:
        shown = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False).stdout
        built_by = shown.splitlines()[0] if shown else ""
    return {
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "cython": _version_or_nothing("cython"),
        "compiler": built_by,
        "machine": platform.machine(),
        "libc": " ".join(platform.libc_ver()),
    }


def _version_or_nothing(package: str) -> str:
    try:
        return version(package)
    except ImportError:
        return ""


def count() -> dict[str, int]:
    """Instructions of each phase."""
    with tempfile.TemporaryDirectory() as folder:
        job = Path(folder) / "job.json"
        job.write_text(json.dumps(instruction_work.job()), encoding="ascii")
        run = subprocess.run(
            [
                "valgrind",
                "--tool=callgrind",
                f"--dump-before={instruction_work.MARKER}",
                f"--callgrind-out-file={folder}/counts",
                sys.executable,
                "-m",
                "bench.instruction_work",
                str(job),
            ],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        if run.returncode != 0:
            raise RuntimeError(f"valgrind ended with {run.returncode}:\n{run.stderr[-4000:]}")
        # The first dump is written at the first mark, and holds how Python came up; the one of the end has no number.
        dumps = sorted(Path(folder).glob("counts.*"), key=lambda dump: int(dump.suffix[1:]))
        counts = [_total(dump) for dump in dumps[1:]]
    phases = instruction_work.PHASES
    if len(counts) != len(phases):
        raise RuntimeError(f"{len(counts)} dumps for {len(phases)} phases: was {instruction_work.MARKER} called?")
    return dict(zip(phases, counts, strict=True))


def _total(dump: Path) -> int:
    match = re.search(r"^totals: (\d+)", dump.read_text(encoding="utf-8", errors="replace"), re.M)
    assert match, f"{dump.name}: no totals"
    return int(match[1])


def report(expected: Mapping[str, Any], found: Mapping[str, Any], tolerance: float) -> bool:
    """Prints the comparison; whether every phase is within the tolerance."""
    others = [
        f"{name} {found['environment'].get(name)}, not {was}"
        for name, was in expected["environment"].items()
        if found["environment"].get(name) != was
    ]
    if others:
        tolerance = max(tolerance, WIDE_TOLERANCE)
        print(
            f"instruction counts: tolerance {tolerance:.0%}, since they were committed elsewhere ({'; '.join(others)})"
        )
    good = True
    for phase in {**expected["instructions"], **found["instructions"]}:
        was, now = expected["instructions"].get(phase), found["instructions"].get(phase)
        if was is None or now is None:
            fine, change = False, "not in both"
        else:
            fine = abs(now - was) <= max(tolerance * was, SLACK)
            change = f"{now / was - 1:+.1%}"
        good &= fine
        print(
            f"{phase:16} {was or 0:>15,} -> {now or 0:>15,}  {change:>8}{'' if fine else '  <-- beyond the tolerance'}"
        )
    if not good:
        print("If the change is meant: python -m bench.instructions --update, and say in the commit why.")
    return good


if __name__ == "__main__":
    sys.exit(main())
