"""From a GBNF grammar to a compiled engine.

`terminals` decides which expressions are terminals. The others become productions, in the shapes of `repetition`. A
rule that is a terminal keeps its name in them. Neighbours that name no rule are joined to one terminal: in
`[0-9] [0-9] ":" expr`, the digits and the colon are one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...earley._large import Table
from ...earley._meter import keep_circular, tick
from ...trie.errors import shortened
from ..errors import GrammarError, GrammarLimitError, RegexSyntaxError, together, too_long
from ..loading import distinct
from ..model.compile import compile_model
from ..model.model import Model, Origin, Symbols
from ..model.repetition import Alternatives, counted, group, repeat_into
from ..regex.ast import Node as Regex
from ..source import GrammarWarning, SourceText, did_you_mean, path_hint
from .parse import MAX_ERRORS, parse, syntax_errors
from .terminals import concat, find_terminals
from .tree import Choice, Definition, Node, Reference, Repeat, Sequence, Text, Token

if TYPE_CHECKING:
    from ...earley import Engine
    from ...earley.limits import Limits

MAX_NAME = 60
"""The most characters of the name of a terminal that is not a rule: its text in the grammar, cut to this length."""


def load(text: str, start: str, limits: Limits) -> tuple[Engine, tuple[GrammarWarning, ...]]:
    """Return the engine for the language of rule `start` in the grammar `text`, and the warnings about the grammar."""
    source = SourceText(text)
    loader = GbnfLoader(source, limits)
    try:
        engine = compile_model(loader.model, loader.read(start))
    except GrammarError as error:
        raise explained(error, source, limits) from None
    return engine, tuple(loader.model.warnings)


def embed(text: str, start: str, model: Model, name: str | None = None) -> int:
    """Add a grammar to a model that another front end fills. Return the symbol of its rule `start`.

    `name` is what errors and warnings call the text. The origins of the symbols are `Origin`s.
    """
    if len(text) > model.limits.source_characters:
        raise too_long(len(text), model.limits)
    source = SourceText(text, name)
    try:
        return GbnfLoader(source, model.limits, model).read(start)
    except GrammarError as error:
        raise explained(error, source, model.limits) from None


def explained(error: GrammarError, source: SourceText, limits: Limits) -> GrammarError:
    """Return an error about the whole text: with what the text seems to be instead, or with all syntax errors."""
    from ..other_syntax import is_lark, pointed_to

    hint = path_hint(source.text)
    if hint is not None:
        error.hint = hint
        return error
    if is_lark(source.text):
        return pointed_to(error, "Grammar.from_lark")
    found = [] if isinstance(error, GrammarLimitError) else syntax_errors(source, limits)
    return together(found) if found else error


class GbnfLoader:
    """Resolves the names of one grammar and fills a model: its own, or that of the grammar around it."""

    def __init__(self, source: SourceText, limits: Limits, around: Model | None = None) -> None:
        self.source = source
        self.limits = limits
        self.model = Model(self, limits) if around is None else around
        self.definitions: dict[str, Definition] = {}
        self.terminals: dict[str, Node] = {}  # rules that are terminals
        self.symbols: dict[str, int] = {}  # by name of rule
        self.written: Table[str, int] = Table()  # terminals and special tokens, by their text in the grammar
        self.pending: list[Definition] = []  # rules that have a symbol and no productions yet
        keep_circular(self)

    def read(self, start: str) -> int:
        """Add to the model what the rule `start` needs. Return the symbol of the rule."""
        self.collect(parse(self.source, self.limits))
        if "[:" in self.source.text:
            self.warn_posix_classes()
        self.check_start(start)
        reached = self.reach(start)
        self.terminals = find_terminals(reached)
        start_symbol = self.symbols[start] = self.model.rule(start, self.origin(reached[start].begin))
        self.pending.append(reached[start])
        for definition in self.pending:  # grows while it is read
            symbol = self.symbols[definition.name]
            if definition.attributes:
                from .attributes import define  # rare

                define(self, symbol, definition)
            else:
                self.define(symbol, definition.tree)
        return start_symbol

    # Names.

    def collect(self, definitions: list[Definition]) -> None:
        for definition in definitions:
            tick()
            before = self.definitions.get(definition.name)
            if before is not None:
                line, _ = self.source.line_and_column(definition.begin)
                message = f"rule `{definition.name}` is defined again in line {line}; the last definition counts"
                self.model.warn(message, self.origin(before.begin))
            self.definitions[definition.name] = definition
        undefined: list[Reference] = []
        for definition in definitions:
            tick()
            used = [*definition.references, *definition.ahead] if definition.ahead else definition.references
            undefined += [reference for reference in used if reference.name not in self.definitions]
        if undefined:
            raise together([self.undefined(reference) for reference in undefined[:MAX_ERRORS]])

    def undefined(self, reference: Reference) -> GrammarError:
        name = reference.name
        hint = did_you_mean(name, self.definitions) or f"define it: `{name} ::= ...`"
        return self.source.error(f"rule `{name}` is not defined", reference.at, hint)

    def warn_posix_classes(self) -> None:
        """Warn of classes such as `[:upper:]`. Within other brackets these are a syntax error."""
        from ..regex.posix import posix_classes, posix_warning  # rare

        found: list[tuple[int, str]] = []
        stack: list[Node] = [definition.tree for definition in self.definitions.values()]
        while stack:
            tick()
            node = stack.pop()
            if isinstance(node, Sequence):
                stack += node.items
            elif isinstance(node, Choice):
                stack += node.alternatives
            elif isinstance(node, Repeat):
                stack.append(node.body)
            elif isinstance(node, Text) and self.source.text[node.begin] == "[":
                written = self.source.text[node.begin : node.end]
                found += [(node.begin + match.start(), posix_warning(match)) for match in posix_classes(written)]
        for offset, message in sorted(found):
            self.model.warn(message, self.origin(offset))

    def check_start(self, start: str) -> None:
        if start in self.definitions:
            return
        if not self.definitions:
            raise GrammarError("the grammar has no rules", hint="write `root ::= ...`")
        message = f"the start rule `{start}` is not defined"
        meant = did_you_mean(start, self.definitions)
        if meant:
            raise GrammarError(message, hint=meant)
        hint = f"give another start rule, such as start={shortened(next(iter(self.definitions)))!r}"
        raise GrammarError(message, hint=hint).set_option("start")

    def reach(self, start: str) -> dict[str, Definition]:
        """Return the definitions that the start rule needs, its own first."""
        reached = {start: self.definitions[start]}
        agenda = [self.definitions[start]]
        for definition in agenda:  # grows while it is read
            tick()
            for reference in definition.references:
                name = reference.name
                if name not in reached:
                    reached[name] = self.definitions[name]
                    agenda.append(reached[name])
        if len(reached) < len(self.definitions):
            for definition in self.definitions.values():
                tick()
                if definition.name not in reached:
                    message = f"rule `{definition.name}` is not reached from `{start}`"
                    self.model.warn(message, self.origin(definition.begin))
        return reached

    # Symbols.

    def rule_symbol(self, name: str) -> int:
        symbol = self.symbols.get(name)
        if symbol is None:
            definition = self.definitions[name]
            tree = self.terminals.get(name)
            if tree is None:
                symbol = self.model.rule(name, self.origin(definition.begin))
                self.pending.append(definition)
            else:
                assert tree.regex is not None
                symbol = self.terminal(tree.regex, tree.begin, tree.end, name, label_of(tree))
            self.symbols[name] = symbol
        return symbol

    def terminal(self, regex: Regex, begin: int, end: int, name: str = "", label: str = "") -> int:
        """Return the terminal whose text in the grammar is from `begin` to `end`, or which has a `label`."""
        written = label or self.source.text[begin:end]
        symbol = self.written.get(written)
        if symbol is None:
            if not name:
                name = written if len(written) <= MAX_NAME else written[:MAX_NAME] + "..."
            symbol = self.written[written] = self.model.terminal(name, regex, self.origin(begin))
        return symbol

    def special(self, node: Token) -> int:
        key = "!" + node.name if node.negated else node.name
        if not node.eos:
            key = f"{key} without EOS"
        symbol = self.written.get(key)
        if symbol is None:
            if node.negated or node.name.startswith("<["):
                symbol = self.token_ids(node, "!" + node.name if node.negated else node.name)
            else:
                symbol = self.model.special(node.name, self.origin(node.begin))
            self.written[key] = symbol
        return symbol

    def token_ids(self, node: Token, name: str) -> int:
        """Return the symbol of a token by its id, of the special token `[NAME]`, or of any token except one."""
        from .. import token_ids  # rare

        special = token_ids.control_token(node.name) if node.name.startswith("<[") else node.name
        if special is not None:
            if node.negated:
                return self.model.token_ids(name, (), (special,), True, self.origin(node.begin))
            return self.model.special(special, self.origin(node.begin))
        try:
            ranges, negated = token_ids.parse(node.name)
        except ValueError as error:
            raise self.source.error(str(error), node.begin, token_ids.HINT) from None
        if not ranges and node.negated:
            raise self.source.error("this matches no token: `<[*]>` is every token, and `!` excludes these", node.begin)
        return self.model.token_ids(name, ranges, (), negated != node.negated, self.origin(node.begin), node.eos)

    # Productions.

    def define(self, lhs: int, tree: Node) -> None:
        """Add the productions with which `lhs` derives `tree`."""
        if isinstance(tree, Repeat) and tree.regex is None and tree.maximum is None and tree.minimum <= 1:
            # The rule is only a list: it needs no helper rule.
            alternatives = self.alternatives(tree.body)
            repeat_into(self.model, lhs, alternatives, not tree.minimum or () in alternatives)
            return
        for rhs in self.alternatives(tree):
            self.model.produce(lhs, rhs)

    def alternatives(self, tree: Node) -> Alternatives:
        """Return the sequences of symbols that `tree` stands for. A choice directly within a choice is flattened."""
        if isinstance(tree, Choice) and tree.regex is None:
            flat: list[Symbols] = []
            for alternative in tree.alternatives:
                if isinstance(alternative, Choice) and alternative.regex is None:
                    flat += self.alternatives(alternative)
                else:
                    flat.append(self.sequence(alternative))
            return tuple(distinct(flat))
        return (self.sequence(tree),)

    def sequence(self, tree: Node) -> Symbols:
        """Return the symbols that `tree` becomes within an alternative."""
        symbols: list[int] = []
        self.append(tree, symbols)
        tick()
        return tuple(symbols)

    def append(self, tree: Node, symbols: list[int]) -> None:
        """Append to `symbols` what `tree` becomes."""
        if isinstance(tree, Reference):
            symbols.append(self.rule_symbol(tree.name))
        elif tree.regex is not None:
            symbols.append(self.terminal(tree.regex, tree.begin, tree.end, label=label_of(tree)))
        elif isinstance(tree, Sequence):
            self.append_items(tree.items, symbols)
        elif isinstance(tree, Repeat):
            symbols += counted(self.model, self.alternatives(tree.body), tree.minimum, tree.maximum)
        elif isinstance(tree, Choice):
            symbols += group(self.model, self.alternatives(tree))
        else:
            assert isinstance(tree, Token)
            symbols.append(self.special(tree))

    def append_items(self, items: list[Node], symbols: list[int]) -> None:
        """Append to `symbols` what `items` become. Neighbouring terminals that name no rule become one."""
        together: list[Node] = []
        for item in items:
            tick()
            if item.regex is not None and not item.refers:
                together.append(item)
                continue
            if together:
                self.append_together(together, symbols)
                together = []
            self.append(item, symbols)
        if together:
            self.append_together(together, symbols)

    def append_together(self, items: list[Node], symbols: list[int]) -> None:
        if len(items) == 1:
            self.append(items[0], symbols)
            return
        regex = concat([item.regex for item in items])
        symbols.append(self.terminal(regex, items[0].begin, items[-1].end))

    # The model reports through these: errors and warnings get their places in the text.

    def origin(self, offset: int) -> Origin:
        """Return the origin of a symbol that was made for the text at `offset`."""
        return Origin(self, offset)

    def error(self, message: str, offset: int, hint: str | None = None) -> GrammarError:
        return self.source.error(message, offset, hint)

    def limit_error(self, message: str, offset: int) -> GrammarLimitError:
        return self.source.limit_error(message, offset)

    def regex_error(self, error: RegexSyntaxError, offset: int) -> GrammarError:
        return self.source.error(error.message, offset, error.hint)

    def warning(self, message: str, offset: int) -> GrammarWarning:
        return self.source.warning(message, offset)


def label_of(node: Node) -> str:
    return node.label if isinstance(node, Text) else ""
