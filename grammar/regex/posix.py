"""Find POSIX classes such as `[:upper:]` in patterns, so that a warning can be given: no dialect here has them.

Python, ECMA-262 and GBNF read `[[:upper:]]` as a class of the characters in it, and then a `]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

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
    "space": r" \t\r\n",
    "upper": "A-Z",
    "word": "a-zA-Z0-9_",
    "xdigit": "0-9a-fA-F",
}

_CLASS = re.compile(r"\[:\^?(" + "|".join(RANGES) + r"):\]")
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


def posix_warning(match: re.Match[str]) -> str:
    """Return the text of the warning about a POSIX class."""
    return f"`{match[0]}` is read as single characters, not as a class; write `{RANGES[match[1]]}` between brackets"


def posix_hint(before: str) -> str | None:
    """Return the hint about a `]` that closes nothing, if the text before it ends with a POSIX class."""
    match = _CLASS.search(before, max(0, before.rfind("[")))
    if match is None or match.end() < len(before):
        return None
    return f"there are no POSIX classes: write `{RANGES[match[1]]}` between brackets"
