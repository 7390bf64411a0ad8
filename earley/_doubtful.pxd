# Tokens in which a followed terminal may end and in which it matters what follows it.

cimport cython
from libc.stdint cimport uint32_t

from earleymask.earley._regex cimport Regexes
from earleymask.earley._tables cimport Map, Words
from earleymask.trie._trie cimport TokenTrie

cdef enum:
    DEAD = 0xFFFFFFFE               # no state

@cython.final
cdef class Marked:
    cdef uint32_t* bits             # by trie node

@cython.final
cdef class States:
    cdef Regexes regexes
    cdef Map states                 # regex node -> state
    cdef Words nodes, tables        # by state: the regex node; the states after each byte, NONE: not known
    cdef Words verdicts             # by state: whether something is matched before a mark comes
    cdef Words agenda
    cdef uint32_t n_searched
    cdef uint32_t start

    cdef uint32_t state(self, uint32_t node) except? 0xFFFFFFFF
    cdef int fill_row(self, uint32_t state, uint32_t byte) except -1
    cdef bint needs_mark(self, uint32_t state) except -1

@cython.final
cdef class Doubtful:
    cdef Words tokens               # token ids, ascending

    cdef int find(self, TokenTrie trie, Marked marked, States states) except -1
