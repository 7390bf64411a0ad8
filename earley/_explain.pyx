"""What `explain` needs to see of a matcher: positions, the characters' bytes, and the rules that wait for a lexeme.

An explanation is made rarely, so nothing here is fast, and masks keep nothing for it. Two views answer its questions:

- Positions (`_chart`) say exactly which bytes may come next.
- All readings of the text (`Reading` of `_captures`), a chart with origins, say in which rules a lexeme stands, from the
  start symbol down.

An `Explorer` holds the engine's lock, so `explain` works on a grammar of its own.
"""

from libc.stdint cimport uint32_t, uint64_t

from earleymask.earley._captures cimport Reading, Scanner
from earleymask.earley._chart cimport DEAD, FINISHED, NO_ROW, Chart, row_at
from earleymask.earley._demands cimport UNDECIDED, can_be_met
from earleymask.earley._engine cimport Engine
from earleymask.earley._lexer cimport n_terminals, node_at, terminal_at
from earleymask.earley._meter cimport count, tick
from earleymask.earley._nodes cimport R_EPSILON
from earleymask.earley._rules cimport S_LAZY, S_NONTERMINAL, S_SPECIAL, S_TERMINAL
from earleymask.earley._tables cimport NONE, ByteSet, lowest_bit


cdef enum:
    PAIR_BYTES = 400        # memory of a lexeme or a context in the lists and dicts that hold it: an estimate


cdef class Explorer:
    """The positions after a matcher's text, while the `with` block lasts. Positions are ints, 0 if no sentence begins
    like that."""

    cdef Chart chart
    cdef Engine engine
    cdef uint32_t position
    cdef object spelled
    cdef bint budgets
    cdef Reading reading

    def __cinit__(self, Chart chart not None, uint32_t position, spelled, bint budgets):
        self.chart = chart
        self.engine = chart.engine
        self.position = position
        self.spelled = spelled
        self.budgets = budgets

    def __enter__(self):
        self.engine.acquire()
        self.chart.busy = True
        return self

    def __exit__(self, kind, error, traceback):
        self.chart.busy = False
        self.engine.release()

    # ---- positions ----------------------------------------------------------------------------------------------

    def now(self) -> int:
        """Return the position of the matcher."""
        return self.position

    def first(self) -> int:
        """Return the position before any text."""
        return self.chart.initial()

    def step(self, uint32_t position, text) -> int:
        """Return the position after some bytes."""
        cdef size_t n
        if position == DEAD:
            return DEAD
        n, position = self.reach(position, text)
        return position if n == <size_t> len(text) else DEAD

    def reach(self, uint32_t position, bytes text not None) -> tuple[int, int]:
        """Return how many bytes of a text may come at a position, and the position after them."""
        cdef ByteSet same
        cdef unsigned char byte
        cdef uint32_t target
        cdef size_t n = 0
        for byte in text:
            target = self.chart.step(position, byte, &same)
            if target == DEAD:
                break
            position = target
            n += 1
            if not n & 0x3FF:
                tick()
        return n, position

    def classes(self, uint32_t position) -> list[tuple[list[int], int]]:
        """Return the bytes that may come next, those together that lead to the same position, and that position."""
        cdef ByteSet same, left
        cdef uint32_t byte, target, k, other
        found = {}
        for k in range(4):
            left.w[k] = <uint64_t> -1
        for byte in range(256):
            if not left.w[byte >> 6] >> (byte & 63) & 1:
                continue
            target = self.chart.step(position, byte, &same)
            members = found.setdefault(target, [])
            for k in range(4):
                same.w[k] &= left.w[k]
                left.w[k] &= ~same.w[k]
                while same.w[k]:
                    other = lowest_bit(same.w[k])
                    same.w[k] &= same.w[k] - 1
                    members.append(64 * k + other)
        return [(sorted(members), target) for target, members in found.items() if target != DEAD]

    def unproven(self, uint32_t position) -> bytes:
        """Return the bytes that may come next, without what loading has proved of lookaheads: a slow oracle for tests.
        Raises TimeoutError if that takes too long."""
        cdef ByteSet same
        cdef uint32_t byte, target
        cdef int answer
        found = []
        for byte in range(256):
            target = self.chart.step_unchecked(position, byte, &same)
            answer = target != DEAD and can_be_met(self.chart, target, False)
            if answer == UNDECIDED:
                raise TimeoutError
            if answer:
                found.append(byte)
        return bytes(found)

    def plain(self, uint32_t position) -> int:
        """Return the position without what followed terminals have read: texts that differ in that alone have one."""
        if not self.engine.rules.has_followed or position <= FINISHED:
            return position
        return self.chart.without_memory(position)

    def is_accepting(self, uint32_t position) -> bool:
        """Return whether the text may end at a position."""
        return position != FINISHED and self.chart.is_accepting(position)

    def special_names(self, uint32_t position) -> list[str]:
        """Return the names of the special tokens and sets of token ids that may come next."""
        return [self.name(symbol) for symbol in self.specials(position)]

    cdef list specials(self, uint32_t position):
        found = []
        if position > FINISHED and row_at(self.chart, position) != NO_ROW:
            symbols = [*self.engine.specials.values(), *[known[0] for known in self.engine.token_sets]]
            for symbol in sorted(set(symbols)):
                if self.chart.expects_special(position, symbol):
                    found.append(symbol)
        return found

    def live(self, uint32_t position) -> set[int]:
        """Return the terminals that may begin or continue, and the special tokens that may come."""
        return self.chart.terminals_at(position) | set(self.specials(position))

    def name(self, uint32_t symbol) -> str:
        """Return the name of a symbol."""
        return self.engine.rules.names[symbol]

    def has_budgets(self) -> bool:
        """Return whether some rule has a budget of tokens."""
        return self.budgets

    def explainers(self) -> list:
        """Return the explainers of the engine."""
        return self.engine.explainers or []

    # ---- readings -----------------------------------------------------------------------------------------------

    def tokens(self) -> list[tuple[bytes, list[int]]]:
        """Return the bytes of each accepted token, with the symbols that it may be."""
        return self.spelled()

    def read(self, list tokens not None) -> None:
        """Read a text, given as `tokens` returns it, for the questions below."""
        cdef Reading reading = Reading(self.engine, tokens)
        self.reading = None                     # one that ends with an error must not be used
        with nogil:
            reading.read()
        self.reading = reading

    def has_read(self) -> bool:
        """Return whether a text was read."""
        return self.reading is not None

    def waiting(self, allowed) -> list[tuple[int, int, tuple[int, int] | None]]:
        """Return the lexemes that may come next or continue at the end of the text that was read: the terminal or
        special token, the place where the lexeme begins, and its context. Only those that one of the bytes `allowed`
        may begin or continue: what lookaheads demand of the text excludes others.

        A context is a nonterminal and the place where its text begins; None for the start of the grammar.
        """
        found = {}
        for symbol, node, begin, item in self.lexemes():
            if self.engine.rules.symbols[<uint32_t> symbol].kind == S_TERMINAL:
                if all([allowed.isdisjoint(members) for members in self.derivatives(node).values()]):
                    continue
            count(PAIR_BYTES)
            found[symbol, begin, None if item is None else self.reading.context_of(item)] = True
        return list(found)

    cdef list lexemes(self):
        """Return these lexemes: terminal, what its regex has still to match, beginning, item that waits for it."""
        if self.reading is None:
            raise ValueError("no text was read")
        cdef Reading reading = self.reading
        cdef uint32_t symbol, end = <uint32_t> reading.steps.n, stand = reading.stand_at.data[end]
        cdef size_t i, k
        cdef Scanner scanner
        found = []
        stands = [] if stand == NONE else [stand]
        for i in range(reading.n_scanners):
            scanner = reading.scanners[i]
            if scanner.begin == end:
                continue
            for k in range(n_terminals(reading.lexer, scanner.state)):
                if node_at(reading.lexer, scanner.state, k) == R_EPSILON:
                    continue
                symbol = terminal_at(reading.lexer, scanner.state, k)
                count(PAIR_BYTES)
                if reading.rules.symbols[symbol].ignored:
                    found.append((symbol, node_at(reading.lexer, scanner.state, k), scanner.begin, None))
                for place in reading.places_of(scanner.stand):
                    for item in reading.waiting_for(place, symbol):
                        count(PAIR_BYTES)
                        found.append((symbol, node_at(reading.lexer, scanner.state, k), scanner.begin, item))
        for each in stands:
            for place in reading.places_of(each):
                for i in range(reading.rows.data[<uint32_t> place], reading.rows.data[<uint32_t> place + 1]):
                    symbol = reading.rules.dots.data[reading.items[i] >> 32]
                    if symbol != NONE and reading.rules.symbols[symbol].kind in (S_TERMINAL, S_SPECIAL):
                        count(PAIR_BYTES)
                        item = (reading.items[i] >> 32, reading.items[i] & NONE, place)
                        found.append((symbol, reading.rules.symbols[symbol].node, end, item))
        if stands:
            for i in range(reading.rules.ignored.n):
                symbol = reading.rules.ignored.data[i]
                found.append((symbol, reading.rules.symbols[symbol].node, end, None))
        return found

    def above(self, context) -> list[tuple[int, int] | None]:
        """Return the contexts in which the nonterminal of a context stands."""
        cdef Reading reading = self.reading
        symbol, place = context
        found = {}
        for item in reading.waiting_for(place, symbol):
            count(PAIR_BYTES)
            found[reading.context_of(item)] = True
        return list(found)

    # ---- for endings --------------------------------------------------------------------------------------------

    def hanging(self) -> list[tuple[int, tuple[int, ...], tuple[int, int] | None]]:
        """Return for each lexeme of the grammar's terminals that may come next or continue: a regex node for what its
        text may still be, the symbols after it in its production, and the context of that."""
        found = {}
        for symbol, node, _, item in self.lexemes():
            if item is not None and self.engine.rules.symbols[<uint32_t> symbol].kind == S_TERMINAL:
                count(PAIR_BYTES)
                found[node, self.after(item), self.reading.context_of(item)] = True
        return list(found)

    def items_above(self, context) -> list[tuple[tuple[int, ...], tuple[int, int] | None]]:
        """Return what may stand after the nonterminal of a context: symbols, and the context of its production."""
        symbol, place = context
        found = {}
        for item in self.reading.waiting_for(place, symbol):
            count(PAIR_BYTES)
            found[self.after(item), self.reading.context_of(item)] = True
        return list(found)

    cdef tuple after(self, item):
        """Return the symbols after the one for which an item waits."""
        return self.symbols_from(item[0] + 1)

    cdef tuple symbols_from(self, uint32_t dot):
        cdef list found = []
        while self.engine.rules.dots.data[dot] != NONE:
            found.append(self.engine.rules.dots.data[dot])
            dot += 1
        return tuple(found)

    def node(self, uint32_t symbol) -> int | None:
        """Return the regex node of a terminal; None for other symbols."""
        return self.engine.rules.symbols[symbol].node if self.engine.rules.symbols[symbol].kind == S_TERMINAL else None

    def productions(self, uint32_t symbol) -> list[tuple[int, ...]]:
        """Return the right-hand sides of a nonterminal; none of a special token."""
        cdef uint32_t production
        if self.engine.rules.symbols[symbol].kind == S_LAZY:
            self.engine.rules.expand(symbol)
        found = []
        if self.engine.rules.symbols[symbol].kind == S_NONTERMINAL:
            production = self.engine.rules.symbols[symbol].first
            while production != NONE:
                count(PAIR_BYTES)
                found.append(self.symbols_from(self.engine.rules.productions[production].start))
                production = self.engine.rules.productions[production].next
        return found

    def is_nullable(self, node) -> bool:
        """Return whether a regex node matches the empty text."""
        return self.engine.regexes.is_nullable(node)

    def derivatives(self, node) -> dict[int, bytes]:
        """Return what is left of a regex node after one byte, with the bytes that lead there."""
        tick()
        return self.engine.regexes.derivatives(node)


def explorer_of(Engine engine not None) -> Explorer:
    """Return an explorer of an engine that no other thread has, for its `read`."""
    return Explorer(Chart(engine), DEAD, list, False)


def reaches(Engine engine not None, bytes text not None) -> tuple[int, bool]:
    """Return how many bytes of a text may begin a sentence of an engine that no other thread has, and whether they are
    a sentence."""
    cdef Chart chart = Chart(engine)
    cdef uint32_t position, target
    cdef unsigned char byte
    cdef size_t n = 0
    cdef ByteSet same
    engine.acquire()
    try:
        position = chart.initial()
        for byte in text:
            target = chart.step(position, byte, &same)
            if target == DEAD:
                return n, False
            position = target
            n += 1
            if not n & 0x3FF:
                tick()
        return n, bool(chart.is_accepting(position))
    finally:
        engine.release()
