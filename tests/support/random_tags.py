"""Random formats of structural tags, over short constants."""

from __future__ import annotations

from random import Random
from typing import Any

EBNF = 'root ::= "a" | "ab" root'


def random_format(rng: Random, depth: int, words: list[str]) -> Any:
    """Return a random format over short constants."""

    def word() -> str:
        return rng.choice(words)

    def some(n: int) -> list[str]:
        return [word() for _ in range(rng.randint(0, n))]

    def inner() -> Any:
        return random_format(rng, depth - 1, words)

    kinds = ["const_string", "any_text", "regex", "json_schema", "grammar"]
    if depth:
        kinds += ["sequence", "or", "tag", "triggered_tags", "dispatch", "tags_with_separator", "optional", "star"]
        kinds += ["plus", "repeat", "tag", "triggered_tags", "dispatch"]
    kind = rng.choice(kinds)
    if kind == "const_string":
        return {"type": kind, "value": word()}
    if kind == "any_text":
        found: dict[str, Any] = {"type": kind, "excludes": some(2)}
        if not rng.randrange(4):
            found["max_chars"] = rng.randrange(4)
        return found
    if kind == "regex":
        return {"type": kind, "pattern": rng.choice(["a+", "(<b)?", "[ab>]{0,2}"])}
    if kind == "json_schema":
        return {"type": kind, "json_schema": {"enum": [1]}}
    if kind == "grammar":
        return {"type": kind, "grammar": EBNF}
    if kind in ("sequence", "or"):
        return {"type": kind, "elements": [inner() for _ in range(rng.randint(1, 3))]}
    if kind in ("optional", "star", "plus"):
        return {"type": kind, "content": inner()}
    if kind == "repeat":
        least = rng.randrange(3)
        return {"type": kind, "min": least, "max": rng.choice([-1, least, least + 2]), "content": inner()}
    if kind == "dispatch":
        rules = [[word(), inner()] for _ in range(rng.randint(1, 2))]
        return {"type": kind, "rules": rules, "loop": rng.random() < 0.7, "excludes": some(1)}

    def tag(begin: str) -> Any:
        end = rng.choice([word(), word(), [word(), word()], ""])
        return {"type": "tag", "begin": begin, "content": inner(), "end": end}

    if kind == "tag":
        return tag(rng.choice([word(), ""]))
    flags = {"at_least_one": rng.random() < 0.4, "stop_after_first": rng.random() < 0.4}
    if kind == "tags_with_separator":
        tags = [tag(word()) for _ in range(rng.randint(1, 2))]
        return {"type": kind, "tags": tags, "separator": rng.choice([word(), "a", ""]), **flags}
    triggers = list(dict.fromkeys(word() for _ in range(rng.randint(1, 2))))
    tags = [tag(trigger + rng.choice(["", word()])) for trigger in triggers]
    return {"type": kind, "triggers": triggers, "tags": tags, "excludes": some(1), **flags}
