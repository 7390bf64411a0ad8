# Families: what all regexes that differ by the bounds of one count make of the tokens below one node of the trie.

from libc.stdint cimport uint32_t

from earleymask.earley._part cimport ROOT_NODE
from earleymask.earley._tables cimport ByteSet, Map, Words, words_push
from earleymask.trie._bitmask cimport mask_allow
from earleymask.trie._trie cimport TokenTrie, node_skip

cdef enum:
    MAX_LEVEL = 16              # levels that have a bitmap
    IN_TAIL = 0x80000000        # added to a level: all repetitions have ended
    # A family takes up to 17 bitmaps, so only trie nodes with many nodes below them have families.
    # PERF: with families below every node, /[etaoinsr]{4}[^"X]{1,80}"/ took 29 MB and 85 ms.
    FAMILY_NODES = 10000

# What body{least,most} tail makes of the tokens below a node for all bounds at once. Each token repeats the body a known
# number of times; its level is the number of repetitions that it begins. In pairs, an item stands before its level.
cdef struct Family:
    uint32_t n_levels           # bitmaps
    uint32_t most               # highest level of all
    uint32_t* bits              # bitmap l: tokens that end within the repetitions and begin at most l of them
    uint32_t counts[MAX_LEVEL + 1]  # the number of these tokens
    Words deep                  # pairs: such tokens of more than MAX_LEVEL levels
    Words tokens                # pairs: tokens that end within the tail
    Words exits, open, late     # pairs: as in `Part`; a lexeme can be left in the tail only
    ByteSet live_bytes

cdef class Families:
    cdef Map family_of          # `part_key` of a trie node and a state of body* tail -> family
    cdef Family** families      # owned, but for the first ones
    cdef readonly size_t n_families
    cdef size_t n_borrowed
    cdef size_t families_capacity
    cdef size_t n_words         # of a bitmap
    cdef size_t n_bytes         # of those that are owned

    # The family of the state below the node, or NULL.
    cdef Family* find(self, uint32_t node, uint32_t state) noexcept nogil
    # Have the families of another object, which must live longer, before there are any. Their keys are not entered.
    cdef int borrow(self, Families other) except -1 nogil
    # Enter a family, which is owned by this table from then on.
    cdef int keep(self, uint32_t node, uint32_t state, Family* family) except -1 nogil


cdef Family* new_family(size_t n_words) except NULL nogil
cdef void free_family(Family* family) noexcept nogil
# Append a pair for each item.
cdef int pair_up(Words* pairs, const Words* items, const Words* levels) except -1 nogil
# Append the items of the pairs whose level is from `least` to `most`.
cdef int take_pairs(Words* items, const Words* pairs, uint32_t least, uint32_t most) except -1 nogil
# To be called when all tokens and pairs are there: each level takes in the lower ones.
cdef int close_family(Family* family, size_t n_words) except -1 nogil


cdef inline bint is_wide(TokenTrie trie, uint32_t node) noexcept nogil:
    """Return whether enough nodes are below this one for it to have families."""
    return node == ROOT_NODE or node_skip(trie.nodes[node]) >= FAMILY_NODES


cdef inline int add_token(Family* family, size_t n_words, uint32_t token, uint32_t level) except -1 nogil:
    """Add a token that is inside; its level has IN_TAIL if it ends in the tail."""
    cdef Words* pairs = &family.tokens
    family.most = max(family.most, level & ~<uint32_t> IN_TAIL)
    if level <= MAX_LEVEL:
        mask_allow(family.bits + level * n_words, token)
        family.counts[level] += 1
        family.n_levels = max(family.n_levels, level + 1)
        return 0
    if not level & IN_TAIL:
        pairs = &family.deep
    words_push(pairs, token)
    return words_push(pairs, level & ~<uint32_t> IN_TAIL)
