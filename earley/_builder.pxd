# Builds parts and families: one walk below a node of the trie or of its quotient. Per vocabulary.

cimport cython
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from earleymask.earley._automaton cimport MAX_ODD, Automaton
from earleymask.earley._families cimport Families, Family
from earleymask.earley._part cimport Part
from earleymask.earley._tables cimport ByteSet, Words
from earleymask.trie._quotient cimport Quotient
from earleymask.trie._trie cimport TokenTrie

cdef enum:
    MANY_DIFFERENCES = 8192     # trie nodes at which `build_like` compares two regexes before it gives up

@cython.final
cdef class Builder:
    cdef TokenTrie trie
    cdef Quotient quotient
    cdef Automaton automaton
    cdef Families families
    cdef readonly uint64_t n_nodes      # of the trie and the quotient, visited by all walks

    # What the walk has found since `start`.
    cdef uint32_t* bits         # tokens inside, if `dense`
    cdef bint dense             # bits are in use
    cdef uint32_t n_inside
    cdef Words tokens           # more tokens inside; all of them if not `dense`
    cdef Words exits, open, late    # trie nodes, as in `Part`
    cdef ByteSet live_bytes
    cdef uint32_t wanted_node, wanted_state     # a family that `grow` lacked, or NONE

    # The way down to the current node. By depth, the number of bytes of the token so far:
    cdef uint32_t start_depth
    cdef uint32_t* path_states
    cdef uint32_t* path_nodes   # of the trie or of the quotient
    cdef uint8_t* path_accepts  # a lexeme may end there
    cdef uint8_t* path_seen     # a lexeme may end there or before, at a node that is not in `open`

    # While a family is made:
    cdef Family* counting       # that family, or NULL
    cdef uint32_t unit_state    # its state between two repetitions
    cdef ByteSet unit_bytes     # the bytes with which a repetition begins
    cdef uint32_t* path_levels  # per depth: repetitions begun; with IN_TAIL after the last one
    cdef Words exit_levels, open_levels, late_levels    # of the nodes in `exits`, `open` and `late`

    # While two regexes are compared:
    cdef uint32_t* path_others  # per depth: the state of the other regex
    cdef ByteSet* path_differing    # per depth: bytes by which these two may lead to different states
    cdef Words gone             # first, end: trie nodes below which the two differ
    cdef size_t n_added         # exits that the other one does not have
    cdef Words quotes           # trie nodes with this byte; empty until needed

    # While classes of the quotient are walked as if all their bytes did what most of them do, see `walk_odd`: bits of trie
    # nodes to which the walk comes in another state than it thinks, and of those that must be walked anew; and the highest
    # of the latter: node, state above it, flags.
    cdef uint32_t* astray
    cdef uint32_t* anew
    cdef Words roots
    cdef bint has_odd           # some of these bits are set
    # Indexes of `quotient.members`, sorted by the byte of the member, NULL until needed; where each byte's begin; and where
    # the last search among them has ended.
    cdef uint32_t* places
    cdef uint32_t place_starts[257]
    cdef uint32_t cursors[256]
    # By class: a state, and the bytes of the class that do not lead from it to the usual target.
    cdef uint32_t odd_state[256]
    cdef uint8_t n_odd[256]
    cdef uint8_t odd_bytes[256][MAX_ODD]

    # Return a new part, without index and `like`; NULL if no token is inside and none leaves the lexeme.
    cdef Part* build(self, uint32_t trie_node, uint32_t regex) except? NULL nogil
    # Return the part of a regex that matches a subset of what a wider one matches, made from the part of that one, `like`,
    # and the differences. Return `like` itself if there are none; NULL if there are too many, and as `build` does.
    cdef Part* build_like(self, uint32_t trie_node, uint32_t regex, uint32_t wider, Part* like) except? NULL nogil
    cdef int make_family(self, uint32_t trie_node, uint32_t state) except -1 nogil

    cdef int start(self, uint32_t trie_node, uint32_t state) except -1 nogil
    cdef Part* finish(self, uint32_t trie_node, uint32_t regex) except? NULL nogil
    cdef int grow(self, uint32_t node, uint32_t depth, uint32_t state) except -1 nogil
    cdef int walk_quotient(self, uint32_t start, uint32_t depth) except -1 nogil
    cdef int walk_odd(self, uint32_t i, uint32_t depth, uint32_t usual) except -1 nogil
    cdef int list_places(self) except -1 nogil
    cdef uint32_t first_place(self, uint32_t byte, uint32_t least) noexcept nogil
    cdef void list_odd(self, uint32_t class_, uint32_t state, const uint32_t* row, uint32_t usual) noexcept nogil
    cdef size_t n_bytes(self) noexcept nogil
    cdef int go_astray(self, uint32_t node, uint32_t target, uint32_t usual) except -1 nogil
    cdef int note_root(self, uint32_t node, uint32_t depth) except -1 nogil
    cdef int walk_anew(self, size_t n_exits, size_t n_open, size_t n_late) except -1 nogil
    cdef void keep_others(self, Words* nodes, size_t first) noexcept nogil
    cdef void forget_odd(self, uint32_t start, uint32_t end) noexcept nogil
    cdef int walk_members(self, uint32_t group, uint32_t depth) except -1 nogil
    cdef int walk_trie(self, uint32_t i, uint32_t end) except -1 nogil
    cdef int enter(self, uint32_t depth, uint32_t node, uint32_t state) except -1 nogil
    cdef int leave(self, uint32_t i, uint32_t depth) except -1 nogil
    cdef int leave_group(self, uint32_t i, uint32_t depth) except -1 nogil
    cdef void note_live(self, uint32_t byte, uint32_t depth) noexcept nogil
    cdef uint32_t level_by(self, uint32_t depth, uint32_t byte) noexcept nogil
    cdef int note_levels(self, uint32_t level) except -1 nogil
    cdef int take_family(self, const Family* family, uint32_t least, uint32_t most) except -1 nogil
    cdef int walk_differences(self, uint32_t trie_node, uint32_t regex, uint32_t other) except -1 nogil
    cdef int walk_ends(self, uint32_t trie_node, uint32_t other) except -1 nogil
    cdef int list_quotes(self) except -1 nogil
    cdef int find_differing(self, uint32_t depth) except -1 nogil
    cdef int take_off(self, uint32_t node) except -1 nogil
    cdef int take_nodes(self, Words* mine, const uint32_t* nodes, uint32_t n) except -1 nogil
