"""Rules with a value: productions that are made when the parser first needs them.

A rule `name::_` is one rule for each 64-bit value. The value decides which of its alternatives exist, and which values
the rules in them have. In the model such a rule is an ordinary one that uses two kinds of helpers: a *call* stands for
a rule with a value that is computed from the present one, and a *condition* derives the empty string or nothing.

The model is first checked and trimmed like any other, as if each condition held. Then every symbol that can reach a
call becomes a lazy symbol of the engine for each value: its alternatives are made from the productions of the model
when the parser needs them.

The engine must predict only symbols that derive some text, and proves this symbol by symbol. This file decides whether
a symbol derives the empty string. Both searches are bounded, and so is the number of symbols that one symbol can begin
with."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from ...earley._engine import Engine
from ...earley._meter import tick
from ...earley.errors import LimitError
from .analysis import nullable_symbols, users_of
from .model import HELPER

if TYPE_CHECKING:
    from ...earley._regex import Regexes
    from .model import Model, Symbols

MAX_SEARCH = 10_000
"""The most pairs of symbol and value that are searched to decide whether one derives the empty string, or with which
ones it can begin. Beyond it, LimitError is raised."""

Key = tuple[int, "int | None"]
"""A symbol of the model and its value, which is None if it has none."""


class Call(NamedTuple):
    """What a helper stands for: `rule`, with the value that the function `value` returns for the present value."""

    rule: int
    value: Callable[[int], int]
    is_constant: bool


class CrossingError(Exception):
    """`symbol` has no value, but uses something that depends on one."""

    def __init__(self, symbol: int) -> None:
        super().__init__(symbol)
        self.symbol = symbol


class Parameters:
    """The calls and conditions of a model, by symbol, and the rules that have values."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.rules: set[int] = set()
        self.calls: dict[int, Call] = {}
        self.conditions: dict[int, Callable[[int], bool]] = {}

    def call(self, rule: int, value: Callable[[int], int], is_constant: bool) -> int:
        symbol = self.model.helper("(call)")
        self.model.produce(symbol, (rule,))
        self.calls[symbol] = Call(rule, value, is_constant)
        return symbol

    def condition(self, holds: Callable[[int], bool]) -> int:
        symbol = self.model.helper("(condition)")
        self.model.produce(symbol, ())
        self.conditions[symbol] = holds
        return symbol

    def build(
        self,
        start: int,
        reached: list[int],
        add: Callable[[Engine, int], int],
        describe: Callable[[Engine, int, int], None],
        nullable_terminals: set[int],
        regexes: Regexes,
    ) -> tuple[Engine, int]:
        """Return the engine, not yet finished, and its id of the start symbol.

        `add(engine, symbol)` adds an ordinary symbol to the engine, and returns its id there.
        `describe(engine, symbol, id)` gives the attributes of a symbol to the engine.
        """
        builder = _Builder(self, reached, describe, nullable_terminals, Engine(regexes))
        return builder.engine, builder.build(start, add)


class _Builder:
    """Makes the symbols of one engine, lazy ones for as long as the engine lives."""

    def __init__(
        self,
        parameters: Parameters,
        reached: list[int],
        describe: Callable[[Engine, int, int], None],
        nullable_terminals: set[int],
        engine: Engine,
    ) -> None:
        model = parameters.model
        self.parameters = parameters
        self.describe = describe
        self.engine = engine
        self.names = model.names
        self.productions = {symbol: model.productions[symbol] for symbol in reached}
        self.nullable = nullable_symbols(model, nullable_terminals)  # correct for symbols that are not lazy
        called = set(parameters.calls) | set(parameters.conditions) | parameters.rules
        self.lazy = users_of(called, self.productions.items())
        helpers = [
            (symbol, rhs)
            for symbol, rhs in self.productions.items()
            if model.kinds[symbol] == HELPER and symbol not in parameters.calls
        ]
        varying = {symbol for symbol, call in parameters.calls.items() if not call.is_constant}
        self.with_value = users_of(varying | set(parameters.conditions), helpers) | parameters.rules
        for symbol, alternatives in self.productions.items():
            if symbol not in self.with_value and symbol not in parameters.calls:
                if not self.with_value.isdisjoint([part for rhs in alternatives for part in rhs]):
                    raise CrossingError(symbol)
        self.ids: dict[int, int] = {}
        self.made: dict[Key, int] = {}
        self.empty: dict[Key, bool] = {}  # whether they derive the empty string, as far as known
        self.checked: set[Key] = set()  # keys that begin with few others, see `check_beginnings`

    def build(self, start: int, add: Callable[[Engine, int], int]) -> int:
        for symbol in self.productions:
            if symbol not in self.lazy:
                self.ids[symbol] = add(self.engine, symbol)
                self.describe(self.engine, symbol, self.ids[symbol])
        for symbol, id_ in self.ids.items():
            for rhs in self.productions[symbol]:
                self.engine.add_production(id_, [self.ids[part] for part in rhs])
        return self.item(start, None)

    def key(self, part: int, value: int | None) -> Key | None:
        """Return what `part` stands for if the present value is `value`, or None for an ordinary symbol."""
        if part in self.ids:
            return None
        call = self.parameters.calls.get(part)
        if call is not None:
            return call.rule, call.value(0 if value is None else value)
        return part, value if part in self.with_value else None

    def item(self, part: int, value: int | None) -> int:
        """Return the engine's symbol for `part` if the present value is `value`."""
        key = self.key(part, value)
        if key is None:
            return self.ids[part]
        known = self.made.get(key)
        if known is None:
            symbol, value = key
            name = self.names[symbol] if value is None else f"{self.names[symbol]}::{value}"
            known = self.made[key] = self.engine.add_lazy(
                name, _Builder.expand, self, key, nullable=self.derives_empty(key)
            )
            self.describe(self.engine, symbol, known)
        return known

    def alternatives(self, key: Key) -> list[Symbols]:
        """Return the productions whose conditions hold for the value, without these conditions."""
        symbol, value = key
        conditions = self.parameters.conditions
        found = []
        for rhs in self.productions[symbol]:
            if all(conditions[part](value or 0) for part in rhs if part in conditions):
                found.append(tuple([part for part in rhs if part not in conditions]))
        return found

    def expand(self, key: Key) -> list[list[int]]:
        self.check_beginnings(key)
        return [[self.item(part, key[1]) for part in rhs] for rhs in self.alternatives(key)]

    def derives_empty(self, goal: Key) -> bool:
        """Tell whether `goal` derives the empty string: a least fixpoint over the keys on which that depends."""
        if goal in self.empty:
            return self.empty[goal]
        reached = [goal]
        seen = {goal}
        rules: list[tuple[Key, list[Key]]] = []
        proved: set[Key] = set()
        for key in reached:  # grows while it is read
            tick()
            for rhs in self.alternatives(key):
                needed = self.needed(rhs, key[1])
                if needed is None:
                    continue
                if not needed:
                    proved.add(key)
                    break
                rules.append((key, needed))
                for other in needed:
                    if other not in seen:
                        seen.add(other)
                        reached.append(other)
            if len(reached) > MAX_SEARCH:
                raise LimitError(
                    f"rule {self.names[goal[0]]!r}: cannot decide whether it can be empty within {MAX_SEARCH} "
                    "rules and values; put some text before its use of itself"
                )
        changed = True
        while changed:
            changed = False
            for lhs, needed in reversed(rules):
                tick()
                if lhs not in proved and proved.issuperset(needed):
                    proved.add(lhs)
                    changed = True
        for key in reached:
            self.empty[key] = key in proved
        return self.empty[goal]

    def needed(self, rhs: Symbols, value: int | None) -> list[Key] | None:
        """Return the keys that must derive the empty string for `rhs` to derive it, or None if it cannot."""
        needed = []
        for part in rhs:
            key = self.key(part, value)
            if key is None:
                if part not in self.nullable:
                    return None
            elif key not in self.empty:
                needed.append(key)
            elif not self.empty[key]:
                return None
        return needed

    def check_beginnings(self, goal: Key) -> None:
        """Refuse a key that can begin with too many others: the parser would predict all of them at once."""
        if goal in self.checked:
            return
        reached = [goal]
        seen = {goal}
        for key in reached:  # grows while it is read
            tick()
            if len(reached) > MAX_SEARCH:
                raise LimitError(
                    f"rule {self.names[goal[0]]!r} can begin with itself or other rules for more than {MAX_SEARCH} "
                    "values; put some text before its use of itself"
                )
            for rhs in self.alternatives(key):
                for part in rhs:
                    other = self.key(part, key[1])
                    if other is None:
                        if part not in self.nullable:
                            break
                        continue
                    if other not in seen and other not in self.checked:
                        seen.add(other)
                        reached.append(other)
                    if not self.derives_empty(other):
                        break
        self.checked |= seen
