"""The nearest allowed text: the one that a search finds with the fewest characters replaced, inserted or deleted.

The search is Dijkstra's over pairs of a place in the text and a position of the parser. Characters that lead to the
same position are tried as one, so its answer has as few changes as possible, unless the text of a key decides what may
follow: then one key of each kind is tried.
"""

from __future__ import annotations

from itertools import chain
from time import thread_time
from typing import TYPE_CHECKING, Any

from ._meter import tick
from .explanation import Nearest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._explain import Explorer
    from .characters import Characters

MAX_STATES = 3000
"""The search gives up after so many pairs of a place and a position, some tenths of a second."""
MAX_SECONDS = 1.0
"""It also gives up after this time, because one step may take long."""
_Place = tuple[int, int, Any]
"""A place in the text, a position, and what was read up to there: pairs of the same and a character, or None."""
MAX_CHARACTERS = 200
"""Characters of the text after the refused one that are compared; what comes after them is kept as it is if the text up
to there can be changed, and counts as not compared."""


def nearest_text(
    explorer: Explorer, characters: Characters, position: int, text: bytes, is_end: bool
) -> tuple[Nearest | None, bool]:
    """Return the nearest text to `text` that may come at a position, and whether the search gave up. Raise LimitError
    if a limit ended it.

    If `is_end` is true, the text must be the end of a sentence; otherwise the beginning of one.
    """
    found = _search(explorer, characters, position, units(text[: 4 * MAX_CHARACTERS])[:MAX_CHARACTERS], is_end)
    return found, found is None


def units(text: bytes) -> list[bytes]:
    """Return the characters of a text; bytes that are not UTF-8 stay one by one."""
    shown = text.decode("utf-8", "surrogateescape")
    return [char.encode("utf-8", "surrogateescape") for char in shown]


def _search(
    explorer: Explorer, characters: Characters, position: int, text: list[bytes], is_end: bool
) -> Nearest | None:
    deadline = thread_time() + MAX_SECONDS
    n = len(text)
    seen: set[tuple[int, int]] = set()
    changed: Iterator[_Place] = iter([(0, position, None)])
    n_changed = 0
    while True:
        reached: list[_Place] = []
        kept: list[_Place] = []
        best: tuple[Any] | None = None
        for at, here, path in chain(changed, kept):  # `kept` grows
            tick()
            if (at, here) in seen:
                continue
            if len(seen) >= MAX_STATES or thread_time() > deadline:
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
                    kept.append((at + 1, there, (path, text[at])))
        if best is not None:
            return Nearest(_joined(best[0]), n_changed)
        if not reached:
            return None
        changed = _with_a_change(explorer, characters, reached, n)
        n_changed += 1


def _with_a_change(explorer: Explorer, characters: Characters, reached: list[_Place], n: int) -> Iterator[_Place]:
    """Yield where one more change leads: first replacements, then insertions, then deletions."""
    for at, here, path in reached:
        if at < n:
            for char in characters.moves(here):
                yield at + 1, explorer.step(here, char), (path, char)
    for at, here, path in reached:
        for char in characters.moves(here):
            yield at, explorer.step(here, char), (path, char)
    for at, here, path in reached:
        if at < n:
            yield at + 1, here, path


def _joined(path: Any) -> bytes:
    parts = []
    while path is not None:
        path, part = path
        parts.append(part)
    return b"".join(reversed(parts))
