"""Count the instructions of a fixed work and compare them with the committed counts.

    python -m bench.instructions             compare with bench/instructions.json; exit code 1 if a phase differs
    python -m bench.instructions --update    write bench/instructions.json instead

`valgrind --tool=callgrind` simulates the processor, so the same build gives the same counts within a fraction of a
percent, even on a busy machine. `instruction_work.py` defines the phases. Counts include those of Python, and depend on
the versions of Python, numpy and the compiler, and on the processor for which libraries choose their code. If any of
these differ from those of the committed counts, a wide tolerance applies, which still finds a phase that has become
much slower. A phase that takes much *less* also fails, so that the new count is committed.

The file holds counts of the two builds that users have: "release", the source build, and "full", that of the wheels
(`EARLEYMASK_FULL=1`). The check compares those of the build that is installed. It is skipped without valgrind, and for
debug builds; it says so.
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

from earleymask.grammar import errors
from earleymask.trie._build import is_debug

from . import ROOT, instruction_work

EXPECTED = ROOT / "bench" / "instructions.json"
TOLERANCE = 0.05
"""The count of a phase may differ by this share of the committed count."""
WIDE_TOLERANCE = 0.5
"""This share is allowed if the committed counts are of another compiler, Python, numpy or processor."""
SLACK = 50_000
"""The number of instructions by which any phase may differ: Python itself varies, which matters in small phases."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.instructions", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--update", action="store_true", help="write bench/instructions.json")
    parser.add_argument(
        "--tolerance",
        type=float,
        default=TOLERANCE,
        help="the share by which a phase may differ (default: %(default)s)",
    )
    options = parser.parse_args(arguments)
    why_not = reason_to_skip()
    if why_not:
        print(f"instruction counts: skipped, {why_not}")
        return 1 if options.update else 0
    expected: dict[str, Any] = json.loads(EXPECTED.read_text(encoding="utf-8"))
    found: dict[str, Any] = {"environment": environment(), "instructions": count()}
    build = build_name()
    if options.update:
        EXPECTED.write_text(json.dumps({**expected, build: found}, indent=1) + "\n", encoding="utf-8")
        print(
            f"{build} build: wrote {sum(found['instructions'].values()):,} instructions to {EXPECTED.relative_to(ROOT)}"
        )
        return 0
    print(f"{build} build:")
    return 0 if report(expected[build], found, options.tolerance) else 1


def build_name() -> str:
    """Return "full" if all of `grammar/` is compiled, else "release"."""
    return "release" if str(errors.__file__).endswith(".py") else "full"


def reason_to_skip() -> str:
    """Return why the check cannot be made; empty if it can."""
    if shutil.which("valgrind") is None:
        return "valgrind is not installed"
    return "this is a debug build" if is_debug() else ""


def environment() -> dict[str, str]:
    """Return what the counts depend on besides our sources."""
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
    """Return the number of instructions of each phase."""
    with tempfile.TemporaryDirectory() as folder:
        job = Path(folder) / "job.json"
        job.write_text(json.dumps(instruction_work.job()), encoding="ascii")
        work = [sys.executable, "-m", "bench.instruction_work", str(job)]
        # Modules that are not compiled are read from bytecode, which pip writes and the first run may have to write.
        settings = {
            **{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
            "PYTHONHASHSEED": "0",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        subprocess.run(work, cwd=ROOT, env=settings, capture_output=True, check=True)
        counting = f"--dump-before={instruction_work.MARKER}", f"--callgrind-out-file={folder}/counts"
        run = subprocess.run(
            ["valgrind", "--tool=callgrind", *counting, *work],
            cwd=ROOT,
            env=settings,
            capture_output=True,
            text=True,
            check=False,
        )
        if run.returncode != 0:
            raise RuntimeError(f"valgrind ended with exit code {run.returncode}:\n{run.stderr[-4000:]}")
        # The dump of the first mark has the start of Python. The dump of the process's end has no number.
        dumps = sorted(Path(folder).glob("counts.*"), key=lambda dump: int(dump.suffix[1:]))
        counts = [_total(dump) for dump in dumps[1:]]
    phases = instruction_work.PHASES
    if len(counts) != len(phases):
        raise RuntimeError(f"{len(counts)} counts for {len(phases)} phases: who else called {instruction_work.MARKER}?")
    return dict(zip(phases, counts, strict=True))


def _total(dump: Path) -> int:
    match = re.search(r"^totals: (\d+)", dump.read_text(encoding="utf-8", errors="replace"), re.M)
    assert match, f"{dump.name}: no totals"
    return int(match[1])


def report(expected: Mapping[str, Any], found: Mapping[str, Any], tolerance: float) -> bool:
    """Print the comparison. Return whether each phase is within the tolerance."""
    others = [
        f"{name} {found['environment'].get(name)}, not {was}"
        for name, was in expected["environment"].items()
        if found["environment"].get(name) != was
    ]
    if others:
        tolerance = max(tolerance, WIDE_TOLERANCE)
        print(f"instruction counts: tolerance {tolerance:.0%}, because the environment differs ({'; '.join(others)})")
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
        print("If the change is intended, run python -m bench.instructions --update and give the reason in the commit.")
    return good


if __name__ == "__main__":
    sys.exit(main())
