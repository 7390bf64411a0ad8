"""Make an environment with SGLang, run its modules and its server with earleymask, and check every answer.

    python -m tests.integration.sglang
    python -m tests.integration.sglang --environment FOLDER
    python -m tests.integration.sglang --python ENVIRONMENT/bin/python

Prints a table of the runs, and fails if an answer is wrong, or if anything but the request in question fails.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import Any

from integration.sglang.environment import HERE, ROOT, TESTS, clean_variables, make_environment

from support import programs

MODES = ("overlap", "plain", "ngram", "reasoning")
VERSIONS = "sglang torch transformers xgrammar llguidance openai earleymask"
SECONDS = 1500  # for each program


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.integration.sglang", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument(
        "--environment",
        type=Path,
        default=ROOT / "build" / "environments" / "sglang",
        help="a folder in which to make an environment (%(default)s)",
    )
    parser.add_argument("--python", help="the interpreter of an environment that has SGLang and earleymask")
    parser.add_argument(
        "--logs", type=Path, default=Path("build/sglang"), help="the folder for logs and the model's files"
    )
    parser.add_argument("--requests", type=int, default=300, help="mixed requests for each way of serving (300)")
    parser.add_argument("--modes", default=",".join(MODES), help="ways of serving, separated by commas (all)")
    options = parser.parse_args()
    python = options.python or make_environment(options.environment)
    logs: Path = options.logs.resolve()
    logs.mkdir(parents=True, exist_ok=True)
    model = str(logs / "model")
    run = partial(programs.run, python, variables=clean_variables(), seconds=SECONDS)
    faults: list[str] = []

    def show(name: str, found: dict[str, Any]) -> None:
        faults.extend(f"{name}: {fault}" for fault in found.get("faults", ()))
        print(name)
        for what, result in found.get("results", {}).items():
            print(f"  {what}: {result}", flush=True)

    versions = run(
        TESTS / "support" / "model_folder.py",
        *("--architecture", "ChanceForCausalLM", model, *VERSIONS.split()),
        log=logs / "model.log",
    )
    print(", ".join(f"{name} {version}" for name, version in versions.items()))
    show("the recorded interface", run(HERE / "record.py", log=logs / "record.log"))
    show("parts", run(HERE / "parts.py", "--model", model, log=logs / "parts.log"))
    for mode in filter(None, options.modes.split(",")):
        arguments = ("--model", model, "--log", str(logs / f"{mode}.log"), "--requests", str(options.requests))
        show(mode, run(HERE / "serving.py", mode, *arguments, log=logs / f"{mode}.err"))
    for fault in faults:
        print(f"FAULT {fault}", file=sys.stderr)
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
