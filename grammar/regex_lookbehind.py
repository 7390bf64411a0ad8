"""Lookbehind of one code point, worked into the nodes that precede it.

What a `Behind` may look at is one code point, so all that matters of the text before a node is which of a few *cells*
its last code point is in: the partition of Unicode by the classes that the terminal's lookbehinds name. A node together
with the cell before it denotes a plain language, and `X(?<!c)Y` is the union over the cells of (X ending in that cell)
(Y after that cell). Repetition of a body that begins with a lookbehind is a system of linear equations between
languages, one for each cell, solved by Arden's rule (Arden 1961) and elimination, as an automaton is turned into an
expression.

Before the first code point of the terminal there is no cell: a lookbehind that can be asked there is refused.

Cost: nothing for nodes not followed by a lookbehind. A terminal grows by a factor of cells for each part that may be
empty in between; in practice there are two cells and no such part.
"""

from __future__ import annotations

from ..earley.errors import LimitError
from . import codepoints
from .errors import RegexSyntaxError
from .regex_ast import Behind, Chars, Concat, Literal, Node, Ranges, Repeat, Union

MAX_CELLS = 16
MAX_COPIES = 64
"""Of a body that begins with a lookbehind and is repeated so many times."""

AT_START = -1
"""In place of a cell: no code point of the terminal precedes."""
ANY_CELL = -2
"""In place of a cell: it does not matter."""

_NOTHING = Chars(())
_EMPTY_TEXT = Literal("")


def without_lookbehind(node: Node) -> Node:
    """A node for the same (`fullmatch`) language without `Behind` in it."""
    return _Elimination(cells_of(node)).after(node, AT_START)


def cells_of(node: Node) -> list[Ranges]:
    """The partition of Unicode by the classes that lookbehinds in `node` name."""
    cells = [codepoints.ALL]
    for ranges in _behind_classes(node):
        outside = codepoints.complement(ranges)
        halves = [codepoints.intersection(cell, half) for cell in cells for half in (ranges, outside)]
        cells = [half for half in halves if half]
        if len(cells) > MAX_CELLS:
            raise LimitError(f"lookbehinds in one terminal: their classes cut Unicode into more than {MAX_CELLS} parts")
    return cells


def allows(behind: Behind, cell: Ranges) -> bool:
    """Does the lookbehind hold after a code point of `cell`, one of `cells_of`?"""
    return codepoints.contains(behind.chars.ranges, cell[0][0]) != behind.negative


def refuse(behind: Behind) -> RegexSyntaxError:
    """The error for a lookbehind at the start of its terminal."""
    return RegexSyntaxError(
        "lookbehind would look at the text before the terminal, which is not supported",
        behind.position,
        "put what must precede into the same terminal",
    )


def can_be_empty(node: Node) -> bool:
    """Whether the node may match without consuming anything, lookbehinds taken to hold."""
    if isinstance(node, Repeat):
        return node.minimum == 0 or can_be_empty(node.body)
    if isinstance(node, Concat):
        return all(can_be_empty(part) for part in node.parts)
    if isinstance(node, Union):
        return any(can_be_empty(part) for part in node.alternatives)
    return isinstance(node, Behind) or (isinstance(node, Literal) and not node.text)


def _behind_classes(node: Node) -> set[Ranges]:
    if isinstance(node, Behind):
        return {node.chars.ranges}
    if isinstance(node, Repeat):
        return _behind_classes(node.body)
    found: set[Ranges] = set()
    if isinstance(node, Concat):
        for part in node.parts:
            found |= _behind_classes(part)
    elif isinstance(node, Union):
        for part in node.alternatives:
            found |= _behind_classes(part)
    return found


class _Elimination:
    """One terminal being rewritten. Results are remembered by the identity of the nodes, which `kept` keeps alive."""

    def __init__(self, cells: list[Ranges]) -> None:
        self.cells = cells
        self.results: dict[tuple[int, int], Node] = {}
        self.tails: dict[tuple[int, int, int], Node] = {}
        self.stars: dict[int, list[Node]] = {}
        self.kept: list[object] = []

    def after(self, node: Node, cell: int) -> Node:
        """What `node` matches where the code point before it is in `cell`, without lookbehinds."""
        if not self.asks(node):
            cell = ANY_CELL
        key = (id(node), cell)
        result = self.results.get(key)
        if result is None:
            self.kept.append(node)
            self.results[key] = result = self.work_out(node, cell)
        return result

    def work_out(self, node: Node, cell: int) -> Node:
        if isinstance(node, Behind):
            if cell == AT_START:
                raise refuse(node)
            return _EMPTY_TEXT if allows(node, self.cells[cell]) else _NOTHING
        if isinstance(node, Concat):
            return self.tail(node.parts, 0, cell)
        if isinstance(node, Union):
            return _union([self.after(part, cell) for part in node.alternatives])
        if isinstance(node, Repeat):
            return self.repeat(node, cell)
        return node

    def asks(self, node: Node) -> bool:
        """Whether the node may meet a lookbehind before it consumes anything."""
        if isinstance(node, Concat):
            return self.tail_asks(node.parts, 0)
        if isinstance(node, Union):
            return any(self.asks(part) for part in node.alternatives)
        if isinstance(node, Repeat):
            return node.maximum != 0 and self.asks(node.body)
        return isinstance(node, Behind)

    def tail_asks(self, parts: tuple[Node, ...], index: int) -> bool:
        for part in parts[index:]:
            if self.asks(part):
                return True
            if not can_be_empty(part):
                return False
        return False

    def tail(self, parts: tuple[Node, ...], index: int, cell: int) -> Node:
        """`after` of the concatenation of parts[index:]."""
        if index == len(parts):
            return _EMPTY_TEXT
        key = (id(parts), index, cell)
        result = self.tails.get(key)
        if result is None:
            self.kept.append(parts)
            first = self.after(parts[index], cell)
            if not self.tail_asks(parts, index + 1):
                result = _concat([first, self.tail(parts, index + 1, ANY_CELL)])
            else:
                choices = []
                if can_be_empty(first):
                    choices.append(self.tail(parts, index + 1, cell))
                rests = [self.tail(parts, index + 1, number) for number in range(len(self.cells))]
                choices += [_concat([ending(first, cells), rest]) for rest, cells in self.by_node(rests)]
                result = _union(choices)
            self.tails[key] = result
        return result

    def by_node(self, nodes: list[Node]) -> list[tuple[Node, Ranges]]:
        """Different nodes out of one for each cell, with all the cells that have them."""
        grouped: dict[Node, Ranges] = {}
        for number, node in enumerate(nodes):
            grouped[node] = codepoints.normalize(grouped.get(node, ()) + self.cells[number])
        return list(grouped.items())

    def repeat(self, node: Repeat, cell: int) -> Node:
        body, minimum, maximum = node.body, node.minimum, node.maximum
        if not self.asks(body) or maximum == 0:
            return Repeat(self.after(body, ANY_CELL) if maximum != 0 else _EMPTY_TEXT, minimum, maximum)
        if minimum == 0 and maximum is None:
            return self.star(node, cell)
        if (minimum if maximum is None else maximum) > MAX_COPIES:
            raise LimitError(
                f"a lookbehind begins a group that is repeated {{{minimum},{'' if maximum is None else maximum}}}, "
                f"limit {MAX_COPIES}; put the lookbehind elsewhere"
            )
        rest: Node = Repeat(body, 0, None)
        if maximum is not None:
            rest = _EMPTY_TEXT
            for _ in range(maximum - minimum):
                rest = Union((_EMPTY_TEXT, Concat((body, rest))))
        return self.after(Concat((body,) * minimum + (rest,)), cell)

    def star(self, node: Repeat, cell: int) -> Node:
        """`body*`: with V[i] for it after cell i and A[i][j] for one turn from i to j, V[i] = ε | A[i][j] V[j]."""
        if id(node) not in self.stars:
            self.kept.append(node)
            self.stars[id(node)] = self.solve([self.after(node.body, number) for number in range(len(self.cells))])
        solved = self.stars[id(node)]
        if cell >= 0:
            return solved[cell]
        turn = self.after(node.body, cell)
        return _union([_EMPTY_TEXT, *[_concat([ending(turn, cells), rest]) for rest, cells in self.by_node(solved)]])

    def solve(self, turns: list[Node]) -> list[Node]:
        """V for each cell; `turns` has the body after each. Cells after which it is the same share an unknown."""
        grouped = self.by_node(turns)
        n = len(grouped)
        a = [[ending(turn, cells) for _, cells in grouped] for turn, _ in grouped]
        b: list[Node] = [_EMPTY_TEXT] * n
        for k in reversed(range(n)):
            # Arden's rule: V[k] = A[k][k] V[k] | R has the least solution A[k][k]* R.
            loop = _star(a[k][k])
            a[k] = [_concat([loop, a[k][j]]) for j in range(k)]
            b[k] = _concat([loop, b[k]])
            for i in range(k):
                b[i] = _union([b[i], _concat([a[i][k], b[k]])])
                a[i] = [_union([a[i][j], _concat([a[i][k], a[k][j]])]) for j in range(k)]
        values: list[Node] = []
        for i in range(n):
            values.append(_union([b[i], *[_concat([a[i][j], values[j]]) for j in range(i)]]))
        unknown = {turn: number for number, (turn, _) in enumerate(grouped)}
        return [values[unknown[turn]] for turn in turns]


def ending(node: Node, ranges: Ranges) -> Node:
    """The strings of `node`, which has no lookbehind, that end in a code point of `ranges`."""
    if isinstance(node, Chars):
        return Chars(codepoints.intersection(node.ranges, ranges))
    if isinstance(node, Literal):
        return node if node.text and codepoints.contains(ranges, ord(node.text[-1])) else _NOTHING
    if isinstance(node, Union):
        return _union([ending(part, ranges) for part in node.alternatives])
    if isinstance(node, Repeat):
        if node.maximum == 0:
            return _NOTHING
        # Of n turns the last that is not empty ends the string; those after it can as well come first.
        before = Repeat(node.body, max(node.minimum - 1, 0), None if node.maximum is None else node.maximum - 1)
        return _concat([before, ending(node.body, ranges)])
    assert isinstance(node, Concat)
    choices = []
    for index in reversed(range(len(node.parts))):
        choices.append(_concat([*node.parts[:index], ending(node.parts[index], ranges)]))
        if not can_be_empty(node.parts[index]):
            break
    return _union(choices)


def _concat(parts: list[Node]) -> Node:
    flat: list[Node] = []
    for part in parts:
        if part == _NOTHING:
            return _NOTHING
        if isinstance(part, Concat):
            flat += part.parts
        elif part != _EMPTY_TEXT:
            flat.append(part)
    if len(flat) == 1:
        return flat[0]
    return Concat(tuple(flat)) if flat else _EMPTY_TEXT


def _union(alternatives: list[Node]) -> Node:
    different = [node for node in dict.fromkeys(alternatives) if node != _NOTHING]
    if len(different) == 1:
        return different[0]
    return Union(tuple(different)) if different else _NOTHING


def _star(node: Node) -> Node:
    return _EMPTY_TEXT if node in (_NOTHING, _EMPTY_TEXT) else Repeat(node, 0, None)
