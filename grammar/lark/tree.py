"""The expressions of a Lark grammar as data, before names are looked up; and the texts that they stand in.

Every node has the index of its first lexeme (`at`), from which errors compute line and column. Nodes are plain slotted
classes and, compiled, extension types (`lark/tree.pxd`), because a grammar makes a thousand of them.
"""

from __future__ import annotations

from ...earley._meter import keep
from ...earley.limits import DEFAULT, Limits
from ..errors import GrammarError, GrammarLimitError
from ..source import GrammarWarning, SourceText
from .scan import offsets, scan


class Node:
    """Base of the kinds of expression. `at` is the index of its first lexeme; it is negative in Lark's libraries."""

    __slots__ = ("at",)
    at: int


DECLARED = Node()
"""The expression of a terminal that is only declared (`%declare`), until the caller gives its meaning."""


class Name(Node):
    """Base of the kinds that consist of a name."""

    __slots__ = ("name",)
    name: str

    def __init__(self, at: int, name: str) -> None:
        self.at = at
        self.name = name


class Written(Node):
    """Base of the kinds that are kept as written. Other modules parse them."""

    __slots__ = ("raw",)
    raw: str

    def __init__(self, at: int, raw: str) -> None:
        self.at = at
        self.raw = raw


class RuleName(Name):
    """The name of a rule or, in a template, of one of its parameters."""

    __slots__ = ()


class TerminalName(Name):
    """The name of a terminal."""

    __slots__ = ()


class SpecialToken(Name):
    """`<|name|>`: one special token of the vocabulary, which no text spells. `<[5,7-9]>`: a token by its id.

    `name` is the token as written, with its brackets.
    """

    __slots__ = ()


class String(Written):
    """A string as written, with quotes and the `i` that may follow."""

    __slots__ = ()


class Regexp(Written):
    """A regular expression as written, with slashes and flags."""

    __slots__ = ()


class Range(Node):
    """`"a".."z"`: one character of a range. Both ends are kept as written."""

    __slots__ = ("first", "last")
    first: str
    last: str

    def __init__(self, at: int, first: str, last: str) -> None:
        self.at = at
        self.first = first
        self.last = last


class Sequence(Node):
    """`items` one after the other; with no items, the empty string. One item alone needs no Sequence."""

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
    """`body` from `minimum` to `maximum` times; if `maximum` is None, there is no bound. `x?` and `[x]` are 0 to 1."""

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
        self.operator = operator  # as Lark puts it into a regular expression: "*", "+", "?", "{2}" or "{2,3}"


class TemplateUse(Node):
    """`name{x, y}`: the use of a template, with the arguments for its parameters."""

    __slots__ = ("arguments", "name")
    name: str
    arguments: list[Node]

    def __init__(self, at: int, name: str, arguments: list[Node]) -> None:
        self.at = at
        self.name = name
        self.arguments = arguments


class Extended(Node):
    """Base of the kinds that Lark does not have. They are rare, so the modules that read them are imported lazily."""

    __slots__ = ()

    def children(self) -> list[Node]:
        """Return the expressions of the same text that it contains."""
        return []


class Around(Extended):
    """Base of the kinds that modify one expression, `body`."""

    __slots__ = ("body",)
    body: Node

    def __init__(self, at: int, body: Node) -> None:
        self.at = at
        self.body = body

    def children(self) -> list[Node]:
        return [self.body]


class Intersection(Extended):
    """`x & y`: the texts that all `parts` match. It is a terminal, also within a rule."""

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
    """`%word {...}` as written: another grammar, or something in another syntax."""

    __slots__ = ("raw",)
    raw: str

    def __init__(self, at: int, raw: str) -> None:
        self.at = at
        self.raw = raw


class GrammarName(Extended):
    """`@name`: a grammar that the caller gives. `name` does not include the `@`."""

    __slots__ = ("name",)
    name: str

    def __init__(self, at: int, name: str) -> None:
        self.at = at
        self.name = name


class Indexed(Extended):
    """`name::value`: a rule that is used with a value. `value` is kept as written, without the colons."""

    __slots__ = ("name", "value")
    name: str
    value: str

    def __init__(self, at: int, name: str, value: str) -> None:
        self.at = at
        self.name = name
        self.value = value


class Guarded(Around):
    """`body %if condition`: an alternative that exists for some values only."""

    __slots__ = ("condition",)
    condition: Condition

    def __init__(self, at: int, body: Node, condition: Condition) -> None:
        self.at = at
        self.body = body
        self.condition = condition


class Condition(Written):
    """A condition as written, beginning with `%if`."""

    __slots__ = ()


class Parametric(Around):
    """The whole expression of a rule that has a value: `name::_ : body`."""

    __slots__ = ()


class Attribute(Node):
    """`name` or `name=value` in the brackets before a rule's colon.

    `value` is the literal or terminal after the `=`, or None. `number` is the number after it, as written, or "".
    """

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
    """`%override` or `%extend` (`operator`) and the definition that follows."""

    __slots__ = ("definition", "operator")
    operator: str
    definition: Definition

    def __init__(self, at: int, operator: str, definition: Definition) -> None:
        self.at = at
        self.operator = operator
        self.definition = definition


class Import(Node):
    """`%import module.name -> alias`. An import of several names is several of these.

    `module` is a dotted name. It begins with a dot if it is relative to the importing text.
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
    """The definitions and directives of one text, in order, with the places of their lexemes in the text."""

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
        """If `around` is given, `text` is a part of its text, beginning at offset `base`."""
        keep(self)
        self.limits = limits
        self.source: SourceText = SourceText(text, name) if around is None else around.source
        self._inner: str | None = None if around is None else text
        self._base = base
        self.lexemes, self.kinds = scan(text + "\n")
        self.definitions: list[Definition] = []  # including terminals that are only declared
        self.changes: list[Change] = []
        self.ignored: list[Node] = []
        self.imports: list[Import] = []
        self._offsets: list[int] | None = None

    def offset(self, at: int) -> int:
        """Return the offset of lexeme `at` in the text. The first call finds the offsets of all lexemes."""
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
    """Return the alternatives in the expression of a rule, without its attributes and its value."""
    while isinstance(tree, (Attributed, Parametric)):
        tree = tree.body
    return tree


def with_contents(tree: Node, alternatives: Node) -> Node:
    """Return the expression `tree` of a rule with other alternatives: attributes and value stay."""
    if isinstance(tree, Parametric):
        return Parametric(tree.at, with_contents(tree.body, alternatives))
    if isinstance(tree, Attributed):
        return Attributed(tree.at, tree.name, tree.attributes, with_contents(tree.body, alternatives))
    return alternatives
