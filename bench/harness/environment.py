"""Describe where and when results were measured."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Iterable
from pathlib import Path

from .. import ROOT
from .figures import Record


def environment() -> Record:
    """Return the machine, its load, the revision and the versions of everything that is measured."""
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "revision": revision(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "load": [round(value, 2) for value in os.getloadavg()],
        "versions": _versions(("earleymask", "llguidance", "xgrammar", "numpy")),
    }


def _versions(names: Iterable[str]) -> dict[str, str]:
    versions = {}
    for name in names:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def revision() -> str:
    """Return the commit, and whether the working tree differs from it."""

    def git(*arguments: str) -> str:
        return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=True).stdout

    try:
        dirty = git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!bench/results").strip()
        return git("rev-parse", "--short=12", "HEAD").strip() + (" with changes" if dirty else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
