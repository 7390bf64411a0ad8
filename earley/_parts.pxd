# What one regex makes of the tokens below one node of the trie. Per vocabulary, for all grammars.

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from earleymask.earley._automaton cimport Automaton, State
from earleymask.earley._part cimport Exits, Family, Part
from earleymask.earley._regex cimport Regexes
from earleymask.earley._rests cimport Rests, RestTrie
from earleymask.earley._tables cimport ByteSet, Map, Words
from earleymask.trie._quotient cimport Quotient
from earleymask.trie._trie cimport TokenTrie

cdef enum:
    ROOT_NODE = 0xFFFFFFFF      # in place of a node of the trie: the root, which is not stored
    MAX_MEMBERS = 4             # of a union whose members are asked one by one

cdef class Parts:
    cdef readonly TokenTrie trie
    cdef readonly Quotient quotient
    cdef Automaton automaton    # of all regexes met, whatever grammar they came from
    cdef Rests rests
    cdef void* lock
    cdef dict doubtful          # hashes of two regexes -> Doubtful
    cdef list users             # weak references to the `Masks` over this vocabulary
    cdef uint64_t clock         # counts calls of them
    cdef size_t limit           # bytes for them and the parts
    cdef uint64_t n_dropped     # times that parts were dropped to keep it
    cdef Map known              # trie node + 1 << 32 | regex -> part
    cdef Part** parts
    cdef size_t n_parts, parts_capacity
    cdef Map family_of          # trie node + 1 << 32 | state of body* tail -> family
    cdef Family** families
    cdef size_t n_families, families_capacity
    cdef Map bounds             # trie node + 1 << 32 | regex with the least bounds -> what is known of larger ones, see `unbounded`
    cdef size_t part_bytes
    cdef readonly uint64_t n_built, n_known, n_nodes    # parts made, parts found, nodes visited making them
    cdef readonly uint64_t n_taken_over                 # parts made, or found the same, by the differences to another one
    cdef readonly uint64_t n_unbounded                  # parts found the same as without bounds

    # scratch of `build`
    cdef uint32_t* bits
    cdef bint dense
    cdef uint32_t n_inside
    cdef Words tokens, exits, open, late
    cdef ByteSet live_bytes
    cdef uint32_t start_depth
    cdef uint32_t* path_states  # per depth: the state after that many bytes
    cdef uint32_t* path_nodes   # and the node there, of the trie or of the quotient
    cdef uint8_t* path_accepts  # a lexeme may end there
    cdef uint8_t* path_seen     # ... there or before, without the node being in `open`
    cdef uint32_t wanted_node, wanted_state     # a family that `grow` missed, or NONE
    cdef Family* counting       # the family being made, or NULL, and
    cdef uint32_t unit_state    # its state between two repetitions, which
    cdef ByteSet unit_bytes     # begin with one of these
    cdef uint32_t* path_others  # per depth: the state of the other regex that is compared with
    cdef Words gone             # first, end: nodes of the trie below which the two differ
    cdef size_t n_added         # exits that the other one does not have
    cdef uint32_t* path_levels  # per depth: repetitions begun; beyond the last one, with IN_TAIL
    cdef Words exit_levels, open_levels, late_levels
    cdef uint32_t* node_states  # per trie node; for `stamp_late`
    cdef uint32_t stamped       # the part that was stamped last

    # The part of `node` of another arena below `trie_node`. `adopted` remembers the arena's nodes. Takes the lock.
    cdef Part* part(self, uint32_t trie_node, Regexes regexes, uint32_t node, Words* adopted) except NULL nogil
    cdef int add_user(self, user) except -1
    cdef int need_live(self, Part* part) except -1 nogil
    cdef RestTrie* need_rests(self, Part* part, Exits* exits, uint32_t k) except NULL nogil

    cdef Part* find_or_build(self, uint32_t trie_node, uint32_t regex) except NULL nogil
    cdef Part* build(self, uint32_t trie_node, uint32_t regex) except? NULL nogil
    cdef Part* unbounded(self, uint32_t trie_node, uint32_t regex) except? NULL nogil
    cdef bint are_alike(self, Part* one, Part* other) except -1 nogil
    cdef bint are_same(self, const uint32_t* one, uint32_t n, const uint32_t* other, uint32_t n_other) except -1 nogil
    cdef Part* finish(self, uint32_t trie_node, uint32_t regex) except? NULL nogil
    cdef Part* build_like(self, uint32_t trie_node, uint32_t regex, Part* like) except? NULL nogil
    cdef int walk_differences(self, uint32_t trie_node, uint32_t regex, uint32_t other) except -1 nogil
    cdef int take_off(self, uint32_t node) except -1 nogil
    cdef int take_nodes(self, Words* mine, const uint32_t* nodes, uint32_t n) except -1 nogil
    cdef int grow(self, uint32_t node, uint32_t depth, uint32_t state) except -1 nogil
    cdef int walk_quotient(self, uint32_t start, uint32_t depth) except -1 nogil
    cdef int walk_members(self, uint32_t parent, uint32_t class_, uint32_t depth) except -1 nogil
    cdef int walk_trie(self, uint32_t i, uint32_t end) except -1 nogil
    cdef void note_live(self, uint32_t byte, uint32_t depth) noexcept nogil
    cdef bint is_wide(self, uint32_t node) noexcept nogil
    cdef bint is_narrow(self, uint32_t state) except -1 nogil
    cdef int enter(self, uint32_t depth, uint32_t node, uint32_t state) except -1 nogil
    cdef int leave(self, uint32_t i, uint32_t depth) except -1 nogil
    cdef int leave_group(self, uint32_t i, uint32_t depth) except -1 nogil
    cdef int note_levels(self, uint32_t level) except -1 nogil
    cdef int take_token_at(self, uint32_t token, uint32_t level) except -1 nogil
    cdef uint32_t level_by(self, uint32_t depth, uint32_t byte) noexcept nogil
    cdef Family* family(self, uint32_t trie_node, uint32_t state) noexcept nogil
    cdef int make_family(self, uint32_t trie_node, uint32_t state) except -1 nogil
    cdef int take_family(self, const Family* family, uint32_t least, uint32_t most) except -1 nogil
    cdef int start(self, uint32_t trie_node, uint32_t state) except -1 nogil
    cdef int stamp_late(self, Part* part) except -1 nogil
    cdef int make_live(self, Part* part) except -1 nogil
    cdef size_t n_bytes(self) noexcept nogil


cdef Parts parts_of(TokenTrie trie)

# The regexes whose parts, taken together, are what `regex` makes of the vocabulary: the members of a small union, so that
# what is known of a name helps with a name that may also be quoted; else itself. Returns their number.
cdef size_t union_members(Regexes regexes, uint32_t regex, uint32_t* members) noexcept nogil
