"""Families of grammars: what a first request brings, and what a second one of the same family brings.

    json      recursive JSON                  then records   JSON of a fixed shape
    language  a small programming language    then script    another small language
    sql       SELECT                          then changes   CREATE, INSERT, UPDATE, DELETE

`generate(kind, seed, size)` makes the text of any of them, whichever module its generator is in.
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
    """A sentence of the grammar `kind` of at least `size` characters. A kind, a seed and a size name a text."""
    return GENERATORS[kind](Random(f"{kind} {seed}"), size)


def family(kind: str) -> str:
    """The family of a first grammar or a held-out one."""
    return heldout_texts.FAMILIES.get(kind, kind)


def second(kind: str) -> str:
    """The other grammar of the family of `kind`."""
    return SECOND[family(kind)]
