"""The expressions of a Lark grammar as data, before any meaning is given to them.

Every node knows the index of the lexeme it began with (`at`), from which errors find line and column. Nodes are plain
slotted classes, extension types when compiled (`lark/tree.pxd`): a grammar makes a thousand of them.
"""

from __future__ import annotations

from ...earley.limits import DEFAULT, Limits
from ..errors import GrammarError, GrammarLimitError
from ..source import GrammarWarning, SourceText
from .scan import offsets, scan


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


class ParsedGrammar:
    """The definitions and directives of one text, in its order, and the way back into the text."""

    __slots__ = (
        "_base",
        "_inner",
        "_offsets",
        "changes",
        "definitions",
        "ignored",
        "imports",
        "kinds",
        "lexemes",
        "limits",
        "source",
    )

    def __init__(
        self,
        text: str,
        name: str | None = None,
        limits: Limits = DEFAULT,
        around: ParsedGrammar | None = None,
        base: int = 0,
    ) -> None:
        """With `around`, `text` is a part of that one's, from offset `base` on."""
        self.limits = limits
        self.source: SourceText = SourceText(text, name) if around is None else around.source
        self._inner: str | None = None if around is None else text
        self._base = base
        self.lexemes, self.kinds = scan(text + "\n")
        self.definitions: list[Definition] = []  # also those that are only declared
        self.changes: list[Change] = []
        self.ignored: list[Node] = []
        self.imports: list[Import] = []
        self._offsets: list[int] | None = None

    def offset(self, at: int) -> int:
        """Where lexeme `at` begins in the text. Found for all of them at once, when first asked."""
        text = self.source.text if self._inner is None else self._inner
        if self._offsets is None:
            self._offsets = offsets(text + "\n")
        return self._base + min(self._offsets[at], len(text))

    def error(self, message: str, at: int, hint: str | None = None) -> GrammarError:
        return self.source.error(message, self.offset(at), hint)

    def limit_error(self, message: str, at: int, hint: str | None = None) -> GrammarLimitError:
        return self.source.limit_error(message, self.offset(at), hint)

    def warning(self, message: str, at: int) -> GrammarWarning:
        return self.source.warning(message, self.offset(at))


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
