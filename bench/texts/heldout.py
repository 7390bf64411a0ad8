"""Texts for the grammars of `grammars/heldout/`, which were written after tuning had stopped; see the README there.

    features  places on a map (GeoJSON)           of the family json
    cells     cells of a notebook (Python)        of the family language
    upsert    MERGE and INSERT ... ON CONFLICT    of the family sql

They are written like the texts of `first.py`, with the same words. `GENERATORS` has the generator of each grammar,
`FAMILIES` the family whose second grammar is used for its second request.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from random import Random
from typing import Any

from .first import date, name, number, sentence
from .words import ADJECTIVES, FIRST_NAMES, FOREIGN, LAST_NAMES, NOUNS, UPSERT_KEYWORDS, VERBS

# -- features ---------------------------------------------------------------------


class _Map:
    """Makes places around one point; `digits` is the number of digits of their coordinates."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.center = (random.uniform(-170, 170), random.uniform(-80, 80))
        self.digits = random.randrange(1, 8)
        self.heights = random.random() < 0.2

    def position(self) -> list[Any]:
        random = self.random
        place: list[Any] = [round(middle + random.gauss(0, 0.5), self.digits) for middle in self.center]
        return [*place, random.randrange(-20, 3000)] if self.heights else place

    def line(self, least: int = 2) -> list[Any]:
        return [self.position() for _ in range(self.random.randrange(least, least + 6))]

    def polygon(self) -> list[Any]:
        rings = [self.line(3) for _ in range(self.random.choice((1, 1, 1, 2)))]
        return [[*ring, ring[0]] for ring in rings]

    def geometry(self, depth: int) -> dict[str, Any]:
        shape = self.random.random()
        if shape < 0.4:
            return {"type": "Point", "coordinates": self.position()}
        if shape < 0.5:
            return {"type": "MultiPoint", "coordinates": self.line()}
        if shape < 0.65:
            return {"type": "LineString", "coordinates": self.line()}
        if shape < 0.7:
            return {"type": "MultiLineString", "coordinates": [self.line(), self.line()]}
        if shape < 0.88:
            return {"type": "Polygon", "coordinates": self.polygon()}
        if shape < 0.93 or depth == 0:
            return {"type": "MultiPolygon", "coordinates": [self.polygon(), self.polygon()]}
        members = [self.geometry(depth - 1) for _ in range(self.random.randrange(1, 4))]
        return {"type": "GeometryCollection", "geometries": members}

    def property(self, depth: int) -> Any:
        random = self.random
        shape = random.random()
        if depth > 0 and shape < 0.12:
            return {name(random): self.property(depth - 1) for _ in range(random.randrange(1, 5))}
        if depth > 0 and shape < 0.22:
            return [self.property(depth - 1) for _ in range(random.randrange(5))]
        if shape < 0.5:
            return sentence(random, random.randrange(2, 16))
        if shape < 0.7:
            return random.choice((random.randrange(10**5), round(random.uniform(-50, 50), 2), random.random() / 10**6))
        if shape < 0.85:
            street = f'{random.choice(NOUNS).capitalize()} "{random.choice(ADJECTIVES)}" Road\n{random.choice(FOREIGN)}'
            return random.choice((street, f"https://{random.choice(NOUNS)}.example/{random.randrange(1000)}"))
        return random.choice((True, False, None, date(random), random.choice(ADJECTIVES)))

    def feature(self) -> dict[str, Any]:
        random = self.random
        found: dict[str, Any] = {"type": "Feature"}
        if random.random() < 0.5:
            found["id"] = random.choice((random.randrange(10**6), f"{random.choice(NOUNS)}/{random.randrange(10**4)}"))
        found["geometry"] = self.geometry(1) if random.random() < 0.95 else None
        label = {"name": random.choice((*FOREIGN[:6], *(noun.capitalize() for noun in NOUNS)))}
        others = {name(random): self.property(2) for _ in range(random.randrange(1, 7))}
        found["properties"] = label | others if random.random() < 0.95 else None
        return found


def _features_text(random: Random, size: int) -> str:
    places = _Map(random)
    layout = random.choice(({"indent": 2}, {}, {}, {"separators": (",", ":")}))
    features: list[Any] = []
    length = 0
    while length < size:
        features.append(places.feature())
        length += len(json.dumps(features[-1], ensure_ascii=False, **layout))
    document: dict[str, Any] = {"type": "FeatureCollection"}
    if random.random() < 0.5:
        west, south = (round(middle, places.digits) for middle in places.center)
        document["bbox"] = [west, south, west + 1, south + 1]
    document["features"] = features
    return json.dumps(document, ensure_ascii=random.random() < 0.3, **layout)


# -- cells ------------------------------------------------------------------------


class _Cells:
    """A notebook that is being written; `names` are its variables and modules so far."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.names = [name(random) for _ in range(4)]

    def known(self) -> str:
        return self.random.choice(self.names)

    def new(self) -> str:
        self.names.append(name(self.random))
        return self.names[-1]

    def string(self) -> str:
        random = self.random
        shape = random.random()
        if shape < 0.08:
            return f'r"{random.choice(("^", ""))}{random.choice(NOUNS)}_(\\d+)\\.{random.choice(("csv", "json"))}$"'
        if shape < 0.14:
            return f'"""{sentence(random, 7)}\n\n    Not "{sentence(random, 4)}": {sentence(random, 6)}\n    """'
        quote = random.choice(('"', '"', "'"))
        if shape < 0.35:
            return f"{quote}{random.choice(NOUNS)}{quote}"
        if shape < 0.5:
            return f"f{quote}{random.choice(NOUNS)} {{{self.known()}:.2f}} {sentence(random, 2)}{quote}"
        escape = random.choice(("\\n", "\\t", f"\\{quote}", "%s")) if random.random() < 0.3 else ""
        return quote + sentence(random, random.randrange(1, 9)) + escape + quote

    def number(self) -> str:
        random = self.random
        shape = random.random()
        if shape < 0.7:
            return number(random)
        return random.choice((f"0x{random.getrandbits(16):x}", f"{random.randrange(1, 900)}_000", "1e-6", "0b1010"))

    def listed(self, items: list[str], left: str, right: str, indent: str) -> str:
        """Return items in brackets, all on one line or each on its own."""
        if items and self.random.random() < 0.2:
            lines = "".join(f"{indent}    {item},{self.remark()}\n" for item in items)
            return f"{left}\n{lines}{indent}{right}"
        return left + ", ".join(items) + right

    def remark(self) -> str:
        return f"  # {sentence(self.random, 4)}" if self.random.random() < 0.15 else ""

    def operand(self, depth: int, indent: str) -> str:
        """Return an expression that needs no parentheses under any operator."""
        random = self.random
        shape = random.random()
        if depth <= 0 or shape < 0.35:
            constant = random.choice(("None", "True", "False"))
            return random.choice((self.known, self.known, self.number, self.string, lambda: constant))()
        if shape < 0.6:
            return self.call(depth, indent)
        if shape < 0.68:
            at = random.choice((self.string(), self.known(), "-1", "1:", f":{random.randrange(1, 90)}", "0"))
            return f"{self.known()}[{at}]"
        if shape < 0.76:
            left, right = random.choice((("[", "]"), ("[", "]"), ("{", "}")))
            items = [self.expression(depth - 1, indent + "    ") for _ in range(random.randrange(1, 5))]
            return self.listed(items, left, right, indent)
        if shape < 0.84:
            inner = indent + "    "
            entries = [f"{self.string()}: {self.expression(depth - 1, inner)}" for _ in range(random.randrange(5))]
            return self.listed(entries, "{", "}", indent)
        if shape < 0.93:
            return self.comprehension(depth, indent)
        return f"({self.expression(depth - 1, indent)})"

    def comprehension(self, depth: int, indent: str) -> str:
        random = self.random
        variable = random.choice((random.choice(NOUNS), f"{random.choice(NOUNS)}, {random.choice(NOUNS)}", "i", "x"))
        first = variable.split(",")[0]
        source = f"for {variable} in {self.call(depth - 1, indent)}"
        test = random.choice((f" if {first}", f" if {first} is not None", f" if {first} not in {self.known()}", ""))
        shape = random.random()
        if shape < 0.6:
            return f"[{first}.{random.choice(VERBS)}() {source}{test}]"
        if shape < 0.8:
            return f"{{{first}: {self.operand(depth - 1, indent)} {source}{test}}}"
        return f"sum({first} ** 2 {source}{test})"

    def call(self, depth: int, indent: str) -> str:
        random = self.random
        verb = random.choice(VERBS)
        what = random.choice((f"{self.known()}.{verb}", f"{verb}_{random.choice(NOUNS)}"))
        inner = indent + "    "
        items = [self.expression(depth - 1, inner) for _ in range(random.choice((0, 1, 1, 2)))]
        items += [
            f"{random.choice(NOUNS)}={self.operand(depth - 1, inner)}" for _ in range(random.choice((0, 0, 1, 2)))
        ]
        if random.random() < 0.05:
            items.append(f"**{self.known()}")
        return what + self.listed(items, "(", ")", indent)

    def expression(self, depth: int, indent: str = "") -> str:
        random = self.random
        shape = random.random()
        left = self.operand(depth, indent)
        if shape < 0.65:
            return left
        if shape < 0.82:
            return f"{left} {random.choice(('+', '-', '*', '/', '//', '%', '**'))} {self.operand(depth, indent)}"
        if shape < 0.92:
            operator = random.choice(("==", "!=", "<", "<=", ">", ">=", "in", "not in", "is", "is not", "and", "or"))
            return f"{random.choice(('', '', 'not '))}{left} {operator} {self.operand(depth, indent)}"
        if shape < 0.96:
            return f"{left} if {self.known()} else {self.operand(depth, indent)}"
        return f"lambda {random.choice(('x', 'row', 'a, b=1'))}: {left}"

    def statement(self) -> str:
        random = self.random
        shape = random.random()
        if shape < 0.06:
            return f"import {random.choice(NOUNS)}.{random.choice(NOUNS)} as {self.new()}"
        if shape < 0.12:
            return f"from {random.choice(NOUNS)} import {self.new()}, {self.new()}"
        if shape < 0.55:
            value = self.expression(3)
            return f"{self.new()} = {value}"
        if shape < 0.65:
            return f"{self.known()}[{self.string()}] = {self.expression(3)}"
        if shape < 0.7:
            value = self.call(2, "")
            return f"{self.new()}, {self.new()} = {value}"
        if shape < 0.78:
            return f"{self.known()} {random.choice(('+=', '-='))} {self.expression(2)}"
        if shape < 0.84:
            return f"assert {self.expression(1)}, {self.string()}"
        return self.call(3, "")

    def cell(self) -> str:
        random = self.random
        lead = "".join(f"# {sentence(random, random.randrange(3, 12))}\n" for _ in range(random.choice((0, 1, 1, 2))))
        return lead + "".join(f"{self.statement()}{self.remark()}\n" for _ in range(random.randrange(1, 6))) + "\n"


def _cells_text(random: Random, size: int) -> str:
    cells = _Cells(random)
    parts: list[str] = []
    while sum(map(len, parts)) < size:
        parts.append(cells.cell())
    return "".join(parts)


# -- upsert -----------------------------------------------------------------------


class _Upsert:
    """Writes a statement that puts the rows of `source` into `target`, with made-up columns."""

    def __init__(self, random: Random) -> None:
        self.random = random
        nouns = [noun for noun in NOUNS if noun.upper() not in UPSERT_KEYWORDS]
        self.target, self.source = random.sample(nouns, 2)
        made_up = [name(random) for _ in range(8)] + ["name", "updated_at", "price"]
        self.columns = [column for column in made_up if column.upper() not in UPSERT_KEYWORDS]

    def column(self) -> str:
        random = self.random
        if random.random() < 0.06:
            return f'"{random.choice(ADJECTIVES).capitalize()} {random.choice(NOUNS)}"'
        return random.choice(self.columns)

    def literal(self) -> str:
        random = self.random
        shape = random.random()
        if shape < 0.3:
            return number(random)
        if shape < 0.45:
            return f"${random.randrange(1, 13)}"
        if shape < 0.52:
            return f"$${sentence(random, 9)}\n{random.choice(FIRST_NAMES)}'s {sentence(random, 6)}$$"
        if shape < 0.6:
            return "NULL"
        if shape < 0.66:
            return f"'{date(random)}'::date"
        text = random.choice((sentence(random, 5), random.choice(NOUNS), f"{random.choice(LAST_NAMES)}''s"))
        return f"'{text}'"

    def cell(self) -> str:
        return "DEFAULT" if self.random.random() < 0.06 else self.literal()

    def value(self, depth: int, of: str) -> str:
        """Return an expression over the columns of `of`, which is a table or an alias."""
        random = self.random
        shape = random.random()
        if depth == 0 or shape < 0.45:
            return f"{of}.{self.column()}" if random.random() < 0.6 else self.literal()
        if shape < 0.6:
            function = random.choice(("coalesce", "lower", "round", "greatest", "concat"))
            return f"{function}({self.value(depth - 1, of)}, {self.literal()})"
        if shape < 0.72:
            operator = random.choice(("+", "-", "*", "/", "||"))
            return f"{self.value(depth - 1, of)} {operator} {self.value(depth - 1, of)}"
        if shape < 0.8:
            kind = random.choice(("text", "integer", "numeric(10, 2)", "varchar(40)"))
            return f"{of}.{self.column()}::{kind}"
        if shape < 0.87:
            return f"{of}.payload ->> '{random.choice(NOUNS)}'"
        if shape < 0.94:
            return f"CASE WHEN {self.condition(0, of)} THEN {self.literal()} ELSE {self.value(depth - 1, of)} END"
        return f"({self.value(depth - 1, of)})"

    def condition(self, depth: int, of: str) -> str:
        random = self.random
        if depth > 0 and random.random() < 0.35:
            joined = f" {random.choice(('AND', 'AND', 'OR'))} "
            return joined.join((self.condition(depth - 1, of), self.condition(depth - 1, of)))
        column = f"{of}.{self.column()}"
        shape = random.random()
        if shape < 0.15:
            return f"{column} IS {random.choice(('NULL', 'NOT NULL'))}"
        if shape < 0.3:
            return f"{column} IS DISTINCT FROM {self.value(depth, of)}"
        if shape < 0.42:
            return f"{column} {random.choice(('IN', 'NOT IN'))} ({self.literal()}, {self.literal()})"
        return f"{column} {random.choice(('=', '<>', '<', '<=', '>', '>='))} {self.value(depth, of)}"

    def select(self) -> str:
        random = self.random
        alias = self.source[0]
        columns = [f"{self.value(1, alias)} AS {self.column()}" for _ in range(random.randrange(1, 4))]
        if random.random() < 0.3:
            order = f"ORDER BY {alias}.updated_at DESC"
            columns.append(f"row_number() OVER (PARTITION BY {alias}.{self.column()} {order}) AS rank")
        text = f"SELECT {alias}.id, {', '.join(columns)}\n  FROM {self.source} AS {alias}"
        if random.random() < 0.3:
            text += f"\n  LEFT JOIN {self.target} AS other ON other.id = {alias}.id"
        if random.random() < 0.6:
            text += f"\n  WHERE {self.condition(1, alias)}"
        if random.random() < 0.2:
            text += f"\n  ORDER BY {alias}.{self.column()}{random.choice(('', ' DESC'))}"
        return text

    def changes(self, of: str) -> str:
        names = self.random.sample(self.columns, self.random.randrange(1, 4))
        return ",\n    ".join(f"{column} = {self.value(2, of)}" for column in names)

    def merge(self) -> str:
        random = self.random
        source = self.source if random.random() < 0.6 else f"(\n  {self.select()}\n)"
        text = f"MERGE INTO {self.target} AS t\nUSING {source} AS s\nON t.id = s.id"
        if random.random() < 0.4:
            text += f" AND {self.condition(0, 's')}"
        if random.random() < 0.35:
            action = random.choice(("DELETE", "DO NOTHING"))
            text += f"\nWHEN MATCHED AND {self.condition(1, 's')} THEN {action}"
        text += f"\nWHEN MATCHED THEN\n  UPDATE SET {self.changes('s')}"
        if random.random() < 0.8:
            names = random.sample(self.columns, 3)
            values = ", ".join(f"s.{column}" if random.random() < 0.7 else self.literal() for column in names)
            text += f"\nWHEN NOT MATCHED THEN\n  INSERT (id, {', '.join(names)})\n  VALUES (s.id, {values})"
        return text

    def insert(self) -> str:
        random = self.random
        names = ["id", *random.sample(self.columns, random.randrange(1, 5))]
        lead = f"INSERT INTO {random.choice(('', 'public.'))}{self.target} ({', '.join(names)})\n"
        if random.random() < 0.3:
            text = f"{lead}  {self.select()}"
        else:
            rows = [f"({', '.join(self.cell() for _ in names)})" for _ in range(random.randrange(1, 5))]
            text = f"{lead}VALUES\n  " + ",\n  ".join(rows)
        if random.random() < 0.3:
            return f"{text}\nON CONFLICT DO NOTHING"
        text += f"\nON CONFLICT (id) DO UPDATE\nSET {self.changes('excluded')}"
        return text + (f"\nWHERE {self.condition(1, self.target)}" if random.random() < 0.4 else "")

    def statement(self) -> str:
        random = self.random
        lead = ""
        if random.random() < 0.4:
            words = sentence(random, random.randrange(3, 10))
            lead = f"-- {words}\n" if random.random() < 0.75 else f"/* {words}\n * {sentence(random, 6)} */\n"
        if random.random() < 0.2:
            lead += f"WITH latest AS (\n  {self.select()}\n)\n"
        text = random.choice((self.merge, self.insert))()
        if random.random() < 0.25:
            text += f"\nRETURNING {random.choice(('*', 'id', f'id, {self.column()} AS changed'))}"
        return f"{lead}{text};\n\n"


def _upsert_text(random: Random, size: int) -> str:
    parts: list[str] = []
    while sum(map(len, parts)) < size:
        text = _Upsert(random).statement()
        if random.random() < 0.3:
            # Only keywords are in capitals, neither strings nor names are.
            text = re.sub("[A-Z]{2,}", lambda word: word[0].lower(), text)
        parts.append(text)
    return "".join(parts).rstrip("\n")


GENERATORS: dict[str, Callable[[Random, int], str]] = {
    "features": _features_text,
    "cells": _cells_text,
    "upsert": _upsert_text,
}
FAMILIES = {"features": "json", "cells": "language", "upsert": "sql"}
