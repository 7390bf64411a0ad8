"""Terminals that say what may follow them: `/if\\b/`, `/[?](?![a-z])/`. Worked into the productions.

Such a terminal is a union of languages, each with what must follow: the next lexeme, an ignored one included, begins
with a code point of a class, or (a flag) the text ends there. What is still to be respected at a place of the text is
its *pending* condition. Every symbol is split by the condition that is pending before it and the one that it leaves:
A[p, q] derives what A derives, where the text before demands p and the text after must respect q. A lexeme under p
begins in p's class, so its terminal is intersected with "begins so"; after it, only its own condition is pending. What
is empty hands p on. A special token is no text: before it, the text ends.

So the conditions are gone and the grammar is an ordinary one; the usual trimming takes away what a condition can never
be met by, and masks are exact without the engine knowing of any of this.

Only symbols that can stand beside such a terminal are split: one under no condition that contains none of these
terminals stays as it is. Ignored text has to be looked at as well:

- Where every ignored lexeme may follow every such terminal (blanks after `\\b`), the engine goes on skipping ignored
  text, and a production lets one ignored lexeme follow such a terminal visibly: after it, nothing is pending any more.
- Otherwise all ignored text becomes visible: each lexeme is preceded by a list of ignored ones.

Cost: only grammars with such terminals come here. n conditions split a symbol into at most (n + 1)² ones, of which only
those that are reached are made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from . import codepoints
from .regex_ast import Ranges

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..earley._regex import Regexes
    from .model import Model, Symbols
    from .regex_cuts import Context

MAX_PATHS = 8
"""Ways through one production that are written out; of longer ones the rests become symbols."""

_FREE = 0
"""The number of the condition that everything meets."""


class Pending(NamedTuple):
    """What must come next: a code point of `ranges`, or, if `end`, the end of the text."""

    ranges: Ranges
    end: bool


class Terminals(NamedTuple):
    """The terminals of a grammar: nodes, names, conditions, and which are ignored."""

    nodes: dict[int, int]
    contexts: dict[int, list[Context]]
    ignored: dict[int, int]
    specials: set[int]


class Split(NamedTuple):
    """What comes of it."""

    start: int
    nodes: dict[int, int]
    """Of the terminals that were made; others keep theirs."""
    explicit: bool
    """Ignored text has productions: the engine is to skip none."""


def split(
    model: Model, start: int, productions: dict[int, list[Symbols]], terminals: Terminals, regexes: Regexes
) -> Split:
    """Adds the productions of the split grammar to `model`. `productions`: of the symbols that `start` reaches."""
    return _Splitter(model, productions, terminals, regexes).run(start)


class _Splitter:
    """One grammar being split."""

    def __init__(
        self, model: Model, productions: dict[int, list[Symbols]], terminals: Terminals, regexes: Regexes
    ) -> None:
        self.model = model
        self.productions = dict(productions)
        self.terminals = terminals
        self.nodes = dict(terminals.nodes)
        self.regexes = regexes
        self.anything = regexes.repeat(regexes.char_class(codepoints.ALL), 0)
        self.pendings = [Pending(codepoints.ALL, True)]
        self.numbers = {self.pendings[0]: _FREE}
        self.openings: dict[int, int] = {}  # by condition: the node of the texts that begin so
        self.lexemes: dict[tuple[int, int], list[tuple[int, int | None]]] = {}
        self.outs: dict[tuple[int, int], set[int]] = {}
        self.readers: dict[tuple[int, int], set[tuple[int, int]]] = {}
        self.made: dict[object, int] = {}
        self.waiting: list[tuple[int, int, int, int]] = []
        self.new_nodes: dict[int, int] = {}
        self.contextful: set[int] = set()
        self.kept = set(productions)  # symbols whose productions can stay as they are, if they need not be split
        self.top = 0

    def run(self, start: int) -> Split:
        explicit = self.ignore_visibly(start)
        if explicit:
            start = self.top
        self.contextful = self.find_contextful()
        self.find_outs(start)
        top = self.model.rule(self.model.names[start], self.model.origins[start])
        for after in sorted(self.outs_of(start, _FREE)):
            if self.pendings[after].end:
                self.model.produce(top, (self.symbol(start, _FREE, after),))
        while self.waiting:
            self.expand(*self.waiting.pop())
        return Split(top, self.new_nodes, explicit)

    # ---- ignored text -------------------------------------------------------------------------------------------

    def ignore_visibly(self, start: int) -> bool:
        """Puts ignored text into the productions as far as needed; whether that is everywhere (`top` is the start)."""
        ignored = self.terminals.ignored
        if not ignored:
            return False
        everywhere = not self.may_always_follow()
        contexts = self.terminals.contexts
        one = self.local("ignored text", [(self.visible(symbol),) for symbol in ignored])
        if everywhere:
            many = self.local("ignored text", [()])
            self.productions[many].append((one, many))
            wrapped: dict[int, int] = {}
            for lhs in list(self.productions):
                if lhs not in (one, many):
                    self.productions[lhs] = [
                        tuple([self.wrapped(part, wrapped, (many, part)) for part in rhs])
                        for rhs in self.productions[lhs]
                    ]
            self.kept = set()
            self.top = self.local("text", [(self.wrapped(start, wrapped, (many, start)), many)])
            return True
        wrapped = {}
        for lhs in list(self.productions):
            if lhs != one:
                self.productions[lhs] = [
                    tuple(
                        [
                            self.wrapped(part, wrapped, (part,), (part, one)) if part in contexts else part
                            for part in rhs
                        ]
                    )
                    for rhs in self.productions[lhs]
                ]
        return False

    def visible(self, ignored: int) -> int:
        """An ordinary terminal in place of an ignored one."""
        symbol = self.like(ignored)
        self.nodes[symbol] = self.new_nodes[symbol] = self.terminals.ignored[ignored]
        if ignored in self.terminals.contexts:
            self.terminals.contexts[symbol] = self.terminals.contexts[ignored]
        return symbol

    def like(self, terminal: int) -> int:
        """A new terminal of the same name and place."""
        tree = self.model.trees[terminal]
        assert tree is not None
        return self.model.terminal(self.model.names[terminal], tree, self.model.origins[terminal])

    def may_always_follow(self) -> bool:
        """Whether every ignored lexeme meets every condition, and leaves none."""
        for symbol in self.terminals.ignored:
            if symbol in self.terminals.contexts:
                return False
        for contexts in self.terminals.contexts.values():
            for context in contexts:
                if self.regexes.is_nullable(context.node):
                    return False  # then conditions can meet
                if context.ranges != codepoints.ALL:
                    others = codepoints.complement(context.ranges)
                    opening = self.opening_of(others)
                    for node in self.terminals.ignored.values():
                        if not self.regexes.is_empty(self.regexes.intersection([node, opening])):
                            return False
        return True

    def local(self, name: str, alternatives: list[Symbols]) -> int:
        symbol = self.model.helper(name)
        self.productions[symbol] = alternatives
        return symbol

    def wrapped(self, part: int, known: dict[int, int], *alternatives: Symbols) -> int:
        """For a terminal or special token: a symbol with these alternatives; others stay."""
        if part not in self.nodes and part not in self.terminals.specials:
            return part
        symbol = known.get(part)
        if symbol is None:
            known[part] = symbol = self.local(self.model.names[part], list(alternatives))
        return symbol

    # ---- conditions ---------------------------------------------------------------------------------------------

    def number(self, pending: Pending) -> int:
        known = self.numbers.get(pending)
        if known is None:
            self.numbers[pending] = known = len(self.pendings)
            self.pendings.append(pending)
        return known

    def both(self, left: int, right: int) -> int:
        if left == right or right == _FREE:
            return left
        a, b = self.pendings[left], self.pendings[right]
        return self.number(Pending(codepoints.intersection(a.ranges, b.ranges), a.end and b.end))

    def opening_of(self, ranges: Ranges) -> int:
        return self.regexes.concat([self.regexes.char_class(ranges), self.anything])

    def lexeme(self, terminal: int, before: int) -> list[tuple[int, int | None]]:
        """(condition afterwards, terminal to scan or None for the empty string) of a terminal under a condition."""
        key = (terminal, before)
        known = self.lexemes.get(key)
        if known is not None:
            return known
        result: list[tuple[int, int | None]] = []
        self.lexemes[key] = result
        node = self.nodes[terminal]
        contexts = self.terminals.contexts.get(terminal)
        if contexts is None:
            languages = [(node, _FREE)]
            if before == _FREE:
                result.append((_FREE, terminal))
                return result
        else:
            languages = [(each.node, self.number(Pending(each.ranges, each.end))) for each in contexts]
        opening = self.openings.get(before)
        if opening is None:
            self.openings[before] = opening = self.opening_of(self.pendings[before].ranges)
        for language, after in languages:
            if self.regexes.is_nullable(language):
                result.append((self.both(before, after), None))
            if before != _FREE or self.regexes.is_nullable(language):
                language = self.regexes.intersection([language, opening])
            if not self.regexes.is_empty(language):
                symbol = self.like(terminal)
                self.new_nodes[symbol] = language
                result.append((after, symbol))
        return result

    # ---- which conditions a symbol leaves -----------------------------------------------------------------------

    def find_contextful(self) -> set[int]:
        """The symbols that derive a terminal with a condition."""
        users: dict[int, list[int]] = {}
        for lhs, alternatives in self.productions.items():
            for rhs in alternatives:
                for part in rhs:
                    users.setdefault(part, []).append(lhs)
        found = set(self.terminals.contexts)
        agenda = list(found)
        while agenda:
            for lhs in users.get(agenda.pop(), ()):
                if lhs not in found:
                    found.add(lhs)
                    agenda.append(lhs)
        return found

    def is_unsplit(self, symbol: int, before: int) -> bool:
        return before == _FREE and symbol not in self.contextful

    def outs_of(self, symbol: int, before: int, reader: tuple[int, int] | None = None) -> Iterable[int]:
        """The conditions that may be pending after `symbol`, as far as known."""
        if symbol in self.nodes:
            return [after for after, _ in self.lexeme(symbol, before)]
        if symbol in self.terminals.specials:
            return [_FREE] if self.pendings[before].end else []
        if self.is_unsplit(symbol, before):
            return [_FREE]
        key = (symbol, before)
        if reader is not None:
            self.readers.setdefault(key, set()).add(reader)
            if key not in self.outs:
                self.outs[key] = set()
                self.agenda.append(key)
        return self.outs.get(key, ())

    def find_outs(self, start: int) -> None:
        """A least fixpoint over the symbols and conditions that are reached."""
        self.agenda = [(start, _FREE)]
        self.outs[start, _FREE] = set()
        while self.agenda:
            key = self.agenda.pop()
            found: set[int] = set()
            for rhs in self.productions.get(key[0], ()):
                states = {key[1]}
                for part in rhs:
                    states = {after for before in states for after in self.outs_of(part, before, key)}
                    if not states:
                        break
                found |= states
            if found - self.outs[key]:
                self.outs[key] |= found
                self.agenda += self.readers.get(key, ())

    # ---- productions --------------------------------------------------------------------------------------------

    def symbol(self, symbol: int, before: int, after: int) -> int:
        """The nonterminal for `symbol` between two conditions."""
        if symbol in self.kept and self.is_unsplit(symbol, before):
            return symbol
        key = (symbol, before, after)
        known = self.made.get(key)
        if known is None:
            self.made[key] = known = self.model.helper(self.model.names[symbol])
            self.waiting.append((known, *key))
        return known

    def expand(self, lhs: int, symbol: int, before: int, after: int) -> None:
        for index, rhs in enumerate(self.productions[symbol]):
            self.continue_with(lhs, (symbol, index), rhs, before, after)

    def continue_with(self, lhs: int, name: tuple[int, int], rhs: Symbols, before: int, after: int) -> None:
        """Adds to `lhs` what `rhs` becomes between two conditions."""
        ways = self.ways(rhs, before, after)
        if ways is not None:
            for way in ways:
                if way != (lhs,):
                    self.model.produce(lhs, way)
            return
        first, rest = rhs[0], rhs[1:]
        for between in sorted(set(self.outs_of(first, before))):
            if not self.leads(rest, between, after):
                continue
            for way in self.step(first, before, between):
                self.model.produce(lhs, (*way, self.rest(name, rest, between, after)))

    def rest(self, name: tuple[int, int], rhs: Symbols, before: int, after: int) -> int:
        key = ("rest", name, len(rhs), before, after)
        known = self.made.get(key)
        if known is None:
            self.made[key] = known = self.model.helper(self.model.names[name[0]])
            self.continue_with(known, name, rhs, before, after)
        return known

    def leads(self, rhs: Symbols, before: int, after: int) -> bool:
        states = {before}
        for part in rhs:
            states = {out for state in states for out in self.outs_of(part, state)}
        return after in states

    def ways(self, rhs: Symbols, before: int, after: int) -> list[Symbols] | None:
        """The right-hand sides that `rhs` becomes between two conditions; None if they are too many."""
        if not rhs:
            return [()] if before == after else []
        # From the left: by condition, the beginnings that lead to it.
        beginnings: dict[int, list[Symbols]] = {before: [()]}
        for index, part in enumerate(rhs):
            rest = rhs[index + 1 :]
            following: dict[int, list[Symbols]] = {}
            for state, prefixes in beginnings.items():
                for out in set(self.outs_of(part, state)):
                    if self.leads(rest, out, after):
                        steps = self.step(part, state, out)
                        following.setdefault(out, []).extend(
                            [(*prefix, *step) for prefix in prefixes for step in steps]
                        )
            if sum([len(prefixes) for prefixes in following.values()]) > MAX_PATHS and len(rhs) > 1:
                return None
            beginnings = following
        return beginnings.get(after, [])

    def step(self, part: int, before: int, after: int) -> list[Symbols]:
        """What one symbol becomes between two conditions: one or more sequences of at most one symbol."""
        if part in self.nodes:
            return [() if symbol is None else (symbol,) for out, symbol in self.lexeme(part, before) if out == after]
        if part in self.terminals.specials:
            return [(part,)]
        return [(self.symbol(part, before, after),)]
