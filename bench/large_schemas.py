"""Measure how long JSON Schemas of up to 2 MB take to the first mask, with a vocabulary of 131,072 tokens.

    python -m bench.large_schemas [--repeat 5] [--order any]

The engines take turns. The table shows the least CPU time of all repetitions. Each repetition reads the schema anew;
only what the vocabulary has learned about terminals is kept.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from typing import Any

from tqdm import tqdm

from .engines import Engine, engines
from .harness import vocabularies
from .harness.measure import no_garbage_collection

ENGINES = ("earleymask", "llguidance")


def tool(number: int) -> dict[str, Any]:
    kinds: tuple[dict[str, Any], ...] = (
        {"type": "string", "maxLength": 40},
        {"type": "integer", "minimum": 0},
        {"$ref": f"#/$defs/tool{7 * number % 5000}"},
        {"enum": ["a", "b", str(number)]},
    )
    members = {f"field_{number}_{i}": kind for i, kind in enumerate(kinds)}
    description = "What the tool does, in a sentence as they are found in such schemas."
    return {
        "type": "object",
        "description": description,
        "properties": members,
        "required": [f"field_{number}_0"],
        "additionalProperties": False,
    }


def choice(number: int) -> dict[str, Any]:
    arguments = {"type": "object", "properties": {f"argument{i}": {"type": "string"} for i in range(6)}}
    members = {"name": {"const": f"tool{number}"}, "arguments": arguments}
    return {"type": "object", "properties": members, "required": ["name", "arguments"]}


def nested(number: int) -> dict[str, Any]:
    inner = {f"field{i}": {"type": "string", "minLength": i} for i in range(8)}
    return {"type": "object", "properties": inner, "description": f"The fields of {number}, each with a length."}


def schemas() -> dict[str, Any]:
    """Return the schemas, by what they are made of."""
    return {
        "5,000 definitions": {
            "$ref": "#/$defs/tool0",
            "$defs": {f"tool{number}": tool(number) for number in range(5000)},
        },
        "an enum of 34,000 strings": {"enum": [f"value number {number} of the list" for number in range(34000)]},
        "1,500 members that are objects": {
            "type": "object",
            "properties": {f"member{number}": nested(number) for number in range(1500)},
        },
        "a oneOf of 1,000 tools": {"oneOf": [choice(number) for number in range(1000)]},
        "9,000 constants with titles": {
            "anyOf": [{"const": f"code{number}", "title": f"What code {number} stands for"} for number in range(9000)]
        },
        "28,000 members": {
            "type": "object",
            "properties": {f"member{number}": {"type": "string"} for number in range(28000)},
        },
    }


def first_mask(engine: Engine, schema: Any, order: str) -> int | None:
    """Return the nanoseconds from the schema to its first mask; None if the engine refuses the schema."""
    start = time.thread_time_ns()
    try:
        session = engine.open_schema(schema, order)
        session.fill()
        taken = time.thread_time_ns() - start
        return None if session.error() else taken
    except Exception:  # each engine has errors of its own
        return None


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.large_schemas", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--repeat", type=int, default=5, help="repetitions (default: %(default)s)")
    parser.add_argument(
        "--order", choices=("any", "schema"), default="schema", help="the order of keys (default: %(default)s)"
    )
    parser.add_argument("--vocabulary", default="tekken", choices=vocabularies.NAMES, help="(default: %(default)s)")
    parser.add_argument("--engines", nargs="+", default=ENGINES, choices=(*ENGINES, "xgrammar"))
    given = parser.parse_args(arguments)
    vocabulary, _ = vocabularies.load(given.vocabulary)
    found, missing = engines(vocabulary, given.engines)
    for name, why in missing.items():
        print(f"{name} is not measured: {why}", file=sys.stderr)
    print("| schema | MB |", *[f"{engine.name} |" for engine in found])
    print("| --- | --: |", *["--: |" for _ in found])
    for what, schema in tqdm(schemas().items(), unit="schema"):
        times: dict[str, list[int]] = {engine.name: [] for engine in found}
        with no_garbage_collection():
            for _ in range(given.repeat):
                for engine in found:
                    taken = first_mask(engine, schema, given.order)
                    if taken is not None:
                        times[engine.name].append(taken)
        shown = [f"{min(taken) / 1e6:.1f} |" if taken else "refused |" for taken in times.values()]
        tqdm.write(f"| {what} | {len(json.dumps(schema)) / 1e6:.1f} | {' '.join(shown)}")


if __name__ == "__main__":
    main()
