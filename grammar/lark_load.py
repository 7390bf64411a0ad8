"""From a Lark grammar text to a compiled engine.

The names of the text are collected first; then rules are turned into productions as they are reached from the start
symbol, and terminals into regexes as rules use them. What nothing reaches is only checked for undefined names, as Lark
does, so a part of a grammar that is not used costs next to nothing. The same string or regexp is one terminal wherever
it stands, a named one if there is one.

Modifiers (`?rule`, `!rule`, `_rule`), aliases and priorities shape Lark's trees or choose among them. They are checked
and have no other effect: the language is the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import lark_library
from .errors import GrammarError, GrammarLimitError, RegexSyntaxError
from .lark_hints import MIXED_CASE_HINT, mixed_case
from .lark_library import LibraryError
from .lark_parse import ParsedGrammar, parse
from .lark_terminals import TerminalBuilder
from .lark_tree import (
    Choice,
    Definition,
    Import,
    Node,
    Range,
    Regexp,
    Repeat,
    RuleName,
    Sequence,
    SpecialToken,
    String,
    TerminalName,
)
from .model import Model, Symbols
from .repetition import Alternatives, counted, group, repeat_into
from .source import GrammarWarning, did_you_mean

if TYPE_CHECKING:
    from ..earley import Engine

MAX_SOURCE = 1 << 23
"""Characters of a grammar text."""


def load(text: str, start: str) -> tuple[Engine, tuple[GrammarWarning, ...]]:
    """The engine for the language of rule `start` in the grammar `text`, and what is odd about the grammar."""
    if len(text) > MAX_SOURCE:
        raise GrammarLimitError(f"the grammar has {len(text)} characters, the limit is {MAX_SOURCE}")
    loader = LarkLoader(parse(text))
    engine = loader.load(start)
    return engine, tuple(loader.model.warnings)


class LarkLoader:
    """Resolves the names of one grammar and fills a model with it."""

    def __init__(self, parsed: ParsedGrammar) -> None:
        self.parsed = parsed
        self.model = Model(self)
        self.terminals = TerminalBuilder(self)
        self.rules: dict[str, Definition] = {}
        self.named: dict[str, Node] = {}  # the expressions of the terminals
        self.imported: dict[str, Import] = {}  # by alias
        self.importing = 0  # the lexeme of the import that library definitions are being read for
        self.symbols: dict[object, int] = {}  # by rule or terminal name, by special token, by literal
        self.pending: list[tuple[int, Definition, int]] = []  # rules that have a symbol and no productions yet

    def load(self, start: str) -> Engine:
        self.collect_names()
        model = self.model
        start_symbol = self.start_symbol(start)
        for symbol, definition, importing in self.pending:  # grows while it is read
            self.importing = importing
            self.define(symbol, definition.tree)
        self.check_unreached(start)
        for index, tree in enumerate(self.parsed.ignored):
            name = tree.name if isinstance(tree, TerminalName) else f"ignored {index + 1}"
            self.model.ignored(name, self.terminals.build(tree), tree)
        return model.compile(start_symbol)

    # Names.

    def collect_names(self) -> None:
        for node in self.parsed.imports:
            before = self.imported.get(node.alias)
            if before is not None and (before.library, before.name) != (node.library, node.name):
                raise self.error(f"`{node.alias}` is imported twice, from different places", node)
            try:
                texts = lark_library.definition_texts(node.library)
            except LibraryError as error:
                libraries = ", ".join(lark_library.LIBRARIES)
                raise self.error(
                    f"{error.args[0]}; imports from files are not supported yet", node, f"there are {libraries}"
                ) from error
            if node.name not in texts:
                raise self.error(f"library `{node.library}` has no `{node.name}`", node, did_you_mean(node.name, texts))
            self.imported[node.alias] = node
        for definitions in (self.parsed.rules, self.parsed.terminals):
            for definition in definitions:
                if definition.name in self.imported:
                    raise self.error(f"`{definition.name}` is imported and defined as well", definition)
                if definition.name in self.rules or definition.name in self.named:
                    raise self.error(f"`{definition.name}` is defined more than once", definition)
                if definitions is self.parsed.rules:
                    self.rules[definition.name] = definition
                else:
                    self.check_not_empty(definition)
                    self.named[definition.name] = definition.tree

    def check_not_empty(self, definition: Definition) -> None:
        tree = definition.tree
        if isinstance(tree, Sequence) and not tree.items:
            raise self.error(f"terminal `{definition.name}` has no content", definition, "a rule may be empty")

    def start_symbol(self, start: str) -> int:
        node = RuleName(0, start)
        if start not in self.rules and start not in self.imported:
            if start in self.named:
                raise GrammarError("the start symbol is a terminal", hint="add a rule that consists of it")
            if not self.rules:
                raise GrammarError("the grammar has no rules", hint="write `start: ...`")
            hint = (
                did_you_mean(start, self.rules) or f"give another start rule, such as start={next(iter(self.rules))!r}"
            )
            raise GrammarError(f"the start rule `{start}` is not defined", hint=hint)
        return self.rule_symbol(node)

    def rule_symbol(self, node: RuleName) -> int:
        symbol = self.symbols.get(node.name)
        if symbol is None:
            name = node.name
            definition = self.rules.get(name)
            if definition is None:
                definition = self.library_definition(node)
            symbol = self.model.rule(name, definition)
            self.symbols[name] = symbol
            self.pending.append((symbol, definition, self.importing))
        return symbol

    def terminal_symbol(self, node: Node) -> int:
        """The symbol of a terminal name or a literal."""
        key = node.name if isinstance(node, TerminalName) else literal_key(node)
        symbol = self.symbols.get(key)
        if symbol is None:
            if isinstance(node, TerminalName):
                name = node.name
                tree = self.terminal_tree(node)
                literal = literal_key(tree)
                symbol = self.symbols.get(literal)
                if symbol is None:
                    symbol = self.model.terminal(name, self.terminals.build(tree, name), tree)
                    self.symbols[literal] = symbol
            else:
                symbol = self.model.terminal(str(key), self.terminals.build(node), node)
            self.symbols[key] = symbol
        return symbol

    def terminal_tree(self, node: TerminalName) -> Node:
        tree = self.named.get(node.name)
        return self.library_definition(node).tree if tree is None else tree

    def library_definition(self, node: RuleName | TerminalName) -> Definition:
        """The definition of an imported name, or of a name inside a library."""
        imported = self.imported.get(node.name)
        if imported is not None:
            self.importing = imported.at
            qualified = f"{imported.library}.{imported.name}"
        elif "." in node.name:
            qualified = node.name
        else:
            raise self.undefined(node)
        try:
            return lark_library.definition(qualified)
        except LibraryError as error:
            raise self.error(error.args[0], imported or node) from error

    def undefined(self, node: RuleName | TerminalName) -> GrammarError:
        kind = "rule" if isinstance(node, RuleName) else "terminal"
        text = self.parsed.source.text
        begin = self.parsed.offset(node.at)
        end = begin + len(node.name)
        while begin and is_name_char(text[begin - 1]):
            begin -= 1
        while end < len(text) and is_name_char(text[end]):
            end += 1
        whole = text[begin:end].lstrip("?!")
        if whole != node.name and whole.lower() != whole and whole.upper() != whole:
            return self.parsed.source.error(mixed_case(whole), begin, MIXED_CASE_HINT)
        known = [*self.rules, *self.named, *self.imported]
        hint = did_you_mean(node.name, known)
        if hint is None:
            library = lark_library.definition_texts("common") if kind == "terminal" else {}
            hint = f"write `%import common.{node.name}`" if node.name in library else "define it: `name: ...`"
        return self.error(f"{kind} `{node.name}` is not defined", node, hint)

    def check_unreached(self, start: str) -> None:
        """Check the names in definitions that the start rule does not reach, and warn of those that nothing uses."""
        used: set[str] = set()
        for tree in self.parsed.ignored:
            self.collect_used(tree, used)
        unreached = [rule for rule in self.parsed.rules if rule.name not in self.symbols]
        for definition in unreached:
            self.collect_used(definition.tree, used)
            self.model.warn(f"rule `{definition.name}` is not reached from `{start}`", definition)
        in_terminals: set[str] = set()
        for definition in self.parsed.terminals:
            self.collect_used(definition.tree, in_terminals)
        for definition in self.parsed.terminals:
            name = definition.name
            if name not in self.symbols and name not in used and name not in in_terminals:
                self.model.warn(f"terminal `{name}` is not used", definition)

    def collect_used(self, tree: Node, used: set[str]) -> None:
        """Put the names in `tree` into `used`; an undefined one is an error."""
        stack = [tree]
        while stack:
            node = stack.pop()
            if isinstance(node, (RuleName, TerminalName)):
                name = node.name
                if name not in self.rules and name not in self.named and name not in self.imported:
                    raise self.undefined(node)
                used.add(name)
            elif isinstance(node, Sequence):
                stack += node.items
            elif isinstance(node, Choice):
                stack += node.alternatives
            elif isinstance(node, Repeat):
                stack.append(node.body)

    # Productions.

    def define(self, lhs: int, tree: Node) -> None:
        """Add the productions that make `lhs` derive `tree`."""
        if isinstance(tree, Repeat) and tree.maximum is None and tree.minimum <= 1:
            # The rule is a list and nothing else: it can be its own helper.
            alternatives = self.alternatives(tree.body)
            nullable = not tree.minimum or () in alternatives
            repeat_into(self.model, lhs, alternatives, nullable)
            return
        for rhs in self.alternatives(tree):
            self.model.produce(lhs, rhs)

    def alternatives(self, tree: Node) -> Alternatives:
        """The sequences of symbols that `tree` stands for, groups within choices laid open."""
        if isinstance(tree, Choice):
            flat: list[Symbols] = []
            for alternative in tree.alternatives:
                if isinstance(alternative, Choice):
                    flat += self.alternatives(alternative)
                else:
                    flat.append(self.sequence(alternative))
            return tuple(dict.fromkeys(flat))
        return (self.sequence(tree),)

    def sequence(self, tree: Node) -> Symbols:
        """The symbols that `tree` becomes within an alternative."""
        symbols: list[int] = []
        self.append(tree, symbols)
        return tuple(symbols)

    def append(self, tree: Node, symbols: list[int]) -> None:
        """Append what `tree` becomes to `symbols`. The frequent kinds come first."""
        if isinstance(tree, (String, TerminalName)):
            symbols.append(self.terminal_symbol(tree))
        elif isinstance(tree, RuleName):
            symbols.append(self.rule_symbol(tree))
        elif isinstance(tree, Sequence):
            for item in tree.items:
                self.append(item, symbols)
        elif isinstance(tree, Repeat):
            alternatives = self.alternatives(tree.body)
            symbols += counted(self.model, alternatives, tree.minimum, tree.maximum)
        elif isinstance(tree, Choice):
            symbols += group(self.model, self.alternatives(tree))
        elif isinstance(tree, SpecialToken):
            symbols.append(self.special_symbol(tree))
        else:
            symbols.append(self.terminal_symbol(tree))

    def special_symbol(self, node: SpecialToken) -> int:
        symbol = self.symbols.get(node.name)
        if symbol is None:
            symbol = self.token_ids(node) if node.name.startswith("<[") else self.model.special(node.name, node)
            self.symbols[node.name] = symbol
        return symbol

    def token_ids(self, node: SpecialToken) -> int:
        from . import token_ids  # rare

        try:
            ranges, negated = token_ids.parse(node.name)
        except ValueError as error:
            raise self.error(str(error), node, token_ids.HINT) from None
        return self.model.token_ids(node.name, ranges, (), negated, node)

    # What the model and the terminals say about the text.

    def place(self, node: Node) -> int:
        """The lexeme of the text that `node` is about: of the import, where it comes from a library."""
        return node.at if node.at >= 0 else self.importing

    def error(self, message: str, node: Node, hint: str | None = None, shift: int = 0) -> GrammarError:
        offset = self.parsed.offset(self.place(node)) + (shift if node.at >= 0 else 0)
        return self.parsed.source.error(message, offset, hint)

    def limit_error(self, message: str, node: Node, hint: str | None = None) -> GrammarLimitError:
        return self.parsed.limit_error(message, self.place(node), hint)

    def regex_error(self, error: RegexSyntaxError, node: Node) -> GrammarError:
        return self.terminals.regex_error(error, node)

    def warning(self, message: str, node: Node) -> GrammarWarning:
        return self.parsed.warning(message, self.place(node))


def literal_key(tree: Node) -> object:
    """What makes two terminals the same one: how their only literal is written, or their expression itself."""
    if isinstance(tree, (String, Regexp)):
        return tree.raw
    if isinstance(tree, Range):
        return f"{tree.first}..{tree.last}"
    return tree


def is_name_char(char: str) -> bool:
    return char.isalnum() or char == "_"
