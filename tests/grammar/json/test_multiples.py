"""Multiples that are computed while a text is read, against exact arithmetic on all short spellings."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import product
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from earleymask import Grammar, LimitError, Matcher, Vocabulary
from earleymask.earley._regex import Regexes
from earleymask.grammar.json.number_parts import ANY, PLAIN, WHOLE
from earleymask.grammar.json.number_spellings import _as_decimals, _computed, number_tree
from earleymask.grammar.json.numbers import NumberSet, number_set
from earleymask.grammar.regex.lower import lower_shared
from support.effort import effort
from support.mask_paths import written_by_masks

DIGITS = 3
LENGTH = 3
EXPONENTS = ["e0", "E1", "e+2", "e-1", "e-02", "e3", "e-3", "e-4", "e5"]


@cache
def numbers_in_json() -> list[tuple[str, Fraction]]:
    """Return all spellings of up to DIGITS digits, with and without some exponents, and their values."""
    found = []
    for n in range(1, DIGITS + 1):
        for digits in map("".join, product("0123456789", repeat=n)):
            for point in range(1, n + 1):
                whole, fraction = digits[:point], digits[point:]
                if len(whole) > 1 and whole[0] == "0":
                    continue
                text = f"{whole}.{fraction}" if fraction else whole
                for sign in ("", "-"):
                    spellings = [sign + text + exponent for exponent in ("", *EXPONENTS)]
                    found += [(spelling, Fraction(spelling)) for spelling in spellings]
    return found


def any_set(rng: Random) -> NumberSet:
    def number() -> Fraction:
        return Fraction(rng.randint(1, 12), rng.choice([1, 1, 1, 10, 4]))

    given: dict[str, Any] = {"multiples": [number() for _ in range(rng.randint(1, 2))]}
    for bound, exclusive in (("minimum", "above"), ("maximum", "below")):
        if rng.random() < 0.5:
            given[bound] = rng.choice([-1, 1]) * number() * rng.choice([1, 10])
            given[exclusive] = rng.random() < 0.3
    if rng.random() < 0.4:
        given["non_multiples"] = [number() for _ in range(rng.randint(1, 3))]
    if rng.random() < 0.3:
        given["excluded"] = [rng.choice([-1, 1]) * given["multiples"][0] * rng.randint(0, 3) for _ in range(2)]
    return number_set(**given)


@pytest.mark.parametrize("style", [ANY, PLAIN, WHOLE], ids=["any", "plain", "whole"])
@pytest.mark.parametrize("seed", range(effort(2, 3)))
def test_computed_numbers_are_the_members(seed: int, style: int) -> None:
    rng = Random(f"multiples {seed} {style}")
    n_tried = 0
    while n_tried < effort(3, 5):
        members = any_set(rng)
        if members.listed is not None or (style == WHOLE and (members.multiple or 0) % 1):
            continue
        n_tried += 1
        tree = _computed(members, (17, 8, rng.choice([None, 308])), style)
        check(members, tree, max(style, PLAIN) if any(members.excluded) else style)


def check(members: NumberSet, tree: Any, style: int, decimal: bool = False) -> None:
    regexes = Regexes()
    start = lower_shared(tree, regexes)
    beginnings = {""}
    for text, value in numbers_in_json():
        is_spelled = not ((style == WHOLE and set(text) & set(".eE")) or (style == PLAIN and set(text) & set("eE")))
        is_member = is_spelled and members.contains(value) and not (decimal and not set(text) & set(".eE"))
        assert regexes.matches(start, text.encode()) == is_member, (members, text)
        if is_member:
            beginnings.update([text[:n] for n in range(len(text))])
    # Whatever is alive is the beginning of some member, and the beginnings of members are alive.
    endings: dict[int, str | None] = {}
    agenda = [("", start)]
    found = set()
    while agenda:
        text, node = agenda.pop()
        found.add(text)
        ending = shortest_ending(regexes, node, endings)
        assert ending is not None, (members, text)
        whole = text + ending
        assert members.contains(Fraction(whole)), (members, whole)
        if len(text) < LENGTH:
            for target, characters in regexes.derivatives(node).items():
                agenda += [(text + chr(byte), target) for byte in characters]
    assert {text for text in beginnings if len(text) <= LENGTH} <= found, members


def shortest_ending(regexes: Regexes, start: int, known: dict[int, str | None]) -> str | None:
    """Return what may follow, found breadth first."""
    if start in known:
        return known[start]
    level = [("", start)]
    seen = {start}
    while level:
        below = []
        for text, node in level:
            if regexes.is_nullable(node):
                known[start] = text
                return text
            for target, characters in regexes.derivatives(node).items():
                if target not in seen:
                    seen.add(target)
                    below.append((text + chr(characters[0]), target))
        level = below
    known[start] = None
    return None


@pytest.mark.parametrize("style", [ANY, PLAIN], ids=["any", "plain"])
def test_computed_numbers_that_are_no_integers_in_draft_4(style: int) -> None:
    members = number_set(multiples=[7], minimum=-100)
    check(members, _as_decimals(_computed(members, (17, 8, 308), style)), style, decimal=True)


def test_limits() -> None:
    for numbers, said in (
        (number_set(multiples=[int("7" * 100)]), r"multiples of 7{60}\.\.\.: .* 7{60}\.\.\. or more remainders"),
        (number_set(multiples=[10**15 + 37, 10**15 + 91]), "use numbers with fewer digits"),
        (number_set(multiples=[4099], non_multiples=[10**15 + 37]), "there are 4099000000000151663 or more remainders"),
        (number_set(multiples=[4099], non_multiples=[2, 3, 5, 7, 11, 13, 17]), "the limit is 6 numbers"),
        (number_set(10**1000, multiples=[4099]), "significant digits, limit 150"),
    ):
        with pytest.raises(LimitError, match=said):
            number_tree(numbers)


EITHER = {"anyOf": [{"multipleOf": 33}, {"multipleOf": 12}, {"multipleOf": 77}]}
NEITHER = {"anyOf": [{"not": {"anyOf": [{"multipleOf": 6}, {"multipleOf": 7}]}}, {"multipleOf": 44}]}
SCHEMAS: list[dict[str, Any]] = [
    {"multipleOf": 4099},
    {"type": "integer", "multipleOf": 0.123456789},
    {"type": "number", "multipleOf": 20.003},
    {"type": "integer", "not": {"multipleOf": 1031}},
    {"type": "number", "not": {"anyOf": [{"multipleOf": 1031}, {"multipleOf": 0.4099}]}},
    {"multipleOf": 4096, "minimum": -10000},
    {"multipleOf": 1000003, "minimum": 5, "exclusiveMaximum": 100000030, "not": {"enum": [3000009]}},
    {"multipleOf": 8721, "not": {"anyOf": [{"multipleOf": 2}, {"multipleOf": 6.5}, {"multipleOf": 37}]}},
    {"type": "number", "allOf": [{"multipleOf": 33}, {"multipleOf": 91}], "not": {"multipleOf": 8}},
    {"type": "integer", "multipleOf": 997, "minimum": -(2**63), "maximum": 2**63 - 1, "not": {"enum": [0, 997, 9970]}},
    {"type": "number", "allOf": [EITHER, NEITHER, {"anyOf": [{"not": {"multipleOf": 11}}, {"multipleOf": 13}]}]}
    | {"not": {"multipleOf": 8}},
    {"type": "object", "properties": {"a": {"multipleOf": 4099}}, "required": ["a"], "additionalProperties": False},
    {"items": {"type": "integer", "multipleOf": 4099}, "uniqueItems": True, "maxItems": 3},
]
TOKENS = [bytes([byte]) for byte in range(256)] + [str(number).encode() for number in range(10, 1000)]
TOKENS += [b"00", b"000", b".0", b".5", b"e1", b"e-1", b"E+", b"-1", b"1,", b"0}", b'{"a": ', b"20.", b"9}", b"0]"]
WORDS = Vocabulary.from_tokens([*TOKENS, b""], eos_token_id=len(TOKENS))


@pytest.mark.parametrize("spellings", ["plain", "all"])
@pytest.mark.parametrize("schema", SCHEMAS, ids=json.dumps)
def test_what_masks_write_is_valid(schema: dict[str, Any], spellings: str) -> None:
    oracle = pytest.importorskip("support.schema_oracle").Oracle(schema)
    grammar = Grammar.from_json_schema(schema, spellings=spellings)
    rng = Random(f"multiples {spellings}")
    for _ in range(effort(1, 3)):
        matcher = Matcher(grammar, WORDS)

        def choose(mask: npt.NDArray[np.bool_], n: int, written: bytes, matcher: Matcher = matcher) -> int:
            if n < 6:
                for token in rng.sample(range(256, len(TOKENS)), 10):
                    fork = matcher.fork()
                    assert fork.accept(token) == mask[token], (written, TOKENS[token])
            allowed = mask.nonzero()[0].tolist()
            ending = [token for token in allowed if token == len(TOKENS) or TOKENS[token] in (b"}", b"]")]
            return int(rng.choice(ending if ending and n > 3 else allowed))

        written = written_by_masks(matcher, TOKENS, 200, choose)
        assert written is None or oracle.accepts(written.decode()), written


@pytest.mark.parametrize("spellings", ["plain", "all"])
@pytest.mark.parametrize("schema", SCHEMAS[:-2], ids=json.dumps)
def test_multiples_are_accepted_and_no_other_numbers(schema: dict[str, Any], spellings: str) -> None:
    oracle = pytest.importorskip("support.schema_oracle").Oracle(schema)
    grammar = Grammar.from_json_schema(schema, spellings=spellings)
    rng = Random(7)
    steps = [4099, 123456789, Decimal("20.003"), 1031, 4096, 1000003, 8721, 3003]
    values = [0, -4096, 10**300, 1.5, 10**30, 4099 * 10**40]
    values += [step * rng.randint(-(10**n), 10**n) + rng.choice((0, 0, 1)) for step in steps for n in (1, 2, 6)]
    for value in values:
        text = str(value) if isinstance(value, Decimal) else json.dumps(value)
        matcher = Matcher(grammar, Vocabulary.bytes())
        is_accepted = matcher.validate([*text.encode(), 256]) == len(text) + 1
        assert is_accepted == oracle.accepts(text), text
