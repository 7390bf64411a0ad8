# Parts as words, to be saved and loaded.

from libc.stdint cimport uint32_t, uint64_t

from earleymask.earley._part cimport Exits, Part
from earleymask.earley._parts cimport Parts
from earleymask.earley._rests cimport RestTrie
from earleymask.earley._tables cimport Words
from earleymask.trie._trie cimport TokenTrie

cdef class Records:
    cdef Parts parts
    cdef TokenTrie trie
    cdef Words written
    cdef object saved               # keeps `words` alive
    cdef const uint32_t* words      # those still to be read, or NULL
    cdef size_t n_words
    cdef bint damaged               # a damaged record was met
    cdef uint32_t* ends             # scratch of `is_trie`, per depth: where the subtree of the node there ends

    # Append the record of a part whose exits, live nodes and rests are all made.
    cdef int write(self, uint32_t node, uint64_t key, Part* part) except -1 nogil
    # Return the next record if it belongs to this node and key. Else return NULL now and at all later calls, because it
    # is unknown to which parts the other records belong.
    cdef const uint32_t* next(self, uint32_t node, uint64_t key) noexcept nogil
    # Fill a part in which only node and regex are set. Return False if the record does not fit the vocabulary; then the
    # part must be freed. Needs the lock of the parts.
    cdef bint read(self, const uint32_t* words, Part* part) except -1 nogil

    cdef bint fill(self, const uint32_t* words, Part* part) except -1 nogil
    cdef int write_rests(self, Part* part, Exits* exits) except -1 nogil
    cdef bint read_exits(self, Part* part, Exits* exits, const uint32_t* nodes, uint32_t n) except -1 nogil
    cdef size_t read_rests(self, Exits* exits, const uint32_t* words, size_t n) except? 0xFFFFFFFE nogil
    cdef bint below(self, uint32_t node, const uint32_t* nodes, uint32_t n) noexcept nogil
    cdef bint is_trie(self, const RestTrie* rests, uint32_t n_lists, uint32_t n_tokens, uint32_t byte) noexcept nogil
