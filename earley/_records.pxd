# Parts as words that can be saved.

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
    cdef bint damaged               # a record was met that is none
    cdef uint32_t* ends             # scratch of `is_trie`, per depth: where the subtree of the node there ends

    # Appends a part of which all exits, live nodes and rests are made.
    cdef int write(self, uint32_t node, uint64_t key, Part* part) except -1 nogil
    # The next record, if it is of this node and key; else NULL, from then on: nobody knows what the others are for.
    cdef const uint32_t* next(self, uint32_t node, uint64_t key) noexcept nogil
    # Fills a part in which only node and regex are set. False where the record cannot be true of the vocabulary; the part is
    # then only good for `free_part`. Needs the lock of the parts.
    cdef bint read(self, const uint32_t* words, Part* part) except -1 nogil

    cdef bint fill(self, const uint32_t* words, Part* part) except -1 nogil
    cdef int write_rests(self, Part* part, Exits* exits) except -1 nogil
    cdef bint read_exits(self, Part* part, Exits* exits, const uint32_t* nodes, uint32_t n) except -1 nogil
    cdef size_t read_rests(self, Exits* exits, const uint32_t* words, size_t n) except? 0xFFFFFFFE nogil
    cdef bint below(self, uint32_t node, const uint32_t* nodes, uint32_t n) noexcept nogil
    cdef bint is_trie(self, const RestTrie* rests, uint32_t n_lists, uint32_t n_tokens, uint32_t byte) noexcept nogil
