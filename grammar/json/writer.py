"""Write long JSON texts in pieces. The writer of the standard library holds the interpreter's lock until the end.

Values that are short are written by the standard library, so the text is that of `json.dumps`.
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


def dumps(value: Any, number: Callable[[Decimal], str]) -> str:
    """Return the JSON text of a value. `number` spells a Decimal.

    null stands for what JSON does not have (infinities, sets), and for integers too long for Python to write them.
    """
    found: list[str] = []
    stack = [_parts(value, number)]
    keep(found)
    keep(stack)
    while stack:
        tick()
        part = next(stack[-1], None)
        if part is None:
            stack.pop()
        elif isinstance(part, str):
            found.append(part)
        else:
            stack.append(part)
    return "".join(found)


def _parts(value: Any, number: Callable[[Decimal], str]) -> Iterator[str | Iterator[Any]]:
    """Yield the text of a value in parts: strings, and for each long value in it the iterator that yields its parts."""
    whole = _short(value)
    if whole is not None:
        yield whole
    elif isinstance(value, str):
        yield '"'
        for piece in pieces(value):
            yield _text(piece)[1:-1]
        yield '"'
    elif isinstance(value, dict):
        yield "{"
        yield from _items(iter(value.items()), dict, _member, number)
        yield "}"
    elif isinstance(value, (list, tuple)):
        yield "["
        yield from _items(iter(value), list, _parts, number)
        yield "]"
    elif isinstance(value, Decimal) and value.is_finite():
        yield number(value)
    else:
        yield "null"


def _items(items: Iterator[Any], kind: Callable[[Any], Any], one: Any, number: Any) -> Iterator[str | Iterator[Any]]:
    """Yield the text between the brackets of a list or a dict. Items that are short together are written together."""
    before = ""
    while some := list(islice(items, TOGETHER)):
        whole = _short(kind(some))
        if whole is not None:
            yield before + whole[1:-1]
            before = ", "
            continue
        for item in some:
            yield before
            yield one(item, number)
            before = ", "


def _member(member: tuple[Any, Any], number: Callable[[Decimal], str]) -> Iterator[str | Iterator[Any]]:
    name, value = member
    yield _parts(name, number) if isinstance(name, str) else _text({name: 0})[1:-4]
    yield ": "
    yield _parts(value, number)


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _short(value: Any) -> str | None:
    """Return the text of a short value; None for others, and for those that `json` does not write."""
    left = PIECE
    met = [value]
    while met:
        one = met.pop()
        left -= len(one) if isinstance(one, str) else 1
        if isinstance(one, (dict, list, tuple)):
            if len(one) > left:
                return None
            if isinstance(one, dict):
                met += one
                met += one.values()
            else:
                met += one
        if left < 0:
            return None
    try:
        return _text(value)
    except (TypeError, ValueError):
        return None
