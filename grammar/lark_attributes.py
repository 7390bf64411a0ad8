"""Rules with attributes: `name[lazy]: body`, `name[suffix="..."]: body`, `name[stop="..."]: body`.

These three make the rule one terminal, of the language of its body without ignored text:

- `lazy`: the texts of the body that have no shorter one at their beginning, T minus T Σ+;
- `suffix=S`, `stop=S`: a text of the body and then S, where S ends nowhere before. With B the body, that is B S minus
  Σ* S Σ+. The two differ in what a capture of the rule holds.

Each literal and terminal of the body is a language of its own, as it is in a rule; rules in it are read as their
expressions, so they must not contain themselves.

The other attributes are refused by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..earley._regex import Regexes
from ..earley.errors import LimitError
from .codepoints import ALL
from .errors import RegexSyntaxError
from .lark_sets import structured
from .lark_terminals import MAX_DEPTH, MAX_PIECES
from .lark_tree import (
    DECLARED,
    Attribute,
    Attributed,
    Block,
    Choice,
    Complement,
    Elsewhere,
    Extended,
    Intersection,
    Node,
    Range,
    Regexp,
    Repeat,
    RuleName,
    Sequence,
    SpecialToken,
    String,
    TemplateUse,
    TerminalName,
)
from .regex_ast import And, Chars, Concat, Literal, Not, Union
from .regex_ast import Node as Regex
from .regex_ast import Repeat as RegexRepeat
from .regex_lower import lower

if TYPE_CHECKING:
    from .lark_load import LarkLoader
    from .lark_scope import Found

SUPPORTED = ("lazy", "stop", "suffix")
NOT_SUPPORTED = ("capture", "stop_capture", "max_tokens", "temperature")

_ANY = RegexRepeat(Chars(ALL), 0, None)
_MORE = RegexRepeat(Chars(ALL), 1, None)


def append(loader: LarkLoader, node: Attributed, symbols: list[int], known: dict[object, int]) -> None:
    """Append the terminal that a rule with attributes is."""
    symbol = known.get(node)
    if symbol is None:
        scope = loader.scope
        regex = _Body(loader).attributed(node, 0)
        symbol = known[node] = loader.model.terminal(node.name, regex, (scope, node))
    symbols.append(symbol)


class _Body:
    """Reads the body of one rule as a regex."""

    def __init__(self, loader: LarkLoader) -> None:
        self.loader = loader
        self.open: list[Found] = []  # rules that are being read
        self.known: dict[Found, tuple[Regex, int]] = {}  # regex and pieces of rules that have been read
        self.n_pieces = 0

    def attributed(self, node: Attributed, depth: int) -> Regex:
        """The language of a rule with attributes, as a regex of its own whatever it stands beside."""
        loader = self.loader
        scope = loader.scope
        end: Attribute | None = None
        for attribute in node.attributes:
            name = attribute.name
            if name in NOT_SUPPORTED:
                raise scope.error(f"attribute `{name}` is not supported", attribute, "leave it out")
            if name not in SUPPORTED:
                raise scope.error(f"there is no attribute `{name}`", attribute, f"there are {', '.join(SUPPORTED)}")
            if name == "lazy":
                if attribute.value is not None or attribute.number:
                    raise scope.error("`lazy` takes no value", attribute)
            elif attribute.value is None:
                raise scope.error(f"`{name}` takes a string, a regexp or a terminal", attribute, f'write {name}="..."')
            elif end is not None:
                raise scope.error("a rule has one of `stop` and `suffix`", attribute)
            else:
                end = attribute
        before = self.n_pieces
        body = self.compose(node.body, depth)
        self.count(node, self.n_pieces - before)  # it will stand there twice
        if end is None:
            return And((body, Not(Concat((body, _MORE)))))
        stop = self.stop(end)
        return And((Concat((body, stop)), Not(Concat((_ANY, stop, _MORE)))))

    def stop(self, attribute: Attribute) -> Regex:
        """What ends the text of a rule: it must match something, and not the empty text."""
        assert attribute.value is not None
        scope = self.loader.scope
        name = attribute.name
        if isinstance(attribute.value, String) and attribute.value.raw in ('""', '""i'):
            raise scope.error(
                f"`{name}` is empty", attribute.value, "a text ends at EOS anyway; to ask for a token, write <|name|>"
            )
        regex = self.loader.terminals.build(attribute.value)
        regexes = Regexes()
        try:
            stop = lower(regex, regexes)
            if regexes.is_empty(stop):
                raise scope.error(f"`{name}` matches nothing", attribute.value)
            if regexes.is_nullable(stop):
                raise scope.error(
                    f"`{name}` matches the empty text", attribute.value, "let it match one character or more"
                )
        except RegexSyntaxError as error:
            raise scope.error(error.message, attribute.value, error.hint) from error
        except LimitError as error:
            raise scope.limit_error(str(error), attribute.value) from error
        return And((regex,))

    def compose(self, tree: Node, depth: int) -> Regex:
        loader = self.loader
        if depth > MAX_DEPTH:
            raise loader.scope.limit_error(f"a rule with attributes is more than {MAX_DEPTH} levels deep", tree)
        if isinstance(tree, Sequence):
            return Concat(tuple([self.compose(item, depth + 1) for item in tree.items]))
        if isinstance(tree, Choice):
            return Union(tuple([self.compose(each, depth + 1) for each in tree.alternatives]))
        if isinstance(tree, Repeat):
            return RegexRepeat(self.compose(tree.body, depth + 1), tree.minimum, tree.maximum, False)
        if isinstance(tree, Elsewhere):
            outer = loader.move(tree.scope)
            regex = self.compose(tree.tree, depth + 1)
            loader.move(outer)
            return regex
        if isinstance(tree, RuleName):
            return self.rule(tree, depth)
        if isinstance(tree, Attributed):
            return self.attributed(tree, depth + 1)
        if isinstance(tree, TerminalName):
            loader.find(tree)  # a terminal of this text, or the error that there is none
            return self.terminal(tree)
        if isinstance(tree, (String, Regexp, Range, Intersection, Complement)):
            return self.terminal(tree)
        if isinstance(tree, Block) and tree.raw.startswith("%regex"):
            return self.terminal(tree)
        what = "something else than text"
        if isinstance(tree, SpecialToken):
            what = f"special token `{tree.name}`"
        elif isinstance(tree, TemplateUse):
            what = f"template `{tree.name}`"
        elif isinstance(tree, Extended):
            return structured(loader.scope, tree)  # says what it is
        raise loader.scope.error(
            f"{what} stands in a rule with attributes, which is one terminal", tree, "use it in a rule around this one"
        )

    def terminal(self, tree: Node) -> Regex:
        self.count(tree, 1)
        regex = self.loader.terminals.build(tree)
        return regex if isinstance(regex, (Chars, Literal)) else And((regex,))

    def rule(self, node: RuleName, depth: int) -> Regex:
        loader = self.loader
        found = loader.find(node)
        scope, definition = found
        known = self.known.get(found)
        if known is not None:
            self.count(node, known[1])
            return known[0]
        if found in self.open:
            raise loader.scope.error(
                f"rule `{node.name}` contains itself, and stands in a rule with attributes",
                node,
                "such a rule is one terminal: only rules without attributes may be recursive",
            )
        if definition.tree is DECLARED:
            raise loader.unbound(node)
        if definition.params:
            raise loader.scope.error(f"`{node.name}` is a template", node, "it cannot stand in a rule with attributes")
        before = self.n_pieces
        self.open.append(found)
        outer = loader.move(scope)
        regex = self.compose(definition.tree, depth + 1)
        loader.move(outer)
        self.open.pop()
        self.known[found] = regex, self.n_pieces - before
        return regex

    def count(self, node: Node, pieces: int) -> None:
        self.n_pieces += pieces
        if self.n_pieces > MAX_PIECES:
            raise self.loader.scope.limit_error(f"a rule with attributes has more than {MAX_PIECES} pieces", node)
