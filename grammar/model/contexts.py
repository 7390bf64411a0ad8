"""Terminals that demand something of the text after them, such as `/if\\b/` and `/[?](?![a-z])/`: their demands become
a part of the productions.

Such a terminal is a union of languages, each with a condition on how the text continues (`conditions`). The condition
that the text must still meet at some place is *pending* there. Every symbol is split by the condition that is pending
before it and the condition that is pending after it. A[p, q] derives those texts of A for which this holds: if p is
pending before the text, q is pending after it.

- A lexeme from p to q must be one of the texts that lead from p to q. Its terminal is intersected with these texts, and
  the condition of the terminal itself is added to q.
- The empty text leaves p pending.
- A special token has no text: the text ends before it.

After that the conditions are gone and the grammar is an ordinary one. The usual passes drop symbols whose conditions
can never be met, and masks are exact although the engine knows nothing of conditions.

Before the split, conditions are simplified by what can come next at all. If no word can follow a name, then `(?!if\\b)`
cannot be violated by a longer word. If no condition remains, the grammar stays as it is.

Only symbols that can stand beside such a terminal are split. A symbol that contains no such terminal, with no condition
pending before it, stays as it is. Ignored text may follow such a terminal, too:

- If every ignored lexeme meets every condition (as blanks do after `\\b`), the engine still skips ignored text. In the
  productions, one ignored lexeme may follow a place with a pending condition; after it nothing is pending.
- Otherwise all ignored text becomes part of the productions: a list of ignored lexemes stands before each lexeme.

If several characters decide what must follow the texts of a terminal, the conditions are not found in advance
(`cuts.FoundLater`). The terminal is then split into three: the texts that anything
may follow; those that the end or a code point outside the lookaheads may follow, which is a condition; and all texts
that demand something. For the last ones no condition is pending here, because the parser finds out what they demand. If
some text could not be finished without them (`avoidance`), nor with texts that meet what they demand (`witnesses`), the
split is done again with all conditions (`compile`).

Cost: grammars without such terminals are not split. n conditions split a symbol into at most (n + 1)² symbols, of which
only those that are reached are made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...earley._meter import keep
from ...earley.errors import LimitError
from ..regex import codepoints
from ..regex.conditions import ANYTHING, NOTHING, Conditions
from .analysis import followers, users_of
from .attributes import RuleAttributes
from .avoidance import Agenda, Avoidance
from .witnesses import Witnesses

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from ...earley._regex import Regexes
    from ..regex.ast import Ranges
    from ..regex.cuts import Context, FoundLater
    from .model import Model, Symbols

MAX_PATHS = 8
"""The most right-hand sides into which one production is split for one pair of conditions. If there would be more, the
symbols after the first become a symbol of their own, which is split in the same way."""

MAX_SPLIT = 1 << 17
"""The most symbols that the split may make. Beyond it, LimitError is raised."""


class Terminals(NamedTuple):
    """The terminals of a grammar: regex nodes, contexts and ignored ones, by symbol, and the special tokens."""

    nodes: dict[int, int]
    contexts: dict[int, list[Context]]
    ignored: dict[int, int]
    specials: set[int]


class Split(NamedTuple):
    """The result of a split."""

    start: int
    nodes: dict[int, int]
    """The regex nodes of the terminals that were made or changed. All others keep theirs."""
    explicit: bool
    """Whether productions derive the ignored text, so that the engine must not skip it."""
    found_later: Later
    can_avoid: Callable[[], bool]
    """Tells whether each text can be finished without demanding terminals, if some symbols of the split grammar derive
    nothing without them."""
    can_witness: Callable[[], bool]
    """Tells whether each text can be finished with texts of demanding terminals that are sure to meet what is demanded,
    and adds these to the split grammar (see `witnesses`). To be called if they cannot be avoided."""


class Later(NamedTuple):
    """The terminals for texts of which the parser finds out what must follow, see `Engine.add_demanding`."""

    demanding: dict[int, int]
    """By demanding terminal: its `inside`."""
    loose: set[int]
    covered: set[int]
    sure: set[int]


class UnseparableError(Exception):
    """A terminal of whose texts the parser should find out what must follow stands where a condition is pending."""


def split(
    model: Model, start: int, productions: dict[int, list[Symbols]], terminals: Terminals, regexes: Regexes
) -> Split:
    """Add the productions of the split grammar to `model`. `productions` are those of the symbols that `start`
    reaches."""
    return _Splitter(model, productions, terminals, regexes).run(start)


class _Splitter:
    """The state of splitting one grammar."""

    def __init__(
        self, model: Model, productions: dict[int, list[Symbols]], terminals: Terminals, regexes: Regexes
    ) -> None:
        keep(self)
        self.model = model
        self.productions = dict(productions)
        self.terminals = terminals
        self.nodes = dict(terminals.nodes)
        self.regexes = regexes
        self.conditions = Conditions(regexes)
        self.new_nodes: dict[int, int] = {}
        self.later: dict[int, FoundLater] = {}  # by language of whose texts the parser finds out what must follow
        self.found_later = Later({}, set(), set(), set())
        self.contexts = self.read_contexts()  # by terminal: its languages, each with a condition
        self.skipped: int | None = None  # one ignored lexeme, if it may follow any place with a pending condition
        self.lexemes: dict[tuple[int, int], list[tuple[int, Symbols]]] = {}  # see `lexeme`
        self.outs: dict[
            tuple[int, int], set[int]
        ] = {}  # by (symbol, condition before): conditions after, see `outs_of`
        self.readers: dict[tuple[int, int], set[tuple[int, int]]] = {}  # by key of `outs`: keys that depend on it
        self.agenda = Agenda()
        self.made: dict[object, int] = {}  # symbols of the model, by what they stand for
        self.waiting: list[tuple[int, int, int, int]] = []  # new symbols without productions, for `expand`
        self.contextful: set[int] = set()  # symbols that derive a terminal with a condition
        self.kept = set(productions)  # symbols whose productions can stay as they are, if they need not be split
        self.top = 0  # the start symbol, if ignored text is part of the productions
        self.start = 0  # the symbol that is split
        self.unavoidable: set[int] = set()  # symbols for demanding terminals, without another terminal
        self.joined: dict[tuple[int, int], int] = {}  # by key of `lexemes`: the symbol that `join_demanding` made

    def run(self, start: int) -> Split:
        self.simplify_conditions(start)
        if not self.contexts:
            return Split(start, self.new_nodes, False, self.found_later, self.can_avoid, self.can_witness)
        explicit = self.ignore_visibly(start)
        if explicit:
            start = self.top
        self.contextful = users_of(self.contexts, self.productions.items())
        self.find_outs(start)
        top = self.model.rule(self.model.names[start], self.model.origins[start])
        for after in sorted(self.outs_of(start, ANYTHING)):
            if self.conditions.definition(after)[0]:
                self.model.produce(top, (self.symbol(start, ANYTHING, after),))
        while self.waiting:
            lhs, symbol, before, after = self.waiting.pop()
            self.expand(lhs, symbol, before, after)
        self.start = start
        return Split(top, self.new_nodes, explicit, self.found_later, self.can_avoid, self.can_witness)

    # ---- ignored text -------------------------------------------------------------------------------------------

    def ignore_visibly(self, start: int) -> bool:
        """Put ignored text into the productions as far as needed. Return whether that is everywhere; the start symbol
        is then `top`."""
        ignored = self.terminals.ignored
        if not ignored:
            return False
        everywhere = not self.may_always_follow()
        if not everywhere:
            self.skipped = self.model.helper("(ignored text)")
            for symbol in ignored:
                self.model.produce(self.skipped, (self.visible(symbol),))
            return False
        one = self.local("(ignored text)", [(self.visible(symbol),) for symbol in ignored])
        many = self.local("(ignored text)", [()])
        self.productions[many].append((one, many))
        wrapped: dict[int, int] = {}
        for lhs in list(self.productions):
            if lhs not in (one, many):
                self.productions[lhs] = [
                    tuple([self.wrapped(part, many, wrapped) for part in rhs]) for rhs in self.productions[lhs]
                ]
        self.kept = set()
        self.top = self.local("(text)", [(self.wrapped(start, many, wrapped), many)])
        return True

    def visible(self, ignored: int) -> int:
        """Return an ordinary terminal in place of an ignored one."""
        symbol = self.like(ignored)
        if self.model.attributes:
            self.model.attributes[symbol] = RuleAttributes(is_ignored=True)
        self.nodes[symbol] = self.new_nodes[symbol] = self.terminals.ignored[ignored]
        if ignored in self.contexts:
            self.contexts[symbol] = self.contexts[ignored]
        return symbol

    def like(self, terminal: int) -> int:
        """Return a new terminal with the name, the place and the attributes of `terminal`."""
        tree = self.model.trees[terminal]
        assert tree is not None
        symbol = self.model.terminal(self.model.names[terminal], tree, self.model.origins[terminal])
        self.model.like(symbol, terminal)
        return symbol

    def may_always_follow(self) -> bool:
        """Tell whether every ignored lexeme meets every condition and decides it: nothing after that lexeme matters for
        the condition."""
        for symbol in self.terminals.ignored:
            if symbol in self.contexts:
                return False
        for contexts in self.contexts.values():
            for language, condition in contexts:
                if condition != ANYTHING and self.regexes.is_nullable(language):
                    return False  # the empty text would leave two conditions pending at one place
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
        """Return a new symbol whose alternatives are split with the others, so they are not in the model."""
        symbol = self.model.helper(name)
        self.productions[symbol] = alternatives
        return symbol

    def wrapped(self, part: int, many: int, known: dict[int, int]) -> int:
        """Return a symbol for ignored text and then `part`, if that is a terminal or special token; else `part`."""
        if part not in self.nodes and part not in self.terminals.specials:
            return part
        symbol = known.get(part)
        if symbol is None:
            known[part] = symbol = self.local(self.model.names[part], [(many, part)])
        return symbol

    # ---- conditions ---------------------------------------------------------------------------------------------

    def read_contexts(self) -> dict[int, list[tuple[int, int]]]:
        """Return the contexts of the terminals that the start symbol reaches, with conditions of this grammar."""
        result: dict[int, list[tuple[int, int]]] = {}
        for symbol, contexts in self.terminals.contexts.items():
            if symbol not in self.nodes and symbol not in self.terminals.ignored:
                continue
            numbers = self.conditions.read(contexts[0].definitions)
            result[symbol] = [(context.node, numbers[context.condition]) for context in contexts]
            self.later.update({context.node: context.found_later for context in contexts if context.found_later})
        return result

    def simplify_conditions(self, start: int) -> None:
        """Replace a condition by ANYTHING or NOTHING if everything that may follow its terminal meets it, or nothing
        does."""
        ignored = self.terminals.ignored
        lexemes = self.nodes | ignored
        bits = {symbol: 2 << i for i, symbol in enumerate(lexemes)}
        nullable = {symbol for symbol, node in lexemes.items() if self.regexes.is_nullable(node)}
        first = bits | dict.fromkeys(self.terminals.specials, 1)  # a special token is the end of the text
        follow = followers(self.productions, start, 1, first, nullable)
        skipped = sum([bits[symbol] for symbol in ignored])
        beginners: dict[Ranges, int] = {}  # by set of code points: the terminals that may begin with one of them
        first_bytes = [(bits[symbol], node, self.regexes.first_bytes(node)) for symbol, node in lexemes.items()]

        def may_begin(ranges: Ranges, following: int) -> bool:
            if ranges not in beginners:
                opening = self.regexes.concat([self.regexes.char_class(ranges), self.conditions.anything])
                ascii_ = sum([(2 << min(last, 127)) - (1 << first) for first, last in ranges if first < 128])
                beginners[ranges] = sum(
                    [
                        bit
                        for bit, node, begins in first_bytes
                        if begins & ascii_
                        or (begins >> 128 and not self.regexes.is_empty(self.regexes.intersection([node, opening])))
                    ]
                )
            return beginners[ranges] & following != 0

        def decided(condition: int, following: int) -> int:
            end, branches = self.conditions.definition(condition)
            others = codepoints.complement(codepoints.normalize([pair for ranges, _ in branches for pair in ranges]))
            found = {ANYTHING if end else NOTHING} if following & 1 else set()
            for ranges, after in (*branches, (others, NOTHING)):
                if may_begin(ranges, following):
                    found.add(after)
            return found.pop() if len(found) == 1 and found <= {NOTHING, ANYTHING} else condition

        for symbol in [symbol for symbol in self.contexts if symbol not in ignored]:
            following = follow.get(symbol, 0) | skipped
            languages: dict[int, list[int]] = {}
            open_ones: list[tuple[int, int]] = []
            for node, condition in self.contexts[symbol]:
                later = self.later.get(node)
                if later is None:
                    languages.setdefault(decided(condition, following), []).append(node)
                    continue
                open_ones = [(node, condition)]
                if not may_begin(later.inside, following):
                    settled = later.settled([cell for cell in later.outside if may_begin(cell, following)])
                    if settled is not None:
                        languages = {ANYTHING: [settled]}
                        open_ones = []
            self.contexts[symbol] = [
                (self.regexes.union(nodes), condition) for condition, nodes in languages.items() if condition != NOTHING
            ] + open_ones
            if not open_ones and [condition for _, condition in self.contexts[symbol]] == [ANYTHING]:
                self.nodes[symbol] = self.new_nodes[symbol] = self.contexts.pop(symbol)[0][0]

    def lexeme(self, terminal: int, before: int) -> list[tuple[int, Symbols]]:
        """Return what a terminal becomes after a condition: pairs of (condition after it, symbols)."""
        key = (terminal, before)
        known = self.lexemes.get(key)
        if known is not None:
            return known
        result: list[tuple[int, Symbols]] = []
        self.lexemes[key] = result
        contexts = self.contexts.get(terminal)
        later: FoundLater | None = None
        if contexts is None:
            if before == ANYTHING:
                result.append((ANYTHING, (terminal,)))
                return result
            contexts = [(self.nodes[terminal], ANYTHING)]
        for language, own in contexts:
            if self.regexes.is_nullable(language):
                after = self.conditions.intersection(before, own)
                if after != NOTHING:
                    result.append((after, ()))
            for left, texts in self.conditions.ways(before):
                lexemes = language
                if before != ANYTHING or self.regexes.is_nullable(language):
                    lexemes = self.regexes.intersection([language, texts])
                after = self.conditions.intersection(left, own)
                if after != NOTHING and not self.regexes.is_empty(lexemes):
                    symbol = self.like(terminal)
                    self.new_nodes[symbol] = lexemes
                    if language in self.later:
                        if left != ANYTHING:
                            raise UnseparableError
                        later = self.later[language]
                        self.found_later.demanding[symbol] = self.regexes.char_class(later.inside)
                    result.append((after, (symbol,)))
                    if after != ANYTHING and self.skipped is not None:
                        result.append((ANYTHING, (symbol, self.skipped)))
        if later is not None:
            self.join_demanding(key, later.loose, result)
        return result

    def join_demanding(self, key: tuple[int, int], loose: int, ways: list[tuple[int, Symbols]]) -> None:
        """Replace a terminal of whose texts the parser finds out what must follow, and another one after which anything
        may follow, by one symbol for both. So no production depends on the former alone. `loose` stands for all of
        them. `key`: the terminal, and the condition before it."""
        terminal, before = key
        if before != ANYTHING:
            texts = self.regexes.union([node for _, node in self.conditions.ways(before)])
            loose = self.regexes.intersection([loose, texts])
        self.found_later.covered.update([symbols[0] for _, symbols in ways if symbols])
        self.found_later.covered.difference_update(self.found_later.demanding)
        self.joined[key] = both = self.model.helper(self.model.names[terminal])
        joined = [way for way in ways if way[0] == ANYTHING and len(way[1]) == 1]
        for way in joined:
            ways.remove(way)
            self.model.produce(both, way[1])
        if {symbols[0] for _, symbols in joined} <= self.found_later.demanding.keys():
            self.unavoidable.add(both)
        symbol = self.like(terminal)
        self.new_nodes[symbol] = loose
        self.found_later.loose.add(symbol)
        self.model.produce(both, (symbol,))
        ways.append((ANYTHING, (both,)))

    # ---- which conditions a symbol leaves -----------------------------------------------------------------------

    def is_unsplit(self, symbol: int, before: int) -> bool:
        """Tell whether `symbol` stays as it is: no condition is pending before it, and none begins in it."""
        return before == ANYTHING and symbol not in self.contextful

    def outs_of(self, symbol: int, before: int, reader: tuple[int, int] | None = None) -> Collection[int]:
        """Return the conditions that may be pending after `symbol`, as far as known.

        If more become known later, the key `reader` of `outs` is computed again.
        """
        if symbol in self.nodes:
            return [after for after, _ in self.lexeme(symbol, before)]
        if symbol in self.terminals.specials:
            return [ANYTHING] if self.conditions.definition(before)[0] else []
        if self.is_unsplit(symbol, before):
            return [ANYTHING]
        key = (symbol, before)
        if reader is not None:
            self.readers.setdefault(key, set()).add(reader)
            if key not in self.outs:
                self.outs[key] = set()
                self.agenda.add(key)
        return self.outs.get(key, ())

    def find_outs(self, start: int) -> None:
        """Fill `outs`: a least fixpoint over the pairs of symbol and condition that are reached."""
        self.agenda.add((start, ANYTHING))
        self.outs[start, ANYTHING] = set()
        while self.agenda.waiting:
            key = self.agenda.take()
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
                for reader in self.readers.get(key, ()):
                    self.agenda.add(reader)

    def can_avoid(self) -> bool:
        """See `Split.can_avoid`."""
        return self.avoids(None)

    def can_witness(self) -> bool:
        """See `Split.can_witness`."""
        witnesses = Witnesses(
            self.productions, self.start, self.nodes, self.contexts, self.later, self.conditions, self.regexes
        )
        if self.skipped is not None:
            witnesses.skipped = list(self.terminals.ignored.values())
        witnesses.specials = self.terminals.specials
        try:
            for n_terminals, last in ((0, False), (1, False), (1, True), (2, False), (2, True)):
                if witnesses.find(n_terminals, last) and self.avoids(witnesses):
                    break
            else:
                return False
        except LimitError as error:
            if error.limit:
                raise
            return False  # a bound of the search for a proof
        for (terminal, before), both in self.joined.items():
            node = witnesses.sure(terminal, before)
            if not self.regexes.is_empty(node):
                symbol = self.like(terminal)
                self.new_nodes[symbol] = node
                self.found_later.sure.add(symbol)
                self.model.produce(both, (symbol,))
        return True

    def avoids(self, witnesses: Witnesses | None) -> bool:
        """Tell whether each text can be finished without demanding terminals, or with witnesses for them."""
        unavoidable = self.unavoidable.union(self.found_later.demanding)

        def leaf(symbol: int, before: int, avoid: bool) -> Collection[int] | None:
            strict = witnesses is not None and self.conditions.is_strict(before)
            if symbol in self.nodes:
                ways = [] if strict else self.lexeme(symbol, before)
                found = {after for after, symbols in ways if not avoid or unavoidable.isdisjoint(symbols)}
                return found | witnesses.ways(symbol, before) if avoid and witnesses is not None else found
            if (symbol, before) in self.outs or (strict and symbol not in self.terminals.specials):
                return None
            return self.outs_of(symbol, before)

        def claims(symbol: int, before: int) -> Collection[int]:
            return () if witnesses is None or symbol not in self.nodes else witnesses.claims(symbol, before)

        def accepts(condition: int) -> bool:
            return self.conditions.definition(condition)[0]

        return Avoidance(self.productions, self.outs, leaf, claims).always(self.start, accepts)

    # ---- productions --------------------------------------------------------------------------------------------

    def symbol(self, symbol: int, before: int, after: int) -> int:
        """Return the nonterminal for `symbol` between two conditions."""
        if symbol in self.kept and self.is_unsplit(symbol, before):
            return symbol
        key = (symbol, before, after)
        known = self.made.get(key)
        if known is None:
            if len(self.made) == MAX_SPLIT:
                raise LimitError(
                    f"the demands of terminals on the text after them split the grammar into more than {MAX_SPLIT} "
                    "symbols; let terminals end in \\b or (?!...), so that one character decides"
                )
            self.made[key] = known = self.model.helper(self.model.names[symbol])
            self.model.like(known, symbol)
            self.waiting.append((known, *key))
        return known

    def expand(self, lhs: int, symbol: int, before: int, after: int) -> None:
        """Add the productions of `lhs`, which stands for `symbol` between two conditions."""
        for index, rhs in enumerate(self.productions[symbol]):
            self.continue_with(lhs, (symbol, index), rhs, before, after)

    def continue_with(self, lhs: int, name: tuple[int, int], rhs: Symbols, before: int, after: int) -> None:
        """Add to `lhs` the productions that `rhs` becomes between two conditions. `name` says which production it
        is."""
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
        """Return the symbol for `rhs`, the end of the production `name`, between two conditions."""
        key = ("rest", name, len(rhs), before, after)
        known = self.made.get(key)
        if known is None:
            self.made[key] = known = self.model.helper(self.model.names[name[0]])
            self.continue_with(known, name, rhs, before, after)
        return known

    def leads(self, rhs: Symbols, before: int, after: int) -> bool:
        """Tell whether `after` may be pending after `rhs`, if `before` is pending before it."""
        states = {before}
        for part in rhs:
            states = {out for state in states for out in self.outs_of(part, state)}
        return after in states

    def ways(self, rhs: Symbols, before: int, after: int) -> list[Symbols] | None:
        """Return the right-hand sides that `rhs` becomes between two conditions, or None if there are too many."""
        if not rhs:
            return [()] if before == after else []
        # By symbol: the conditions that may be pending after it, by the one before it, as far as they lead to `after`.
        passing: list[dict[int, Collection[int]]] = []
        pending = {before}
        for part in rhs:
            found: dict[int, Collection[int]] = {}
            possible: set[int] = set()
            for state in pending:
                found[state] = outs = self.outs_of(part, state)
                possible.update(outs)
            passing.append(found)
            pending = possible
        if after not in pending:
            return []
        leading: dict[int, Collection[int]] = {after: ()}
        for index in range(len(rhs) - 1, -1, -1):
            kept: dict[int, Collection[int]] = {}
            for state, outs in passing[index].items():
                ways = dict.fromkeys([out for out in outs if out in leading])
                if ways:
                    kept[state] = ways
            passing[index] = leading = kept
        # From left to right: by condition, the beginnings of right-hand sides after which it is pending.
        beginnings: dict[int, list[Symbols]] = {before: [()]}
        for part, afters in zip(rhs, passing, strict=True):
            following: dict[int, list[Symbols]] = {}
            for state, prefixes in beginnings.items():
                for out in afters.get(state, ()):
                    steps = self.step(part, state, out)
                    following.setdefault(out, []).extend([prefix + step for prefix in prefixes for step in steps])
            if sum([len(prefixes) for prefixes in following.values()]) > MAX_PATHS and len(rhs) > 1:
                return None
            beginnings = following
        return beginnings.get(after, [])

    def step(self, part: int, before: int, after: int) -> list[Symbols]:
        """Return the lists of symbols that one symbol may become between two conditions."""
        if part in self.nodes:
            return [symbols for out, symbols in self.lexeme(part, before) if out == after]
        if part in self.terminals.specials:
            return [(part,)]
        return [(self.symbol(part, before, after),)]
