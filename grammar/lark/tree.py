"""The expressions of a Lark grammar as data, before any meaning is given to them.

Every node knows the index of the lexeme it began with (`at`), from which errors find line and column. Nodes are plain
slotted classes, extension types when compiled (`lark/tree.pxd`): a grammar makes a thousand of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .scope import Scope


class Node:
    """Base of the kinds of expression. `at`: index of its first lexeme, negative in a library of Lark's."""

    __slots__ = ("at",)
    at: int


DECLARED = Node()
"""The expression of what is only declared (`%declare`): nobody has said what it is."""


class Name(Node):
    """Base of what is said by its name."""

    __slots__ = ("name",)
    name: str

    def __init__(self, at: int, name: str) -> None:
        self.at = at
        self.name = name


class Written(Node):
    """Base of what is kept as written, for others to read."""

    __slots__ = ("raw",)
    raw: str

    def __init__(self, at: int, raw: str) -> None:
        self.at = at
        self.raw = raw


class RuleName(Name):
    """A rule, by name; in a template also one of its parameters."""

    __slots__ = ()


class TerminalName(Name):
    """A named terminal."""

    __slots__ = ()


class SpecialToken(Name):
    """`<|name|>`: one special token of the vocabulary, which no text spells; `<[5,7-9]>`: one out of these ids.

    `name` is all of it, brackets included.
    """

    __slots__ = ()


class String(Written):
    """A string as written, with quotes and the `i` that may follow."""

    __slots__ = ()


class Regexp(Written):
    """A regular expression as written, with slashes and flags."""

    __slots__ = ()


class Range(Node):
    """`"a".."z"`: one character out of a range; both ends as written."""

    __slots__ = ("first", "last")
    first: str
    last: str

    def __init__(self, at: int, first: str, last: str) -> None:
        self.at = at
        self.first = first
        self.last = last


class Sequence(Node):
    """`items` one after the other; without any, the empty string. Never exactly one: that stands for itself."""

    __slots__ = ("items",)
    items: list[Node]

    def __init__(self, at: int, items: list[Node]) -> None:
        self.at = at
        self.items = items


class Choice(Node):
    """One of two or more `alternatives`."""

    __slots__ = ("alternatives",)
    alternatives: list[Node]

    def __init__(self, at: int, alternatives: list[Node]) -> None:
        self.at = at
        self.alternatives = alternatives


class Repeat(Node):
    """`body` from `minimum` to `maximum` times; None means without end. `x?` and `[x]` are 0 to 1."""

    __slots__ = ("body", "maximum", "minimum", "operator")
    body: Node
    minimum: int
    maximum: int | None
    operator: str

    def __init__(self, at: int, body: Node, minimum: int, maximum: int | None, operator: str) -> None:
        self.at = at
        self.body = body
        self.minimum = minimum
        self.maximum = maximum
        self.operator = operator  # as Lark writes it into a regular expression: "*", "+", "?", "{2}" or "{2,3}"


class TemplateUse(Node):
    """`name{x, y}`: a template with what stands for its parameters."""

    __slots__ = ("arguments", "name")
    name: str
    arguments: list[Node]

    def __init__(self, at: int, name: str, arguments: list[Node]) -> None:
        self.at = at
        self.name = name
        self.arguments = arguments


class Elsewhere(Node):
    """An expression out of another text than what it stands in: `scope` is where its names and places belong."""

    __slots__ = ("scope", "tree")
    scope: Scope
    tree: Node

    def __init__(self, at: int, scope: Scope, tree: Node) -> None:
        self.at = at
        self.scope = scope
        self.tree = tree


class Extended(Node):
    """Base of what is in no grammar of Lark's, and rare: read by the modules that are imported for it."""

    __slots__ = ()

    def children(self) -> list[Node]:
        """The expressions of the same text that it holds."""
        return []


class Around(Extended):
    """Base of what says something about one expression, `body`."""

    __slots__ = ("body",)
    body: Node

    def __init__(self, at: int, body: Node) -> None:
        self.at = at
        self.body = body

    def children(self) -> list[Node]:
        return [self.body]


class Intersection(Extended):
    """`x & y`: what all of `parts` match. It is a terminal, also within a rule."""

    __slots__ = ("parts",)
    parts: list[Node]

    def __init__(self, at: int, parts: list[Node]) -> None:
        self.at = at
        self.parts = parts

    def children(self) -> list[Node]:
        return self.parts


class Complement(Around):
    """`~x`: all texts that `body` does not match. It is a terminal, also within a rule."""

    __slots__ = ()


class Block(Extended):
    """`%word {...}` as written: something in another syntax, or another grammar."""

    __slots__ = ("raw",)
    raw: str

    def __init__(self, at: int, raw: str) -> None:
        self.at = at
        self.raw = raw


class GrammarName(Extended):
    """`@name`: a grammar that the caller gives. `name` is without the `@`."""

    __slots__ = ("name",)
    name: str

    def __init__(self, at: int, name: str) -> None:
        self.at = at
        self.name = name


class Indexed(Extended):
    """`name::value`: a rule for a value. `value` as written, without the colons."""

    __slots__ = ("name", "value")
    name: str
    value: str

    def __init__(self, at: int, name: str, value: str) -> None:
        self.at = at
        self.name = name
        self.value = value


class Guarded(Around):
    """`body %if condition`: an alternative for some values only."""

    __slots__ = ("condition",)
    condition: Condition

    def __init__(self, at: int, body: Node, condition: Condition) -> None:
        self.at = at
        self.body = body
        self.condition = condition


class Condition(Written):
    """What stands behind `%if`, as written, with the `%if`."""

    __slots__ = ()


class Parametric(Around):
    """The whole expression of a rule that has a value: `name::_ : body`."""

    __slots__ = ()


class Attribute(Node):
    """`name` or `name=value` before a rule's colon. `value`: a literal or a terminal, or None; `number`: as written."""

    __slots__ = ("name", "number", "value")
    name: str
    value: Node | None
    number: str

    def __init__(self, at: int, name: str, value: Node | None, number: str) -> None:
        self.at = at
        self.name = name
        self.value = value
        self.number = number


class Attributed(Extended):
    """The whole expression of a rule with attributes: `name[attributes]: body`."""

    __slots__ = ("attributes", "body", "name")
    name: str
    attributes: list[Attribute]
    body: Node

    def __init__(self, at: int, name: str, attributes: list[Attribute], body: Node) -> None:
        self.at = at
        self.name = name
        self.attributes = attributes
        self.body = body

    def children(self) -> list[Node]:
        return [self.body, *[each.value for each in self.attributes if each.value is not None]]


class Definition(Node):
    """`name: tree`, of a rule or a terminal, or `name{params}: tree`, of a template."""

    __slots__ = ("is_terminal", "name", "params", "tree")
    name: str
    tree: Node
    is_terminal: bool
    params: tuple[str, ...]

    def __init__(self, at: int, name: str, tree: Node, is_terminal: bool, params: tuple[str, ...] = ()) -> None:
        self.at = at
        self.name = name
        self.tree = tree
        self.is_terminal = is_terminal
        self.params = params


class Change(Node):
    """`%override` or `%extend` (`operator`) and the definition behind it."""

    __slots__ = ("definition", "operator")
    operator: str
    definition: Definition

    def __init__(self, at: int, operator: str, definition: Definition) -> None:
        self.at = at
        self.operator = operator
        self.definition = definition


class Import(Node):
    """`%import module.name -> alias`; several names make several of these.

    `module` is dotted, and begins with a dot where it is relative to the importing text.
    """

    __slots__ = ("alias", "module", "name")
    module: str
    name: str
    alias: str

    def __init__(self, at: int, module: str, name: str, alias: str) -> None:
        self.at = at
        self.module = module
        self.name = name
        self.alias = alias


def special_of(tree: Node) -> SpecialToken | None:
    """The special token that a terminal with this expression is a name for, if it is."""
    if isinstance(tree, Elsewhere):
        tree = tree.tree
    return tree if isinstance(tree, SpecialToken) else None


def contents(tree: Node) -> Node:
    """The alternatives in a rule's whole expression, whatever else that says about the rule."""
    while isinstance(tree, (Attributed, Parametric)):
        tree = tree.body
    return tree


def with_contents(tree: Node, alternatives: Node) -> Node:
    """The same expression with other alternatives."""
    if isinstance(tree, Parametric):
        return Parametric(tree.at, with_contents(tree.body, alternatives))
    if isinstance(tree, Attributed):
        return Attributed(tree.at, tree.name, tree.attributes, with_contents(tree.body, alternatives))
    return alternatives
