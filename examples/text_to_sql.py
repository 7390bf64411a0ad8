"""Turn questions into SQL over a real SQLite database.

    python -m examples.text_to_sql

The grammar of the queries is made from the schema of the database (`shop.py`): each column belongs to a table of the
query's FROM, and what is compared with a column has its type. So every answer that ends is a query that SQLite runs,
which this script does. It is right if its rows are those of the query that was meant.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

import earleymask

from . import shop
from .measuring import Attempt, Task, Write, main

Rows = list[tuple[object, ...]]
Filter = tuple[str, str, str]
"""What a question says, the column that it speaks of, and the test."""
ABOUT = {
    "orders": ("orders", "customers", "products"),
    "reviews": ("reviews", "customers", "products"),
    "customers": ("customers",),
    "products": ("products",),
}
"""What questions count, and the tables whose columns they may speak of."""
GROUPS = {
    "customers.city": "city",
    "customers.country": "country",
    "products.category": "category",
    "products.product": "product",
    "orders.status": "status",
    "reviews.stars": "number of stars",
}
MEASURES = {
    "orders": [("total quantity", "SUM", "orders.quantity"), ("largest quantity", "MAX", "orders.quantity")],
    "reviews": [("average stars", "AVG", "reviews.stars"), ("fewest stars", "MIN", "reviews.stars")],
    "products": [("average price", "AVG", "products.price"), ("highest price", "MAX", "products.price")],
}
LISTED = {
    "customers": [("names", "customers.name"), ("cities", "customers.city")],
    "products": [("names", "products.product"), ("prices", "products.price")],
    "orders": [("days", "orders.day"), ("quantities", "orders.quantity")],
    "reviews": [("stars", "reviews.stars")],
}


@dataclass(frozen=True)
class Question:
    text: str
    query: str


def filters(rng: random.Random, table: str) -> list[Filter]:
    """Return what a question may say of a table."""
    city, country = rng.choice(list(shop.CITIES)), rng.choice(sorted(set(shop.CITIES.values())))
    name = f"{rng.choice(shop.FIRST)} {rng.choice(shop.LAST)}"
    category = rng.choice(list(shop.PRODUCTS))
    product = rng.choice(shop.PRODUCTS[category])
    price, quantity, stars, status = (
        rng.randint(10, 190),
        rng.randint(2, 8),
        rng.randint(1, 5),
        rng.choice(shop.STATUSES),
    )
    day = f"2025-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
    return {
        "customers": [
            (f"from {city}", "customers.city", f"= '{city}'"),
            (f"from {country}", "customers.country", f"= '{country}'"),
            (f"named {name}", "customers.name", f"= '{name}'"),
        ],
        "products": [
            (f"for the {category}", "products.category", f"= '{category}'"),
            (f"called {product}", "products.product", f"= '{product}'"),
            (f"dearer than {price}", "products.price", f"> {price}"),
            (f"cheaper than {price}", "products.price", f"< {price}"),
        ],
        "orders": [
            (f"that are {status}", "orders.status", f"= '{status}'"),
            (f"since {day}", "orders.day", f">= '{day}'"),
            (f"of at least {quantity} pieces", "orders.quantity", f">= {quantity}"),
        ],
        "reviews": [
            (f"with {stars} stars", "reviews.stars", f"= {stars}"),
            (f"with fewer than {stars} stars", "reviews.stars", f"< {stars}"),
        ],
    }[table]


def question(rng: random.Random, schema: shop.Schema) -> Question:
    """Make a question and the query that is meant."""
    about = rng.choice(list(ABOUT))
    kind = rng.choice(("count", "measure", "list", "by", "top"))
    said = [rng.choice(filters(rng, table)) for table in ABOUT[about]]
    chosen = sorted(rng.sample(said, rng.randint(0, min(2, len(said)))), key=said.index)
    where = " ".join(_of(about, text, column) for text, column, _ in chosen)
    tests = [(column, test) for _, column, test in chosen]
    if kind == "measure" and about in MEASURES:
        name, function, column = rng.choice(MEASURES[about])
        return _made(schema, f"the {name} of {about} {where}", about, tests, [f"{function}({column})"])
    if kind == "list":
        name, column = rng.choice(LISTED[about])
        return _made(schema, f"the {name} of {about} {where}", about, tests, [column])
    if kind == "by":
        group = rng.choice([column for column in GROUPS if column.split(".")[0] in ABOUT[about]])
        text = f"how many {about} {where} by {GROUPS[group]}"
        return _made(schema, text, about, tests, [group, "COUNT(*)"], f" GROUP BY {group}")
    if kind == "top" and about == "products":
        n = rng.randint(2, 9)
        text, descending = rng.choice(((f"the {n} dearest products", " DESC"), (f"the {n} cheapest products", "")))
        end = f" ORDER BY products.price{descending} LIMIT {n}"
        return _made(schema, f"{text} {where}", about, tests, ["products.product"], end)
    return _made(schema, f"how many {about} {where}", about, tests, ["COUNT(*)"])


def _of(about: str, text: str, column: str) -> str:
    """Say of which table a filter speaks, if it is not the one that is asked for."""
    table = column.split(".")[0]
    return text if table == about else f"of {table} {text}"


def _made(
    schema: shop.Schema, text: str, about: str, tests: Sequence[tuple[str, str]], columns: Sequence[str], end: str = ""
) -> Question:
    named = {column.split(".")[0] for column in [*columns, *[column for column, _ in tests]] if "(" not in column}
    join = schema.join(sorted({about} | named))
    assert join is not None
    query = f"SELECT {', '.join(columns)} FROM {join.text}"
    if tests:
        query += " WHERE " + " AND ".join(f"{column} {test}" for column, test in tests)
    query += end
    if len(join.tables) == 1:
        query = query.replace(f"{about}.", "")
    return Question(" ".join(text.split()) + "?", query)


def questions(rng: random.Random, connection: sqlite3.Connection, n: int) -> list[Question]:
    """Make `n` different questions whose answer is not empty: a wrong query easily finds nothing, too."""
    schema = shop.Schema(connection)
    found: dict[str, Question] = {}
    while len(found) < n:
        made = question(rng, schema)
        if made.text not in found and rows(connection, made.query) not in ([], [(0,)], [(None,)]):
            found[made.text] = made
    return list(found.values())


def rows(connection: sqlite3.Connection, query: str) -> Rows | None:
    """Run a query. Return its rows, sorted if the query does not sort them; None if SQLite refuses it, or if it is no
    query, as an empty text."""
    try:
        cursor = connection.execute(query)
        found = cursor.fetchall()
    except (sqlite3.Error, sqlite3.Warning, ValueError):
        return None
    if cursor.description is None:
        return None
    return found if " ORDER BY " in query else sorted(found, key=repr)


def task(n_train: int, n_held_out: int, seed: int) -> Task[Question]:
    """Make the database and the questions, and describe the task."""
    connection = shop.database(seed)
    text = shop.grammar_text(shop.Schema(connection))
    made = questions(random.Random(seed), connection, n_train + n_held_out)

    def attempt(write: Write, asked: Question) -> Attempt:
        answer = write([asked.text])
        found = rows(connection, answer.text.decode(errors="replace"))
        return Attempt([answer], [found is not None], found is not None and found == rows(connection, asked.query))

    return Task(
        "text_to_sql",
        "Text to SQL",
        [(each.text, each.query) for each in made[n_held_out:]],
        made[:n_held_out],
        lambda _: earleymask.Grammar.from_lark(text),
        attempt,
        max_tokens=96,
        steps=500,
    )


if __name__ == "__main__":
    main(task)
