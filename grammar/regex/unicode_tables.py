"""What `\\d`, `\\s`, `\\w` and IGNORECASE mean to the `re` of one Python, asked of that `re` itself.

The answers are a property of the Python version (its Unicode data), take a quarter of a second to collect, and are
wanted within microseconds. So `setup.py` runs `source()` when the package is built and puts the text beside this file
as `_unicode_data.py`; `codepoints` reads that, and calls `collect()` only where it is missing or was made by another
Python. Imports nothing from the package, so that `setup.py` can run it from its path.
"""

from __future__ import annotations

import re
import sys

MADE_FOR = (*sys.version_info[:2], 2)
"""The Python whose tables these are, and the number of their format: tables that say otherwise are not used."""


def collect() -> dict[str, object]:
    """The names that `_unicode_data.py` defines, with their values.

    WORD, DIGIT, SPACE: the three categories without the ASCII flag, first and last character of each range in turn.
    CASES: groups of characters that match each other under IGNORECASE, two or more each, separated by blanks.

    All of them are strings because a module that holds a few strings is read fast even where no bytecode is kept.
    """
    characters = "".join(map(chr, range(sys.maxunicode + 1)))
    tables: dict[str, object] = {"MADE_FOR": MADE_FOR}
    for name, category in (("WORD", r"\w+"), ("DIGIT", r"\d+"), ("SPACE", r"\s+")):
        ranges = re.finditer(category, characters)
        tables[name] = "".join(f"{chr(match.start())}{chr(match.end() - 1)}" for match in ranges)
    tables["CASES"] = " ".join(_case_groups(characters))
    return tables


def _case_groups(characters: str) -> list[str]:
    """Partition the cased characters by "matches under IGNORECASE", which is an equivalence (tested)."""
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
    """The text of `_unicode_data.py` for the running Python."""
    lines = ['"""Made by unicode_tables.py for the Python that built the package; not part of the repository."""', ""]
    lines += [f"{name} = {value!a}" for name, value in collect().items()]
    return "\n".join(lines) + "\n"
