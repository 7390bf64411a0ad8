"""Call the functions of an example, in the environment of its framework.

    run_example.py FILE PACKAGE...

Prints the versions of the packages as a line of JSON. Then it reads lines `{"function": ..., "arguments": [...]}`, and
answers each with a line: `{"answer": ...}`, or `{"error": ...}` if an exception was raised.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import traceback
from importlib.metadata import version
from typing import Any


def load(path: str) -> Any:
    spec = importlib.util.spec_from_file_location("example", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["example"] = module
    spec.loader.exec_module(module)
    return module


def plain(value: Any) -> Any:
    """Return a value of pydantic as one of JSON."""
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else value


def main() -> None:
    path, *packages = sys.argv[1:]
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)  # what frameworks print does not come between the lines

        def say(value: Any) -> None:
            print(json.dumps(value), file=out, flush=True)

        module = load(path)
        say({name: version(name) for name in packages})
        for line in sys.stdin:
            call = json.loads(line)
            try:
                answer = {"answer": plain(getattr(module, call["function"])(*call["arguments"]))}
            except Exception as error:
                traceback.print_exc()
                answer = {"error": f"{type(error).__name__}: {error}"}
            say(answer)


if __name__ == "__main__":
    main()
