"""The shortest ending of a text: the fewest characters after which it is a sentence.

Three shortest things are put together: the text of a regex (a search over its derivatives), the text of a symbol (Knuth
1977, which generalises Dijkstra's algorithm to grammars), and the way from the lexemes that may come next up to the
start rule, over the rows of the textbook's chart. Characters are counted by the bytes that begin one.
"""

from __future__ import annotations

from heapq import heappop, heappush
from time import thread_time
from typing import TYPE_CHECKING

from ._meter import count, keep, tick

if TYPE_CHECKING:
    from ._explain import Context, Explorer

MAX_SYMBOLS = 4000
"""At most so many symbols are looked at. A schema may have infinitely many: those beyond them are taken to derive
nothing, so there may be a shorter ending."""
MAX_NODES = 3000
"""At most so many derivatives of one regex are looked at for its shortest text. Beyond it, some text is taken."""
MAX_SECONDS = 1.0
"""The time for finding an ending."""
MAX_LENGTH = 1 << 16
"""The most characters of an ending that is written; a longer one is not found. A rule may double what is in it, and so
may each rule in that one."""
ENTRY_BYTES = 300
"""Memory of an item, a symbol or a derivative, beside its text, in the tables here: an estimate."""

Text = tuple[int, bytes]  # the number of characters, and the text


class TooMuch(Exception):
    """The time is over."""


def shortest_ending(explorer: Explorer) -> tuple[bytes, int, bool] | None:
    """Return the shortest ending of the text that the explorer has read, its number of characters, and whether there
    may be a shorter one; None if none was found."""
    try:
        return _Endings(explorer).find()
    except TooMuch:
        return None


class _Endings:
    def __init__(self, explorer: Explorer) -> None:
        self.explorer = explorer
        self.deadline = thread_time() + MAX_SECONDS
        self.nodes: dict[int, Text | None] = {}
        self.is_cut = False  # whether something was not looked at
        self.lengths: dict[int, int] = {}  # of symbols
        self.ways: dict[int, tuple[int, ...] | bytes] = {}  # of symbols: the production, or the text of a terminal
        for each in (self.nodes, self.lengths, self.ways):
            keep(each)

    def find(self) -> tuple[bytes, int, bool] | None:
        explorer = self.explorer
        hanging = explorer.hanging()
        # The items above the lexemes, each with the symbols after what it waits for.
        items: dict[Context, list[tuple[tuple[int, ...], Context | None]]] = {}
        agenda = [context for _, _, context in hanging if context is not None]
        keep(items)
        keep(agenda)
        for context in agenda:  # which grows
            self.look()
            if context not in items:
                items[context] = explorer.items_above(context)
                agenda += [outer for _, outer in items[context] if outer is not None]
        needed = {symbol for _, rest, _ in hanging for symbol in rest}
        needed |= {symbol for found in items.values() for rest, _ in found for symbol in rest}
        self.measure(needed)
        below: dict[Context | None, list[tuple[int, tuple[int, ...], Context]]] = {}
        keep(below)
        for context, found in items.items():
            for rest, outer in found:
                count(ENTRY_BYTES)
                if all(symbol in self.lengths for symbol in rest):
                    below.setdefault(outer, []).append((sum(self.lengths[each] for each in rest), rest, context))
        # Dijkstra from the start rule down: what must follow each context.
        costs: dict[Context | None, int] = {}
        after: dict[Context, tuple[tuple[int, ...], Context | None]] = {}
        queue: list[tuple[int, int, Context | None, tuple[int, ...], Context | None]] = [(0, 0, None, (), None)]
        for each in (costs, after, queue):
            keep(each)
        n = 0
        while queue:
            self.look()
            cost, _, one, rest, outer = heappop(queue)
            if one in costs:
                continue
            costs[one] = cost
            if one is not None:
                after[one] = rest, outer
            for weight, then, inner in below.get(one, ()):
                n += 1
                count(ENTRY_BYTES)
                heappush(queue, (cost + weight, n, inner, then, one))
        best: tuple[int, bytes, tuple[int, ...], Context | None] | None = None
        for node, rest, place in hanging:
            text = self.shortest(node)
            if text is None or place not in costs or any(symbol not in self.lengths for symbol in rest):
                continue
            cost = text[0] + sum(self.lengths[symbol] for symbol in rest) + costs[place]
            if best is None or cost < best[0]:
                best = cost, text[1], rest, place
        if best is None or best[0] > MAX_LENGTH:
            return None
        cost, begun, rest, place = best
        parts = [begun, self.derived(rest)]
        while place is not None:
            rest, place = after[place]
            parts.append(self.derived(rest))
        return b"".join(parts), cost, self.is_cut

    def measure(self, needed: set[int]) -> None:
        """Find the shortest text of each of these symbols, and of those of which they are made."""
        explorer = self.explorer
        uses: dict[int, list[int]] = {}  # symbol -> numbers of the productions that have it
        productions: list[tuple[int, tuple[int, ...]]] = []
        missing: list[int] = []  # per production: how many of its symbols have no length yet
        queue: list[tuple[int, int, tuple[int, ...] | bytes]] = []
        agenda = sorted(needed)
        met = set(agenda)
        for each in (uses, productions, missing, queue, agenda):
            keep(each)
        for symbol in agenda:  # which grows
            self.look()
            node = explorer.node(symbol)
            if node is not None:
                text = self.shortest(node)
                if text is not None:
                    heappush(queue, (text[0], symbol, text[1]))
                continue
            for rhs in explorer.productions(symbol):
                count(ENTRY_BYTES + 100 * len(rhs))
                productions.append((symbol, rhs))
                missing.append(len(rhs))
                if not rhs:
                    heappush(queue, (0, symbol, rhs))
                for part in rhs:
                    uses.setdefault(part, []).append(len(productions) - 1)
                    if part not in met:
                        if len(met) >= MAX_SYMBOLS:
                            self.is_cut = True
                        else:
                            met.add(part)
                            agenda.append(part)
        while queue:
            self.look()
            cost, symbol, way = heappop(queue)
            if symbol in self.lengths:
                continue
            self.lengths[symbol] = cost
            self.ways[symbol] = way
            for number in uses.get(symbol, ()):
                missing[number] -= 1
                if not missing[number]:
                    lhs, rhs = productions[number]
                    if lhs not in self.lengths:
                        heappush(queue, (sum(self.lengths[part] for part in rhs), lhs, rhs))

    def derived(self, symbols: tuple[int, ...]) -> bytes:
        """Return the shortest text of symbols, one after the other."""
        found = []
        stack = list(reversed(symbols))
        while stack:
            self.look()
            way = self.ways[stack.pop()]
            if isinstance(way, bytes):
                found.append(way)
            else:
                stack += reversed(way)
        return b"".join(found)

    def shortest(self, node: int) -> Text | None:
        """Return the shortest text that a regex node matches; None if none was found."""
        if node not in self.nodes:
            self.nodes[node] = self._shortest(node)
        return self.nodes[node]

    def _shortest(self, node: int) -> Text | None:
        explorer = self.explorer
        queue: list[tuple[int, int, bytes, int]] = [(0, 0, b"", node)]
        seen: set[int] = set()
        while queue:
            n_chars, n_bytes, text, at = heappop(queue)
            if at in seen:
                continue
            if explorer.is_nullable(at):
                return n_chars, text
            if len(seen) == MAX_NODES:
                return self.some(node)
            self.look()
            seen.add(at)
            for target, members in explorer.derivatives(at).items():
                if target not in seen:
                    count(ENTRY_BYTES + len(text))
                    byte = min(members, key=_rank)
                    is_new = byte & 0xC0 != 0x80
                    heappush(queue, (n_chars + is_new, n_bytes + 1, text + bytes([byte]), target))
        return None

    def some(self, node: int) -> Text | None:
        """Return some text that a regex node matches, by a search that goes deep first."""
        self.is_cut = True
        stack = [(node, b"")]
        seen: set[int] = set()
        while stack and len(seen) < MAX_NODES:
            self.look()
            at, text = stack.pop()
            if self.explorer.is_nullable(at):
                return sum(byte & 0xC0 != 0x80 for byte in text), text
            if at not in seen:
                seen.add(at)
                ways = [(min(members, key=_rank), target) for target, members in self.explorer.derivatives(at).items()]
                ways.sort(key=lambda way: _rank(way[0]), reverse=True)
                stack += [(target, text + bytes([byte])) for byte, target in ways]
        return None

    def look(self) -> None:
        tick()
        if thread_time() > self.deadline:
            raise TooMuch


def _rank(byte: int) -> tuple[bool, bool, int]:
    """Prefer letters and digits, then other visible characters."""
    char = chr(byte)
    return (not (byte < 0x80 and char.isalnum()), not 0x20 < byte < 0x7F, byte)
