"""Grammars of JSON Schemas, and the texts on which they and the oracle disagree."""

from __future__ import annotations

import json
from itertools import permutations, product
from typing import Any

from earleymask import Grammar, GrammarError, Limits, Matcher, Vocabulary
from support.schema_oracle import Oracle

BYTES = Vocabulary.bytes()
EOS = 256


SCALARS = [None, True, False, 0, 1, 2, 2.5, -3, "", "a", "b", "ab", "\u00e9", "\U0001f600b"]
ITEMS = [None, True, 1, 2, "a", "b"]
MEMBERS = [None, 1, "a", True]


def documents() -> list[Any]:
    """Return scalars, arrays of up to three items, objects of up to three members in all orders, and nested ones."""
    found = list(SCALARS)
    for n in range(3):
        found += [list(items) for items in product(ITEMS, repeat=n)]
    found += [list(items) for items in product([1, 2, "a"], repeat=3)]
    for n in range(4):
        for keys in permutations(["a", "b", "c", "ab"], n):
            values = product(MEMBERS, repeat=n) if n < 2 else product([1, "a"], repeat=n)
            found += [dict(zip(keys, chosen, strict=True)) for chosen in values]
    inner = [[], {}, [1], {"a": 1}, {"b": "a"}, {"a": {"a": 1}}]
    found += [[one] for one in inner] + [{"a": one} for one in inner] + [{"a": 1, "b": one} for one in inner]
    return found


DOCUMENTS = [json.dumps(document, ensure_ascii=False) for document in documents()]


def accepts(grammar: Grammar, text: str) -> bool:
    data = text.encode()
    matcher = Matcher(grammar, BYTES)
    return all(matcher.accept(token) for token in [*data, EOS])  # each with the time of a call


def made(schema: Any, **options: Any) -> Grammar | None:
    """Return the grammar of a schema, or None if it is refused because no document satisfies the schema."""
    try:
        # These tests are not about time: machines are busy, and debug builds slow.
        return Grammar.from_json_schema(schema, **{"limits": Limits.trusted(), **options})
    except GrammarError as error:
        if "no document satisfies" not in str(error):
            raise
        return None


def wrong(schema: Any, texts: list[str], **options: Any) -> list[str]:
    """Return the texts on which the grammar and the oracle disagree."""
    oracle = Oracle(schema)
    valid = {text for text in texts if oracle.accepts(text)}
    grammar = made(schema, property_order="any", **options)
    if grammar is None:
        return sorted(valid)
    return [text for text in texts if accepts(grammar, text) != (text in valid)]
