"""Texts for the grammars of `grammars/heldout/`, written after tuning has stopped; see the README there.

`GENERATORS` maps the name of a grammar to its generator, as in `texts.py`; `FAMILIES` the name to the family whose
second grammar serves as its second request.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

GENERATORS: dict[str, Callable[[Random, int], str]] = {}
FAMILIES: dict[str, str] = {}
