# Types for regex_threads.py as compiled.

cimport cython

from earleymask.earley._regex cimport Regexes
from earleymask.grammar.regex_ast cimport Behind, Chars, Concat, Literal, Node, Repeat, Union
from earleymask.grammar.regex_lookbehind cimport Emptiness


cdef int ATOM
cdef int SPLIT
cdef int JUMP
cdef int BEHIND
cdef int MATCH
cdef int _FAIL


@cython.final
cdef class _Graph:
    cdef bytearray ops
    cdef list first
    cdef list second
    cdef bint has_behind
    cdef dict compiled
    cdef Emptiness emptiness
    cdef int match

    cdef int add(self, int op, first, second) except -1
    @cython.locals(entry=int)
    cdef int compile(self, Node node, int unmoved, int moved) except -1
    @cython.locals(leading=Py_ssize_t, index=Py_ssize_t, entry=int)
    cdef int concat(self, tuple parts, int unmoved, int moved) except -1
    @cython.locals(entry=int, again=int, after=int)
    cdef int repeat(self, Repeat node, int unmoved, int moved) except -1
    @cython.locals(turn=int)
    cdef int choice(self, Repeat node, int leave, int again) except -1
    @cython.locals(before=list, i=Py_ssize_t)
    cdef list asking(self)
    cdef lower_atoms(self, regexes)
    @cython.locals(before=list, i=Py_ssize_t)
    cdef list living(self, int empty)
    @cython.locals(place=dict, line=list, waiting=list, i=int, op=int, preferred=int, other=int)
    cdef list program(self, int start, list alive)
    cdef int skip_dead(self, int i, list alive) except -1


@cython.final
cdef class _Decision:
    cdef _Graph graph
    cdef list cells
    cdef list asks
    cdef _Graph decided
    cdef int dead
    cdef dict states
    cdef list waiting

    @cython.locals(begin=int, i=int, cell=int, here=int, after=int)
    cdef int run(self, int start) except -1
    @cython.locals(graph=_Graph, made=int)
    cdef int state(self, int i, int cell) except -1
    @cython.locals(decided=_Graph, number=int, last=int, following=int)
    cdef atom(self, int here, Node atom, int after)


@cython.locals(reaches=list, waiting=list, i=Py_ssize_t)
cdef list _reaching(list goals, list before)
@cython.locals(graph=_Graph, decision=_Decision, start=int)
cpdef compile_threads(Node node, regexes)
cpdef lower_atom(Node node, Regexes regexes)
