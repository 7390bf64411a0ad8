"""An environment with vLLM for CPUs, without a GPU or a compiler: some 3 GB."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TESTS = ROOT / "tests"
REQUIREMENTS = Path(__file__).with_name("requirements.txt")
TORCH = "torch==2.13.0"


def make_environment(folder: Path) -> str:
    """Return the Python of an environment with vLLM. Make it if it is not there; install this tree in any case.

    vLLM pins a torch for GPUs. So it is installed beside another one, without what it depends on, and the versions of
    that are listed.
    """
    python = str(folder / "bin" / "python")

    def install(*arguments: str) -> None:
        subprocess.run([python, "-m", "pip", "install", "-q", *arguments], check=True)

    if not (folder / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        install(TORCH)
        install("--no-deps", "-r", str(REQUIREMENTS))
        (folder / "ready").touch()
    install("--no-deps", "--force-reinstall", str(ROOT))
    return python


def clean_variables() -> dict[str, str]:
    """Return the variables for programs of the environment: they import the tests, and earleymask as it is installed
    unless PYTHONPATH names another one."""
    path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1", "VLLM_LOGGING_LEVEL": "WARNING"}
