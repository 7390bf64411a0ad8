"""The grammar model: symbols, productions and terminals as a front end builds them, and their way into an `Engine`.

A front end asks for symbols, adds productions, and calls `compile` once with the start symbol. Compiling

1. drops what the start symbol does not reach,
2. lowers the terminals that are left to regex nodes,
3. finds the productive symbols, those that some finite text can be made from, by the usual least fixpoint: count the
   unproductive symbols of each production and let every symbol that becomes productive lower the counts it occurs in
   (Dowling and Gallier 1984; linear in the size of the grammar),
4. drops productions with an unproductive symbol, then what is no longer reached,
5. hands the rest to the engine.

What is dropped and was named by the user leaves a warning. Without any sentence there is no grammar: that is an error.
The sentence may be the empty one.

Left and right recursion, cycles (`a: a | b`), nullable symbols and ambiguity need no care here: the engine is an Earley
parser over sets. A production `a: a` says nothing and is left out, as are repeated productions.

Symbols are consecutive ints. The shapes that `x*`, `x?` and counts become are in `repetition`.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

from ...earley._engine import Engine
from ...earley._regex import Regexes
from ...earley.errors import LimitError
from ...earley.limits import DEFAULT, Limits
from ..errors import GrammarError, GrammarLimitError, RegexSyntaxError, together
from ..regex.ast import Literal, Node
from ..regex.lower import exceeded, lower

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..source import GrammarWarning

MAX_WARNINGS = 100

MAX_TOKEN_SETS = 4096
"""Different sets of token ids in a grammar: each becomes a bitmap of a vocabulary."""

Symbols = tuple[int, ...]

TERMINAL, IGNORED, SPECIAL, RULE, HELPER = range(5)
_KIND_NAMES = ("terminal", "ignored terminal", "special token", "rule", "rule")


class Reporter(Protocol):
    """What a front end says about its own text. `origin` is whatever it gave with the symbol."""

    def error(self, message: str, origin: Any, hint: str | None = None) -> GrammarError: ...

    def warning(self, message: str, origin: Any) -> GrammarWarning: ...

    def limit_error(self, message: str, origin: Any) -> GrammarLimitError: ...

    def regex_error(self, error: RegexSyntaxError, origin: Any) -> GrammarError: ...


class Model:
    """A grammar being built. Not thread-safe; forgotten once it has been compiled."""

    __slots__ = (
        "_contexts",
        "_deadline",
        "_limits",
        "_makers",
        "_most_production_symbols",
        "_most_productions",
        "_most_symbols",
        "_n_more_warnings",
        "_n_production_symbols",
        "_n_productions",
        "_reporter",
        "_token_sets",
        "attributes",
        "helpers",
        "kinds",
        "names",
        "origins",
        "parameters",
        "productions",
        "trees",
        "warnings",
    )

    def __init__(self, reporter: Reporter, limits: Limits = DEFAULT) -> None:
        self._reporter = reporter
        self._limits = limits
        self._most_symbols = limits.symbols
        self._most_productions = limits.productions
        self._most_production_symbols = limits.production_symbols
        self._n_productions = 0
        self._n_production_symbols = 0
        self._deadline = monotonic() + limits.seconds
        # By symbol:
        self.kinds: list[int] = []
        self.names: list[str] = []
        self.origins: list[Any] = []  # for the reporter
        self.trees: list[Node | None] = []  # of terminals
        self.productions: list[list[Symbols]] = []  # of rules and helpers
        self._token_sets: dict[int, tuple[Any, Any, bool]] = {}  # ranges, names, whether negated; by symbol
        self._makers: dict[int, Any] = {}  # of symbols that are added to the engine by somebody else, by symbol
        self._contexts: dict[int, list[Any]] = {}  # of terminals that say what may follow them: see `contexts`
        self.helpers: dict[Any, int] = {}  # symbols that `repetition` made, by what they stand for
        self.parameters: Any = None  # of rules that have values: see `parametric`
        self.attributes: dict[int, Any] = {}  # captures, budgets, temperatures: see `attributes`
        self.warnings: list[GrammarWarning] = []
        self._n_more_warnings = 0

    def terminal(self, name: str, tree: Node, origin: Any) -> int:
        """A terminal. `name` is for messages and need not be unique."""
        return self._add(TERMINAL, name, origin, tree)

    def ignored(self, name: str, tree: Node, origin: Any) -> int:
        """A terminal that may stand between any two lexemes, before the first and after the last."""
        return self._add(IGNORED, name, origin, tree)

    def special(self, name: str, origin: Any) -> int:
        """A special token of the vocabulary, by its name there."""
        return self._add(SPECIAL, name, origin, None)

    def token_ids(self, name: str, ranges: Any, names: Any, negated: bool, origin: Any) -> int:
        """One token out of a set, as `Engine.add_token_ids` takes it."""
        if len(self._token_sets) == MAX_TOKEN_SETS:
            raise self._reporter.limit_error(f"more than {MAX_TOKEN_SETS} different sets of token ids", origin)
        symbol = self._add(SPECIAL, name, origin, None)
        self._token_sets[symbol] = (ranges, names, negated)
        return symbol

    def made(self, name: str, make: Any, origin: Any) -> int:
        """A symbol that `make(engine)` adds to the engine. It derives something, and not the empty string."""
        symbol = self._add(SPECIAL, name, origin, None)
        self._makers[symbol] = make
        return symbol

    def rule(self, name: str, origin: Any) -> int:
        """A nonterminal that the user knows by `name`."""
        return self._add(RULE, name, origin, None)

    def helper(self, name: str) -> int:
        """A nonterminal that the user does not know: no warnings are given about it."""
        return self._add(HELPER, name, None, None)

    def produce(self, lhs: int, rhs: Symbols) -> None:
        """Add the production `lhs: rhs`."""
        self.productions[lhs].append(rhs)
        self._n_productions += 1
        if self._n_productions > self._most_productions:
            raise self._too_large("productions", self.origins[lhs])
        self._n_production_symbols += len(rhs)
        if self._n_production_symbols > self._most_production_symbols:
            raise self._too_large("production_symbols", self.origins[lhs])

    def warn(self, message: str, origin: Any) -> None:
        """Remember a warning; beyond the first MAX_WARNINGS they are only counted, at the place of the next one."""
        if len(self.warnings) <= MAX_WARNINGS:
            self.warnings.append(self._reporter.warning(message, origin))
        if len(self.warnings) > MAX_WARNINGS:
            self._n_more_warnings += 1
            self.warnings[-1] = self.warnings[-1]._replace(message=f"and {self._n_more_warnings} more warnings")

    def _add(self, kind: int, name: str, origin: Any, tree: Node | None) -> int:
        symbol = len(self.kinds)
        if symbol == self._most_symbols:
            raise self._too_large("symbols", origin)
        if symbol % 64 == 0:
            self._look()
        self.kinds.append(kind)
        self.names.append(name)
        self.origins.append(origin)
        self.trees.append(tree)
        self.productions.append([])
        return symbol

    def _too_large(self, limit: str, origin: Any) -> GrammarLimitError:
        message = f"the grammar becomes more than {getattr(self._limits, limit)} {limit.replace('_', ' ')}"
        error = GrammarLimitError(message) if origin is None else self._reporter.limit_error(message, origin)
        return error.set_limit(limit)

    def _look(self) -> None:
        """Look at the clock. What happens between two looks is bounded: some symbols, or one terminal."""
        if monotonic() > self._deadline:
            seconds = self._limits.seconds
            raise GrammarLimitError(f"loading the grammar takes longer than {seconds} seconds").set_limit("seconds")

    def new_regexes(self) -> Regexes:
        """An arena whose searches take what is left of the time for loading, and no longer."""
        regexes = Regexes()
        regexes.limit_time(self._limits, self._deadline - monotonic())
        return regexes

    def compile(self, start: int) -> Engine:
        """The engine for the language of `start`. Raises GrammarError where that is empty."""
        productions = self.productions
        for lhs, alternatives in enumerate(productions):
            if len(alternatives) > 1:
                productions[lhs] = [rhs for rhs in dict.fromkeys(alternatives) if rhs != (lhs,)]
            elif alternatives and alternatives[0] == (lhs,):
                productions[lhs] = []
        reached = self._reachable(start)
        regexes = self.new_regexes()
        nodes: dict[int, int] = {}
        for symbol in reached:
            tree = self.trees[symbol]
            if tree is not None:
                nodes[symbol] = self._lower(symbol, tree, regexes)
        productive = self._productive(
            reached, {symbol for symbol in nodes if not self._is_empty(symbol, nodes[symbol], regexes)}
        )
        if start not in productive:
            raise self._no_sentence(start, productive)
        if len(productive) < len(reached):
            for symbol in reached:
                if symbol not in productive:
                    self._warn_unproductive(symbol)
                    productions[symbol] = []
                elif productions[symbol]:
                    productions[symbol] = [rhs for rhs in productions[symbol] if productive.issuperset(rhs)]
            before = reached
            reached = self._reachable(start)
            self._warn_unreachable(before, productive.intersection(reached))
        ignored = self._ignored_nodes(regexes)
        if self.attributes:
            from .attributes import check_captures  # rare

            check_captures(self, reached, nodes, regexes)
        if self._contexts:
            if self.parameters is not None:
                raise self._reporter.error(
                    "a terminal that says what follows it is not supported in a grammar whose rules have values",
                    self.origins[next(iter(self._contexts))],
                    "write what follows into the rules",
                )
            return self._with_contexts(start, reached, nodes, ignored, regexes)
        if self.parameters is not None:
            return self._with_parameters(start, reached, nodes, ignored, regexes)
        return self._build(start, reached, nodes, ignored, regexes)

    def _with_parameters(
        self, start: int, reached: list[int], nodes: dict[int, int], ignored: dict[int, int], regexes: Regexes
    ) -> Engine:
        """The engine, where some rules have values."""
        from .parametric import CrossingError

        nullable = {symbol for symbol, node in nodes.items() if regexes.is_nullable(node)}
        try:
            engine: Engine
            engine, first = self.parameters.build(
                start, reached, lambda engine, symbol: self._symbol(engine, symbol, nodes), nullable, regexes
            )
            is_productive = engine.is_productive(first)
        except CrossingError as error:
            raise self._reporter.error(
                f"`{self.names[error.symbol]}` is used with something that depends on a value",
                self.origins[error.symbol],
                "only the rule with the value, name::_, can use it",
            ) from None
        except LimitError as error:
            raise self._met(error, start) from error
        if not is_productive:
            raise self._reporter.error(
                "the grammar has no sentence: the conditions of its rules keep them from coming to an end",
                self.origins[start],
                "add an alternative that can come to an end",
            )
        for symbol, node in ignored.items():
            engine.add_terminal(self.names[symbol], node, ignored=True)
        engine.finish(first)
        return engine

    def _ignored_nodes(self, regexes: Regexes) -> dict[int, int]:
        """The ignored terminals that match anything, with their nodes."""
        nodes: dict[int, int] = {}
        for symbol, kind in enumerate(self.kinds):
            if kind == IGNORED:
                tree = self.trees[symbol]
                assert tree is not None
                node = self._lower(symbol, tree, regexes)
                if not self._is_empty(symbol, node, regexes):
                    nodes[symbol] = node
        return nodes

    def _with_contexts(
        self, start: int, reached: list[int], nodes: dict[int, int], ignored: dict[int, int], regexes: Regexes
    ) -> Engine:
        """The engine, where some terminals say what may follow them."""
        from .contexts import Terminals, split  # rare

        productions = {symbol: self.productions[symbol] for symbol in reached if self.kinds[symbol] in (RULE, HELPER)}
        specials = {symbol for symbol in reached if self.kinds[symbol] == SPECIAL}
        try:
            result = split(self, start, productions, Terminals(nodes, self._contexts, ignored, specials), regexes)
        except LimitError as error:
            raise self._met(error, next(iter(self._contexts))) from error
        nodes.update(result.nodes)
        reached = self._reachable(result.start)
        productive = self._productive(reached, set(nodes))
        if result.start not in productive:
            name = self.names[next(iter(self._contexts))]
            raise self._reporter.error(
                "the grammar has no sentence: what must follow a terminal never follows it",
                self.origins[start],
                f"look at terminals with lookaheads, such as `{name}`",
            )
        for symbol in reached:
            self.productions[symbol] = [rhs for rhs in self.productions[symbol] if productive.issuperset(rhs)]
        return self._build(
            result.start, self._reachable(result.start), nodes, {} if result.explicit else ignored, regexes
        )

    def _reachable(self, start: int) -> list[int]:
        """The symbols that occur in what `start` derives, itself first."""
        seen = {start}
        order = [start]
        for symbol in order:  # grows while it is read
            for rhs in self.productions[symbol]:
                for part in rhs:
                    if part not in seen:
                        seen.add(part)
                        order.append(part)
        return order

    def _lower(self, symbol: int, tree: Node, regexes: Regexes) -> int:
        if type(tree) is Literal and tree.text.isascii():  # most terminals
            return regexes.literal(tree.text.encode())
        self._look()
        if self._limits is not DEFAULT:
            self._check_tree(symbol, tree)
        contexts: list[Any] = []
        try:
            node = lower(tree, regexes, contexts)
            if contexts:
                self._contexts[symbol] = contexts
            return node
        except RegexSyntaxError as error:
            raise self._reporter.regex_error(error, self.origins[symbol]) from error
        except LimitError as error:
            raise self._met(error, symbol) from error

    def _met(self, error: LimitError, symbol: int) -> GrammarLimitError:
        """The core's error with the place of a symbol."""
        return self._reporter.limit_error(str(error), self.origins[symbol]).copy_limit(error)

    def _check_tree(self, symbol: int, tree: Node) -> None:
        """Hold a terminal against limits that are lower than usual; the front ends see to the usual ones."""
        limit = exceeded(tree, self._limits)
        if limit:
            message = f"terminal `{self.names[symbol]}` goes beyond {limit}={getattr(self._limits, limit)}"
            raise self._reporter.limit_error(message, self.origins[symbol]).set_limit(limit)

    def _is_empty(self, symbol: int, node: int, regexes: Regexes) -> bool:
        self._look()
        try:
            return regexes.is_empty(node)
        except LimitError as error:
            raise self._met(error, symbol) from error

    def _productive(self, reached: Iterable[int], terminals: set[int]) -> set[int]:
        """The reached symbols that derive some text; `terminals` are those that match any."""
        productive = set(terminals)
        waiting: dict[int, list[list[int]]] = {}  # by symbol: the productions [missing symbols, left-hand side] with it
        agenda = []
        for lhs in reached:
            if self.kinds[lhs] == SPECIAL:
                productive.add(lhs)
        for lhs in reached:
            for rhs in self.productions[lhs]:
                missing = [part for part in rhs if part not in productive]
                if missing:
                    entry = [len(missing), lhs]
                    for part in missing:
                        waiting.setdefault(part, []).append(entry)
                elif lhs not in productive:
                    productive.add(lhs)
                    agenda.append(lhs)
                    break
        for symbol in agenda:  # grows while it is read
            for entry in waiting.pop(symbol, ()):
                entry[0] -= 1
                if not entry[0] and entry[1] not in productive:
                    productive.add(entry[1])
                    agenda.append(entry[1])
        return productive

    def _build(
        self, start: int, reached: list[int], nodes: dict[int, int], ignored: dict[int, int], regexes: Regexes
    ) -> Engine:
        engine = Engine(regexes)
        ids: dict[int, int] = {}
        for symbol in reached:
            ids[symbol] = self._symbol(engine, symbol, nodes)
        if self.attributes:
            for symbol in reached:
                self.describe(engine, symbol, ids[symbol])
        for symbol in reached:
            for rhs in self.productions[symbol]:
                engine.add_production(ids[symbol], [ids[part] for part in rhs])
        for symbol, node in ignored.items():
            engine.add_terminal(self.names[symbol], node, ignored=True)
        engine.finish(ids[start])
        return engine

    def _symbol(self, engine: Engine, symbol: int, nodes: dict[int, int]) -> int:
        """A symbol in the engine, without its productions."""
        kind = self.kinds[symbol]
        name = self.names[symbol]
        if kind == TERMINAL:
            return engine.add_terminal(name, nodes[symbol])
        if symbol in self._makers:
            try:
                made: int = self._makers[symbol](engine)
            except GrammarError as error:
                raise self._at(symbol, error) from error
            return made
        if symbol in self._token_sets:
            ranges, names, negated = self._token_sets[symbol]
            return engine.add_token_ids(name, ranges, names=names, negated=negated)
        return engine.add_special(name) if kind == SPECIAL else engine.add_nonterminal(name)

    def _at(self, symbol: int, error: GrammarError) -> GrammarError:
        """What is wrong with what somebody else adds, at the place of the symbol in the grammar."""
        found: list[GrammarError] = []
        shown: GrammarError
        for one in error.errors:
            if isinstance(one, GrammarLimitError):
                shown = self._reporter.limit_error(one.message, self.origins[symbol]).copy_limit(one)
                shown.hint = one.hint
            else:
                shown = self._reporter.error(one.message, self.origins[symbol], one.hint)
            shown.pointer, shown.option = one.pointer, one.option
            found.append(shown)
        return together(found)

    def describe(self, engine: Engine, symbol: int, id_: int) -> None:
        """Tell the engine what attributes a symbol has, which is `id_` there."""
        from .attributes import describe  # rare

        describe(self, engine, symbol, id_, engine.regexes)

    def like(self, new: int, symbol: int) -> None:
        """`new` stands for `symbol`, or for some of its texts: it has the same attributes."""
        attributes = self.attributes.get(symbol)
        if attributes is not None:
            self.attributes[new] = attributes

    def error(self, message: str, symbol: int, hint: str) -> GrammarError:
        """An error at the place of a symbol."""
        return self._reporter.error(message, self.origins[symbol], hint)

    def node_of(self, symbol: int, tree: Node, regexes: Regexes) -> int:
        """The node of a part of what `symbol` matches."""
        try:
            return lower(tree, regexes)
        except RegexSyntaxError as error:
            raise self._reporter.regex_error(error, self.origins[symbol]) from error
        except LimitError as error:
            raise self._met(error, symbol) from error

    def _no_sentence(self, start: int, productive: set[int]) -> GrammarError:
        """The error about an empty language, naming a cause: from the start down to a symbol that all depends on."""
        path = [start]
        seen = {start}
        while True:
            symbol = path[-1]
            if self.trees[symbol] is not None or not self.productions[symbol]:
                cause = f"{_KIND_NAMES[self.kinds[symbol]]} `{self.names[symbol]}` matches nothing"
                break
            missing = [part for rhs in self.productions[symbol] for part in rhs if part not in productive]
            fresh = [part for part in missing if part not in seen]
            if not fresh:
                again = self._named(path[path.index(missing[0]) :])
                cause = f"every alternative of `{again}` needs `{again}` again"
                break
            path.append(fresh[0])
            seen.add(fresh[0])
        return self._reporter.error(
            f"the grammar has no sentence: {cause}",
            self.origins[start],
            "add an alternative that can come to an end",
        )

    def _named(self, symbols: list[int]) -> str:
        """The name of the first rule of the user's among `symbols`."""
        names = [self.names[symbol] for symbol in symbols if self.kinds[symbol] != HELPER]
        return names[0] if names else self.names[symbols[0]]

    def _warn_unproductive(self, symbol: int) -> None:
        kind = self.kinds[symbol]
        if kind != HELPER:
            why = "matches nothing" if self.trees[symbol] is not None else "can never come to an end"
            self.warn(
                f"{_KIND_NAMES[kind]} `{self.names[symbol]}` {why}; the alternatives that use it were dropped",
                self.origins[symbol],
            )

    def _warn_unreachable(self, before: Iterable[int], reached: set[int]) -> None:
        for symbol in before:
            if self.kinds[symbol] == RULE and symbol not in reached and self.productions[symbol]:
                self.warn(
                    f"rule `{self.names[symbol]}` is used only in alternatives that were dropped",
                    self.origins[symbol],
                )
