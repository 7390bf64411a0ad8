"""Programs that need a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys

from support.paths import ROOT


def run_in_a_child(module: str, *options: str, **variables: str) -> str:
    """Run a module, with these variables in its environment. Return what it prints; fail if it does."""
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    child = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", module, *options],
        cwd=ROOT / "tests",  # Python puts it before the package
        env={**environment, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **variables},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert child.returncode == 0, child.stdout + child.stderr
    return child.stdout
