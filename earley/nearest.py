"""The nearest allowed text: the one that a search finds with the fewest characters replaced, inserted or deleted.

The search is Dijkstra's over pairs of a place in the text and a position of the parser. Characters that lead to the
same position are tried as one, so its answer has as few changes as possible, unless the text of a key decides what may
follow: then one key of each kind is tried.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

from .errors import LimitError
from .explanation import Nearest

if TYPE_CHECKING:
    from ._explain import Explorer
    from .characters import Characters

MAX_STATES = 3000
"""The search gives up after so many pairs of a place and a position, some tenths of a second."""
MAX_SECONDS = 1.0
"""It also gives up after this time, because one step may take long."""
MAX_CHARACTERS = 200
"""Characters of the text after the refused one that are compared; what comes after them is kept as it is if the text up
to there can be changed, and counts as not compared."""


def nearest_text(
    explorer: Explorer, characters: Characters, position: int, text: bytes, is_end: bool
) -> tuple[Nearest | None, bool]:
    """Return the nearest text to `text` that may come at a position, and whether the search gave up.

    If `is_end` is true, the text must be the end of a sentence; otherwise the beginning of one.
    """
    try:
        found = _search(explorer, characters, position, units(text)[:MAX_CHARACTERS], is_end)
    except LimitError:
        found = None
    return found, found is None


def units(text: bytes) -> list[bytes]:
    """Return the characters of a text; bytes that are not UTF-8 stay one by one."""
    shown = text.decode("utf-8", "surrogateescape")
    return [char.encode("utf-8", "surrogateescape") for char in shown]


def _search(
    explorer: Explorer, characters: Characters, position: int, text: list[bytes], is_end: bool
) -> Nearest | None:
    deadline = monotonic() + MAX_SECONDS
    n = len(text)
    seen: set[tuple[int, int]] = set()
    frontier: list[tuple[int, int, Any]] = [(0, position, None)]
    n_changed = 0
    while frontier:
        reached = []
        best: tuple[Any] | None = None
        for at, here, path in frontier:  # grows by the characters that stay
            if (at, here) in seen:
                continue
            if len(seen) >= MAX_STATES or monotonic() > deadline:
                return None
            seen.add((at, here))
            if at == n and explorer.is_accepting(here):
                return Nearest(_joined(path), n_changed)
            if at == n and not is_end and best is None:
                best = (path,)  # a sentence with as few changes is better
            reached.append((at, here, path))
            if at < n:
                there = explorer.step(here, text[at])
                if there:
                    frontier.append((at + 1, there, (path, text[at])))
        if best is not None:
            return Nearest(_joined(best[0]), n_changed)
        frontier = []
        for at, here, path in reached:
            if at < n:
                frontier += [(at + 1, explorer.step(here, char), (path, char)) for char in characters.moves(here)]
        for at, here, path in reached:
            frontier += [(at, explorer.step(here, char), (path, char)) for char in characters.moves(here)]
        frontier += [(at + 1, here, path) for at, here, path in reached if at < n]
        n_changed += 1
    return None


def _joined(path: Any) -> bytes:
    parts = []
    while path is not None:
        path, part = path
        parts.append(part)
    return b"".join(reversed(parts))
