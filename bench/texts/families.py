"""Families of grammars: the grammar of a first request, and that of a second request of the same family.

    json      recursive JSON                  then records   JSON of a fixed shape
    language  a small programming language    then script    another small language
    sql       SELECT                          then changes   CREATE, INSERT, UPDATE, DELETE

`generate(kind, seed, size)` makes a text of any of them.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from . import first as first_texts
from . import heldout as heldout_texts
from . import second as second_texts

GENERATORS: dict[str, Callable[[Random, int], str]] = {
    **first_texts.GENERATORS,
    **second_texts.GENERATORS,
    **heldout_texts.GENERATORS,
}
SECOND = {"json": "records", "language": "script", "sql": "changes"}
FIRST = tuple(SECOND)
HELD_OUT = tuple(heldout_texts.FAMILIES)


def generate(kind: str, seed: int, size: int) -> str:
    """Return a sentence of the grammar `kind` of at least `size` characters, the same for the same arguments."""
    return GENERATORS[kind](Random(f"{kind} {seed}"), size)


def family(kind: str) -> str:
    """Return the family of a first grammar or a held-out one."""
    return heldout_texts.FAMILIES.get(kind, kind)


def second(kind: str) -> str:
    """Return the second grammar of the family of `kind`."""
    return SECOND[family(kind)]
