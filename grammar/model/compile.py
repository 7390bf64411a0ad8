"""From a `Model` to an `Engine`, in these passes:

1. drop what the start symbol does not reach;
2. lower the terminals to regex nodes;
3. find the productive symbols, those that derive some finite text, by the usual least fixpoint: count the unproductive
   symbols of each production, and let each symbol that becomes productive lower the counts of the productions in which
   it occurs (Dowling and Gallier 1984; linear in the size of the grammar);
4. drop productions with an unproductive symbol, then what is no longer reached;
5. if terminals demand something of the text after them, work that into the productions (`contexts`);
6. give the rest to the engine, rules with values through `parametric`.

A symbol that is dropped and that the user named leaves a warning. A grammar without any sentence is an error; the empty
sentence counts.

Left and right recursion, cycles (`a: a | b`), nullable symbols and ambiguity need no care here: the engine is an Earley
parser over sets. A production `a: a` derives nothing new and is dropped, as are repeated productions.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ...earley._engine import Engine
from ...earley._meter import keep, tick
from ...earley._regex import Regexes
from ...earley.errors import LimitError
from ...earley.limits import DEFAULT
from ..errors import GrammarError, GrammarLimitError, RegexSyntaxError, together
from ..loading import PIECE, distinct, pieces
from ..regex.ast import Literal, Node
from ..regex.lower import exceeded, lower
from .model import HELPER, IGNORED, RULE, SPECIAL, TERMINAL, Model, Symbols

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..regex.cuts import Context
    from .contexts import Later

_KIND_NAMES = ("terminal", "ignored terminal", "special token", "rule", "rule")
"""Names of the kinds of symbols, for messages."""


def compile_model(model: Model, start: int) -> Engine:
    """Return the engine for the language of `start`. Raises GrammarError if the language is empty.

    The productions of the model are changed; it cannot be compiled again.
    """
    return _Compiler(model).run(start)


def reachable(productions: list[list[Symbols]], start: int) -> list[int]:
    """Return the symbols that occur in what `start` derives, `start` first."""
    seen = bytearray(len(productions))  # by symbol, whether it is in `order`
    seen[start] = 1
    order = [start]
    for symbol in order:  # grows while it is read
        for rhs in productions[symbol]:
            tick()
            for index, part in enumerate(rhs):
                if not seen[part]:
                    seen[part] = 1
                    order.append(part)
                if not ~index & 0xFFF:
                    tick()
    return order


def with_only(productive: bytearray, alternatives: list[Symbols]) -> list[Symbols]:
    """Return the alternatives without those that have an unproductive symbol."""
    found: list[Symbols] = []
    for rhs in alternatives:
        tick()
        for index, part in enumerate(rhs):
            if not productive[part]:
                break
            if not ~index & 0xFFF:
                tick()
        else:
            found.append(rhs)
    return found


class _Compiler:
    """The state of compiling one model."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.productions = model.productions
        self.regexes = Regexes()
        self.nodes: dict[int, int] = {}
        """By terminal: its regex node. Ignored terminals are in `ignored`."""
        self.contexts: dict[int, list[Context]] = {}
        """The languages of each terminal that demands something of the text after it (see `contexts`)."""
        self.ignored: dict[int, int] = {}
        """By ignored terminal that matches some text: its regex node."""
        self.found_later: Later | None = None
        """The terminals for texts of which the parser finds out what must follow."""
        keep(self)

    def run(self, start: int) -> Engine:
        model = self.model
        productions = self.productions
        for lhs, alternatives in enumerate(productions):
            if not lhs & 0x3F or len(alternatives) > 0xFF:
                tick()
            if len(alternatives) > 1:
                productions[lhs] = [rhs for piece in pieces(distinct(alternatives)) for rhs in piece if rhs != (lhs,)]
                if len(alternatives) > PIECE:
                    keep(alternatives)
            elif alternatives and alternatives[0] == (lhs,):
                productions[lhs] = []
        reached = reachable(productions, start)
        nodes = self.nodes
        for symbol in reached:
            tick()
            tree = model.trees[symbol]
            if tree is not None:
                nodes[symbol] = self.lower(symbol, tree)
        productive = self.productive(reached, [symbol for symbol in nodes if not self.is_empty(symbol, nodes[symbol])])
        if not productive[start]:
            raise self.no_sentence(start, productive)
        if productive.count(1) < len(reached):
            for symbol in reached:
                if not productive[symbol]:
                    self.warn_unproductive(symbol)
                    productions[symbol] = []
                elif productions[symbol]:
                    productions[symbol] = with_only(productive, productions[symbol])
            before = reached
            reached = reachable(productions, start)
            self.warn_unreachable(before, reached)
        self.lower_ignored()
        if model.attributes:
            from .attributes import check_captures  # few grammars have any

            check_captures(model, reached, nodes, self.regexes)
        if model.commits:
            self.check_commits(reached)
        if self.contexts:
            if model.parameters is not None:
                raise model.error(
                    "a terminal that demands something of the text after it cannot be used in a grammar whose rules "
                    "have values",
                    next(iter(self.contexts)),
                    "write what follows into the rules",
                )
            return self.with_contexts(start, reached)
        if model.parameters is not None:
            return self.with_parameters(start, reached)
        return self.build(start, reached, self.ignored)

    def check_commits(self, reached: list[int]) -> None:
        """Refuse what does not work together with terminals that commit."""
        from .commits import check_commits, refuse_beside  # few grammars have any

        model = self.model
        if not model.commits.keys().isdisjoint(reached):
            if self.contexts:
                raise refuse_beside(
                    model,
                    next(iter(self.contexts)),
                    "a terminal that demands something of the text after it",
                    "write what follows into the rules",
                )
            if model.parameters is not None:
                head = next(filter(model.commits.__contains__, reached))
                raise refuse_beside(model, head, "a rule with a value", "write out the alternatives of that rule")
        check_commits(model, reached, self.nodes, self.regexes)

    # ---- terminals ----------------------------------------------------------------------------------------------

    def lower(self, symbol: int, tree: Node) -> int:
        """Return the regex node of a terminal; note in `contexts` what it demands of the text after it."""
        model = self.model
        if model.quoted and symbol in model.quoted:
            return self.lower_quoted(symbol, tree)
        if type(tree) is Literal and tree.text.isascii():  # most terminals
            return self.regexes.literal(tree.text.encode())
        tick()
        if model.limits is not DEFAULT:  # the front ends enforce the default limits
            limit = exceeded(tree, model.limits)
            if limit:
                message = f"terminal `{model.names[symbol]}` exceeds {limit}={getattr(model.limits, limit)}"
                raise model.reporter.limit_error(message, model.origins[symbol]).set_limit(limit)
        contexts: list[Context] = []
        # Captures read a text in a way of their own. In it, a token with bytes that may also be a symbol would be both
        # the end of the text and more text.
        lazily = model.kinds[symbol] == TERMINAL and model.parameters is None
        lazily = lazily and not (model.attributes and model.token_sets)
        node = self.lower_part(symbol, tree, contexts, lazily)
        if contexts:
            self.contexts[symbol] = contexts
        return node

    def lower_quoted(self, symbol: int, tree: Node) -> int:
        """Return the regex node of all spellings, within a JSON string, of the texts that a terminal matches."""
        contexts: list[Context] = []
        node = self.lower_part(symbol, tree, contexts)
        if contexts:
            raise self.model.error(
                "a terminal that demands something of the text around it cannot stand within a JSON string",
                symbol,
                "write what follows into the rules",
            )
        try:
            return self.regexes.escaped(node, *self.model.quoted[symbol])
        except LimitError as error:
            raise self.limit_error(error, symbol) from error

    def lower_part(self, symbol: int, tree: Node, contexts: list[Context] | None = None, lazily: bool = False) -> int:
        """Return the regex node of `tree`, which is all or a part of what `symbol` matches; errors name its place."""
        try:
            return lower(tree, self.regexes, contexts, lazily)
        except RegexSyntaxError as error:
            raise self.model.reporter.regex_error(error, self.model.origins[symbol]) from error
        except LimitError as error:
            raise self.limit_error(error, symbol) from error

    def lower_ignored(self) -> None:
        for symbol, kind in enumerate(self.model.kinds):
            if not symbol & 0xFF:
                tick()
            if kind == IGNORED:
                tree = self.model.trees[symbol]
                assert tree is not None
                node = self.lower(symbol, tree)
                if not self.is_empty(symbol, node):
                    self.ignored[symbol] = node

    def is_empty(self, symbol: int, node: int) -> bool:
        tick()
        try:
            return self.regexes.is_empty(node)
        except LimitError as error:
            raise self.limit_error(error, symbol) from error

    def limit_error(self, error: LimitError, symbol: int) -> GrammarLimitError:
        """Return the core's error with the place of a symbol."""
        return self.model.reporter.limit_error(str(error), self.model.origins[symbol]).copy_limit(error)

    # ---- productive symbols -------------------------------------------------------------------------------------

    def productive(self, reached: list[int], terminals: Iterable[int]) -> bytearray:
        """Return, by symbol, whether it is a reached one that derives some text. `terminals`: those that match some."""
        n_symbols = len(self.productions)
        productive = bytearray(n_symbols)
        # By symbol: the productions that wait for it, each [n missing symbols, left-hand side].
        waiting: list[list[list[int]] | None] = [None] * n_symbols
        keep(waiting)
        agenda = []
        for symbol in terminals:
            productive[symbol] = 1
        for lhs in reached:
            if not lhs & 0xFF:
                tick()
            if self.model.kinds[lhs] == SPECIAL:
                productive[lhs] = 1
        for lhs in reached:
            for rhs in self.productions[lhs]:
                tick()
                if len(rhs) > PIECE:
                    missing = [part for piece in pieces(rhs) for part in piece if not productive[part]]
                else:
                    missing = [part for part in rhs if not productive[part]]
                if missing:
                    entry = [len(missing), lhs]
                    for part in missing:
                        entries = waiting[part]
                        if entries is None:
                            waiting[part] = [entry]
                        else:
                            entries.append(entry)
                        if len(missing) > PIECE:
                            tick()
                elif not productive[lhs]:
                    productive[lhs] = 1
                    agenda.append(lhs)
                    break
        for symbol in agenda:  # grows while it is read
            tick()
            entries = waiting[symbol]
            if entries is None:
                continue
            waiting[symbol] = None
            for i, entry in enumerate(entries):
                if not i & 0xFF:
                    tick()
                entry[0] -= 1
                if not entry[0] and not productive[entry[1]]:
                    productive[entry[1]] = 1
                    agenda.append(entry[1])
        return productive

    def no_sentence(self, start: int, productive: bytearray) -> GrammarError:
        """Return the error about an empty language.

        It names a cause: the search goes from the start symbol down to an unproductive symbol that all depends on.
        """
        model = self.model
        path = [start]
        seen = {start}
        while True:
            symbol = path[-1]
            if model.trees[symbol] is not None or not self.productions[symbol]:
                cause = f"{_KIND_NAMES[model.kinds[symbol]]} `{model.names[symbol]}` matches nothing"
                break
            tick()
            missing = [part for rhs in self.productions[symbol] for part in rhs if not productive[part]]
            fresh = [part for part in missing if part not in seen]
            if not fresh:
                again = self.user_name(path[path.index(missing[0]) :])
                cause = f"every alternative of `{again}` needs `{again}` again"
                break
            path.append(fresh[0])
            seen.add(fresh[0])
        return model.error(f"the grammar has no sentence: {cause}", start, "add an alternative that can come to an end")

    def user_name(self, symbols: list[int]) -> str:
        """Return the name of the first of `symbols` that the user knows, or else of the first one."""
        model = self.model
        names = [model.names[symbol] for symbol in symbols if model.kinds[symbol] != HELPER]
        return names[0] if names else model.names[symbols[0]]

    def warn_unproductive(self, symbol: int) -> None:
        model = self.model
        kind = model.kinds[symbol]
        if kind != HELPER:
            why = "matches nothing" if model.trees[symbol] is not None else "can never come to an end"
            model.warn(
                f"{_KIND_NAMES[kind]} `{model.names[symbol]}` {why}; the alternatives that use it were dropped",
                model.origins[symbol],
            )

    def warn_unreachable(self, before: list[int], reached: list[int]) -> None:
        """Warn of the rules that were reached before, still have productions, and are not reached now."""
        model = self.model
        is_reached = bytearray(len(self.productions))
        for symbol in reached:
            is_reached[symbol] = 1
        for symbol in before:
            tick()
            if model.kinds[symbol] == RULE and not is_reached[symbol] and self.productions[symbol]:
                model.warn(
                    f"rule `{model.names[symbol]}` is used only in alternatives that were dropped",
                    model.origins[symbol],
                )

    # ---- the engine ---------------------------------------------------------------------------------------------

    def with_parameters(self, start: int, reached: list[int]) -> Engine:
        """Return the engine of a grammar in which some rules have values."""
        from .parametric import CrossingError  # few grammars have any

        model = self.model
        nullable = {symbol for symbol, node in self.nodes.items() if self.regexes.is_nullable(node)}
        try:
            engine: Engine
            engine, first = model.parameters.build(
                start, reached, self.add_symbol, self.describe, nullable, self.regexes
            )
            is_productive = engine.is_productive(first)
        except CrossingError as error:
            raise model.error(
                f"`{model.names[error.symbol]}` is used with something that depends on a value",
                error.symbol,
                "only the rule with the value, name::_, can use it",
            ) from None
        except LimitError as error:
            raise self.limit_error(error, start) from error
        if not is_productive:
            raise model.error(
                "the grammar has no sentence: the conditions of its rules keep them from coming to an end",
                start,
                "add an alternative that can come to an end",
            )
        self.finish(engine, first, self.ignored)
        return engine

    def with_contexts(self, start: int, reached: list[int]) -> Engine:
        """Return the engine of a grammar in which some terminals demand something of the text after them."""
        from .contexts import Terminals, UnseparableError, split  # few grammars have any

        model = self.model
        first = next(iter(self.contexts))
        productions = {symbol: self.productions[symbol] for symbol in reached if model.kinds[symbol] in (RULE, HELPER)}
        specials = {symbol for symbol in reached if model.kinds[symbol] == SPECIAL}
        try:
            terminals = Terminals(self.nodes, self.contexts, self.ignored, specials)
            result = split(model, start, productions, terminals, self.regexes)
            reached = reachable(self.productions, result.start)
            later = result.found_later
            read = {*self.nodes, *result.nodes} - later.loose
            productive = self.productive(reached, read)
            avoiding = self.productive(reached, read.difference(later.demanding))
            needed = {symbol for symbol, is_in in enumerate(productive) if is_in and not avoiding[symbol]}
            separable = needed <= later.demanding.keys() or result.can_avoid()
            # A budget may keep a lexeme from becoming one of those that are sure.
            has_budgets = any([each.max_tokens is not None for each in model.attributes.values()])
            if not separable and not has_budgets and result.can_witness():
                separable = True
                reached = reachable(self.productions, result.start)
                productive = self.productive(reached, read)
            for symbol in later.loose | later.sure:
                productive[symbol] = 1
        except UnseparableError:
            separable = False
        except LimitError as error:
            raise self.limit_error(error, first) from error
        if not separable:
            return self.with_exact_contexts(start)
        self.nodes.update(result.nodes)
        self.found_later = later
        if not productive[result.start]:
            raise model.error(
                "the grammar has no sentence: what must follow a terminal never follows it",
                start,
                f"check the terminals with lookaheads, such as `{model.names[first]}`",
            )
        for symbol in reached:
            self.productions[symbol] = with_only(productive, self.productions[symbol])
        reached = reachable(self.productions, result.start)
        return self.build(result.start, reached, {} if result.explicit else self.ignored)

    def with_exact_contexts(self, start: int) -> Engine:
        """Return the engine if the parser cannot find out what must follow a text: find out in advance."""
        for symbol in [symbol for symbol, contexts in self.contexts.items() if contexts[-1].found_later is not None]:
            tree = self.model.trees[symbol]
            assert tree is not None
            contexts: list[Context] = []
            self.nodes[symbol] = self.lower_part(symbol, tree, contexts)
            self.contexts[symbol] = contexts
            if not contexts:
                del self.contexts[symbol]
        reached = reachable(self.productions, start)
        return self.with_contexts(start, reached) if self.contexts else self.build(start, reached, self.ignored)

    def build(self, start: int, reached: list[int], ignored: dict[int, int]) -> Engine:
        engine = Engine(self.regexes)
        ids = [0] * len(self.productions)  # by symbol
        for symbol in reached:
            tick()
            ids[symbol] = self.add_symbol(engine, symbol)
        if self.model.attributes:
            for symbol in reached:
                self.describe(engine, symbol, ids[symbol])
        for symbol in reached:
            for rhs in self.productions[symbol]:
                tick()
                if len(rhs) > PIECE:
                    engine.add_production(ids[symbol], [ids[part] for piece in pieces(rhs) for part in piece])
                else:
                    engine.add_production(ids[symbol], [ids[part] for part in rhs])
        self.finish(engine, ids[start], ignored)
        return engine

    def finish(self, engine: Engine, start: int, ignored: dict[int, int]) -> None:
        """Add the ignored terminals; `start` is the engine's id of the start symbol."""
        for symbol, node in ignored.items():
            engine.add_terminal(self.model.names[symbol], node, ignored=True)
        engine.finish(start)

    def add_symbol(self, engine: Engine, symbol: int) -> int:
        """Add a symbol to the engine, without its productions, and return its id there."""
        model = self.model
        kind = model.kinds[symbol]
        name = model.names[symbol]
        if kind == TERMINAL:
            return self.add_terminal(engine, symbol)
        if symbol in model.makers:
            try:
                made: int = model.makers[symbol](engine)
            except GrammarError as error:
                raise together(errors_at(self.model, symbol, error)) from error
            return made
        if symbol in model.token_sets:
            ranges, names, negated, eos = model.token_sets[symbol]
            return engine.add_token_ids(name, ranges, names=names, negated=negated, eos=eos)
        return engine.add_special(name) if kind == SPECIAL else engine.add_nonterminal(name)

    def add_terminal(self, engine: Engine, symbol: int) -> int:
        name, node, later = self.model.names[symbol], self.nodes[symbol], self.found_later
        if later is None:
            made = engine.add_terminal(name, node)
            if symbol in self.model.commits:
                engine.set_commit(made)
            return made
        if symbol in later.demanding:
            return engine.add_demanding(name, node, later.demanding[symbol])
        if symbol in later.loose:
            return engine.add_loose(name, node)
        if symbol in later.sure:
            return engine.add_sure(name, node)
        added = engine.add_terminal(name, node)
        if symbol in later.covered:
            engine.set_covered(added)
        return added

    def describe(self, engine: Engine, symbol: int, id_: int) -> None:
        """Give the attributes of `symbol`, if it has any, to the engine, where it is `id_`."""
        attributes: Any = self.model.attributes.get(symbol)
        if attributes is not None:
            from .attributes import describe  # few grammars have any

            describe(attributes, engine, id_, partial(self.lower_part, symbol))


def errors_at(model: Model, symbol: int, error: GrammarError) -> list[GrammarError]:
    """Return the errors of a maker, a grammar within the grammar, with the place of its symbol in this one."""
    reporter = model.reporter
    origin = model.origins[symbol]
    found: list[GrammarError] = []
    shown: GrammarError
    for one in error.errors:
        if isinstance(one, GrammarLimitError):
            shown = reporter.limit_error(one.message, origin).copy_limit(one)
            shown.hint = one.hint
        else:
            shown = reporter.error(one.message, origin, one.hint)
        shown.pointer, shown.option = one.pointer, one.option
        found.append(shown)
    return found
