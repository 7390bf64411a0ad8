"""Symbols and productions: the compiled form of a grammar, which front ends build.

Symbols are small ints. Productions are one after the other in `dots`, each ended by NONE. So a dotted rule (an "item"
without its origin) is one index, and moving the dot adds one to it.

A *lazy* nonterminal comes with a function that makes its productions when the parser first predicts it. The parser must
never predict a symbol that derives no string, so an alternative is added only after each of its symbols has been proved
productive: by a least fixpoint over lazy symbols that stops at the first productive alternative.
"""

from cpython.long cimport PyLong_AsLongLongAndOverflow
from libc.stdlib cimport free
from libc.string cimport memset

from earleymask.earley._large cimport free_quietly, is_only_one, untrack
from earleymask.earley._meter cimport (
    NO_LIMIT, begin_making, end_making, enter, exceeds, learned_bytes, leave, take_here, tick,
)
from earleymask.earley._tables cimport NONE, reserve, words_free, words_push
from earleymask.trie._memory cimport malloc

import gc

from earleymask.earley._large import free as free_in_pieces
from earleymask.earley._meter import collecting
from earleymask.earley.errors import LimitError, too_deep
from earleymask.trie.errors import shortened

cdef enum:
    # Estimates, with what the front end keeps of them:
    SYMBOL_BYTES = 500
    PRODUCTION_BYTES = 100
    MANY = 1 << 12              # symbols, and alternatives of one, from which on they are freed in pieces
    # Whether a lazy symbol derives a string:
    NOT_KNOWN = 0
    SOMETHING = 1
    NOTHING = 2

MAX_LAZY_PROOF = 10_000     # lazy symbols that may be expanded to prove one productive; beyond this the call fails


cdef class Rules:
    """Append-only tables of symbols and productions."""

    def __cinit__(self):
        self.names = []
        self.expansions = []
        self.witnesses = []
        self.followers = {}
        self.varying = set()
        self.follow_dots = {}
        self.start = NONE
        self.most_symbols = NONE - 1

    def __del__(self):
        # In a circle that the garbage collector has found, finalizers of others may still use the rules, and a fork must
        # not come in between: then they are freed at once.
        if self.n_symbols > MANY and is_only_one(self):
            parts = [self.names, self.expansions, self.witnesses, self.followers, self.follow_dots]
            self.names = self.expansions = self.witnesses = self.followers = self.follow_dots = None
            free_quietly(parts)

    def __dealloc__(self):
        free(self.symbols)
        free(self.productions)
        words_free(&self.dots)
        words_free(&self.ignored)

    cdef uint32_t add_symbol(self, str name, uint8_t kind, bint nullable=False, uint32_t node=0,
                             bint ignored=False) except? 0xFFFFFFFF:
        cdef uint32_t symbol = self.n_symbols
        if name is None:
            raise TypeError("a symbol needs a name, not None")
        if exceeds(<size_t> symbol + 1, self.most_symbols):
            raise LimitError(f"texts have added more symbols than the limit symbols={self.most_symbols} allows; load the "
                             "grammar again, or give it limits=Limits(symbols=...)").at_limit("symbols")
        take_here(SYMBOL_BYTES)
        reserve(<void**> &self.symbols, &self.symbols_capacity, symbol + 1, sizeof(Symbol))
        self.symbols[symbol] = Symbol(kind, nullable, ignored, False, PLAIN, False, False, NOT_KNOWN, node, NONE, NONE, NONE, NONE)
        self.n_symbols += 1
        self.names.append(name)
        self.expansions.append(None)
        self.witnesses.append(None)
        if ignored:
            words_push(&self.ignored, symbol)
        return symbol

    cdef size_t n_bytes(self) noexcept nogil:
        return (self.held_bytes + self.n_symbols * <size_t> SYMBOL_BYTES + self.n_productions * sizeof(Production)
                + self.dots.n * sizeof(uint32_t))

    def add_lazy(self, str name, bint nullable, tuple expand, witness, size_t size) -> int:
        tick()                                              # so does every loop that adds symbols
        take_here(size)
        symbol = self.add_symbol(name, S_LAZY, nullable)
        self.held_bytes += size
        self.expansions[symbol] = expand
        if witness is not None:
            if witness:
                self.witnesses[symbol] = tuple(witness)
            else:
                self.symbols[symbol].proof = SOMETHING
        return symbol

    cdef uint32_t add_production(self, lhs, rhs) except? 0xFFFFFFFF:
        cdef uint32_t production = self.n_productions, start = <uint32_t> self.dots.n
        cdef Symbol* left
        take_here(PRODUCTION_BYTES)
        rhs = tuple(rhs)                                    # code of the caller runs now, not below
        if len(<tuple> rhs) > 0xFFF:
            untrack(rhs)
        left = self.symbols + self.checked(lhs)
        if left.kind != S_NONTERMINAL:
            raise ValueError(f"{self.names[lhs]!r} is no nonterminal, so it cannot have productions")
        reserve(<void**> &self.productions, &self.productions_capacity, production + 1, sizeof(Production))
        try:
            for item in rhs:
                words_push(&self.dots, self.checked(item))
                if not self.dots.n & 0xFFFF:
                    tick()
            words_push(&self.dots, NONE)
            if self.has_followed:
                self.check_followed(start)
        except:
            self.dots.n = start
            raise
        self.productions[production] = Production(start, NONE)
        if left.first == NONE:
            left.first = production
        else:
            self.productions[left.last].next = production
        left.last = production
        self.n_productions += 1
        return production

    def check_followed(self, dot) -> None:
        """Check that a followed terminal is the first of two symbols; another symbol takes the place of the second."""
        cdef uint32_t first = dot, at
        for at in range(first, <uint32_t> self.dots.n - 1):
            if self.symbols[self.dots.data[at]].followed and (at > first or self.dots.n - first != 3):
                raise ValueError(f"{self.names[self.dots.data[at]]!r} must stand first of two symbols")

    cdef uint32_t follow_dot(self, uint32_t terminal, bytes text) except? 0xFFFFFFFF:
        dot = self.follow_dots.get((terminal, text))
        if dot is None:
            around = self.begin()
            try:
                follow = <tuple> self.followers[terminal]
                symbol = self.checked(follow[0](*follow[1:], text))
                if not self.is_productive(symbol):
                    # Masks assume that something can follow every text of the terminal, so one allowed this text. A
                    # front end must make sure that the assumption holds.
                    text_read, name = shortened(repr(text)), shortened(self.names[terminal])
                    raise LimitError(f"this is a bug in earleymask: nothing can follow the text {text_read} of {name!r}, "
                                     "although masks allowed it; until it is mended, take back tokens (rollback) and choose "
                                     "others")
            except RecursionError:
                raise too_deep() from None
            finally:
                self.end(around)
            dot = self.dots.n
            words_push(&self.dots, symbol)
            words_push(&self.dots, NONE)
            self.follow_dots[terminal, text] = dot
        return dot

    cdef uint32_t checked(self, symbol) except? 0xFFFFFFFF:
        cdef int overflow = 0
        cdef long long id_ = PyLong_AsLongLongAndOverflow(symbol, &overflow)
        if overflow or not 0 <= id_ < self.n_symbols:
            raise ValueError(f"symbol {symbol!r} does not belong to this grammar ({self.n_symbols} symbols)")
        return <uint32_t> id_

    def find_nullable(self) -> None:
        """Mark the nonterminals that derive the empty string.

        Each production watches its first symbol that is not known to be nullable, and is visited again when that symbol
        becomes nullable. This is linear in the grammar (Dowling and Gallier 1984, with one watched symbol).
        """
        cdef size_t n = self.n_symbols, m = self.n_productions
        cdef uint32_t* words = <uint32_t*> malloc((2 * n + 3 * m + 1) * sizeof(uint32_t))
        cdef uint32_t* watched = words                  # per symbol: a production that watches it, or NONE
        cdef uint32_t* agenda = words + n               # symbols found to be nullable
        cdef uint32_t* lhs = words + 2 * n              # per production
        cdef uint32_t* dots = lhs + m                   # and the dot before the watched symbol
        cdef uint32_t* following = dots + m             # and the next production that watches the same symbol
        cdef uint32_t symbol, production, next_one
        cdef size_t n_agenda = 0, n_visited = 0
        if words == NULL:
            raise MemoryError("nullable symbols")
        try:
            memset(watched, 0xFF, n * sizeof(uint32_t))
            for symbol in range(self.n_symbols):
                production = self.symbols[symbol].first
                while production != NONE:
                    if not production % 0x4000:
                        tick()
                    lhs[production] = symbol
                    dots[production] = self.productions[production].start
                    production = self.productions[production].next
            for production in range(self.n_productions):
                if not production % 0x4000:
                    tick()
                if self.watch(production, lhs, dots, watched, following):
                    agenda[n_agenda] = lhs[production]
                    n_agenda += 1
            while n_agenda:
                n_agenda -= 1
                symbol = agenda[n_agenda]
                production = watched[symbol]
                while production != NONE:
                    next_one = following[production]
                    if self.watch(production, lhs, dots, watched, following):
                        agenda[n_agenda] = lhs[production]
                        n_agenda += 1
                    production = next_one
                n_visited += 1
                if not n_visited % 0x1000:
                    tick()
        finally:
            free(words)

    cdef bint watch(self, uint32_t production, const uint32_t* lhs, uint32_t* dots, uint32_t* watched,
                    uint32_t* following) noexcept nogil:
        """Move the dot past nullable symbols. Return True if this shows for the first time that the left-hand side is
        nullable."""
        cdef uint32_t dot = dots[production], symbol
        while self.dots.data[dot] != NONE and self.symbols[self.dots.data[dot]].nullable:
            dot += 1
        dots[production] = dot
        symbol = self.dots.data[dot]
        if symbol != NONE:
            following[production] = watched[symbol]
            watched[symbol] = production
            return False
        if self.symbols[lhs[production]].nullable:
            return False
        self.symbols[lhs[production]].nullable = True
        return True

    def set_start(self, symbol) -> None:
        self.start = <uint32_t> self.dots.n
        words_push(&self.dots, self.checked(symbol))
        words_push(&self.dots, NONE)
        self.mark = <uint32_t> self.dots.n
        words_push(&self.dots, self.add_symbol("(mark)", S_SPECIAL))
        words_push(&self.dots, NONE)

    # ---- lazy symbols -------------------------------------------------------------------------------------------

    cdef int expand(self, uint32_t symbol) except -1 nogil:
        cdef bint is_making = begin_making()
        try:
            with gil:
                around = self.begin()
                try:
                    self.make_productions(symbol)
                except RecursionError:
                    raise too_deep() from None
                finally:
                    self.end(around)
        finally:
            if is_making:
                end_making()
        return 0

    cdef object begin(self):
        cdef Meter meter = self.meter
        cdef size_t known
        self.n_expanding += 1
        meter.holds_lock = True
        if meter.most_grammar_bytes < NO_LIMIT:         # the grammar is finished
            known = self.n_bytes()
            meter.most_taken = max(meter.most_rule_bytes, known) - known
            meter.taken_limit = "load_bytes"
            known = min(learned_bytes(meter), meter.most_grammar_bytes)
            if meter.most_grammar_bytes - known < <size_t> meter.most_taken:    # what is made on the way
                meter.most_taken = meter.most_grammar_bytes - known
                meter.taken_limit = "grammar_bytes"
        around = enter(self.meter)
        gc.callbacks.append(collecting)
        return around

    cdef int end(self, object around) except -1:
        self.n_expanding -= 1
        self.meter.holds_lock = self.n_expanding > 0
        if collecting in gc.callbacks:
            gc.callbacks.remove(collecting)
        return leave(around)

    def make_productions(self, symbol) -> None:
        """Turn a lazy symbol into a nonterminal with its productive alternatives. After an error it is lazy as before."""
        cdef list productive = []
        cdef bint nullable
        cdef tuple rhs
        cdef size_t n_dots
        cdef uint32_t n_productions
        cdef tuple made = self.alternatives(symbol)
        for rhs in made:
            tick()
            nullable = True
            for item in rhs:
                if self.symbols[self.checked(item)].kind == S_LAZY and not self.is_productive(item):
                    break
                nullable = nullable and self.symbols[<uint32_t> item].nullable
            else:
                if nullable and not self.symbols[<uint32_t> symbol].nullable:
                    raise ValueError(f"{self.names[symbol]!r} derives the empty string, but was not declared nullable")
                productive.append(rhs)
        n_dots, n_productions = self.dots.n, self.n_productions
        try:
            self.symbols[<uint32_t> symbol].kind = S_NONTERMINAL
            for rhs in productive:
                tick()
                self.add_production(symbol, rhs)
        except:
            # With some of its productions only, it would derive less.
            self.symbols[<uint32_t> symbol].kind = S_LAZY
            self.symbols[<uint32_t> symbol].first = self.symbols[<uint32_t> symbol].last = NONE
            self.dots.n, self.n_productions = n_dots, n_productions
            raise
        self.expansions[symbol] = self.witnesses[symbol] = None
        if len(made) > MANY:
            large = [made, productive]
            made = productive = rhs = None
            free_in_pieces(large)

    def alternatives(self, symbol) -> tuple:
        """Return the right-hand sides of a lazy symbol; they are made once."""
        cdef tuple made = self.expansions[self.checked(symbol)]
        cdef list found
        cdef Py_ssize_t i
        if made is None:
            raise ValueError(f"{self.names[symbol]!r} is not lazy")
        if made and type(made[0]) is not tuple:
            found = list(made[0](*made[1:]))
            for i in range(len(found)):         # one by one: what each tuple replaces is freed
                found[i] = tuple(found[i])
                tick()
            made = self.expansions[symbol] = tuple(found)
        return made

    def first_productions(self, symbol, n) -> None:
        """Make the productions of lazy symbols that may stand at the beginning of a symbol, or behind its first
        terminal: of at most n, and find out whether what they mention derives anything. The first mask needs them."""
        cdef list waiting = [(symbol, False)]
        cdef set known = set(waiting)
        cdef Symbol* one
        for place in waiting:                               # which grows
            symbol, is_behind = place
            if self.symbols[self.checked(symbol)].kind != S_LAZY:
                continue
            for rhs in self.alternatives(symbol):
                tick()
                if len(waiting) >= n:
                    break
                after = is_behind
                for item in <tuple> rhs:
                    one = self.symbols + self.checked(item)
                    if one.kind == S_LAZY:
                        place = (item, after)
                        if place not in known:
                            known.add(place)
                            waiting.append(place)
                    elif one.kind != S_NONTERMINAL:
                        if after:
                            break
                        after = True
                        continue
                    if not one.nullable:
                        break
        for symbol, is_behind in waiting:
            if self.symbols[<uint32_t> symbol].kind == S_LAZY and self.is_productive(symbol):
                self.make_productions(symbol)

    def ways(self, symbol) -> tuple:
        """Return sequences of symbols; the symbol derives a string exactly if one of them does."""
        witness = self.witnesses[symbol]
        return self.alternatives(symbol) if witness is None else (witness,)

    def is_productive(self, symbol) -> bool:
        """Return whether the symbol derives a string. Symbols that are not lazy always do: front ends remove the
        others."""
        cdef uint32_t i = self.checked(symbol)
        if self.symbols[i].kind != S_LAZY:
            return True
        if self.symbols[i].proof == NOT_KNOWN:
            witness = self.witnesses[i]
            if witness is not None and self.is_proved(witness):
                self.symbols[i].proof = SOMETHING
            else:
                made = []
                try:
                    self.prove(symbol, made)
                finally:
                    if sum([len(one) for one in made]) > MANY:
                        free_in_pieces(made)
        return self.symbols[i].proof == SOMETHING

    def prove(self, goal, list made) -> None:
        """Find out whether `goal` derives a string, expanding as few lazy symbols as possible.

        The symbols found first and those found last are expanded in turns. The former find short strings if there are
        infinitely many symbols, the latter find long strings if there are many ways to them (a permutation has 2**n). A
        symbol is examined when it is expanded, and again whenever a symbol that it waits for has been proved. `made` gets
        what is large and of no use afterwards.
        """
        cdef uint32_t i
        reached = [goal]
        expanded = set()
        newest = [goal]
        waiting_for = {goal: []}                # lazy symbol -> expanded symbols whose alternatives mention it
        made += reached, newest, waiting_for
        n_expanded = 0
        n_first = 0                             # all symbols in `reached` before this one are expanded
        while self.symbols[self.checked(goal)].proof == NOT_KNOWN:
            while newest and newest[len(newest) - 1] in expanded:
                newest.pop()
            if n_expanded == len(reached):
                for i in reached:               # all are expanded and nothing more can be proved: these derive nothing
                    if self.symbols[i].proof == NOT_KNOWN:
                        self.symbols[i].proof = NOTHING
                return
            if exceeds(n_expanded + 1, MAX_LAZY_PROOF):
                raise LimitError(f"{shortened(self.names[goal])!r}: more than {MAX_LAZY_PROOF} lazy symbols expanded to find one string")
            if n_expanded & 1 and newest:
                deep = True
                symbol = newest.pop()
            else:
                deep = not newest
                while reached[n_first] in expanded:
                    n_first += 1
                symbol = reached[n_first]
            expanded.add(symbol)
            n_expanded += 1
            for rhs in self.ways(symbol):
                tick()
                for item in rhs:
                    if self.symbols[self.checked(item)].kind == S_LAZY:
                        if item not in waiting_for:
                            waiting_for[item] = []
                            if self.symbols[<uint32_t> item].proof == NOT_KNOWN:
                                reached.append(item)
                                if deep:
                                    newest.append(item)
                        waiting_for[item].append(symbol)
            agenda = [symbol]
            while agenda:
                symbol = agenda.pop()
                if self.symbols[<uint32_t> symbol].proof != NOT_KNOWN:
                    continue
                for rhs in self.ways(symbol):
                    if self.is_proved(rhs):
                        self.symbols[<uint32_t> symbol].proof = SOMETHING
                        agenda += waiting_for[symbol]
                        break

    def is_proved(self, rhs) -> bool:
        """Return whether every symbol of a right-hand side is known to derive a string."""
        tick()
        for item in rhs:
            if self.symbols[<uint32_t> item].kind == S_LAZY and self.symbols[<uint32_t> item].proof != SOMETHING:
                return False
        return True
