"""Whether what lookaheads demand of the text after a position can be met, decided exactly.

`Chart.leads_to_sentence` reads on, one byte after the other, until nothing is demanded. It finds most texts soon. But
rows have stacks: if each name demands something and nests one level deeper, there are infinitely many positions, and none
may be the end of the search. Here the stack is not extended. For a symbol and what is demanded before it, we compute
all that may be demanded after it, once: a least fixpoint over the productions. (These are the summaries of interprocedural
analysis, Reps, Horwitz and Sagiv 1995.) Only the continuations that the position has already are popped. So the cost is
bounded by the dotted rules and continuations times the demands. These are finitely many, but may be too many (MAX_ASKED).

The demands are met where a lexeme ends and nothing is demanded of the text after it, because a row of which nothing is
demanded always leads to a sentence (`Engine.add_demanding`); or where the text may end, or a special token may come, and
what is demanded holds for the end. Tests ask without that: then only the latter counts, and what loading has proved of the
grammar can be compared with the truth.
"""

from libc.stdint cimport uint32_t

from earleymask.earley._chart cimport Chart, continuation_at, n_pairs_at, pair_row, pair_state, skeleton_of
from earleymask.earley._lexer cimport DEAD_STATE, accepted_at, n_accepted, n_terminals, terminal_at
from earleymask.earley._meter cimport spend_steps
from earleymask.earley._nodes cimport R_EMPTY, nullable
from earleymask.earley._rules cimport LOOSE, S_LAZY, S_SPECIAL, S_TERMINAL
from earleymask.earley._skeletons cimport accepts_at, item_dot, item_number, n_items_of
from earleymask.earley._tables cimport NONE, ByteSet, byteset_fill, byteset_has, byteset_or, words_push

cdef enum:
    # Items, symbols and states of lexemes, each with a demand, that are looked at for one answer. Beyond it there is none.
    # One takes some 20 microseconds.
    MAX_ASKED = 1 << 13


class TooMuch(Exception):
    """More than MAX_ASKED."""


cdef int can_be_met(Chart chart, uint32_t position, bint proven) except -1:
    try:
        return _Demands(chart, proven).hold(position)
    except TooMuch:
        return UNDECIDED


cdef class _Demands:
    """The state of one answer."""

    cdef Chart chart
    cdef bint proven            # a row of which nothing is demanded leads to a sentence
    cdef bint met               # the demands can be met
    cdef Py_ssize_t n_asked
    cdef dict lexemes           # lexer state -> what may be demanded after the lexeme
    cdef dict skips             # demand -> what may be demanded after it and ignored text
    cdef dict outs              # (symbol, demand) -> what may be demanded after the symbol
    cdef dict readers           # the same -> what on the agenda depends on it
    cdef set seen               # items: (dot, continuation, demand)
    cdef list agenda            # items, and keys of `outs`
    cdef set waiting            # those on the agenda

    def __cinit__(self, Chart chart, bint proven):
        self.chart = chart
        self.proven = proven
        self.lexemes = {}
        self.skips = {}
        self.outs = {}
        self.readers = {}
        self.seen = set()
        self.agenda = []
        self.waiting = set()

    cdef bint hold(self, uint32_t position) except -1:
        cdef size_t i, k
        cdef uint32_t row, state, terminal
        cdef Chart chart = self.chart
        if chart.may_end(position):
            return True
        for i in range(n_pairs_at(chart, position)):
            row = pair_row(chart, position, i)
            state = pair_state(chart, position, i)
            for k in range(n_terminals(chart.lexer, state)):
                terminal = terminal_at(chart.lexer, state, k)
                if chart.rules.symbols[terminal].role < LOOSE:
                    self.end_lexeme(row, terminal, self.after_lexeme(chart.lexer.alone(state, k)))
        while self.agenda and not self.met:
            key = self.agenda.pop()
            self.waiting.discard(key)
            if len(key) == 3:
                self.move(key)
            else:
                self.fill(key)
        return self.met

    cdef int ask(self) except -1:
        """Count something that is looked at for the first time."""
        self.n_asked += 1
        spend_steps(self.chart.meter, 64)
        if self.n_asked > MAX_ASKED:
            raise TooMuch
        return 0

    cdef int enter(self, tuple one) except -1:
        """Put an item, or a key of `outs`, on the agenda if it is not there yet."""
        spend_steps(self.chart.meter, 8)
        if one not in self.waiting:
            self.waiting.add(one)
            self.agenda.append(one)
        return 0

    # ---- lexemes ------------------------------------------------------------------------------------------------

    cdef frozenset after_lexeme(self, uint32_t state):
        """Return what may be demanded after a lexeme that is in a state with one terminal and goes on."""
        cdef uint32_t here, byte, target, transition, demand
        cdef size_t k
        cdef Chart chart = self.chart
        cdef ByteSet seen
        known = self.lexemes.get(state)
        if known is not None:
            return known
        found = set()
        agenda = [state]
        reached = {state}
        for each in agenda:                             # grows while it is read
            if self.met:
                break
            here = each
            self.ask()
            byteset_fill(&seen, 0)
            for byte in range(256):
                if byteset_has(&seen, byte):
                    continue
                transition = chart.lexer.transition(here, byte)
                byteset_or(&seen, &chart.lexer.transitions[transition].bytes)
                target = chart.lexer.transitions[transition].target
                if target == DEAD_STATE or target in reached:
                    continue
                reached.add(target)
                agenda.append(target)
                for k in range(n_accepted(chart.lexer, target)):
                    demand = chart.demand_after(target, accepted_at(chart.lexer, target, k))
                    if demand == NONE and self.proven:
                        self.met = True
                    elif demand == NONE:
                        found.add(chart.lexer.regexes.make_not(R_EMPTY))
                    elif not chart.lexer.regexes.empty(demand):
                        found.add(demand)
        known = frozenset(found)
        self.lexemes[state] = known
        return known

    cdef frozenset after_terminal(self, uint32_t terminal, uint32_t demand):
        """Return what may be demanded after one lexeme of a terminal, if this is demanded before it."""
        cdef uint32_t words[3]
        words[0] = terminal
        words[1] = self.chart.rules.symbols[terminal].node
        words[2] = demand
        return self.after_lexeme(self.chart.lexer.state(words, 3))

    cdef set after_ignored(self, uint32_t demand):
        """Return what may be demanded after ignored text, which may be empty."""
        cdef size_t i
        found = self.skips.get(demand)
        if found is None:
            self.skips[demand] = found = {demand}
            agenda = [demand]
            for each in agenda:                         # grows while it is read
                for i in range(self.chart.rules.ignored.n):
                    for after in self.after_terminal(self.chart.rules.ignored.data[i], each):
                        if after not in found:
                            found.add(after)
                            agenda.append(after)
        return found

    cdef bint may_end(self, uint32_t demand) except -1:
        """Return whether the text may end here, maybe after ignored text."""
        for after in self.after_ignored(demand):
            if nullable(self.chart.lexer.regexes, after):
                return True
        return False

    # ---- the rows that there are already ------------------------------------------------------------------------

    cdef int end_lexeme(self, uint32_t row, uint32_t terminal, demands) except -1:
        """Go on after a lexeme that began at the row, with each of these demands."""
        cdef Chart chart = self.chart
        cdef uint32_t outcome, skeleton, demand
        cdef size_t i
        if not demands:
            return 0
        if not chart.rules.symbols[terminal].ignored:
            outcome = chart.skeletons.scan(skeleton_of(chart, row), terminal)
            if outcome == NONE:
                return 0
            chart.sources.n = 0
            words_push(&chart.sources, outcome)
            words_push(&chart.sources, row)
            row = chart.next_row()
        skeleton = skeleton_of(chart, row)
        for each in demands:
            demand = each
            if accepts_at(chart.skeletons, skeleton) and self.may_end(demand):
                self.met = True
            for i in range(n_items_of(chart.skeletons, skeleton)):
                self.put(item_dot(chart.skeletons, skeleton, i),
                         continuation_at(chart, row, item_number(chart.skeletons, skeleton, i)), demand)
        return 0

    cdef int put(self, uint32_t dot, uint32_t continuation, uint32_t demand) except -1:
        item = dot, continuation, demand
        spend_steps(self.chart.meter, 8)
        if item not in self.seen:
            self.ask()
            self.seen.add(item)
            self.enter(item)
        return 0

    cdef int move(self, tuple item) except -1:
        """Move the dot of an item over a symbol, or complete it."""
        cdef uint32_t dot = item[0], continuation = item[1], demand = item[2], at, i
        cdef Chart chart = self.chart
        if chart.rules.dots.data[dot] != NONE:
            for after in list(self.after(chart.rules.dots.data[dot], demand, item)):
                self.put(dot + 1, continuation, after)
            return 0
        chart.begin_items()
        at = chart.pop(continuation)
        if chart.popped.data[at] and self.may_end(demand):
            self.met = True
        for i in range(chart.popped.data[at + 1]):
            self.put(chart.popped.data[at + 2 + 2 * i], chart.popped.data[at + 3 + 2 * i], demand)
        return 0

    # ---- symbols ------------------------------------------------------------------------------------------------

    cdef object after(self, uint32_t symbol, uint32_t demand, reader):
        """Return what may be demanded after a symbol, as far as known. If more becomes known later, `reader` is put on
        the agenda again."""
        cdef Chart chart = self.chart
        if chart.rules.symbols[symbol].kind == S_SPECIAL:
            if self.may_end(demand):
                self.met = True
            return ()
        if chart.rules.symbols[symbol].kind == S_TERMINAL:
            if chart.rules.symbols[symbol].role >= LOOSE:
                return ()
            found = {demand} if chart.rules.symbols[symbol].nullable else set()
            for before in self.after_ignored(demand):
                found |= self.after_terminal(symbol, before)
            return found
        key = symbol, demand
        self.readers.setdefault(key, set()).add(reader)
        known = self.outs.get(key)
        if known is None:
            self.ask()
            self.outs[key] = known = set()
            self.enter(key)
        return known

    cdef int fill(self, tuple key) except -1:
        """Compute what may be demanded after a symbol, from what is known of the symbols of its productions."""
        cdef Chart chart = self.chart
        cdef uint32_t symbol = key[0], production, dot
        if chart.rules.symbols[symbol].kind == S_LAZY:
            chart.rules.expand(symbol)
        found = set()
        production = chart.rules.symbols[symbol].first
        while production != NONE:
            dot = chart.rules.productions[production].start
            demands = {key[1]}
            while demands and chart.rules.dots.data[dot] != NONE:
                spend_steps(chart.meter, 16)
                afters = set()
                for before in demands:
                    afters.update(self.after(chart.rules.dots.data[dot], before, key))
                demands = afters
                dot += 1
            found |= demands
            production = chart.rules.productions[production].next
        found -= self.outs[key]
        if found:
            for _ in found:
                self.ask()
            self.outs[key] |= found
            for reader in self.readers[key]:
                self.enter(reader)
        return 0
