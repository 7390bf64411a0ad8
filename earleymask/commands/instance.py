"""What the grammar of a schema has against a document that the schema allows: the way in which it is written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from ..earley import Matcher
from ..grammar import Grammar, GrammarError
from ..grammar.errors import ABOUT_NUMBERS, NARROWED, WIDENED, Reason, Row
from ..grammar.json.number_spellings import MAX_FIGURES
from ..grammar.json_schema.read import RepeatedKeyError, object_of, second_place
from ..trie import Vocabulary
from .shared import match

MAX_PLAIN = 400
"""Digits of a number that is written without an exponent."""
MAX_LOOKED = 50
"""Numbers of which it is found out whether their spelling matters."""
MAX_ROWS = 3

ORDER, SPACE, NUMBERS = "order of keys", "white space", "spelling of numbers"

_RESERVED_LABEL = re.compile(r"(?:^|\.)[^.]{2}--")  # of a host name, such as those that begin with xn--
_PART = re.compile(r'"(?:[^"\\]|\\.)*"|-?[0-9][-+.0-9eE]*|[a-z]+|[\]\[{},:]|[ \t\n\r]+')


class Narrowings(NamedTuple):
    """kinds: what about the writing of a document is narrowed; empty where it is not known whether it is valid at all.
    rows: those of the report that say so, or that may be what keeps it from being written."""

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
        json.loads(text, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return None
    parts = list(parts_of(text))
    keep_point = "draft-04" in schema  # where 1.0 is no integer
    plain = [part._replace(text=_plain(part.text, keep_point)) for part in parts]
    strict = not any(row.status == WIDENED for row in grammar.report)
    doubts: tuple[Row, ...] = ()
    try:
        free = Grammar.from_json_schema(schema, property_order="any", strict=strict)
    except GrammarError:  # a limit, which other orders do not meet
        free = grammar
        doubts = tuple([row for row in grammar.report if row.reason is Reason.PROPERTY_ORDER])
    if not _has(free, _compact(plain)):
        doubts += _doubts(grammar, parts, plain)
        return Narrowings((), doubts) if doubts else None
    in_order = _has(grammar, _compact(plain))
    base = grammar if in_order else free
    kinds = [] if in_order else [ORDER]
    if not _has(base, "".join([part.text for part in plain])):
        kinds.append(SPACE)
    rows = [row for row in grammar.report if row.status == NARROWED]
    found = [row for row in rows if row.reason is Reason.PROPERTY_ORDER] if not in_order else []
    if SPACE in kinds:
        found += [row for row in rows if row.reason is Reason.WHITESPACE]
    if not _has(base, _compact(parts)):
        kinds.append(NUMBERS)
        about = [row for row in rows if row.reason in ABOUT_NUMBERS]
        found += _near(about, _keys_of_a_number(base, parts, plain))
    return Narrowings(tuple(kinds), tuple(found)) if kinds else None


def _doubts(grammar: Grammar, parts: list[Part], plain: list[Part]) -> tuple[Row, ...]:
    """The rows of the report that may be what alone keeps a document from being written."""
    narrowed = [row for row in grammar.report if row.status == NARROWED]
    found: list[Row] = []
    for part, number in zip(parts, plain, strict=True):
        about: list[Row] = []
        if part.text[0] == '"':
            value = json.loads(part.text)
            if any("\ud800" <= char <= "\udfff" for char in value):
                about += [row for row in narrowed if row.reason is Reason.SURROGATES]
            if _RESERVED_LABEL.search(value):
                about += [row for row in narrowed if row.reason is Reason.FORMAT]
        elif _is_number(part.text):
            if "e" in number.text.lower():
                about += [row for row in narrowed if row.reason in ABOUT_NUMBERS]
            elif len(number.text) > MAX_FIGURES or number.text.endswith(".0"):
                about += [row for row in narrowed if row.reason is Reason.DIFFERING_NUMBERS]
        found += _near(about, part.keys)
    return tuple(dict.fromkeys(found))[:MAX_ROWS]


def _near(rows: list[Row], keys: tuple[str, ...]) -> list[Row]:
    """Those of the rows that are about the member with these keys, if some are; not more than a few."""
    near = [row for row in rows if keys and f"/{keys[-1]}/" in row.pointer]
    return (near or rows)[:MAX_ROWS]


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


def _is_number(lexeme: str) -> bool:
    return lexeme[0] == "-" or lexeme[0].isdigit()


def _plain(lexeme: str, keep_point: bool) -> str:
    """A number without an exponent, and an integer without a fraction, unless what is no integer as it is written must
    not become one; other lexemes as they are, and numbers that would have very many digits."""
    if not _is_number(lexeme):
        return lexeme
    try:
        number = Decimal(lexeme)
    except ArithmeticError:  # an exponent beyond all that is read
        return lexeme
    _, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int) or (number and abs(exponent) + len(digits) > MAX_PLAIN):
        return lexeme
    written = f"{number:f}" if number else "0"
    written = written.rstrip("0").rstrip(".") if "." in written else written
    return f"{written}.0" if keep_point and "." not in written and not lexeme.lstrip("-").isdigit() else written


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
