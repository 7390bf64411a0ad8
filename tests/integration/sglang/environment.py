"""An environment with SGLang for CPUs, without a GPU or a compiler for SGLang: some 2 GB."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TESTS = ROOT / "tests"
HERE = Path(__file__).parent
TORCH = "torch==2.13.0"


def make_environment(folder: Path) -> str:
    """Return the Python of an environment with SGLang. Make it if it is not there; install this tree in any case.

    SGLang pins a torch for GPUs, and kernels for them. So it is installed beside another torch, without what it depends
    on, and what it needs of that is listed.
    """
    python = str(folder / "bin" / "python")

    def install(*arguments: str) -> None:
        subprocess.run([python, "-m", "pip", "install", "-q", *arguments], check=True)

    if not (folder / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        install(TORCH)
        install("--no-deps", "-r", str(HERE / "requirements.txt"))
        (folder / "ready").touch()
    install("--no-deps", "--force-reinstall", str(ROOT))
    return python


def clean_variables() -> dict[str, str]:
    """Return the variables for programs of the environment: they import the tests, what stands in the place of missing
    packages, and earleymask as it is installed unless PYTHONPATH names another one."""
    path = os.pathsep.join(filter(None, [str(TESTS), str(HERE / "stubs"), os.environ.get("PYTHONPATH", "")]))
    return {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "PYTHONPATH": path,
        "PYTHONSAFEPATH": "1",
        "SGLANG_EXTERNAL_MODEL_PACKAGE": "integration.sglang.models",
    }
