"""Find what is legal in a Lark grammar but probably not meant, or what costs more than its author may think.

A warning is given only if it is certainly true. Warnings are found when `Grammar.warnings` is first read, or by
`earleymask check`, by reading the grammar once more.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from ...earley._regex import Regexes
from ..model.analysis import cycles, nullable_symbols
from ..model.model import IGNORED, RULE, TERMINAL, Origin
from ..regex.lower import lower
from ..regex.posix import posix_classes, posix_warning
from ..source import MAX_WARNINGS
from .errors import leaves
from .literals import EMPTY_STRINGS, ESCAPED, split, string_text
from .load import LarkLoader, literal_key
from .modules import Kept, Modules
from .traps import find_traps
from .tree import (
    DECLARED,
    Attributed,
    Choice,
    Definition,
    Extended,
    Node,
    Regexp,
    Repeat,
    RuleName,
    Sequence,
    String,
    TemplateUse,
    TerminalName,
)

if TYPE_CHECKING:
    from ...earley.limits import Limits
    from ..regex.cuts import Context
    from ..source import GrammarWarning

# Special tokens as current models write them: <|im_end|>, <s>, </s>, <eos>, <start_of_turn>, [INST], [/INST].
_LIKE_SPECIAL = re.compile(
    r"<\|[^|<>\s]+\|>|</?s>|<(?:bos|eos|pad|unk|mask|start_of_turn|end_of_turn)>|\[/?(?:INST|TOOL_CALLS|AVAILABLE_TOOLS)\]"
)

_ESCAPE = re.compile(r"\\(.)", re.DOTALL)

_BLANKS = (b" ", b"\n", b"\t")


def find_warnings(text: str, start: str, kept: Kept | None, limits: Limits) -> tuple[GrammarWarning, ...]:
    """Return the warnings about a grammar that has been loaded from the same text before, in the order of the text."""
    modules = Modules.restored(kept, limits)
    loader = LarkLoader(modules.parse(text), modules)
    loader.load(start)
    finder = _Finder(loader)
    finder.unused(start)
    finder.terminals()
    finder.cycles()
    for definition in loader.top.definitions.values():
        if definition.tree is not DECLARED:
            finder.walk(definition)
            finder.literals(definition.tree)
    for tree in loader.parsed.ignored:
        finder.literals(tree)
    finder.schemas()
    find_traps(finder, start)
    return ordered(loader.model.warnings)


def ordered(warnings: list[GrammarWarning]) -> tuple[GrammarWarning, ...]:
    told, more = warnings[:MAX_WARNINGS], warnings[MAX_WARNINGS:]  # `more`: one that counts all others
    return (*sorted(told, key=lambda found: (found.source or "", found.line or 0, found.column or 0)), *more)


class _Finder:
    """Looks through one loaded grammar."""

    def __init__(self, loader: LarkLoader) -> None:
        self.loader = loader
        self.top = loader.top
        self.model = loader.model
        self.regexes = Regexes()
        self.nodes: dict[int, int] = {}
        self.contextual: set[int] = set()  # the terminals that look at what follows them
        for symbol, tree in enumerate(self.model.trees):
            if tree is not None:
                contexts: list[Context] = []
                self.nodes[symbol] = lower(tree, self.regexes, contexts, lazily=True)
                if contexts:
                    self.contextual.add(symbol)
        self.nullable = nullable_symbols(
            self.model,
            {
                symbol
                for symbol, node in self.nodes.items()
                if self.model.kinds[symbol] == TERMINAL and self.regexes.is_nullable(node)
            },
        )

    def warn(self, message: str, node: Node) -> None:
        self.model.warn(message, (self.top, node))

    def unused(self, start: str) -> None:
        """Warn of rules and templates that the start rule does not reach, and of terminals that nothing uses."""
        symbols = self.top.symbols
        for alias, node in self.top.imported.items():
            if self.top.own(alias) is None:
                self.warn(f"`{node.module}` has no `{node.name}`; nothing uses this import", node)
        templates = {definition for _, definition, _, environment in self.loader.pending if environment is not None}
        used: set[str] = set()
        for tree in self.loader.parsed.ignored:
            self.collect_names(tree, used)
        definitions = [definition for definition in self.top.definitions.values() if definition.tree is not DECLARED]
        valued = self.loader.extended
        definitions = [definition for definition in definitions if (self.top, definition) not in valued]
        reached = self.reached(definitions)
        for definition in self.top.definitions.values():
            if definition.tree is not DECLARED:
                self.collect_names(definition.tree, used)
        for definition in definitions:
            if definition.params:
                if definition not in templates:
                    self.warn(f"template `{definition.name}` is not used", definition)
            elif not definition.is_terminal and definition.name not in reached:
                self.warn(f"rule `{definition.name}` is not reached from `{start}`", definition)
        for definition in definitions:
            if definition.is_terminal and definition.name not in symbols and definition.name not in used:
                self.warn(f"terminal `{definition.name}` is not used", definition)

    def reached(self, definitions: list[Definition]) -> set[str]:
        """Return the names of the rules that the start rule reaches, those in the bodies of rules with attributes
        included: these bodies are read as regexps, so their rules have no symbols."""
        reached = set(self.top.symbols)
        bodies = {definition.name: definition.tree for definition in definitions if not definition.is_terminal}
        stack = [name for name, tree in bodies.items() if name in reached and isinstance(tree, Attributed)]
        while stack:
            names: set[str] = set()
            self.collect_names(bodies[stack.pop()], names)
            more = names & bodies.keys() - reached
            reached |= more
            stack += more
        return reached

    def collect_names(self, tree: Node, names: set[str]) -> None:
        for leaf, _ in leaves(tree, self.top, deep=True):
            if isinstance(leaf, (RuleName, TerminalName)):
                names.add(leaf.name)

    def terminals(self) -> None:
        """Warn of terminals that can be empty, and of ignored white space."""
        for symbol, node in self.nodes.items():
            kind = self.model.kinds[symbol]
            name = self.model.names[symbol]
            origin = self.model.origins[symbol]
            if self.regexes.is_nullable(node) and not isinstance(origin, Origin):
                self.model.warn(
                    f"terminal `{name}` can match the empty text, which Lark refuses; "
                    "make it match at least one character, and write `?` or `*` where it is used",
                    origin,
                )
            if kind == IGNORED and any(self.regexes.matches(node, blank) for blank in _BLANKS):
                self.model.warn(
                    f"`{name}` allows white space without end between any two lexemes, and a model may not stop "
                    "writing it; if that matters, put the blanks that you want into the rules",
                    origin,
                )

    def cycles(self) -> None:
        """Warn of rules that can derive just themselves, and of rules that are recursive at both ends."""
        for component in cycles(self.model, self.nullable):
            rules = [symbol for symbol in component if self.model.kinds[symbol] == RULE]
            if self.model.parameters is not None and not self.model.parameters.calls.keys().isdisjoint(component):
                continue  # with other values each time
            if rules:
                names = " and ".join(f"`{self.model.names[symbol]}`" for symbol in rules[:3])
                what = "each other" if len(rules) > 1 else "itself"
                self.model.warn(
                    f"{names} can derive just {what}, so a text can be parsed in infinitely many ways",
                    self.model.origins[rules[0]],
                )
        for symbol, alternatives in enumerate(self.model.productions):
            if self.model.kinds[symbol] == RULE:
                if any(len(rhs) > 1 and rhs[0] == symbol and rhs[-1] == symbol for rhs in alternatives):
                    name = self.model.names[symbol]
                    self.model.warn(
                        f"an alternative of `{name}` begins and ends with `{name}`, so three in a row can be parsed in "
                        "two ways; masks are the same, but take longer than with a list",
                        self.model.origins[symbol],
                    )

    def walk(self, definition: Definition) -> None:
        """Look at the expressions of a definition, except for those that Lark does not have."""
        in_rule = not definition.is_terminal
        stack = [definition.tree]
        while stack:
            node = stack.pop()
            if isinstance(node, Sequence):
                stack += node.items
                if in_rule:
                    self.neighbours(node.items)
            elif isinstance(node, Choice):
                stack += node.alternatives
                if node is definition.tree and in_rule:
                    self.says_nothing(definition, node)
            elif isinstance(node, Repeat):
                stack.append(node.body)
                if in_rule and node.maximum is None:
                    self.repeated(node)

    def literals(self, tree: Node) -> None:
        """Look at all strings and regular expressions in `tree`."""
        stack = [tree]
        while stack:
            node = stack.pop()
            if isinstance(node, Sequence):
                stack += node.items
            elif isinstance(node, Choice):
                stack += node.alternatives
            elif isinstance(node, Repeat):
                stack.append(node.body)
            elif isinstance(node, TemplateUse):
                stack += node.arguments
            elif isinstance(node, Extended):
                stack += node.children()
            elif isinstance(node, Regexp):
                self.posix_classes(node)
            elif isinstance(node, String) and node.raw not in EMPTY_STRINGS:
                self.like_special(node)
                self.kept_escape(node)

    def schemas(self) -> None:
        """Warn of what warnings about the schemas in the grammar say."""
        if self.loader.embedded is None:
            return
        from ..json_schema.grammar import reread

        for scope, node, schema, options in self.loader.embedded.schemas:
            for found in reread(schema, options, self.model.limits).warnings():
                self.model.warn(found.message, (scope, node), found.pointer)

    def says_nothing(self, definition: Definition, tree: Choice) -> None:
        for alternative in tree.alternatives:
            if isinstance(alternative, RuleName) and alternative.name == definition.name:
                self.warn(f"this alternative of `{definition.name}` is the rule itself and has no effect", alternative)

    def neighbours(self, items: list[Node]) -> None:
        for first, second in pairwise(items):
            shown = endless_leaf(first)
            if shown is not None and shown == endless_leaf(second):
                self.warn(
                    f"two unbounded repetitions of `{shown}` follow each other: each can take any part, so a text can "
                    "be parsed in several ways",
                    second,
                )

    def repeated(self, node: Repeat) -> None:
        if self.is_nullable(node.body):
            self.warn("what is repeated here can be empty, so a text can be parsed in infinitely many ways", node)
        elif is_endless(node.body):
            self.warn("an unbounded repetition of an unbounded repetition: a text can be parsed in several ways", node)

    def like_special(self, node: String) -> None:
        text, _ = string_text(node.raw)
        match = _LIKE_SPECIAL.search(text)
        if match:
            self.warn(
                f"`{match[0]}` in a string is text, never the special token of that name"
                + (f"; for the token, write {match[0]} without quotes" if match[0][0] == "<" else ""),
                node,
            )

    def posix_classes(self, node: Regexp) -> None:
        pattern, flags = split(node.raw)
        if "[:" in pattern and not self.loader.modules.options.posix_classes:
            for match in posix_classes(pattern, "x" in flags):
                self.warn(posix_warning(match, has_option=True), node)

    def kept_escape(self, node: String) -> None:
        for match in _ESCAPE.finditer(split(node.raw)[0]):
            if match[1] not in ESCAPED:
                self.warn(
                    f"`{match[0]}` in a string is no escape: the backslash is part of the text; "
                    f"write `\\{match[0]}` if it is meant to be, and `{match[1]}` if not",
                    node,
                )
                break

    def is_nullable(self, tree: Node) -> bool:
        """Return whether an expression is known to match the empty text."""
        if isinstance(tree, Sequence):
            return all(self.is_nullable(item) for item in tree.items)
        if isinstance(tree, Choice):
            return any(self.is_nullable(alternative) for alternative in tree.alternatives)
        if isinstance(tree, Repeat):
            return tree.minimum == 0 or self.is_nullable(tree.body)
        if isinstance(tree, String) and tree.raw in EMPTY_STRINGS:
            return True
        if isinstance(tree, (RuleName, TerminalName)):
            return self.top.symbols.get(tree.name, -1) in self.nullable
        return self.loader.literals.get(literal_key(tree) or "") in self.nullable


def is_endless(node: Node) -> bool:
    return isinstance(node, Repeat) and node.maximum is None


def endless_leaf(node: Node) -> str | None:
    """Return the name or literal, as written, that `node` repeats without a bound; None if it does not do that."""
    if not isinstance(node, Repeat) or node.maximum is not None:
        return None
    body = node.body
    return body.name if isinstance(body, (RuleName, TerminalName)) else literal_key(body)
