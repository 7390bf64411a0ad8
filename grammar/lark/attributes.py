"""Rules with attributes: `name[lazy]: body`, `name[suffix="..."]: body`, `name[capture, max_tokens=20]: body`.

Three attributes make the rule one terminal. Its language is made from that of its body, without ignored text:

- `lazy`: the texts of the body that do not begin with a shorter one. With T the body, that is T minus T Sigma+.
- `suffix=S` and `stop=S`: a text of the body followed by S, such that S ends nowhere earlier. With B the body, that is
  B S minus Sigma* S Sigma+. They differ in whether a capture of the rule includes S.

Each literal and terminal in the body is a language of its own, as in a rule. The names of rules in the body stand for
their expressions, so these rules must not contain themselves.

`commit` changes what may stand beside the rule: where the first terminal of the rule may begin and its text stands, no
other lexeme covers that text (`model/commits`). The symbol of that terminal is the rule's own, since the same text may
stand elsewhere.

The other attributes do not change the language. `capture` and `stop_capture` name texts for `Matcher.captures`,
`max_tokens` bounds the tokens of a text, and the caller's sampler may use `temperature`. A rule with one of the last
two must be one terminal, too: by one of the three attributes above, or because its body is a single terminal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...earley._regex import Regexes
from ...earley.errors import LimitError
from ..errors import GrammarError, RegexSyntaxError
from ..model.attributes import Ending, RuleAttributes
from ..model.model import SPECIAL, TERMINAL
from ..model.repetition import Alternatives, group
from ..regex.ast import And, Chars, Concat, Literal, Not, Union
from ..regex.ast import Node as Regex
from ..regex.ast import Repeat as RegexRepeat
from ..regex.codepoints import ALL
from ..regex.lower import lower
from .literals import EMPTY_STRINGS, LiteralError, string_text
from .scope import Elsewhere, Found, special_of
from .terminals import MAX_DEPTH, structured
from .tree import (
    Attribute,
    Attributed,
    Block,
    Choice,
    Complement,
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

if TYPE_CHECKING:
    from .protocols import GrammarLoader

OF_LANGUAGE = ("lazy", "stop", "suffix")  # these change the language of the rule
COMMIT = "commit"  # changes the language of all that stands beside the rule
BESIDE = ("capture", "stop_capture", "max_tokens", "temperature")

MAX_TOKENS = 2**31 - 1
"""The largest value of `max_tokens`. It is also the largest count in a grammar. A larger value is an error."""

_ANY = RegexRepeat(Chars(ALL), 0, None)
_MORE = RegexRepeat(Chars(ALL), 1, None)


def append(loader: GrammarLoader, node: Attributed, symbols: list[int]) -> None:
    """Append the symbol of a rule with attributes."""
    symbol = loader.extended.get(node)
    if symbol is None:
        symbol = loader.extended[node] = _Attributes(loader, node).symbol()
    symbols.append(symbol)


class _Attributes:
    """The attributes of one rule, read and checked."""

    def __init__(self, loader: GrammarLoader, node: Attributed) -> None:
        self.loader = loader
        self.node = node
        self.lazy = False
        self.commit: Attribute | None = None
        self.heads: dict[int, int] = {}  # by terminal with which the body begins: the one that commits in its place
        self.end: Attribute | None = None
        self.capture: str | None = None
        self.end_capture: str | None = None
        self.max_tokens: int | None = None
        self.temperature: float | None = None
        self.of_terminal: Attribute | None = None  # one that only a terminal can have
        self.beside: Attribute | None = None  # one that does not change the language
        for attribute in node.attributes:
            self.read(attribute)
        if self.end_capture is not None and self.end is None:
            raise self.error("`stop_capture` needs `stop` or `suffix` in the same rule", self.named("stop_capture"))
        if self.commit is not None and self.max_tokens is not None:
            raise self.error(
                "`max_tokens` and `commit` cannot be in one rule",
                self.named("max_tokens"),
                "let the rule with `commit` begin with a terminal of its own, and put `max_tokens` on a rule after it",
            )

    def error(self, message: str, at: Node, hint: str | None = None) -> GrammarError:
        return self.loader.scope.error(message, at, hint)

    def named(self, name: str) -> Attribute:
        return next(attribute for attribute in self.node.attributes if attribute.name == name)

    def read(self, attribute: Attribute) -> None:
        name = attribute.name
        if name in BESIDE or name == COMMIT:
            self.beside = attribute
        if name == "lazy":
            if attribute.value is not None or attribute.number:
                raise self.error("`lazy` takes no value", attribute)
            self.lazy = True
        elif name == COMMIT:
            if attribute.value is not None or attribute.number:
                raise self.error("`commit` takes no value", attribute, f"write {self.node.name}[commit]")
            self.commit = attribute
        elif name in ("stop", "suffix"):
            if attribute.value is None:
                raise self.error(f"`{name}` takes a string, a regexp or a terminal", attribute, f'write {name}="..."')
            if self.end is not None:
                raise self.error("a rule can have only one `stop` or `suffix`", attribute)
            self.end = attribute
        elif name == "capture":
            bare = attribute.value is None and not attribute.number
            self.capture = self.node.name if bare else self.text(attribute)
        elif name == "stop_capture":
            self.end_capture = self.text(attribute)
        elif name == "max_tokens":
            number = attribute.number
            if attribute.value is not None or not number.isdecimal() or not 1 <= int(number) <= MAX_TOKENS:
                message = f"`max_tokens` takes a whole number from 1 to {MAX_TOKENS}"
                raise self.error(message, attribute, "write max_tokens=20")
            self.max_tokens = int(number)
            self.of_terminal = attribute
        elif name == "temperature":
            if attribute.value is not None or not attribute.number or attribute.number[0] == "-":
                raise self.error("`temperature` takes a number, 0 or more", attribute, "write temperature=0.7")
            self.temperature = float(attribute.number)
            self.of_terminal = attribute
        else:
            raise self.error(
                f"there is no attribute `{name}`",
                attribute,
                f"the attributes are {', '.join((*OF_LANGUAGE, COMMIT, *BESIDE))}",
            )

    def text(self, attribute: Attribute) -> str:
        """Return the name that an attribute gives."""
        if not isinstance(attribute.value, String):
            raise self.error(f"`{attribute.name}` takes a name in quotes", attribute, f'write {attribute.name}="..."')
        try:
            return string_text(attribute.value.raw)[0]
        except LiteralError as error:
            message = f"`{attribute.name}` takes a name" if error.position == 0 else error.message
            raise self.error(message, attribute.value) from error

    def symbol(self) -> int:
        """Return the symbol of the rule: a terminal, or a rule if something is captured or the body is no terminal."""
        loader = self.loader
        model = loader.model
        node = self.node
        regex: Regex | None = None
        ending: Ending | None = None
        if self.lazy or self.end is not None:
            body, end = _Body(loader).parts(self, 0)
            regex = shortest(body, end)
            if end is not None and self.end is not None:
                ending = Ending(body, end, self.end.name == "suffix")
        elif self.of_terminal is not None:
            regex = self.single()
        if regex is None:
            alternatives = loader.alternatives(node.body)
            if self.commit is not None:
                alternatives = self.committing(alternatives)
            symbols = group(model, alternatives)
        else:
            terminal = model.terminal(node.name, regex, (loader.scope, node))
            if self.commit is not None:
                model.commits[terminal] = terminal
            if self.of_terminal is not None:
                model.attributes[terminal] = RuleAttributes(
                    ending=ending, max_tokens=self.max_tokens, temperature=self.temperature
                )
            if self.capture is None and self.end_capture is None:
                return terminal
            symbols = (terminal,)
        symbol = model.rule(node.name, (loader.scope, node))
        for head in self.heads.values():
            model.commits[head] = symbol
        model.produce(symbol, symbols)
        model.attributes[symbol] = RuleAttributes(capture=self.capture, end_capture=self.end_capture, ending=ending)
        return symbol

    def committing(self, alternatives: Alternatives) -> Alternatives:
        """Return the alternatives of a rule with `commit`, each with a terminal of its own at its beginning."""
        model = self.loader.model
        assert self.commit is not None
        made = []
        for symbols in alternatives:
            kind = model.kinds[symbols[0]] if symbols else None
            if kind == SPECIAL and symbols[0] not in model.makers:
                raise self.error(
                    f"rule `{self.node.name}` begins with a special token, which text cannot match, so it needs no "
                    "`commit`",
                    self.commit,
                    "remove `commit`",
                )
            if kind != TERMINAL:
                raise self.error(
                    "`commit` needs a rule whose alternatives all begin with a terminal",
                    self.commit,
                    f"begin each alternative with the text that decides, such as {self.node.name}[commit]: "
                    '"<tool_call>" ...',
                )
            head = self.heads.get(symbols[0])
            if head is None:
                tree = model.trees[symbols[0]]
                assert tree is not None
                head = model.terminal(model.names[symbols[0]], tree, model.origins[symbols[0]])
                model.like(head, symbols[0])
                self.heads[symbols[0]] = head
            made.append((head, *symbols[1:]))
        return tuple(made)

    def single(self) -> Regex:
        """Return the regex of a body that must be one terminal."""
        loader = self.loader
        tree = self.node.body
        if isinstance(tree, TerminalName):
            tree = special_of(loader.find(tree)[1].tree) or tree
        is_terminal = isinstance(tree, (String, Regexp, Range, TerminalName, Intersection, Complement))
        if not is_terminal and not (isinstance(tree, Block) and tree.raw.startswith("%regex")):
            assert self.of_terminal is not None
            name = self.of_terminal.name
            raise self.error(
                f"`{name}` needs a rule that is a single terminal",
                self.of_terminal,
                f"define its body as a terminal, NAME: ..., and write {self.node.name}[{name}=...]: NAME",
            )
        regex: Regex = loader.terminals.build(tree)
        return regex


def shortest(body: Regex, end: Regex | None) -> Regex:
    """Return the texts of the body that cannot be cut off earlier or, if `end` is given, that first end with it."""
    if end is None:
        return And((body, Not(Concat((body, _MORE)))))
    return And((Concat((body, end)), Not(Concat((_ANY, end, _MORE)))))


class _Body:
    """Reads the body of one rule as a regex."""

    def __init__(self, loader: GrammarLoader) -> None:
        self.loader = loader
        self.open: list[Found] = []  # the rules that are being read, outermost first
        self.known: dict[Found, tuple[Regex, int]] = {}  # regex and pieces of rules that have been read
        self.n_pieces = 0

    def attributed(self, node: Attributed, depth: int) -> Regex:
        """Return the language of a rule with attributes within another one."""
        inner = _Attributes(self.loader, node)
        if inner.beside is not None:
            raise inner.error(
                f"`{inner.beside.name}` cannot be in a rule that is part of a terminal",
                inner.beside,
                "use the rule outside of rules with `lazy`, `stop` or `suffix`",
            )
        return shortest(*self.parts(inner, depth))

    def parts(self, attributes: _Attributes, depth: int) -> tuple[Regex, Regex | None]:
        """Return the regex of its body, and of what ends its text, or None."""
        node = attributes.node
        before = self.n_pieces
        body = self.compose(node.body, depth)
        self.count(node, self.n_pieces - before)  # `shortest` uses it twice
        return body, None if attributes.end is None else self.stop(attributes.end)

    def stop(self, attribute: Attribute) -> Regex:
        """Return the regex of what ends the text of a rule. It must match something, but not the empty text."""
        assert attribute.value is not None
        scope = self.loader.scope
        name = attribute.name
        if isinstance(attribute.value, String) and attribute.value.raw in EMPTY_STRINGS:
            raise scope.error(
                f"`{name}` is empty", attribute.value, "remove it; to require a token after the rule, write <|name|>"
            )
        regex = self.loader.terminals.build(attribute.value)
        regexes = Regexes()
        try:
            stop = lower(regex, regexes)
            if regexes.is_empty(stop):
                raise scope.error(f"`{name}` matches nothing", attribute.value)
            if regexes.is_nullable(stop):
                raise scope.error(
                    f"`{name}` matches the empty text", attribute.value, "make it match at least one character"
                )
        except RegexSyntaxError as error:
            raise scope.error(error.message, attribute.value, error.hint) from error
        except LimitError as error:
            raise scope.limit_error(str(error), attribute.value).copy_limit(error) from error
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
        if isinstance(tree, String) and tree.raw in EMPTY_STRINGS:
            return Literal("")
        if isinstance(tree, (String, Regexp, Range, Intersection, Complement)):
            return self.terminal(tree)
        if isinstance(tree, Block) and tree.raw.startswith("%regex"):
            return self.terminal(tree)
        what = "something that is not text"
        if isinstance(tree, SpecialToken):
            what = f"special token `{tree.name}`"
        elif isinstance(tree, TemplateUse):
            what = f"template `{tree.name}`"
        elif isinstance(tree, Extended):
            return structured(loader.scope, tree)  # says what it is
        raise loader.scope.error(
            f"{what} cannot be in a rule that attributes make a terminal", tree, "use it in a rule around this one"
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
                f"rule `{node.name}` contains itself, and is used in a rule with attributes",
                node,
                "a rule with these attributes is one terminal, and a terminal cannot be recursive",
            )
        if definition.params:
            message = f"template `{node.name}` cannot be in a rule that attributes make a terminal"
            raise loader.scope.error(message, node, "use it in a rule around this one")
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
        most = self.loader.modules.limits.terminal_pieces
        if self.n_pieces > most:
            message = f"a rule with attributes has more than {most} pieces"
            raise self.loader.scope.limit_error(message, node).set_limit("terminal_pieces")
