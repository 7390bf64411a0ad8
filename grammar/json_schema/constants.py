"""Recognises branches that are constants, or that a constant distinguishes, before any of them becomes a term.

If all branches are constants, even thousands with a title each, they are an enumeration, and none needs a term of its
own. If a required member, such as `kind`, is a different constant in each branch, a `oneOf` means the same as `anyOf`.
"""

from __future__ import annotations

from typing import Any

from ...earley._meter import tick
from .keywords import KNOWN_ELSEWHERE, SAYS_NOTHING
from .terms import canonical

_IDENTITIES = frozenset(["$id", "id", "$schema"])
"""Keywords with which a branch may be of another draft."""
_NEEDED = frozenset(["type", "properties", "required"])
MAX_TRIED = 3
"""The most required members that are tried as the one that distinguishes branches."""


def in_some(branches: list[Any], known: dict[str, int]) -> list[Any] | None:
    """Return the values that one of the branches allows; None unless all branches are nothing but scalars.

    known: `Resource.keywords`; `const` and `enum` say nothing if they are not among these.
    """
    found: list[Any] = []
    for branch in branches:
        tick()
        values = scalars_of(branch, known)
        if values is None:
            return None
        found += values
    return found


def in_one(branches: list[Any], known: dict[str, int]) -> list[Any] | None:
    """Return the values that exactly one of the branches allows; None unless all branches are nothing but scalars."""
    met: dict[object, int] = {}
    found: dict[object, Any] = {}
    for index, branch in enumerate(branches):
        tick()
        values = scalars_of(branch, known)
        if values is None:
            return None
        for value in values:
            if not len(met) & 0xFF:
                tick()
            key = value if type(value) is str else canonical(value)
            first = met.setdefault(key, index)
            if first == index:
                found[key] = value
            else:
                found.pop(key, None)
    return list(found.values())


def are_constants(branches: list[Any]) -> bool:
    """Whether all branches are nothing but scalars, in any draft."""
    for branch in branches:
        if scalars_of(branch, None) is None:
            return False
    return True


def scalars_of(schema: Any, known: dict[str, int] | None) -> list[Any] | None:
    """Return the values of an `enum` or a `const` if they are scalars and the schema says nothing else; otherwise None.

    known: `Resource.keywords`; `const` and `enum` say nothing if they are not among these. None: both count.
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
    """Whether all branches are objects with a required member that is a different constant in each of them."""
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
        tick()
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
