# The merged walk: the mask of a position over the whole trie.

from libc.stdint cimport uint32_t, uint64_t

from earleymask.earley._chart cimport Chart, Path
from earleymask.trie._trie cimport TokenTrie

cdef class Walk:
    cdef TokenTrie trie
    cdef Path path                  # at depth d: after the first d bytes of the current node's path
    cdef uint32_t* shifted          # bit t + 1: token t is allowed; bit 0 takes the writes of nodes without a token
    cdef readonly uint64_t n_nodes  # visited, over all walks
    cdef readonly uint64_t n_walks

    # Write the mask of `position` of a chart, trie.n_words words, with text tokens only.
    cdef int fill(self, Chart chart, uint32_t position, uint32_t* words) except -1 nogil
    cdef int descend(self, Chart chart, uint32_t position) except -1 nogil
