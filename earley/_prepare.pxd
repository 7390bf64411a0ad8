# Parts of a vocabulary made before any grammar asks for them.

from libc.stdint cimport uint32_t, uint64_t

from earleymask.earley._engine cimport Engine
from earleymask.earley._parts cimport Part, Parts
from earleymask.earley._tables cimport Words
from earleymask.trie._trie cimport TokenTrie


cdef class Preparation:
    cdef Parts parts
    cdef TokenTrie trie
    cdef Words wanted               # trie node, regex: each once, in an order that the terminals and the trie decide
    cdef Words states               # scratch: those of the terminal at hand
    cdef readonly uint32_t n_built, n_taken, n_known    # of `wanted`: made here, taken from a file, there before

    cdef int want(self, Engine engine, uint32_t blank) except -1 nogil
    cdef int want_terminal(self, uint32_t regex, uint32_t blank) except -1 nogil
    cdef int reach(self, uint32_t state) except -1 nogil
    cdef int add(self, uint32_t node, uint32_t regex) except -1 nogil
    cdef int make_all(self) except -1 nogil
    cdef Part* part(self, uint32_t node, uint32_t regex) except NULL nogil
    cdef int complete(self, Part* part) except -1 nogil
