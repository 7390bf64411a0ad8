"""Lookbehind of one code point, worked into the nodes before it.

A `Behind` looks at one code point. So the only thing that matters of the text before a node is which *cell* its last
code point is in: cells are the parts into which the classes of the terminal's lookbehinds divide Unicode. A node after
a given cell denotes a plain language, and `X(?<!c)Y` is the union over the cells of (X ending in that cell) (Y after
that cell). A repetition whose body begins with a lookbehind is a system of linear equations between languages, one for
each cell. It is solved by Arden's rule (Arden 1961) and elimination, in the way in which an automaton is turned into an
expression.

No cell precedes the first code point of the terminal. A lookbehind that can be met there is refused.

Cost: linear in practice, and nothing for nodes that no lookbehind follows. The part after a lookbehind is needed once
for each cell, so the result is a graph rather than a tree: each node is made once and identified by identity, and a
function that visits the result must remember the nodes it has visited. MAX_NODES bounds their number."""

from __future__ import annotations

from collections.abc import Iterable

from ...earley.errors import LimitError
from ..errors import RegexSyntaxError
from . import codepoints
from .ast import MAX_DEPTH, Atomic, Behind, Chars, Concat, Literal, Look, Node, Ranges, Repeat, Union

MAX_CELLS = 16
"""The most cells of one terminal: a node may be needed once for each. Beyond it, LimitError is raised."""
MAX_COPIES = 64
"""The greatest count of a body that begins with a lookbehind: it is written out. Beyond it, LimitError is raised."""
MAX_NODES = 1 << 20
"""The most nodes that are made for one terminal, counted with their parts. Beyond it, LimitError is raised."""

AT_START = -1
"""Stands for a cell at the start of the terminal, where no code point precedes."""
ANY_CELL = -2
"""Stands for a cell that does not matter."""


def without_lookbehind(node: Node) -> Node:
    """Return a node for the same `fullmatch` language without `Behind` in it. Its parts may be shared, see above."""
    elimination = _Elimination(cells_of(node))
    if elimination.asks(node):
        raise refuse(elimination.first_asking(node))
    return elimination.after(node, ANY_CELL)


def cells_of(node: Node) -> list[Ranges]:
    """Return the parts into which the classes of the lookbehinds in `node` divide Unicode."""
    cells = [codepoints.ALL]
    for ranges in _behind_classes(node):
        outside = codepoints.complement(ranges)
        halves = [codepoints.intersection(cell, half) for cell in cells for half in (ranges, outside)]
        cells = [half for half in halves if half]
        if len(cells) > MAX_CELLS:
            raise LimitError(
                f"the lookbehinds of a terminal divide Unicode into more than {MAX_CELLS} parts; use fewer classes"
            )
    return cells


def allows(behind: Behind, cell: Ranges) -> bool:
    """Tell whether the lookbehind holds after a code point of `cell`, one of `cells_of`."""
    return codepoints.contains(behind.chars.ranges, cell[0][0]) != behind.negative


def refuse(behind: Behind | Look) -> RegexSyntaxError:
    """Return the error about a lookbehind that may look at text before its terminal."""
    return RegexSyntaxError(
        "the lookbehind may look at the text before the terminal, which is not supported",
        behind.position,
        "let at least as many characters of the terminal stand before it; to exclude words, begin the terminal with a "
        "lookahead, as in /(?!(?:if|or)\\b)[a-z]+/"
        if behind.negative
        else "put the text that must precede into the same terminal",
    )


def atom_ending(atom: Node, cell: Ranges) -> Node:
    """Return the node of those strings of a Chars or Literal that end in a code point of `cell`."""
    if isinstance(atom, Chars):
        return Chars(codepoints.intersection(atom.ranges, cell))
    assert isinstance(atom, Literal)
    return atom if atom.text and codepoints.contains(cell, ord(atom.text[-1])) else Chars(())


class Emptiness:
    """Which nodes of one terminal may match the empty string, if all lookarounds hold."""

    def __init__(self) -> None:
        self.known: dict[int, bool] = {}

    def can_be_empty(self, node: Node) -> bool:
        """Tell whether `node` may match the empty string. Answers are kept by identity, so the node must live as long
        as this object."""
        if isinstance(node, Literal):
            return not node.text
        if isinstance(node, Chars):
            return False
        if isinstance(node, (Behind, Look)):
            return True
        known = self.known.get(id(node))
        if known is None:
            known = self.compute(node)
            self.known[id(node)] = known
        return known

    def compute(self, node: Node) -> bool:
        if isinstance(node, Repeat):
            return node.minimum == 0 or self.can_be_empty(node.body)
        if isinstance(node, Atomic):
            return self.can_be_empty(node.body)
        if isinstance(node, Concat):
            for part in node.parts:  # (plain loops compile to C calls)
                if not self.can_be_empty(part):
                    return False
            return True
        assert isinstance(node, Union)
        for part in node.alternatives:
            if self.can_be_empty(part):
                return True
        return False


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
    """The state of rewriting one terminal.

    Results are kept by the identity of nodes, and `kept` keeps these nodes alive. Equal nodes that are made here are
    identical (`interned`).
    """

    def __init__(self, cells: list[Ranges]) -> None:
        self.cells = cells
        self.nothing = Chars(())
        self.empty_text = Literal("")
        self.emptiness = Emptiness()
        self.results: dict[tuple[int, int], Node] = {}
        self.asking: dict[int, bool] = {}
        self.stars: dict[int, list[Node]] = {}
        self.endings: dict[tuple[int, Ranges], Node] = {}
        self.interned: dict[tuple[object, ...], Node] = {}
        self.kept: list[Node] = []
        self.depths: dict[int, int] = {}
        self.size = 0

    # ---- with the cell before -----------------------------------------------------------------------------------

    def after(self, node: Node, cell: int) -> Node:
        """Return a node without lookbehinds that matches what `node` matches after a code point in `cell`.

        `cell` may be ANY_CELL if the code point before `node` does not matter (see `asks`).
        """
        if not self.asks(node):
            cell = ANY_CELL
        key = (id(node), cell)
        result = self.results.get(key)
        if result is None:
            self.kept.append(node)
            result = self.compute(node, cell)
            self.results[key] = result
        return result

    def compute(self, node: Node, cell: int) -> Node:
        if isinstance(node, Behind):
            return self.empty_text if allows(node, self.cells[cell]) else self.nothing
        if isinstance(node, Concat):
            return self.sequence(node.parts, cell)
        if isinstance(node, Union):
            return self.union([self.after(part, cell) for part in node.alternatives])
        if isinstance(node, Repeat):
            return self.repeat(node, cell)
        if isinstance(node, Literal):
            return self.atom(node, node.text) if node.text else self.empty_text
        assert isinstance(node, Chars)
        return self.atom(node, node.ranges) if node.ranges else self.nothing

    def asks(self, node: Node) -> bool:
        """Tell whether the node *asks* for the code point before it: it may meet a lookbehind before it consumes
        anything."""
        if isinstance(node, (Chars, Literal)):
            return False
        if isinstance(node, Behind):
            return True
        known = self.asking.get(id(node))
        if known is None:
            if isinstance(node, Concat):
                known = self.tails_asking(node.parts)[0]
            elif isinstance(node, Union):
                known = any(map(self.asks, node.alternatives))
            else:
                assert isinstance(node, Repeat)
                known = node.maximum != 0 and self.asks(node.body)
            self.kept.append(node)
            self.asking[id(node)] = known
        return known

    def first_asking(self, node: Node) -> Behind:
        """Return the first lookbehind that `node`, which asks, may meet before it consumes anything."""
        while not isinstance(node, Behind):
            if isinstance(node, Repeat):
                node = node.body
            else:
                assert isinstance(node, (Concat, Union))
                parts = node.parts if isinstance(node, Concat) else node.alternatives
                node = next(filter(self.asks, parts))
        return node

    def tails_asking(self, parts: tuple[Node, ...]) -> list[bool]:
        """Return for each index whether parts[index:] ask."""
        asks = [False] * (len(parts) + 1)
        for index in reversed(range(len(parts))):
            part = parts[index]
            asks[index] = self.asks(part) or (asks[index + 1] and self.emptiness.can_be_empty(part))
        return asks

    def sequence(self, parts: tuple[Node, ...], cell: int) -> Node:
        """Return `after` of a concatenation, which is rewritten from its end to its start."""
        asks = self.tails_asking(parts)
        # The tail is what follows `index`. If it asks, `tails` has a node for each cell; else it is `plain` reversed.
        plain: list[Node] = []
        tails: list[Node] = []
        n_cells = len(self.cells)
        for index in range(len(parts) - 1, 0, -1):
            part = parts[index]
            if not asks[index + 1] and not asks[index]:
                plain.append(self.after(part, ANY_CELL))
                continue
            if not asks[index + 1]:
                tail = self.concat(plain[::-1])
                tails = [self.concat([self.after(part, number), tail]) for number in range(n_cells)]
            elif asks[index]:
                tails = [self.before(self.after(part, number), tails, tails[number]) for number in range(n_cells)]
            else:
                plain = [self.before(self.after(part, ANY_CELL), tails, self.nothing)]
        if not parts:
            return self.empty_text
        first = self.after(parts[0], cell)
        if asks[1]:
            return self.before(first, tails, tails[cell] if cell >= 0 else self.nothing)
        return self.concat([first, *plain[::-1]])

    def before(self, first: Node, tails: list[Node], if_empty: Node) -> Node:
        """Return `first` and then the tail for the cell in which it ends, or `if_empty` if it consumes nothing."""
        choices = [self.concat([self.ending(first, cells), tail]) for tail, cells in self.by_node(tails)]
        if self.emptiness.can_be_empty(first):
            choices.append(if_empty)
        return self.union(choices)

    def by_node(self, nodes: list[Node]) -> list[tuple[Node, Ranges]]:
        """Return each different node of `nodes` with the union of the cells that have it. `nodes` has a node for each
        cell."""
        grouped: dict[int, tuple[Node, Ranges]] = {}
        for node, cell in zip(nodes, self.cells, strict=True):
            _, cells = grouped.get(id(node), (node, ()))
            grouped[id(node)] = (node, codepoints.normalize(cells + cell))
        return list(grouped.values())

    def repeat(self, node: Repeat, cell: int) -> Node:
        body, minimum, maximum = node.body, node.minimum, node.maximum
        if maximum == 0:
            return self.empty_text
        if not self.asks(body):
            return self.repeated(self.after(body, ANY_CELL), minimum, maximum)
        if minimum == 0 and maximum is None:
            return self.star(node, cell)
        if (minimum if maximum is None else maximum) > MAX_COPIES:
            raise LimitError(
                f"a lookbehind begins a group that is repeated {{{minimum},{'' if maximum is None else maximum}}}, "
                f"limit {MAX_COPIES}; put the lookbehind elsewhere"
            )
        rest: Node = Repeat(body, 0, None)
        if maximum is not None:
            rest = self.empty_text
            for _ in range(maximum - minimum):
                rest = Union((self.empty_text, Concat((body, rest))))
        return self.after(Concat((body,) * minimum + (rest,)), cell)

    def star(self, node: Repeat, cell: int) -> Node:
        """Return `after` of `body*`. Let V[i] be `body*` after cell i, and A[i][j] one turn after cell i that ends in
        cell j: then V[i] is the union of ε and all A[i][j] V[j]."""
        solved = self.stars.get(id(node))
        if solved is None:
            solved = self.solve([self.after(node.body, number) for number in range(len(self.cells))])
            self.stars[id(node)] = solved
        return solved[cell]

    def solve(self, turns: list[Node]) -> list[Node]:
        """Return V for each cell. `turns` has the body after each cell; cells with the same body share an unknown."""
        grouped = self.by_node(turns)
        n = len(grouped)
        a = [[self.ending(turn, cells) for _, cells in grouped] for turn, _ in grouped]
        b: list[Node] = [self.empty_text] * n
        for k in reversed(range(n)):
            # Arden's rule: V[k] = A[k][k] V[k] | R has the least solution A[k][k]* R.
            loop = self.repeated(a[k][k], 0, None)
            a[k] = [self.concat([loop, a[k][j]]) for j in range(k)]
            b[k] = self.concat([loop, b[k]])
            for i in range(k):
                b[i] = self.union([b[i], self.concat([a[i][k], b[k]])])
                a[i] = [self.union([a[i][j], self.concat([a[i][k], a[k][j]])]) for j in range(k)]
        values: list[Node] = []
        for i in range(n):
            values.append(self.union([b[i], *[self.concat([a[i][j], values[j]]) for j in range(i)]]))
        unknown = {id(turn): number for number, (turn, _) in enumerate(grouped)}
        return [values[unknown[id(turn)]] for turn in turns]

    # ---- without lookbehinds ------------------------------------------------------------------------------------

    def ending(self, node: Node, cells: Ranges) -> Node:
        """Return the node of those strings of `node`, which has no lookbehind, that end in a code point of `cells`."""
        key = (id(node), cells)
        result = self.endings.get(key)
        if result is None:
            result = self.compute_ending(node, cells)
            self.endings[key] = result
        return result

    def compute_ending(self, node: Node, cells: Ranges) -> Node:
        if isinstance(node, (Chars, Literal)):
            return self.after(atom_ending(node, cells), ANY_CELL)
        if isinstance(node, Union):
            return self.union([self.ending(part, cells) for part in node.alternatives])
        if isinstance(node, Repeat):
            # The last turn that is not empty ends the string. The empty turns after it may as well come first.
            least = max(node.minimum - 1, 0)
            most = None if node.maximum is None else node.maximum - 1
            return self.concat([self.repeated(node.body, least, most), self.ending(node.body, cells)])
        assert isinstance(node, Concat)
        choices = []
        for index in reversed(range(len(node.parts))):
            choices.append(self.concat([*node.parts[:index], self.ending(node.parts[index], cells)]))
            if not self.emptiness.can_be_empty(node.parts[index]):
                break
        return self.union(choices)

    def intern(self, key: tuple[object, ...], node: Node, parts: Iterable[Node]) -> Node:
        """Return the node that was made first for this key, which names its parts by identity."""
        known = self.interned.get(key)
        if known is not None:
            return known
        self.size += len(key)
        if self.size > MAX_NODES:
            raise LimitError(f"lookbehinds make a terminal grow beyond {MAX_NODES} nodes; use fewer in one terminal")
        depth = 1 + max([self.depths.get(id(part), 0) for part in parts], default=0)
        if depth > MAX_DEPTH:
            raise LimitError(f"lookbehinds make a terminal grow deeper than {MAX_DEPTH}; use fewer in one terminal")
        self.depths[id(node)] = depth
        self.interned[key] = node
        return node

    def atom(self, node: Node, content: object) -> Node:
        return self.intern((content,), node, ())

    def concat(self, parts: list[Node]) -> Node:
        flat: list[Node] = []
        for part in parts:
            if part is self.nothing:
                return part
            # A long one stays as it is: copying the same tail for each lookbehind before it would be quadratic.
            if isinstance(part, Concat) and len(part.parts) <= 16:
                flat += part.parts
            elif part is not self.empty_text:
                flat.append(part)
        if len(flat) < 2:
            return flat[0] if flat else self.empty_text
        return self.intern(("concat", *map(id, flat)), Concat(tuple(flat)), flat)

    def union(self, alternatives: list[Node]) -> Node:
        different = {id(node): node for node in alternatives if node is not self.nothing}
        if len(different) < 2:
            return next(iter(different.values()), self.nothing)
        return self.intern(("union", *different), Union(tuple(different.values())), different.values())

    def repeated(self, body: Node, minimum: int, maximum: int | None) -> Node:
        if maximum == 0 or body is self.empty_text:
            return self.empty_text
        if body is self.nothing:
            return self.empty_text if minimum == 0 else body
        return self.intern(("repeat", id(body), minimum, maximum), Repeat(body, minimum, maximum), (body,))
