"""Captures: finds which texts the captured rules have matched, by parsing the accepted text once more.

The parser for masks does not keep where rules began, so that its rows recur (`_skeletons`). Captures are needed rarely,
so nothing is kept for them while masks are made. Here the whole text is parsed with the chart of the textbook (Earley
1970): with origins, with nullable symbols advanced at prediction (Aycock and Horspool 2002), over lexemes that end
wherever they can. Ignored text belongs to the lexeme after it: an item stays in the row in which it was made, and this
row *stands* at every place to which only ignored text leads from there.

Then, from the end back, only items of readings of the whole text are examined. Readings can differ in what they
capture. The one that is reported comes first in an order over sets of captures (with repetitions), each (begin, end,
name):

1. Sort the captures that are not empty: earlier begin, then later end, then name. The first difference between two
   lists decides; a longer list comes before its own beginning.
2. Then fewer empty captures come first, then those at earlier places.

This order is *monotone*: adding the same captures to two sets does not change which comes first, so what is best for a
part is best in every whole. The *extents* of an item are the places at which its first lexeme begins and its last one
ends. A capture around the item depends on them, so one value is kept for each item and extents.

Rules that derive each other and nothing else form a cycle. The values of a cycle are computed until none improves. That
ends, because only a captured rule could improve a value at each turn, and front ends refuse to capture a rule that can
consist of itself alone.

Terminals that commit end readings (`_chart`). Positions say where one may begin; if its text stands there, only lexemes
of such terminals may cover that place.

What a lookahead demands of the text after its lexeme is compared with that text when the lexeme ends.

A text that is no sentence yet is read as the beginning of a sentence: captured rules that are complete in it are
reported. A lexeme that can continue at the end of the text is taken to continue.

The text of a followed terminal decides what follows it, as it does for positions (`Engine.add_followed`).

Cost: that of Earley's parser, linear in the text for most grammars, quadratic for right recursion, cubic at worst.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdlib cimport free

from heapq import heappop, heappush, merge

from earleymask.earley._chart cimport DEAD
from earleymask.earley._lexer cimport (
    DEAD_STATE, accepted_at, matches_everything, n_accepted, n_terminals, next_state, node_at, terminal_at,
)
from earleymask.earley._meter cimport count, exceeds, keep, spend_steps, tick
from earleymask.earley._nodes cimport R_EPSILON, nullable
from earleymask.earley._rules cimport DEMANDING, LOOSE, S_LAZY, S_NONTERMINAL, S_SPECIAL, S_TERMINAL
from earleymask.earley._tables cimport (
    NONE, ByteSet, reserve, sequence, sequence_length, sort_u64, sort_unique, words_extend, words_free, words_push,
)

cdef enum:
    NO_BYTE = 0x100         # in `steps`: the token has no bytes
    NAMED = 0x200           # added to an entry of `steps`: a token that ends here is a symbol
    MAX_SEEN = 1 << 16      # `seen` is cleared before a place if it has more entries: they are about earlier places
    PIECE = 1 << 12         # captures that are sorted at once: it takes about a millisecond
    # Memory, by estimates: of a node in the tables here, of a way to make it, and of an item or an entry in one.
    NODE_BYTES = 350
    WAY_BYTES = 180
    ENTRY_BYTES = 100

NOTHING = (-1, -1)      # the extents of what has no lexeme


def find_captures(Engine engine not None, list tokens not None, size_t n_least):
    """Return names and texts of the captures in `tokens`: pairs of a token's bytes and the symbols that it may be.

    If the first tokens, at least `n_least` of them, are a sentence, the others are not part of the text. The caller
    holds the engine's lock.
    """
    cdef Reading reading
    cdef size_t n
    for n in range(n_least, len(tokens) + 1):
        reading = Reading(engine, tokens[:n], True)
        with nogil:
            reading.read()
        if reading.rows_at_end():
            return reading.report()
    if engine.rules.has_demanding:
        reading = Reading(engine, tokens)
        with nogil:
            reading.read()
    return reading.report()


cdef class Reading:
    """All readings of one text, which ends here if it `ends`; else lookaheads may ask for the text to come. Must not be
    used after an error."""

    def __cinit__(self, Engine engine not None, list tokens not None, bint ends=False):
        cdef uint32_t place = 0
        cdef size_t n = 0
        cdef unsigned char byte     # a plain char would be negative beyond ASCII
        self.engine = engine
        self.ends_here = ends
        self.rules = engine.rules
        self.lexer = engine.lexer
        self.meter = engine.regexes.meter
        self.named = {}
        self.edges = {}
        self.values = {}
        self.pairs = {}
        self.ends = {}
        self.captured = {}
        self.chart = Chart(engine) if engine.rules.has_commits else None
        self.after_text = {}
        self.dots_after = set()
        self.seen = Map()
        self.stands = Sequences("places of a text", 1 << 27)
        for each in (self.named, self.edges, self.values, self.pairs, self.ends, self.captured, self.after_text):
            keep(each)
        for spelled, symbols in tokens:
            n += 1
            if not n & 0x3FF:
                tick()
            for byte in <bytes> spelled:
                words_push(&self.steps, byte)
            if not spelled:
                words_push(&self.steps, NO_BYTE)
            if symbols:
                self.named[self.steps.n] = (place, symbols)
                self.steps.data[self.steps.n - 1] |= NAMED
            place = <uint32_t> self.steps.n

    def __dealloc__(self):
        free(self.items)
        free(self.scanners)
        words_free(&self.steps)
        words_free(&self.rows)
        words_free(&self.stand_at)
        words_free(&self.lexemes)
        words_free(&self.lexeme_starts)
        words_free(&self.lhs)
        words_free(&self.predicted)
        words_free(&self.arrivals)
        words_free(&self.words)
        words_free(&self.committed)

    # ---- the chart, from left to right --------------------------------------------------------------------------

    cdef int read(self) except -1 nogil:
        cdef uint32_t place
        cdef size_t n_committed = 0
        if self.rules.has_commits:
            self.find_committed()
        for place in range(<uint32_t> self.steps.n + 1):
            words_push(&self.rows, <uint32_t> self.n_items)
            words_push(&self.lexeme_starts, <uint32_t> self.lexemes.n)
            self.arrivals.n = 0
            if self.seen.n > MAX_SEEN:
                self.seen.clear()
            if place == 0:
                self.add(self.rules.start, 0, 0)
            else:
                self.scan_byte(place, self.steps.data[place - 1] & ~<uint32_t> NAMED)
                if self.steps.data[place - 1] & NAMED:
                    self.scan_named(place)
            self.close(place)
            self.stand(place)
            if n_committed < self.committed.n and self.committed.data[n_committed] == place:
                n_committed += 1
                self.start_committed(place)
            else:
                self.start_scanner(place)
        words_push(&self.rows, <uint32_t> self.n_items)
        words_push(&self.lexeme_starts, <uint32_t> self.lexemes.n)
        return 0

    cdef int find_committed(self) except -1 nogil:
        """Fill `committed`, by the positions of a chart."""
        cdef Words pending      # places where a terminal that commits may begin, each with the texts that refuse it
        cdef size_t i, n
        cdef uint32_t place, position = self.chart.initial(), byte, node
        cdef ByteSet same
        pending.data = NULL
        pending.n = pending.capacity = 0
        try:
            for place in range(<uint32_t> self.steps.n):
                if self.chart.barrier != NONE:
                    words_push(&pending, place)
                    words_push(&pending, self.chart.barrier)
                byte = self.steps.data[place] & ~<uint32_t> NAMED
                if byte == NO_BYTE:
                    pending.n = self.chart.named.n = 0
                    with gil:
                        for symbol in self.named[place + 1][1]:
                            words_push(&self.chart.named, <uint32_t> symbol)
                    position = self.chart.step_named(position, DEAD)
                else:
                    n = 0
                    for i in range(0, pending.n, 2):
                        node = self.lexer.regexes.derive(pending.data[i + 1], byte, &same)
                        if self.lexer.regexes.empty(node):
                            words_push(&self.committed, pending.data[i])
                        else:
                            pending.data[n] = pending.data[i]
                            pending.data[n + 1] = node
                            n += 2
                    pending.n = n
                    position = self.chart.step(position, byte, &same)
                if position == DEAD:
                    break
        finally:
            words_free(&pending)
        sort_unique(&self.committed)
        return 0

    cdef int start_committed(self, uint32_t place) except -1 nogil:
        """Let only lexemes of terminals that commit begin at `place`, or go on there."""
        cdef size_t i, n = 0
        self.start_scanner(place)
        for i in range(self.n_scanners):
            self.scanners[i].state = self.lexer.part_of(self.scanners[i].state, self.rules.symbols, True)
            if self.scanners[i].state != DEAD_STATE:
                self.scanners[n] = self.scanners[i]
                n += 1
        self.n_scanners = n
        return 0

    cdef int scan_byte(self, uint32_t place, uint32_t byte) except -1 nogil:
        """Move the scanners to `place`, and note the lexemes that end there."""
        cdef Scanner scanner
        cdef size_t i, k, n = 0
        cdef uint32_t terminal
        cdef uint64_t key
        if byte == NO_BYTE:
            self.n_scanners = 0
            return 0
        spend_steps(self.meter, 4 * self.n_scanners)
        for i in range(self.n_scanners):
            scanner = self.scanners[i]
            scanner.state = next_state(self.lexer, scanner.state, byte)
            if scanner.state == DEAD_STATE:
                continue
            # If two lexemes do the same from here on, keep the one that began first: it includes the text of the other.
            key = <uint64_t> 1 << 63 | <uint64_t> scanner.stand << 32 | scanner.state
            if self.seen.get(key) == place + 1:
                continue
            self.seen.put(key, place + 1)
            self.scanners[n] = scanner
            n += 1
            for k in range(n_accepted(self.lexer, scanner.state)):
                terminal = accepted_at(self.lexer, scanner.state, k)
                if self.rules.symbols[terminal].role == DEMANDING and not self.may_end(terminal, scanner.state, place):
                    continue
                self.add_lexeme(terminal, scanner.begin, scanner.stand, place)
                if self.rules.symbols[terminal].ignored:
                    words_extend(&self.arrivals, sequence(self.stands, scanner.stand),
                                 sequence_length(self.stands, scanner.stand))
        self.n_scanners = n
        return 0

    cdef bint may_end(self, uint32_t terminal, uint32_t state, uint32_t place) except -1 nogil:
        """Return whether the text from `place` on is what a lexeme demands that ends there in a lexer state."""
        cdef uint32_t i, byte, node
        cdef ByteSet same
        self.meter.derivations = self.meter.most_derivations
        node = self.lexer.regexes.cutter.demand(
            self.lexer.regexes, self.lexer.node_of(state, terminal), self.rules.symbols[terminal].inside)
        for i in range(place, <uint32_t> self.steps.n):
            byte = self.steps.data[i] & ~<uint32_t> NAMED
            if byte == NO_BYTE or self.lexer.regexes.empty(node) or matches_everything(self.lexer.regexes, node):
                return nullable(self.lexer.regexes, node)
            node = self.lexer.regexes.derive(node, byte, &same)
        return nullable(self.lexer.regexes, node) or not (self.ends_here or self.lexer.regexes.empty(node))

    cdef int scan_named(self, uint32_t place) except -1 nogil:
        cdef uint32_t before, symbol
        with gil:
            before, symbols = self.named[place]
            if self.stand_at.data[before] != NONE:
                for symbol in symbols:
                    self.add_lexeme(symbol, before, self.stand_at.data[before], place)
        return 0

    cdef int add_lexeme(self, uint32_t terminal, uint32_t begin, uint32_t stand, uint32_t place) except -1 nogil:
        """Add to the row at `place` what the lexeme makes of the rows that stand at its beginning."""
        cdef size_t i, k
        cdef uint32_t row, dot
        cdef bint expected = False
        for i in range(sequence_length(self.stands, stand)):
            row = sequence(self.stands, stand)[i]
            spend_steps(self.meter, self.rows.data[row + 1] - self.rows.data[row])
            for k in range(self.rows.data[row], self.rows.data[row + 1]):
                if self.rules.dots.data[self.items[k] >> 32] == terminal:
                    dot = <uint32_t> (self.items[k] >> 32) + 1
                    if self.rules.symbols[terminal].followed:
                        dot = self.dot_after(self.items[k], row, begin, place)
                    self.add(dot, <uint32_t> self.items[k], place)
                    expected = True
        if expected:
            words_push(&self.lexemes, terminal)
            words_push(&self.lexemes, begin)
            words_push(&self.lexemes, stand)
        return 0

    cdef uint32_t dot_after(self, uint64_t item, uint32_t row, uint32_t begin, uint32_t place) except? 0xFFFFFFFF nogil:
        """Return the dotted rule after a followed terminal for which an item of a row waits: the text of the lexeme
        decides it."""
        cdef uint32_t dot = <uint32_t> (item >> 32), origin = <uint32_t> item, symbol, follow
        with gil:
            symbol = self.left_hand_side(dot)
            follow = self.rules.follow_dot(self.rules.dots.data[dot], self.text(begin, place))
            self.dots_after.add(follow)
            self.after_text.setdefault((follow, origin, place), []).append(((dot, origin, row), begin))
        while self.lhs.n <= follow + 1:
            words_push(&self.lhs, NONE)
        # A followed terminal stands in one production, so its texts have one left-hand side.
        self.lhs.data[follow + 1] = symbol
        return follow

    cdef int add(self, uint32_t dot, uint32_t origin, uint32_t place) except -1 nogil:
        cdef uint64_t key = <uint64_t> dot << 32 | origin
        if self.seen.get(key) == place + 1:
            return 0
        if exceeds(self.n_items - self.rows.data[place] + 1, self.meter.most_row_items):
            with gil:
                self.meter.exceeded("row_items", "a row of the parser has more items")
        if self.n_items % 256 == 0 and exceeds(self.n_bytes(), self.meter.most_matcher_bytes) or self.n_items == NONE:
            with gil:
                self.meter.exceeded("matcher_bytes", "the readings of the text take more memory")
        self.seen.put(key, place + 1)
        reserve(<void**> &self.items, &self.items_capacity, self.n_items + 1, sizeof(uint64_t))
        self.items[self.n_items] = key
        self.n_items += 1
        return 0

    cdef size_t n_bytes(self) noexcept nogil:
        return (self.items_capacity * sizeof(uint64_t) + self.seen.n_bytes() + self.stands.n_bytes()
                + (self.steps.n + self.rows.n + self.stand_at.n + self.lexemes.n + self.lexeme_starts.n) * sizeof(uint32_t))

    cdef int close(self, uint32_t place) except -1 nogil:
        """Complete and predict until the row at `place` does not grow any more."""
        cdef size_t i = self.rows.data[place], k
        cdef uint32_t dot, origin, symbol
        while i < self.n_items:
            dot, origin = <uint32_t> (self.items[i] >> 32), <uint32_t> self.items[i]
            symbol = self.rules.dots.data[dot]
            i += 1
            spend_steps(self.meter, 2)
            if symbol != NONE:
                if self.rules.symbols[symbol].kind == S_LAZY:
                    self.rules.expand(symbol)
                if self.rules.symbols[symbol].kind == S_NONTERMINAL:
                    self.predict(symbol, place)
                if self.rules.symbols[symbol].nullable:
                    self.add(dot + 1, origin, place)
            elif origin != place and dot != self.rules.start + 1:   # empty symbols have been advanced over
                symbol = self.lhs.data[dot]
                spend_steps(self.meter, self.rows.data[origin + 1] - self.rows.data[origin])
                for k in range(self.rows.data[origin], self.rows.data[origin + 1]):
                    if self.rules.dots.data[self.items[k] >> 32] == symbol:
                        self.add(<uint32_t> (self.items[k] >> 32) + 1, <uint32_t> self.items[k], place)
        sort_u64(self.items + self.rows.data[place], self.n_items - self.rows.data[place])
        return 0

    cdef int predict(self, uint32_t symbol, uint32_t place) except -1 nogil:
        cdef uint32_t production = self.rules.symbols[symbol].first, dot
        cdef bint is_new
        while self.predicted.n <= symbol:
            words_push(&self.predicted, 0)
        if self.predicted.data[symbol] == place + 1:
            return 0
        is_new = self.predicted.data[symbol] == 0
        self.predicted.data[symbol] = place + 1
        while production != NONE:
            dot = self.rules.productions[production].start
            self.add(dot, place, place)
            if is_new:
                while self.rules.dots.data[dot] != NONE:
                    dot += 1
                while self.lhs.n <= dot:
                    words_push(&self.lhs, NONE)
                self.lhs.data[dot] = symbol
            production = self.rules.productions[production].next
        return 0

    cdef int stand(self, uint32_t place) except -1 nogil:
        """Note which rows stand at `place`: its own row, and those in `arrivals`."""
        if self.n_items > self.rows.data[place]:
            words_push(&self.arrivals, place)
        sort_unique(&self.arrivals)
        words_push(&self.stand_at, NONE)
        if self.arrivals.n:
            self.stand_at.data[place] = self.stands.intern(self.arrivals.data, self.arrivals.n)
        return 0

    cdef int start_scanner(self, uint32_t place) except -1 nogil:
        """Let lexemes begin at `place`: of all terminals that one of the rows expects, and of ignored ones."""
        cdef uint32_t stand = self.stand_at.data[place], row, symbol, state
        cdef size_t i, k, n
        if stand == NONE:
            return 0
        words_push(&self.rows, <uint32_t> self.n_items)     # the row is complete, so its end is known
        self.arrivals.n = 0
        for i in range(sequence_length(self.stands, stand)):
            row = sequence(self.stands, stand)[i]
            for k in range(self.rows.data[row], self.rows.data[row + 1]):
                symbol = self.rules.dots.data[self.items[k] >> 32]
                if symbol != NONE and self.rules.symbols[symbol].kind == S_TERMINAL and self.rules.symbols[symbol].role < LOOSE:
                    words_push(&self.arrivals, symbol)
        self.rows.n -= 1
        words_extend(&self.arrivals, self.rules.ignored.data, self.rules.ignored.n)
        sort_unique(&self.arrivals)
        self.words.n = 0
        for i in range(self.arrivals.n):
            words_push(&self.words, self.arrivals.data[i])
            words_push(&self.words, self.rules.symbols[self.arrivals.data[i]].node)
        state = self.lexer.state(self.words.data, self.words.n)
        if state != DEAD_STATE:
            n = self.n_scanners
            reserve(<void**> &self.scanners, &self.scanners_capacity, n + 1, sizeof(Scanner))
            self.scanners[n] = Scanner(place, stand, state)
            self.n_scanners = n + 1
        return 0

    # ---- the readings, from right to left -----------------------------------------------------------------------
    #
    # A node is an item or a symbol between two places: (dot, begin, end) or (-1 - symbol, begin, end). Its value has
    # the best captures within it for each extents: where its first lexeme begins and its last one ends. Captures are a
    # tree: None if there are none, a list of (begin, -end, name), or (number, tree, tree), where the number counts up.

    def report(self) -> list:
        """Return names and texts of the captures of the best reading."""
        cdef uint32_t place
        roots = [(self.rules.start + 1, 0, place) for place in self.rows_at_end() if self.ends_here]
        if roots:
            self.explore(roots)
            best = {}
            for root in roots:
                for captures in self.values[root].values():
                    self.keep(best, NOTHING, captures)
            captures = best[NOTHING]
        else:
            captures = self.contexts(self.hanging())
        return [(name, self.text(begin, -end)) for begin, end, name in self.flat(captures)]

    cdef list rows_at_end(self):
        """Return the places whose rows stand at the end of the text and end a sentence."""
        cdef uint32_t stand = self.stand_at.data[self.steps.n]
        if stand == NONE:
            return []
        return [place for place in self.places_of(stand) if self.has(self.rules.start + 1, 0, place)]

    cdef list hanging(self):
        """Return the items that wait for the lexeme at the end of the text: the one that has begun, or else the next
        one."""
        cdef uint32_t symbol, stand = self.stand_at.data[self.steps.n]
        cdef size_t i, k
        cdef Scanner scanner
        nodes, stands = [], set() if stand == NONE else {stand}
        for i in range(self.n_scanners):
            scanner = self.scanners[i]
            if scanner.begin == self.steps.n:
                continue
            for k in range(n_terminals(self.lexer, scanner.state)):
                symbol = terminal_at(self.lexer, scanner.state, k)
                if node_at(self.lexer, scanner.state, k) == R_EPSILON:
                    continue
                # Ignored text that may go on is taken to end, in productions as elsewhere.
                if (self.engine.ignored_text is not None and symbol in self.engine.ignored_text
                        and nullable(self.lexer.regexes, node_at(self.lexer, scanner.state, k))):
                    continue
                if self.rules.symbols[symbol].ignored:
                    stands.add(scanner.stand)
                for place in self.places_of(scanner.stand):
                    nodes += self.waiting_for(place, symbol)
        if not nodes:
            for place in sorted({place for each in stands for place in self.places_of(each)}):
                for i in range(self.rows.data[<uint32_t> place], self.rows.data[<uint32_t> place + 1]):
                    symbol = self.rules.dots.data[self.items[i] >> 32]
                    if symbol != NONE and self.rules.symbols[symbol].kind in (S_TERMINAL, S_SPECIAL):
                        nodes.append((self.items[i] >> 32, self.items[i] & NONE, place))
        return nodes

    cdef int explore(self, list nodes) except -1:
        """Find the values of the nodes, and of all nodes of which they are made."""
        cdef list order = [], agenda = list(nodes)
        cdef dict by_extent = {}
        cdef size_t length
        keep(order)
        keep(agenda)
        keep(by_extent)
        while agenda:
            node = agenda.pop()
            if node in self.edges:
                continue
            made = self.edges[node] = self.made_from(node)
            count(NODE_BYTES + WAY_BYTES * len(made))
            spend_steps(self.meter, 100 + 20 * len(made))
            self.values[node] = {}
            order.append(node)
            for left, right in made:
                if left is not None:
                    agenda.append(left)
                if type(right) is tuple:
                    agenda.append(right)
        # The parts of a node are within it, so shorter nodes come first. Nodes between the same two places may need
        # each other.
        while order:
            node = order.pop()
            tick()
            by_extent.setdefault(node[2] - node[1], {}).setdefault(node[1:], []).append(node)
        for length in range(self.steps.n + 1):
            tick()
            for group in by_extent.get(length, {}).values():
                changed = True
                while changed:
                    changed = False
                    for node in group:
                        spend_steps(self.meter, 100)
                        for extents, captures in self.value_of(node).items():
                            changed |= self.keep(self.values[node], extents, captures)
                    changed &= len(group) > 1
        return 0

    cdef list made_from(self, node):
        """Return how a node is made: pairs of the node before the last part (None: nothing) and the last part.

        The last part is a node, the place at which a lexeme begins, or None for a terminal that matches the empty text.
        """
        cdef long long first = node[0]
        cdef uint32_t origin = node[1], place = node[2], dot, symbol
        cdef dict begun
        if first < 0:
            return [((item, origin, place), None) for item in self.ended(place)[-1 - first][origin]]
        dot = <uint32_t> first
        if dot in self.dots_after:
            return self.after_text[node]
        if self.is_start(dot):
            return []
        dot -= 1
        symbol = self.rules.dots.data[dot]
        begun = self.ended(place).get(symbol, {})
        # A production begins at the place of its first symbol.
        rows = [origin] if self.is_start(dot) else [row for row in begun if row >= origin]
        rows = [row for row in rows if row in begun and self.has(dot, origin, row)]
        if self.rules.symbols[symbol].kind in (S_TERMINAL, S_SPECIAL):
            pairs = [((dot, origin, row), begun[row]) for row in rows]
            if self.rules.symbols[symbol].nullable and self.has(dot, origin, place):
                pairs.append(((dot, origin, place), None))
            return pairs
        return [((dot, origin, row), (-1 - <long long> symbol, row, place)) for row in rows]

    cdef dict ended(self, uint32_t place):
        """Return what has ended at a place, by symbol: {row after which it began: how it ended}.

        For a terminal this is the earliest place at which the lexeme began, after ignored text; for a nonterminal, the
        complete dotted rules.
        """
        cdef size_t i
        cdef uint32_t symbol, row
        known = self.ends.get(place)
        if known is not None:
            return known
        known = self.ends[place] = {}
        for i in range(self.lexeme_starts.data[place], self.lexeme_starts.data[place + 1], 3):
            begun = known.setdefault(self.lexemes.data[i], {})
            for row in self.places_of(self.lexemes.data[i + 2]):
                count(ENTRY_BYTES)
                begun[row] = min(begun.get(row, place), self.lexemes.data[i + 1])
        for i in range(self.rows.data[place], self.rows.data[place + 1]):
            dot = self.items[i] >> 32
            if self.rules.dots.data[<uint32_t> dot] == NONE and dot != self.rules.start + 1:
                symbol = self.lhs.data[<uint32_t> dot]
                count(ENTRY_BYTES)
                known.setdefault(symbol, {}).setdefault(self.items[i] & NONE, []).append(dot)
        return known

    def is_start(self, uint32_t dot) -> bool:
        """Return whether a dotted rule has the dot at the front of a production."""
        return (dot == 0 or self.rules.dots.data[dot - 1] == NONE) and dot not in self.dots_after

    cdef dict value_of(self, node):
        """Return the value of a node, from the values of its parts."""
        cdef dict found = {}
        cdef long long first = node[0]
        cdef bint is_ignored
        if first < 0:
            symbol = -1 - first
            is_captured = symbol in self.engine.captures
            for item, _ in self.edges[node]:
                spend_steps(self.meter, 50)
                for extents, captures in self.values[item].items():
                    if is_captured:
                        captures = self.joined(self.entries(symbol, extents, node[1]), captures)
                    self.keep(found, extents, captures)
            return found
        if self.is_start(<uint32_t> first):
            return {NOTHING: None}
        is_ignored = self.engine.ignored_text is not None and self.rules.dots.data[first - 1] in self.engine.ignored_text
        for left, right in self.edges[node]:
            for extents, captures in self.values[left].items():
                spend_steps(self.meter, 50)
                if type(right) is tuple:
                    for more, others in self.values[right].items():
                        spend_steps(self.meter, 50)
                        self.keep(found, (extents[0] if extents[0] >= 0 else more[0], max(extents[1], more[1])),
                                  self.joined(captures, others))
                elif right is None or is_ignored:
                    self.keep(found, extents, captures)
                else:
                    self.keep(found, (extents[0] if extents[0] >= 0 else right, node[2]), captures)
        return found

    cdef list entries(self, uint32_t symbol, object extents, uint32_t origin):
        """Return the captures of a captured nonterminal with these extents."""
        key = (symbol, extents, origin)
        if key in self.captured:
            return self.captured[key]
        count(NODE_BYTES)
        name, end_name, body, end, inside = self.engine.captures[symbol]
        first, last = extents if extents[0] >= 0 else (origin, origin)
        found = self.captured[key] = []
        split = last
        if body is not None:
            split = self.split(first, last, body, end)
            if end_name is not None:
                found.append((split, -last, end_name))
        if name is not None:
            found.append((first, -(last if inside else split), name))
        return found

    cdef object split(self, uint32_t first, uint32_t last, uint32_t body, uint32_t end):
        """Return the earliest place at which the body of a lexeme ends, so that the rest of the lexeme is its end."""
        cdef uint32_t words[2]
        cdef uint32_t state, place
        cdef uint32_t body_state, end_state
        words[0] = 0
        words[1] = body
        body_state = self.lexer.state(words, 2)
        words[1] = end
        end_state = self.lexer.state(words, 2)
        for place in range(first, last + 1):
            # A lexer state accepts here even before any byte: if its node is nullable.
            spend_steps(self.meter, 10)
            if self.accepts(body_state):
                spend_steps(self.meter, last - place)
                state = end_state
                for i in range(place, last):
                    state = next_state(self.lexer, state, self.steps.data[<uint32_t> i] & 0xFF)
                    if state == DEAD_STATE:
                        break
                if self.accepts(state):
                    return place
            if place < last:
                body_state = next_state(self.lexer, body_state, self.steps.data[place] & 0xFF)
        raise AssertionError("this is a bug in earleymask: a lexeme with an end of its own does not end with it")

    def accepts(self, uint32_t state) -> bool:
        return n_accepted(self.lexer, state) > 0

    # ---- texts that are no sentence yet -------------------------------------------------------------------------

    cdef object contexts(self, list nodes):
        """Return the captures of the best reading that continues with one of the items `nodes`.

        A context (symbol, place) stands for everything before a production of the symbol that began at the place.
        """
        cdef size_t place
        edges = {}
        by_place = {}
        ends = [(node, self.context_of(node)) for node in nodes]
        agenda = [context for _, context in ends]
        every = list(nodes)
        best = {None: {NOTHING: None}}      # nothing is before the start rule
        for each in (edges, by_place, ends, agenda, every, best):
            keep(each)
        while agenda:
            context = agenda.pop()
            if context is None or context in edges:
                continue
            count(NODE_BYTES)
            items = [(item, self.context_of(item)) for item in self.waiting_for(context[1], context[0])]
            edges[context] = items
            by_place.setdefault(context[1], []).append(context)
            best[context] = {}
            agenda += [other for _, other in items]
            every += [item for item, _ in items]
        self.explore(every)
        for place in range(self.steps.n + 1):
            tick()
            group = by_place.get(place, ())
            changed = bool(group)
            while changed:
                changed = False
                for context in group:
                    for item, other in edges[context]:
                        changed |= self.extend(best[context], item, best[other])
        found = {}
        for node, context in ends:
            self.extend(found, node, best[context])
        return found[NOTHING]

    def extend(self, dict values, item, dict before) -> bool:
        """Keep the captures of a context together with those of an item in it."""
        changed = False
        if before:
            for captures in self.values[item].values():
                spend_steps(self.meter, 50)
                changed |= self.keep(values, NOTHING, self.joined(before[NOTHING], captures))
        return changed

    def context_of(self, node):
        """Return the context of an item, None for the start rule."""
        symbol = self.left_hand_side(node[0])
        return None if symbol is None else (symbol, node[1])

    cdef object left_hand_side(self, uint32_t dot):
        while self.rules.dots.data[dot] != NONE:
            dot += 1
        return None if dot == self.rules.start + 1 else self.lhs.data[dot]

    cdef list waiting_for(self, uint32_t place, uint32_t symbol):
        """Return the items of a row whose dot is before a symbol."""
        cdef size_t i
        cdef list found = []
        spend_steps(self.meter, self.rows.data[place + 1] - self.rows.data[place])
        for i in range(self.rows.data[place], self.rows.data[place + 1]):
            if self.rules.dots.data[self.items[i] >> 32] == symbol:
                count(ENTRY_BYTES)
                found.append((self.items[i] >> 32, self.items[i] & NONE, place))
        return found

    # ---- small things -------------------------------------------------------------------------------------------

    cdef bint has(self, uint32_t dot, uint32_t origin, uint32_t place) noexcept nogil:
        """Return whether the row at `place` has the item."""
        cdef uint64_t key = <uint64_t> dot << 32 | origin
        cdef size_t low = self.rows.data[place], high = self.rows.data[place + 1], middle
        while low < high:
            middle = (low + high) // 2
            if self.items[middle] < key:
                low = middle + 1
            else:
                high = middle
        return low < self.rows.data[place + 1] and self.items[low] == key

    cdef list places_of(self, uint32_t stand):
        cdef size_t i
        return [sequence(self.stands, stand)[i] for i in range(sequence_length(self.stands, stand))]

    cdef bytes text(self, size_t first, size_t last):
        cdef size_t i, n = 0
        cdef char* data
        for i in range(first, last):
            n += not self.steps.data[i] & NO_BYTE
        spend_steps(self.meter, 2 * (last - first))
        count(<long long> n + ENTRY_BYTES)
        found = PyBytes_FromStringAndSize(NULL, n)
        data = PyBytes_AS_STRING(found)
        for i in range(first, last):
            if not self.steps.data[i] & NO_BYTE:
                data[0] = <char> (self.steps.data[i] & 0xFF)
                data += 1
        return found

    cdef bint keep(self, dict values, extents, captures) except -1:
        """Enter captures if they are better than those known; return whether they are."""
        if extents in values and not self.better(captures, values[extents]):
            return False
        values[extents] = captures
        return True

    cdef bint better(self, left, right) except -1:
        """Return whether one set of captures comes before another in the order above.

        Only the captures in which they differ count. Trees that are part of both are not opened: a younger tree is
        never within an older one, so if the youngest come first, each tree is met before its parts.
        """
        if left is right:
            return False
        cdef dict surplus = {}                  # number of a tree -> how many times more it is in `left` than in `right`
        cdef dict trees = {}
        cdef dict captures = {}                 # capture -> the same
        cdef list youngest = []
        agenda = [(left, 1), (right, -1)]
        while agenda or youngest:
            while agenda:
                tree, n = agenda.pop()
                spend_steps(self.meter, 20)
                if type(tree) is list:
                    for entry in tree:
                        captures[entry] = captures.get(entry, 0) + n
                elif tree is not None:
                    if tree[0] not in trees:
                        trees[tree[0]] = tree
                        heappush(youngest, -tree[0])
                    surplus[tree[0]] = surplus.get(tree[0], 0) + n
            if youngest:
                number = -heappop(youngest)
                n = surplus[number]
                if n:
                    agenda += [(trees[number][1], n), (trees[number][2], n)]
        differing = in_order([entry for entry, n in captures.items() if n])
        found = [entry for entry in differing if entry[0] < -entry[1]]
        if found:
            return captures[found[0]] > 0
        n = sum([captures[entry] for entry in differing])
        return n < 0 or n == 0 and len(differing) > 0 and captures[differing[0]] > 0

    cdef object joined(self, left, right):
        """Return two trees of captures as one tree; the same two always give the same tree, which is compared by
        identity."""
        if left is None:
            return right
        if right is None:
            return left
        key = (id(left), id(right))             # the pair keeps both alive
        pair = self.pairs.get(key)
        if pair is None:
            count(NODE_BYTES)
            pair = self.pairs[key] = (len(self.pairs), left, right)
        return pair

    cdef list flat(self, captures):
        """Return the captures of a tree, sorted."""
        found = []
        agenda = [captures]
        while agenda:
            each = agenda.pop()
            spend_steps(self.meter, 20)
            if type(each) is tuple:
                agenda += each[1:]
            elif each is not None:
                found += each
        return in_order(found)


def in_order(list items) -> list:
    """Return the items in ascending order."""
    if len(items) <= PIECE:
        return sorted(items)
    return list(merge(*[sorted(items[begin:begin + PIECE]) for begin in range(0, len(items), PIECE)]))
