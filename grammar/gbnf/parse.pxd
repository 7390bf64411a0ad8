# Types for parse.py as compiled: C calls between the methods, C integers for places.

cimport cython

from earleymask.earley._meter cimport take, tick
from earleymask.grammar.gbnf.tree cimport Choice, Definition, Node, Reference, Repeat, Sequence, Text, Token


@cython.final
cdef class _Parser:
    cdef readonly object source
    cdef object limits
    cdef readonly str text
    cdef readonly Py_ssize_t end
    cdef public Py_ssize_t at
    cdef readonly list references
    cdef list ahead
    cdef object own

    cpdef grammar(self)
    @cython.locals(begin=Py_ssize_t, left=Py_ssize_t, line=Py_ssize_t)
    cpdef list errors(self)
    @cython.locals(begin=Py_ssize_t, attributes=list)
    cdef Definition definition(self)
    @cython.locals(begin=Py_ssize_t, found=list, sign=str)
    cdef list attributes(self)
    @cython.locals(
        text=str, groups=list, complete=list, items=list, inside=Py_ssize_t, began=Py_ssize_t, lines=bint,
        start=Py_ssize_t, char=str, node=Node, before=Py_ssize_t, is_ahead=bint,
    )
    cdef Node alternatives(self)
    @cython.locals(text=str, char=str)
    cpdef skip(self, bint lines)
    cpdef bint rule_begins(self)
    cpdef name(self)
    cdef Node sequence(self, Py_ssize_t begin, list items)
    cdef Node choice(self, Py_ssize_t begin, list alternatives)
    cdef Node checked(self, Node node)
    cdef check_nesting(self, Py_ssize_t depth)
    @cython.locals(start=Py_ssize_t, char=str)
    cdef Node repeat(self, Node body, bint lines)
    cdef tuple count(self, Py_ssize_t start, bint lines)
    cdef number(self, Py_ssize_t start)
    @cython.locals(start=Py_ssize_t, at=Py_ssize_t, code=int, pieces=list)
    cpdef Node string(self)
    @cython.locals(start=Py_ssize_t, at=Py_ssize_t, negative=bint, first=int, last=int, pairs=list)
    cdef Node char_class(self)
    @cython.locals(start=Py_ssize_t, char=str)
    cdef int character(self, dict simple) except -1
    @cython.locals(start=Py_ssize_t, negative=bint)
    cdef Node token(self)
    cdef no_rule(self)
    cdef bint is_macro(self, str name)
    cdef own_names(self)
    cdef missing_sign(self, Py_ssize_t begin, name)
    cdef unexpected(self, Py_ssize_t group)
