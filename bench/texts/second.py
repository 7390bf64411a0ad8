"""Texts for the second grammar of each family: seeded sentences of `records`, `script` and `changes`.

They are written like the texts of `first.py`, with the same words, so that a second request differs in its grammar and
not in the contents of its strings.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

from .first import date, name, sentence
from .words import ADJECTIVES, FIRST_NAMES, FOREIGN, LAST_NAMES, NOUNS, VERBS

# -- records ----------------------------------------------------------------------


def _record(random: Random) -> Any:
    address: dict[str, Any] = {
        "street": f"{random.randrange(1, 400)} {random.choice(NOUNS).capitalize()} Street",
        "city": random.choice((*FOREIGN[:6], *(noun.capitalize() for noun in NOUNS[:20]))),
        "zip": f"{random.randrange(10**5):05}",
    }
    if random.random() < 0.5:
        address["geo"] = [round(random.uniform(-90, 90), 5), round(random.uniform(-180, 180), 5)]
    record: dict[str, Any] = {
        "id": random.randrange(10**6),
        "name": f"{random.choice(FIRST_NAMES)} {random.choice(LAST_NAMES)}",
        "status": random.choice(("open", "pending", "shipped", "returned", "cancelled")),
        "created": date(random),
        "score": random.choice((random.random(), random.randrange(-50, 100), 1e-9 * random.random())),
        "active": random.random() < 0.5,
        "tags": random.sample(ADJECTIVES, random.randrange(4)),
        "address": address,
    }
    if random.random() < 0.6:
        record["note"] = None if random.random() < 0.3 else sentence(random, random.randrange(3, 20))
    return record


def _records_text(random: Random, size: int) -> str:
    layout = random.choice(({"indent": 2}, {}, {"separators": (",", ":")}))
    records: list[Any] = []
    length = 0
    while length < size:
        records.append(_record(random))
        length += len(json.dumps(records[-1], ensure_ascii=False, **layout))
    document = {"version": random.randrange(1, 9), "records": records}
    return json.dumps(document, ensure_ascii=random.random() < 0.3, **layout)


# -- script -----------------------------------------------------------------------


class _Script:
    """A script that is being written; `names` are its variables so far."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.names = [name(random) for _ in range(4)]

    def known(self) -> str:
        return self.random.choice(self.names)

    def new(self) -> str:
        self.names.append(name(self.random))
        return self.names[-1]

    def string(self) -> str:
        text = sentence(self.random, self.random.randrange(1, 8))
        left, right = self.random.choice((('"', '"'), ("'", "'"), ("[[", "]]")))
        escape = self.random.choice(("\\n", "\\t", "\\\\")) if left != "[[" and self.random.random() < 0.2 else ""
        return left + text.replace("'", "") + escape + right

    def number(self) -> str:
        random = self.random
        return random.choice(
            (str(random.randrange(100)), f"{random.uniform(0, 90):.3f}", f"0x{random.getrandbits(16):x}")
        )

    def table(self, depth: int) -> str:
        fields = [
            self.random.choice((f"{name(self.random)} = ", f"[{self.string()}] = ", "")) + self.operand(depth - 1)
            for _ in range(self.random.randrange(5))
        ]
        return "{" + ", ".join(fields) + "}"

    def operand(self, depth: int) -> str:
        random = self.random
        shape = random.random()
        if depth <= 0 or shape < 0.45:
            return random.choice((self.known, self.known, self.number, self.string, lambda: "nil"))()
        if shape < 0.75:
            return self.call(depth)
        if shape < 0.85:
            return self.table(depth)
        if shape < 0.93:
            return f"{self.known()}[{self.operand(depth - 1)}]"
        return random.choice(("not ", "-", "#")) + self.known()

    def call(self, depth: int) -> str:
        random = self.random
        what = random.choice((f"{self.known()}:{random.choice(VERBS)}", f"{self.known()}.{random.choice(VERBS)}"))
        return f"{what}({', '.join(self.operand(depth - 1) for _ in range(random.randrange(4)))})"

    def expression(self) -> str:
        operator = self.random.choice(("+", "-", "*", "/", "..", "==", "~=", "<", ">=", "and", "or"))
        left, right = self.operand(2), self.operand(2)
        return f"{left} {operator} {right}" if self.random.random() < 0.4 else left

    def block(self, indent: str, depth: int) -> str:
        return "".join(self.statement(indent + "  ", depth - 1) for _ in range(self.random.randrange(1, 4)))

    def statement(self, indent: str, depth: int) -> str:
        random = self.random
        lead = f"{indent}-- {sentence(random, 6)}\n" if random.random() < 0.2 else ""
        shape = random.random() if depth > 0 else random.random() * 0.6
        if shape < 0.25:
            text = f"local {self.new()} = {self.expression()}"
        elif shape < 0.4:
            text = f"{self.known()}.{random.choice(NOUNS)} = {self.expression()}"
        elif shape < 0.55:
            text = self.call(3)
        elif shape < 0.6:
            text = f"return {self.expression()}"
        elif shape < 0.78:
            text = f"if {self.expression()} then\n{self.block(indent, depth)}{indent}"
            if random.random() < 0.4:
                text += f"else\n{self.block(indent, depth)}{indent}"
            text += "end"
        elif shape < 0.9:
            text = f"for {self.new()} = 1, #{self.known()} do\n{self.block(indent, depth)}{indent}end"
        else:
            text = f"function {random.choice(VERBS)}_{random.choice(NOUNS)}({self.new()})\n"
            text += f"{self.block(indent, depth)}{indent}end"
        return f"{lead}{indent}{text};\n"


def _script_text(random: Random, size: int) -> str:
    script = _Script(random)
    parts: list[str] = []
    while sum(map(len, parts)) < size:
        parts.append(script.statement("", 3))
    return "".join(parts)


# -- changes ----------------------------------------------------------------------


class _Changes:
    """Statements that change tables."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def literal(self) -> str:
        random = self.random
        text = random.choice((date(random), sentence(random, 4), f"{random.choice(LAST_NAMES)}''s"))
        return random.choice((str(random.randrange(1000)), f"{random.uniform(-9, 9):.2f}", f"'{text}'", "NULL", "TRUE"))

    def value(self) -> str:
        random = self.random
        shape = random.random()
        if shape < 0.6:
            return self.literal()
        if shape < 0.8:
            return name(random)
        if shape < 0.9:
            return f"{random.choice(('lower', 'coalesce', 'round'))}({name(random)}, {self.literal()})"
        return f"{name(random)} {random.choice(('+', '-', '||'))} {self.literal()}"

    def condition(self) -> str:
        random = self.random
        column = name(random)
        test = random.choice(
            (
                f"{column} {random.choice(('=', '<>', '<', '>='))} {self.value()}",
                f"{column} IS NOT NULL",
                f"{column} IN ({self.literal()}, {self.literal()})",
                f"{column} NOT LIKE '%{random.choice(NOUNS)}%'",
                f"{column} BETWEEN {self.literal()} AND {self.literal()}",
            )
        )
        return test if random.random() < 0.6 else f"{test} {random.choice(('AND', 'OR'))} {self.condition()}"

    def create(self) -> str:
        random = self.random
        types = ("INTEGER", "TEXT", "BOOLEAN", "TIMESTAMP", "VARCHAR(40)", "DECIMAL(10, 2)")
        extras = ("", "", " NOT NULL", " UNIQUE", f" DEFAULT {self.literal()}", f" CHECK ({self.condition()})")
        columns = [
            f"{name(random)} {random.choice(types)}{random.choice(extras)}" for _ in range(random.randrange(2, 8))
        ]
        listed = ",\n  ".join(["id INTEGER PRIMARY KEY", *columns])
        return f"CREATE TABLE {random.choice(('', 'IF NOT EXISTS '))}{random.choice(NOUNS)}_log (\n  {listed}\n)"

    def insert(self) -> str:
        random = self.random
        n = random.randrange(1, 6)
        rows = [f"({', '.join(self.value() for _ in range(n))})" for _ in range(random.randrange(1, 4))]
        columns = ", ".join(name(random) for _ in range(n))
        return f"INSERT INTO {random.choice(NOUNS)} ({columns})\nVALUES {', '.join(rows)}"

    def update(self) -> str:
        random = self.random
        changes = ", ".join(f"{name(random)} = {self.value()}" for _ in range(random.randrange(1, 4)))
        return f"UPDATE {random.choice(NOUNS)} SET {changes}\nWHERE {self.condition()}"

    def delete(self) -> str:
        return f"DELETE FROM {self.random.choice(NOUNS)} WHERE {self.condition()}"

    def statement(self) -> str:
        random = self.random
        lead = f"-- {sentence(random, 5)}\n" if random.random() < 0.3 else ""
        text = random.choice((self.create, self.insert, self.insert, self.update, self.delete))()
        if not text.startswith("CREATE") and random.random() < 0.2:
            text += f" RETURNING {random.choice(('*', 'id', name(random)))}"
        return f"{lead}{text};\n"


def _changes_text(random: Random, size: int) -> str:
    changes = _Changes(random)
    parts: list[str] = []
    while sum(map(len, parts)) < size:
        parts.append(changes.statement())
    return "".join(parts).rstrip("\n")


GENERATORS: dict[str, Callable[[Random, int], str]] = {
    "records": _records_text,
    "script": _script_text,
    "changes": _changes_text,
}
