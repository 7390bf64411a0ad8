"""Free text as regular expressions: without some texts, or ending where one of them first stands.

The texts begin calls of tools, for example. They may overlap. The one that begins first counts; if one is the beginning
of another, either counts.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...earley._meter import tick
from ..regex.ast import And, Chars, Concat, Literal, Node, Not, Repeat, Union
from ..regex.codepoints import ALL

_ANY = Repeat(Chars(ALL), 0, None)


def without(texts: Iterable[str]) -> Node:
    """Return the regex of texts in which none of `texts`, none of which is empty, occurs."""
    literals = _literals(texts)
    return And((Not(Concat((_ANY, _union(literals), _ANY))),)) if literals else _ANY


def endings(texts: list[str], excluded: Iterable[str] = ()) -> list[Node]:
    """Return, for each of `texts`, the regex of texts that end with it, such that none of `texts` begins before it and
    none of the `excluded` ones occurs."""
    lengths: dict[int, list[str]] = {}
    for text in texts:
        lengths.setdefault(len(text), []).append(text)
    unions = [(length, _union(_literals(others))) for length, others in lengths.items()]
    literals = _literals(excluded)
    outside = [Not(Concat((_ANY, _union(literals), _ANY)))] if literals else []
    found: list[Node] = []
    for text in texts:
        tick()
        # An occurrence begins before `text` if it and what follows it are together longer than `text`.
        earlier = [
            Not(Concat((_ANY, union, Repeat(Chars(ALL), max(0, len(text) - length + 1), None))))
            for length, union in unions
        ]
        found.append(And((Concat((_ANY, Literal(text))), *earlier, *outside)))
    return found


def _literals(texts: Iterable[str]) -> list[Node]:
    return [Literal(text) for text in dict.fromkeys(texts)]


def _union(literals: list[Node]) -> Node:
    return literals[0] if len(literals) == 1 else Union(tuple(literals))
