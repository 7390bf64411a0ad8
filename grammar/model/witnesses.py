"""Texts that meet what names demand of the text after them, for the proof that each text can be finished
(`avoidance`).

In `NAME " " NAME` with `NAME: /[a-z]+(?! (?:as|by)\\b)/`, no text can be finished without a demanding terminal: after
the first name comes a blank, at which the lookahead reads on. But the demand can be met: ` c` is no beginning of ` as`
or ` by`. Such a text is a *witness* of the terminal: after it nothing is demanded any more.

Witnesses become one more context of the terminal, which only the proof uses:

- Its texts are those before which each of the witnesses is enough. If there are texts after which the whole text may
  end, the end is a witness, too, and each code point that alone is enough.
- Its condition is that one of the witnesses comes. It is an ordinary condition, marked as *strict*, because it demands
  more than the terminal.

If the conditions that may be pending between symbols lead to the end of the text with such contexts in place of the
demanding terminals, then each text can be finished: the witnesses say how. The engine gets the texts of the context as
a *sure* terminal (`Engine.add_sure`). Strict conditions never reach the productions.

The search for witnesses reads texts of the terminals that may follow each other according to their FOLLOW sets. That is
only a guess: the proof decides whether a witness can really come at each place. At first there are no longer witnesses
than one code point, then some for each terminal that may follow, then such after which the text has to end, and then
those for each two terminals.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

from ...earley._meter import tick
from ..regex.cells import representative
from ..regex.conditions import ANYTHING, NOTHING
from .analysis import followers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...earley._regex import Regexes
    from ..regex.ast import Ranges
    from ..regex.conditions import Conditions
    from ..regex.cuts import FoundLater
    from .model import Symbols

MAX_WITNESSES = 16
"""The most witnesses of one terminal. There are no more, so a grammar that needs them is split by all conditions."""

MAX_SEARCHED = 64
"""The most states whose bytes the search for one witness tries. Beyond it, the search finds none. A witness after 1,000
words needs one state for each letter of the alphabet."""

MAX_SEARCHED_IN_ALL = 1024
"""The most such states for one grammar. Beyond it, terminals have no further witnesses. A state takes 0.1 ms."""

LEXEME = 2
"""So many bytes more may a witness have if it needs one lexeme less. The fewer lexemes, the more places it suits."""

MAX_DEMANDS = 8
"""The most demands of one terminal that a witness is made to meet. Texts with other demands may not be sure."""

MAX_ROUTES = 64
"""The most pairs of following terminals for which witnesses are looked for. Further ones have none."""

Witness = tuple[str, bool]
"""A text that is enough, and whether the whole text must end after it."""

Item = tuple[int, int, int]
"""A lexeme that is being read: its place in the route, the terminal whose FOLLOW set holds after it, what is left."""

State = tuple[int, frozenset[Item]]
"""What is demanded, and the lexemes that are being read."""


class Witnesses:
    """The witnesses of the terminals of one grammar whose demands the parser finds."""

    def __init__(
        self,
        productions: dict[int, list[Symbols]],
        start: int,
        nodes: dict[int, int],
        contexts: dict[int, list[tuple[int, int]]],
        later: dict[int, FoundLater],
        conditions: Conditions,
        regexes: Regexes,
    ) -> None:
        self.productions = productions
        self.start = start
        self.nodes = nodes
        self.contexts = contexts
        self.later = later
        self.conditions = conditions
        self.regexes = regexes
        self.skipped: list[int] = []
        """The nodes of ignored terminals that may stand between any two lexemes."""
        self.specials: set[int] = set()
        self.strict: dict[int, tuple[int, int]] = {}
        """By terminal: the texts before which its witnesses are enough, and the condition that one of them comes."""
        self.known: dict[tuple[int, int], set[int]] = {}  # see `ways`
        self.branches: dict[int, list[tuple[int, int]]] = {}  # by node: its derivatives, each with a set of bytes
        self.follow: dict[int, list[int]] = {}  # by terminal: those that may follow it
        self.last: set[int] = set()  # the terminals after which the text may end
        self.n_searched = 0

    def find(self, n_terminals: int, last: bool) -> bool:
        """Look for witnesses that begin with each so many terminals that may follow, and if `last`, for such after
        which the text must end, too. Return whether some terminal has one."""
        self.strict = {}
        self.known = {}
        if not self.follow:
            self.find_followers()
        for symbol in self.contexts:
            language = self.demanding(symbol)
            if language is not None:
                context = self.context(symbol, language, self.later[language], n_terminals, last)
                if context is not None:
                    self.strict[symbol] = context
        return bool(self.strict)

    def demanding(self, symbol: int) -> int | None:
        """Return the texts of a terminal that demand something which the parser finds; None if there are none."""
        contexts = self.contexts.get(symbol)
        return contexts[-1][0] if contexts and contexts[-1][0] in self.later else None

    def find_followers(self) -> None:
        """Fill `follow`."""
        bits = {symbol: 2 << i for i, symbol in enumerate(self.nodes)}
        nullable = {symbol for symbol, node in self.nodes.items() if self.regexes.is_nullable(node)}
        follow = followers(self.productions, self.start, 1, bits | dict.fromkeys(self.specials, 1), nullable)
        for symbol in self.nodes:
            following = follow.get(symbol, 0)
            self.follow[symbol] = [other for other, bit in bits.items() if bit & following]
            if following & 1:
                self.last.add(symbol)

    def context(
        self, symbol: int, language: int, later: FoundLater, n_terminals: int, last: bool
    ) -> tuple[int, int] | None:
        """Return the strict context of a terminal. `language` are its texts that demand something."""
        following = self.following(symbol)
        demand = self.demand(language, following)
        single = [cell for cell in later.cells if cell not in later.outside and self.meets(demand, cell, following)]
        if not single and not n_terminals:
            return None
        single += later.outside
        settled = later.settled_texts(single)
        if self.regexes.is_empty(settled):
            single = []
        texts = [settled if single else language]
        witnesses: list[tuple[list[Ranges], bool]] = []
        for route in self.routes(symbol, n_terminals):
            for text, is_last in self.search(demand, route, last, bool(single)):
                witness = [later.cell_of(ord(char)) for char in text], is_last
                if witness not in witnesses:
                    witnesses.append(witness)
                    texts.append(later.before(text, is_last))
        node = self.regexes.intersection(texts)
        if (not single and not witnesses) or len(witnesses) > MAX_WITNESSES or self.regexes.is_empty(node):
            return None
        return node, self.condition(witnesses, bool(single), single)

    def following(self, symbol: int) -> int:
        """Return the set of bytes with which the texts may begin that may follow a terminal."""
        found = 0
        for _, _, node in self.begin(0, symbol, (symbol,)):
            found |= self.regexes.first_bytes(node)
        return found

    def meets(self, demand: int, cell: Ranges, following: int) -> bool:
        """Tell whether a code point of the cell meets the demand, whatever follows it, and may come: it is represented
        by one that begins with one of these bytes."""
        text = chr(representative(cell)).encode()
        if not following >> text[0] & 1:
            return False
        for byte in text:
            demand = next((after for after, read in self.step(demand) if read >> byte & 1), self.regexes.EMPTY)
        return self.regexes.is_anything(demand)

    def routes(self, symbol: int, n_terminals: int) -> list[tuple[int, ...]]:
        """Return lists of a terminal and so many that may follow, one after the other."""
        routes: list[tuple[int, ...]] = [(symbol,)]
        for _ in range(n_terminals):
            routes = [(*route, after) for route in routes for after in self.follow[route[-1]]][:MAX_ROUTES]
        return routes if n_terminals else []

    def condition(self, witnesses: list[tuple[list[Ranges], bool]], end: bool, others: list[Ranges]) -> int:
        """Return the strict condition that one of the witnesses comes, or one of the other cells, or if `end`, the
        end."""
        branches: dict[Ranges, list[tuple[list[Ranges], bool]]] = {}
        for cells, last in witnesses:
            if cells:
                branches.setdefault(cells[0], []).append((cells[1:], last))
            elif last:
                end = True
            else:
                return ANYTHING
        pairs = [(cell, self.condition(rests, False, [])) for cell, rests in branches.items()]
        return self.conditions.make(end, pairs + [(cell, ANYTHING) for cell in others], strict=True)

    # ---- the search ---------------------------------------------------------------------------------------------

    def demand(self, language: int, following: int) -> int:
        """Return what all of the shortest texts that demand something demand of the text after them. Those count that
        one of these bytes may follow."""
        demands: set[int] = set()
        states = [language]
        seen = {language}
        for state in states:  # grows while it is read
            tick()
            if self.regexes.is_nullable(state):
                demand = self.regexes.demand(state)
                if any([read & following for _, read in self.step(demand)]):
                    demands.add(demand)
            if len(demands) == MAX_DEMANDS:
                break
            if len(states) < MAX_SEARCHED:
                for after, _ in self.step(state):
                    if after not in seen:
                        seen.add(after)
                        states.append(after)
        return self.regexes.intersection(sorted(demands)) if demands else self.regexes.EMPTY

    def step(self, node: int) -> list[tuple[int, int]]:
        """Return the derivatives of a node that match anything, each with a set of bytes, as an integer."""
        known = self.branches.get(node)
        if known is None:
            found = self.regexes.derivatives(node).items()
            self.branches[node] = known = [(after, sum([1 << byte for byte in read])) for after, read in found]
        return known

    def search(self, demand: int, route: tuple[int, ...], last: bool, several: bool) -> list[Witness]:
        """Return a short text that meets the demand whatever follows, and begins with lexemes of the terminals of the
        route after its first; if `last`, another one after which the text may end. Those that differ in the last byte
        because of another lexeme come together. The list is empty if there seem to be none. If `several`, one code
        point is not enough."""
        state = demand, frozenset(self.begin(0, route[0], route))
        seen = {state}
        agenda: list[tuple[int, int, bytes, State, bool | None]] = [(0, 0, b"", state, None)]
        met: dict[tuple[bytes, bool], list[Witness]] = {}  # by the text without the last byte, and by kind
        kinds: set[bool] = set()
        found: list[Witness] = []
        for _ in range(MAX_SEARCHED):
            if not agenda or len(kinds) > last or self.n_searched == MAX_SEARCHED_IN_ALL:
                break
            tick()
            self.n_searched += 1
            _, _, text, state, kind = heappop(agenda)
            if kind is not None and kind not in kinds:
                kinds.add(kind)
                found += met[text[:-1], kind]
            if kind is False:
                continue
            for after, lexemes, byte in self.move(*state):
                longer = text + bytes([byte])
                moved = set(lexemes)
                may_end = False
                for place, symbol, node in lexemes:
                    if self.regexes.is_nullable(node):
                        moved.update(self.begin(place, symbol, route))
                        may_end = may_end or symbol in self.last
                next_ = after, frozenset(moved)
                if next_ in seen:
                    continue
                seen.add(next_)
                kind = None
                if is_text(longer):
                    if self.regexes.is_anything(after):
                        if several and len(longer.decode()) == 1:
                            continue
                        kind = False
                    elif last and may_end and self.regexes.is_nullable(after):
                        kind = True
                if kind is not None:
                    met.setdefault((text, kind), []).append((longer.decode(), kind))
                effort = len(longer) + LEXEME * min([place for place, _, _ in lexemes])
                heappush(agenda, (effort, len(seen), longer, next_, kind))
        return found

    def begin(self, place: int, symbol: int, route: tuple[int, ...]) -> Iterable[Item]:
        """Return the lexemes that may begin after one of `symbol`, which is at this place of the route."""
        for node in self.skipped:
            yield place, symbol, node
        place += 1
        for other in self.follow[symbol] if place >= len(route) else route[place : place + 1]:
            language = self.demanding(other)
            yield place, other, self.nodes[other] if language is None else self.later[language].loose

    def move(self, demand: int, items: frozenset[Item]) -> Iterable[tuple[int, tuple[Item, ...], int]]:
        """Return the demands and lexemes to which a byte leads, each with a byte that does."""
        parts: list[tuple[int, int, tuple[Item, ...]]] = [(after, read, ()) for after, read in self.step(demand)]
        for place, symbol, node in items:
            refined: list[tuple[int, int, tuple[Item, ...]]] = []
            for after, read, lexemes in parts:
                for other, bytes_ in self.step(node):
                    if bytes_ & read:
                        refined.append((after, bytes_ & read, (*lexemes, (place, symbol, other))))
                        read &= ~bytes_
                if read:
                    refined.append((after, read, lexemes))
            parts = refined
        for after, read, lexemes in parts:
            if lexemes:
                yield after, lexemes, (read & -read).bit_length() - 1

    # ---- for the proof ------------------------------------------------------------------------------------------

    def ways(self, terminal: int, before: int) -> set[int]:
        """Return the conditions that may be pending after a terminal, if `before` or the one after it is strict."""
        key = terminal, before
        known = self.known.get(key)
        if known is not None:
            return known
        found: set[int] = set()
        strict = self.conditions.is_strict(before)
        for language, own in self.languages(terminal, strict):
            if self.regexes.is_nullable(language):
                found.add(self.conditions.intersection(before, own))
            for left, texts in self.conditions.ways(before):
                lexemes = language if before == ANYTHING else self.regexes.intersection([language, texts])
                if not self.regexes.is_empty(lexemes):
                    found.add(self.conditions.intersection(left, own))
        found.discard(NOTHING)
        self.known[key] = self.with_skipped(found)
        return found

    def with_skipped(self, found: set[int]) -> set[int]:
        """Add the conditions that may be pending after ignored text, and return the set."""
        agenda = list(found) if self.skipped else []
        for condition in agenda:  # grows while it is read
            if condition == ANYTHING:
                continue
            for left, texts in self.conditions.ways(condition):
                if left not in found and not all(
                    [self.regexes.is_empty(self.regexes.intersection([node, texts])) for node in self.skipped]
                ):
                    found.add(left)
                    agenda.append(left)
        return found

    def languages(self, terminal: int, all_: bool) -> Iterable[tuple[int, int]]:
        """Return the strict context of a terminal, and if `all_`, those of its other ones that do not demand
        anything."""
        if terminal in self.strict:
            yield self.strict[terminal]
        if all_:
            for language, own in self.contexts.get(terminal, ((self.nodes[terminal], ANYTHING),)):
                if language not in self.later:
                    yield language, own

    def sure(self, terminal: int, before: int) -> int:
        """Return the texts of a terminal after a condition that are sure to lead to a sentence, as a regex node."""
        if terminal not in self.strict:
            return self.regexes.EMPTY
        node = self.strict[terminal][0]
        if before == ANYTHING:
            return node
        return self.regexes.intersection([node, self.conditions.leading(before).get(ANYTHING, self.regexes.EMPTY)])

    def claims(self, terminal: int, before: int) -> set[int]:
        """Return the conditions after such a text, and after ignored text behind it. One of them must lead to the end
        of the text."""
        if self.regexes.is_empty(self.sure(terminal, before)):
            return set()
        return self.with_skipped({self.strict[terminal][1]})


def is_text(data: bytes) -> bool:
    """Tell whether the bytes do not end within a character."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
