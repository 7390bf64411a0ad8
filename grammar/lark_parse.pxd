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
    @cython.locals(alternatives=list, items=list, stack=list, lexeme=str, kind=int)
    cdef expression(self, rule)
    cdef value(self, str lexeme, int kind)
    @cython.locals(lexeme=str)
    cdef repeated(self, node)
    cdef Py_ssize_t place(self)
    cdef sequence(self, list items)
    cdef alias(self, rule, bint in_group)
    cdef counted(self, body)
    cdef counted_in_braces(self, body)
    cdef number(self, str expected)
    cdef check_counts(self, minimum, maximum, Py_ssize_t at)
    cdef check_nesting(self, Py_ssize_t depth)
    cdef check_closes(self, str lexeme, Py_ssize_t opener)
    cdef never_closed(self, Py_ssize_t opener)
    cdef misplaced(self, str lexeme, bint follows_item)
    cdef missing_colon(self, Py_ssize_t at, str name)
    cdef unexpected(self, str expected, hint)
    cdef unknown(self, Py_ssize_t at)


cdef choice(list alternatives)
