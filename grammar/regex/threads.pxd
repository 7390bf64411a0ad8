# Types for threads.py as compiled.

cimport cython

from earleymask.earley._meter cimport tick
from earleymask.earley._regex cimport Regexes
from earleymask.grammar.regex.ast cimport Behind, Chars, Literal, Node
from earleymask.grammar.regex.program cimport Program


cdef int ATOM
cdef int SPLIT
cdef int JUMP
cdef int BEHIND
cdef int MATCH


cdef class _Graph(Program):
    cdef bint has_behind

    cpdef int atom(self, Node node, int after) except -1
    cpdef int behind(self, Behind node, int after) except -1
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
