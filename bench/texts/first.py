"""Texts for the first grammar of each family: seeded sentences of `json`, `language` and `sql`.

`generate(kind, seed, size)` returns JSON, a program or SQL queries: whole documents, functions or queries, until there
are `size` characters. One `random.Random` makes all choices, so a seed and a size determine a text. Its SHA-256 is in
the results. A change here that changes texts makes older results incomparable.

The texts imitate what models write: layout varies, strings hold prose, escapes and several scripts, names are
snake_case and camelCase, comments stand between statements.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

from .words import ADJECTIVES, FIRST_NAMES, FOREIGN, GLUE, LAST_NAMES, NOUNS, SQL_KEYWORDS, VERBS


def generate(kind: str, seed: int, size: int) -> str:
    """Return a sentence of the grammar `kind` ("json", "language" or "sql") of at least `size` characters."""
    return GENERATORS[kind](Random(f"{kind} {seed}"), size)


# -- words ----------------------------------------------------------------------


def sentence(random: Random, n_words: int) -> str:
    words: list[str] = []
    for _ in range(n_words):
        pool = random.choices((NOUNS, VERBS, ADJECTIVES, GLUE, FOREIGN), (30, 14, 16, 34, 6))[0]
        words.append(random.choice(pool))
    text = " ".join(words).capitalize()
    return text + random.choice((".", ".", "!", "?", "", ": yes", " (approx.)", "..."))


def name(random: Random) -> str:
    """Return a name as in programs. It is never a keyword, but a word of it may begin or end with one."""
    words = [
        random.choice(pool) for pool in random.choice(((NOUNS,), (ADJECTIVES, NOUNS), (VERBS, NOUNS), (NOUNS, NOUNS)))
    ]
    style = random.random()
    if style < 0.6:
        return "_".join(words)
    if style < 0.85:
        return words[0] + "".join(word.capitalize() for word in words[1:])
    if style < 0.95:
        return words[0] + str(random.randrange(1, 100))
    return "_" + "_".join(words)


def date(random: Random) -> str:
    return f"{random.randrange(1998, 2031)}-{random.randrange(1, 13):02}-{random.randrange(1, 29):02}"


def number(random: Random) -> str:
    return random.choice(
        (
            str(random.randrange(10)),
            str(random.randrange(1000)),
            str(random.randrange(10**9)),
            f"{random.uniform(0, 1000):.2f}",
            f"{random.random():.6f}",
        )
    )


# -- JSON -----------------------------------------------------------------------


def _json_string(random: Random) -> str:
    shape = random.randrange(12)
    if shape == 0:
        return date(random) + f"T{random.randrange(24):02}:{random.randrange(60):02}:00Z"
    if shape == 1:
        return f"{random.choice(NOUNS)}.{random.choice(NOUNS)}@{random.choice(NOUNS)}.example"
    if shape == 2:
        return f"https://{random.choice(NOUNS)}.example/{random.choice(NOUNS)}/{random.randrange(10**6)}?{random.choice(NOUNS)}={random.choice(VERBS)}"
    if shape == 3:
        return f"{random.getrandbits(64):016x}"
    if shape == 4:
        return "C:\\" + "\\".join(random.choices(NOUNS, k=3)) + "\t" + random.choice(NOUNS) + "\n"
    if shape == 5:
        return f'{random.choice(FIRST_NAMES)} said: "{sentence(random, 5)}"'
    if shape == 6:
        return random.choice(NOUNS)
    if shape == 7:
        return ""
    if shape == 8:
        return " ".join(random.choices(FOREIGN, k=random.randrange(1, 6)))
    return sentence(random, random.randrange(3, 25))


def _json_value(random: Random, depth: int) -> Any:
    shape = random.random()
    if depth > 0 and shape < 0.3:
        return {name(random): _json_value(random, depth - 1) for _ in range(random.randrange(0, 7))}
    if depth > 0 and shape < 0.45:
        if random.random() < 0.4:
            return [round(random.uniform(-90, 90), random.randrange(7)) for _ in range(random.randrange(2, 12))]
        return [_json_value(random, depth - 1) for _ in range(random.randrange(0, 5))]
    if shape < 0.75:
        return _json_string(random)
    if shape < 0.92:
        return random.choice(
            (
                random.randrange(100),
                -random.randrange(10**6),
                random.getrandbits(52),
                random.uniform(-1, 1),
                1.5e-7 * random.random(),
                6.02e23,
            )
        )
    return random.choice((True, False, None))


def _json_person(random: Random) -> Any:
    return {
        "id": random.randrange(10**6),
        "name": f"{random.choice(FIRST_NAMES)} {random.choice(LAST_NAMES)}",
        "email": f"{random.choice(NOUNS)}{random.randrange(100)}@{random.choice(NOUNS)}.example",
        "active": random.random() < 0.5,
        "tags": random.sample(ADJECTIVES, random.randrange(4)),
        "address": {
            "street": sentence(random, 2),
            "zip": f"{random.randrange(10**5):05}",
            "geo": [random.uniform(-90, 90), random.uniform(-180, 180)],
        },
    }


def _json_text(random: Random, size: int) -> str:
    """Return an array of documents, each in a layout of its own."""
    documents: list[str] = []
    length = 0
    while length < size:
        document = (
            _json_person(random)
            if random.random() < 0.3
            else {name(random): _json_value(random, 4) for _ in range(random.randrange(2, 7))}
        )
        layout = random.choice(({"indent": 2}, {"indent": 4}, {}, {"separators": (",", ":")}, {"indent": "\t"}))
        documents.append(json.dumps(document, ensure_ascii=random.random() < 0.3, **layout))
        length += len(documents[-1]) + 2
    return "[" + ",\n".join(documents) + "]"


# -- the programming language -----------------------------------------------------


def _quoted(random: Random) -> str:
    escapes = ("\\n", "\\t", '\\"quoted\\"', "\\\\", ": ", " = ", "{}")
    return (
        '"' + sentence(random, random.randrange(1, 9)) + (random.choice(escapes) if random.random() < 0.4 else "") + '"'
    )


class _Program:
    """A program that is being written; `names` are its variables so far."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.names = [name(random) for _ in range(4)]

    def known(self) -> str:
        return self.random.choice(self.names)

    def new(self) -> str:
        self.names.append(name(self.random))
        return self.names[-1]

    def expression(self, depth: int) -> str:
        random = self.random
        if depth == 0 or random.random() < 0.7:
            return self.operand(depth)
        operator = random.choice(["+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||"])
        space = random.choice((" ", " ", " ", ""))
        return f"{self.operand(depth)}{space}{operator}{space}{self.operand(depth)}"

    def operand(self, depth: int) -> str:
        """Return an expression that needs no parentheses beside any operator. A comparison would: comparisons cannot be
        chained."""
        random = self.random
        shape = random.random()
        if depth == 0 or shape < 0.4:
            simple = (self.known, self.known, lambda: number(random), lambda: _quoted(random))
            return random.choice(simple)() if random.random() < 0.9 else random.choice(("true", "false", "nil"))
        if shape < 0.65:
            return f"{random.choice((self.known(), name(random)))}({self.arguments(depth)})"
        if shape < 0.78:
            return f"{self.known()}[{self.expression(depth - 1)}]"
        if shape < 0.88:
            return f"[{self.arguments(depth)}]"
        if shape < 0.95:
            return f"({self.expression(depth - 1)})"
        return random.choice("-!") + self.operand(depth - 1)

    def arguments(self, depth: int) -> str:
        return ", ".join(self.expression(depth - 1) for _ in range(self.random.randrange(4)))

    def type(self) -> str:
        inner = self.random.choice(("int", "float", "string", "bool", self.random.choice(NOUNS).capitalize()))
        return f"[{inner}]" if self.random.random() < 0.2 else inner

    def comment(self, indent: str) -> str:
        random = self.random
        if random.random() < 0.75:
            return f"{indent}// {sentence(random, random.randrange(2, 12))}\n"
        return f"{indent}/* {sentence(random, 6)}\n{indent} * {sentence(random, 8)} */\n"

    def block(self, indent: str, depth: int) -> str:
        body = "".join(self.statement(indent + "    ", depth - 1) for _ in range(self.random.randrange(1, 5)))
        return f"{{\n{body}{indent}}}"

    def statement(self, indent: str, depth: int) -> str:
        random = self.random
        lead = self.comment(indent) if random.random() < 0.2 else ""
        if random.random() < 0.1:
            lead = "\n" + lead
        shape = random.random() if depth > 0 else random.random() * 0.55
        if shape < 0.2:
            type_part = f": {self.type()}" if random.random() < 0.4 else ""
            value = self.expression(2)
            text = f"let {self.new()}{type_part} = {value};"
        elif shape < 0.32:
            target = self.known() + (f"[{self.expression(1)}]" if random.random() < 0.3 else "")
            text = f"{target} = {self.expression(3)};"
        elif shape < 0.47:
            text = f"{random.choice(VERBS)}_{random.choice(NOUNS)}({self.arguments(3)});"
        elif shape < 0.55:
            text = f"return {self.expression(3)};" if random.random() < 0.8 else "return;"
        elif shape < 0.77:
            text = f"if {self.expression(2)} {self.block(indent, depth)}"
            if random.random() < 0.3:
                text += f" else if {self.expression(2)} {self.block(indent, depth)}"
            if random.random() < 0.5:
                text += f" else {self.block(indent, depth)}"
        elif shape < 0.9:
            text = f"for {self.new()} in {self.expression(2)} {self.block(indent, depth)}"
        else:
            text = f"while {self.expression(2)} {self.block(indent, depth)}"
        return f"{lead}{indent}{text}\n"

    def function(self) -> str:
        random = self.random
        parameters = ", ".join(
            self.new() + (f": {self.type()}" if random.random() < 0.6 else "") for _ in range(random.randrange(4))
        )
        result = f": {self.type()}" if random.random() < 0.5 else ""
        lead = self.comment("") if random.random() < 0.6 else ""
        return f"{lead}fn {random.choice(VERBS)}_{random.choice(NOUNS)}({parameters}){result} {self.block('', 3)}\n\n"


def _language_text(random: Random, size: int) -> str:
    parts: list[str] = []
    while sum(map(len, parts)) < size:
        program = _Program(random)
        parts += [program.statement("", 0), program.function()]
    return "".join(parts)


# -- SQL ------------------------------------------------------------------------


class _Query:
    """SELECT statements over made-up tables, with all keywords in the same case."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.tables = random.sample([noun for noun in NOUNS if noun.upper() not in SQL_KEYWORDS], 6)
        self.columns = [name(random) for _ in range(14)] + ["id", "name", "created_at", "price"]

    def column(self) -> str:
        random = self.random
        column = random.choice(self.columns)
        if random.random() < 0.05:
            return f'"{random.choice(NOUNS).capitalize()} {random.choice(NOUNS)}"'
        return f"{random.choice(self.tables)[0]}.{column}" if random.random() < 0.4 else column

    def literal(self) -> str:
        random = self.random
        text = random.choice(
            (
                date(random),
                random.choice(NOUNS),
                sentence(random, 3),
                f"{random.choice(LAST_NAMES)}''s",
                random.choice(FOREIGN),
            )
        )
        return random.choice((number(random), number(random), f"'{text}'", f"'{text}'", "NULL"))

    def value(self, depth: int) -> str:
        random = self.random
        shape = random.random()
        if depth == 0 or shape < 0.5:
            return self.column() if random.random() < 0.7 else self.literal()
        if shape < 0.7:
            function = random.choice(["COUNT", "SUM", "AVG", "MIN", "MAX", "COALESCE", "LOWER", "ROUND", "LENGTH"])
            if function == "COUNT" and random.random() < 0.5:
                return "COUNT(*)"
            distinct = "DISTINCT " if function == "COUNT" and random.random() < 0.5 else ""
            return f"{function}({distinct}{self.value(depth - 1)})"
        if shape < 0.85:
            return f"{self.value(depth - 1)} {random.choice(('+', '-', '*', '/', '||'))} {self.value(depth - 1)}"
        if shape < 0.93:
            return f"CASE WHEN {self.condition(depth - 1)} THEN {self.literal()} ELSE {self.value(depth - 1)} END"
        return f"({self.value(depth - 1)})"

    def condition(self, depth: int) -> str:
        random = self.random
        shape = random.random()
        if depth > 0 and shape < 0.3:
            return f"{self.condition(depth - 1)} {random.choice(('AND', 'AND', 'OR'))} {self.condition(depth - 1)}"
        if depth > 0 and shape < 0.36:
            return f"NOT ({self.condition(depth - 1)})"
        if depth > 0 and shape < 0.44:
            return f"{self.column()} IN ({self.select(depth - 1)})"
        if depth > 0 and shape < 0.5:
            return f"EXISTS ({self.select(depth - 1)})"
        if shape < 0.58:
            return f"{self.column()} IN ({', '.join(self.literal() for _ in range(random.randrange(1, 6)))})"
        if shape < 0.66:
            return f"{self.column()} BETWEEN {self.literal()} AND {self.literal()}"
        if shape < 0.74:
            return f"{self.column()} {random.choice(('LIKE', 'NOT LIKE'))} '%{random.choice(NOUNS)}_'"
        if shape < 0.82:
            return f"{self.column()} IS {random.choice(('NULL', 'NOT NULL'))}"
        return f"{self.value(1)} {random.choice(['=', '<>', '!=', '<', '<=', '>', '>='])} {self.value(1)}"

    def source(self, depth: int) -> str:
        random = self.random
        table = random.choice(self.tables)
        if depth > 0 and random.random() < 0.12:
            return f"({self.select(depth - 1)}) AS {table[0]}"
        schema = "public." if random.random() < 0.1 else ""
        return f"{schema}{table}" + (f" AS {table[0]}" if random.random() < 0.6 else "")

    def select(self, depth: int) -> str:
        random = self.random
        columns = [
            self.value(2) + (f" AS {name(random)}" if random.random() < 0.35 else "")
            for _ in range(random.randrange(1, 6))
        ]
        distinct = "DISTINCT " if random.random() < 0.1 else ""
        listed = "*" if random.random() < 0.1 else ", ".join(columns)
        clauses = [f"SELECT {distinct}{listed}", f"FROM {self.source(depth)}"]
        for _ in range(random.choice((0, 0, 1, 1, 2))):
            kind = random.choice(("JOIN", "INNER JOIN", "LEFT JOIN", "LEFT OUTER JOIN"))
            clauses.append(f"{kind} {self.source(depth)} ON {self.column()} = {self.column()}")
        if random.random() < 0.7:
            clauses.append(f"WHERE {self.condition(depth)}")
        if random.random() < 0.35:
            clauses.append(f"GROUP BY {', '.join(self.column() for _ in range(random.randrange(1, 4)))}")
            if random.random() < 0.4:
                clauses.append(f"HAVING {self.condition(1)}")
        return random.choice((" ", "\n", "\n  ")).join(clauses)

    def query(self) -> str:
        random = self.random
        text = self.select(2)
        if random.random() < 0.12:
            text += f"\n{random.choice(('UNION', 'UNION ALL', 'EXCEPT'))}\n{self.select(1)}"
        if random.random() < 0.5:
            text += f"\nORDER BY {self.column()} {random.choice(('ASC', 'DESC'))}"
        if random.random() < 0.4:
            text += f"\nLIMIT {random.randrange(1, 500)}" + (
                f" OFFSET {random.randrange(100)}" if random.random() < 0.3 else ""
            )
        lead = f"-- {sentence(random, random.randrange(3, 10))}\n" if random.random() < 0.4 else ""
        return f"{lead}{text};\n\n"


def _sql_text(random: Random, size: int) -> str:
    parts: list[str] = []
    while sum(map(len, parts)) < size:
        text = _Query(random).query()
        if random.random() < 0.3:
            text = " ".join(word.lower() if word in SQL_KEYWORDS else word for word in text.split(" "))
        parts.append(text)
    return "".join(parts).rstrip("\n")


GENERATORS: dict[str, Callable[[Random, int], str]] = {
    "json": _json_text,
    "language": _language_text,
    "sql": _sql_text,
}
