"""A small shop as a SQLite database, questions about it, and the grammar of the queries that it can answer.

The grammar is made from what the database says of itself: its tables, columns and foreign keys, and the values of
columns that have few. For each way to join up to three tables there is a set of rules, and columns in these rules are
those of the joined tables. SQL names the columns before the tables, so after `SELECT customers.city, ` all joins that
have this table are still possible, and each further column leaves fewer. The parser follows them side by side.
"""

from __future__ import annotations

import datetime
import itertools
import random
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

CITIES = {
    "Oslo": "Norway",
    "Bergen": "Norway",
    "Lund": "Sweden",
    "Malmo": "Sweden",
    "Aarhus": "Denmark",
    "Odense": "Denmark",
    "Turku": "Finland",
    "Espoo": "Finland",
}
FIRST = ("Ada", "Bo", "Carl", "Dora", "Emil", "Fay", "Gus", "Hana", "Ida", "Jon")
LAST = ("Aas", "Berg", "Dahl", "Eide", "Foss", "Gran")
PRODUCTS = {
    "garden": ("bench", "spade", "hose", "lantern"),
    "kitchen": ("kettle", "pan", "bowl", "scale"),
    "office": ("desk", "lamp", "chair", "shelf"),
}
STATUSES = ("open", "paid", "sent", "returned")
FEW = 20
"""A text column with at most so many values is compared with these alone; others with any text."""

TABLES = """
    CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, city TEXT, country TEXT);
    CREATE TABLE products (id INTEGER PRIMARY KEY, product TEXT, category TEXT, price INTEGER);
    CREATE TABLE orders (
        id INTEGER PRIMARY KEY,
        customer_id INTEGER REFERENCES customers(id),
        product_id INTEGER REFERENCES products(id),
        quantity INTEGER, day DATE, status TEXT
    );
    CREATE TABLE reviews (
        id INTEGER PRIMARY KEY,
        customer_id INTEGER REFERENCES customers(id),
        product_id INTEGER REFERENCES products(id),
        stars INTEGER
    );
"""


def database(seed: int) -> sqlite3.Connection:
    """Make the shop in memory."""
    rng = random.Random(seed)
    connection = sqlite3.connect(":memory:")
    connection.executescript(TABLES)
    names = rng.sample([f"{first} {last}" for first in FIRST for last in LAST], 40)
    cities = [rng.choice(list(CITIES)) for _ in names]
    people = [(name, city, CITIES[city]) for name, city in zip(names, cities, strict=True)]
    connection.executemany("INSERT INTO customers (name, city, country) VALUES (?, ?, ?)", people)
    goods = [(name, category, rng.randint(5, 200)) for category, named in PRODUCTS.items() for name in named]
    connection.executemany("INSERT INTO products (product, category, price) VALUES (?, ?, ?)", goods)
    for _ in range(300):
        day = datetime.date(2025, 1, 1) + datetime.timedelta(days=rng.randrange(365))
        row = (rng.randint(1, 40), rng.randint(1, 12), rng.randint(1, 9), str(day), rng.choice(STATUSES))
        connection.execute("INSERT INTO orders VALUES (NULL, ?, ?, ?, ?, ?)", row)
        row_of_review = (rng.randint(1, 40), rng.randint(1, 12), rng.randint(1, 5))
        connection.execute("INSERT INTO reviews VALUES (NULL, ?, ?, ?)", row_of_review)
    connection.commit()
    connection.execute("PRAGMA query_only = ON")  # a model without a grammar may write anything
    return connection


@dataclass(frozen=True)
class Column:
    table: str
    name: str
    kind: str
    """As the table declares it: TEXT, INTEGER or DATE."""
    values: tuple[str, ...]
    """All values, of a text that has few."""

    def __str__(self) -> str:
        return f"{self.table}.{self.name}"


@dataclass(frozen=True)
class Join:
    """Tables that foreign keys connect."""

    tables: tuple[str, ...]
    text: str
    """As it stands after FROM."""


class Schema:
    """The tables, columns and joins of a database."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
        self.columns: dict[str, list[Column]] = {}
        self.keys: list[tuple[str, str, str]] = []
        """A table, the one that its foreign key refers to, and the condition under which their rows belong together."""
        for (table,) in found:
            self.columns[table] = [
                Column(table, name, kind, _values(connection, table, name) if kind == "TEXT" else ())
                for _, name, kind, *_ in connection.execute(f"PRAGMA table_info({table})")
                if name == "id" or not name.endswith("_id")
            ]
            for _, _, other, here, there, *_ in connection.execute(f"PRAGMA foreign_key_list({table})"):
                self.keys.append((table, other, f"{table}.{here} = {other}.{there}"))

    def join(self, tables: Sequence[str]) -> Join | None:
        """Return the join of some tables, each connected with one of those before it; None if there is none. Equal
        sets of tables give equal joins."""
        left = sorted(tables, key=lambda table: (-len([1 for here, _, _ in self.keys if here == table]), table))
        text, joined = left[0], [left.pop(0)]
        while left:
            for table in left:
                conditions = [on for here, there, on in self.keys for one in joined if {here, there} == {one, table}]
                if conditions:
                    text += f" JOIN {table} ON {conditions[0]}"
                    joined.append(table)
                    left.remove(table)
                    break
            else:
                return None
        return Join(tuple(joined), text)

    def joins(self) -> list[Join]:
        """Return all joins of up to three tables."""
        sets = [names for n in (1, 2, 3) for names in itertools.combinations(self.columns, n)]
        return [join for names in sets if (join := self.join(names)) is not None]


def _values(connection: sqlite3.Connection, table: str, column: str) -> tuple[str, ...]:
    found = [value for (value,) in connection.execute(f"SELECT DISTINCT {column} FROM {table} ORDER BY 1")]
    return tuple(found) if len(found) <= FEW else ()


COMMON = r"""
listing{column, tables, test}: "SELECT " "DISTINCT "? column (", " column)~0..2 from{tables, test} order{column}? limit?
total{column, number, tables, test}: "SELECT " aggregate{column, number} from{tables, test}
grouped{column, counted, tables, test}: \
    "SELECT " column ", " counted from{tables, test} " GROUP BY " column order{counted}? limit?

from{tables, test}: " FROM " tables (" WHERE " test (" AND " test)~0..2)?
aggregate{column, number}: "COUNT(*)" | "COUNT(DISTINCT " column ")" | ("SUM" | "AVG" | "MIN" | "MAX") "(" number ")"
order{what}: " ORDER BY " what " DESC"?
limit: " LIMIT " /[1-9][0-9]?/

equal{column, value}: column (" = " | " <> ") value
compared{column, value}: column (" = " | " < " | " > " | " <= " | " >= ") value
INTEGER: /[0-9]{1,6}/
DATE: /'20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])'/
TEXT: /'([^'\x00-\x1f]|''){0,40}'/
"""


def grammar_text(schema: Schema) -> str:
    """Return the Lark grammar of the queries. Every one of them runs: a test of each query says so.

    A column that is grouped by is the one that was selected: `grouped` is used once for each column.
    """
    lines = [COMMON]
    starts = []
    for columns in schema.columns.values():
        for column in columns:
            if column.values:
                lines.append(f"{_values_of(column)}: " + " | ".join(f"\"'{value}'\"" for value in column.values))
    for join in schema.joins():
        name = "_".join(join.tables)
        columns = [column for table in join.tables for column in schema.columns[table]]
        # A single table needs no names before its columns, so we have none.
        written = {column: f'"{column if len(join.tables) > 1 else column.name}"' for column in columns}
        tests = []
        for column in columns:
            template = "compared" if column.kind in ("INTEGER", "DATE") else "equal"
            tests.append(f"{template}{{{written[column]}, {_values_of(column)}}}")
        lines += [
            f'{name}: "{join.text}"',
            f"{name}_column: " + " | ".join(written.values()),
            f"{name}_number: " + " | ".join(written[column] for column in columns if column.kind == "INTEGER"),
            f"{name}_test: " + " | ".join(tests),
            f"{name}_aggregate: aggregate{{{name}_column, {name}_number}}",
            f"{name}_query: listing{{{name}_column, {name}, {name}_test}}",
            f"    | total{{{name}_column, {name}_number, {name}, {name}_test}}",
        ]
        lines += [f"    | grouped{{{written[column]}, {name}_aggregate, {name}, {name}_test}}" for column in columns]
        starts.append(f"{name}_query")
    return "\n".join(["start: " + " | ".join(starts), *lines]) + "\n"


def _values_of(column: Column) -> str:
    """Return the terminal of what a column is compared with."""
    return f"{column.table}_{column.name}".upper() if column.values else column.kind
