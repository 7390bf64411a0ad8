"""Run work in a fresh process: `run("bench.requests", job)` returns what `bench.requests.work(job)` returns there.

    python -m bench.harness.children MODULE      reads the job as JSON from stdin, writes the result as JSON to stdout

A figure may depend on what its process did before, through caches of the engines, the allocator and the system. Such
figures are measured in processes that did nothing else. A process stays on one core.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from .. import ROOT


def run(module: str, job: Mapping[str, Any]) -> Any:
    """Call `work(job)` of a module in a new process and return its result. Both must be values of JSON."""
    command = [sys.executable, "-m", "bench.harness.children", module]
    done = subprocess.run(command, input=json.dumps(job), stdout=subprocess.PIPE, text=True, cwd=ROOT, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{module}: its process ended with exit code {done.returncode}; see its messages above")
    return json.loads(done.stdout)


def main() -> None:
    module = importlib.import_module(sys.argv[1])
    job = json.load(sys.stdin)
    keep_to_one_core()
    with contextlib.redirect_stdout(sys.stderr):
        result = module.work(job)
    json.dump(result, sys.stdout)


def keep_to_one_core() -> None:
    """Stay on the last core, because the first one often serves the interrupts."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


if __name__ == "__main__":
    main()
