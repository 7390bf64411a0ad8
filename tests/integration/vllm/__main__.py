"""Make an environment with vLLM, run its engine and its server with earleymask, and check every answer.

    python -m tests.integration.vllm
    python -m tests.integration.vllm --environment FOLDER
    python -m tests.integration.vllm --python ENVIRONMENT/bin/python

Prints a table of the runs, and fails if an answer is wrong, or if anything but the request in question fails.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

from integration.vllm.environment import ROOT, TESTS, clean_variables, make_environment

from support import programs

HERE = Path(__file__).parent
MODEL_FOLDER = TESTS / "support" / "model_folder.py"
MODES = ("sync", "sync-ngram", "sync-draft", "async", "async-ngram", "async-draft", "wide")
SERVERS = ("sync", "async", "in-reasoning", "options", "mistral")
VERSIONS = "vllm torch transformers xgrammar llguidance openai earleymask"
SECONDS = 900  # for each program


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.integration.vllm", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument(
        "--environment",
        type=Path,
        default=ROOT / "build" / "environments" / "vllm",
        help="a folder in which to make an environment (%(default)s)",
    )
    parser.add_argument("--python", help="the interpreter of an environment that has vLLM and earleymask")
    parser.add_argument(
        "--logs", type=Path, default=Path("build/vllm"), help="the folder for logs and the model's files"
    )
    parser.add_argument("--requests", type=int, default=300, help="for each way of running the engine (300)")
    parser.add_argument("--modes", default=",".join(MODES), help="ways, separated by commas (all)")
    parser.add_argument(
        "--servers", default=",".join(SERVERS), help="ways of running the server, separated by commas (all)"
    )
    options = parser.parse_args()
    python = options.python or make_environment(options.environment)
    logs: Path = options.logs.resolve()
    logs.mkdir(parents=True, exist_ok=True)
    model = str(logs / "model")
    run = partial(programs.run, python, variables=clean_variables(), seconds=SECONDS)

    versions = run(MODEL_FOLDER, model, *VERSIONS.split(), log=logs / "model.log")
    print(", ".join(f"{name} {version}" for name, version in versions.items()))
    found = run(HERE / "record.py", log=logs / "record.log")
    faults = [f"tests/integration/vllm/recorded.json: {fault}" for fault in found["faults"]]
    for mode in filter(None, options.modes.split(",")):
        found = run(
            HERE / "engine.py", mode, "--model", model, "--requests", str(options.requests), log=logs / f"{mode}.log"
        )
        faults += [f"{mode}: {fault}" for fault in found.pop("faults")]
        print("; ".join(f"{name}: {value}" for name, value in found.items()), flush=True)
    for mode in filter(None, options.servers.split(",")):
        name = f"serve-{mode}"
        found = run(
            HERE / "serving.py", mode, "--model", model, "--log", str(logs / f"{name}.log"), log=logs / f"{name}.err"
        )
        faults += [f"{name}: {fault}" for fault in found.pop("faults")]
        print(name)
        for what, result in found.get("results", {}).items():
            print(f"  {what}: {result}")
    for fault in faults:
        print(f"FAULT {fault}", file=sys.stderr)
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
