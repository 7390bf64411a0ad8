"""Write long JSON texts in pieces. The writer of the standard library holds the interpreter's lock until the end.

Values that are short are written by the standard library, so the text is that of `json.dumps`. Names of an object that
holds what JSON does not have, somewhere within, are written with ASCII alone: version 0.1 did so, and a pickled grammar
is known by its text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import islice
from typing import Any

from ...earley._meter import keep, tick
from ..loading import PIECE, pieces

TOGETHER = 64
"""So many items of a long list are tried together."""

Number = Callable[[Decimal], str]


class Parts:
    """The text of a value in parts: strings, the parts of values within, and pieces of names.

    is_plain: whether JSON has all that has been met so far, in the value and within.
    """

    __slots__ = ("is_plain", "parts")

    def __init__(self, value: Any, number: Number) -> None:
        self.is_plain = True
        self.parts = self.value(value, number)

    def value(self, value: Any, number: Number) -> Iterator[str | Parts | Name]:
        whole = _short(value)
        if whole is not None:
            yield whole
        elif isinstance(value, str):
            yield '"'
            for piece in pieces(value):
                yield _text(piece)[1:-1]
            yield '"'
        elif isinstance(value, dict):
            yield from self.members(value, number)
        elif isinstance(value, list):
            yield from self.items(value, number)
        else:
            self.is_plain = False
            yield number(value) if isinstance(value, Decimal) and value.is_finite() else "null"

    def members(self, value: dict[Any, Any], number: Number) -> Iterator[str | Parts | Name]:
        left = iter(value.items())
        comma = "{"
        while some := dict(islice(left, TOGETHER)):
            whole = _short(some) if all([isinstance(name, str) and is_plain(name) for name in some]) else None
            if whole is not None:
                yield comma + whole[1:-1]
                comma = ", "
                continue
            for name, member in some.items():
                yield f'{comma}"'
                comma = ", "
                for piece in pieces(name if isinstance(name, str) else _name(name)):
                    yield Name(piece)
                yield '": '
                yield _short(member) or Parts(member, number)
        yield "}"

    def items(self, value: list[Any], number: Number) -> Iterator[str | Parts | Name]:
        left = iter(value)
        comma = "["
        while some := list(islice(left, TOGETHER)):
            whole = _short(some)
            if whole is not None:
                yield comma + whole[1:-1]
                comma = ", "
                continue
            for item in some:
                yield comma
                comma = ", "
                yield _short(item) or Parts(item, number)
        yield "]"


class Name(str):
    """A piece of a name."""

    __slots__ = ()


def dumps(value: Any, number: Number) -> str:
    """Return the JSON text of a value of dicts, lists and other objects. `number` spells a Decimal.

    null stands for what JSON does not have (infinities, sets), and for integers too long for Python to write them.
    """
    short = _short(value)
    if short is not None:
        return short
    found: list[str] = []
    names: list[tuple[int, Parts, Name]] = []  # pieces that are not ASCII: their places in `found`, and the objects
    stack = [Parts(value, number)]
    keep(found)
    keep(names)
    keep(stack)
    while stack:
        tick()
        top = stack[-1]
        part = next(top.parts, None)
        if part is None:
            stack.pop()
            if stack:
                stack[-1].is_plain &= top.is_plain
        elif isinstance(part, Parts):
            stack.append(part)
        elif isinstance(part, Name):
            if not is_plain(part):
                names.append((len(found), top, part))
            found.append(_text(part)[1:-1])
        else:
            found.append(part)
    for place, whole, piece in names:
        if not whole.is_plain:
            found[place] = json.dumps(piece)[1:-1]
    return "".join(found)


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _name(key: Any) -> str:
    """Return the name of a member whose key is no text: numbers, booleans and null as `json` writes them."""
    try:
        name: str = next(iter(json.loads(_text({key: 0}))))
    except (TypeError, ValueError):
        name = str(key)
    return name


def _short(value: Any) -> str | None:
    """Return the text of a short value; None for others, and for those that `json` does not write."""
    left = PIECE
    met = [value]
    while met:
        one = met.pop()
        left -= len(one) if isinstance(one, str) else 1
        if isinstance(one, (dict, list)):
            if len(one) > left:
                return None
            met += one
            if isinstance(one, dict):
                met += one.values()
        if left < 0:
            return None
    try:
        return _text(value)
    except (TypeError, ValueError):
        return None


def is_plain(text: str) -> bool:
    """Whether `json.dumps` writes the text in the same way whether it escapes what is not ASCII or not: it escapes DEL,
    too."""
    return text.isascii() and "\x7f" not in text
