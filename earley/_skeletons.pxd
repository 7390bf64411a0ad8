# Rows without their stack, and what a terminal makes of them.

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from earleymask.earley._lexer cimport Lexer
from earleymask.earley._rules cimport Rules
from earleymask.earley._tables cimport Map, Sequences, Words, sequence, sequence_length

# A *ref* says with which continuation an item continues when it is complete:
#   i (< NEW)    the i-th continuation of the row (or of the continuation) that is being extended
#   NEW | j      a continuation that this row makes: for its j-th predicted symbol, or, in an outcome, by its j-th recipe
cdef enum:
    NEW = 0x80000000

cdef struct Item:
    uint32_t dot                # dotted rule
    uint32_t ref

cdef struct Scan:
    uint32_t symbol             # terminal or special token after the dot
    uint32_t dot                # with the dot moved on
    uint32_t ref

# What prediction makes of a skeleton. Indexed by j: predicted nonterminals.
cdef struct Closure:
    uint32_t n_predicted
    uint32_t n_scans
    uint32_t n_waiters
    uint32_t start_state        # lexer state in which a lexeme begins here
    uint32_t n_reach            # words of one row of `reach`
    uint32_t* symbols           # [j] nonterminal
    uint32_t* refs              # [j] with which it continues when complete: NEW | j, or, by a tail call, something older
    uint32_t* waiters_starts    # [j] its waiters are waiters[waiters_starts[j]:waiters_starts[j + 1]]
    Item* waiters               # items with the symbol after the dot
    uint32_t* reach             # [j * n_reach] bits: kernel items from which it is predicted, directly or indirectly
    Scan* scans                 # sorted by symbol

# An outcome: what a row becomes by a terminal, or what a continuation becomes when its symbol is complete. Words in
# `outcomes`:
cdef enum:
    O_ACCEPTS               # 1: a sentence may end here
    O_N_ITEMS
    O_N_POPS
    O_N_RECIPES
    O_SKELETON              # the next skeleton, if it depends on nothing else (no pops, each dot once); else NONE
    O_N_ARGUMENTS           # number of its continuations
    O_HEADER                # then: items (dot, ref), pops (i), arguments (ref), recipes (shape, n, i ...)

cdef class Skeletons:
    cdef Rules rules
    cdef Lexer lexer
    cdef Sequences skeletons    # accepts, then (dot, i) ... sorted: a row with its continuations renamed 0, 1, ...
    cdef Closure** closures     # per skeleton; NULL until first needed
    cdef size_t closures_capacity
    cdef Map transitions        # skeleton << 32 | symbol -> outcome
    cdef Words outcomes
    cdef Sequences shapes       # symbol, then (dot, i) ...: a continuation with its continuations renamed
    cdef Words shape_origins    # per shape: skeleton, j: its waiters are those of predicted symbol j there
    cdef Words shape_outcomes   # per shape: outcome of popping it, or NONE
    cdef uint32_t variable_shape    # shape of a variable of a template: popping it leaves a mark (`_template`)
    cdef uint32_t nothing           # the empty outcome
    cdef readonly size_t n_closures, n_outcomes, closure_bytes

    cdef uint32_t* marks        # scratch: symbol -> j, valid where marks_epoch matches
    cdef uint32_t* marks_epoch
    cdef size_t marks_capacity, marks_epoch_capacity
    cdef uint32_t epoch
    cdef Words raw_waiters          # scratch: j, dot, source; a source is the index of a kernel item or NEW | j
    cdef Words raw_scans            # scratch: symbol, dot moved on, source
    cdef Words predicted, agenda, completed, pops, recipes, renamed, words
    cdef Map seen                   # scratch: dot << 32 | ref of an item -> the outcome (by number) that last noted it
    cdef uint32_t seen_epoch
    cdef uint64_t* keys             # scratch for sorting
    cdef size_t n_keys, keys_capacity

    cdef uint32_t skeleton(self, const uint32_t* words, size_t n) except? 0xFFFFFFFF nogil
    cdef Closure* closure(self, uint32_t skeleton) except NULL nogil
    # Return the outcome of scanning `symbol`; NONE if the skeleton does not expect it.
    cdef uint32_t scan(self, uint32_t skeleton, uint32_t symbol) except? 0xFFFFFFFE nogil
    # Return whether the skeleton expects `symbol`.
    cdef bint scans(self, uint32_t skeleton, uint32_t symbol) except -1 nogil
    # If scanning `symbol` does nothing but complete one nonterminal, return a number for the latter; else NONE. Terminals
    # with the same number have the same outcome.
    cdef uint32_t completed_by(self, uint32_t skeleton, uint32_t symbol) except? 0xFFFFFFFE nogil
    # As `scan`, for a followed terminal; `dot` is the dotted rule after its lexeme (`Rules.follow_dot`).
    cdef uint32_t scan_followed(self, uint32_t skeleton, uint32_t symbol, uint32_t dot) except? 0xFFFFFFFE nogil
    cdef uint32_t gather_scans(self, const Closure* closure, uint32_t symbol) except? 0xFFFFFFFF nogil
    cdef uint32_t pop(self, uint32_t shape) except? 0xFFFFFFFF nogil
    cdef uint32_t add_shape(self, const uint32_t* words, size_t n, uint32_t skeleton, uint32_t j) except? 0xFFFFFFFF nogil
    cdef Closure* predict(self, uint32_t skeleton) except NULL nogil
    cdef int see(self, uint32_t dot, uint32_t source) except -1 nogil
    cdef Closure* allocate(self, uint32_t n_kernel) except NULL nogil
    cdef int lay_out(self, Closure* closure, const uint32_t* kernel) except -1 nogil
    cdef uint32_t ref_of(self, const Closure* closure, const uint32_t* kernel, uint32_t source) noexcept nogil
    cdef uint32_t tail_call(self, const Closure* closure, const uint32_t* kernel, uint32_t j) noexcept nogil
    cdef uint32_t first_state(self, const Closure* closure) except? 0xFFFFFFFF nogil
    cdef uint32_t rename(self, uint32_t ref) except? 0xFFFFFFFF nogil
    cdef uint32_t found(self, const Words* words, uint32_t word) except? 0xFFFFFFFF nogil
    cdef uint32_t work_out(self, Closure* closure, uint32_t skeleton) except? 0xFFFFFFFF nogil
    cdef int add_recipe(self, const Closure* closure, uint32_t skeleton, uint32_t j) except -1 nogil
    cdef int add_variable(self) except -1
    cdef size_t n_bytes(self) noexcept nogil
    cdef size_t n_learned_bytes(self) noexcept nogil    # with those of the lexer and its regexes
    cdef int look(self) except -1 nogil         # fails if what was learned about the grammar takes too much memory
    # Drop the skeletons and shapes that are not marked, and all closures and outcomes. `hash_again` for both is to follow.
    cdef void mark(self, uint8_t* skeletons, const uint8_t* shapes) noexcept nogil
    cdef int collect(self, const uint8_t* skeletons, uint32_t* skeleton_map, const uint8_t* shapes,
                     uint32_t* shape_map) noexcept nogil
    cdef uint32_t n_base_skeletons, n_base_shapes
    cdef size_t n_base_outcomes
    # Return the shape of the continuation of the i-th variable's mark. It distinguishes marks and is never popped.
    cdef uint32_t base_shape(self, uint32_t i) except? 0xFFFFFFFF nogil

cdef enum:
    ROOT_SHAPE = 0              # shape of the continuation of the start symbol: popping it ends the sentence


# Whether a sentence may end at a row of this skeleton.
cdef inline bint accepts_at(Skeletons skeletons, uint32_t skeleton) noexcept nogil:
    return sequence(skeletons.skeletons, skeleton)[0]


# A skeleton has n_items_of items. Each is a dotted rule and the number of the row's continuation with which it continues.
cdef inline size_t n_items_of(Skeletons skeletons, uint32_t skeleton) noexcept nogil:
    return sequence_length(skeletons.skeletons, skeleton) // 2


cdef inline uint32_t item_dot(Skeletons skeletons, uint32_t skeleton, size_t i) noexcept nogil:
    return sequence(skeletons.skeletons, skeleton)[1 + 2 * i]


cdef inline uint32_t item_number(Skeletons skeletons, uint32_t skeleton, size_t i) noexcept nogil:
    return sequence(skeletons.skeletons, skeleton)[2 + 2 * i]


# The lexer state in which a lexeme begins at a row of this skeleton, without what followed terminals remember.
cdef inline uint32_t start_state_of(Skeletons skeletons, uint32_t skeleton) except? 0xFFFFFFFF nogil:
    return skeletons.closure(skeleton).start_state


# The i of `base_shape(i)`.
cdef inline uint32_t base_shape_index(Skeletons skeletons, uint32_t shape) noexcept nogil:
    return sequence(skeletons.shapes, shape)[1]
