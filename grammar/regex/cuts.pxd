# Types for cuts.py as compiled: the functions that visit each node of a tree.

cimport cython

from earleymask.grammar.regex.ast cimport Atomic, Behind, Chars, Concat, Literal, Look, Node, Repeat, Union


@cython.final
cdef class Looks:
    cdef dict known

    @cython.locals(part=Node)
    cpdef nowhere_in(self, Node node)


cdef tuple _parts(Node node)
@cython.locals(part=Node)
cdef _collect(Node node, inside, set classes)
@cython.locals(part=Node)
cdef _read_on(Node node, inside, extent, set classes)
