# Rows, continuations and positions of one sequence and its forks.

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from earleymask.earley._engine cimport Engine
from earleymask.earley._history cimport Histories
from earleymask.earley._lexer cimport Lexer
from earleymask.earley._locks cimport n_forks
from earleymask.earley._meter cimport Meter
from earleymask.earley._rules cimport Rules
from earleymask.earley._skeletons cimport Skeletons
from earleymask.earley._tables cimport ByteSet, Map, Sequences, Words, sequence, sequence_length

cdef enum:
    DEAD = 0                    # position: no sentence begins like this
    FINISHED = 1                # position: an EOS token has been accepted
    UNKNOWN = 0xFFFFFFFF        # in a table: this transition has not been computed
    NO_ROW = 0xFFFFFFFF         # in a position: no lexeme ends here
    NO_TABLE = 0xFFFFFFFF       # in `table_of`: no transition of the position is remembered
    MET = 0xFFFFFFFE            # the same, but a sequence has been here: the next visit makes the table
    MAX_TABLES = 4096           # tables that a chart may have, 1 KB each; beyond this all are flushed

# A remembered mask: text tokens only, duplicates included.
cdef struct Mask:
    const uint32_t* bits        # words of a bitmap, or NULL; and
    uint32_t* tokens            # ids that the bitmap lacks, ascending
    uint32_t n_tokens

# The way down a trie: by depth, the position there and the offset of its table in `tables`.
cdef struct Path:
    uint32_t* positions
    uint32_t* tables

cdef int path_allocate(Path* path, size_t n_depths) except -1
cdef void path_free(Path* path) noexcept nogil

# How a mask was made.
cdef enum:
    MASK_KNOWN              # the position's mask was remembered
    MASK_UNION_KNOWN        # the same answers had been united before
    MASK_ANSWERS_KNOWN      # all answers were known
    MASK_PARTS_KNOWN        # all parts and lexer states were known
    MASK_NEW_STATE          # all parts were known
    MASK_NEW_PART           # a part or rests had to be made
    MASK_WALKED             # by the merged walk, because answers took too much work or memory
    N_MASK_KINDS

cdef class Chart:
    cdef object __weakref__
    cdef Engine engine
    cdef Meter meter                # the engine's
    cdef Rules rules                # the engine's
    cdef Lexer lexer
    cdef Skeletons skeletons
    cdef Sequences continuations    # shape, continuations ...: those of lower id
    cdef Sequences rows             # skeleton, continuations ...
    # A position: the row at which a lexeme ends here (or NO_ROW), then the live pairs (row, lexer state) sorted. A
    # pair says: a lexeme began at the row and its bytes so far lead the lexer to the state.
    cdef Sequences positions
    # Which lexemes ended at one byte, and at which rows they began (as in `sources`), remembered with the row to which
    # they lead: a name that may end after each of its letters leads to the same row every time.
    cdef Sequences ends
    cdef Words row_after            # per entry of `ends`
    cdef Words table_of             # per position: its table, or NO_TABLE, or MET
    # What popping a continuation adds to a row: accepts, number of items, items (dot, continuation) ...
    cdef Words popped
    cdef Words popped_at            # per continuation: where in `popped`, or NONE; may be shorter than there are
    cdef Words popped_rows          # per continuation: the row that popping it alone leads to, or NONE; may be shorter
    cdef Mask** mask_of             # per position: its mask, or NULL; owned by `_masks`
    cdef size_t n_mask_of, mask_of_capacity
    cdef uint64_t mask_generation   # of the masks in `mask_of`
    cdef bint busy                  # a call is running that may change something, maybe without the GIL
    cdef size_t n_claims            # of its matchers are claimed by batches, which may begin such a call at any time
    cdef size_t claimed_in          # `n_forks` at that time
    cdef uint32_t* tables           # tables[table * 256 + byte]: the next position, DEAD or UNKNOWN
    cdef size_t n_tables, max_tables, tables_capacity
    cdef Histories histories        # of its matchers: their positions must survive `collect`
    cdef size_t collect_at          # a collection starts when more words are kept

    # scratch
    cdef uint64_t* items            # of the row being made: dotted rule << 32 | continuation
    cdef size_t n_items, items_capacity
    cdef size_t base                # items before it belong to callers of the current `pop`
    cdef bint accepts
    cdef uint32_t* stamps           # per continuation: epoch in which it was last met
    cdef uint32_t* locals           # and the number that it got then
    cdef size_t stamps_capacity, locals_capacity
    cdef uint32_t epoch
    cdef Words pops, frame, made, words, vector, sources, waiting
    cdef Words obliged              # as `sources`, each preceded by what is demanded of the text after it
    cdef Words begun                # rows at which lexemes begin, each with what is demanded of them (or NONE), for `commit`
    cdef Words arrived              # rows at which lexemes begin after the last `step_unchecked`
    cdef uint32_t barrier           # what the last `commit` demanded of lexemes that do not commit, or NONE
    cdef Words searched             # positions, by `leads_to_sentence`
    cdef Words depths               # of these: the bytes from the first one
    cdef Map sentences              # position of which only demands are known -> whether it leads to a sentence
    cdef Words named                # argument of `step_named`
    cdef uint64_t* pairs
    cdef size_t n_pairs, pairs_capacity

    # counters
    cdef readonly uint64_t n_steps          # steps by a byte that were computed (all others were looked up)
    cdef readonly uint64_t n_rows_made      # rows computed, new or met before
    cdef readonly uint64_t n_rows_static    # rows computed by a remembered skeleton only
    cdef readonly uint64_t n_collections, n_flushes
    cdef uint64_t n_masks[N_MASK_KINDS]
    cdef uint64_t n_nodes           # trie nodes that masks have visited

    # Return the position after `byte`; set `same` to bytes that lead to the same position.
    cdef uint32_t step(self, uint32_t position, uint32_t byte, ByteSet* same) except? 0xFFFFFFFF nogil
    # The same, though the position may not lead to a sentence, because the text cannot be what lookaheads demand of it.
    cdef uint32_t step_unchecked(self, uint32_t position, uint32_t byte, ByteSet* same) except? 0xFFFFFFFF nogil
    # Return the position after the lexemes in `sources` and in `obliged`.
    cdef uint32_t demand_after(self, uint32_t state, uint32_t terminal) except? 0xFFFFFFFE nogil
    cdef uint32_t position_after_demands(self) except? 0xFFFFFFFF nogil
    cdef int commit(self) except -1 nogil
    # Return whether a sentence may end at the position, or a special token may come.
    cdef bint may_end(self, uint32_t position) except -1 nogil
    # Return whether the position leads to a sentence, if that can be seen without reading on.
    cdef bint plainly_leads_on(self, uint32_t position) except -1 nogil
    cdef uint32_t effort(self, uint32_t position) noexcept nogil
    cdef bint leads_to_sentence(self, uint32_t position) except -1 nogil
    # The same by the position's table, which the second visit makes. May flush the tables.
    cdef uint32_t advance(self, uint32_t position, uint32_t byte) except? 0xFFFFFFFF nogil
    cdef uint32_t fill(self, uint32_t position, uint32_t table, uint32_t byte) except? 0xFFFFFFFF nogil
    # Return the table of a position, made if there is room; NO_TABLE if the tables must be flushed first. May move all
    # tables to another address.
    cdef uint32_t table(self, uint32_t position) noexcept nogil
    cdef bint grow_tables(self) noexcept nogil
    cdef void flush_tables(self) noexcept nogil
    # Put the position on a path, which begins at depth `start`, and return the offset of its table. May flush the
    # others, and move all of them to another address.
    cdef uint32_t enter(self, Path* path, uint32_t start, uint32_t depth, uint32_t position) except? 0xFFFFFFFF nogil
    # Return the position after a token that may be any of the symbols in `named`, and whose bytes lead to `spelled`
    # (maybe DEAD).
    cdef uint32_t step_named(self, uint32_t position, uint32_t spelled) except? 0xFFFFFFFF nogil
    cdef bint expects_special(self, uint32_t position, uint32_t symbol) except -1 nogil
    cdef bint is_accepting(self, uint32_t position) noexcept nogil
    cdef set terminals_at(self, uint32_t position, among=*)
    cdef bint goes_on(self, uint32_t row, uint32_t state, size_t k) except -1
    cdef int start_afresh(self) except -1
    cdef uint32_t initial(self) except? 0xFFFFFFFF nogil
    cdef int collect(self) except -1 nogil
    # For debug builds: raise AssertionError if anything made since the last check breaks an invariant.
    cdef int check(self) except -1
    cdef bint has_variables         # a Template: its rows are sorted like the rows for which they stand
    cdef size_t n_checked           # positions that `check` has seen, then rows and continuations
    cdef size_t n_checked_rows
    cdef size_t n_checked_continuations
    cdef size_t n_words(self) noexcept nogil
    cdef size_t n_bytes(self) noexcept nogil        # of everything but the histories
    # Return whether the matcher and its forks keep to their bound on memory; `look` fails otherwise. If histories are to take
    # `more` bytes, which no collection drops, an eighth must be left, so that masks can still be made.
    cdef bint has_room(self, size_t more=*) noexcept nogil
    cdef int look(self, size_t more=*) except -1 nogil
    cdef size_t n_words_reached(self) except? 0 nogil

    # `mark_learned` marks the entries of the engine's tables to which rows, continuations and positions refer;
    # `renumber` changes these references.
    cdef void mark_learned(self, uint8_t* states, uint8_t* skeletons, uint8_t* shapes) noexcept nogil
    cdef void renumber(self, const uint32_t* states, const uint32_t* skeletons, const uint32_t* shapes) noexcept nogil
    cdef void hash_again(self) noexcept nogil
    cdef int mark(self, uint8_t** marks) except -1 nogil
    cdef uint32_t position_of(self, uint32_t row) except? 0xFFFFFFFF nogil
    cdef uint32_t without_memory(self, uint32_t position) except? 0xFFFFFFFF nogil
    cdef uint32_t start_state(self, uint32_t row) except? 0xFFFFFFFF nogil
    cdef uint32_t scan_followed(self, uint32_t row, uint32_t state, uint32_t terminal) except? 0xFFFFFFFE nogil
    cdef uint32_t next_row(self) except? 0xFFFFFFFF nogil
    cdef uint32_t make_row(self) except? 0xFFFFFFFF nogil
    cdef uint32_t row_of_outcome(self, uint32_t outcome, uint32_t row) except? 0xFFFFFFFF nogil
    cdef uint32_t row_of_items(self) except? 0xFFFFFFFF nogil
    cdef int absorb(self, uint32_t outcome) except -1 nogil
    cdef int absorb_pops(self) except -1 nogil
    cdef uint32_t popped_row(self, uint32_t continuation) except? 0xFFFFFFFF nogil
    cdef int push_pair(self, uint32_t row, uint32_t state) except -1 nogil
    cdef int remember_mask(self, uint32_t position, Mask* mask) except -1 nogil
    cdef uint32_t pop(self, uint32_t continuation) except? 0xFFFFFFFF nogil
    cdef int load_frame(self, Sequences table, uint32_t entry) except -1 nogil
    cdef int begin_items(self) except -1 nogil
    cdef int sort_items(self) except -1 nogil
    cdef int reduce(self) except -1 nogil
    cdef int absorb_row(self, uint32_t row) except -1 nogil
    cdef int make_continuations(self, uint32_t outcome) except -1 nogil
    cdef int new_epoch(self) except -1 nogil
    cdef int push_item(self, uint32_t dot, uint32_t continuation) except -1 nogil
    cdef int make_room(self) except -1 nogil
    cdef uint32_t intern_position(self, uint32_t row) except? 0xFFFFFFFF nogil


# Count a mask that was made in one of the ways MASK_KNOWN to MASK_WALKED.
cdef inline void count_mask(Chart chart, size_t way) noexcept nogil:
    chart.n_masks[way] += 1


# Whether a thread that has the GIL may look into the chart without the engine's lock.
cdef inline bint is_still(Chart chart) noexcept:
    return not chart.busy and (chart.n_claims == 0 or chart.claimed_in != n_forks)


# From now on, threads need the lock to look into the chart, until `give_chart_back` is called as often as this.
cdef inline void claim_chart(Chart chart) noexcept:
    if chart.claimed_in != n_forks:                         # by threads that have not come along into this child
        chart.n_claims = 0
    chart.claimed_in = n_forks
    chart.n_claims += 1


cdef inline void give_chart_back(Chart chart) noexcept:
    chart.n_claims -= 1


# The row at which a lexeme ends at a position, or NO_ROW.
cdef inline uint32_t row_at(Chart chart, uint32_t position) noexcept nogil:
    return sequence(chart.positions, position)[0]


# The live pairs of a position: the row at which the lexeme began, and the lexer state that its bytes lead to.
cdef inline size_t n_pairs_at(Chart chart, uint32_t position) noexcept nogil:
    return sequence_length(chart.positions, position) // 2


cdef inline uint32_t pair_row(Chart chart, uint32_t position, size_t i) noexcept nogil:
    return sequence(chart.positions, position)[1 + 2 * i]


cdef inline uint32_t pair_state(Chart chart, uint32_t position, size_t i) noexcept nogil:
    return sequence(chart.positions, position)[2 + 2 * i]


cdef inline uint32_t skeleton_of(Chart chart, uint32_t row) noexcept nogil:
    return sequence(chart.rows, row)[0]


# The row's i-th continuation, as the items of its skeleton number them.
cdef inline uint32_t continuation_at(Chart chart, uint32_t row, size_t i) noexcept nogil:
    return sequence(chart.rows, row)[1 + i]


cdef inline uint32_t shape_of(Chart chart, uint32_t continuation) noexcept nogil:
    return sequence(chart.continuations, continuation)[0]


# The i-th of the continuations with which a continuation continues; all of them are older than it.
cdef inline uint32_t older_at(Chart chart, uint32_t continuation, size_t i) noexcept nogil:
    return sequence(chart.continuations, continuation)[1 + i]
