# What one regex makes of the tokens below one node of the trie. Per vocabulary, for all grammars.

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from earleymask.earley._automaton cimport Automaton, State
from earleymask.earley._regex cimport Regexes
from earleymask.earley._rests cimport Rests, RestTrie
from earleymask.earley._tables cimport ByteSet, Map, Words
from earleymask.trie._quotient cimport Quotient
from earleymask.trie._trie cimport TokenTrie

cdef enum:
    ROOT_NODE = 0xFFFFFFFF      # in place of a node of the trie: the root, which is not stored
    MAX_LEVEL = 16              # repetitions up to which a family keeps bitmaps
    MAX_MEMBERS = 4             # of a union whose members are asked one by one

# Trie nodes sorted by their byte: those of bytes[i] are nodes[starts[i]:starts[i + 1]].
cdef struct Exits:
    uint32_t n
    uint32_t n_bytes
    uint32_t* nodes
    uint8_t* bytes
    uint32_t* starts
    RestTrie** rests            # by byte: what follows there, merged; NULL until needed

# Sets of bytes in one word, where a byte may stand for three others: two of them that share none have no byte in common.
cdef inline uint64_t folded(uint32_t byte) noexcept nogil:
    return <uint64_t> 1 << (byte & 63)

cdef struct Part:
    uint32_t node               # of the trie, or ROOT_NODE
    uint32_t regex
    uint32_t index
    uint32_t n_tokens           # inside: tokens after which the regex may still match
    uint32_t* bits              # these as a bitmap, or NULL and
    uint32_t* tokens            # as ascending ids
    # Where a token leaves the lexeme after a prefix that the regex matches:
    Exits exits                 # entered nodes, by which the regex dies
    uint32_t n_open             # matched nodes that may go on with any of their children: many nodes die below them
    uint32_t* open
    uint64_t* open_bytes        # by which bytes each of them goes on, as in `folded`
    # Later than it might: nodes after a matched one by which the regex goes on, to die further down.
    uint32_t n_late             # nodes where it dies; `live` is made from them when first asked for
    uint32_t* late
    ByteSet live_bytes          # that nodes in `live` can have
    bint live_made
    Exits live
    Part* like                  # or NULL: where that one has as many exits for a byte, their rests are the same

# What body{least,most} tail makes of the tokens below a node for all bounds at once, body being repeated a known number of
# times in each token. A level is the number of repetitions that a token begins; in pairs an item stands before its level.
cdef struct Family:
    uint32_t n_levels           # bitmaps
    uint32_t most               # highest level of all
    uint32_t* bits              # bitmap l: tokens within the repetitions that begin at most l of them
    uint32_t counts[MAX_LEVEL + 1]  # their number
    Words deep                  # pairs: such tokens of more than MAX_LEVEL levels
    Words tokens                # pairs: tokens that end within the tail
    Words exits, open, late     # pairs: as in `Part`, all after some of the tail
    ByteSet live_bytes

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

# For those who take up what was saved (`_records`).
cdef void free_part(Part* part) noexcept nogil
cdef int set_open(Part* part, TokenTrie trie, const uint32_t* nodes, uint32_t n) except -1 nogil
cdef int group_by_byte(Exits* exits, TokenTrie trie, const Words* nodes) except -1 nogil

# The regexes whose parts, taken together, are what `regex` makes of the vocabulary: the members of a small union, so that
# what is known of a name helps with a name that may also be quoted; else itself. Returns their number.
cdef size_t union_members(Regexes regexes, uint32_t regex, uint32_t* members) noexcept nogil
