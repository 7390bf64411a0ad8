"""Grammars whose masks take long, and walks that stop before their end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from earleymask import BatchError, Grammar, LimitError, Limits
from earleymask.earley import Engine, Regexes
from earleymask.earley._meter import tick
from earleymask.earley._partial import set_most_nodes
from support.grammar_texts import GRAMMARS

Found = TypeVar("Found")

AMBIGUOUS = """
start: start start start | start start | start "+" start | "(" start ")" | A | B | [A] B
A: /[a-z]+/
B: /[a-m]+x?/
"""

PATTERNS = {
    "type": "object",
    "properties": {
        f"key{i}": {"type": "string", "pattern": f"^[a-{chr(104 + i % 12)}]{{{i % 5},{40 + i}}}[^x{i % 10}]*({i}|end)$"}
        for i in range(40)
    },
    "required": ["key7"],
    "additionalProperties": {"type": "string", "maxLength": 37},
}

UNIQUE = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "n": {"type": "string", "pattern": "^[a-f]{2,30}$"}},
    },
    "uniqueItems": True,
}

HARD: dict[str, Callable[[], Grammar]] = {
    "ambiguous": lambda: Grammar.from_lark(AMBIGUOUS),
    "patterns": lambda: Grammar.from_json_schema(PATTERNS),
    "any order": lambda: Grammar.from_json_schema(PATTERNS, property_order="any"),
    "unique": lambda: Grammar.from_json_schema(UNIQUE),
    "unique numbers": lambda: Grammar.from_json_schema(
        {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}
    ),
    "words": lambda: Grammar.from_regex(r"([a-z]{3,9}(?<!the)[ .,]|\w{2,40}=\d{1,20};|[^;]{5,90}!)*"),
    "lookaheads": lambda: Grammar.from_regex(r"(\b\w+\b(?! no)[^!]*!|[a-z ]+(?=[.]).)*"),
    **{name: (lambda text=text: Grammar.from_lark(text)) for name, text in GRAMMARS.items()},
}
SECONDS = [0, 0.0001, 0.0005, 0.001, 0.003, 0.01]


@contextmanager
def stopped_walks(n_nodes: int) -> Iterator[None]:
    """Let each walk of a mask that is due stop after so many nodes."""
    before = set_most_nodes(n_nodes)
    try:
        yield
    finally:
        set_most_nodes(before)


def retried(call: Callable[[], Found]) -> Found:
    """Return what a call with a deadline returns. Nothing is found in time if other processes keep this one from
    running, so it is called again some times."""
    for _ in range(50):
        with suppress(LimitError, BatchError):
            return call()
    return call()


def slow_first_mask(seconds: float, limits: Limits) -> tuple[Any, list[int]]:
    """Return a grammar whose first step makes a rule for so long, and a list that gets an item each time."""
    engine, begun = Engine(Regexes()), list[int]()
    engine.set_limits(limits)

    def expand() -> list[list[int]]:
        begun.append(1)
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            tick()
        return [[engine.add_terminal("b", engine.regexes.literal(b"b"))]]

    start = engine.add_nonterminal("start")
    letter = engine.add_terminal("a", engine.regexes.literal(b"a"))
    engine.add_production(start, [letter, letter, engine.add_lazy("x", expand)])
    engine.finish(start)

    class WithEngine:
        def __init__(self) -> None:
            self.engine = engine

    return WithEngine(), begun
