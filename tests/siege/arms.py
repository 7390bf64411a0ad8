"""The arms of the siege, one for each front end and two for the calls of matchers (see `campaign.arms`)."""

from __future__ import annotations

import math
from collections import Counter
from random import Random
from typing import Any

from campaign.arms import Arm
from campaign.cases import Found, Wrong
from siege.attack import FAMILIES, Attack, Call, is_measured, run

VOCABULARIES = ("bytes", "bytes", "tekken", "llama3")
MiB = 1 << 20
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "regex": [{}, {}, {"flags": 2}, {"flags": 16 | 8}],
    "schema": [
        {}, {}, {"property_order": "schema"}, {"spellings": "all"}, {"whitespace": "any"}, {"strict": False},
        {"closed": True}, {"indent": 2}, {"draft": "7"},
    ],
}  # fmt: skip
OPTIONS["python"] = OPTIONS["text"] = OPTIONS["schema"]
LIMITS: list[dict[str, Any]] = [
    {}, {}, {}, {"seconds": 0.05, "load_seconds": 0.1}, {"grammar_bytes": 2 * MiB}, {"matcher_bytes": MiB},
    {"row_items": 200}, {"derivations": 500}, {"lexer_states": 300}, {"regex_nodes": 5000}, {"symbols": 500},
]  # fmt: skip
CALLS = {
    "fill": 4, "mask": 1, "step": 14, "any": 3, "odd": 2, "validate": 3, "rollback": 4, "reset": 1, "fork": 3,
    "drop": 1, "forced": 2, "expected": 2, "temperature": 1, "captures": 1, "accepting": 1, "explain": 1, "describe": 1,
    "batch": 1, "constraint": 1, "threads": 1, "deep": 1, "warm": 1, "ahead": 1, "start": 1,
}  # fmt: skip
"""How often each call is chosen, relative to the others."""


def make_call(rng: Random) -> Call:
    name = rng.choices(list(CALLS), list(CALLS.values()))[0]
    call: Call = [name, rng.randrange(40)]
    if name in ("any", "odd", "rollback", "threads"):
        call.append(rng.randrange(10**6))
    elif name == "step":
        call += [rng.randrange(10**6), rng.choice([1, 1, 1, 3, 50, 1000])]
    elif name == "validate":
        call += [rng.randrange(10**6), rng.choice([1, 5, 200])]
    elif name == "deep":
        call.append(rng.randrange(40, 400))
    elif name == "explain":
        call.append(rng.choice([None, rng.randrange(10**6), "ab", '{"a": 1', "\ud800", "é" * 300]))
    return call


def make(rng: Random, front: str, n_calls: int, most: int = 2_000) -> Attack:
    size = int(math.exp(rng.uniform(0, math.log(most * (20 if rng.random() < 0.05 else 1)))))
    return Attack(
        front, rng.choice(list(FAMILIES[front])), rng.randrange(10**9), max(1, size), rng.choice(VOCABULARIES),
        rng.choice(OPTIONS.get(front, [{}])), rng.choice(LIMITS), tuple(make_call(rng) for _ in range(n_calls)),
    )  # fmt: skip


def do(attack: Attack, counts: Counter[str]) -> None:
    """Run the attack. What another process may have caused, a late call or growth, must be seen twice."""
    attack.input()  # if this raises, the siege is wrong
    try:
        run(attack, counts)
    except Wrong as first:
        if not is_measured or not any(word in str(first) for word in (": takes ", " grows by ", " waits ")):
            raise Found(attack, str(first)) from first
        try:
            run(attack, counts)
        except Wrong as wrong:
            raise Found(attack, str(wrong)) from wrong
        counts["seen once"] += 1
    except Exception as error:
        raise Found(attack, f"{type(error).__name__}: {error}\n{attack}") from error


def attacks(front: str, rng: Random, counts: Counter[str]) -> None:
    do(make(rng, front, rng.randint(3, 25)), counts)


def long(rng: Random, counts: Counter[str]) -> None:
    """Small inputs and many calls."""
    front = rng.choice(["lark", "lark", "gbnf", "regex", "schema"])
    do(make(rng, front, rng.randint(100, 400), most=30), counts)


ARMS = {
    arm.name: arm
    for arm in (
        Arm("lark", "grammars in Lark's syntax", lambda rng, counts: attacks("lark", rng, counts), 6),
        Arm("gbnf", "grammars in GBNF", lambda rng, counts: attacks("gbnf", rng, counts), 2),
        Arm("regex", "regexps", lambda rng, counts: attacks("regex", rng, counts), 3),
        Arm("choices", "lists of texts", lambda rng, counts: attacks("choices", rng, counts), 1),
        Arm("schema", "JSON Schemas as values", lambda rng, counts: attacks("schema", rng, counts), 6),
        Arm("text", "JSON Schemas as text, mostly damaged", lambda rng, counts: attacks("text", rng, counts), 1),
        Arm("python", "values that are no JSON", lambda rng, counts: attacks("python", rng, counts), 1),
        Arm("calls", "small inputs and hundreds of calls", long, 4),
    )
}
