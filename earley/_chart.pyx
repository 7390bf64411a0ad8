"""Rows, continuations and positions: where a sequence is in its grammar.

`_skeletons` computes what a terminal makes of a row without its stack; here the stack is real. A *continuation* is a
shape and the continuations with which it continues, a *row* is a skeleton and its continuations; together they are
Tomita's graph-structured stack (1986). Both are interned and never change. So a rollback moves an index, a fork shares
everything, and a situation that was met before is recognised.

A *position* is between two bytes: a set of live pairs (row at which the current lexeme began, lexer state). A byte
moves every pair. If a lexer state accepts terminals, the row after them makes a new pair *in addition*: the lexer never
decides. All lexemes that end at one byte lead to one row, and an ignored lexeme leads back to the row at which it
began. Positions are interned, too, and their transitions by byte are remembered in tables: this is the automaton of a
grammar, whose states are made when they are first visited. Usually there is one live pair, and one table look-up for
each byte.

A lookahead may demand something of the text after its lexeme (`_lexer`). So one byte can end lexemes that demand
different things of the text after them. Each demand then has a row of its own, whose live pair holds the demand. The
rows themselves know nothing of demands. A position whose live pairs all hold demands, or wait for lexemes that will make
some, may lead to no sentence: it is searched for a text that does (`leads_to_sentence`).

Tables are a cache; they are flushed when there are too many. Rows, continuations and positions that no history of a
matcher reaches (most come from mask walks) are dropped by `collect`, between calls.

All functions need the engine's lock. Not here: tokens (`_walk`, `_matcher`).
"""

from libc.stdlib cimport free
from libc.string cimport memset

from earleymask.earley._demands cimport UNDECIDED, can_be_met
from earleymask.earley._emptiness cimport pop, push
from earleymask.earley._history cimport (
    Block, FORGOTTEN, entries_of, history_blocks, history_free_all, history_free_dropped, history_is_sound,
)
from earleymask.earley._lexer cimport (
    DEAD_STATE, accepted_at, demand_at, n_accepted, n_terminals, next_state, node_at, terminal_at,
)
from earleymask.earley._meter cimport exceeds, spend_steps
from earleymask.earley._nodes cimport F_SEARCH, K_AND, R_EMPTY, R_EPSILON, nullable
from earleymask.earley._rules cimport COVERED, LOOSE, PLAIN, SURE, S_SPECIAL
from earleymask.earley._skeletons cimport (
    NEW, Closure, O_ACCEPTS, O_HEADER, O_N_ARGUMENTS, O_N_ITEMS, O_N_POPS, O_N_RECIPES, O_SKELETON, ROOT_SHAPE, accepts_at,
    item_dot, item_number, n_items_of, start_state_of,
)
from earleymask.earley._tables cimport (
    NONE, byteset_and, byteset_fill, byteset_has, byteset_or, hash_again, keep_marked, lowest_bit, rehash, reserve, sequence, sequence_length, sort_u64,
    sort_unique, trim, words_extend, words_free, words_push,
)
from earleymask.trie._build cimport DEBUG
from earleymask.trie._memory cimport calloc, malloc, realloc

from earleymask.earley.errors import LimitError

cdef enum:
    FEWEST_TABLES = 4           # tables for which there is room at first
    CHART_TABLES = 512          # tables of a chart, until a walk over the whole trie needs MAX_TABLES
    FEW_STEPS = 64              # steps after which a chart looks at its memory
    MANY_PAIRS = 64             # live pairs of a position for which it looks at every step
    MANY_ITEMS = 256            # items of a row for which it looks, too
    MANY_WORDS = 1 << 12        # words of `popped` after which it looks
    IGNORED = 0xFFFFFFFF        # in `sources`, in place of an outcome: an ignored lexeme
    # Whether a position leads to a sentence, in `sentences`.
    NO_SENTENCE = 0
    SENTENCE = 1
    SEARCHED = 2                # by the current search
    NOT_KNOWN = 3
    FEW_SEARCHED = 1 << 6       # positions that one such search visits before `_demands` is asked
    MAX_SEARCHED = 1 << 13      # positions that it may visit if that does not decide; beyond this the call fails


# The fewest words kept at which a collection starts. Few in debug builds, so that tests collect all the time.
cdef size_t COLLECT_WORDS = 1 << 10 if DEBUG else 1 << 16

cdef class Chart:
    """Rows, continuations and positions of one sequence and its forks, over one engine."""

    def __cinit__(self, Engine engine not None):
        if engine.skeletons is None:
            raise ValueError("the engine is not finished: call Engine.finish first")
        self.engine = engine
        self.meter = engine.regexes.meter
        self.rules = engine.rules
        self.lexer = engine.lexer
        self.skeletons = engine.skeletons
        self.continuations = Sequences("parser stack", 1 << 27)
        self.rows = Sequences("parser rows", 1 << 27)
        self.positions = Sequences("positions", 1 << 27)
        self.ends = Sequences("ends of lexemes", 1 << 27)
        self.sentences = Map()
        self.continuations.meter = self.rows.meter = self.positions.meter = self.ends.meter = self.meter
        self.collect_at = COLLECT_WORDS
        self.max_tables = CHART_TABLES
        self.start_afresh()

    cdef int start_afresh(self) except -1:
        """Enter into empty tables what every chart has."""
        cdef uint32_t words[1]
        words[0] = ROOT_SHAPE
        self.continuations.intern(words, 1)
        words[0] = NO_ROW
        self.positions.intern(words, 1)                 # DEAD: no row, no pair
        words[0] = NO_ROW - 1
        self.positions.intern(words, 1)                 # FINISHED: never stepped
        words_push(&self.table_of, NO_TABLE)
        words_push(&self.table_of, NO_TABLE)
        return 0

    def __dealloc__(self):
        history_free_all(&self.histories)
        free(self.tables)
        free(self.items)
        free(self.stamps)
        free(self.locals)
        free(self.pairs)
        words_free(&self.table_of)
        words_free(&self.row_after)
        words_free(&self.popped)
        words_free(&self.popped_at)
        words_free(&self.popped_rows)
        free(self.mask_of)
        words_free(&self.pops)
        words_free(&self.waiting)
        words_free(&self.named)
        words_free(&self.frame)
        words_free(&self.made)
        words_free(&self.words)
        words_free(&self.vector)
        words_free(&self.sources)
        words_free(&self.obliged)
        words_free(&self.begun)
        words_free(&self.arrived)
        words_free(&self.searched)
        words_free(&self.depths)

    # ---- bytes --------------------------------------------------------------------------------------------------

    cdef uint32_t initial(self) except? 0xFFFFFFFF nogil:
        self.n_pairs = 0                                # an error may have left some
        self.begin_items()
        self.accepts = self.rules.symbols[self.rules.dots.data[self.rules.start]].nullable
        self.push_item(self.rules.start, 0)
        return self.position_of(self.row_of_items())

    cdef uint32_t advance(self, uint32_t position, uint32_t byte) except? 0xFFFFFFFF nogil:
        cdef uint32_t table = self.table_of.data[position], target
        cdef ByteSet same
        if table >= MET:
            if table == NO_TABLE:                       # most positions of a text come once and need no table
                self.table_of.data[position] = MET
                return self.step(position, byte, &same)
            table = self.table(position)
            if table == NO_TABLE:
                self.flush_tables()
                table = self.table(position)
                if table == NO_TABLE:                   # there is no memory even for one
                    return self.step(position, byte, &same)
        target = self.tables[table * 256 + byte]
        return target if target != UNKNOWN else self.fill(position, table, byte)

    cdef uint32_t fill(self, uint32_t position, uint32_t table, uint32_t byte) except? 0xFFFFFFFF nogil:
        cdef ByteSet same
        cdef uint32_t target = self.step(position, byte, &same), k
        cdef uint32_t* row = self.tables + table * 256
        cdef uint64_t word
        for k in range(4):                              # visit only the bytes in the set, usually few
            word = same.w[k]
            while word:
                row[64 * k + lowest_bit(word)] = target
                word &= word - 1
        return target

    cdef uint32_t table(self, uint32_t position) noexcept nogil:
        cdef uint32_t table = self.table_of.data[position]
        if table >= MET:
            if self.n_tables == self.max_tables or self.n_tables == self.tables_capacity and not self.grow_tables():
                return NO_TABLE
            table = <uint32_t> self.n_tables
            self.n_tables += 1
            memset(self.tables + table * 256, 0xFF, 256 * sizeof(uint32_t))
            self.table_of.data[position] = table
        return table

    cdef bint grow_tables(self) noexcept nogil:
        """Make room for twice as many tables; return False if there is no memory for them."""
        cdef size_t capacity = min(2 * self.tables_capacity + FEWEST_TABLES, self.max_tables)
        cdef void* grown = realloc(self.tables, capacity * 256 * sizeof(uint32_t))
        if grown == NULL:
            return False
        self.tables = <uint32_t*> grown
        self.tables_capacity = capacity
        return True

    cdef void flush_tables(self) noexcept nogil:
        memset(self.table_of.data, 0xFF, self.table_of.n * sizeof(uint32_t))
        self.n_tables = 0
        self.n_flushes += 1

    cdef uint32_t enter(self, Path* path, uint32_t start, uint32_t depth, uint32_t position) except? 0xFFFFFFFF nogil:
        cdef uint32_t table = self.table(position), d
        path.positions[depth] = position
        if table == NO_TABLE:
            self.flush_tables()
            for d in range(start, depth):               # the path needs its tables again
                table = self.table(path.positions[d])
                if table == NO_TABLE:                   # there is no memory for as many as the path has
                    with gil:
                        raise MemoryError("tables")
                path.tables[d] = table << 8
            table = self.table(position)
            if table == NO_TABLE:
                with gil:
                    raise MemoryError("tables")
        path.tables[depth] = table << 8
        return table << 8

    cdef uint32_t step(self, uint32_t position, uint32_t byte, ByteSet* same) except? 0xFFFFFFFF nogil:
        cdef uint32_t target = self.step_unchecked(position, byte, same)
        if self.rules.has_demanding and not self.has_variables and target != DEAD and not self.leads_to_sentence(target):
            return DEAD
        return target

    cdef uint32_t step_unchecked(self, uint32_t position, uint32_t byte, ByteSet* same) except? 0xFFFFFFFF nogil:
        cdef size_t i, k, n = n_pairs_at(self, position)
        cdef uint32_t row, state, transition, terminal, outcome, demand
        cdef Words* ended
        cdef bint checked = self.rules.has_demanding and not self.has_variables
        self.n_steps += 1
        spend_steps(self.meter, 8 + 16 * n)
        if n >= MANY_PAIRS or self.n_steps % FEW_STEPS == 0:
            self.look()
        byteset_fill(same, <uint64_t> -1)
        self.n_pairs = self.sources.n = self.obliged.n = self.arrived.n = 0
        self.barrier = NONE
        for i in range(n):
            row = pair_row(self, position, i)
            state = pair_state(self, position, i)
            transition = self.lexer.transition(state, byte)
            byteset_and(same, &self.lexer.transitions[transition].bytes)
            state = self.lexer.transitions[transition].target
            if state == DEAD_STATE or (checked and not self.lexer.is_read(state, self.rules.symbols)):
                continue
            self.push_pair(row, state)
            for k in range(n_accepted(self.lexer, state)):
                terminal = accepted_at(self.lexer, state, k)
                if self.rules.symbols[terminal].role >= (LOOSE if checked else SURE):
                    continue
                if self.rules.symbols[terminal].followed and self.lexer.has_read(state):
                    outcome = self.scan_followed(row, state, terminal)
                else:
                    outcome = self.skeletons.scan(skeleton_of(self, row), terminal)
                ended = &self.sources
                demand = self.demand_after(state, terminal)
                if demand != NONE:
                    ended = &self.obliged
                if outcome != NONE:
                    if demand != NONE:
                        words_push(ended, demand)
                    words_push(ended, outcome)
                    words_push(ended, row)
                if self.rules.symbols[terminal].ignored:
                    if demand != NONE:
                        words_push(ended, demand)
                    words_push(ended, IGNORED)
                    words_push(ended, row)
        if self.obliged.n:
            return self.position_after_demands()
        if self.sources.n == 0:
            return self.intern_position(NO_ROW)
        return self.position_of(self.next_row())

    # ---- demands ------------------------------------------------------------------------------------------------

    cdef uint32_t demand_after(self, uint32_t state, uint32_t terminal) except? 0xFFFFFFFE nogil:
        """Return what is demanded of the text after a lexeme that ends in this lexer state, or NONE."""
        cdef uint32_t demand = demand_at(self.lexer, state), inside = self.rules.symbols[terminal].inside, own
        if inside == NONE:
            return demand
        own = self.lexer.regexes.cutter.demand(self.lexer.regexes, self.lexer.node_of(state, terminal), inside)
        return own if demand == NONE else self.lexer.regexes.both(demand, own)

    cdef uint32_t position_after_demands(self) except? 0xFFFFFFFF nogil:
        cdef size_t i
        cdef uint32_t row, state, demand = 0, last = 0, accepting = NO_ROW
        cdef bint more = True
        self.begun.n = 0
        for i in range(0, self.sources.n, 2):
            words_push(&self.obliged, NONE)
            words_extend(&self.obliged, self.sources.data + i, 2)
        while True:                                     # by demand, in the order of their numbers; NONE comes last
            more = False
            for i in range(0, self.obliged.n, 3):
                if self.obliged.data[i] > last and (not more or self.obliged.data[i] < demand):
                    demand = self.obliged.data[i]
                    more = True
            if not more:
                break
            last = demand
            self.sources.n = 0
            for i in range(0, self.obliged.n, 3):
                if self.obliged.data[i] == demand:
                    words_extend(&self.sources, self.obliged.data + i + 1, 2)
            row = self.next_row()
            words_push(&self.arrived, row)
            state = self.start_state(row)
            if demand != NONE:
                state = self.lexer.with_demand(state, demand)
            if self.rules.has_commits:
                words_push(&self.begun, row)
                words_push(&self.begun, demand)
            elif state != DEAD_STATE:
                self.push_pair(row, state)
        # The text may end, or a special token may come, after all lexemes that do not demand that the text continues.
        self.sources.n = 0
        for i in range(0, self.obliged.n, 3):
            if self.obliged.data[i] == NONE or nullable(self.lexer.regexes, self.obliged.data[i]):
                words_extend(&self.sources, self.obliged.data + i + 1, 2)
        if self.sources.n:
            accepting = self.next_row()
        if self.begun.n:
            self.commit()
        return self.intern_position(accepting)

    # ---- terminals that commit ----------------------------------------------------------------------------------

    cdef int commit(self) except -1 nogil:
        """Add the live pairs of the lexemes that begin at the rows in `begun`, and demand of all lexemes that do not
        commit that no terminal that may commit here matches from here on."""
        cdef size_t i, k, n
        cdef uint32_t state, terminal, barrier = NONE, demand
        for i in range(0, self.begun.n, 2):
            state = self.start_state(self.begun.data[i])
            n = 0
            for k in range(n_terminals(self.lexer, state)):
                n += self.rules.symbols[terminal_at(self.lexer, state, k)].commits
            if n == self.rules.n_commits:               # as in most grammars, and they may be hundreds
                barrier = self.rules.all_barriers
                break
            for k in range(n_terminals(self.lexer, state)):
                terminal = terminal_at(self.lexer, state, k)
                if self.rules.symbols[terminal].commits:
                    demand = self.rules.symbols[terminal].barrier
                    barrier = demand if barrier == NONE else self.lexer.regexes.both(barrier, demand)
        self.barrier = barrier
        if barrier != NONE:
            for i in range(self.n_pairs):       # none of them becomes dead: the barrier does not refuse the empty text
                state = <uint32_t> self.pairs[i]
                if not self.rules.symbols[terminal_at(self.lexer, state, 0)].commits:
                    self.pairs[i] = (self.pairs[i] >> 32 << 32) | self.lexer.with_demand(state, barrier)
        for i in range(0, self.begun.n, 2):
            state = self.start_state(self.begun.data[i])
            if self.begun.data[i + 1] != NONE:
                state = self.lexer.with_demand(state, self.begun.data[i + 1])
            if state == DEAD_STATE:
                continue
            if barrier == NONE:
                self.push_pair(self.begun.data[i], state)
                continue
            terminal = self.lexer.part_of(state, self.rules.symbols, True)
            if terminal != DEAD_STATE:
                self.push_pair(self.begun.data[i], terminal)
            state = self.lexer.part_of(state, self.rules.symbols, False)
            if state != DEAD_STATE:
                self.push_pair(self.begun.data[i], self.lexer.with_demand(state, barrier))
        self.begun.n = 0
        return 0

    cdef bint may_end(self, uint32_t position) except -1 nogil:
        cdef uint32_t row = row_at(self, position)
        cdef const Closure* closure
        cdef size_t k
        if row == NO_ROW:
            return False
        if accepts_at(self.skeletons, skeleton_of(self, row)):
            return True
        closure = self.skeletons.closure(skeleton_of(self, row))
        for k in range(closure.n_scans):
            if self.rules.symbols[closure.scans[k].symbol].kind == S_SPECIAL:
                return True
        return False

    cdef bint plainly_leads_on(self, uint32_t position) except -1 nogil:
        cdef uint32_t state
        cdef size_t i, k
        if self.may_end(position):
            return True
        for i in range(n_pairs_at(self, position)):
            state = pair_state(self, position, i)
            if demand_at(self.lexer, state) == NONE:
                for k in range(n_terminals(self.lexer, state)):
                    if self.rules.symbols[terminal_at(self.lexer, state, k)].role in (PLAIN, COVERED, SURE):
                        return True
        return False

    cdef uint32_t effort(self, uint32_t position) noexcept nogil:
        """Return how much is demanded at a position, so that a search can begin with the least: a number of words."""
        cdef const uint32_t* p
        cdef uint32_t demand, effort, least = 1 << 30
        cdef size_t i, k
        for i in range(n_pairs_at(self, position)):
            demand = demand_at(self.lexer, pair_state(self, position, i))
            effort = 0
            if demand != NONE:
                p = sequence(self.lexer.regexes.nodes, demand)
                effort = <uint32_t> sequence_length(self.lexer.regexes.nodes, demand)
                for k in range(1, effort if p[0] == K_AND else 1):
                    effort += <uint32_t> sequence_length(self.lexer.regexes.nodes, p[k])
            least = min(least, effort)
        return least

    cdef bint leads_to_sentence(self, uint32_t position) except -1 nogil:
        cdef uint32_t known, byte, here, target, index
        cdef size_t i, n_pending = 0, capacity = 0
        # A heap: effort and bytes so far, indexes into `searched` from the last one. Without the bytes, a name of which
        # nothing is demanded before it ends would be made longer and longer.
        cdef uint64_t* pending = NULL
        cdef ByteSet seen, same
        cdef bint found = False, decided = False
        cdef int answer
        cdef size_t most = FEW_SEARCHED
        if self.plainly_leads_on(position):
            return True
        known = self.sentences.get(position)
        if known == SENTENCE or known == NO_SENTENCE:
            return known == SENTENCE
        self.searched.n = self.depths.n = 0
        words_push(&self.searched, position)
        words_push(&self.depths, 0)
        self.sentences.put(position, SEARCHED)
        try:
            push(&pending, &n_pending, &capacity, NONE)
            while n_pending and not found:
                if self.searched.n > most:
                    if most == FEW_SEARCHED:
                        with gil:
                            answer = can_be_met(self, position, True)
                        if answer != UNDECIDED:
                            found = answer
                            break
                        most = MAX_SEARCHED
                    elif exceeds(self.searched.n, MAX_SEARCHED):
                        with gil:
                            raise LimitError(f"what lookaheads demand of the text: more than {MAX_SEARCHED} positions were "
                                             "searched for a text that meets it; simplify the lookaheads")
                index = NONE - <uint32_t> pop(pending, &n_pending)
                here = self.searched.data[index]
                byteset_fill(&seen, 0)
                for byte in range(256):
                    if byteset_has(&seen, byte):
                        continue
                    target = self.step_unchecked(here, byte, &same)
                    byteset_or(&seen, &same)
                    if target == DEAD:
                        continue
                    known = self.sentences.get(target)
                    if known == SENTENCE or self.plainly_leads_on(target):
                        found = True
                        break
                    if known != SEARCHED and known != NO_SENTENCE:
                        words_push(&self.depths, self.depths.data[index] + 1)
                        push(&pending, &n_pending, &capacity,
                             (<uint64_t> (self.effort(target) + self.depths.data[index] + 1) << 32)
                             | (NONE - <uint32_t> self.searched.n))
                        words_push(&self.searched, target)
                        self.sentences.put(target, SEARCHED)
            decided = True
        finally:
            free(pending)
            # If there is no sentence, all positions that were searched lead to none.
            for i in range(self.searched.n):
                self.sentences.put(self.searched.data[i], NO_SENTENCE if decided and not found else NOT_KNOWN)
        if found:
            self.sentences.put(position, SENTENCE)
        return found

    cdef uint32_t position_of(self, uint32_t row) except? 0xFFFFFFFF nogil:
        """Return the position of `row` and the live pairs gathered so far."""
        cdef uint32_t state
        self.arrived.n = 0
        words_push(&self.arrived, row)
        if self.rules.has_commits:
            self.begun.n = 0
            words_push(&self.begun, row)
            words_push(&self.begun, NONE)
            self.commit()
            return self.intern_position(row)
        state = self.start_state(row)
        if state != DEAD_STATE:
            self.push_pair(row, state)
        return self.intern_position(row)

    cdef uint32_t start_state(self, uint32_t row) except? 0xFFFFFFFF nogil:
        """Return the lexer state in which a lexeme begins at the row."""
        cdef uint32_t state = start_state_of(self.skeletons, skeleton_of(self, row))
        return self.lexer.with_memory(state, self.rules.symbols) if self.rules.has_followed else state

    cdef uint32_t scan_followed(self, uint32_t row, uint32_t state, uint32_t terminal) except? 0xFFFFFFFE nogil:
        """Return the outcome of a lexeme whose lexer state has remembered its text."""
        cdef uint32_t dot
        with gil:
            dot = self.rules.follow_dot(terminal, self.lexer.regexes.read_by(self.lexer.node_of(state, terminal)))
        return self.skeletons.scan_followed(skeleton_of(self, row), terminal, dot)

    cdef int push_pair(self, uint32_t row, uint32_t state) except -1 nogil:
        reserve(<void**> &self.pairs, &self.pairs_capacity, self.n_pairs + 1, sizeof(uint64_t))
        self.pairs[self.n_pairs] = (<uint64_t> row << 32) | state
        self.n_pairs += 1
        return 0

    cdef uint32_t intern_position(self, uint32_t row) except? 0xFFFFFFFF nogil:
        cdef size_t i
        cdef uint32_t position
        sort_u64(self.pairs, self.n_pairs)
        self.words.n = 0
        words_push(&self.words, row)
        for i in range(self.n_pairs):
            if i and self.pairs[i] == self.pairs[i - 1]:
                continue
            words_push(&self.words, <uint32_t> (self.pairs[i] >> 32))
            words_push(&self.words, <uint32_t> self.pairs[i])
        self.n_pairs = 0
        reserve(<void**> &self.table_of.data, &self.table_of.capacity, self.positions.n + <size_t> 1, sizeof(uint32_t))
        position = self.positions.intern(self.words.data, self.words.n)
        if position == self.table_of.n:
            words_push(&self.table_of, NO_TABLE)
        return position

    cdef uint32_t without_memory(self, uint32_t position) except? 0xFFFFFFFF nogil:
        """Return the position without what followed terminals have read."""
        cdef size_t i
        self.n_pairs = 0
        for i in range(n_pairs_at(self, position)):
            self.push_pair(pair_row(self, position, i), self.lexer.without_memory(pair_state(self, position, i)))
        return self.intern_position(row_at(self, position))

    # ---- special tokens and the end -----------------------------------------------------------------------------

    cdef uint32_t step_named(self, uint32_t position, uint32_t spelled) except? 0xFFFFFFFF nogil:
        """Unite the position after the symbols that a token may be with the position after its text."""
        cdef uint32_t row = row_at(self, position), outcome, other, state = DEAD_STATE
        cdef size_t i
        if position <= FINISHED or row == NO_ROW:
            return spelled
        self.n_pairs = self.sources.n = 0
        for i in range(self.named.n):
            outcome = self.skeletons.scan(skeleton_of(self, row), self.named.data[i])
            if outcome != NONE:
                words_push(&self.sources, outcome)
                words_push(&self.sources, row)
        if self.sources.n == 0:
            return spelled
        row = self.next_row()
        if spelled == DEAD:
            return self.position_of(row)
        if self.rules.has_demanding:                    # a pair of the position may hold a demand: each keeps its row
            for i in range(n_pairs_at(self, spelled)):
                self.push_pair(pair_row(self, spelled, i), pair_state(self, spelled, i))
            state = self.start_state(row)
            if state != DEAD_STATE:
                self.push_pair(row, state)
            other = row_at(self, spelled)
            if other != NO_ROW and other != row:
                self.sources.n = 0
                words_push(&self.sources, IGNORED)
                words_push(&self.sources, other)
                words_push(&self.sources, IGNORED)
                words_push(&self.sources, row)
                row = self.next_row()
            return self.intern_position(row)
        other = row_at(self, spelled)
        if other != NO_ROW:
            state = self.start_state(other)
            if other != row:
                # One row of both, as when an ignored lexeme ends together with others.
                self.sources.n = 0
                words_push(&self.sources, IGNORED)
                words_push(&self.sources, other)
                words_push(&self.sources, IGNORED)
                words_push(&self.sources, row)
                row = self.next_row()
        for i in range(n_pairs_at(self, spelled)):
            # Lexemes that begin at the other row begin at the row of both.
            if pair_row(self, spelled, i) != other or pair_state(self, spelled, i) != state:
                self.push_pair(pair_row(self, spelled, i), pair_state(self, spelled, i))
        return self.position_of(row)

    cdef bint expects_special(self, uint32_t position, uint32_t symbol) except -1 nogil:
        cdef uint32_t row = row_at(self, position)
        if position <= FINISHED or row == NO_ROW:
            return False
        return self.skeletons.scan(skeleton_of(self, row), symbol) != NONE

    cdef bint is_accepting(self, uint32_t position) noexcept nogil:
        cdef uint32_t row = row_at(self, position)
        if position <= FINISHED or row == NO_ROW:
            return False
        return accepts_at(self.skeletons, skeleton_of(self, row))

    cdef set terminals_at(self, uint32_t position, among=None):
        """Return the terminals whose lexemes may begin or continue at a position, or those of them that are `among`
        these."""
        cdef uint32_t row, state, terminal
        cdef size_t i, k
        found = set()
        for i in range(n_pairs_at(self, position)):
            row = pair_row(self, position, i)
            state = pair_state(self, position, i)
            for k in range(n_terminals(self.lexer, state)):
                if not k & 0xFF:
                    spend_steps(self.meter, 10 * (1 + min(n_terminals(self.lexer, state) - k, 256)))
                # If nothing of a lexeme is left, it has ended here; another pair has what may follow it.
                terminal = terminal_at(self.lexer, state, k)
                if node_at(self.lexer, state, k) == R_EPSILON or self.rules.symbols[terminal].role >= LOOSE:
                    continue
                if terminal not in found and (among is None or terminal in among) and self.goes_on(row, state, k):
                    found.add(terminal)
        return found

    cdef bint goes_on(self, uint32_t row, uint32_t state, size_t k) except -1:
        """Return whether a sentence goes on with at least one byte of the k-th terminal of a live pair, in spite of what
        is demanded of the text."""
        cdef uint32_t terminal = terminal_at(self.lexer, state, k), node = node_at(self.lexer, state, k)
        cdef uint32_t demand = demand_at(self.lexer, state), byte, target
        cdef ByteSet seen, same
        byteset_fill(&seen, 0)
        if demand == NONE and self.rules.symbols[terminal].role in (PLAIN, COVERED):
            if not nullable(self.lexer.regexes, node) or not self.lexer.regexes.flags[node] & F_SEARCH:
                return True
            return self.lexer.regexes.next_derivative(node, &seen, &same) != R_EMPTY
        state = self.lexer.alone(state, k)
        for byte in range(256):
            if byteset_has(&seen, byte):
                continue
            if self.rules.has_demanding:
                self.n_pairs = 0
                self.push_pair(row, state)
                if self.step(self.intern_position(NO_ROW), byte, &same) != DEAD:
                    return True
            else:                                       # the demand is of a terminal that commits
                target = next_state(self.lexer, state, byte)
                same = self.lexer.transitions[self.lexer.transition(state, byte)].bytes
                if target != DEAD_STATE and self.lexer.may_end(target):
                    return True
            byteset_or(&seen, &same)
        return False

    # ---- rows ---------------------------------------------------------------------------------------------------

    cdef uint32_t next_row(self) except? 0xFFFFFFFF nogil:
        """Return the row to which the lexemes in `sources` lead: pairs of an outcome (or IGNORED) and the row at which
        it began."""
        cdef uint32_t row
        if self.sources.n == 2 and self.sources.data[0] == IGNORED:
            return self.sources.data[1]
        row = self.ends.find(self.sources.data, self.sources.n)
        if row != NONE:
            return self.row_after.data[row]
        row = self.make_row()
        reserve(<void**> &self.row_after.data, &self.row_after.capacity, self.ends.n + <size_t> 1, sizeof(uint32_t))
        self.row_after.data[self.ends.intern(self.sources.data, self.sources.n)] = row
        self.row_after.n = self.ends.n
        return row

    cdef uint32_t make_row(self) except? 0xFFFFFFFF nogil:
        cdef size_t i
        cdef uint32_t row
        self.n_rows_made += 1
        if self.sources.n == 2:
            return self.row_of_outcome(self.sources.data[0], self.sources.data[1])
        self.begin_items()
        self.accepts = False
        for i in range(0, self.sources.n, 2):
            row = self.sources.data[i + 1]
            if self.sources.data[i] == IGNORED:
                self.absorb_row(row)
                continue
            self.load_frame(self.rows, row)
            self.absorb(self.sources.data[i])
        self.absorb_pops()
        return self.row_of_items()

    cdef uint32_t row_of_outcome(self, uint32_t outcome, uint32_t row) except? 0xFFFFFFFF nogil:
        cdef const uint32_t* w
        cdef uint32_t continuation, ref, i, j
        cdef size_t at
        self.load_frame(self.rows, row)
        w = self.skeletons.outcomes.data + outcome
        # As long as the outcome only completes one older symbol, the outcome of its continuation takes its place.
        while w[O_N_ITEMS] == 0 and w[O_N_POPS] == 1 and w[O_ACCEPTS] == 0:
            continuation = self.frame.data[w[O_HEADER]]
            self.load_frame(self.continuations, continuation)
            outcome = self.skeletons.pop(shape_of(self, continuation))
            w = self.skeletons.outcomes.data + outcome
        if w[O_SKELETON] != NONE:
            self.make_continuations(outcome)
            w = self.skeletons.outcomes.data + outcome
            at = O_HEADER + 2 * w[O_N_ITEMS] + w[O_N_POPS]
            self.words.n = 0
            words_push(&self.words, w[O_SKELETON])
            for i in range(w[O_N_ARGUMENTS]):
                ref = w[at + i]
                continuation = self.frame.data[ref] if ref < NEW else self.made.data[ref ^ NEW]
                for j in range(1, self.words.n):
                    if self.words.data[j] == continuation:
                        break                           # two of its names mean the same, so the skeleton differs
                else:
                    words_push(&self.words, continuation)
                    continue
                break
            else:
                self.n_rows_static += 1
                return self.rows.intern(self.words.data, self.words.n)
        self.begin_items()
        self.accepts = False
        self.absorb(outcome)
        self.absorb_pops()
        return self.row_of_items()

    cdef int make_continuations(self, uint32_t outcome) except -1 nogil:
        """Fill `made` with the continuations for the recipes of `outcome`, over `frame`."""
        cdef const uint32_t* w = self.skeletons.outcomes.data + outcome
        cdef size_t at = O_HEADER + 2 * w[O_N_ITEMS] + w[O_N_POPS] + w[O_N_ARGUMENTS]
        cdef uint32_t i, k
        self.made.n = 0
        for i in range(w[O_N_RECIPES]):
            self.words.n = 0
            words_push(&self.words, w[at])
            for k in range(w[at + 1]):
                words_push(&self.words, self.frame.data[w[at + 2 + k]])
            words_push(&self.made, self.continuations.intern(self.words.data, self.words.n))
            at += 2 + w[at + 1]
        return 0

    cdef int load_frame(self, Sequences table, uint32_t entry) except -1 nogil:
        """Fill `frame` with the continuations of a row or of a continuation."""
        self.frame.n = 0
        return words_extend(&self.frame, sequence(table, entry) + 1, sequence_length(table, entry) - 1)

    cdef int absorb(self, uint32_t outcome) except -1 nogil:
        """Add the items of `outcome`, whose continuations are in `frame`, and note its pops."""
        cdef const uint32_t* w
        cdef uint32_t i, ref
        self.make_continuations(outcome)
        w = self.skeletons.outcomes.data + outcome
        self.accepts |= w[O_ACCEPTS] != 0
        for i in range(w[O_N_ITEMS]):
            ref = w[O_HEADER + 2 * i + 1]
            self.push_item(w[O_HEADER + 2 * i], self.frame.data[ref] if ref < NEW else self.made.data[ref ^ NEW])
        for i in range(w[O_N_POPS]):
            words_push(&self.pops, self.frame.data[w[O_HEADER + 2 * w[O_N_ITEMS] + i]])
        return 0

    cdef int absorb_pops(self) except -1 nogil:
        """Add the items that come from popping the continuations in `pops`."""
        cdef uint32_t at, i
        sort_unique(&self.pops)
        while self.pops.n:
            self.pops.n -= 1
            at = self.pop(self.pops.data[self.pops.n])
            self.accepts |= self.popped.data[at] != 0
            for i in range(self.popped.data[at + 1]):
                self.push_item(self.popped.data[at + 2 + 2 * i], self.popped.data[at + 3 + 2 * i])
        return 0

    cdef uint32_t pop(self, uint32_t continuation) except? 0xFFFFFFFF nogil:
        """Return where in `popped` the items are that completing the continuation's symbol adds to a row, with all
        further pops.

        They are computed once for each continuation, after those that it pops, so a long chain costs its length once.
        """
        cdef uint32_t goal = continuation, outcome, at, i, p
        cdef size_t outer = self.base, base = self.n_items, floor = self.pops.n
        cdef const uint32_t* w
        cdef bint accepts = self.accepts, ready
        self.base = base
        self.waiting.n = 0
        words_push(&self.waiting, goal)
        while self.waiting.n:
            continuation = self.waiting.data[self.waiting.n - 1]
            spend_steps(self.meter, 4)
            if continuation < self.popped_at.n and self.popped_at.data[continuation] != NONE:
                self.waiting.n -= 1
                continue
            outcome = self.skeletons.pop(shape_of(self, continuation))
            w = self.skeletons.outcomes.data + outcome
            ready = True
            for i in range(w[O_N_POPS]):
                p = older_at(self, continuation, w[O_HEADER + 2 * w[O_N_ITEMS] + i])
                if p >= self.popped_at.n or self.popped_at.data[p] == NONE:
                    words_push(&self.waiting, p)
                    ready = False
            if not ready:
                continue
            self.accepts = False
            self.load_frame(self.continuations, continuation)
            self.absorb(outcome)
            while self.pops.n > floor:
                self.pops.n -= 1
                at = self.popped_at.data[self.pops.data[self.pops.n]]
                self.accepts |= self.popped.data[at] != 0
                for i in range(self.popped.data[at + 1]):
                    self.push_item(self.popped.data[at + 2 + 2 * i], self.popped.data[at + 3 + 2 * i])
            self.reduce()
            if (self.popped.n ^ (self.popped.n + 2 + 2 * (self.n_items - base))) >= MANY_WORDS:
                self.look()                             # once in so many words
            while self.popped_at.n <= continuation:
                words_push(&self.popped_at, NONE)
            at = <uint32_t> self.popped.n
            words_push(&self.popped, self.accepts)
            words_push(&self.popped, <uint32_t> (self.n_items - base))
            for i in range(base, self.n_items):
                words_push(&self.popped, <uint32_t> (self.items[i] >> 32))
                words_push(&self.popped, <uint32_t> self.items[i])
            self.popped_at.data[continuation] = at
            self.n_items = base
        self.base = outer
        self.accepts = accepts
        return self.popped_at.data[goal]

    cdef uint32_t popped_row(self, uint32_t continuation) except? 0xFFFFFFFF nogil:
        cdef uint32_t at, i, row
        if continuation < self.popped_rows.n and self.popped_rows.data[continuation] != NONE:
            return self.popped_rows.data[continuation]
        self.begin_items()
        at = self.pop(continuation)
        self.accepts = self.popped.data[at] != 0
        for i in range(self.popped.data[at + 1]):
            self.push_item(self.popped.data[at + 2 + 2 * i], self.popped.data[at + 3 + 2 * i])
        row = self.row_of_items()
        while self.popped_rows.n <= continuation:
            words_push(&self.popped_rows, NONE)
        self.popped_rows.data[continuation] = row
        return row

    cdef int remember_mask(self, uint32_t position, Mask* mask) except -1 nogil:
        reserve(<void**> &self.mask_of, &self.mask_of_capacity, <size_t> position + 1, sizeof(Mask*))
        while self.n_mask_of <= position:
            self.mask_of[self.n_mask_of] = NULL
            self.n_mask_of += 1
        self.mask_of[position] = mask
        return 0

    cdef int begin_items(self) except -1 nogil:
        self.n_items = self.base = self.pops.n = 0
        return 0

    cdef int sort_items(self) except -1 nogil:
        """Sort items[base:] and drop duplicates."""
        cdef size_t i, n = self.base
        spend_steps(self.meter, 4 * (self.n_items - n))
        sort_u64(self.items + n, self.n_items - n)
        for i in range(n, self.n_items):
            if n == self.base or self.items[n - 1] != self.items[i]:
                self.items[n] = self.items[i]
                n += 1
        self.n_items = n
        return 0

    cdef int reduce(self) except -1 nogil:
        """Sort items[base:], and drop duplicates and redundant items.

        If completing `c` at once completes `d` (`c` pops `d`), everything that may follow `d` may follow `c`. Then an
        item that continues with `d` adds nothing to an item with the same dotted rule that continues with `c`. Without
        this, a right recursion with a nullable tail (list: "a" list ws) and an ambiguous one (e: e "+" e) have rows as
        long as the text. A continuation pops only older ones, so no two items make each other redundant.
        """
        cdef size_t i, n, start, end, k
        cdef uint32_t continuation, outcome, p
        cdef const uint32_t* w
        self.sort_items()
        n = start = self.base
        while start < self.n_items:
            end = start + 1
            while end < self.n_items and self.items[end] >> 32 == self.items[start] >> 32:
                end += 1
            if end == start + 1:
                self.items[n] = self.items[start]
                n += 1
            else:
                # stamps: the epoch for continuations of this group, 0 for redundant ones
                self.new_epoch()
                for i in range(start, end):
                    self.stamps[<uint32_t> self.items[i]] = self.epoch
                for i in range(start, end):
                    continuation = <uint32_t> self.items[i]
                    outcome = self.skeletons.pop(shape_of(self, continuation))
                    w = self.skeletons.outcomes.data + outcome
                    spend_steps(self.meter, 2 + w[O_N_POPS])
                    for k in range(w[O_N_POPS]):
                        p = older_at(self, continuation, w[O_HEADER + 2 * w[O_N_ITEMS] + k])
                        self.stamps[p] = 0
                for i in range(start, end):
                    if self.stamps[<uint32_t> self.items[i]] == self.epoch:
                        self.items[n] = self.items[i]
                        n += 1
            start = end
        self.n_items = n
        return 0

    cdef int absorb_row(self, uint32_t row) except -1 nogil:
        cdef uint32_t skeleton = skeleton_of(self, row)
        cdef size_t i
        self.accepts |= accepts_at(self.skeletons, skeleton)
        for i in range(n_items_of(self.skeletons, skeleton)):
            self.push_item(item_dot(self.skeletons, skeleton, i), continuation_at(self, row, item_number(self.skeletons, skeleton, i)))
        return 0

    cdef int push_item(self, uint32_t dot, uint32_t continuation) except -1 nogil:
        if exceeds(self.n_items - self.base + 1, self.meter.most_row_items):
            self.make_room()
        reserve(<void**> &self.items, &self.items_capacity, self.n_items + 1, sizeof(uint64_t))
        self.items[self.n_items] = (<uint64_t> dot << 32) | continuation
        self.n_items += 1
        return 0

    cdef int make_room(self) except -1 nogil:
        """Drop duplicates, because the limit is on different items; fail if too many remain."""
        self.sort_items()
        if exceeds(self.n_items - self.base, self.meter.most_row_items - self.meter.most_row_items // 4):
            with gil:
                self.meter.exceeded("row_items", "a row of the parser has more items")
        return 0

    cdef uint32_t row_of_items(self) except? 0xFFFFFFFF nogil:
        """Return the row of `items` and `accepts`; continuations are numbered as they appear in the sorted items."""
        cdef size_t i
        cdef uint32_t continuation, skeleton
        self.reduce()
        if self.n_items >= MANY_ITEMS:
            self.look()
        self.new_epoch()
        self.words.n = self.vector.n = 0
        words_push(&self.words, self.accepts)
        words_push(&self.vector, 0)
        for i in range(self.n_items):
            continuation = <uint32_t> self.items[i]
            if self.stamps[continuation] != self.epoch:
                self.stamps[continuation] = self.epoch
                self.locals[continuation] = <uint32_t> self.vector.n - 1
                words_push(&self.vector, continuation)
            words_push(&self.words, <uint32_t> (self.items[i] >> 32))
            words_push(&self.words, self.locals[continuation])
        skeleton = self.skeletons.skeleton(self.words.data, self.words.n)
        self.vector.data[0] = skeleton
        return self.rows.intern(self.vector.data, self.vector.n)

    cdef int new_epoch(self) except -1 nogil:
        """Clear all stamps and make room for a stamp on every continuation."""
        cdef size_t known = self.stamps_capacity
        self.epoch += 1
        if self.continuations.n > known:
            reserve(<void**> &self.locals, &self.locals_capacity, self.continuations.n, sizeof(uint32_t))
            reserve(<void**> &self.stamps, &self.stamps_capacity, self.continuations.n, sizeof(uint32_t))
            memset(self.stamps + known, 0, (self.stamps_capacity - known) * sizeof(uint32_t))
        return 0

    # ---- memory -------------------------------------------------------------------------------------------------

    cdef size_t n_words(self) noexcept nogil:
        return (self.continuations.words.n + self.rows.words.n + self.positions.words.n + self.ends.words.n
                + self.popped.n)

    cdef bint has_room(self, size_t more=0) noexcept nogil:
        cdef size_t most = self.meter.most_matcher_bytes
        return not exceeds(self.n_bytes() + self.histories.n_bytes + more, most - most // 8 if more else most)

    cdef int look(self, size_t more=0) except -1 nogil:
        if not self.has_room(more):
            with gil:
                self.meter.exceeded("matcher_bytes", "the matcher and its forks take more memory")
        return 0

    cdef size_t n_bytes(self) noexcept nogil:
        return (self.continuations.n_bytes() + self.rows.n_bytes() + self.positions.n_bytes() + self.ends.n_bytes()
                + self.n_tables * <size_t> 1024
                + (self.row_after.n + self.popped.n + self.popped_at.n + self.popped_rows.n + self.table_of.n) * sizeof(uint32_t)
                + (self.stamps_capacity + self.locals_capacity) * sizeof(uint32_t) + self.n_mask_of * sizeof(Mask*)
                + (self.items_capacity + self.pairs_capacity) * sizeof(uint64_t) + self.sentences.n_bytes())

    cdef int mark(self, uint8_t** marks) except -1 nogil:
        """Set marks[0][p], marks[1][r], marks[2][c] for positions, rows and continuations that some history reaches."""
        cdef Block* block = history_blocks(&self.histories)
        cdef size_t i, k
        marks[0][DEAD] = marks[0][FINISHED] = marks[2][0] = 1
        while block != NULL:
            for i in range(block.n):
                if entries_of(block)[i].position != FORGOTTEN:
                    marks[0][entries_of(block)[i].position] = 1
            block = block.link
        for i in range(FINISHED + 1, self.positions.n):
            if marks[0][i]:
                if row_at(self, <uint32_t> i) != NO_ROW:
                    marks[1][row_at(self, <uint32_t> i)] = 1
                for k in range(n_pairs_at(self, <uint32_t> i)):
                    marks[1][pair_row(self, <uint32_t> i, k)] = 1
        for i in range(self.rows.n):
            if marks[1][i]:
                for k in range(1, sequence_length(self.rows, <uint32_t> i)):
                    marks[2][sequence(self.rows, <uint32_t> i)[k]] = 1
        for i in range(self.continuations.n, 0, -1):
            if marks[2][i - 1]:
                for k in range(1, sequence_length(self.continuations, <uint32_t> (i - 1))):
                    marks[2][sequence(self.continuations, <uint32_t> (i - 1))[k]] = 1
        return 0

    cdef size_t n_words_reached(self) except? 0 nogil:
        """Return how many words belong to the accepted text of some matcher; all others come from mask walks or
        rollbacks."""
        cdef uint8_t* marks[3]
        cdef size_t total = 0, i
        try:
            allocate_marks(self, marks)
            self.mark(marks)
            for i in range(self.positions.n):
                total += sequence_length(self.positions, <uint32_t> i) if marks[0][i] else 0
            for i in range(self.rows.n):
                total += sequence_length(self.rows, <uint32_t> i) if marks[1][i] else 0
            for i in range(self.continuations.n):
                total += sequence_length(self.continuations, <uint32_t> i) if marks[2][i] else 0
        finally:
            free_marks(marks)
        return total

    cdef int collect(self) except -1 nogil:
        """Drop everything that no history reaches, and number the rest anew."""
        cdef uint8_t* marks[3]
        cdef uint32_t* maps[3]
        cdef Block* block
        cdef uint32_t* w
        cdef size_t i, n_popped
        with gil:                                           # a matcher that goes says so with the GIL
            history_free_dropped(&self.histories)
            if DEBUG and not history_is_sound(&self.histories):
                expect(False, "each block of a history counts its users")
        maps[0] = maps[1] = maps[2] = NULL
        try:
            allocate_marks(self, marks)
            maps[0] = <uint32_t*> malloc((<size_t> self.positions.n + 1) * sizeof(uint32_t))
            maps[1] = <uint32_t*> malloc((<size_t> self.rows.n + 1) * sizeof(uint32_t))
            maps[2] = <uint32_t*> malloc((<size_t> self.continuations.n + 1) * sizeof(uint32_t))
            if maps[0] == NULL or maps[1] == NULL or maps[2] == NULL:
                with gil:
                    raise MemoryError("collecting rows")
            self.mark(marks)
            # From here on nothing can fail. Ids keep their order, so sorted entries stay sorted.
            keep_marked(self.continuations, marks[2], maps[2])
            keep_marked(self.rows, marks[1], maps[1])
            keep_marked(self.positions, marks[0], maps[0])
            refer_anew(self.continuations, 1, 1, maps[2])
            refer_anew(self.rows, 1, 1, maps[2])
            refer_anew(self.positions, 1, 2, maps[1])
            for i in range(FINISHED + 1, self.positions.n):
                w = self.positions.words.data + self.positions.starts[i]
                if w[0] != NO_ROW:
                    w[0] = maps[1][w[0]]
            trim(self.continuations)
            trim(self.rows)
            trim(self.positions)
            block = history_blocks(&self.histories)
            while block != NULL:
                for i in range(block.n):
                    if entries_of(block)[i].position != FORGOTTEN:
                        entries_of(block)[i].position = maps[0][entries_of(block)[i].position]
                block = block.link
        finally:
            free_marks(marks)
            free(maps[0])
            free(maps[1])
            free(maps[2])
        self.table_of.n = self.positions.n
        self.ends.clear()
        rehash(self.ends)
        n_popped = self.popped.n
        words_free(&self.popped)
        self.row_after.n = self.popped_at.n = self.popped_rows.n = self.n_mask_of = 0
        self.sentences.clear()
        self.n_checked = self.n_checked_rows = self.n_checked_continuations = 0
        self.flush_tables()
        if self.stamps_capacity:
            memset(self.stamps, 0, self.stamps_capacity * sizeof(uint32_t))
        self.epoch = 0
        self.n_collections += 1
        # Pops of the remaining continuations will be computed again; this must not start another collection.
        self.collect_at = 2 * self.n_words() + n_popped
        if self.collect_at < COLLECT_WORDS:
            self.collect_at = COLLECT_WORDS
        self.hash_again()
        return 0

    cdef void mark_learned(self, uint8_t* states, uint8_t* skeletons, uint8_t* shapes) noexcept nogil:
        cdef size_t i, k
        for i in range(self.rows.n):
            skeletons[skeleton_of(self, <uint32_t> i)] = 1
        for i in range(self.continuations.n):
            shapes[shape_of(self, <uint32_t> i)] = 1
        for i in range(FINISHED + 1, self.positions.n):
            for k in range(n_pairs_at(self, <uint32_t> i)):
                states[pair_state(self, <uint32_t> i, k)] = 1

    cdef void renumber(self, const uint32_t* states, const uint32_t* skeletons, const uint32_t* shapes) noexcept nogil:
        """Change the references to the engine's tables; to be called just after `collect`, so that there are no
        others."""
        cdef size_t i, k
        cdef uint32_t* w
        for i in range(self.rows.n):
            w = self.rows.words.data + self.rows.starts[i]
            w[0] = skeletons[w[0]]
        for i in range(self.continuations.n):
            w = self.continuations.words.data + self.continuations.starts[i]
            w[0] = shapes[w[0]]
        for i in range(FINISHED + 1, self.positions.n):
            w = self.positions.words.data + self.positions.starts[i]
            for k in range(2, self.positions.starts[i + 1] - self.positions.starts[i], 2):
                w[k] = states[w[k]]                     # new ids are in the order of the old ones, so pairs stay sorted
        trim(self.rows)
        trim(self.continuations)
        trim(self.positions)

    cdef void hash_again(self) noexcept nogil:
        """To be called after `renumber`."""
        hash_again(self.rows)
        hash_again(self.continuations)
        hash_again(self.positions)

    cdef int check(self) except -1:
        cdef uint32_t i
        for i in range(<uint32_t> self.n_checked_continuations, self.continuations.n):
            words = words_of(self.continuations, i)
            expect(words[0] < self.skeletons.shapes.n, "a continuation has a shape")
            expect(max(words[1:], default=-1) < <object> i, "a continuation continues with older ones")
            shape = words_of(self.skeletons.shapes, words[0])
            expect(len(words) - 1 == len(set(shape[2::2])), "a continuation has what its shape names")
        for i in range(<uint32_t> self.n_checked_rows, self.rows.n):
            words = words_of(self.rows, i)
            expect(words[0] < self.skeletons.skeletons.n, "a row has a skeleton")
            expect(max(words[1:], default=-1) < <object> self.continuations.n, "a row refers to continuations")
            expect(len(set(words[1:])) == len(words) - 1, "a row names each continuation once")
            skeleton = words_of(self.skeletons.skeletons, words[0])
            expect(list(dict.fromkeys(skeleton[2::2])) == list(range(len(words) - 1)), "names count up as they appear")
            items = [(dot, words[1 + name]) for dot, name in zip(skeleton[1::2], skeleton[2::2])]
            expect(len(items) == len(set(items)), "no item of a row is repeated")
            expect(items == sorted(items) or self.has_variables, "the items of a row are sorted")
            expect(all([self.rules.dots.data[<uint32_t> dot] != NONE for dot, _ in items]), "the items of a row are incomplete")
            expect(skeleton[0] or len(items) > 0, "a row is not empty")
        for i in range(<uint32_t> max(self.n_checked, FINISHED + 1), self.positions.n):
            words = words_of(self.positions, i)
            pairs = list(zip(words[1::2], words[2::2]))
            expect(words[0] == <object> (<uint32_t> NO_ROW) or words[0] < self.rows.n, "a position is at a row or at none")
            expect(pairs == sorted(set(pairs)), "the pairs of a position are sorted")
            expect(all([row < self.rows.n and 0 < state < self.lexer.states.n for row, state in pairs]), "pairs are alive")
        self.n_checked, self.n_checked_rows = self.positions.n, self.rows.n
        self.n_checked_continuations = self.continuations.n
        return 0


cdef list words_of(Sequences table, uint32_t entry):
    cdef size_t i
    return [sequence(table, entry)[i] for i in range(sequence_length(table, entry))]


cdef int expect(bint holds, str what) except -1:
    if not holds:
        raise AssertionError(f"this is a bug in earleymask: an invariant does not hold: {what}")
    return 0


cdef void refer_anew(Sequences table, size_t first, size_t stride, const uint32_t* map_) noexcept nogil:
    """Replace the words first, first + stride, ... of all entries by what the map has for them."""
    cdef size_t i, k
    for i in range(table.n):
        k = table.starts[i] + first
        while k < table.starts[i + 1]:
            table.words.data[k] = map_[table.words.data[k]]
            k += stride


cdef int allocate_marks(Chart chart, uint8_t** marks) except -1 nogil:
    marks[0] = <uint8_t*> calloc(<size_t> chart.positions.n + 1, 1)
    marks[1] = <uint8_t*> calloc(<size_t> chart.rows.n + 1, 1)
    marks[2] = <uint8_t*> calloc(<size_t> chart.continuations.n + 1, 1)
    if marks[0] == NULL or marks[1] == NULL or marks[2] == NULL:
        with gil:
            raise MemoryError("marking rows")
    return 0


cdef void free_marks(uint8_t** marks) noexcept nogil:
    free(marks[0])
    free(marks[1])
    free(marks[2])


cdef int path_allocate(Path* path, size_t n_depths) except -1:
    path.positions = <uint32_t*> malloc(n_depths * sizeof(uint32_t))
    path.tables = <uint32_t*> malloc(n_depths * sizeof(uint32_t))
    if path.positions == NULL or path.tables == NULL:
        raise MemoryError("path")
    return 0


cdef void path_free(Path* path) noexcept nogil:
    free(path.positions)
    free(path.tables)

