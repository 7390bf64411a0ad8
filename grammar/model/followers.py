"""Which terminals may stand right behind a symbol: the FOLLOW sets of parsing theory (Aho, Sethi, Ullman 1986, 4.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .model import Symbols


def followers(
    productions: dict[int, list[Symbols]], start: int, end: int, first: dict[int, int], nullable: set[int]
) -> dict[int, int]:
    """By symbol: the bits of all that may come next.

    `first` has a bit for each terminal, `end` is that for the end of the text; `nullable` are the terminals that can be
    empty. Least fixpoints, in as many rounds as the grammar is deep.
    """
    first = dict(first)
    nullable = set(nullable)
    changed = True
    while changed:
        changed = False
        for lhs, alternatives in productions.items():
            found = first.get(lhs, 0)
            empty = lhs in nullable
            for rhs in alternatives:
                for part in rhs:
                    found |= first.get(part, 0)
                    if part not in nullable:
                        break
                else:
                    empty = True
            if found != first.get(lhs, 0) or empty != (lhs in nullable):
                changed = True
                first[lhs] = found
                if empty:
                    nullable.add(lhs)
    follow = {start: end}
    changed = True
    while changed:
        changed = False
        for lhs, alternatives in productions.items():
            for rhs in alternatives:
                after = follow.get(lhs, 0)
                for part in reversed(rhs):
                    known = follow.get(part, 0)
                    if after & ~known:
                        changed = True
                        follow[part] = known | after
                    after = first.get(part, 0) | (after if part in nullable else 0)
    return follow
