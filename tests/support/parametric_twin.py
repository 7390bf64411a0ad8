"""Rules with values, written out for the twin: one plain rule for each value that the start rule leads to.

A grammar is JSON, `{"start": [name, value], "rules": [[name, [[symbols, condition], ...]], ...]}`. A symbol is a
string, written as it is, or `[name, value expression]`: a rule, with a value computed from the present one. Value
expressions and conditions are lists: `["set_bit", 1]`, `["lt", [0, 2], 3]`, `["and", c, c]`; bits are `[first, end]`,
or null for all of them. A condition may be null.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from support.refusals import Skipped
from support.shrinking import fewer

MOST_VALUES = 200
ALL_BITS = 64


def digits(value: int, bits: list[int] | None) -> list[int]:
    """Return the bits of a value, the lowest first."""
    first, end = bits or (0, ALL_BITS)
    return [int(digit) for digit in reversed(f"{value:064b}")][first:end]


def number(value: int, bits: list[int] | None) -> int:
    return sum(digit * 2**i for i, digit in enumerate(digits(value, bits)))


def after(expression: list[Any], value: int) -> int:
    """Return the value that an expression computes from the present one."""
    kind, *arguments = expression
    if kind == "same":
        return value
    if kind == "constant":
        return int(arguments[0])
    if kind in ("incr", "decr"):
        part = digits(value, arguments[0])
        first = (arguments[0] or [0])[0]
        if kind == "incr":
            return value if all(part) else value + 2**first
        return value if not any(part) else value - 2**first
    bit = arguments[0]
    had = digits(value, None)
    if kind == "set_bit":
        return value + 2**bit * (1 - had[bit])
    if kind == "clear_bit":
        return value - 2**bit * had[bit]
    other = digits(bit, None)
    both = {"bit_and": lambda a, b: min(a, b), "bit_or": lambda a, b: max(a, b)}[kind]
    return sum(both(a, b) * 2**i for i, (a, b) in enumerate(zip(had, other, strict=True)))


def holds(condition: list[Any] | None, value: int) -> bool:
    if condition is None or condition[0] == "true":
        return True
    kind, *arguments = condition
    if kind == "not":
        return not holds(arguments[0], value)
    if kind in ("and", "or"):
        sides = [holds(side, value) for side in arguments]
        return all(sides) if kind == "and" else any(sides)
    if kind in ("bit_set", "bit_clear"):
        return digits(value, None)[arguments[0]] == (kind == "bit_set")
    part = digits(value, arguments[0])
    if kind in ("is_ones", "is_zeros"):
        return set(part) == {int(kind == "is_ones")}
    left = sum(part) if kind.startswith("bit_count_") else number(value, arguments[0])
    right = arguments[1]
    relation = kind.removeprefix("bit_count_")
    return {"eq": left == right, "ne": left != right, "lt": left < right, "le": left <= right, "gt": left > right,
            "ge": left >= right}[relation]  # fmt: skip


def expanded(text: str) -> str:
    """Write the grammar without values, in Lark's syntax."""
    data = json.loads(text)
    rules = dict(data["rules"])
    first = tuple(data["start"])
    found = {first: f"{first[0]}_{first[1]:x}"}
    agenda = [first]
    lines = [f"start: {found[first]}"]
    while agenda:
        name, value = agenda.pop()
        written = []
        for symbols, condition in rules[name]:
            if not holds(condition, value):
                continue
            parts = []
            for symbol in symbols:
                if isinstance(symbol, str):
                    parts.append(symbol)
                    continue
                called = (symbol[0], after(symbol[1], value))
                if called not in found:
                    found[called] = f"{called[0]}_{called[1]:x}"
                    agenda.append(called)
                parts.append(found[called])
            written.append(" ".join(parts))
        # A rule without alternatives derives nothing; Lark's syntax can say this only by a rule that needs itself.
        written = list(dict.fromkeys(written)) or [f'"a" {found[name, value]}']
        lines.append(f"{found[name, value]}: " + " | ".join(written))
        if len(found) > MOST_VALUES:
            raise Skipped(f"oracle: more than {MOST_VALUES} values")
    return "\n".join(lines) + "\n"


def written(text: str) -> str:
    """Write the grammar with values, as the engine reads it."""
    data = json.loads(text)
    name, value = data["start"]
    lines = [f"start: {name}::{value}"]
    for name, alternatives in data["rules"]:
        bodies = [
            " ".join([s if isinstance(s, str) else f"{s[0]}::{_expression(s[1])}" for s in symbols])
            + (f" %if {_condition(condition)}" if condition else "")
            for symbols, condition in alternatives
        ]
        lines.append(f"{name}::_: " + "\n    | ".join(bodies))
    return "\n".join(lines) + "\n"


def _expression(expression: list[Any]) -> str:
    kind, *arguments = expression
    if kind == "same":
        return "_"
    if kind == "constant":
        return hex(arguments[0])
    return f"{kind}({_bits(arguments[0]) if kind in ('incr', 'decr') else arguments[0]})"


def _condition(condition: list[Any]) -> str:
    kind, *arguments = condition
    if kind in ("and", "or", "not"):
        return f"{kind}({', '.join(map(_condition, arguments))})"
    if kind == "true":
        return kind
    if kind in ("bit_set", "bit_clear"):
        return f"{kind}({arguments[0]})"
    return f"{kind}({', '.join([_bits(arguments[0]), *map(str, arguments[1:])])})"


def _bits(bits: list[int] | None) -> str:
    return "_" if bits is None else f"[{bits[0]}:{bits[1]}]"


def smaller(text: str) -> Iterator[str]:
    data = json.loads(text)
    rules = data["rules"]

    def put(i: int, alternatives: list[Any]) -> str:
        return json.dumps({**data, "rules": [*rules[:i], [rules[i][0], alternatives], *rules[i + 1 :]]})

    called = {
        s[0] for _, alternatives in rules for symbols, _ in alternatives for s in symbols if not isinstance(s, str)
    }
    for i, (name, alternatives) in enumerate(rules):
        if name not in called and name != data["start"][0]:
            yield json.dumps({**data, "rules": rules[:i] + rules[i + 1 :]})
        yield from (put(i, less) for less in fewer(alternatives))
        for j, (symbols, condition) in enumerate(alternatives):
            before, behind = alternatives[:j], alternatives[j + 1 :]
            yield from (put(i, [*before, [less, condition], *behind]) for less in fewer(symbols))
            if condition is not None:
                sides = condition[1:] if condition[0] in ("and", "or", "not") else []
                yield from (put(i, [*before, [symbols, less], *behind]) for less in [None, *sides])
