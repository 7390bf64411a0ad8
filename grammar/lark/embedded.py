"""Grammars within a grammar: `%lark {...}` and `%json {...}` in the text, and `@name`, which the caller gives.

An embedded grammar has its own names, its own `start` rule and its own `%ignore`. The text that it ignores may be
before, between and after its own lexemes, and nowhere else. The text that the grammar around it ignores may be before
and after it. All of them become one context-free grammar, so the parser need not decide where one begins or ends.

The engine ignores text everywhere or nowhere. So if there is an embedded grammar, ignored text gets productions: in a
grammar that ignores something, a list of ignored lexemes follows each lexeme, and one precedes the start rule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import GrammarError, GrammarLimitError
from ..model.attributes import RuleAttributes
from ..model.model import SPECIAL, TERMINAL
from ..source import did_you_mean
from .modules import Module, Modules
from .parse import parse_inside
from .terminals import read_json
from .tree import Block, GrammarName, Node, TerminalName

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...earley import Engine
    from ...earley.limits import Limits
    from ..model.model import Model
    from .modules import GivenGrammar
    from .protocols import GrammarLoader

MAX_EMBEDDED = 50
"""The most grammars within each other. They are read recursively. Beyond it, GrammarLimitError is raised."""


class _Part(NamedTuple):
    """One grammar. The symbols from `begin` to `end` are its own, except for those of grammars within it."""

    loader: GrammarLoader | None  # None if its front end ignores no text
    begin: int
    end: int
    symbol: int  # stands for it in other grammars; -1 for the outermost grammar
    start: int  # its start rule


class Embedded:
    """All grammars within one grammar."""

    def __init__(self, model: Model, loader: Callable[..., GrammarLoader]) -> None:
        """`loader`: the class of the loaders of Lark grammars."""
        self.model = model
        self.loader = loader
        self.parts: list[_Part] = []  # inner ones before outer ones
        self.known: dict[object, int] = {}  # symbols of grammars, by block or name
        self.uses: dict[tuple[GrammarLoader, int], int] = {}  # helpers, by the grammar that uses it and its symbol
        self.depth = 0
        self.schemas: list[tuple[Any, Node, Any, str]] = []  # their scopes and nodes, the schemas, their options

    @property
    def embedded(self) -> Embedded:
        """A loader within these grammars asks what is around it for its model and for this."""
        return self

    def symbol(self, loader: GrammarLoader, node: Block | GrammarName) -> int:
        """Return the symbol that stands for an embedded grammar in the grammar of `loader`."""
        key: object = node if isinstance(node, Block) else (id(loader.modules), node.name)
        symbol = self.known.get(key)
        if symbol is None:
            scope = loader.scope
            if self.depth == MAX_EMBEDDED:
                raise scope.limit_error(f"more than {MAX_EMBEDDED} grammars are within each other", node)
            name = node.raw[:5] if isinstance(node, Block) else f"@{node.name}"
            symbol = self.known[key] = self.model.rule(name, (scope, node))
            self.depth += 1
            try:
                if isinstance(node, Block) and name == "%json":
                    self.model.produce(symbol, (self.block(loader, node),))
                elif isinstance(node, Block):
                    self.read(block_loader(loader, node), symbol, "start")
                else:
                    self.named(loader, node, symbol)
            except GrammarError as error:
                # An error about the embedded grammar as a whole has the place of that grammar. Drop a hint to give
                # another start rule: `start` is the option of the outermost grammar alone.
                if error.line is None and not isinstance(error, GrammarLimitError):
                    hint, option = (None, None) if error.option == "start" else (error.hint, error.option)
                    raise scope.error(error.message, node, hint).set_option(option) from error
                raise
            self.depth -= 1
        use = self.uses.get((loader, symbol))
        if use is None:  # one for each grammar that uses it, because what that grammar ignores may follow
            use = self.uses[loader, symbol] = self.model.helper("(grammar)")
            self.model.produce(use, (symbol,))
        return use

    def read(self, loader: GrammarLoader, symbol: int, start: str) -> None:
        begin = len(self.model.kinds)
        start_symbol = loader.read(start)
        self.parts.append(_Part(loader, begin, len(self.model.kinds), symbol, start_symbol))

    def named(self, loader: GrammarLoader, node: GrammarName, symbol: int) -> None:
        grammars = dict(loader.modules.options.grammars)
        given = grammars.get(node.name)
        scope = loader.scope
        if given is None:
            meant = did_you_mean(node.name, grammars)
            message = f"there is no grammar `@{node.name}`"
            if meant:
                raise scope.error(message, node, meant)
            raise scope.error(message, node, f"give it: grammars={{{node.name!r}: ...}}").set_option("grammars")
        shown = f"grammars[{node.name!r}]"
        if isinstance(given, str):
            index = -2 - list(grammars).index(node.name)
            parsed = loader.modules.parse(given, shown)
            module = Module(index, shown, parsed)
            self.read(loader.inner(parsed, loader.modules, module), symbol, "start")
        elif given.kind == "json_schema":
            self.model.produce(symbol, (self.schema(given.source, given.options, loader, node),))
        else:
            self.given(given, shown, symbol, (scope, node), loader.modules.limits)

    def given(self, given: GivenGrammar, shown: str, symbol: int, origin: Any, limits: Limits) -> None:
        """Let `symbol` derive the texts of a grammar, as its front end reads it. Errors call it `shown`."""
        if given.kind == "lark":
            modules = Modules.restored(given._kept, limits)
            parsed = modules.parse(given.source, shown)
            self.read(self.loader(parsed, modules, Module(0, shown, parsed), self), symbol, given.start)
        else:  # it ignores no text
            begin = len(self.model.kinds)
            start = given._within(self, shown, origin, limits)
            self.parts.append(_Part(None, begin, len(self.model.kinds), symbol, start))

    def block(self, loader: GrammarLoader, node: Block) -> int:
        """Return the symbol of a `%json` block, whose schema may have options."""
        from ..json_schema.grammar import block_options

        value = read_json(loader.scope, node, exact=True)
        try:
            schema, options = block_options(value)
        except (TypeError, ValueError) as error:
            raise loader.scope.error(str(error), node) from None
        # Its strings may have spellings of their own, which only the text shows.
        has_escapes = schema is value and "\\" in node.raw
        return self.schema(node.raw[node.raw.index("{") :] if has_escapes else schema, options, loader, node)

    def schema(self, given: Any, options: str, loader: GrammarLoader, node: Block | GrammarName) -> int:
        """Return the symbol for the documents of a JSON Schema, with options as a grammar keeps them."""
        self.schemas.append((loader.scope, node, given, options))
        name = "%json" if isinstance(node, Block) else f"@{node.name}"
        return self.documents(name, given, options, (loader.scope, node), loader.modules.limits)

    def documents(self, name: str, given: Any, options: str, origin: Any, limits: Limits) -> int:
        """Return the symbol for the documents of a JSON Schema, whose errors have hints for grammars within others."""
        from ..json_schema.grammar import embed

        def make(engine: Engine) -> int:
            try:
                return embed(given, options, engine, limits)
            except GrammarError as error:
                for one in error.errors:
                    one.hint = _by_name(one)
                raise

        return self.model.made(name, make, origin)

    # Ignored text.

    def lay_out(self, top: GrammarLoader | None, start: int) -> int:
        """Add the productions of ignored text. Return the new start symbol."""
        model = self.model
        n_symbols = len(model.kinds)
        parts = [*self.parts, _Part(top, 0, n_symbols, -1, start)]
        owners = [-1] * n_symbols
        for index, part in enumerate(parts):
            for symbol in range(part.begin, part.end):
                if owners[symbol] < 0:
                    owners[symbol] = index
        ignored = [self.ignored(part.loader, model.quoted.get(part.symbol)) for part in parts]
        wrapped: dict[int, int] = {}
        for (loader, _), use in self.uses.items():
            many = ignored[next(index for index, part in enumerate(parts) if part.loader is loader)]
            if many is not None:
                model.productions[use] = [(*model.productions[use][0], many)]
        for lhs in range(n_symbols):
            many = ignored[owners[lhs]]
            if many is not None and model.productions[lhs]:
                model.productions[lhs] = [
                    tuple([self.followed(part, many, wrapped) for part in rhs]) for rhs in model.productions[lhs]
                ]
        for index, part in enumerate(parts):
            many = ignored[index]
            rhs = (part.start,) if many is None else (many, part.start)
            if part.symbol >= 0:
                model.produce(part.symbol, rhs)
            elif many is not None:
                start = model.rule(model.names[part.start], model.origins[part.start])
                model.produce(start, rhs)
        return start

    def ignored(self, loader: GrammarLoader | None, quoted: tuple[bool, bool] | None) -> int | None:
        """Return the symbol of a list of ignored lexemes, or None if the grammar ignores nothing. `quoted`: how they
        are spelled if the grammar stands within a JSON string."""
        if loader is None or not loader.parsed.ignored:
            return None
        trees: list[Node] = loader.parsed.ignored
        many = self.model.helper("(ignored text)")
        self.model.produce(many, ())
        loader.enter(loader.top, None)
        for index, tree in enumerate(trees):
            name = tree.name if isinstance(tree, TerminalName) else f"ignored {index + 1}"
            symbol = self.model.terminal(name, loader.terminals.build(tree), (loader.top, tree))
            if self.model.attributes:
                self.model.attributes[symbol] = RuleAttributes(is_ignored=True)
            if quoted is not None:
                self.model.quoted[symbol] = quoted
            self.model.produce(many, (many, symbol))
        return many

    def followed(self, part: int, many: int, wrapped: dict[int, int]) -> int:
        """Return the symbol of a lexeme with ignored ones after it. Other symbols stay as they are."""
        if self.model.kinds[part] not in (TERMINAL, SPECIAL) or part == many:
            return part
        symbol = wrapped.get(part)
        if symbol is None:
            symbol = wrapped[part] = self.model.helper(self.model.names[part])
            self.model.produce(symbol, (part, many))
        return symbol


def _by_name(error: GrammarError) -> str | None:
    """Return the hint of an error about a schema in `%json`: a grammar given by name has the option."""
    option = {"strict": "strict=False", "registry": "registry=..."}.get(error.option or "")
    if option is None:
        return error.hint
    error.set_option("grammars")
    return f"write `@name` instead, and give grammars={{'name': Grammar.from_json_schema(schema, {option})}}"


def shown_place(scope: Any, node: Block | GrammarName) -> str:
    """Return the place of an embedded grammar in words, for messages."""
    error = scope.error("", node)
    source = "" if error.source is None else f"in {error.source}, "
    return f"{source}line {error.line}, column {error.column}"


def block_loader(loader: GrammarLoader, node: Block) -> GrammarLoader:
    """Return a loader for the grammar in `%lark {...}`. Its places are places in the text around it."""
    scope = loader.scope
    begin = node.raw.index("{") + 1
    around, at = scope.place(node)
    parsed = parse_inside(around, node.raw[begin:-1], around.offset(at) + begin)
    outer = scope.module
    module = Module(outer.index, outer.name, parsed, None, outer.base, outer.package)
    return loader.inner(parsed, loader.modules, module)
