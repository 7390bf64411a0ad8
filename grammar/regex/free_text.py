"""Free text that ends where a given string first stands, or in which given strings never stand.

`until` is what `stop` and `suffix` of a rule in a Lark grammar mean, and triggers and ends in structural tags: the
first occurrence counts, wherever tokens are cut. So text that contains a trigger is never free text.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...earley._meter import tick
from .ast import And, Chars, Concat, Literal, Node, Not, Repeat, Union
from .codepoints import ALL

ANY_TEXT = Repeat(Chars(ALL), 0, None, False)
MORE_TEXT = Repeat(Chars(ALL), 1, None, False)


def one_of(strings: Iterable[str]) -> Node:
    """Return the regex of exactly these strings."""
    different = tuple([Literal(string) for string in dict.fromkeys(strings)])
    return different[0] if len(different) == 1 else Union(different)


def without(strings: Iterable[str]) -> Node:
    """Return the regex of the texts in which none of the strings stands. Without strings, that is any text."""
    strings = list(strings)
    return Not(Concat((ANY_TEXT, one_of(strings), ANY_TEXT))) if strings else ANY_TEXT


def at_most(most: int | None) -> Node:
    """Return the regex of the texts of at most so many characters; None: of any text."""
    return ANY_TEXT if most is None else Repeat(Chars(ALL), 0, most, False)


def both(one: Node, other: Node) -> Node:
    """Return the regex of the texts that two regexes match. A regex of any text leaves the other one as it is."""
    if one is ANY_TEXT:
        return other
    return one if other is ANY_TEXT else And((one, other))


def until(
    ends: Iterable[str], others: Iterable[str] = (), most: int | None = None, excluded: Iterable[str] = ()
) -> Node:
    """Return the regex of the texts that end with one of `ends`, and in which none of `ends` and `others` is complete
    before that.

    most: characters before the end. excluded: what does not stand in the text before the end, though the two together
    may spell it.
    """
    ends = list(ends)
    text = both(at_most(most), without(excluded))
    return And((Concat((text, one_of(ends))), once([*ends, *others])))


def once(strings: Iterable[str]) -> Node:
    """Return the regex of the texts in which none of the strings is complete before the end."""
    return Not(Concat((ANY_TEXT, one_of(strings), MORE_TEXT)))


def endings(strings: list[str], excluded: Iterable[str] = ()) -> list[Node]:
    """Return, for each of the strings, the regex of the texts that end with it, such that none of the strings begins
    before it and none of the `excluded` ones stands anywhere.

    So of strings that overlap, the one that begins first counts. If one is the beginning of another, either counts.
    """
    lengths: dict[int, list[str]] = {}
    for string in strings:
        lengths.setdefault(len(string), []).append(string)
    others = [(length, one_of(same)) for length, same in lengths.items()]
    excluded = list(excluded)
    clean = [without(excluded)] if excluded else []
    found: list[Node] = []
    for string in strings:
        tick()
        # Another one begins before this one if it and what follows it are together longer than this one.
        earlier = [
            Not(Concat((ANY_TEXT, other, Repeat(Chars(ALL), max(0, len(string) - length + 1), None, False))))
            for length, other in others
        ]
        found.append(And((Concat((ANY_TEXT, Literal(string))), *earlier, *clean)))
    return found
