# Remembered answers: what the rows of a skeleton allow. Per grammar and vocabulary.

from libc.stdint cimport uint32_t, uint64_t

from earleymask.earley._bitmaps cimport Bitmaps
from earleymask.earley._chart cimport Path
from earleymask.earley._engine cimport Engine
from earleymask.earley._lexer cimport Lexer
from earleymask.earley._part cimport Exits, Part
from earleymask.earley._parts cimport Parts
from earleymask.earley._regex cimport Regexes
from earleymask.earley._rests cimport RestTrie
from earleymask.earley._rules cimport Rules
from earleymask.earley._skeletons cimport Skeletons
from earleymask.earley._tables cimport Map, Sequences, Words
from earleymask.earley._template cimport Template
from earleymask.trie._trie cimport TokenTrie, node_t

cdef enum:
    AT_ROOT = 0                 # the first list of places: the root of the trie
    FEW = 384                   # the most tokens of an answer or a mask that are a list, beside a bitmap or instead of one

# What a row of some skeleton, with a lexeme in some state, allows at some places: tokens, and questions to the rows
# from which its continuations come.
cdef struct Answer:
    const uint32_t* bits        # a bitmap, owned by `bitmaps` or by a part, or NULL; and
    uint32_t tokens             # start in `tokens`: tokens that the bitmap lacks
    uint32_t n_tokens
    uint32_t pops               # start in `pops`: i, places; the i-th continuation is complete, ask about these places
    uint32_t n_pops

# An answer that is being computed.
cdef struct Level:
    const uint32_t* shared      # the only bitmap so far, or NULL
    uint32_t* bits
    bint dense                  # bits are in use, and `shared` is not
    uint32_t position           # of the template: one live pair, the row and lexer state of the question
    Words tokens
    Words marks                 # i, trie node
    Words pops                  # i, places
    size_t n_bytes              # of these words, as they were when last counted in `level_bytes`

cdef class Answers:
    cdef Rules rules
    cdef Lexer lexer
    cdef Skeletons skeletons
    cdef Regexes regexes
    cdef TokenTrie trie
    cdef Parts parts
    cdef Template template
    cdef Words adopted              # regex node of the grammar -> of `parts`
    cdef Map part_of                # `part_key` of a trie node and a regex node of the grammar -> index in `my_parts`
    cdef Part** my_parts
    cdef size_t my_parts_capacity
    cdef RestTrie** my_rests        # by place
    cdef size_t n_rests, my_rests_capacity
    cdef size_t last_rests          # index of the trie of rests that was found last
    cdef Sequences places           # PLACES, then nodes (of the trie or of rests): tokens continue below them; or EXITS, part
    cdef Sequences questions        # skeleton, lexer state, places
    cdef Words answer_of            # per question: its entry, or NONE
    cdef Map starts                 # skeleton << 32 | places -> entry, if no lexeme has begun
    cdef Answer* entries
    cdef size_t n_entries, entries_capacity
    cdef Words tokens, pops         # of all entries
    cdef Bitmaps bitmaps            # of entries, and of their unions
    cdef Map states_without         # lexer state << 32 | terminal -> state in which this terminal cannot begin again
    cdef Map states_of_items        # lexer state << 32 | skeleton -> state of the terminals that the skeleton expects
    cdef Words items                # dotted rule -> skeleton of a row that has only this item

    # scratch
    cdef Level* levels
    cdef size_t depth, n_levels
    cdef size_t n_bitmaps           # of levels
    cdef Words waiting, state_words
    cdef Words agenda               # trie node, position of the template; of all `by_bytes` that are at work
    cdef uint64_t n_reached         # trie nodes that `by_bytes` has reached
    # Modest answers without tokens in which a COVERED terminal, or one of many that complete the same symbol, ends before
    # the token does.
    cdef bint stays
    # Which (continuation << 32 | places) have been visited. The first ones of each visit are in a list, one visit after
    # the visit that it interrupts; the others are in a map to the number of the visit.
    cdef uint64_t* visits
    cdef size_t n_visits, visits_capacity
    cdef size_t visit_start         # of the current visit
    cdef Map visited
    cdef uint32_t visit, last_visit
    cdef Path path                  # of a walk
    cdef uint64_t budget            # steps that the current mask may still take
    cdef size_t most_bytes          # limit of what `n_held` may be after it
    cdef size_t level_bytes         # of the words of all levels

    # counters
    cdef readonly uint64_t n_asked, n_answered, n_nodes

    # Begin a mask: set its budget, with nothing visited.
    cdef int begin(self) except -1 nogil
    # Return the entry of a question.
    cdef uint32_t evaluate(self, uint32_t skeleton, uint32_t state, uint32_t places) except? 0xFFFFFFFF nogil
    # Return the entry for a row at which no lexeme has begun; NONE if no lexeme can begin.
    cdef uint32_t at_start(self, uint32_t skeleton, uint32_t places) except? 0xFFFFFFFE nogil
    # Return whether the current visit has been here before, and note that it is here now.
    cdef bint is_visited(self, uint32_t continuation, uint32_t places) except -1 nogil
    cdef size_t n_bytes(self) noexcept nogil

    cdef int spend(self, uint64_t n) except -1 nogil
    cdef int look_at_memory(self) except -1 nogil
    cdef size_t n_held(self) noexcept nogil
    cdef void count_level(self, Level* level) noexcept nogil
    cdef int free_scratch(self) except -1 nogil
    cdef int new_visit(self) except -1 nogil
    cdef uint32_t work_out(self, uint32_t skeleton, uint32_t state, uint32_t places) except? 0xFFFFFFFF nogil
    cdef Level* push_level(self) except NULL nogil
    cdef int start_at(self, uint32_t skeleton, uint32_t state) except -1 nogil
    cdef int by_item(self, uint32_t skeleton, uint32_t state, uint32_t places) except -1 nogil
    cdef uint32_t item_row(self, uint32_t row, size_t i) except? 0xFFFFFFFF nogil
    cdef uint32_t item_skeleton(self, uint32_t dot) except? 0xFFFFFFFF nogil
    cdef uint32_t state_of_item(self, uint32_t state, uint32_t skeleton) except? 0xFFFFFFFF nogil
    cdef int at_place(self, uint32_t skeleton, uint32_t state, uint32_t place) except -1 nogil
    cdef bint has_bounds(self, uint32_t state) noexcept nogil
    cdef uint64_t alive_bytes(self, uint32_t position) except? 0 nogil
    cdef uint32_t first_alive(self, const node_t* nodes, uint32_t i, uint32_t end, uint32_t position) except? 0 nogil
    cdef bint by_bytes(self, uint32_t node, uint32_t position) except -1 nogil
    cdef int below_large(self, uint32_t node, uint32_t position) except -1 nogil
    cdef int below_small(self, uint32_t node, uint32_t position) except -1 nogil
    cdef int reach(self, uint32_t node, uint32_t position) except -1 nogil
    cdef uint32_t narrow_part(self, uint32_t position, uint32_t node) except? 0xFFFFFFFF nogil
    cdef int by_terminal(self, uint32_t skeleton, uint32_t state, uint32_t node) except -1 nogil
    cdef int by_alike(self, uint32_t skeleton, uint32_t state, uint32_t node) except -1 nogil
    cdef int by_regex(self, uint32_t skeleton, uint32_t terminal, uint32_t node, uint32_t regex) except -1 nogil
    cdef int at_exits(self, uint32_t skeleton, uint32_t state, Part* part) except -1 nogil
    cdef int walk_exits(self, uint32_t position, Part* part, Exits* exits) except -1 nogil
    cdef int take_list(self, const RestTrie* rests, node_t node) except -1 nogil
    cdef RestTrie* rests(self, Part* part, Exits* exits, uint32_t k) except NULL nogil
    cdef size_t rest_index(self, uint32_t place) noexcept nogil
    cdef RestTrie* rests_at(self, uint32_t place) noexcept nogil
    cdef int note_marks(self, uint32_t position, uint32_t place) except -1 nogil
    cdef int follow(self, uint32_t row, uint32_t places) except -1 nogil
    cdef int ask(self, uint32_t row, uint32_t places) except -1 nogil
    cdef int take(self, uint32_t answer, uint32_t row) except -1 nogil
    cdef int add_tokens(self, const uint32_t* bits, const uint32_t* tokens, uint32_t n_tokens) except -1 nogil
    cdef int make_dense(self, Level* level) except -1 nogil
    cdef uint32_t record(self) except? 0xFFFFFFFF nogil
    cdef int group_marks(self, Level* level) except -1 nogil
    cdef Part* part(self, uint32_t node, uint32_t regex) except NULL nogil
    cdef uint32_t state_without(self, uint32_t skeleton, uint32_t terminal) except? 0xFFFFFFFF nogil
    cdef bint scans(self, uint32_t skeleton, uint32_t terminal) except -1 nogil
    cdef int walk(self, const node_t* nodes, uint32_t i, uint32_t end, uint32_t start, uint32_t position,
                  const RestTrie* rests) except -1 nogil


# The i-th pop of an answer: the number of the continuation that is complete, and the places to ask about from there on.
cdef inline uint32_t pop_number(Answers answers, const Answer* answer, size_t i) noexcept nogil:
    return answers.pops.data[answer.pops + 2 * i]


cdef inline uint32_t pop_places(Answers answers, const Answer* answer, size_t i) noexcept nogil:
    return answers.pops.data[answer.pops + 2 * i + 1]
