# Types for text_sets.py as compiled: sets of texts stand in most keys that are looked up.

cimport cython

from earleymask.earley._large cimport untrack
from earleymask.earley._regex cimport Regexes


@cython.final
cdef class Texts:
    cdef readonly frozenset words
    cdef readonly object least
    cdef readonly object most
    cdef readonly tuple trees
    cdef readonly frozenset but
    cdef readonly Py_ssize_t weight
    cdef Py_hash_t _hash
    cdef list _lowered

    cdef list lowered(self)
    cpdef take_over(self, Texts left, Texts right)
    cpdef tuple key(self)
    cpdef bint is_all(self) except -1
    cpdef Texts intersection(self, Texts other)
    cpdef Texts union(self, Texts other)
    cpdef Texts complement(self)
    cpdef Texts difference(self, Texts other)
    @cython.locals(regexes=Regexes, lowered=list)
    cpdef bint has(self, word) except -1
    cpdef frozenset among(self, frozenset words)
    cpdef tree(self)
    cpdef node(self, Regexes regexes, style, dict own)

cpdef bint has_surrogate(word) except -1
cpdef spelled_words(frozenset words, Regexes regexes, style)
