"""What the grammar of a schema has against a document that the schema allows: the way in which it is written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from ._check import match
from .earley import Matcher
from .grammar import Grammar, GrammarError
from .grammar.schema_report import NARROWED, WIDENED, Row
from .grammar.schema_sources import RepeatedKeyError, object_of, second_place
from .trie import Vocabulary

MAX_PLAIN = 400
"""Digits of a number that is written without an exponent."""
MAX_LOOKED = 50
"""Numbers of which it is found out whether their spelling matters."""
MAX_ROWS = 3

ORDER, SPACE, NUMBERS = "order of keys", "white space", "spelling of numbers"

_PART = re.compile(r'"(?:[^"\\]|\\.)*"|-?[0-9][-+.0-9eE]*|[a-z]+|[\]\[{},:]|[ \t\n\r]+')


class Narrowings(NamedTuple):
    """kinds: what about the writing of a document is narrowed. rows: those of the report that say so."""

    kinds: tuple[str, ...]
    rows: tuple[Row, ...]


class Part(NamedTuple):
    """A lexeme of a JSON text. keys: the names of the members that it is within, outermost first."""

    text: str
    keys: tuple[str, ...]


def repeated_key(text: str) -> tuple[str, int] | None:
    """A key that an object of a JSON text has twice, and where the second one begins; None without any."""
    try:
        json.loads(text, object_pairs_hook=object_of)
    except RepeatedKeyError as error:
        return error.key, second_place(text, error.key)
    except (ValueError, RecursionError):
        pass
    return None


def narrowings_of(grammar: Grammar, schema: str, text: str) -> Narrowings | None:
    """What is narrowed of a document that the grammar of a schema does not have; None where the schema does not allow
    the document, however it is written."""
    try:
        json.loads(text, parse_float=Decimal)
    except (ValueError, ArithmeticError, RecursionError):
        return None
    parts = list(parts_of(text))
    plain = [part._replace(text=_plain(part.text)) for part in parts]
    strict = not any(row.status == WIDENED for row in grammar.report)
    try:
        free = Grammar.from_json_schema(schema, property_order="any", strict=strict)
        if not _has(free, _compact(plain)):
            return None
    except GrammarError:
        return None
    in_order = _has(grammar, _compact(plain))
    base = grammar if in_order else free
    kinds = [] if in_order else [ORDER]
    if not _has(base, "".join([part.text for part in plain])):
        kinds.append(SPACE)
    rows = [row for row in grammar.report if row.status == NARROWED]
    found = [row for row in rows if row.why.startswith("property_order=")] if not in_order else []
    if SPACE in kinds:
        found += [row for row in rows if row.why.startswith("whitespace=")]
    if not _has(base, _compact(parts)):
        kinds.append(NUMBERS)
        about = [row for row in rows if "exponent" in row.why]
        keys = _keys_of_a_number(base, parts, plain)
        near = [row for row in about if keys and f"/{keys[-1]}/" in row.pointer]
        found += (near or about)[:MAX_ROWS]
    return Narrowings(tuple(kinds), tuple(found)) if kinds else None


def parts_of(text: str) -> Iterator[Part]:
    """The lexemes of a JSON text, white space among them."""
    keys: list[str] = []
    open_: list[bool] = []  # for each object and array: whether a key has been put on `keys`
    last = ""
    for lexeme in _PART.findall(text):
        if lexeme == ":" and open_:
            if open_[-1]:
                keys.pop()
            open_[-1] = True
            keys.append(json.loads(last))
        elif lexeme in ("{", "["):
            open_.append(False)
        elif lexeme in ("}", "]") and open_ and open_.pop():
            keys.pop()
        yield Part(lexeme, tuple(keys))
        if not lexeme.isspace():
            last = lexeme


def _plain(lexeme: str) -> str:
    """A number without an exponent, and an integer without a fraction; other lexemes as they are."""
    if not (lexeme[0] == "-" or lexeme[0].isdigit()):
        return lexeme
    number = Decimal(lexeme)
    if not number:
        return "0"
    _, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int) or abs(exponent) + len(digits) > MAX_PLAIN:
        return lexeme
    written = f"{number:f}"
    return written.rstrip("0").rstrip(".") if "." in written else written


def _keys_of_a_number(grammar: Grammar, parts: list[Part], plain: list[Part]) -> tuple[str, ...]:
    """Where the first number stands whose spelling alone matters."""
    n_looked = 0
    for index, part in enumerate(parts):
        if part.text != plain[index].text and n_looked < MAX_LOOKED:
            n_looked += 1
            if not _has(grammar, _compact([*plain[:index], part, *plain[index + 1 :]])):
                return part.keys
    return ()


def _compact(parts: list[Part]) -> str:
    return "".join([part.text for part in parts if not part.text.isspace()])


def _has(grammar: Grammar, text: str) -> bool:
    matcher = Matcher(grammar, Vocabulary.bytes())
    data = text.encode("utf-8", "surrogatepass")
    return match(matcher, data) == len(data) and matcher.is_accepting()
