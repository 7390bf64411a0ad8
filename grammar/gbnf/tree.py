"""The expressions of a GBNF grammar as data, before names are looked up.

Every node has the offsets in the text where it begins and ends: errors compute line and column from them, and terminals
take their names from that text. It also has its height, which bounds the recursion of functions that walk trees. The
classes are plain and slotted; compiled, they are extension types (`gbnf/tree.pxd`).
"""

from __future__ import annotations

from typing import NamedTuple

from ...earley._meter import tick
from ..regex.ast import Node as Regex


class Node:
    """Base of the kinds of expression.

    begin, end: offsets of the text it was read from, including parentheses; `end` is exclusive.
    height: the number of nodes on the longest way down, itself included.

    The module `terminals` sets the others:
    regex: the regular expression that means the same, or None if there is none or it is too large.
    size: the number of strings and classes in the regex.
    depth: the number of nodes on the longest way down in the regex.
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
    """A string or a class of characters: `regex` is a Literal or Chars. Or a part of a macro, with any regex.

    `label` names it in messages; if it is empty, the text from `begin` to `end` does.
    """

    __slots__ = ("label",)
    label: str

    def __init__(self, begin: int, end: int, regex: Regex, label: str = "") -> None:
        Node.__init__(self, begin, end, 1)
        self.regex = regex
        self.label = label


class Reference(Node):
    """The name of a rule. `at` is the offset of the name."""

    __slots__ = ("at", "name")
    at: int
    name: str

    def __init__(self, begin: int, end: int, name: str) -> None:
        Node.__init__(self, begin, end, 1)
        self.at = begin
        self.name = name


class Token(Node):
    """`<name>` or `<[id]>`: one token of the vocabulary, which no text spells. If `negated`, any token except that one.

    `name` is the token as written, with its brackets and without the `!`. Without `eos`, it is no EOS token.
    """

    __slots__ = ("eos", "name", "negated")
    name: str
    negated: bool
    eos: bool

    def __init__(self, begin: int, end: int, name: str, negated: bool, eos: bool = True) -> None:
        Node.__init__(self, begin, end, 1)
        self.name = name
        self.negated = negated
        self.eos = eos


class Sequence(Node):
    """`items` one after the other; with no items, the empty string. One item alone needs no Sequence."""

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
    """`body` from `minimum` to `maximum` times; if `maximum` is None, there is no bound."""

    __slots__ = ("body", "maximum", "minimum")
    body: Node
    minimum: int
    maximum: int | None

    def __init__(self, begin: int, end: int, body: Node, minimum: int, maximum: int | None) -> None:
        Node.__init__(self, begin, end, body.height + 1)
        self.body = body
        self.minimum = minimum
        self.maximum = maximum


class Attribute(NamedTuple):
    """An attribute of a rule in XGrammar's EBNF. `begin` is the offset of its name; without a value, it is None."""

    begin: int
    name: str
    value: str | float | None


class Definition:
    """`name ::= tree` or, in XGrammar's EBNF, `name[attributes] ::= tree (= ahead)`. `begin` is the offset of the name.

    references: all in the tree, in order.
    attributes: those of the rule.
    ahead: the references in the lookahead at the end of the rule, which has no other meaning.
    """

    __slots__ = ("ahead", "attributes", "begin", "name", "references", "tree")
    begin: int
    name: str
    tree: Node
    references: list[Reference]
    attributes: list[Attribute]
    ahead: list[Reference]

    def __init__(
        self,
        begin: int,
        name: str,
        tree: Node,
        references: list[Reference],
        attributes: list[Attribute],
        ahead: list[Reference],
    ) -> None:
        self.begin = begin
        self.name = name
        self.tree = tree
        self.references = references
        self.attributes = attributes
        self.ahead = ahead


def tallest(nodes: list[Node]) -> int:
    """Return the height of the highest of the nodes; 0 if there is none."""
    height = 0
    for i, node in enumerate(nodes):
        if not ~i & 0xFF:
            tick()
        height = max(height, node.height)
    return height
