"""Grammars that are clumsy but not hostile, in families: each grammar is about twice as large as the one before it.

`bench.growth` measures how the time and the memory of each family grow. A front end reads the source of each grammar,
and one of its texts is followed from the first mask to the last.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import earleymask

Load = Callable[[earleymask.Limits], Any]


class Case(NamedTuple):
    """One grammar of a family."""

    load: Load
    text: str


class Family(NamedTuple):
    """Grammars of one kind. `make` returns that of a size."""

    sizes: Sequence[int]
    make: Callable[[int], Case]
    what: str
    """What the size counts."""


def lark(source: str, text: str) -> Case:
    return Case(lambda limits: earleymask.Grammar.from_lark(source, limits=limits), text)


def gbnf(source: str, text: str) -> Case:
    return Case(lambda limits: earleymask.Grammar.from_gbnf(source, limits=limits), text)


def regex(source: str, text: str) -> Case:
    return Case(lambda limits: earleymask.Grammar.from_regex(source, limits=limits), text)


def schema(given: Any, text: str, order: Literal["schema", "any"] = "schema") -> Case:
    return Case(
        lambda limits: earleymask.Grammar.from_json_schema(given, property_order=order, limits=limits),
        text,
    )


def doubled(first: int, times: int) -> list[int]:
    return [first << i for i in range(times)]


def words(n: int, seed: int = 1) -> list[str]:
    """Return `n` different words of 3 to 12 letters, each with a number."""
    choose = random.Random(seed)
    return ["".join(choose.choices("abcdefghijklmnopqrstuvwxyz", k=choose.randint(3, 12))) + str(i) for i in range(n)]


def nested(inner: str, before: str, after: str, depth: int) -> str:
    return before * depth + inner + after * depth


def quoted(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


# ---- operators -----------------------------------------------------------------------------------------------------


def operators() -> dict[str, Family]:
    depths = (12, 24, 48, 96)
    counts = (2, 4, 8, 16)
    lengths = doubled(64, 4)
    letters = "a" * 30
    return {
        "lark: options around a repetition": Family(
            depths, lambda n: lark("start: " + nested('"a"*', "[", "]", n), letters), "options"
        ),
        "lark: repetitions within repetitions": Family(
            depths, lambda n: lark("start: " + nested('"a"', "(", ")*", n), letters), "repetitions"
        ),
        "lark: options and repetitions in turns": Family(
            depths, lambda n: lark("start: " + nested('"a" "b"?', "[(", ")+]", n // 2), "ab" * 15), "operators"
        ),
        "lark: counts within counts": Family(
            counts, lambda n: lark("start: " + nested('"a"', "(", ")~0..9", n), letters), "counts"
        ),
        "regex: counts within counts": Family(
            counts, lambda n: regex(nested("a", "(?:", "){0,9}", n), letters), "counts"
        ),
        "regex: counts of two letters within counts": Family(
            counts, lambda n: regex(nested("ab?", "(?:", "){0,9}", n), letters), "counts"
        ),
        "regex: counts from 1 within counts": Family(
            counts, lambda n: regex(nested("a|bc", "(?:", "){1,9}", n), letters), "counts"
        ),
        "lark: power of an option": Family(lengths, lambda n: lark(f'start: ("a"?)~{n}', letters), "count"),
        "lark: power of a repetition": Family(lengths, lambda n: lark(f'start: ("a"* "b"?)~{n}', letters), "count"),
        "lark: power of two options": Family(lengths, lambda n: lark(f'start: ("a"? "b"?)~{n}', letters), "count"),
        "gbnf: power of an option": Family(
            lengths, lambda n: gbnf(f'root ::= (x?){{{n}}}\nx ::= "a"', letters), "count"
        ),
        "regex: power of options": Family(lengths, lambda n: regex(f"(?:a?b?){{{n}}}", letters), "count"),
        "regex: optional letters": Family(lengths, lambda n: regex("a?" * n, letters), "letters"),
        "regex: optional classes": Family(lengths, lambda n: regex("[a-z]?" * n, letters), "classes"),
        "regex: starred classes, all alike": Family(lengths, lambda n: regex("[a-z]*" * n, letters), "classes"),
        "regex: starred classes that overlap": Family(
            lengths, lambda n: regex("".join(f"[{chr(97 + i % 20)}-z]*" for i in range(n)), "z" * 30), "classes"
        ),
        "regex: starred letters": Family(
            lengths, lambda n: regex("".join(f"{chr(97 + 7 * i % 26)}*" for i in range(n)), letters), "letters"
        ),
        "regex: lazy repetitions of anything": Family(
            doubled(16, 4), lambda n: regex(".*?" * n + "x", letters + "x"), "repetitions"
        ),
        "regex: anything between letters": Family(
            lengths, lambda n: regex(".*".join("abcdefgh"[i % 8] for i in range(n)), ""), "letters"
        ),
        "lark: optional terminals": Family(
            lengths,
            lambda n: lark("start: " + " ".join(f"T{i}?" for i in range(n)) + "\n" + terminals(n), letters),
            "terminals",
        ),
        "lark: starred terminals": Family(
            lengths,
            lambda n: lark("start: " + " ".join(f"T{i % 8}*" for i in range(n)) + "\n" + terminals(8), letters),
            "terminals",
        ),
        "lark: terminals that overlap": Family(
            lengths,
            lambda n: lark("start: (" + " | ".join(f"T{i}" for i in range(n)) + ")*\n" + terminals(n), letters),
            "terminals",
        ),
        "gbnf: starred classes": Family(lengths, lambda n: gbnf("root ::= " + "[a-z]* " * n, letters), "classes"),
    }


def terminals(n: int) -> str:
    return "".join(f"T{i}: /[a-{chr(105 + i % 16)}]{{1,{i + 2}}}/\n" for i in range(n))


# ---- ambiguous grammars --------------------------------------------------------------------------------------------


def ambiguous() -> dict[str, Family]:
    lengths = doubled(100, 4)

    def of(rules: str, piece: str = "a") -> Callable[[int], Case]:
        return lambda n: lark(rules, (piece * n)[: n // 2] + (piece * n)[: n // 2][::-1])

    return {
        "text: palindromes": Family(lengths, of('start: "a" start "a" | "b" start "b" |', "ab"), "characters"),
        "text: palindromes of one letter": Family(lengths, of('start: "a" start "a" | "b" start "b" |'), "characters"),
        "text: a repeated symbol": Family(lengths, of('start: start start | "a"'), "characters"),
        "text: a repeated symbol, three times": Family(
            lengths, of('start: start start start | start start | "a" |'), "characters"
        ),
        "text: a rule between lexemes of any length": Family(
            doubled(25, 4), of("start: A start A |\nA: /a+/"), "characters"
        ),
        "text: two recursions": Family(
            lengths, of('start: "a" start "b" start | "b" start "a" start |', "ab"), "characters"
        ),
    }


# ---- schemas -------------------------------------------------------------------------------------------------------


def schemas() -> dict[str, Family]:
    many = doubled(3750, 4)
    names = (6250, 12_500, 25_000, 50_000)
    some = doubled(250, 4)
    chains = (24, 48, 96, 3000)

    def values(make: Callable[[int, str], Any], text: Callable[[int, str], str]) -> Callable[[int], Case]:
        return lambda n: schema(
            {"enum": [make(i, word) for i, word in enumerate(words(n))]}, text(n // 2, words(n)[n // 2])
        )

    def chain(step: Callable[[str], Any], text: str = "7") -> Callable[[int], Case]:
        return lambda n: schema(
            {
                "$ref": "#/$defs/d0",
                "$defs": {f"d{i}": step(f"#/$defs/d{i + 1}") for i in range(n)} | {f"d{n}": {"type": "integer"}},
            },
            text,
        )

    def properties(order: Literal["schema", "any"], kind: Any, required: bool) -> Callable[[int], Case]:
        def make(n: int) -> Case:
            listed = words(n)
            given = {"type": "object", "properties": dict.fromkeys(listed, kind), "additionalProperties": False}
            if required:
                given["required"] = listed[:3]
            return schema(given, "{" + ", ".join(f'"{name}": 1' for name in listed[:12]) + "}", order)

        return make

    def dependent(n: int) -> Case:
        listed = words(n)
        needed = {name: [listed[(3 * i + 1) % n], listed[(5 * i + 2) % n]] for i, name in enumerate(listed)}
        return schema({"type": "object", "dependentRequired": needed}, "{}")

    return {
        "schema: enum of strings": Family(many, values(lambda _, word: word, lambda _, word: f'"{word}"'), "values"),
        "schema: enum of numbers": Family(many, values(lambda i, _: 7 * i, lambda i, _: str(7 * i)), "values"),
        "schema: enum of objects": Family(
            many,
            values(lambda i, word: {"name": word, "code": [i]}, lambda i, word: f'{{"name": "{word}", "code": [{i}]}}'),
            "values",
        ),
        "schema: enum of lists": Family(
            many, values(lambda i, word: [[word], i], lambda i, word: f'[["{word}"], {i}]'), "values"
        ),
        "schema: enum of open objects' members": Family(
            many,
            lambda n: schema(
                {"properties": {"a": {"enum": [{"b": word} for word in words(n)]}}, "required": ["a"]},
                f'{{"a": {{"b": "{words(n)[7]}"}}}}',
            ),
            "values",
        ),
        "schema: properties": Family(names, properties("schema", {"type": "integer"}, False), "names"),
        "schema: properties in any order": Family(names, properties("any", {"type": "integer"}, False), "names"),
        "schema: required properties in any order": Family(
            names, properties("any", {"type": "integer"}, True), "names"
        ),
        "schema: chain of $ref": Family(names, chain(lambda to: {"$ref": to}), "references"),
        "schema: chain of allOf": Family(chains, chain(lambda to: {"allOf": [{"$ref": to}]}), "references"),
        "schema: chain of anyOf": Family(
            chains, chain(lambda to: {"anyOf": [{"$ref": to}, {"type": "null"}]}), "references"
        ),
        "schema: chain of not": Family(chains, chain(lambda to: {"not": {"$ref": to}}), "references"),
        "schema: chain of oneOf": Family(
            chains, chain(lambda to: {"oneOf": [{"$ref": to}, {"type": "null"}]}), "references"
        ),
        "schema: chain of if": Family(
            chains, chain(lambda to: {"if": {"$ref": to}, "then": True, "else": False}), "references"
        ),
        "schema: chain of properties": Family(
            names,
            chain(lambda to: {"type": "object", "properties": {"next": {"$ref": to}}}, '{"next": {"next": {}}}'),
            "references",
        ),
        "schema: patterns with counts": Family(
            (3, 6, 12, 24),
            lambda n: schema(
                {
                    "type": "object",
                    "patternProperties": {f"a.{{{i + 3}}}$": {"type": "integer", "minimum": i} for i in range(n)},
                    "additionalProperties": False,
                },
                '{"abcd": 17}',
            ),
            "patterns",
        ),
        "schema: patterns of names": Family(
            doubled(375, 4),
            lambda n: schema(
                {"type": "object", "patternProperties": {f"^{word}": {"minimum": 1} for word in words(n)}},
                f'{{"{words(n)[3]}x": 5}}',
            ),
            "patterns",
        ),
        "schema: dependentRequired": Family((25, 50, 100, 200), dependent, "names"),
        "schema: allOf of patterns": Family(
            (6, 12, 24),
            lambda n: schema(
                {"type": "string", "allOf": [{"pattern": chr(97 + i)} for i in range(n)]},
                f'"{"".join(chr(97 + i) for i in range(n))}"',
            ),
            "patterns",
        ),
        "schema: oneOf of open objects": Family(
            some,
            lambda n: schema(
                {
                    "oneOf": [
                        {
                            "type": "object",
                            "properties": {"kind": {"const": word}, "n": {"type": "integer"}},
                            "required": ["kind"],
                        }
                        for word in words(n)
                    ]
                },
                f'{{"kind": "{words(n)[9]}", "n": 3}}',
            ),
            "branches",
        ),
        "schema: oneOf of objects with a name of their own": Family(
            doubled(10, 4),
            lambda n: schema(
                {
                    "oneOf": [
                        {"type": "object", "properties": {word: {"const": 1}}, "required": [word]} for word in words(n)
                    ]
                },
                f'{{"{words(n)[9]}": 1}}',
            ),
            "branches",
        ),
        "schema: oneOf of multiples": Family(
            (2, 4, 6),
            lambda n: schema({"oneOf": [{"type": "integer", "multipleOf": k} for k in (3, 5, 7, 24, 8, 11)[:n]]}, "9"),
            "branches",
        ),
    }


FAMILIES: dict[str, Family] = {**operators(), **ambiguous(), **schemas()}
"""The families, by name."""
