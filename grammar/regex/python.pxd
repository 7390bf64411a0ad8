# Types for python.py as compiled: C integers for places and flags, C calls between the methods.

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

    @cython.locals(alternatives=list, waiting=list, n_waiting=int, node=Node, first=Node, single=Node)
    cdef Node alternation(self)
    @cython.locals(pattern=str, parts=list, text=list, last=str, state=int, mode=int, start=Py_ssize_t, char=Py_UCS4, node=Node)
    cdef Node sequence(self, bint first)
    cdef skip_plain(self)
    @cython.locals(char=Py_UCS4)
    cdef bint skip_comment(self, Py_UCS4 last) except -1
    cdef skip_digits(self)
    @cython.locals(start=Py_ssize_t, found=bint)
    cdef bint is_count(self)
    @cython.locals(char=Py_UCS4, comma=Py_ssize_t)
    cdef tuple quantifier(self, Py_ssize_t start)
    cdef Node character(self, int code)
    @cython.locals(char=Py_UCS4)
    cdef Node escape(self, Py_ssize_t start)
    cdef bint is_octal(self)
    @cython.locals(char=Py_UCS4)
    cdef int escaped_code(self, Py_ssize_t start) except -1
    cdef int named_code(self, Py_ssize_t start) except -1
    @cython.locals(negative=bint, close=Py_ssize_t, name=str)
    cdef tuple property(self, Py_ssize_t start)
    cdef Node place(self, Py_UCS4 char, position)
    @cython.locals(pattern=str, negative=bint, pairs=list, opening=Py_ssize_t, item=Py_ssize_t, first=int, last=int)
    cdef Node char_class(self, Py_ssize_t start)
    @cython.locals(char=Py_UCS4, start=Py_ssize_t)
    cdef int class_member(self, list categories) except -2
    cdef Node group(self, Py_ssize_t start, bint first)
    @cython.locals(outside=int)
    cdef Node contents(self, Py_ssize_t start, int flags)


cdef int _GREEDY, _LAZY, _POSSESSIVE

cdef bint _is_special(Py_UCS4 char)
cdef Node _either_case(code, bint ascii_only)
@cython.locals(char=Py_UCS4)
cdef bint _all_in(str text, str allowed)
