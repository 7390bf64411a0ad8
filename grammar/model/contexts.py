"""Terminals that say what may follow them: `/if\\b/`, `/[?](?![a-z])/`. Worked into the productions.

Such a terminal is a union of languages, each with a condition on how the text goes on (`conditions`). What is still to
be respected at a place of the text is its *pending* condition. Every symbol is split by the condition that is pending
before it and the one that it leaves: A[p, q] derives what A derives, where the text before demands p and the text after
must respect q. A lexeme under p that leaves q is a text that leads from p to q, so its terminal is intersected with
these; its own condition joins q. What is empty hands p on. A special token is no text: before it, the text ends.

So the conditions are gone and the grammar is an ordinary one; the usual trimming takes away what a condition can never
be met by, and masks are exact without the engine knowing of any of this.

What can never come next is left out of the conditions first: where no word follows a name, what `(?!if\\b)` says about
longer words is no condition any more. If none is left, the grammar stays as it is.

Only symbols that can stand beside such a terminal are split: one under no condition that contains none of these
terminals stays as it is. Ignored text has to be looked at as well:

- Where every ignored lexeme meets every condition (blanks after `\\b`), the engine goes on skipping ignored text, and
  where one is pending an ignored lexeme may follow visibly: after it, nothing is pending any more.
- Otherwise all ignored text becomes visible: each lexeme is preceded by a list of ignored ones.

Cost: only grammars with such terminals come here. n conditions split a symbol into at most (n + 1)² ones, of which only
those that are reached are made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...earley.errors import LimitError
from ..regex import codepoints
from ..regex.conditions import ANYTHING, NOTHING, Conditions
from .analysis import followers
from .attributes import RuleAttributes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...earley._regex import Regexes
    from ..regex.ast import Ranges
    from ..regex.cuts import Context
    from .model import Model, Symbols

MAX_PATHS = 8
"""Ways through one production that are written out; of longer ones the rests become symbols."""

MAX_SPLIT = 1 << 17
"""Symbols between two conditions."""


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
        self.conditions = Conditions(regexes)
        self.new_nodes: dict[int, int] = {}
        self.contexts = self.read_contexts()  # by terminal: its languages, each with a condition
        self.skipped: int | None = None  # one ignored lexeme, if it may follow wherever a condition is pending
        self.lexemes: dict[tuple[int, int], list[tuple[int, Symbols]]] = {}
        self.outs: dict[tuple[int, int], set[int]] = {}
        self.readers: dict[tuple[int, int], set[tuple[int, int]]] = {}
        self.made: dict[object, int] = {}
        self.waiting: list[tuple[int, int, int, int]] = []
        self.contextful: set[int] = set()
        self.kept = set(productions)  # symbols whose productions can stay as they are, if they need not be split
        self.top = 0

    def run(self, start: int) -> Split:
        self.leave_out_what_never_comes(start)
        if not self.contexts:
            return Split(start, self.new_nodes, False)
        explicit = self.ignore_visibly(start)
        if explicit:
            start = self.top
        self.contextful = self.find_contextful()
        self.find_outs(start)
        top = self.model.rule(self.model.names[start], self.model.origins[start])
        for after in sorted(self.outs_of(start, ANYTHING)):
            if self.conditions.row(after)[0]:
                self.model.produce(top, (self.symbol(start, ANYTHING, after),))
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
        if not everywhere:
            self.skipped = self.model.helper("ignored text")
            for symbol in ignored:
                self.model.produce(self.skipped, (self.visible(symbol),))
            return False
        one = self.local("ignored text", [(self.visible(symbol),) for symbol in ignored])
        many = self.local("ignored text", [()])
        self.productions[many].append((one, many))
        wrapped: dict[int, int] = {}
        for lhs in list(self.productions):
            if lhs not in (one, many):
                self.productions[lhs] = [
                    tuple([self.wrapped(part, many, wrapped) for part in rhs]) for rhs in self.productions[lhs]
                ]
        self.kept = set()
        self.top = self.local("text", [(self.wrapped(start, many, wrapped), many)])
        return True

    def visible(self, ignored: int) -> int:
        """An ordinary terminal in place of an ignored one."""
        symbol = self.like(ignored)
        if self.model.attributes:
            self.model.attributes[symbol] = RuleAttributes(is_ignored=True)
        self.nodes[symbol] = self.new_nodes[symbol] = self.terminals.ignored[ignored]
        if ignored in self.contexts:
            self.contexts[symbol] = self.contexts[ignored]
        return symbol

    def like(self, terminal: int) -> int:
        """A new terminal of the same name and place."""
        tree = self.model.trees[terminal]
        assert tree is not None
        symbol = self.model.terminal(self.model.names[terminal], tree, self.model.origins[terminal])
        self.model.like(symbol, terminal)
        return symbol

    def may_always_follow(self) -> bool:
        """Whether every ignored lexeme meets every condition, and leaves none."""
        for symbol in self.terminals.ignored:
            if symbol in self.contexts:
                return False
        for contexts in self.contexts.values():
            for language, condition in contexts:
                if condition != ANYTHING and self.regexes.is_nullable(language):
                    return False  # then conditions can meet
                for pending in self.conditions.leading(condition):
                    if pending == ANYTHING:
                        continue
                    meeting = self.conditions.leading(pending).get(ANYTHING, self.regexes.EMPTY)
                    others = self.regexes.complement(meeting)
                    for node in self.terminals.ignored.values():
                        if not self.regexes.is_empty(self.regexes.intersection([node, others])):
                            return False
        return True

    def local(self, name: str, alternatives: list[Symbols]) -> int:
        symbol = self.model.helper(name)
        self.productions[symbol] = alternatives
        return symbol

    def wrapped(self, part: int, many: int, known: dict[int, int]) -> int:
        """For a terminal or special token: a symbol for it behind ignored text; others stay."""
        if part not in self.nodes and part not in self.terminals.specials:
            return part
        symbol = known.get(part)
        if symbol is None:
            known[part] = symbol = self.local(self.model.names[part], [(many, part)])
        return symbol

    # ---- conditions ---------------------------------------------------------------------------------------------

    def read_contexts(self) -> dict[int, list[tuple[int, int]]]:
        result: dict[int, list[tuple[int, int]]] = {}
        for symbol, contexts in self.terminals.contexts.items():
            if symbol not in self.nodes and symbol not in self.terminals.ignored:
                continue  # nothing that is reached uses it
            numbers = self.conditions.read(contexts[0].rows)
            result[symbol] = [(context.node, numbers[context.condition]) for context in contexts]
        return result

    def leave_out_what_never_comes(self, start: int) -> None:
        """Takes conditions for decided where all that may follow their terminal decides them alike."""
        ignored = self.terminals.ignored
        lexemes = self.nodes | ignored
        bits = {symbol: 2 << i for i, symbol in enumerate(lexemes)}
        nullable = {symbol for symbol, node in lexemes.items() if self.regexes.is_nullable(node)}
        first = bits | dict.fromkeys(self.terminals.specials, 1)  # a special token is the end of the text
        follow = followers(self.productions, start, 1, first, nullable)
        skipped = sum([bits[symbol] for symbol in ignored])
        beginners: dict[Ranges, int] = {}  # by set of code points: the terminals that may begin with one of them

        def decided(condition: int, behind: int) -> int:
            end, branches = self.conditions.row(condition)
            others = codepoints.complement(codepoints.normalize([pair for ranges, _ in branches for pair in ranges]))
            found = {ANYTHING if end else NOTHING} if behind & 1 else set()
            for ranges, after in (*branches, (others, NOTHING)):
                if ranges not in beginners:
                    opening = self.regexes.concat([self.regexes.char_class(ranges), self.conditions.anything])
                    beginners[ranges] = sum(
                        [
                            bits[symbol]
                            for symbol, node in lexemes.items()
                            if not self.regexes.is_empty(self.regexes.intersection([node, opening]))
                        ]
                    )
                if beginners[ranges] & behind:
                    found.add(after)
            return found.pop() if len(found) == 1 and found <= {NOTHING, ANYTHING} else condition

        for symbol in [symbol for symbol in self.contexts if symbol not in ignored]:
            languages: dict[int, list[int]] = {}
            for node, condition in self.contexts[symbol]:
                languages.setdefault(decided(condition, follow.get(symbol, 0) | skipped), []).append(node)
            self.contexts[symbol] = [
                (self.regexes.union(nodes), condition) for condition, nodes in languages.items() if condition != NOTHING
            ]
            if [condition for _, condition in self.contexts[symbol]] == [ANYTHING]:
                self.nodes[symbol] = self.new_nodes[symbol] = self.contexts.pop(symbol)[0][0]

    def lexeme(self, terminal: int, before: int) -> list[tuple[int, Symbols]]:
        """(condition afterwards, symbols) of all that a terminal becomes under a condition."""
        key = (terminal, before)
        known = self.lexemes.get(key)
        if known is not None:
            return known
        result: list[tuple[int, Symbols]] = []
        self.lexemes[key] = result
        contexts = self.contexts.get(terminal)
        if contexts is None:
            if before == ANYTHING:
                result.append((ANYTHING, (terminal,)))
                return result
            contexts = [(self.nodes[terminal], ANYTHING)]
        for language, own in contexts:
            if self.regexes.is_nullable(language):
                after = self.conditions.both(before, own)
                if after != NOTHING:
                    result.append((after, ()))
            for left, texts in self.conditions.ways(before):
                lexemes = language
                if before != ANYTHING or self.regexes.is_nullable(language):
                    lexemes = self.regexes.intersection([language, texts])
                after = self.conditions.both(left, own)
                if after != NOTHING and not self.regexes.is_empty(lexemes):
                    symbol = self.like(terminal)
                    self.new_nodes[symbol] = lexemes
                    result.append((after, (symbol,)))
                    if after != ANYTHING and self.skipped is not None:
                        result.append((ANYTHING, (symbol, self.skipped)))
        return result

    # ---- which conditions a symbol leaves -----------------------------------------------------------------------

    def find_contextful(self) -> set[int]:
        """The symbols that derive a terminal with a condition."""
        users: dict[int, list[int]] = {}
        for lhs, alternatives in self.productions.items():
            for rhs in alternatives:
                for part in rhs:
                    users.setdefault(part, []).append(lhs)
        found = set(self.contexts)
        agenda = list(found)
        while agenda:
            for lhs in users.get(agenda.pop(), ()):
                if lhs not in found:
                    found.add(lhs)
                    agenda.append(lhs)
        return found

    def is_unsplit(self, symbol: int, before: int) -> bool:
        return before == ANYTHING and symbol not in self.contextful

    def outs_of(self, symbol: int, before: int, reader: tuple[int, int] | None = None) -> Iterable[int]:
        """The conditions that may be pending after `symbol`, as far as known."""
        if symbol in self.nodes:
            return [after for after, _ in self.lexeme(symbol, before)]
        if symbol in self.terminals.specials:
            return [ANYTHING] if self.conditions.row(before)[0] else []
        if self.is_unsplit(symbol, before):
            return [ANYTHING]
        key = (symbol, before)
        if reader is not None:
            self.readers.setdefault(key, set()).add(reader)
            if key not in self.outs:
                self.outs[key] = set()
                self.agenda.append(key)
        return self.outs.get(key, ())

    def find_outs(self, start: int) -> None:
        """A least fixpoint over the symbols and conditions that are reached."""
        self.agenda = [(start, ANYTHING)]
        self.outs[start, ANYTHING] = set()
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
            if len(self.made) == MAX_SPLIT:
                raise LimitError(
                    f"what terminals ask of the text after them splits the grammar into more than {MAX_SPLIT} symbols; "
                    "let them end in \\b or (?!...) so that one character decides"
                )
            self.made[key] = known = self.model.helper(self.model.names[symbol])
            self.model.like(known, symbol)
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
        """What one symbol becomes between two conditions."""
        if part in self.nodes:
            return [symbols for out, symbols in self.lexeme(part, before) if out == after]
        if part in self.terminals.specials:
            return [(part,)]
        return [(self.symbol(part, before, after),)]
