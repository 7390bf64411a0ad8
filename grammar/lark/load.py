"""From a Lark grammar text to a compiled engine.

`scope` collects the names of the text. Then, beginning at the start symbol, each rule that is reached becomes
productions, and each terminal that a rule uses becomes a regex. In the other definitions only undefined names are
errors, as in Lark, so unused parts of a grammar cost next to nothing. Equal strings and regexps are one terminal, which
has the name, or the text, of its first use.

Modifiers (`?rule`, `!rule`, `_rule`), aliases and priorities shape Lark's trees or choose among them. They are checked
and have no other effect, because they do not change the language.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...earley._large import Table, untrack
from ...earley._meter import keep, keep_circular, tick
from ...earley.limits import DEFAULT, Limits
from ...trie.errors import shortened
from ..errors import GrammarError, GrammarLimitError, RegexSyntaxError
from ..loading import PIECE, distinct
from ..model.compile import compile_model
from ..model.model import Model, Symbols
from ..model.repetition import Alternatives, counted, group, repeat_into
from ..source import GrammarWarning, did_you_mean
from .literals import EMPTY_STRINGS
from .modules import NO_OPTIONS, Kept, Module, Modules, Options
from .scope import Elsewhere, Environment, Found, Scope, special_of
from .templates import Templates
from .terminals import TerminalBuilder, written
from .tree import (
    DECLARED,
    Attributed,
    Block,
    Choice,
    Complement,
    Definition,
    Extended,
    GrammarName,
    Guarded,
    Indexed,
    Intersection,
    Node,
    Parametric,
    ParsedGrammar,
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
    from ...earley import Engine
    from .embedded import Embedded


def load(text: str, start: str, options: Options = NO_OPTIONS) -> tuple[Engine, Kept | None]:
    """Return the engine for the language of rule `start` in the grammar `text`, and what is needed to read it again."""
    return loaded(text, start, Modules(options))


def load_again(text: str, start: str, kept: Kept | None, limits: Limits = DEFAULT) -> tuple[Engine, Kept | None]:
    """Load a text again: its imports mean what they meant the first time, and nothing is looked for."""
    return loaded(text, start, Modules.restored(kept, limits))


def loaded(text: str, start: str, modules: Modules) -> tuple[Engine, Kept | None]:
    return LarkLoader(modules.parse(text), modules).load(start), modules.to_keep()


def schemas_within(text: str, start: str, kept: Kept | None, limits: Limits) -> list[tuple[str, Any, str]]:
    """Return the JSON Schemas within a grammar that has been loaded from the same text before.

    Each is a tuple of its place, the schema, and its options as grammars keep them.
    """
    modules = Modules.restored(kept, limits)
    loader = LarkLoader(modules.parse(text), modules)
    loader.load(start)
    if loader.embedded is None:
        return []
    from .embedded import shown_place

    return [(shown_place(scope, node), schema, options) for scope, node, schema, options in loader.embedded.schemas]


class LarkLoader:
    """Resolves the names of one grammar and fills a model."""

    def __init__(
        self,
        parsed: ParsedGrammar,
        modules: Modules,
        module: Module | None = None,
        around: LarkLoader | Embedded | None = None,
    ) -> None:
        """A grammar within another one has its `module`, and `around`: the loader of that other one, or all grammars
        within it."""
        self.parsed = parsed
        self.modules = modules
        self.top = Scope(modules, modules.top(parsed) if module is None else module)
        self.model: Model = Model(self, modules.limits) if around is None else around.model
        self.terminals = TerminalBuilder(self, modules.limits, posix_classes=modules.options.posix_classes)
        self.templates = Templates(self)
        self.scope: Scope = self.top  # the scope of the text that is being read
        self.symbols = self.top.symbols  # those of `scope`
        self.environment: Environment | None = None  # the arguments of the template that is being read, if any
        self.literals: Table[str, int] = Table()  # symbols, by literal as written or by special token
        # For what Lark does not have: symbols, by what they stand for; whether a rule with a value is being read; the
        # grammars within this one and around it, if there are any.
        self.extended: dict[object, int] = {}
        self.has_value = False
        self.embedded: Embedded | None = None if around is None else around.embedded
        # Rules that have a symbol. They get their productions in this order.
        self.pending: list[tuple[int, Definition, Scope, Environment | None]] = []
        keep_circular(self)

    def load(self, start: str) -> Engine:
        self.collect()
        start_symbol = self.read_rules(start)
        if self.modules.unused:
            raise GrammarError(
                f"grammars= gives `{min(self.modules.unused)}`, but the text does not use it",
                hint=f"write `@{min(self.modules.unused)}` in a rule, or remove it from grammars=",
            )
        if self.embedded is not None:
            start_symbol = self.embedded.lay_out(self, start_symbol)
        else:
            self.add_ignored()
        return compile_model(self.model, start_symbol)

    def read(self, start: str) -> int:
        """Read a grammar within another one. Return its start symbol."""
        self.top.collect()
        return self.read_rules(start)

    def read_rules(self, start: str) -> int:
        start_symbol = self.start_symbol(start)
        for symbol, definition, scope, environment in self.pending:  # grows while it is read
            self.enter(scope, environment)
            self.define(symbol, definition.tree)
        self.enter(self.top, None)
        self.check_unreached()
        return start_symbol

    def collect(self) -> None:
        self.top.collect()
        if self.modules.unbound:
            raise GrammarError(
                f"the text does not declare `{min(self.modules.unbound)}`, which declared= gives",
                hint="write `%declare NAME` in the text, or remove the name from declared=",
            )

    def enter(self, scope: Scope, environment: Environment | None) -> None:
        """Continue in the text of `scope`, with the arguments of a template or without."""
        self.scope = scope
        self.symbols = scope.symbols
        self.environment = environment

    def move(self, scope: Scope) -> Scope:
        """Continue in the text of `scope`, within the same definition. Return the scope before."""
        before = self.scope
        self.scope = scope
        self.symbols = scope.symbols
        return before

    # Names.

    def start_symbol(self, start: str) -> int:
        found = self.top.own(start)
        if found is None:
            rules = [definition for definition in self.top.definitions.values() if not definition.is_terminal]
            if not rules:
                raise GrammarError("the grammar has no rules", hint="write `start: ...`")
            names = [definition.name for definition in rules if can_start(definition)]
            message = f"the start rule `{start}` is not defined"
            hint = did_you_mean(start, names)
            if hint is not None or not names:
                raise GrammarError(message, hint=hint or f"define it: `{start}: ...`")
            hint = f"give another start rule, such as start={shortened(names[0])!r}"
            raise GrammarError(message, hint=hint).set_option("start")
        definition = found[1]
        if definition.is_terminal:
            raise GrammarError("the start symbol is a terminal", hint=f"add a rule for it: `start: {start}`")
        if definition.params:
            raise GrammarError(f"the start rule `{start}` is a template", hint=f"add a rule that uses {start}{{...}}")
        return self.rule_symbol(RuleName(definition.at, start))

    def find(self, node: RuleName | TerminalName | TemplateUse) -> Found:
        """Return the meaning of a name in a rule."""
        found = self.scope.resolve(node.name)
        if found is None:
            raise self.scope.undefined(node)
        return found

    def find_terminal(self, node: TerminalName) -> Found:
        """Return the meaning of a name in a terminal."""
        found = self.scope.own(node.name)
        if found is None:
            raise self.scope.undefined(node)
        definition = found[1]
        if definition.tree is DECLARED:
            raise self.unbound(node)
        return found

    def rule_symbol(self, node: RuleName) -> int:
        symbol = self.symbols.get(node.name)
        if symbol is None:
            scope, definition = self.find(node)
            name = definition.name
            if definition.params:
                raise self.scope.error(
                    f"`{node.name}` is a template and needs arguments", node, f"write {node.name}{{...}}"
                )
            symbol = scope.symbols.get(name)
            if symbol is None:
                if isinstance(definition.tree, Parametric):
                    raise self.scope.error(f"rule `{name}` needs a value", node, f"write {name}::0, or another number")
                symbol = scope.symbols[name] = self.model.rule(name, (scope, definition))
                self.pending.append((symbol, definition, scope, None))
            self.symbols[node.name] = symbol
        return symbol

    def terminal_symbol(self, node: TerminalName) -> int:
        symbol = self.symbols.get(node.name)
        if symbol is None:
            found = self.find(node)
            scope, definition = found
            symbol = scope.symbols.get(definition.name)
            if symbol is None:
                tree = definition.tree
                if tree is DECLARED:
                    raise self.unbound(node)
                symbol = self.named_symbol(found, tree)
                scope.symbols[definition.name] = symbol
            self.symbols[node.name] = symbol
        return symbol

    def named_symbol(self, found: Found, tree: Node) -> int:
        """Return the symbol of the terminal `found`, whose expression is `tree`."""
        scope, definition = found
        special = special_of(tree)
        if special is not None:
            return self.special_symbol(special)
        key = literal_key(tree)
        symbol = self.literals.get(key) if key is not None else None
        if symbol is None:
            outer = self.move(scope)
            symbol = self.model.terminal(definition.name, self.terminals.build(tree, found), (scope, tree))
            if key is not None:
                self.literals[key] = symbol
            self.move(outer)
        return symbol

    def literal_symbol(self, node: Node) -> int:
        key = literal_key(node)
        assert key is not None
        symbol = self.literals.get(key)
        if symbol is None:
            symbol = self.model.terminal(key, self.terminals.build(node), (self.scope, node))
            self.literals[key] = symbol
        return symbol

    def special_symbol(self, node: SpecialToken) -> int:
        symbol = self.literals.get(node.name)
        if symbol is None:
            name = node.name
            symbol = self.token_ids(node) if name.startswith("<[") else self.model.special(name, (self.scope, node))
            self.literals[name] = symbol
        return symbol

    def token_ids(self, node: SpecialToken) -> int:
        """Return the symbol of `<[5]>`, tokens by id, or of `<[NAME]>`, the special token `[NAME]`."""
        from .. import token_ids  # rare

        name = token_ids.control_token(node.name)
        if name is not None:
            return self.model.special(name, (self.scope, node))
        try:
            ranges, negated = token_ids.parse(node.name)
        except ValueError as error:
            raise self.scope.error(str(error), node, token_ids.HINT) from None
        return self.model.token_ids(node.name, ranges, (), negated, (self.scope, node))

    def unbound(self, node: TerminalName) -> GrammarError:
        hint = f"give its meaning: declared={{{node.name!r}: '<|name|>'}}, or a regular expression, '/.../'"
        return self.scope.error(f"`{node.name}` is only declared", node, hint).set_option("declared")

    # Definitions that the start rule does not reach.

    def check_unreached(self) -> None:
        """Check the names in the definitions of the text that have not been read."""
        for definition in self.top.definitions.values():
            tick()
            if definition.tree is not DECLARED and (definition.is_terminal or definition.name not in self.symbols):
                self.check_names(definition)

    def check_names(self, definition: Definition) -> None:
        """Raise the error about an undefined name in a definition of the text, if there is one."""
        stack = [definition.tree]
        params = definition.params
        while stack:
            tick()
            node = stack.pop()
            if isinstance(node, (RuleName, TerminalName)):
                name = node.name
                if name not in self.symbols and name not in params and self.scope.own(name) is None:
                    raise self.scope.undefined(node)
            elif isinstance(node, Sequence):
                stack += node.items
            elif isinstance(node, Choice):
                stack += node.alternatives
            elif isinstance(node, Repeat):
                stack.append(node.body)
            elif isinstance(node, Extended):
                stack += node.children()
                if isinstance(node, Indexed):
                    stack.append(RuleName(node.at, node.name))
            elif isinstance(node, TemplateUse):
                stack += node.arguments
                if node.name not in params:
                    self.templates.check(node, self.find(node)[1])

    def add_ignored(self) -> None:
        for index, tree in enumerate(self.parsed.ignored):
            name = tree.name if isinstance(tree, TerminalName) else f"ignored {index + 1}"
            self.model.ignored(name, self.terminals.build(tree), (self.top, tree))
            tick()

    # Productions.

    def define(self, lhs: int, tree: Node) -> None:
        """Add the productions with which `lhs` derives `tree`."""
        if isinstance(tree, Repeat) and tree.maximum is None and tree.minimum <= 1:
            # The rule is only a list: it needs no helper rule.
            alternatives = self.alternatives(tree.body)
            nullable = not tree.minimum or () in alternatives
            repeat_into(self.model, lhs, alternatives, nullable)
            return
        for rhs in self.alternatives(tree):
            self.model.produce(lhs, rhs)

    def alternatives(self, tree: Node) -> Alternatives:
        """Return the sequences of symbols that `tree` stands for. A choice directly within a choice is flattened."""
        if isinstance(tree, Choice):
            flat: list[Symbols] = []
            try:
                for alternative in tree.alternatives:
                    if isinstance(alternative, Choice):
                        flat += self.alternatives(alternative)
                    else:
                        flat.append(self.sequence(alternative))
                return tuple(distinct(flat))
            finally:
                if len(flat) > PIECE:
                    keep(flat)
        return (self.sequence(tree),)

    def sequence(self, tree: Node) -> Symbols:
        """Return the symbols that `tree` becomes within an alternative."""
        symbols: list[int] = []
        self.append(tree, symbols)
        tick()
        found = tuple(symbols)
        if len(symbols) > PIECE:
            keep(symbols)
            untrack(found)
        return found

    def append(self, tree: Node, symbols: list[int]) -> None:
        """Append to `symbols` what `tree` becomes. Frequent kinds come first."""
        if isinstance(tree, String):
            if tree.raw not in EMPTY_STRINGS:
                symbols.append(self.literal_symbol(tree))
        elif isinstance(tree, TerminalName):
            symbols.append(self.terminal_symbol(tree))
        elif isinstance(tree, RuleName):
            if self.environment is not None and tree.name in self.environment:
                symbols += self.templates.parameter(tree)
            else:
                symbols.append(self.rule_symbol(tree))
        elif isinstance(tree, Sequence):
            for item in tree.items:
                self.append(item, symbols)
                if not len(symbols) & 0xFF:
                    tick()
        elif isinstance(tree, Repeat):
            alternatives = self.alternatives(tree.body)
            symbols += counted(self.model, alternatives, tree.minimum, tree.maximum)
        elif isinstance(tree, Choice):
            symbols += group(self.model, self.alternatives(tree))
        elif isinstance(tree, SpecialToken):
            symbols.append(self.special_symbol(tree))
        elif isinstance(tree, TemplateUse):
            symbols.append(self.templates.symbol(tree))
        elif isinstance(tree, Elsewhere):
            outer = self.move(tree.scope)
            symbols += group(self.model, self.alternatives(tree.tree))
            self.move(outer)
        elif isinstance(tree, Extended):
            self.append_extended(tree, symbols)
        else:
            symbols.append(self.literal_symbol(tree))

    # What Lark does not have. The modules are imported lazily, because few grammars need them.

    def append_extended(self, tree: Extended, symbols: list[int]) -> None:
        """Append to `symbols` the symbols for an expression that Lark does not have."""
        if isinstance(tree, (Intersection, Complement)) or (isinstance(tree, Block) and tree.raw[:6] == "%regex"):
            symbols.append(self.composed_symbol(tree))
        elif isinstance(tree, Attributed):
            from . import attributes

            attributes.append(self, tree, symbols)
        elif isinstance(tree, (Block, GrammarName)):
            if self.embedded is None:
                from .embedded import Embedded

                self.embedded = Embedded(self.model, LarkLoader)
            symbols.append(self.embedded.symbol(self, tree))
        else:
            from . import parametric

            assert isinstance(tree, (Parametric, Guarded, Indexed))
            parametric.append(self, tree, symbols)

    def composed_symbol(self, tree: Extended) -> int:
        """Return the symbol of an expression in a rule that is one terminal, such as an intersection."""
        symbol = self.extended.get(tree)
        if symbol is None:
            regex = self.terminals.build(tree)
            symbol = self.extended[tree] = self.model.terminal(written(tree), regex, (self.scope, tree))
        return symbol

    def inner(self, parsed: ParsedGrammar, modules: Modules, module: Module) -> LarkLoader:
        """Return a loader for a grammar within this one. It fills the same model."""
        return LarkLoader(parsed, modules, module, self)

    # The model reports through these. `origin` is the scope and the node that a symbol was made for.

    def error(self, message: str, origin: tuple[Scope, Node], hint: str | None = None) -> GrammarError:
        return origin[0].error(message, origin[1], hint)

    def limit_error(self, message: str, origin: tuple[Scope, Node]) -> GrammarLimitError:
        return origin[0].limit_error(message, origin[1])

    def regex_error(self, error: RegexSyntaxError, origin: tuple[Scope, Node]) -> GrammarError:
        self.move(origin[0])
        return self.terminals.regex_error(error, origin[1])

    def warning(self, message: str, origin: tuple[Scope, Node]) -> GrammarWarning:
        parsed, at = origin[0].place(origin[1])
        return parsed.warning(message, at)


def can_start(definition: Definition) -> bool:
    """Return whether a rule can be the start rule: it has no parameters and no value."""
    return not definition.params and not isinstance(definition.tree, Parametric)


def literal_key(tree: Node) -> str | None:
    """Return the text of a terminal that is a single literal, by which equal ones are found; None for any other."""
    if isinstance(tree, (String, Regexp)):
        return tree.raw
    if isinstance(tree, Range):
        return f"{tree.first}..{tree.last}"
    return None
