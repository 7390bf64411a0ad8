# Types for ecma.py as compiled: C integers for places and flags, C calls between the methods.

cimport cython

from earleymask.earley._meter cimport take, tick
from earleymask.grammar.regex.ast cimport Node


@cython.final
cdef class _Parser:
    cdef str pattern
    cdef Py_ssize_t at
    cdef Py_ssize_t end
    cdef int flags
    cdef object offset
    cdef int depth
    cdef set names

    cdef str peek(self)
    cdef bint skip(self, str text) except -1
    @cython.locals(alternatives=list)
    cdef Node disjunction(self)
    @cython.locals(parts=list, start=Py_ssize_t, node=Node)
    cdef Node alternative(self)
    @cython.locals(start=Py_ssize_t, before=Py_ssize_t, bounds=tuple)
    cdef Node quantified(self, Node node, bint quantifiable)
    @cython.locals(char=str)
    cdef tuple quantifier(self)
    @cython.locals(start=Py_ssize_t, low=str, high=str)
    cdef tuple braces(self)
    @cython.locals(start=Py_ssize_t)
    cdef str digits(self)
    @cython.locals(char=str)
    cdef Node term(self, Py_ssize_t start)
    cdef Node group(self, Py_ssize_t start)
    @cython.locals(close=Py_ssize_t, name=str)
    cdef str group_name(self, Py_ssize_t start)
    @cython.locals(node=Node)
    cdef Node contents(self, Py_ssize_t start)
    cdef Node character(self, long code)
    @cython.locals(char=str)
    cdef Node escape(self, Py_ssize_t start)
    @cython.locals(char=str)
    cdef tuple category(self, Py_ssize_t start)
    @cython.locals(negative=bint, close=Py_ssize_t, name=str)
    cdef tuple property(self, Py_ssize_t start)
    @cython.locals(char=str, letter=str)
    cdef long escaped_code(self, Py_ssize_t start, bint in_class) except -1
    @cython.locals(digits=str)
    cdef long hex_digits(self, Py_ssize_t length, Py_ssize_t start) except -1
    @cython.locals(close=Py_ssize_t, digits=str, code=long, low=long, before=Py_ssize_t)
    cdef long unicode_escape(self, Py_ssize_t start) except -1
    @cython.locals(negative=bint, pairs=list, item=Py_ssize_t, middle=Py_ssize_t, first=long, last=long, ranges=tuple)
    cdef Node char_class(self, Py_ssize_t start)
    @cython.locals(char=str, start=Py_ssize_t)
    cdef long class_atom(self, list pairs) except -2
