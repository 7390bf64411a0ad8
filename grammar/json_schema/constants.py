"""Branches that are constants, or told apart by one: what is seen of choices as they are written.

Thousands of constants, each with a title, are an enumeration in other words, and are worked out without a term for
each. A `oneOf` of objects whose required member `kind` is another constant in each is an `anyOf`.
"""

from __future__ import annotations

from typing import Any

from .keywords import KNOWN_ELSEWHERE, SAYS_NOTHING
from .terms import canonical

_IDENTITIES = frozenset(["$id", "id", "$schema"])
"""With them a branch may be of another draft."""
_NEEDED = frozenset(["type", "properties", "required"])
MAX_TRIED = 3
"""Members that are required, of which one may tell branches apart."""


def in_some(branches: list[Any], known: dict[str, int]) -> list[Any] | None:
    """The values that one of the branches allows; None where not all of them are scalars and nothing else.

    known: the names of the keywords that count.
    """
    found: list[Any] = []
    for branch in branches:
        values = scalars_of(branch, known)
        if values is None:
            return None
        found += values
    return found


def in_one(branches: list[Any], known: dict[str, int]) -> list[Any] | None:
    """The same, of the values that exactly one of the branches allows."""
    met: dict[object, int] = {}
    found: dict[object, Any] = {}
    for index, branch in enumerate(branches):
        values = scalars_of(branch, known)
        if values is None:
            return None
        for value in values:
            key = value if type(value) is str else canonical(value)
            first = met.setdefault(key, index)
            if first == index:
                found[key] = value
            else:
                found.pop(key, None)
    return list(found.values())


def are_constants(branches: list[Any]) -> bool:
    """Whether all branches are scalars and nothing else, in whichever draft."""
    return all(scalars_of(branch, None) is not None for branch in branches)


def scalars_of(schema: Any, known: dict[str, int] | None) -> list[Any] | None:
    """The values of an `enum` or a `const` without arrays and objects beside which a schema says nothing; else None.

    known: the names of the keywords that count; None: any.
    """
    if type(schema) is not dict:
        return None
    found: list[Any] | None = None
    kind = None
    for keyword, value in schema.items():
        if keyword == "const" or keyword == "enum":
            if found is not None or (keyword == "enum" and type(value) is not list):
                return None
            if known is None or keyword in known:
                found = value if keyword == "enum" else [value]
        elif keyword == "type":
            kind = value
        elif keyword in SAYS_NOTHING:
            if keyword in _IDENTITIES:
                return None
        elif keyword in KNOWN_ELSEWHERE:
            return None
    for value in found or ():
        if type(value) is not str and (kind is not None or isinstance(value, (list, dict))):
            return None
    return None if kind is not None and kind != "string" else found


def have_own_constants(branches: list[Any], known: dict[str, int]) -> bool:
    """Whether all branches are objects with a required member whose values are constants, others in each of them."""
    first = branches[0] if branches else None
    if type(first) is not dict or type(first.get("required")) is not list:
        return False
    if not _NEEDED.issubset(known):
        return False
    # (A list, for Cython knows no closures in C functions.)
    return True in [_tells_apart(name, branches, known) for name in first["required"][:MAX_TRIED]]


def _tells_apart(name: str, branches: list[Any], known: dict[str, int]) -> bool:
    met: set[object] = set()
    for branch in branches:
        if type(branch) is not dict or branch.get("type") != "object":
            return False
        if "$ref" in branch or not _IDENTITIES.isdisjoint(branch):
            return False
        members, required = branch.get("properties"), branch.get("required")
        if type(members) is not dict or type(required) is not list or name not in required:
            return False
        values = scalars_of(members.get(name), known)
        if values is None:
            return False
        keys = {value if type(value) is str else canonical(value) for value in values}
        if not met.isdisjoint(keys):
            return False
        met |= keys
    return True
