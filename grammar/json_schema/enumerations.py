"""Long enumerations of arrays and objects: one terminal for all of them, as for strings.

A shape for each of 30,000 objects, with a term for each member and a symbol for each place between them, takes seconds
and hundreds of megabytes. But a constant has one spelling, except for the white space around its marks. So the texts of
an enumeration, with a byte in place of each mark, are a sorted list, of which the parser only follows a range
(`Regexes.marked`).

Constants with several spellings, such as strings with escapes or numbers with a fraction, take the usual way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...earley._meter import tick
from ..json.strings import is_dumped_as_it_is
from ..loading import in_order
from .keywords import SAYS_NOTHING

if TYPE_CHECKING:
    from ..json.strings import Own
    from .terms import Meaning

MIN_LISTED = 64
"""The fewest arrays and objects of an enumeration that become one terminal. Fewer have symbols of their own, which
explanations can name."""
MAX_INTEGER = 10**15
"""Integers from here on may have several spellings; constants with one take the usual way."""
MARKS = ("{", "}", "[", "]", "empty }", "empty ]", ",", "colon")
"""The marks, by the byte that stands for each. JSON's strings have no such bytes."""

_OPEN, _CLOSE, _BEGIN, _END, _EMPTY_OBJECT, _EMPTY_ARRAY, _COMMA, _COLON = map(chr, range(len(MARKS)))
_WORDS = {None: "null", True: "true", False: "false"}


def constants_of(algebra: Meaning, term: int) -> list[Any] | None:
    """Return the values of a place that is nothing but a long enumeration with arrays or objects; otherwise None."""
    place = algebra.place_of(term)
    if place is None or type(place.schema) is not dict:
        return None
    values = place.schema.get("enum")
    if type(values) is not list or len(values) < MIN_LISTED or "enum" not in algebra.keywords(place):
        return None
    if not algebra.keywords(place).keys() <= SAYS_NOTHING | {"enum"}:
        return None
    n_structured = 0
    for value in values:
        if type(value) is dict or type(value) is list:
            n_structured += 1
            if n_structured == MIN_LISTED:
                return values
    return None


def spelled_values(values: list[Any], own: Own, any_order: bool) -> tuple[list[bytes], list[Any]]:
    """Return the arrays and objects that have one spelling, as sorted texts with a byte for each mark, and all other
    values.

    own: the schema's own spellings of strings. any_order: the keys of an object may have any order.
    """
    texts: set[str] = set()
    others: list[Any] = []
    for value in values:
        tick()
        pieces: list[str] = []
        if type(value) in (dict, list) and _spell(value, own, any_order, pieces):
            texts.add("".join(pieces))
        else:
            others.append(value)
    return in_order([text.encode() for text in texts]), others


def _spell(value: Any, own: Own, any_order: bool, pieces: list[str]) -> bool:
    """Add the spelling of a value to `pieces`. Return whether it is the only one."""
    kind = type(value)
    if kind is str:
        if not is_dumped_as_it_is(value, own):
            return False
        pieces += ('"', value, '"')
    elif kind is int:
        if not -MAX_INTEGER < value < MAX_INTEGER:
            return False
        pieces.append(str(value))
    elif value is None or kind is bool:
        pieces.append(_WORDS[value])
    elif kind is list:
        tick()
        before = _BEGIN
        for item in value:
            pieces.append(before)
            if not _spell(item, own, any_order, pieces):
                return False
            before = _COMMA
        pieces.append(_END if value else _BEGIN + _EMPTY_ARRAY)
    elif kind is dict:
        tick()
        if any_order and len(value) > 1:
            return False
        before = _OPEN
        for name, member in value.items():
            if not is_dumped_as_it_is(name, own):
                return False
            pieces += (before, '"', name, '"', _COLON)
            if not _spell(member, own, any_order, pieces):
                return False
            before = _COMMA
        pieces.append(_CLOSE if value else _OPEN + _EMPTY_OBJECT)
    else:
        return False
    return True
