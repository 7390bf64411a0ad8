# Types for parse.py as compiled: C calls between the methods, C integers for places.

cimport cython

from earleymask.earley._meter cimport take, tick
from earleymask.grammar.gbnf.tree cimport Choice, Definition, Node, Reference, Repeat, Sequence, Text, Token


@cython.final
cdef class _Parser:
    cdef object source
    cdef object limits
    cdef str text
    cdef Py_ssize_t end
    cdef Py_ssize_t at
    cdef list references

    cpdef grammar(self)
    @cython.locals(begin=Py_ssize_t, left=Py_ssize_t, line=Py_ssize_t)
    cpdef list errors(self)
    @cython.locals(begin=Py_ssize_t)
    cdef Definition definition(self)
    @cython.locals(
        text=str, groups=list, complete=list, items=list, inside=Py_ssize_t, began=Py_ssize_t, lines=bint,
        start=Py_ssize_t, char=str, node=Node,
    )
    cdef Node alternatives(self)
    @cython.locals(text=str, char=str)
    cdef skip(self, bint lines)
    cdef name(self)
    cdef Node sequence(self, Py_ssize_t begin, list items)
    cdef Node choice(self, Py_ssize_t begin, list alternatives)
    cdef Node checked(self, Node node)
    cdef check_nesting(self, Py_ssize_t depth)
    @cython.locals(start=Py_ssize_t, char=str)
    cdef Node repeat(self, Node body, bint lines)
    cdef tuple count(self, Py_ssize_t start, bint lines)
    cdef number(self, Py_ssize_t start)
    @cython.locals(start=Py_ssize_t, at=Py_ssize_t, code=int, pieces=list)
    cdef Node string(self)
    @cython.locals(start=Py_ssize_t, at=Py_ssize_t, negative=bint, first=int, last=int, pairs=list)
    cdef Node char_class(self)
    @cython.locals(start=Py_ssize_t, char=str)
    cdef int character(self) except -1
    @cython.locals(start=Py_ssize_t, negative=bint)
    cdef Node token(self)
    cdef no_rule(self)
    cdef check_macro(self, Py_ssize_t begin, str name)
    cdef missing_sign(self, Py_ssize_t begin, name)
    cdef unexpected(self, Py_ssize_t group)
