"""The meaning of `\\d`, `\\s`, `\\w` and IGNORECASE in the `re` of one Python, found out from that `re` itself.

The tables depend on the Python version (its Unicode data). Collecting them takes a quarter of a second, too long for
the first grammar that needs them. So `setup.py` runs `source()` when the package is built, and writes the text beside
this file as `_unicode_data.py`. `codepoints` reads that file, and calls `collect()` only if the file is missing or was
made by another Python. This module imports nothing from the package, so that `setup.py` can run it from its path."""

from __future__ import annotations

import re
import sys

MADE_FOR = (*sys.version_info[:2], 2)
"""The Python whose tables these are, and the version of their format. Tables with another value are not used."""


def collect() -> dict[str, object]:
    """Return the names that `_unicode_data.py` defines, with their values.

    WORD, DIGIT, SPACE: the three categories without the ASCII flag, as the first and last character of each range.
    CASES: groups of characters that match each other under IGNORECASE, two or more each, separated by blanks.

    All of them are strings, since a module of a few strings is read fast even if no bytecode is kept.
    """
    characters = "".join(map(chr, range(sys.maxunicode + 1)))
    tables: dict[str, object] = {"MADE_FOR": MADE_FOR}
    for name, category in (("WORD", r"\w+"), ("DIGIT", r"\d+"), ("SPACE", r"\s+")):
        ranges = re.finditer(category, characters)
        tables[name] = "".join(f"{chr(match.start())}{chr(match.end() - 1)}" for match in ranges)
    tables["CASES"] = " ".join(_case_groups(characters))
    return tables


def _case_groups(characters: str) -> list[str]:
    """Return the classes of the cased characters under "matches under IGNORECASE", which is an equivalence (tested)."""
    cased = "".join(char for char in characters if char.lower() != char or char.upper() != char)
    groups = []
    grouped: set[str] = set()
    for char in cased:
        if char not in grouped:
            group = re.compile(char, re.IGNORECASE).findall(cased)
            grouped.update(group)
            if len(group) > 1:
                groups.append("".join(group))
    return groups


def source() -> str:
    """Return the text of `_unicode_data.py` for the running Python."""
    lines = ['"""Made by unicode_tables.py for the Python that built the package; not part of the repository."""', ""]
    lines += [f"{name} = {value!a}" for name, value in collect().items()]
    return "\n".join(lines) + "\n"
