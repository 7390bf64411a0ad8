"""POSIX classes such as `[:upper:]` in patterns. No dialect here has them, so a warning is given; an option reads them.

Python, ECMA-262 and GBNF read `[[:upper:]]` as a class of the characters in it, and then a `]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..errors import RegexSyntaxError
from . import codepoints

if TYPE_CHECKING:
    from .ast import Ranges

# What each class would be in ASCII, as it is written between brackets.
RANGES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "ascii": r"\x00-\x7f",
    "blank": r" \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r" \t\r\n\x0b\x0c",
    "upper": "A-Z",
    "word": "a-zA-Z0-9_",
    "xdigit": "0-9a-fA-F",
}

_CLASS = re.compile(r"\[:\^?(" + "|".join(RANGES) + r"):\]")
_ANY_CLASS = re.compile(r"\[:(\^?)([a-zA-Z]+):\]")
_SETS: dict[str, tuple[tuple[int, int], ...]] = {
    "alnum": ((48, 57), (65, 90), (97, 122)),
    "alpha": ((65, 90), (97, 122)),
    "ascii": ((0, 127),),
    "blank": ((9, 9), (32, 32)),
    "cntrl": ((0, 31), (127, 127)),
    "digit": ((48, 57),),
    "graph": ((33, 126),),
    "lower": ((97, 122),),
    "print": ((32, 126),),
    "punct": ((33, 47), (58, 64), (91, 96), (123, 126)),
    "space": ((9, 13), (32, 32)),
    "upper": ((65, 90),),
    "word": ((48, 57), (65, 90), (95, 95), (97, 122)),
    "xdigit": ((48, 57), (65, 70), (97, 102)),
}
"""The code points of each class in the POSIX locale, as Rust's `regex` reads them."""

_VERBOSE = re.compile(r"\(\?[a-zA-Z]*x")


def posix_classes(pattern: str, verbose: bool = False) -> Iterator[re.Match[str]]:
    """Yield the POSIX classes in a well-formed pattern; group 1 is the name. `verbose`: the pattern may have comments.

    A class is found within brackets, and also if it is the only thing in brackets. A pattern with a flag `x` in it may
    have comments, too: then nothing after a `#` is found, so that no warning is wrong.
    """
    verbose = verbose or _VERBOSE.search(pattern) is not None
    at = 0
    within = False
    while at < len(pattern):
        char = pattern[at]
        match = _CLASS.match(pattern, at) if char == "[" else None
        if char == "\\":
            at += 2
        elif match is not None:
            yield match
            at = match.end()
            within = False  # its last bracket closes the class around it
        elif char == "[" and not within:
            within = True
            at += 2 if pattern[at + 1 : at + 2] == "^" else 1
            at += 1 if pattern[at : at + 1] == "]" else 0  # a `]` that comes first is a member of the class
        elif char == "#" and verbose and not within:
            end = pattern.find("\n", at)
            at = len(pattern) if end < 0 else end
        else:
            within = within and char != "]"
            at += 1


def read(pattern: str, start: int, offset: int) -> tuple[Ranges, bool, int] | None:
    """Return the code points of the POSIX class at `start`, whether it is negated, and where it ends; None if there is
    none. `offset` is added to the position of an error."""
    match = _ANY_CLASS.match(pattern, start)
    if match is None:
        return None
    if match[2] not in _SETS:
        raise RegexSyntaxError(
            f"unknown POSIX class `{match[0]}`", offset + start, f"the names are {', '.join(_SETS)}, in small letters"
        )
    return codepoints.normalize(list(_SETS[match[2]])), match[1] == "^", match.end()


def refuse_single_brackets(pattern: str, start: int, offset: int) -> None:
    """Raise an error if the class at `start` is `[:alpha:]` without brackets around it."""
    match = _ANY_CLASS.match(pattern, start)
    if match is not None and match[2] in _SETS:
        raise RegexSyntaxError(
            f"the POSIX class `{match[0]}` stands outside of brackets", offset + start, f"write `[{match[0]}]`"
        )


def posix_warning(match: re.Match[str], has_option: bool = False) -> str:
    """Return the text of the warning about a POSIX class. `has_option`: whether the caller could have it read."""
    option = ", or give posix_classes=True" if has_option else ""
    ranges = f"write `{RANGES[match[1]]}` between brackets"
    return f"`{match[0]}` is read as single characters, not as a class; {ranges}{option}"


def posix_hint(before: str) -> str | None:
    """Return the hint about a `]` that closes nothing, if the text before it ends with a POSIX class."""
    match = _CLASS.search(before, max(0, before.rfind("[")))
    if match is None or match.end() < len(before):
        return None
    return f"there are no POSIX classes: write `{RANGES[match[1]]}` between brackets"
