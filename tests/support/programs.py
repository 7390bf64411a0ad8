"""Programs of an environment of its own that print one line of JSON."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def run(
    python: str, program: Path, *arguments: str, log: Path, variables: Mapping[str, str], seconds: float
) -> dict[str, Any]:
    """Return the last line that a program prints, which is JSON. What it reports beside goes to a file.

    variables: all variables of its environment. log: the file, in whose folder the program runs.

    If the last line is no JSON, the result is a fault. Raises subprocess.TimeoutExpired after so many seconds.
    """
    command = [python, "-P", str(program), *arguments]
    with log.open("w", encoding="utf-8") as file:
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=file,
            text=True,
            timeout=seconds,
            check=False,
            env=dict(variables),
            cwd=log.parent,
        )
    try:
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        return {"faults": [f"{program.name} {' '.join(arguments)} ended with {done.returncode}; see {log}"]}
    return found
