"""The grammar model: symbols, productions and terminals as a front end builds them.

A front end asks for symbols, adds productions, and calls `compile_model` (in `compile`) once with the start symbol.
Symbols are consecutive ints. `repetition` makes the productions that stand for `x*`, `x?` and counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ...earley._meter import keep, take, tick
from ...earley.limits import DEFAULT, Limits
from ..errors import GrammarError, GrammarLimitError, RegexSyntaxError
from ..source import MAX_WARNINGS

if TYPE_CHECKING:
    from ..regex.ast import Node
    from ..source import GrammarWarning


MAX_TOKEN_SETS = 4096
"""The most different sets of token ids in a grammar: each becomes a bitmap over a vocabulary. Beyond it, the grammar is
refused."""

SYMBOL_BYTES = 300
PRODUCTION_BYTES = 150
"""Memory of a symbol and of a production, with their entries in tables: estimates."""

Symbols = tuple[int, ...]

TERMINAL, IGNORED, SPECIAL, RULE, HELPER = range(5)
"""The kinds of symbols."""


class Reporter(Protocol):
    """Makes errors and warnings about the text of a front end. `origin` is what the front end gave with the symbol."""

    def error(self, message: str, origin: Any, hint: str | None = None) -> GrammarError: ...

    def warning(self, message: str, origin: Any) -> GrammarWarning: ...

    def limit_error(self, message: str, origin: Any) -> GrammarLimitError: ...

    def regex_error(self, error: RegexSyntaxError, origin: Any) -> GrammarError: ...


class Origin(NamedTuple):
    """An origin that names its reporter. A grammar within another one gives its symbols such origins."""

    reporter: Reporter
    place: Any


class Reporters:
    """The reporters of one model: that of an `Origin`, or that of the model's own front end for any other origin."""

    def __init__(self, own: Reporter) -> None:
        self.own = own

    def find(self, origin: Any) -> tuple[Reporter, Any]:
        """Return the reporter of an origin, and the origin as that reporter knows it."""
        return origin if isinstance(origin, Origin) else (self.own, origin)

    def error(self, message: str, origin: Any, hint: str | None = None) -> GrammarError:
        reporter, place = self.find(origin)
        return reporter.error(message, place, hint)

    def warning(self, message: str, origin: Any) -> GrammarWarning:
        reporter, place = self.find(origin)
        return reporter.warning(message, place)

    def limit_error(self, message: str, origin: Any) -> GrammarLimitError:
        reporter, place = self.find(origin)
        return reporter.limit_error(message, place)

    def regex_error(self, error: RegexSyntaxError, origin: Any) -> GrammarError:
        reporter, place = self.find(origin)
        return reporter.regex_error(error, place)


class Model:
    """A grammar being built. Not thread-safe; discarded after it has been compiled."""

    __slots__ = (
        "_most_production_symbols",
        "_most_productions",
        "_most_symbols",
        "_n_more_warnings",
        "_n_production_symbols",
        "_n_productions",
        "attributes",
        "commits",
        "helpers",
        "kinds",
        "limits",
        "makers",
        "names",
        "origins",
        "parameters",
        "productions",
        "quoted",
        "repeats",
        "reporter",
        "token_sets",
        "trees",
        "warnings",
    )

    def __init__(self, reporter: Reporter, limits: Limits = DEFAULT) -> None:
        self.reporter = Reporters(reporter)
        self.limits = limits
        self._most_symbols = limits.symbols
        self._most_productions = limits.productions
        self._most_production_symbols = limits.production_symbols
        self._n_productions = 0
        self._n_production_symbols = 0
        # By symbol:
        self.kinds: list[int] = []
        self.names: list[str] = []
        self.origins: list[Any] = []  # for the reporter
        self.trees: list[Node | None] = []  # of terminals
        self.productions: list[list[Symbols]] = []  # of rules and helpers
        self.token_sets: dict[int, tuple[Any, Any, bool, bool]] = {}  # by symbol: the arguments of `token_ids`
        self.makers: dict[int, Any] = {}  # by symbol: what adds it to the engine, see `made`
        self.helpers: dict[Any, int] = {}  # by what they stand for: symbols that `repetition` made
        self.repeats: dict[Symbols, Any] = {}  # by symbols in a production that stand for a repetition: `Repeated`
        self.parameters: Any = None  # of rules that have values: see `parametric`
        self.attributes: dict[int, Any] = {}  # by symbol: captures, budgets, temperatures, see `attributes`
        self.commits: dict[int, int] = {}  # by terminal that commits: the rule that begins with it, or the terminal
        # By symbol within a JSON string: whether characters have their shortest spelling alone, and whether in ASCII.
        self.quoted: dict[int, tuple[bool, bool]] = {}
        self.warnings: list[GrammarWarning] = []
        self._n_more_warnings = 0
        keep(self)

    def terminal(self, name: str, tree: Node, origin: Any) -> int:
        """Add a terminal. `name` is for messages and need not be unique."""
        return self._add(TERMINAL, name, origin, tree)

    def ignored(self, name: str, tree: Node, origin: Any) -> int:
        """Add a terminal that may stand between any two lexemes, before the first and after the last."""
        return self._add(IGNORED, name, origin, tree)

    def special(self, name: str, origin: Any) -> int:
        """Add a special token of the vocabulary, by its name there."""
        return self._add(SPECIAL, name, origin, None)

    def token_ids(self, name: str, ranges: Any, names: Any, negated: bool, origin: Any, eos: bool = True) -> int:
        """Add a symbol for any one token of a set. `Engine.add_token_ids` describes the arguments."""
        if len(self.token_sets) == MAX_TOKEN_SETS:
            raise self.reporter.limit_error(
                f"the grammar has more than {MAX_TOKEN_SETS} different sets of token ids", origin
            )
        symbol = self._add(SPECIAL, name, origin, None)
        self.token_sets[symbol] = (ranges, names, negated, eos)
        return symbol

    def made(self, name: str, make: Any, origin: Any) -> int:
        """Add a symbol that `make(engine)` adds to the engine. It must derive some text, and not the empty one."""
        symbol = self._add(SPECIAL, name, origin, None)
        self.makers[symbol] = make
        return symbol

    def rule(self, name: str, origin: Any) -> int:
        """Add a nonterminal that the user knows by `name`."""
        return self._add(RULE, name, origin, None)

    def helper(self, name: str) -> int:
        """Add a nonterminal that the user does not know. It gets no warnings.

        Explanations show its name, unless it is in parentheses: give it the name of a rule or terminal for which it
        stands, or parentheses.
        """
        return self._add(HELPER, name, None, None)

    def produce(self, lhs: int, rhs: Symbols) -> None:
        """Add the production `lhs: rhs`."""
        self.productions[lhs].append(rhs)
        self._n_productions += 1
        if not self._n_productions & 0x3F:
            tick()
            take(64 * PRODUCTION_BYTES)
        if len(rhs) > 8:
            take(8 * len(rhs))
        if self._n_productions > self._most_productions:
            raise self._too_large("productions", self.origins[lhs])
        self._n_production_symbols += len(rhs)
        if self._n_production_symbols > self._most_production_symbols:
            raise self._too_large("production_symbols", self.origins[lhs])

    def warn(self, message: str, origin: Any, pointer: str | None = None) -> None:
        """Add a warning. After MAX_WARNINGS, a last warning at the place of the next one only counts the rest.

        `pointer`: the place in a JSON Schema at this place."""
        if len(self.warnings) <= MAX_WARNINGS:
            found = self.reporter.warning(message, origin)
            self.warnings.append(found if pointer is None else found._replace(pointer=pointer))
        if len(self.warnings) > MAX_WARNINGS:
            self._n_more_warnings += 1
            self.warnings[-1] = self.warnings[-1]._replace(message=f"and {self._n_more_warnings} more warnings")

    def like(self, new: int, symbol: int) -> None:
        """Give the symbol `new` the attributes of `symbol`, for which it stands, or for some of its texts."""
        attributes = self.attributes.get(symbol)
        if attributes is not None:
            self.attributes[new] = attributes

    def error(self, message: str, symbol: int, hint: str | None = None) -> GrammarError:
        """Return an error at the place of a symbol."""
        return self.reporter.error(message, self.origins[symbol], hint)

    def _add(self, kind: int, name: str, origin: Any, tree: Node | None) -> int:
        symbol = len(self.kinds)
        if symbol == self._most_symbols:
            raise self._too_large("symbols", origin)
        if symbol % 64 == 0:
            tick()
            take(64 * SYMBOL_BYTES)
        self.kinds.append(kind)
        self.names.append(name)
        self.origins.append(origin)
        self.trees.append(tree)
        self.productions.append([])
        return symbol

    def _too_large(self, limit: str, origin: Any) -> GrammarLimitError:
        message = f"the grammar expands to more than {getattr(self.limits, limit)} {limit.replace('_', ' ')}"
        error = GrammarLimitError(message) if origin is None else self.reporter.limit_error(message, origin)
        return error.set_limit(limit)
