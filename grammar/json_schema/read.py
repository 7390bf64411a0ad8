"""What users give as a schema, as JSON values: text, dicts, pydantic models, dataclasses.

Numbers of a text keep all their digits and their spelling: integers become int, all others a Decimal (`Spelled`). An
object that has a key twice is an error, because readers disagree about what that means. Dicts and lists are copied,
other values are shared: a grammar reads its schema while it is used, so later changes of the user's dicts must not
reach it. Copying takes some microseconds for 700 bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from sys import getsizeof
from typing import Any, NoReturn

from ...earley._large import untrack
from ...earley._meter import keep, take, tick
from ...earley.limits import DEFAULT, Limits
from ..errors import GrammarError, GrammarLimitError
from ..json.reader import loads
from ..loading import PIECE, pieces

COPY_BYTES = 200
"""Memory of a dict or a list without items: an estimate."""

_NUMBERS = frozenset((int, float, bool, type(None), Decimal, Fraction))

MAX_DEPTH = 500
"""Objects and lists within one another that a schema may have. Python's reader and writer of JSON fail soon after."""


def read(given: Any, limits: Limits = DEFAULT) -> Any:
    """Return the schema that the user gave: a dict of JSON values, or True or False.

    Raises GrammarError if a text is not JSON, with line and column, or if no schema can be made of a model; TypeError
    for a value of any other type.
    """
    if isinstance(given, Mapping):
        return copied(given, limits=limits)
    if given is True or given is False:
        return given
    if isinstance(given, str):
        return read_text(given)
    if isinstance(given, (bytes, bytearray)):
        try:
            return read_text(bytes(given).decode("utf-8"))
        except UnicodeDecodeError as error:
            raise GrammarError(
                f"the schema is not UTF-8: byte {error.start} is {error.object[error.start]:#04x}"
            ) from None
    from .python_types import schema_of_model  # rare

    return schema_of_model(given)


def read_text(text: str, what: str = "schema") -> Any:
    """Return the values of the JSON text of a `what`. Raises GrammarError with line and column. Skip a byte order mark
    before the text, as parsers may (RFC 8259, 8.1)."""
    text = text.removeprefix("\ufeff")
    for piece in pieces(text):
        take(
            len(piece)
            + 200 * piece.count("{")
            + 80 * piece.count("[")
            + 40 * piece.count(",")
            + 30 * piece.count('"')
            + 200 * piece.count(".")
        )
    try:
        found = loads(text, object_pairs_hook=object_of, parse_float=Spelled, parse_constant=_constant)
    except json.JSONDecodeError as error:
        from ..source import path_hint

        line = error.doc.split("\n")[error.lineno - 1]  # as `json` counts lines
        message = f"the {what} is not JSON: {error.msg}"
        hint = path_hint(text)
        raise GrammarError(message, line=error.lineno, column=error.colno, text=line, hint=hint) from None
    except RepeatedKeyError as error:
        raise _repeated(text, error.key) from None
    except RecursionError:
        raise GrammarLimitError(
            f"the {what} is nested too deeply to be read; give it as a dict, simplify it, or make the call from "
            "a function that is called less deeply"
        ) from None
    except GrammarError:
        raise
    except InvalidOperation:
        raise GrammarLimitError(f"a number in the {what} has an exponent beyond what Python reads") from None
    except ValueError as error:  # what `int` refuses: digits beyond `sys.get_int_max_str_digits()`
        raise GrammarLimitError(f"a number in the {what} has too many digits: {error}") from None
    if type(found) is dict or type(found) is list:
        _untrack(found)
    return found


class Spelled(Decimal):
    """A number that is no integer in a JSON text, which keeps its spelling: `1e3`, `2.50`."""

    __slots__ = ("spelling",)
    spelling: str

    def __new__(cls, spelling: str) -> Spelled:
        made = super().__new__(cls, spelling)
        made.spelling = spelling
        return made


def own_spelling(value: Any) -> str | None:
    """Return how a JSON text spells a number with a fraction or an exponent; None for an int."""
    if isinstance(value, Spelled):
        return value.spelling
    if isinstance(value, float):
        return float.__repr__(value)  # subclasses, such as numpy's, have another `repr`
    return str(value) if isinstance(value, Decimal) else None


class RepeatedKeyError(Exception):
    """An object has a key twice."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of these members. Raises RepeatedKeyError."""
    found: dict[str, Any] = {}
    if len(pairs) > PIECE:
        keep(found)
    for piece in pieces(pairs):
        found.update(piece)
    if len(found) != len(pairs):
        seen: set[str] = set()
        keep(seen)
        for piece in pieces(pairs):
            for key, _ in piece:
                if key in seen:
                    raise RepeatedKeyError(key)
                seen.add(key)
    return found


def _constant(name: str) -> NoReturn:
    raise GrammarError(f"the schema is not JSON: JSON has no number {name}")


def _repeated(text: str, key: str) -> GrammarError:
    """Return the error of a repeated key, at the second one. This reads the text once more, member by member."""
    from ..source import SourceText

    place = second_place(text, key)
    line, column = SourceText(text).line_and_column(place)
    return GrammarError(
        f"the key {json.dumps(key, ensure_ascii=False)} stands twice in one object",
        line=line,
        column=column,
        text=SourceText(text).line_at(place),
        hint="remove one: readers of JSON disagree about which of them counts",
    )


def second_place(text: str, key: str) -> int:
    """Return the first place in a JSON text where an object has `key` for the second time."""
    read_string = json.decoder.scanstring  # type: ignore[attr-defined]
    keys: list[set[str] | None] = []  # of the objects and lists (None) that are open
    keep(keys)
    at = 0
    while at < len(text):
        char = text[at]
        tick()
        if char == '"':
            begin = at
            value, at = read_string(text, at + 1)
            end = at
            while text[end] in " \t\r\n":
                end += 1
            known = keys[-1]
            if text[end] == ":" and known is not None:
                if value in known and value == key:
                    return begin
                known.add(value)
            continue
        if char == "{":
            keys.append(set())
        elif char == "[":
            keys.append(None)
        elif char in "]}":
            keys.pop()
        at += 1
    raise AssertionError("no key stands twice")


def copied(given: Any, what: str = "the schema", limits: Limits = DEFAULT) -> Any:
    """Return a copy of mappings and sequences as plain dicts and lists, with plain texts and numbers. Other values
    are shared.

    The copy may be as large as a text of JSON may be. Dicts that share parts, or a list that never ends, may be larger
    than the memory.
    """
    result = [given]
    stack: list[tuple[Any, int]] = [(result, 0)]  # copies whose values are not copied yet, and how deep they are
    keep(result)
    keep(stack)
    left = limits.source_characters  # of the JSON text of what is copied, without white space
    is_ours = True  # whether there is nothing of the caller's that could refer to the copy
    while stack:
        made, depth = stack.pop()
        if depth > MAX_DEPTH:
            raise GrammarLimitError(f"{what} is nested more than {MAX_DEPTH} deep, or holds itself")
        depth += 1
        tick()
        if type(made) is dict:
            has_own_names = False  # of a subclass of str
            for index, (name, item) in enumerate(made.items()):
                if not index & 0xFF:
                    tick()
                if type(name) is str:
                    left -= 3 + len(name)
                elif isinstance(name, str):
                    left -= 3 + len(name)
                    has_own_names = True
                else:
                    is_ours = False
                copy = _copy(item, left)
                if copy is not None:
                    take(COPY_BYTES + 40 * len(copy))
                    made[name] = copy  # the keys remain the same
                    stack.append((copy, depth))
                    left -= max(len(copy), 1) + 1  # brackets and commas
                    if left < 0:
                        break  # the same large part may be copied for each of many items
                elif type(item) is str:
                    left -= len(item) + 2
                elif isinstance(item, str):
                    made[name] = _plain(item)
                    left -= len(item) + 2
                else:
                    if type(item) not in _NUMBERS:
                        if isinstance(item, (int, float)):
                            made[name] = _plain_number(item)
                        else:
                            is_ours = False
                    left -= 1
            if has_own_names:
                _make_names_plain(made, what)
        else:
            for index, item in enumerate(made):
                if not index & 0xFF:
                    tick()
                copy = _copy(item, left)
                if copy is not None:
                    take(COPY_BYTES + 40 * len(copy))
                    made[index] = copy
                    stack.append((copy, depth))
                    left -= max(len(copy), 1) + 1
                    if left < 0:
                        break
                elif type(item) is str:
                    left -= len(item) + 2
                elif isinstance(item, str):
                    made[index] = _plain(item)
                    left -= len(item) + 2
                else:
                    if type(item) not in _NUMBERS:
                        if isinstance(item, (int, float)):
                            made[index] = _plain_number(item)
                        else:
                            is_ours = False
                    left -= 1
        if left < 0:
            error = GrammarLimitError(
                f"{what} has more than {limits.source_characters} characters when it is written as JSON",
                hint="simplify it, or make it smaller if parts of it are shared: each use of a part counts",
            )
            raise error.set_limit("source_characters")
    if is_ours:
        _untrack(result[0])
    return result[0]


def _untrack(whole: Any) -> None:
    """Tell the garbage collector not to visit a tree of dicts and lists: it lives as long as the grammar."""
    stack = [whole]
    keep(stack)
    while stack:
        one = stack.pop()
        tick()
        untrack(one)
        for index, part in enumerate(one.values() if type(one) is dict else one):
            if type(part) is dict or type(part) is list:
                stack.append(part)
            if not index & 0xFF:
                tick()


def _plain(text: str) -> str:
    """Return the characters of a text of a subclass, which may compare as it likes and refer to anything."""
    return str.__str__(text)


def _plain_number(number: float) -> float:
    """Return a number of a subclass as a plain one: it may refer to anything, too."""
    return int.__int__(number) if isinstance(number, int) else float.__float__(number)


def _make_names_plain(made: dict[Any, Any], what: str) -> None:
    """Make the names of an object plain texts. Raises GrammarError if two are the same then, as for a text."""
    members = [(_plain(name) if isinstance(name, str) else name, member) for name, member in made.items()]
    made.clear()
    for piece in pieces(members):
        made.update(piece)
    if len(made) != len(members):
        raise GrammarError(f"two names of one object in {what} are the same text, but differ for Python")


def _copy(value: Any, most: int) -> Any:
    """Return a copy of a mapping or sequence; None for another value. Its items beyond `most` need not be there."""
    kind = type(value)
    if kind is str or kind is int or kind is bool or kind is float or value is None:
        return None
    if kind is dict:
        plain: dict[Any, Any] = value
        return plain.copy()
    # What follows may be many objects of the caller's making, which are not freed at once if a limit is met.
    if isinstance(value, Mapping):
        members: dict[Any, Any] = {}
        keep(members)
        for name in _first(value, most):
            members[name] = value[name]
        return members
    if kind is list or kind is tuple:
        if len(value) <= PIECE:
            return list(value)
        copy: list[Any] = []
        for piece in pieces(value):
            copy += piece
        return copy
    if isinstance(value, (list, tuple)):
        items: list[Any] = []
        keep(items)
        items.extend(_first(value, most))
        return items
    return None


def _first(values: Iterable[Any], most: int) -> Iterator[Any]:
    """Yield the values, but hardly more than `most` of them: an object of the caller's own may have no last one, and
    may make each value when it is asked for."""
    for index, value in enumerate(values):
        if not index & 0xFF:
            tick()
            if index:
                take((getsizeof(value) + 8) << 8)  # as if the 255 before it were as large
            if index > most:
                return
        yield value
