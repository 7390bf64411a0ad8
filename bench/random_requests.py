"""Make random requests that nobody has sent before, for `bench.soak`: grammars of all kinds, and matchers of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import earleymask
from earleymask import Grammar, Limits, Matcher, Vocabulary
from earleymask.tools import find_style, style_names

from . import endurance

STYLES = [name for name in style_names() if name not in ("gemma", "function_gemma")]
"""The styles of tool calls whose arguments may have all schemas of `endurance`."""
REASONS = [name for name in STYLES if find_style(name).reasoning]


def regex(rng: Random) -> str:
    """Make a regular expression of names, numbers, classes and groups."""
    pieces = [
        endurance.name(rng),
        rf"[0-9]{{1,{rng.randint(1, 12)}}}",
        r"\w+",
        rf"({endurance.name(rng)}|{endurance.name(rng)})",
        r"[^\x00-\x1f]*?;",
        rf"(?:[A-F0-9]{{2}}[:-]){{{rng.randint(1, 5)}}}",
    ]
    return "".join(rng.choices(pieces, k=rng.randint(1, 6)))


def schema_text(rng: Random) -> str:
    return endurance.json.dumps(endurance.schema(rng))


def deep(rng: Random) -> Grammar:
    """Make a grammar of many palindromes, which soon take more memory than they may."""
    text = f'start: "{endurance.name(rng)}" same~20..99\nsame: "a" same "a" | "b" same "b" | "a" | "b"'
    return Grammar.from_lark(text, limits=Limits(matcher_bytes=1 << 12))


def content(rng: Random) -> dict[str, Any]:
    """Make the format of what a tag holds: a document, a pattern, or text of at most some tokens or characters."""
    kinds: list[Callable[[], dict[str, Any]]] = [
        lambda: {"type": "json_schema", "json_schema": endurance.schema(rng)},
        lambda: {"type": "regex", "pattern": rf"[a-z]+( {endurance.name(rng)})?"},
        lambda: {"type": "any_text", "max_tokens": rng.randint(1, 20)},
        lambda: {"type": "any_text", "max_chars": rng.randint(1, 40), "excludes": [endurance.name(rng)[:2]]},
    ]
    return rng.choice(kinds)()


def structural_tag(rng: Random) -> dict[str, Any]:
    """Make a structural tag: free text in which some tags may come, or tags with a separator between them."""
    trigger = rng.choice(["<", "<tool", "[", "```"])
    tags = [
        {"type": "tag", "begin": f"{trigger}{name}>", "content": content(rng), "end": rng.choice([f"</{name}>", "\n"])}
        for name in (endurance.name(rng) for _ in range(rng.randint(1, 5)))
    ]
    flags = {"at_least_one": rng.random() < 0.5, "stop_after_first": rng.random() < 0.3}
    if rng.random() < 0.3:
        return {"format": {"type": "tags_with_separator", "tags": tags, "separator": rng.choice([", ", "\n"]), **flags}}
    return {"format": {"type": "triggered_tags", "triggers": [trigger], "tags": tags, **flags}}


def calls(rng: Random, vocabulary: Vocabulary) -> Grammar:
    """Make the grammar of messages with calls of some tools, in one of the styles, with reasoning or without."""
    names = dict.fromkeys(endurance.name(rng) for _ in range(rng.randint(1, 4)))  # in the same order in each process
    tools = [{"type": "function", "name": name, "parameters": endurance.schema(rng)} for name in names]
    reasons = rng.random() < 0.4
    return Grammar.from_tools(
        tools,
        rng.choice(REASONS if reasons else STYLES),
        rng.choice(["auto", "required", "none"]),
        parallel=rng.random() < 0.7,
        reasoning=rng.choice(["think", "auto", "open"]) if reasons else None,
        vocabulary=vocabulary,
    )


def reasoning(rng: Random, vocabulary: Vocabulary) -> Grammar:
    """Make the grammar of reasoning, mostly of at most some tokens, before a document."""
    answer = Grammar.from_json_schema(endurance.schema(rng))
    return Grammar.reasoning(answer, max_tokens=rng.choice([None, 3, 20]), vocabulary=vocabulary)


def request(rng: Random, pool: earleymask.MatcherPool, recurring: Sequence[str]) -> Matcher:
    """Return the matcher of a new request."""
    vocabulary = pool.vocabulary
    kinds: list[Callable[[], Grammar]] = [
        lambda: Grammar.from_json_schema(endurance.schema(rng)),
        lambda: Grammar.from_lark(endurance.grammar(rng)),
        lambda: Grammar.from_regex(regex(rng)),
        lambda: Grammar.from_choices([endurance.name(rng) for _ in range(rng.randint(1, 300))]),
        lambda: deep(rng),
        lambda: Grammar.from_structural_tag(structural_tag(rng), vocabulary),
        lambda: calls(rng, vocabulary),
        lambda: reasoning(rng, vocabulary),
    ]
    eos = None if rng.random() < 0.7 else [max(vocabulary.special_token_ids)]
    if rng.random() < 0.3:
        return pool.matcher(Grammar.from_json_schema, rng.choice(recurring), eos_token_ids=eos)
    if rng.random() < 0.02:
        return Matcher.only_eos(vocabulary, eos)
    return Matcher(rng.choices(kinds, weights=[5, 4, 2, 2, 1, 3, 3, 1])[0](), vocabulary, eos)
