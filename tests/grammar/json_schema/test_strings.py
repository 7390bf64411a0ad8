"""Sets of texts, by themselves and in schemas: bounds of lengths combine with patterns and constants."""

from __future__ import annotations

from itertools import product
from random import Random
from time import thread_time
from typing import Any

import pytest

pytest.importorskip("regress")
pytest.importorskip("jsonschema")

from earleymask.grammar.json_schema.text_sets import Questions, Texts
from earleymask.grammar.regex import parse_regex, whole_text
from support.schema_grammars import accepts, made
from support.schema_oracle import Oracle

WORDS = ["".join(letters) for n in range(5) for letters in product("ab", repeat=n)]
PATTERNS = ("^a", "b$", "a", "^(a|b){2,3}$", "^$", "^(?!ab)")


def random_texts(rng: Random, depth: int) -> tuple[Texts, set[str]]:
    """Make a set, and return it with those of the words that are in it."""
    kind = rng.random()
    if depth == 0 or kind < 0.1:
        if kind < 0.05:
            some = rng.sample(WORDS, 3)
            return Texts(frozenset(some)), set(some)
        if kind < 0.6:
            least, most = rng.randint(0, 3), rng.choice((None, 2, 3, 4))
            if most is None or least <= most:
                return Texts(None, least, most), {word for word in WORDS if least <= len(word) <= (most or 9)}
        tree = whole_text(parse_regex(rng.choice(PATTERNS), "ecma"), search=True)
        found = Texts(trees=(tree,))
        return found, {word for word in WORDS if found.has(word)}
    left, in_left = random_texts(rng, depth - 1)
    if kind < 0.3:
        return left.complement(), set(WORDS) - in_left
    right, in_right = random_texts(rng, depth - 1)
    if kind < 0.7:
        return left.intersection(right), in_left & in_right
    return left.union(right), in_left | in_right


def test_random_combinations() -> None:
    n_some = 0
    for number in range(1500):
        rng = Random(number)
        texts, expected = random_texts(rng, rng.randint(1, 5))
        assert {word for word in WORDS if texts.has(word)} == expected, number
        assert not (expected and Questions().is_empty(texts)), number
        n_some += 0 < len(expected) < len(WORDS)
    assert n_some > 500


LONG = {"type": "string", "maxLength": 32_767}
BRANCHES: dict[str, Any] = {
    "one with a pattern": {"oneOf": [LONG, {**LONG, "pattern": "^a"}, {"type": "string", "maxLength": 50}]},
    "one without another's pattern": {**LONG, "pattern": "[0-9]", "not": {**LONG, "pattern": "^a"}},
    "at least so long": {**LONG, "not": {"type": "string", "minLength": 60, "pattern": "^(?!a)"}},
    "either pattern": {"not": {"not": {"anyOf": [{**LONG, "pattern": "^a"}, {**LONG, "pattern": "7$"}]}}},
}


@pytest.mark.parametrize("name", BRANCHES)
def test_long_strings_that_differ_by_a_pattern(name: str) -> None:
    schema = BRANCHES[name]
    oracle = Oracle(schema)
    begin = thread_time()
    grammar = made(schema)
    assert grammar is not None
    texts = [
        f'"{one}"'
        for one in ("", "a", "b", "7", "a7", "b7", "b" * 70, "a" * 70, "b" * 32_766 + "7", "b" * 32_767 + "7")
    ]
    found = [accepts(grammar, text) for text in texts]
    assert thread_time() - begin < 4
    assert found == [oracle.accepts(text) for text in texts]
    assert len(set(found)) == 2
