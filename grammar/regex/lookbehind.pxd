# Types for lookbehind.py as compiled: what `threads` calls often.

cimport cython

from earleymask.grammar.regex.ast cimport Behind, Node


cpdef bint allows(Behind behind, tuple cell) except -1
cpdef Node atom_ending(Node atom, tuple cell)


@cython.final
cdef class Emptiness:
    cdef dict known

    cpdef bint can_be_empty(self, Node node) except -1
    @cython.locals(part=Node)
    cdef bint compute(self, Node node) except -1
