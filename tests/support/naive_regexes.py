"""A second `Regexes` for tests: the same constructors, with naive Brzozowski derivatives in plain Python.

Never for production: nodes are nested tuples, every derivative is computed anew, and classes of code points are tested
by decoding. `matches` is the definition: derive by each byte, then ask whether the empty string matches.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from earleymask.earley._regex import Regexes

# ("bytes", frozenset) ("chars", ranges, bytes read) ("literal", bytes) ("concat", a, b) ("union", frozenset)
# ("and", frozenset) ("not", a) ("repeat", a, minimum, maximum) ("ordered", program, threads)
Tree = tuple
EMPTY: Tree = ("union", frozenset())
EPSILON: Tree = ("literal", b"")


class NaiveRegexes(Regexes):
    """Replaces every constructor and question of `Regexes`; node ids index `trees`. (A subclass only for its type.)"""

    EMPTY = 0
    EPSILON = 1

    def __init__(self) -> None:
        self.trees: list[Tree] = [EMPTY, EPSILON]
        self.ids: dict[Tree, int] = {EMPTY: 0, EPSILON: 1}

    def node(self, tree: Tree) -> int:
        if tree not in self.ids:
            self.ids[tree] = len(self.trees)
            self.trees.append(tree)
        return self.ids[tree]

    @property
    def n_nodes(self) -> int:
        return len(self.trees)

    def byte_set(self, values: Iterable[int]) -> int:
        return self.node(("bytes", frozenset(values)))

    def literal(self, data: bytes, rest: int = 1) -> int:
        return self.node(concat(("literal", data), self.trees[rest]))

    def char_class(self, ranges: Sequence[tuple[int, int]]) -> int:
        ranges = tuple(ranges)
        assert all(first <= last for first, last in ranges)
        assert all(ranges[i][1] < ranges[i + 1][0] for i in range(len(ranges) - 1)), "sorted and disjoint"
        return self.node(("chars", ranges, b"") if ranges else EMPTY)

    def concat(self, nodes: Sequence[int]) -> int:
        tree = EPSILON
        for node in reversed(nodes):
            tree = concat(self.trees[node], tree)
        return self.node(tree)

    def union(self, nodes: Iterable[int]) -> int:
        return self.node(union(self.trees[node] for node in nodes))

    def intersection(self, nodes: Sequence[int]) -> int:
        return self.node(("and", frozenset(self.trees[node] for node in nodes)))

    def complement(self, node: int) -> int:
        any_text = ("repeat", ("chars", ((0, 0x10FFFF),), b""), 0, None)
        return self.node(("and", frozenset([("not", self.trees[node]), any_text])))

    def repeat(self, node: int, minimum: int, maximum: int | None = None) -> int:
        return self.node(repeat(self.trees[node], minimum, maximum))

    def ordered(self, program: Sequence[tuple[int, int, int]]) -> int:
        program = tuple(program)
        named = tuple((op, self.trees[x] if op == 0 else x, y) for op, x, y in program)
        return self.node(("ordered", named, close(named, 0, set())))

    def is_nullable(self, node: int) -> bool:
        return nullable(self.trees[node])

    def matches(self, node: int, data: bytes) -> bool:
        tree = self.trees[node]
        for byte in data:
            tree = derive(tree, byte)
        return nullable(tree)


def concat(first: Tree, rest: Tree) -> Tree:
    if EMPTY in (first, rest):
        return EMPTY
    if first == EPSILON:
        return rest
    return first if rest == EPSILON else ("concat", first, rest)


def union(trees: Iterable[Tree]) -> Tree:
    members: set[Tree] = set()
    for tree in trees:
        members |= tree[1] if tree[0] == "union" else {tree}
    return next(iter(members)) if len(members) == 1 else ("union", frozenset(members))


def repeat(body: Tree, minimum: int, maximum: int | None) -> Tree:
    return EPSILON if maximum == 0 else ("repeat", body, minimum, maximum)


def nullable(tree: Tree) -> bool:
    kind = tree[0]
    if kind == "literal":
        return tree[1] == b""
    if kind == "concat":
        return nullable(tree[1]) and nullable(tree[2])
    if kind == "union":
        return any(map(nullable, tree[1]))
    if kind == "and":
        return all(map(nullable, tree[1]))
    if kind == "not":
        return not nullable(tree[1])
    if kind == "repeat":
        return tree[2] == 0 or nullable(tree[1])
    if kind == "ordered":
        return any(tree[1][pc][0] == 3 for pc, _ in tree[2])
    return False


def derive(tree: Tree, byte: int) -> Tree:
    kind = tree[0]
    if kind == "bytes":
        return EPSILON if byte in tree[1] else EMPTY
    if kind == "literal":
        return ("literal", tree[1][1:]) if tree[1][:1] == bytes([byte]) else EMPTY
    if kind == "chars":
        return derive_chars(tree[1], tree[2] + bytes([byte]))
    if kind == "concat":
        taken = concat(derive(tree[1], byte), tree[2])
        return union([taken, derive(tree[2], byte)]) if nullable(tree[1]) else taken
    if kind == "union":
        return union(derive(member, byte) for member in tree[1])
    if kind == "and":
        return ("and", frozenset(derive(member, byte) for member in tree[1]))
    if kind == "not":
        return ("not", derive(tree[1], byte))
    if kind == "repeat":
        _, body, minimum, maximum = tree
        rest = repeat(body, max(minimum - 1, 0), None if maximum is None else maximum - 1)
        return concat(derive(body, byte), rest)
    return derive_ordered(tree[1], tree[2], byte)


def derive_chars(ranges: tuple[tuple[int, int], ...], read: bytes) -> Tree:
    lead = read[0]
    length = 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    if len(read) < length:
        return ("chars", ranges, read)
    try:
        code = ord(read.decode())
    except UnicodeDecodeError:
        return EMPTY
    return EPSILON if any(first <= code <= last for first, last in ranges) else EMPTY


def close(program: tuple, pc: int, seen: set[int]) -> tuple[tuple[int, Tree], ...]:
    """Return the threads that wait for a byte or have matched after following `pc`, in order of preference."""
    if pc in seen:
        return ()
    seen.add(pc)
    op, x, y = program[pc]
    if op == 0:
        return ((pc, x),)
    if op == 3:
        return ((pc, EPSILON),)
    if op == 2:
        return close(program, x, seen)
    return close(program, x, seen) + close(program, y, seen)


def derive_ordered(program: tuple, threads: tuple[tuple[int, Tree], ...], byte: int) -> Tree:
    seen: set[int] = set()
    following: list[tuple[int, Tree]] = []
    for pc, tree in threads:
        if program[pc][0] == 3:
            break  # a preferred thread matched before this byte, so the rest does not count
        rest = derive(tree, byte)
        if rest == EPSILON:
            following += close(program, pc + 1, seen)
        elif rest != EMPTY:
            following.append((pc, rest))
    return ("ordered", program, tuple(following)) if following else EMPTY
