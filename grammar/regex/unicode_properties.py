"""The properties of `\\p{...}`: general categories, scripts and binary properties, as sets of code points.

General categories, cases and identifiers are those of the running Python's `unicodedata`. Scripts and other binary
properties are tables of Unicode 14 (`unicode_scripts`), since Python has none. Names are compared exactly, as ECMA-262
demands, or loosely, as the `regex` module does: case, blanks, hyphens and underscores are then ignored.

A set for which Python is asked about every code point takes some 100 ms, once in a process. Others take microseconds.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from . import codepoints, unicode_scripts
from .ast import Ranges

if TYPE_CHECKING:
    from collections.abc import Callable

_CATEGORIES = {
    "L": "Letter", "Lu": "Uppercase_Letter", "Ll": "Lowercase_Letter", "Lt": "Titlecase_Letter", "LC": "Cased_Letter",
    "Lm": "Modifier_Letter", "Lo": "Other_Letter", "M": "Mark", "Mn": "Nonspacing_Mark", "Mc": "Spacing_Mark",
    "Me": "Enclosing_Mark", "N": "Number", "Nd": "Decimal_Number", "Nl": "Letter_Number", "No": "Other_Number",
    "P": "Punctuation", "Pc": "Connector_Punctuation", "Pd": "Dash_Punctuation", "Ps": "Open_Punctuation",
    "Pe": "Close_Punctuation", "Pi": "Initial_Punctuation", "Pf": "Final_Punctuation", "Po": "Other_Punctuation",
    "S": "Symbol", "Sm": "Math_Symbol", "Sc": "Currency_Symbol", "Sk": "Modifier_Symbol", "So": "Other_Symbol",
    "Z": "Separator", "Zs": "Space_Separator", "Zl": "Line_Separator", "Zp": "Paragraph_Separator", "C": "Other",
    "Cc": "Control", "Cf": "Format", "Cs": "Surrogate", "Co": "Private_Use", "Cn": "Unassigned",
}  # fmt: skip
_MORE_CATEGORY_NAMES = {"digit": "Nd", "punct": "P", "cntrl": "Cc", "Combining_Mark": "M"}

# By name: another name of the property, which `_of_python` or a table has.
_BINARY = {
    "Lowercase": "Lower", "Lower": "Lower", "Uppercase": "Upper", "Upper": "Upper",
    "XID_Start": "XIDS", "XIDS": "XIDS", "XID_Continue": "XIDC", "XIDC": "XIDC",
    "Alpha": "Alphabetic", "IDS": "ID_Start", "IDC": "ID_Continue", "EPres": "Emoji_Presentation",
    "ExtPict": "Extended_Pictographic", "Ideo": "Ideographic",
}  # fmt: skip
_FIXED: dict[str, Ranges] = {
    "Any": codepoints.ALL,
    "ASCII": ((0, 127),),
    "ASCII_Hex_Digit": ((48, 57), (65, 70), (97, 102)),
    "AHex": ((48, 57), (65, 70), (97, 102)),
    "Hex_Digit": ((48, 57), (65, 70), (97, 102), (0xFF10, 0xFF19), (0xFF21, 0xFF26), (0xFF41, 0xFF46)),
    "Hex": ((48, 57), (65, 70), (97, 102), (0xFF10, 0xFF19), (0xFF21, 0xFF26), (0xFF41, 0xFF46)),
    "White_Space": codepoints.normalize(
        (code, code)
        for code in (
            *range(9, 14),
            32,
            0x85,
            0xA0,
            0x1680,
            *range(0x2000, 0x200B),
            0x2028,
            0x2029,
            0x202F,
            0x205F,
            0x3000,
        )
    ),
}
_FIXED["space"] = _FIXED["White_Space"]


class UnknownProperty(ValueError):
    """There is no such property. The arguments are a message and a hint."""


def find(name: str, loose: bool) -> Ranges:
    """Return the set of the property that `\\p{name}` names: a general category, a script (`Script=Greek` or, if
    `loose`, `Greek`), the characters that are used with a script (`Script_Extensions=Greek`), or a binary property.

    Raises UnknownProperty.
    """
    key = (name, loose)
    known = _found.get(key)
    if known is None:
        known = _look_up(name, loose)
        _found[key] = known
    return known


def names() -> list[str]:
    """Return the names that `find` knows if it is not loose."""
    categories = [*_CATEGORIES, *_CATEGORIES.values(), *_MORE_CATEGORY_NAMES]
    scripts = [name for both in _tables("SCRIPTS") for name in both.split()]
    found = [*categories, *_FIXED, *_BINARY, *_tables("PROPERTIES")]
    found += [f"{kind}={name}" for kind in ("General_Category", "gc") for name in categories]
    found += [f"{kind}={name}" for kind in ("Script", "sc", "Script_Extensions", "scx") for name in scripts]
    return sorted(set(found))


def ignoring_case(name: str, ranges: Ranges) -> Ranges:
    """Return the set under IGNORECASE: each letter stands for all its cases, so `(?i)\\p{Lu}` matches "a"."""
    return codepoints.fold(ranges, False)


def _look_up(name: str, loose: bool) -> Ranges:
    kind, equals, value = name.partition("=")
    if loose and not equals:
        kind, equals, value = name.partition(":")
    kinds = {_key(kind, loose) for kind in ("General_Category", "gc")}
    scripts = {_key(kind, loose) for kind in ("Script", "sc")}
    extensions = {_key(kind, loose) for kind in ("Script_Extensions", "scx")}
    if equals:
        if _key(kind, loose) in kinds:
            found = _category(value, loose)
        elif _key(kind, loose) in scripts:
            found = _script(value, loose)
        elif _key(kind, loose) in extensions:
            found = _script(value, loose, extended=True)
        else:
            raise UnknownProperty(
                f"unknown property {kind!r} in \\p{{{name}}}",
                "use General_Category (gc), Script (sc) or Script_Extensions (scx)",
            )
    else:
        found = _category(name, loose)
        if found is None:
            found = _binary(name, loose)
        if found is None and loose:
            found = _script(name, loose)
    if found is None:
        raise UnknownProperty(f"unknown property \\p{{{name}}}", _hint())
    return found


def _hint() -> str:
    binary = sorted({*_FIXED, *_BINARY, *_tables("PROPERTIES")})
    return (
        f"use a general category ({', '.join(_CATEGORIES)} or their long names), a script such as Script=Greek or "
        f"Script_Extensions=Greek, or one of: {', '.join(binary)}"
    )


def _key(name: str, loose: bool) -> str:
    return name.lower().replace("_", "").replace("-", "").replace(" ", "") if loose else name


def _category(name: str, loose: bool) -> Ranges | None:
    key = _key(name, loose)
    for short, long in [*_CATEGORIES.items(), *((s, n) for n, s in _MORE_CATEGORY_NAMES.items())]:
        if key in (_key(short, loose), _key(long, loose)):
            return _of_category("Lu Ll Lt" if short == "LC" else short)
    return None


def _of_category(wanted: str) -> Ranges:
    if not _runs:
        _collect_runs()
    prefixes = tuple(wanted.split())
    return codepoints.normalize([run[:2] for run in _runs if run[2].startswith(prefixes)])


def _collect_runs() -> None:
    first = 0
    before = unicodedata.category("\0")
    runs = []
    for code, category in enumerate(map(unicodedata.category, map(chr, range(codepoints.MAX_CODE_POINT + 1)))):
        if category != before:
            runs.append((first, code - 1, before))
            first = code
            before = category
    runs.append((first, codepoints.MAX_CODE_POINT, before))
    _runs.extend(runs)


def _script(name: str, loose: bool, extended: bool = False) -> Ranges | None:
    """Return the set of a script, or None for an unknown one. If `extended`, its `Script_Extensions`."""
    key = _key(name, loose)
    for names, data in _tables("SCRIPTS").items():
        if key in [_key(each, loose) for each in names.split()]:
            found = _decoded(data)
            if extended:
                other = _decoded(_tables("EXTENSIONS").get(names.split()[0], ""))
                in_both = codepoints.intersection(found, other)
                found = codepoints.intersection(codepoints.normalize(found + other), codepoints.complement(in_both))
            return found
    return None


def _binary(name: str, loose: bool) -> Ranges | None:
    key = _key(name, loose)
    for each, ranges in _FIXED.items():
        if _key(each, loose) == key:
            return ranges
    for each, data in _tables("PROPERTIES").items():
        if _key(each, loose) == key:
            return _decoded(data)
    for each, meant in _BINARY.items():
        if _key(each, loose) == key:
            return _of_python(meant) if meant in ("Lower", "Upper", "XIDS", "XIDC") else _binary(meant, False)
    if key == _key("Assigned", loose):
        return codepoints.complement(_of_category("Cn"))
    return None


def _of_python(meant: str) -> Ranges:
    holds: Callable[[str], bool] = {
        "Lower": str.islower,
        "Upper": str.isupper,
        "XIDS": lambda char: char != "_" and char.isidentifier(),
        "XIDC": lambda char: ("a" + char).isidentifier(),
    }[meant]
    return codepoints.normalize([(code, code) for code in range(codepoints.MAX_CODE_POINT + 1) if holds(chr(code))])


def _tables(which: str) -> dict[str, str]:
    """Return one of the tables of `unicode_scripts`: by the names of each set, separated by blanks, its data."""
    text: str = getattr(unicode_scripts, which)
    tables = {}
    for line in text.replace("\n ", " ").strip().split("\n"):
        names, _, data = line.partition(":")
        tables[names] = data
    return tables


def _decoded(data: str) -> Ranges:
    ends = []
    place = 0
    for difference in data.split():
        place += int(difference, 36)
        ends.append(place)
    if len(ends) % 2:
        ends.append(codepoints.MAX_CODE_POINT + 1)
    return tuple([(ends[i], ends[i + 1] - 1) for i in range(0, len(ends), 2)])


_runs: list[tuple[int, int, str]] = []
_found: dict[tuple[str, bool], Ranges] = {}
