"""How far the lookarounds of a terminal look, and lookbehinds that look ahead.

A lookbehind is asked when its text has been read: it is a question about what precedes. `(?<=a\\b)` also asks what
follows, and is taken apart, into `(?<=a)` and `\\b`. A lookahead that ends before its lookbehind does has been decided
by then and stays: `(?<=\\bab)`.
"""

from __future__ import annotations

from ...earley.errors import LimitError
from ..errors import RegexSyntaxError
from .ast import Atomic, Behind, Concat, Literal, Look, Node, Repeat, Union
from .lookaround import INFINITE, behind, widths
from .lookbehind import refuse

MAX_ENDINGS = 64


def lookaheads_outside(node: Node) -> Node:
    """A node with the same meaning, in which no lookbehind looks beyond the place that asks.

    Raises RegexSyntaxError where a lookahead in the middle of a lookbehind looks beyond its end.
    """
    if isinstance(node, Look):
        body = lookaheads_outside(node.body)
        if not node.ahead and _first_beyond(body) is not None:
            return _apart(Look(body, False, node.negative, node.position))
        return node if body is node.body else Look(body, node.ahead, node.negative, node.position)
    if isinstance(node, Repeat):
        body = lookaheads_outside(node.body)
        return node if body is node.body else Repeat(body, node.minimum, node.maximum, node.lazy)
    if isinstance(node, Atomic):
        body = lookaheads_outside(node.body)
        return node if body is node.body else Atomic(body)
    if isinstance(node, Concat):
        parts = [lookaheads_outside(part) for part in node.parts]
        return node if _same(parts, node.parts) else Concat(tuple(parts))
    if isinstance(node, Union):
        parts = [lookaheads_outside(part) for part in node.alternatives]
        return node if _same(parts, node.alternatives) else Union(tuple(parts))
    return node


def _same(parts: list[Node], others: tuple[Node, ...]) -> bool:
    return all(part is other for part, other in zip(parts, others, strict=True))


def _first_beyond(body: Node) -> Look | None:
    """A lookahead in the body of a lookbehind that may look beyond its end."""
    extent = Extent()
    extent.walk(body, INFINITE, 0)
    return extent.first


def _apart(node: Look) -> Look:
    """A lookbehind whose alternatives end in lookaheads: "it was X here, and there is Y ahead", as a lookahead."""
    alternatives: list[Node] = []
    for before, after in _endings(node.body):
        body: Node = before[0] if len(before) == 1 else Concat(tuple(before)) if before else Literal("")
        beyond = _first_beyond(body)
        if beyond is not None:
            raise RegexSyntaxError(
                "a lookahead inside a lookbehind looks beyond its end", beyond.position, "put it behind the lookbehind"
            )
        alternatives.append(Concat((behind(body, False, node.position), *after)))
    return Look(Union(tuple(alternatives)), True, node.negative, node.position)


def _endings(node: Node) -> list[tuple[list[Node], list[Node]]]:
    """The ways through a node: (what precedes, the lookaheads at the end)."""
    if isinstance(node, Look) and node.ahead:
        return [([], [node])]
    if isinstance(node, Union):
        return [way for alternative in node.alternatives for way in _endings(alternative)]
    if not isinstance(node, Concat):
        return [([node], [])]
    ways: list[tuple[list[Node], list[Node]]] = [([], [])]
    for part in reversed(node.parts):
        longer: list[tuple[list[Node], list[Node]]] = []
        for before, after in ways:
            if any(widths(each)[1] for each in before):
                longer.append(([part, *before], after))
            else:  # what has no width can change places
                longer += [([*first, *before], [*looks, *after]) for first, looks in _endings(part)]
        ways = longer
        if len(ways) > MAX_ENDINGS:
            raise LimitError(f"a lookbehind ends in lookaheads in more than {MAX_ENDINGS} ways; put them behind it")
    return ways


class Extent:
    """How far the lookarounds of a terminal look beyond it."""

    def __init__(self) -> None:
        self.first: Look | None = None
        """A lookahead that may look beyond the end: the first of them that is met."""

    def walk(self, node: Node, before: float, after: float) -> None:
        """`before`, `after`: code points of the terminal that surely stand there.

        Refuses lookbehinds that reach out."""
        if isinstance(node, Behind):
            if before < 1:
                raise refuse(node)
        elif isinstance(node, Look):
            if node.ahead:
                if self.reach(node.body) > after and self.first is None:
                    self.first = node
                # Its own lookbehinds see what stands before it, its lookaheads are part of its reach.
                self.walk_inside(node.body, before)
            elif self.reach_behind(node.body) > before:
                raise RegexSyntaxError(
                    "lookbehind would look at the text before the terminal, which is not supported",
                    node.position,
                    "put what must precede into the same terminal",
                )
        elif isinstance(node, Atomic):
            self.walk(node.body, before, after)
        elif isinstance(node, Repeat):
            if node.maximum != 0:
                self.walk(node.body, before, after)
        elif isinstance(node, Union):
            for alternative in node.alternatives:
                self.walk(alternative, before, after)
        elif isinstance(node, Concat):
            least = [widths(part)[0] for part in node.parts]
            following = sum(least)
            for part, width in zip(node.parts, least, strict=True):
                following -= width
                self.walk(part, before, after + following)
                before += width

    def walk_inside(self, body: Node, before: float) -> None:
        """Lookbehinds within a lookahead."""
        outer = self.first
        self.walk(body, before, INFINITE)
        self.first = outer

    def reach(self, node: Node) -> float:
        """How many code points `node` looks at, at most, from its beginning on."""
        if isinstance(node, Concat):
            furthest: float = 0
            width: float = 0
            for part in node.parts:
                furthest = max(furthest, width + self.reach(part))
                width += widths(part)[1]
            return furthest
        if isinstance(node, Union):
            return max([self.reach(part) for part in node.alternatives], default=0)
        if isinstance(node, Repeat):
            if node.maximum == 0:
                return 0
            longest = widths(node.body)[1]
            turns = INFINITE if node.maximum is None else node.maximum - 1
            return self.reach(node.body) + (turns * longest if longest else 0)
        if isinstance(node, Look):
            return self.reach(node.body) if node.ahead else 0
        if isinstance(node, Atomic):
            return self.reach(node.body)
        return widths(node)[1]

    def reach_behind(self, node: Node) -> float:
        """How many code points before its end `node` looks at, at most, with lookbehinds at its beginning."""
        return widths(node)[1] + self.looks_behind(node)

    def looks_behind(self, node: Node) -> float:
        if isinstance(node, Behind):
            return 1
        if isinstance(node, Look):
            return self.reach_behind(node.body)
        if isinstance(node, (Repeat, Atomic)):
            return self.looks_behind(node.body)
        parts: tuple[Node, ...] = ()
        if isinstance(node, Concat):
            parts = node.parts
        elif isinstance(node, Union):
            parts = node.alternatives
        return max([self.looks_behind(part) for part in parts], default=0)
