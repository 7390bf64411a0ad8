"""Checks terminals that commit (`name[commit]: ...`): does every text that has a reading begin a sentence?

The first terminal of a rule with `commit` is a *head*. A head *may begin* at a place if a reading of the text before
the place continues with it. If it may begin there and its text stands there, all readings end in which a lexeme of
another terminal than a head covers the place (`Chart.commit`). So the language is not context-free, and a text could
lose all its readings. This module refuses the grammars in which that could happen:

1. No text of a head begins with a text of another head, or with another text of the same head. Then a head that ends
   readings has a reading itself. (If it had none, compare a reading that it ended with the reading in which it could
   begin, at the lexemes that cover earlier and earlier places: one of the two would have a head there whose text
   begins with that of another head.)
2. After a rule with `commit`, the rest of every production around it has a *calm* text: no text of a head stands in
   it, and none begins in it. This is not needed if no sentence has two heads.

With both, every text that has a reading begins a sentence. Complete that reading in any way. If a head ends it,
continue with the reading that has the head:

- The shortest text that completes a rule with `commit` has no place where a head may begin, unless the rule itself
  holds rules with `commit`; then the rest of the rule must be calm, too.
- Calm texts complete the rules around it.
- A head that began before this reading's last head may still end it. Continue with that one. This happens only
  finitely often, since each begins at an earlier place than the one before.

A JSON Schema (`%json`) after such a rule is calm if a short document of it is: not all its texts are tried.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...earley._engine import Engine
from ...earley._explain import explorer_of
from ...earley._meter import tick
from ...earley._regex import Regexes
from ...earley.ending import shortest_ending
from ...earley.errors import LimitError
from .analysis import users_of
from .model import SPECIAL

if TYPE_CHECKING:
    from ..errors import GrammarError
    from .model import Model, Symbols

MAX_SEARCHED = 1 << 14
"""The most pairs of derivatives that the search for the calm texts of one terminal visits. Beyond it, the search takes
the texts that it has found, so a grammar may be refused although it has a calm text. Usual terminals have one of a few
characters."""


def check_commits(model: Model, reached: list[int], nodes: dict[int, int], regexes: Regexes) -> None:
    """Refuse a grammar with heads if a text may be left without a sentence, or if the grammar has what does not work
    together with heads."""
    heads = [symbol for symbol in reached if symbol in model.commits]
    if heads:
        try:
            _Checker(model, reached, nodes, regexes, heads).check()
        except LimitError as error:
            raise model.reporter.limit_error(str(error), model.origins[heads[0]]).copy_limit(error) from error


def refuse_beside(model: Model, symbol: int, what: str, hint: str) -> GrammarError:
    """Return the error that something does not work in a grammar with `commit`."""
    return model.error(f"{what} cannot be used in a grammar that has a rule with `commit`", symbol, hint)


class _Checker:
    def __init__(
        self, model: Model, reached: list[int], nodes: dict[int, int], regexes: Regexes, heads: list[int]
    ) -> None:
        self.model = model
        self.reached = reached
        self.nodes = nodes
        self.regexes = regexes
        self.heads = heads
        self.anything = regexes.repeat(regexes.byte_set(range(256)), 0)
        matched = regexes.union([nodes[head] for head in heads])
        # What is left of this regex after a calm text is this regex.
        self.fresh = regexes.complement(regexes.concat([self.anything, matched, self.anything]))
        self.outs: dict[tuple[int, int], set[int]] = {}  # see `outs_of`
        self.is_stable = True
        self.closed_rules: set[int] = set()  # see `closed`
        self.known: dict[int, int] = {}  # see `canonical`
        self.samples: dict[int, bytes] = {}  # see `sample`

    def check(self) -> None:
        for symbol in self.reached:
            if symbol in self.model.token_sets:
                raise refuse_beside(
                    self.model, symbol, "a set of token ids", "name the special token instead: <|name|>"
                )
        self.check_heads()
        self.check_rests()

    # ---- heads --------------------------------------------------------------------------------------------------

    def check_heads(self) -> None:
        model, regexes = self.model, self.regexes
        something = regexes.concat([regexes.byte_set(range(256)), self.anything])
        distinct = {self.nodes[head]: head for head in self.heads}
        every = regexes.union(list(distinct))
        for node in distinct:
            tick()
            if not regexes.is_empty(regexes.intersection([regexes.concat([node, something]), every])):
                break
        else:
            distinct = {}
        for head in self.heads:
            tick()
            if regexes.is_nullable(self.nodes[head]):
                raise model.error(
                    f"`{self.name(head)}` commits, so it must not match the empty text",
                    head,
                    "let the first terminal of the rule match at least one character",
                )
            longer = regexes.concat([self.nodes[head], something])
            for other in distinct.values():
                if regexes.is_empty(regexes.intersection([longer, self.nodes[other]])):
                    continue
                if other == head:
                    raise model.error(
                        f"`{self.name(head)}` commits, but some of its texts begin with a shorter one, so it would not "
                        "be clear which one has matched",
                        head,
                        "let the shortest one count: use `lazy` in the same brackets, or write a first terminal that "
                        "ends where it commits",
                    )
                raise model.error(
                    f"a text with which `{self.name(other)}` commits begins with one with which `{self.name(head)}` "
                    "commits",
                    other,
                    "make one rule of both, with `commit`, that begins with the shorter text and then has alternatives",
                )

    # ---- what must follow ---------------------------------------------------------------------------------------

    def check_rests(self) -> None:
        productions = self.model.productions
        leading = self.leading()
        if all(sum([part in leading for part in rhs]) < 2 for lhs in self.reached for rhs in productions[lhs]):
            return  # no sentence has two heads
        closed = self.closed(leading)
        for lhs in self.reached:
            tick()
            if lhs in closed:
                continue
            for rhs in productions[lhs]:
                for at, part in enumerate(rhs):
                    if part in leading and at + 1 < len(rhs) and not self.is_calm(rhs[at + 1 :]):
                        raise self.no_rest(part, rhs[at + 1 :])

    def leading(self) -> set[int]:
        """Return the symbols that derive something with a head."""
        productions = self.model.productions
        return users_of(self.heads, [(lhs, productions[lhs]) for lhs in self.reached])

    def closed(self, leading: set[int]) -> set[int]:
        """Return rules with `commit` in which no other such rule may stand, and the symbols within them."""
        result: set[int] = set()
        rules: dict[int, set[int]] = {}  # by rule: its heads
        for head in self.heads:
            rule = self.model.commits[head]
            if rule != head:
                rules.setdefault(rule, set()).add(head)
        for rule, own in rules.items():
            tick()
            inner = {rule}
            agenda = [rule]
            is_closed = True
            for symbol in agenda:  # grows while it is read
                for rhs in self.model.productions[symbol]:
                    is_closed &= not any(part in leading for part in rhs[1:])
                    for part in rhs:
                        is_closed &= part != rule and (part not in self.model.commits or part in own)
                        if part in leading and part not in inner:
                            inner.add(part)
                            agenda.append(part)
            if is_closed:
                result |= inner
                self.closed_rules.add(rule)
        return result

    def is_calm(self, rhs: Symbols) -> bool:
        """Return whether these symbols, one after the other, have a calm text."""
        while True:
            self.is_stable = True
            states = self.after(rhs, self.fresh)
            for symbol, state in list(self.outs):
                tick()
                self.update(symbol, state)
            if self.fresh in states:
                return True
            if self.is_stable:
                return False

    def after(self, rhs: Symbols, state: int) -> set[int]:
        states = {state}
        for part in rhs:
            states = {out for each in states for out in self.outs_of(part, each)}
        return states

    def outs_of(self, symbol: int, state: int) -> set[int]:
        """Return what may be left of `fresh` after a text of a symbol that no head ends, if `state` is left before
        it. For nonterminals, these are those found so far."""
        key = symbol, state
        found = self.outs.get(key)
        if found is None:
            self.outs[key] = found = set()
            self.update(symbol, state)
            self.is_stable = False
        return found

    def update(self, symbol: int, state: int) -> None:
        model = self.model
        found = self.outs[symbol, state]
        before = len(found)
        if symbol in model.commits or symbol in self.closed_rules:
            if state == self.fresh:
                found.add(self.fresh)
        elif symbol in self.nodes:
            if not found:
                found |= self.search(self.nodes[symbol], state)
        elif symbol in model.makers:
            if not found:
                found |= self.search(self.regexes.literal(self.sample(symbol)), state)
        elif model.kinds[symbol] == SPECIAL:
            found.add(self.fresh)
        else:
            for rhs in model.productions[symbol]:
                tick()
                found |= self.after(rhs, state)
        self.is_stable &= len(found) == before

    def search(self, node: int, state: int) -> set[int]:
        """Return what may be left of `state` after the texts of a regex, without texts after which nothing is left."""
        regexes = self.regexes
        found = set()
        seen = {(node, state)}
        agenda = [(node, state)]
        for here, left in agenda:  # grows while it is read
            tick()
            if regexes.is_nullable(here):
                found.add(self.canonical(left))
                if self.fresh in found:
                    break
            if len(agenda) > MAX_SEARCHED:
                break
            lefts = [(each, set(read)) for each, read in regexes.derivatives(left).items()]
            for target, read in regexes.derivatives(here).items():
                for other, bytes_ in lefts:
                    pair = target, other
                    if pair not in seen and not bytes_.isdisjoint(read) and not regexes.is_empty(other):
                        seen.add(pair)
                        agenda.append(pair)
        return found

    def sample(self, symbol: int) -> bytes:
        """Return a short text of a grammar within this one, such as a JSON Schema."""
        text = self.samples.get(symbol)
        if text is None:
            engine = Engine(Regexes())
            engine.finish(self.model.makers[symbol](engine))
            with explorer_of(engine) as explorer:
                explorer.read([])
                found = shortest_ending(explorer)
            if found is None:
                raise self.model.error(
                    f"`{self.model.names[symbol]}` must follow a rule with `commit`, and no short text of it was found "
                    "in time, so it is not known whether it can",
                    symbol,
                    "make it a part of the rule with `commit`",
                )
            self.samples[symbol] = text = found[0]
        return text

    def canonical(self, state: int) -> int:
        """Return `fresh` for a regex that matches the same, and any other regex itself."""
        if state not in self.known:
            more = self.regexes.difference(self.fresh, state)  # it never matches anything that `fresh` does not
            self.known[state] = self.fresh if self.regexes.is_empty(more) else state
        return self.known[state]

    def no_rest(self, part: int, rest: Symbols) -> GrammarError:
        """Return the error about symbols without a calm text that must follow `part`."""
        model = self.model
        below = self.below((part,))
        head = next(head for head in self.heads if head in below)
        while len(rest) > 1 and self.after(rest[:1], self.fresh) == {self.fresh}:
            rest = rest[1:]
        named = [symbol for symbol in self.below(rest) if model.names[symbol][:1] != "(" and model.origins[symbol]]
        shown = f" with `{model.names[named[0]]}`" if named else ""
        return model.error(
            f"a text could be left without a sentence: after `{self.name(head)}`, the grammar continues{shown}, but "
            "every text of that contains a text of a rule with `commit`, or ends in the beginning of one",
            named[0] if named else model.commits[head],
            f"let another text follow, or let all that must follow be a part of the rule with `commit`: "
            f"{self.name(head)}[commit]: ...",
        )

    def below(self, symbols: Symbols) -> list[int]:
        """Return these symbols and all of which they are made."""
        found = dict.fromkeys(symbols)
        agenda = list(found)
        for symbol in agenda:  # grows while it is read
            for rhs in self.model.productions[symbol]:
                for part in rhs:
                    if part not in found:
                        found[part] = None
                        agenda.append(part)
        return agenda

    def name(self, head: int) -> str:
        """Return the name of the rule that commits."""
        return self.model.names[self.model.commits[head]]
