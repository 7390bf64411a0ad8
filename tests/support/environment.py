"""Environments of their own for the programs that run an adapter inside the real system.

`enter(name, packages)` makes an environment in `build/environments/NAME` with these packages, unless it is there
already, and runs the calling program again in it. The environment takes earleymask from this tree, so it must have been
built (`pip install -e .`), for the Python that runs the program. With `--here`, the program runs where it is.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import venv
from importlib.metadata import version
from pathlib import Path

from support.paths import ROOT

NEEDED = ("numpy>=1.23", "lark>=1.1.9", "jsonschema>=4.23")
"""What earleymask and the validators need."""


def enter(name: str, packages: list[str], *, folder: Path | None = None) -> None:
    """Go on in the environment of a program, with its packages; return if this is it."""
    if "--here" in sys.argv:
        return
    folder = folder or ROOT / "build" / "environments" / name
    python = folder / "bin" / "python"
    stamp = folder / "packages.txt"
    wanted = "\n".join([*NEEDED, *packages])
    if not stamp.exists() or stamp.read_text() != wanted:
        print(f"making {folder}", flush=True)
        venv.create(folder, clear=True, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *NEEDED, *packages], check=True)
        stamp.write_text(wanted)
    paths = os.pathsep.join([str(ROOT / "build" / "layout"), str(ROOT)])
    module = sys.modules["__main__"].__spec__
    assert module is not None
    command = [str(python), "-P", "-m", module.name, *sys.argv[1:], "--here"]
    sys.exit(subprocess.run(command, env={**os.environ, "PYTHONPATH": paths}, cwd=ROOT, check=False).returncode)


def versions(*packages: str) -> str:
    """Return the versions of packages, for the record."""
    return ", ".join([f"{package} {version(package)}" for package in packages])


def run_examples(page: str, mark: str, **given: object) -> None:
    """Run the examples of a page of documentation that need a package, and check what they print. `given`: what they
    use without making it, such as a model."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```([^\n]*)\n(.*?)^```$", text, re.M | re.S)
    namespace: dict[str, object] = {"__name__": "docs", **given}
    for (language, code), (after, expected) in zip(blocks, [*blocks[1:], ("", "")], strict=True):
        if language == f"python {mark}":
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile(code, page, "exec"), namespace)
            assert output.getvalue() == (expected if after == "text" else ""), (page, output.getvalue())
