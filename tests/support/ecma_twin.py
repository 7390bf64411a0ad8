"""Patterns of ECMA-262 as trees with two spellings: one for `new RegExp(..., "u")`, one for Python's `re`.

A tree is `["leaf", name]`, `["cat", tree, ...]`, `["or", tree, ...]`, `["many", tree, quantifier]`,
`["look", opener, tree]` or `["group", tree]`, a named group. The spelling for `re` writes out as a class whatever
differs between the dialects, so `I` is the only flag it needs. If node is installed, `campaign/test_campaign.py` asks
it whether both spellings mean the same.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Any

from support.refusals import Skipped

Tree = list[Any]

WORD = "0-9A-Za-z_"
BLANK = r"\t\n\v\f\r \u00a0\ufeff\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
LINE = r"\n\r\u2028\u2029"
INSIDE = rf"(?<=[{WORD}])"
OUTSIDE = rf"(?<![{WORD}])"

SAME = ["a", "b", "A", "k", "s", "é", "É", "1", "_", " ", "ab", "[a-c]", "[^a]", "[^ab ]", "[k-l]", "a|b", "(?:)", "😀"]
LEAVES: dict[str, str] = {
    **{text: text for text in SAME},
    r"\d": "[0-9]",
    r"\D": "[^0-9]",
    r"\w": f"[{WORD}]",
    r"\W": f"[^{WORD}]",
    r"\s": f"[{BLANK}]",
    r"\S": f"[^{BLANK}]",
    r"[\w-]": f"[{WORD}-]",
    r"[^\s_]": f"[^{BLANK}_]",
    "[^]": r"(?s:.)",
    "[]": "(?!)",
    r"\b": f"(?:{INSIDE}(?![{WORD}])|{OUTSIDE}(?=[{WORD}]))",
    r"\B": f"(?:{INSIDE}(?=[{WORD}])|{OUTSIDE}(?![{WORD}]))",
    r"\x61": "a",
    r"\u00e9": "é",
    r"\u{1F600}": "😀",
    r"\uD83D\uDE00": "😀",
    r"[\uD83D\uDE00-\u{1F605}]": "[😀-\U0001f605]",
    r"\cJ": r"\n",
    r"\/\.": r"/\.",
    r"[\b\-\]]": r"[\x08\-\]]",
    r"(?:\0)": r"\x00",
    r"\p{Lu}": "Lu",
    r"\p{L}": "L",
    r"\P{L}": "L",
    r"[\p{Nd}_]": "Nd",
}
"""Leaf in ECMA-262 -> its spelling for `re`, or the name of a category. `.`, `^` and `$`, which depend on flags, are
in `BY_FLAG`."""
BY_FLAG: dict[str, tuple[int, str, str]] = {
    ".": (re.S, r"(?s:.)", f"[^{LINE}]"),
    "^": (re.M, f"(?<![^{LINE}])", r"\A"),
    "$": (re.M, f"(?![^{LINE}])", r"\Z"),
}
LOOKS = ["(?=", "(?!", "(?<=", "(?<!"]


@cache
def category(name: str) -> str:
    """Return the code points of a general category, in this Python's Unicode, as the inside of a class."""
    runs = re.finditer(
        "1+", "".join("01"[unicodedata.category(chr(code)).startswith(name)] for code in range(0x110000))
    )
    return "".join(f"\\U{run.start():08x}-\\U{run.end() - 1:08x}" for run in runs)


def as_ecma(tree: Tree) -> str:
    counter = iter(range(10**6))

    def spell(tree: Tree) -> str:
        kind, *parts = tree
        if kind == "leaf":
            return f"(?:{parts[0]})" if "|" in parts[0] else str(parts[0])
        if kind == "group":
            return f"(?<n{next(counter)}>{spell(parts[0])})"
        return _spelled(kind, [spell(part) if isinstance(part, list) else part for part in parts])

    return spell(tree)


def as_re(tree: Tree, flags: int) -> str:
    kind, *parts = tree
    if kind == "leaf":
        name = parts[0]
        if name in BY_FLAG:
            flag, with_flag, without = BY_FLAG[name]
            return with_flag if flags & flag else without
        if "\\p" in name or "\\P" in name:
            if flags & re.I:
                raise Skipped("oracle: re has no properties to fold")
            inside = category(LEAVES[name]) + "_" * ("_" in name)
            negative = "^" if "\\P" in name else ""
            return f"[{negative}{inside}]"
        return f"(?:{LEAVES[name]})"
    if kind == "group":
        return f"({as_re(parts[0], flags)})"
    return _spelled(kind, [as_re(part, flags) if isinstance(part, list) else part for part in parts])


def _spelled(kind: str, parts: list[str]) -> str:
    if kind == "cat":
        return "".join(parts)
    if kind == "or":
        return f"(?:{'|'.join(parts)})"
    if kind == "many":
        return f"(?:{parts[0]}){parts[1]}"
    return f"{parts[0]}{parts[1]})"
