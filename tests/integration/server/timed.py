"""`earleymask serve` with one more histogram: the time of each step, but for what its thread waited for a core.

Where other programs use the cores, the time of a step says more about them than about the server. Linux counts for each
thread how long it was ready to run and did not. What is left of a step is its own work, passes included, and what it
waited for: the interpreter's lock, masks.

    python -m tests.integration.server.timed --model PATH ...
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from earleymask import cli
from earleymask.integration.server import metrics
from earleymask.integration.server.engine import Engine

NAME = "earleymask_step_without_cores_seconds"


def waited() -> float:
    """Return the seconds for which this thread has waited for a core."""
    return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9


def main() -> int:
    metrics.HELP[NAME] = "Time of a step, passes included, without the time in which its thread waited for a core."
    step = Engine._step

    def timed(self: Engine) -> None:
        began, before = time.perf_counter(), waited()
        step(self)
        self.metrics.observe(NAME, max(time.perf_counter() - began - (waited() - before), 0.0))

    Engine._step = timed  # type: ignore[method-assign]
    return cli.main(["serve", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
