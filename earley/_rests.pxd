# Rests: how tokens continue after they have left a lexeme.

from libc.stdint cimport uint32_t, uint64_t

from earleymask.earley._tables cimport Words
from earleymask.trie._trie cimport TokenTrie, node_t

# The rests that begin with one byte, as a trie of their own. Its nodes are packed like those of the vocabulary's trie,
# but in place of a token's id plus one they have the index plus one of a list of tokens, because many tokens end with
# the same rest.
cdef struct RestTrie:
    uint32_t base               # its node i is the place base + i; the vocabulary's own nodes come first
    uint32_t n_nodes
    node_t* nodes               # nodes[0] has the first byte and depth 1
    uint32_t* starts            # list k is tokens[starts[k]:starts[k + 1]]
    uint32_t* tokens

cdef class Rests:
    cdef TokenTrie trie
    cdef uint32_t next_place
    cdef size_t n_made          # tries
    cdef size_t n_bytes         # of all of them
    # Per node of the trie: `stamp` if tokens die there, `stamp` - 1 on the way there. NULL before the first
    # `new_stamp`.
    cdef uint32_t* stamps
    cdef uint32_t stamp

    # scratch of `make`: the trie being made
    cdef bint only_stamped
    cdef node_t* nodes
    cdef size_t n_nodes, nodes_capacity
    cdef Words starts, tokens
    cdef Words groups           # trie nodes to be merged: a stack of groups
    cdef uint32_t* path_copies  # per depth: the copy of the node there
    cdef uint32_t* path_nodes   # and the node

    # Return one trie of what is below these nodes of the vocabulary's trie, which have the same byte. `only_stamped`:
    # include only nodes stamped with `stamp`, what is below them, and the nodes on the way to them, stamped with
    # `stamp` - 1.
    cdef RestTrie* make(self, const uint32_t* nodes, uint32_t n, bint only_stamped) except NULL nogil
    cdef int new_stamp(self) except -1 nogil
    cdef int merge(self, size_t first, size_t end, uint32_t depth) except -1 nogil
    cdef int copy_rests(self, uint32_t node, uint32_t depth) except -1 nogil
    cdef bint is_wanted(self, uint32_t node, uint32_t parent) noexcept nogil
    cdef int take_token(self, uint32_t node) except -1 nogil
    cdef int push_rest(self, uint32_t depth, node_t like) except -1 nogil
    cdef int close_list(self, size_t index, size_t start) except -1 nogil


cdef void free_rests(RestTrie* rests) noexcept nogil
