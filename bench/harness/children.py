"""Work in a fresh process: `run("bench.requests", job)` gives what `bench.requests.work(job)` returns there.

    python -m bench.harness.children MODULE      a job as JSON on the standard input, the result as JSON on the output

A figure that depends on what the process has met before (caches of the engines, of the allocator, of the system) is
measured in processes that did nothing else. The process keeps to one core, so that it is not moved about.
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
    """What `work(job)` of the module returns in a process of its own. Job and result are what JSON can say."""
    command = [sys.executable, "-m", "bench.harness.children", module]
    done = subprocess.run(command, input=json.dumps(job), stdout=subprocess.PIPE, text=True, cwd=ROOT, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{module}: its process ended with {done.returncode}; its messages are above")
    return json.loads(done.stdout)


def main() -> None:
    module = importlib.import_module(sys.argv[1])
    job = json.load(sys.stdin)
    keep_to_one_core()
    with contextlib.redirect_stdout(sys.stderr):
        result = module.work(job)
    json.dump(result, sys.stdout)


def keep_to_one_core() -> None:
    """The last one: interrupts are often served by the first."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


if __name__ == "__main__":
    main()
