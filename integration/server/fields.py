"""Typed reading of JSON objects: each member is taken once, and what nobody has taken is refused."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from ...grammar.source import did_you_mean
from .errors import ApiError, bad

MAX_SHOWN = 60
"""The most characters of a value that a message shows."""

MAX_DEPTH = 400
"""Values are nested at most so deeply. Of the 1,000 calls within one another that Python allows, `pickle` takes two for
each."""


class Fields:
    """The members of an object of the body. A member that is null counts as absent, as in OpenAI's API.

    Args:
        value: what stands in the body; refused if it is no object.
        place: where it stands, such as `tools[0]`; "" for the body itself.
    """

    def __init__(self, value: Any, place: str = "") -> None:
        if not isinstance(value, dict):
            raise bad(f"{place or 'the body'} must be an object, not {shown(value)}", place or None, "invalid_type")
        self.place = place
        self._left = {name: member for name, member in value.items() if member is not None}
        self._known: list[str] = []

    def param(self, name: str) -> str:
        return f"{self.place}.{name}" if self.place else name

    def take(self, name: str, default: Any = None) -> Any:
        """Return a member of any type."""
        self._known.append(name)
        return self._left.pop(name, default)

    def names(self) -> list[str]:
        """Return the names of the members that have not been taken."""
        return list(self._left)

    def text(self, name: str, default: str | None = None) -> str | None:
        return self._of(name, default, str, "a string")

    def needed(self, name: str) -> str:
        """Return a text that must be there."""
        found = self.text(name)
        if found is None:
            raise self.missing(name)
        return found

    def flag(self, name: str, default: bool = False) -> bool:
        found: bool = self._of(name, default, bool, "true or false")
        return found

    def items(self, name: str) -> list[Any]:
        found: list[Any] = self._of(name, [], list, "a list")
        return found

    def object(self, name: str) -> Fields | None:
        """Return an object within."""
        value = self.take(name)
        return None if value is None else Fields(value, self.param(name))

    def whole(self, name: str, least: int, most: int) -> int | None:
        """Return a whole number; None if there is none."""
        value = self.take(name)
        if value is None:
            return None
        if isinstance(value, Decimal) and -(2**63) < value < 2**63 and value == value.to_integral_value():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise self.wrong(name, f"a whole number from {least} to {most}", value)
        return value

    def number(self, name: str, default: float, least: float, most: float) -> float:
        value = self.take(name, default)
        if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)) or not least <= value <= most:
            raise self.wrong(name, f"a number from {least:g} to {most:g}", value)
        return float(value)

    def one_of(self, name: str, allowed: Sequence[str], default: str | None = None) -> str:
        """Return one of the allowed texts. Without a default, it must be there."""
        value = self.take(name, default)
        if value is None:
            raise self.missing(name)
        if value not in allowed:
            raise self.wrong(name, " or ".join(map(repr, allowed)), value)
        found: str = value
        return found

    def ignore(self, *names: str) -> None:
        """Allow members that do not change the answer."""
        for name in names:
            self.take(name)

    def refuse(self, name: str, why: str, *harmless: Any) -> None:
        """Refuse a member, unless it has one of the values that ask for nothing. Members of an object that are null
        count as absent."""
        value = self.take(name)
        if isinstance(value, dict):
            value = {inner: each for inner, each in value.items() if each is not None}
        if value is not None and not any(value is each or (value == each and value is not True) for each in harmless):
            raise bad(f"{self.param(name)}={shown(value)}: {why}", self.param(name), "unsupported_parameter")

    def done(self, hints: dict[str, str] | None = None) -> None:
        """Refuse what has not been taken: a constraint that is not known would not be enforced."""
        for name in self._left:
            hint = (hints or {}).get(name) or did_you_mean(name, self._known)
            message = f"unknown field {shown(self.param(name))}{f'; {hint}' if hint else ''}"
            raise bad(message, self.param(name), "unknown_parameter")

    def missing(self, name: str) -> ApiError:
        return bad(f"{self.param(name)} is missing", self.param(name), "missing_required_parameter")

    def wrong(self, name: str, wanted: str, value: Any) -> ApiError:
        return bad(f"{self.param(name)} must be {wanted}, not {shown(value)}", self.param(name), "invalid_value")

    def _of(self, name: str, default: Any, kind: type, wanted: str) -> Any:
        value = self.take(name, default)
        if value is not default and not isinstance(value, kind):
            raise self.wrong(name, wanted, value)
        return value


def check(value: Any, place: str, param: str | None) -> None:
    """Refuse a value that was read as JSON if it cannot be written as UTF-8, or is nested too deeply.

    Args:
        value: what was read.
        place: what a message calls it.
        param: the field of the body in which it stands, if it is not the body itself.
    """
    level = [value]
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                below += each.keys()
                below += each.values()
            elif isinstance(each, list):
                below += each
            elif isinstance(each, str) and not each.isascii():
                try:
                    each.encode()
                except UnicodeEncodeError:
                    message = f"{place} has a lone surrogate, which is no character, in {shown(each)}"
                    raise bad(message, param, "invalid_json") from None
        if not below:
            return
        level = below
    raise bad(f"{place} is nested more than {MAX_DEPTH} deep", param, "invalid_json")


def texts(values: Iterable[Any], param: str) -> tuple[str, ...]:
    """Return a list of strings."""
    found = tuple(values)
    for index, value in enumerate(found):
        if not isinstance(value, str):
            raise bad(f"{param}[{index}] must be a string, not {shown(value)}", f"{param}[{index}]", "invalid_type")
    return found


def shown(value: Any) -> str:
    """Return a value for a message, cut if it is long."""
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "a list"
    text = str(value) if isinstance(value, Decimal) else repr(value)
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"
