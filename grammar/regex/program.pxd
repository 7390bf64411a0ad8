# Types for program.py as compiled. What cuts.py redefines, in Python, is cpdef.

cimport cython

from earleymask.earley._meter cimport tick
from earleymask.grammar.regex.ast cimport Behind, Chars, Concat, Literal, Node, Repeat, Union
from earleymask.grammar.regex.lookbehind cimport Emptiness


cdef class Program:
    cdef str what
    cdef readonly bytearray ops
    cdef readonly list first
    cdef readonly list second
    cdef readonly Emptiness emptiness
    cdef dict compiled
    cdef readonly int match

    cpdef int add(self, int op, first, int second) except -1
    cpdef int atom(self, Node node, int after) except -1
    cpdef int behind(self, Behind node, int after) except -1
    cpdef int special(self, Node node, int unmoved, int moved) except? -1
    cpdef tuple joined(self, tuple parts)
    @cython.locals(entry=int)
    cpdef int compile(self, Node node, int unmoved, int moved) except -1
    @cython.locals(leading=Py_ssize_t, index=Py_ssize_t, entry=int)
    cpdef int concat(self, tuple parts, int unmoved, int moved) except -1
    @cython.locals(entry=int, again=int, after=int)
    cpdef int repeat(self, Repeat node, int unmoved, int moved) except -1
    @cython.locals(turn=int)
    cpdef int choice(self, Repeat node, int leave, int again) except -1
