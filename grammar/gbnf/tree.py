"""The expressions of a GBNF grammar as data, before names are looked up.

Every node knows the offset in the text where it begins and ends, from which errors find line and column and terminals
their names, and how high it is, so that whoever walks it may recurse. Plain slotted classes, extension types when
compiled (`gbnf/tree.pxd`).
"""

from __future__ import annotations

from ..regex.ast import Node as Regex


class Node:
    """Base of the kinds of expression.

    begin, end: the text it was read from, parentheses included, as offsets; `end` is exclusive.
    height: nodes on the longest way down, itself included.

    What `terminals` finds out about it:
    regex: the regular expression that it can be written as, or None where there is none that is small enough.
    size, depth: of the regex: strings and classes in it; nodes on the longest way down.
    refers: whether it names a rule.
    """

    __slots__ = ("begin", "depth", "end", "height", "refers", "regex", "size")
    begin: int
    end: int
    height: int
    regex: Regex | None
    size: int
    depth: int
    refers: bool

    def __init__(self, begin: int, end: int, height: int) -> None:
        self.begin = begin
        self.end = end
        self.height = height
        self.regex = None
        self.size = 1
        self.depth = 1
        self.refers = False


class Text(Node):
    """A string or a class of characters: `regex` is a Literal or Chars."""

    __slots__ = ()

    def __init__(self, begin: int, end: int, regex: Regex) -> None:
        Node.__init__(self, begin, end, 1)
        self.regex = regex


class Reference(Node):
    """A rule, by name; `at` is where the name stands."""

    __slots__ = ("at", "name")
    at: int
    name: str

    def __init__(self, begin: int, end: int, name: str) -> None:
        Node.__init__(self, begin, end, 1)
        self.at = begin
        self.name = name


class Token(Node):
    """`<name>` or `<[id]>`: one token of the vocabulary, which no text spells; or, `negated`, any other one.

    `name` is all of it but the `!`, brackets included.
    """

    __slots__ = ("name", "negated")
    name: str
    negated: bool

    def __init__(self, begin: int, end: int, name: str, negated: bool) -> None:
        Node.__init__(self, begin, end, 1)
        self.name = name
        self.negated = negated


class Sequence(Node):
    """`items` one after the other; without any, the empty string. Never exactly one: that stands for itself."""

    __slots__ = ("items",)
    items: list[Node]

    def __init__(self, begin: int, end: int, items: list[Node]) -> None:
        Node.__init__(self, begin, end, tallest(items) + 1)
        self.items = items


class Choice(Node):
    """One of two or more `alternatives`."""

    __slots__ = ("alternatives",)
    alternatives: list[Node]

    def __init__(self, begin: int, end: int, alternatives: list[Node]) -> None:
        Node.__init__(self, begin, end, tallest(alternatives) + 1)
        self.alternatives = alternatives


class Repeat(Node):
    """`body` from `minimum` to `maximum` times; None means without end."""

    __slots__ = ("body", "maximum", "minimum")
    body: Node
    minimum: int
    maximum: int | None

    def __init__(self, begin: int, end: int, body: Node, minimum: int, maximum: int | None) -> None:
        Node.__init__(self, begin, end, body.height + 1)
        self.body = body
        self.minimum = minimum
        self.maximum = maximum


class Definition:
    """`name ::= tree`. `begin` is where the name stands."""

    __slots__ = ("begin", "name", "references", "tree")
    begin: int
    name: str
    tree: Node
    references: list[Reference]  # all in the tree, in order

    def __init__(self, begin: int, name: str, tree: Node, references: list[Reference]) -> None:
        self.begin = begin
        self.name = name
        self.tree = tree
        self.references = references


def tallest(nodes: list[Node]) -> int:
    """The height of the highest of the nodes; 0 if there is none."""
    height = 0
    for node in nodes:
        height = max(height, node.height)
    return height
