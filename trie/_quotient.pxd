"""A token trie with bytes merged into classes: the tables from which masks of whole parts of the trie are made.

Two nodes of the trie are merged if the paths to them have equal classes, byte by byte. If all bytes of a class act alike,
as most bytes do within an identifier or a string, walking the quotient does the work of walking the trie.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from ._trie cimport TokenTrie

cdef enum:
    NO_NODE = 0xFFFFFFFF            # no such node, no such bitmap; as an argument of `child` the root
    MAX_CLASSES = 255               # so that 0xFF is no class
    MAX_BITMAPS = 64                # nodes with a bitmap; one takes 16 KB with 131,072 ids
    MAX_WIDE = 256                  # lists in `wide`: their numbers have 8 bits in `wide_of`


cdef class Quotient:
    cdef readonly TokenTrie trie
    cdef readonly uint32_t n_classes            # byte classes, numbered in order of their smallest bytes
    cdef uint8_t class_of[256]                  # byte -> class
    cdef uint64_t class_bytes[256][4]           # class -> set of bytes (bit b & 63 of word b >> 6)
    cdef uint8_t class_first[256]               # class -> its smallest byte

    # By quotient node: depth first, the root not stored, siblings in order of class. All arrays are owned.
    cdef readonly uint32_t n_nodes
    cdef uint32_t* skips            # nodes in this subtree, itself included
    cdef uint16_t* depths           # children of the root have 1
    cdef uint16_t* heights          # the most bytes that follow in a token below any of the merged nodes
    cdef uint8_t* classes           # class of the edge into this node
    cdef uint32_t* token_starts     # n_nodes + 1: the tokens that end here are tokens[token_starts[i]:token_starts[i + 1]]
    cdef uint32_t* tokens           # ascending within a node; of duplicates only the representative, as in the trie
    cdef uint32_t* member_starts    # n_nodes + 1: members[member_starts[i]:member_starts[i + 1]] are merged here; at least one
    cdef uint32_t* members          # indexes of trie nodes, ascending within a node
    cdef uint32_t* sizes            # trie nodes in the subtrees of all members: the sum of their skips
    cdef uint32_t* bitmap_of        # index of the bitmap of the tokens that end here, or NO_NODE; the nodes with most tokens have one
    cdef uint32_t* bitmaps          # bitmap k is bitmaps[k * trie.n_words:(k + 1) * trie.n_words]
    cdef readonly uint32_t n_bitmaps

    # By trie node.
    cdef uint32_t* parents          # NO_NODE for children of the root
    cdef uint32_t* quotient_of      # the quotient node into which it was merged
    cdef uint16_t* heights_of       # the most bytes that follow below the node in a token
    cdef uint8_t* wide_of           # which list of `wide` holds its children; 0: none, go from sibling to sibling
    cdef uint32_t* wide             # children by byte, or NO_NODE: wide[wide_of[i] << 8 | byte]; list 0 is the root's
    cdef readonly uint32_t n_wide   # lists in `wide`
    cdef uint32_t below_higher[256] # by height, as in `n_below_higher`

    # Return how many trie nodes have a parent that is higher than this: below which more bytes follow in a token.
    cdef uint32_t n_below_higher(self, uint32_t height) noexcept nogil
    # Return the child of a TRIE node (NO_NODE: of the root) by this byte, or NO_NODE.
    cdef uint32_t child(self, uint32_t node, uint32_t byte) noexcept nogil
    cdef size_t n_bytes(self)

    cdef int _set_classes(self, class_of) except -1
    cdef int _allocate(self) except -1
    cdef int _group(self) except -1
    cdef int _take(self, arrays) except -1
    cdef const char* _recognize(self) noexcept nogil
    cdef int _complete(self) except -1
    cdef int _list_tokens(self) except -1
    cdef int _make_bitmaps(self) except -1
    cdef int _index_children(self) except -1
    cdef int _measure_heights(self) except -1


# The trie nodes that were merged into a node, ascending, and how many they are.
cdef inline const uint32_t* members_of(Quotient quotient, uint32_t node) noexcept nogil:
    return quotient.members + quotient.member_starts[node]


cdef inline uint32_t n_members(Quotient quotient, uint32_t node) noexcept nogil:
    return quotient.member_starts[node + 1] - quotient.member_starts[node]


# The tokens that end at a node, ascending, and how many they are.
cdef inline const uint32_t* tokens_of(Quotient quotient, uint32_t node) noexcept nogil:
    return quotient.tokens + quotient.token_starts[node]


cdef inline uint32_t n_tokens_of(Quotient quotient, uint32_t node) noexcept nogil:
    return quotient.token_starts[node + 1] - quotient.token_starts[node]
