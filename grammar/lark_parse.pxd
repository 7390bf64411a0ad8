# Types for lark_parse.py as compiled: C calls between the methods, C integers for places and kinds.

cimport cython


@cython.final
cdef class _Parser:
    cdef object parsed
    cdef list lexemes
    cdef str prefix
    cdef Py_ssize_t i

    cpdef grammar(self)
    cdef int kind(self, str lexeme)
    cdef definition(self, str lexeme, bint is_terminal)
    cdef directive(self, str lexeme)
    cdef import_statement(self, Py_ssize_t at)
    cdef str import_name(self)
    cdef end_of_line(self)
    @cython.locals(lexemes=list, i=Py_ssize_t, at=Py_ssize_t, in_library=bint, alternatives=list, items=list, stack=list,
                   lexeme=str, follower=str, kind=int)
    cdef expression(self, rule)
    cdef Py_ssize_t alias(self, Py_ssize_t i, rule, bint in_group) except -1
    cdef counted(self, body, Py_ssize_t at)
    cdef counted_in_braces(self, body, Py_ssize_t at)
    cdef number(self, str expected)
    cdef check_counts(self, minimum, maximum, Py_ssize_t at)
    cdef misplaced(self, str lexeme, bint follows_item)
    cdef missing_colon(self, Py_ssize_t at, str name)
    cdef unexpected(self, str expected, hint)
    cdef unknown(self, Py_ssize_t at)


cdef _sequence(list items, Py_ssize_t at)
cdef _choice(list alternatives)
