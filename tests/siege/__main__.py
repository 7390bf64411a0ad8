"""The siege: `python -m tests.siege --hours 1 --workers 2 --seed 1` in the root of the repository.

Each arm (`siege.arms`, or `--list`) makes up hostile and clumsy input for a front end, and calls on the matchers. All
runs in child processes. What a call may do is in `siege.attack`: it answers or raises an `EarleymaskError`, within its
limits of time and memory, and another thread's masks go on. Crashes, hangs, raw exceptions, late calls and growth are
printed, made smaller, and written to `found/` beside this file; the test suite runs them from then on. The totals have
the longest call of each name, the largest growth, and the longest time for which a thread waited. The options are those
of the campaign (`campaign.runner`).

Time and memory are reported, but not judged, in a debug build (`.ci/sanitize` runs one), and if
EARLEYMASK_SIEGE_MEASURED is 0, as in `.ci/run`: judge them on idle cores, with one worker for each.
"""

import sys
from pathlib import Path

from campaign.runner import main

FOUND = Path(__file__).with_name("found")

if __name__ == "__main__":
    sys.exit(main(program="python -m tests.siege", doc=__doc__ or "", module="siege.arms", keep=FOUND, patience=120.0))
