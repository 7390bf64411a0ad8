# Makes the nodes of tree.py extension types.

from earleymask.grammar.regex.ast cimport Node as Regex


cdef class Node:
    cdef public Py_ssize_t begin
    cdef public Py_ssize_t end
    cdef readonly int height
    cdef public Regex regex
    cdef public Py_ssize_t size
    cdef public int depth
    cdef public bint refers

cdef class Text(Node):
    cdef public str label

cdef class Reference(Node):
    cdef readonly Py_ssize_t at
    cdef readonly str name

cdef class Token(Node):
    cdef readonly str name
    cdef readonly bint negated
    cdef readonly bint eos

cdef class Sequence(Node):
    cdef readonly list items

cdef class Choice(Node):
    cdef readonly list alternatives

cdef class Repeat(Node):
    cdef readonly Node body
    cdef readonly object minimum
    cdef readonly object maximum

cdef class Definition:
    cdef readonly Py_ssize_t begin
    cdef readonly str name
    cdef readonly Node tree
    cdef readonly list references
    cdef readonly list attributes
    cdef readonly list ahead

cdef int tallest(list nodes) except -1
