"""Why the grammar of a schema rejects a document that the schema allows: it allows some ways of writing it only.

A document may be written with its keys in any order, with any white space, and its strings and numbers in many
spellings. The grammar of a schema allows some of these ways; the report of the schema has a row for each restriction.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Literal, NamedTuple

from ..earley import Matcher
from ..grammar import Grammar, GrammarError
from ..grammar.errors import ABOUT_NUMBERS, ABOUT_STRINGS, NARROWED, WIDENED, Reason, Row
from ..grammar.json.number_parts import MAX_FIGURES
from ..grammar.json_schema.read import RepeatedKeyError, object_of, second_place
from ..trie import Vocabulary
from .shared import match

MAX_PLAIN = 400
"""The most digits of a number that is written without its exponent. A longer one keeps the exponent."""
MAX_TRIED = 50
"""The numbers that are tried in their own spelling, one by one, with all others plain, to find the first that the
grammar rejects. Each try matches the whole document."""
MAX_ROWS = 3
"""The most rows of the report that are shown for one reason."""

ORDER, SPACE = "order of keys", "white space"
STRINGS, NUMBERS = "spelling of strings", "spelling of numbers"

_A_LABEL = re.compile(r"(?:^|\.)xn--", re.IGNORECASE)  # in a host name; see `NARROWED` of grammar/json/formats.py
_PART = re.compile(r'"(?:[^"\\]|\\.)*"|-?[0-9][-+.0-9eE]*|[a-z]+|[\]\[{},:]|[ \t\n\r]+')


class Narrowings(NamedTuple):
    """Why a grammar rejects a document.

    kinds: what the grammar restricts in its writing; empty if it cannot be determined whether the document is valid.
    rows: the rows of the report that say so, or that may be the reason.
    """

    kinds: tuple[str, ...]
    rows: tuple[Row, ...]


class Part(NamedTuple):
    """A lexeme of a JSON text. keys: the keys of the members that contain it, outermost first."""

    text: str
    keys: tuple[str, ...]


def repeated_key(text: str) -> tuple[str, int] | None:
    """Return a key that an object has twice, and the place of the second one; None if there is no such key."""
    try:
        json.loads(text, object_pairs_hook=object_of)
    except RepeatedKeyError as error:
        return error.key, second_place(text, error.key)
    except (ValueError, RecursionError):
        pass
    return None


def narrowings_of(grammar: Grammar, schema: str, text: str) -> Narrowings | None:
    """Find out why the grammar of a schema rejects a document. Return None if the schema does not allow it at all."""
    try:
        json.loads(text, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return None
    parts = list(parts_of(text))
    keep_point = "draft-04" in schema  # where 1.0 is no integer
    plain = [part._replace(text=_plain(part.text, keep_point)) for part in parts]
    rows = [row for row in grammar.report if row.status == NARROWED]
    strict = not any(row.status == WIDENED for row in grammar.report)
    order: Literal["schema", "any"] = "schema" if any(row.reason is Reason.PROPERTY_ORDER for row in rows) else "any"
    in_order = Grammar.from_json_schema(schema, property_order=order, strict=strict, spellings="all")
    doubts: tuple[Row, ...] = ()
    try:
        free = Grammar.from_json_schema(schema, property_order="any", strict=strict, spellings="all")
    except GrammarError:  # a limit, which other orders do not meet
        free = in_order
        doubts = tuple([row for row in rows if row.reason is Reason.PROPERTY_ORDER])
    if not _has(free, _compact(plain)):
        doubts += _doubts(grammar, parts, plain)
        return Narrowings((), doubts) if doubts else None
    kinds: list[str] = []
    found: list[Row] = []
    base, every = grammar, in_order
    if not _has(in_order, _compact(plain)):
        kinds.append(ORDER)
        found += [row for row in rows if row.reason is Reason.PROPERTY_ORDER]
        base, every = Grammar.from_json_schema(schema, property_order="any", strict=strict), free
    has_numbers = _has(base, _compact(plain))
    if not has_numbers:
        base = every  # a number that the grammar has in no spelling: the other kinds are tried without that
    if not _has(base, "".join([part.text for part in plain])):
        kinds.append(SPACE)
        found += [row for row in rows if row.reason is Reason.WHITESPACE]
    written = [part if part.text[0] == '"' else number for part, number in zip(parts, plain, strict=True)]
    if not _has(base, _compact(written)):
        kinds.append(STRINGS)
        is_lone = any(part.text[0] == '"' and _has_lone(json.loads(part.text)) for part in parts)
        about = [row for row in rows if row.reason in ABOUT_STRINGS]
        found += [row for row in about if is_lone or row.reason is not Reason.LONE_SURROGATES]
    written = [string if part.text[0] == '"' else part for part, string in zip(parts, plain, strict=True)]
    if not has_numbers or not _has(base, _compact(written)):
        kinds.append(NUMBERS)
        about = [row for row in rows if row.reason in ABOUT_NUMBERS]
        found += _near(about, _keys_of_a_number(base, written, plain))
    return Narrowings(tuple(kinds), tuple(dict.fromkeys(found))) if kinds else None


def _doubts(grammar: Grammar, parts: list[Part], plain: list[Part]) -> tuple[Row, ...]:
    """Return the rows of the report that may be the only reason why the grammar rejects the document."""
    narrowed = [row for row in grammar.report if row.status == NARROWED]
    found: list[Row] = []
    for part, number in zip(parts, plain, strict=True):
        about: list[Row] = []
        if part.text[0] == '"':
            value = json.loads(part.text)
            if _has_lone(value):
                about += [row for row in narrowed if row.reason in (Reason.SURROGATES, Reason.LONE_SURROGATES)]
            if _A_LABEL.search(value):
                about += [row for row in narrowed if row.reason is Reason.FORMAT]
        elif _is_number(part.text):
            if "e" in number.text.lower():
                about += [row for row in narrowed if row.reason in ABOUT_NUMBERS]
            elif len(number.text) > MAX_FIGURES or number.text.endswith(".0"):
                about += [row for row in narrowed if row.reason is Reason.DIFFERING_NUMBERS]
        found += _near(about, part.keys)
    return tuple(dict.fromkeys(found))[:MAX_ROWS]


def _near(rows: list[Row], keys: tuple[str, ...]) -> list[Row]:
    """Return the rows about the member with these keys; if there is none, those about the whole document, or all. At
    most `MAX_ROWS`."""
    near = [row for row in rows if keys and f"/{keys[-1]}/" in row.pointer]
    return (near or [row for row in rows if not row.pointer] or rows)[:MAX_ROWS]


def parts_of(text: str) -> Iterator[Part]:
    """Cut a JSON text into lexemes; white space is one, too."""
    keys: list[str] = []
    open_: list[bool] = []  # one for each open object and array: whether its last key is on `keys`
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


def _has_lone(text: str) -> bool:
    """Whether a text has a lone surrogate."""
    return any("\ud800" <= char <= "\udfff" for char in text)


def _is_number(lexeme: str) -> bool:
    return lexeme[0] == "-" or lexeme[0].isdigit()


def _plain(lexeme: str, keep_point: bool) -> str:
    """Write a string as `json.dumps` does, a number without an exponent, and an integer without a fraction.

    With `keep_point`, 1.0 keeps its fraction, because 1 would be an integer. Other lexemes, and numbers that would
    have more digits than `MAX_PLAIN`, stay as they are.
    """
    if lexeme[0] == '"':
        plain = json.dumps(json.loads(lexeme), ensure_ascii=False)
        return lexeme if _has_lone(plain) else plain
    if not _is_number(lexeme):
        return lexeme
    try:
        number = Decimal(lexeme)
    except ArithmeticError:  # the exponent is beyond what Decimal reads
        return lexeme
    _, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int) or (number and abs(exponent) + len(digits) > MAX_PLAIN):
        return lexeme
    written = f"{number:f}" if number else "0"
    written = written.rstrip("0").rstrip(".") if "." in written else written
    return f"{written}.0" if keep_point and "." not in written and not lexeme.lstrip("-").isdigit() else written


def _keys_of_a_number(grammar: Grammar, parts: list[Part], plain: list[Part]) -> tuple[str, ...]:
    """Return the keys that lead to the first number that the grammar rejects for its spelling alone."""
    n_tried = 0
    for index, part in enumerate(parts):
        if part.text != plain[index].text and n_tried < MAX_TRIED:
            n_tried += 1
            if not _has(grammar, _compact([*plain[:index], part, *plain[index + 1 :]])):
                return part.keys
    return ()


def _compact(parts: list[Part]) -> str:
    return "".join([part.text for part in parts if not part.text.isspace()])


def _has(grammar: Grammar, text: str) -> bool:
    matcher = Matcher(grammar, Vocabulary.bytes())
    data = text.encode("utf-8", "surrogatepass")
    return match(matcher, data) == len(data) and matcher.is_accepting()
