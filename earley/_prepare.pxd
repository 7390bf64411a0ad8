# Makes parts of a vocabulary before any grammar asks for them.

from libc.stdint cimport uint32_t

from earleymask.earley._engine cimport Engine
from earleymask.earley._keys cimport Keys
from earleymask.earley._part cimport Part
from earleymask.earley._parts cimport Parts
from earleymask.earley._records cimport Records
from earleymask.earley._tables cimport Words

cdef class Preparation:
    cdef Parts parts
    cdef Words wanted               # trie node, regex: each once, in an order that depends on terminals and trie only
    cdef Keys keys
    cdef Records records            # to be loaded
    cdef readonly uint32_t n_built, n_taken, n_known    # parts in `wanted` that were made, loaded, there before
    cdef Words states               # scratch: the states of the current terminal

    cdef int want(self, Engine engine, uint32_t blank) except -1 nogil
    cdef int want_terminal(self, uint32_t regex, uint32_t blank) except -1 nogil
    cdef int want_along(self, Engine engine, const unsigned char* text, size_t n) except -1 nogil
    cdef int reach(self, uint32_t state) except -1 nogil
    cdef int add(self, uint32_t node, uint32_t regex) except -1 nogil
    cdef int split_unions(self) except -1 nogil
    cdef int make_all(self) except -1 nogil
    cdef Part* part(self, uint32_t node, uint32_t regex) except NULL nogil
    cdef bint take(self, uint32_t node, uint32_t regex, Part** taken) except -1 nogil
    cdef int write_all(self, Records records) except -1 nogil
