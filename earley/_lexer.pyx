"""The lexer: a deterministic automaton over bytes whose states are made when they are first visited.

A state is the set of terminals that can still match the bytes since the current lexeme began, each with its derivative.
The lexer makes no decision: `_chart` keeps a set of live (row, state) pairs and parses at *every* byte at which a state
accepts a terminal. A state whose terminals are all dead is DEAD_STATE. Whether a terminal is dead is decided exactly
(`_regex`), so every other state can be continued until it accepts.

A state accepts only after a byte: terminals that match the empty string are nullable symbols to the parser.

A derivative does not remember how it was reached, which keeps states few. If the text of a lexeme decides what may
follow it (the key of an object, which may not come twice), its node is a K_READ node: the body's derivative, and the
bytes. There are as many of these as texts, so only the positions of matchers have them; masks are made without that
memory.

A lookahead may demand something of the text after its lexeme. Then the state in which the next lexeme begins holds the
*demand*, a node that is derived along with the others. It is gone when every text meets it, and the state is dead when no
text does. If the lexeme ends before that, the demand moves on to the next one (`_chart`).
"""

from libc.stdlib cimport free
from libc.string cimport memset

from earleymask.earley._meter cimport exceeds
from earleymask.earley._nodes cimport K_NOT, R_EMPTY, nullable
from earleymask.earley._rules cimport COVERED, LOOSE, PLAIN, SURE
from earleymask.earley._tables cimport (
    NONE, byteset_and_not, byteset_fill, byteset_has, keep_marked, lowest_bit, n_bits, reserve, sequence, sequence_length, set_all,
    trim, words_extend, words_free, words_push,
)

cdef enum:
    MANY = 8                    # transitions of a state from which on it has a table
    NARROW = 0
    BROAD = 1
    # A state is narrow if at most so many bytes continue it, at most so many of them alike. Thirty keys of an object rarely
    # begin with more than 20 different bytes. Digits are 7 to 10 alike (1.7 may begin the greatest double, so 7 can be
    # unlike the others): vocabularies have a thousand numbers.
    MOST_BYTES = 32
    MOST_ALIKE = 6
    LIKELY = 0x65               # `e`, which continues nearly all broad states


cdef class Lexer:
    """Lexer states over the nodes of one arena."""

    def __cinit__(self, Regexes regexes not None):
        self.regexes = regexes
        self.states = Sequences("lexer states", 1 << 26)
        self.states.meter = regexes.meter
        reserve(<void**> &self.accepted_starts, &self.accepted_starts_capacity, 2, sizeof(size_t))
        self.accepted_starts[0] = 0
        if self.state(NULL, 0) != DEAD_STATE:
            raise AssertionError("this is a bug in earleymask: the first lexer state is not the dead one")

    def __dealloc__(self):
        free(self.tables)
        free(self.transitions)
        free(self.accepted_starts)
        words_free(&self.accepted)
        words_free(&self.pairs)
        words_free(&self.moved)
        words_free(&self.begun)
        words_free(&self.plain)
        words_free(&self.loose)
        words_free(&self.modest)
        words_free(&self.widths)
        words_free(&self.last)
        words_free(&self.table_of)

    cdef uint32_t state(self, const uint32_t* pairs, size_t n) except? 0xFFFFFFFF nogil:
        cdef size_t i
        cdef uint32_t state, before = self.states.n
        cdef bint refused = n % 2 and self.regexes.empty(pairs[n - 1])
        self.pairs.n = 0
        for i in range(0, 0 if refused else n - n % 2, 2):
            if not self.regexes.empty(pairs[i + 1]):
                words_push(&self.pairs, pairs[i])
                words_push(&self.pairs, pairs[i + 1])
        if n % 2 and self.pairs.n and not matches_everything(self.regexes, pairs[n - 1]):
            words_push(&self.pairs, pairs[n - 1])
        if exceeds(<size_t> before + 1, self.regexes.meter.most_lexer_states) and self.states.find(self.pairs.data, self.pairs.n) == NONE:
            with gil:
                self.regexes.meter.exceeded("lexer_states", "the terminals have more lexer states")
        reserve(<void**> &self.last.data, &self.last.capacity, <size_t> before + 1, sizeof(uint32_t))
        reserve(<void**> &self.table_of.data, &self.table_of.capacity, <size_t> before + 1, sizeof(uint32_t))
        reserve(<void**> &self.accepted_starts, &self.accepted_starts_capacity, before + 2, sizeof(size_t))
        reserve(<void**> &self.accepted.data, &self.accepted.capacity, self.accepted.n + self.pairs.n, sizeof(uint32_t))
        state = self.states.intern(self.pairs.data, self.pairs.n)
        if state != before:
            return state
        self.last.data[state] = self.table_of.data[state] = NONE
        self.last.n = self.table_of.n = <size_t> state + 1
        for i in range(0, self.pairs.n - self.pairs.n % 2, 2):
            if nullable(self.regexes, self.pairs.data[i + 1]):
                words_push(&self.accepted, self.pairs.data[i])
        self.accepted_starts[state + 1] = self.accepted.n
        return state

    cdef uint32_t transition(self, uint32_t state, uint32_t byte) except? 0xFFFFFFFF nogil:
        cdef uint32_t index, table = self.table_of.data[state]
        if table != NONE:
            index = self.tables[<size_t> table * 256 + byte]
            return index if index != NONE else self.visit(state, byte)
        index = self.last.data[state]
        while index != NONE:
            if byteset_has(&self.transitions[index].bytes, byte):
                return index
            index = self.transitions[index].next
        return self.visit(state, byte)

    cdef uint32_t visit(self, uint32_t state, uint32_t byte) except? 0xFFFFFFFF nogil:
        cdef size_t i, n = sequence_length(self.states, state)
        cdef uint32_t terminal, node, target
        cdef ByteSet same
        self.regexes.meter.lexer_bytes = self.n_bytes()
        self.regexes.look()
        self.regexes.meter.derivations = self.regexes.meter.most_derivations
        byteset_fill(&same, <uint64_t> -1)
        self.moved.n = 0                # not self.pairs: `state` uses that
        for i in range(0, n - n % 2, 2):
            terminal = sequence(self.states, state)[i]
            node = self.regexes.derive(sequence(self.states, state)[i + 1], byte, &same)
            words_push(&self.moved, terminal)
            words_push(&self.moved, node)
        if n % 2:
            node = self.regexes.derive(sequence(self.states, state)[n - 1], byte, &same)
            words_push(&self.moved, node)
        target = self.state(self.moved.data, self.moved.n)
        self.enter(state, &same, target)
        return self.last.data[state]

    cdef int enter(self, uint32_t state, const ByteSet* bytes_, uint32_t target) except -1 nogil:
        """Enter a new transition, and make a table if the state has many by now."""
        cdef uint32_t index = self.last.data[state], table = self.table_of.data[state], n = 0
        reserve(<void**> &self.transitions, &self.transitions_capacity, self.n_transitions + 1, sizeof(Transition))
        if table == NONE:
            while index != NONE and n < MANY:
                index = self.transitions[index].next
                n += 1
            if n == MANY:
                reserve(<void**> &self.tables, &self.tables_capacity, 256 * (self.n_tables + 1), sizeof(uint32_t))
        index = <uint32_t> self.n_transitions
        self.n_transitions += 1
        self.transitions[index].bytes = bytes_[0]
        self.transitions[index].target = target
        self.transitions[index].next = self.last.data[state]
        self.last.data[state] = index
        if n == MANY:
            table = self.table_of.data[state] = <uint32_t> self.n_tables
            self.n_tables += 1
            memset(self.tables + <size_t> table * 256, 0xFF, 256 * sizeof(uint32_t))
            while index != NONE:
                set_all(self.tables + <size_t> table * 256, &self.transitions[index].bytes, index)
                index = self.transitions[index].next
        elif table != NONE:
            set_all(self.tables + <size_t> table * 256, bytes_, index)
        return 0

    # ---- followed terminals -------------------------------------------------------------------------------------

    cdef uint32_t with_memory(self, uint32_t state, const Symbol* symbols) except? 0xFFFFFFFF nogil:
        cdef size_t i, n = sequence_length(self.states, state)
        cdef uint32_t node, made
        if state < self.begun.n and self.begun.data[state] != NONE:
            return self.begun.data[state]
        self.moved.n = 0
        for i in range(0, n - n % 2, 2):
            words_push(&self.moved, sequence(self.states, state)[i])
            node = sequence(self.states, state)[i + 1]
            if symbols[self.moved.data[i]].followed:
                node = self.regexes.remembering(node)
            words_push(&self.moved, node)
        made = self.state(self.moved.data, self.moved.n)
        note(&self.begun, state, made)
        return made

    cdef uint32_t without_memory(self, uint32_t state) except? 0xFFFFFFFF nogil:
        cdef size_t i, n = sequence_length(self.states, state)
        cdef uint32_t made
        if state < self.plain.n and self.plain.data[state] != NONE:
            return self.plain.data[state]
        self.moved.n = 0
        for i in range(0, n - n % 2, 2):
            words_push(&self.moved, sequence(self.states, state)[i])
            words_push(&self.moved, self.regexes.without_memory(sequence(self.states, state)[i + 1]))
        if n % 2:
            words_push(&self.moved, sequence(self.states, state)[n - 1])
        made = self.state(self.moved.data, self.moved.n)
        note(&self.plain, state, made)
        return made

    cdef bint has_read(self, uint32_t state) noexcept nogil:
        cdef size_t i
        for i in range(1, sequence_length(self.states, state), 2):
            if self.regexes.n_read(sequence(self.states, state)[i]):
                return True
        return False

    cdef uint32_t kinds_read(self, uint32_t state, const Symbol* symbols) noexcept nogil:
        cdef const uint32_t* p = sequence(self.states, state)
        cdef size_t i
        cdef uint32_t kinds = 0
        for i in range(1, sequence_length(self.states, state), 2):
            if self.regexes.n_read(p[i]):
                kinds |= <uint32_t> 1 << (symbols[p[i - 1]].followed - 1)
        return kinds

    cdef uint32_t node_of(self, uint32_t state, uint32_t terminal) noexcept nogil:
        cdef const uint32_t* p = sequence(self.states, state)
        while p[0] != terminal:
            p += 2
        return p[1]

    # ---- demands ------------------------------------------------------------------------------------------------

    cdef uint32_t with_demand(self, uint32_t state, uint32_t demand) except? 0xFFFFFFFF nogil:
        cdef uint32_t before = demand_at(self, state)
        if before != NONE:
            demand = self.regexes.both(before, demand)
        self.moved.n = 0
        words_extend(&self.moved, sequence(self.states, state), 2 * n_terminals(self, state))
        words_push(&self.moved, demand)
        return self.state(self.moved.data, self.moved.n)

    cdef uint32_t without_demand(self, uint32_t state) except? 0xFFFFFFFF nogil:
        if demand_at(self, state) == NONE:
            return state
        self.moved.n = 0
        words_extend(&self.moved, sequence(self.states, state), 2 * n_terminals(self, state))
        return self.state(self.moved.data, self.moved.n)

    cdef uint32_t alone(self, uint32_t state, size_t k) except? 0xFFFFFFFF nogil:
        self.moved.n = 0
        words_push(&self.moved, terminal_at(self, state, k))
        words_push(&self.moved, node_at(self, state, k))
        if demand_at(self, state) != NONE:
            words_push(&self.moved, demand_at(self, state))
        return self.state(self.moved.data, self.moved.n)

    cdef bint may_end(self, uint32_t state) except -1 nogil:
        cdef const uint32_t* p = sequence(self.states, state)
        cdef uint32_t demand = demand_at(self, state), texts
        if demand == NONE:
            return True
        texts = self.regexes.make_concat(p[1], self.regexes.make_not(R_EMPTY))
        return not self.regexes.empty(self.regexes.both(texts, demand))

    cdef uint32_t part_of(self, uint32_t state, const Symbol* symbols, bint commits) except? 0xFFFFFFFF nogil:
        cdef const uint32_t* p
        cdef size_t i, n = 2 * n_terminals(self, state)
        self.moved.n = 0
        for i in range(0, n, 2):
            p = sequence(self.states, state) + i
            if symbols[p[0]].commits == commits:
                words_extend(&self.moved, p, 2)
        if self.moved.n and demand_at(self, state) != NONE:
            words_push(&self.moved, demand_at(self, state))
        return self.state(self.moved.data, self.moved.n)

    cdef uint32_t for_masks(self, uint32_t state, const Symbol* symbols, bint modest) except? 0xFFFFFFFF nogil:
        cdef const uint32_t* p
        cdef Words* known = &self.modest if modest else &self.loose
        cdef size_t i, n = 2 * n_terminals(self, state)
        cdef uint32_t made
        cdef uint8_t role
        if modest and demand_at(self, state) != NONE:
            return DEAD_STATE
        if state < known.n and known.data[state] != NONE:
            return known.data[state]
        self.moved.n = 0
        for i in range(0, n, 2):
            p = sequence(self.states, state) + i
            role = symbols[p[0]].role
            if role == PLAIN or (role in (COVERED, SURE) if modest else role == LOOSE):
                words_extend(&self.moved, p, 2)
        made = self.state(self.moved.data, self.moved.n)
        note(known, state, made)
        return made

    cdef bint is_narrow(self, uint32_t state) except -1 nogil:
        cdef uint32_t byte = LIKELY, n = 0, alike
        cdef const Transition* transition
        cdef ByteSet missing
        cdef size_t k = 0
        if state < self.widths.n and self.widths.data[state] != NONE:
            return self.widths.data[state] == NARROW
        byteset_fill(&missing, <uint64_t> -1)
        while k < 4:
            transition = self.transitions + self.transition(state, byte)
            byteset_and_not(&missing, &transition.bytes)
            if transition.target != DEAD_STATE:
                alike = (n_bits(transition.bytes.w[0]) + n_bits(transition.bytes.w[1])
                         + n_bits(transition.bytes.w[2]) + n_bits(transition.bytes.w[3]))
                n += alike
                if alike > MOST_ALIKE or n > MOST_BYTES:
                    note(&self.widths, state, BROAD)
                    return False
            while k < 4 and not missing.w[k]:
                k += 1
            if k < 4:
                byte = <uint32_t> (64 * k) + lowest_bit(missing.w[k])
        note(&self.widths, state, NARROW)
        return True

    cdef bint is_read(self, uint32_t state, const Symbol* symbols) noexcept nogil:
        cdef size_t i
        for i in range(n_terminals(self, state)):
            if symbols[terminal_at(self, state, i)].role < LOOSE:
                return True
        return False

    # ---- memory -------------------------------------------------------------------------------------------------

    cdef void collect(self, const uint8_t* marks, uint32_t* map_, const uint32_t* nodes) noexcept nogil:
        """Drop the states that are not marked, and all transitions. `nodes`: new ids of regex nodes."""
        cdef size_t i, k
        keep_marked(self.states, marks, map_)
        self.n_transitions = self.accepted.n = self.begun.n = self.plain.n = self.loose.n = self.modest.n = 0
        self.widths.n = 0
        for i in range(self.states.n):
            if demand_at(self, <uint32_t> i) != NONE:
                k = self.states.starts[i + 1] - 1
                self.states.words.data[k] = nodes[self.states.words.data[k]]
            for k in range(self.states.starts[i], self.states.starts[i] + 2 * n_terminals(self, <uint32_t> i), 2):
                self.states.words.data[k + 1] = nodes[self.states.words.data[k + 1]]
                if nullable(self.regexes, self.states.words.data[k + 1]):
                    # SAFETY: no more than before, so there is room.
                    self.accepted.data[self.accepted.n] = self.states.words.data[k]
                    self.accepted.n += 1
            self.accepted_starts[i + 1] = self.accepted.n
        self.n_tables = 0
        self.last.n = self.table_of.n = self.states.n
        if self.states.n:
            memset(self.last.data, 0xFF, self.states.n * sizeof(uint32_t))
            memset(self.table_of.data, 0xFF, self.states.n * sizeof(uint32_t))
        trim(self.states)
        self.regexes.meter.lexer_bytes = self.n_bytes()

    cdef bint half_full(self) noexcept nogil:
        return self.states.n >= self.regexes.meter.most_lexer_states // 2

    cdef size_t n_bytes(self) noexcept nogil:
        return (self.states.n_bytes() + self.n_tables * 1024 + self.n_transitions * sizeof(Transition)
                + (self.last.n + self.table_of.n) * sizeof(uint32_t)
                + (self.accepted.n + self.begun.n + self.plain.n + self.loose.n + self.modest.n + self.widths.n) * sizeof(uint32_t)
                + self.states.n * sizeof(size_t))


cdef bint matches_everything(Regexes regexes, uint32_t node) noexcept nogil:
    cdef const uint32_t* p = sequence(regexes.nodes, node)
    return p[0] == K_NOT and p[1] == R_EMPTY


cdef int note(Words* of, uint32_t state, uint32_t other) except -1 nogil:
    while of.n <= state:
        words_push(of, NONE)
    of.data[state] = other
    return 0
