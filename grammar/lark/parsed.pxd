# Types for lark_parsed.py as compiled.

cimport cython


@cython.final
cdef class ParsedGrammar:
    cdef readonly object source
    cdef readonly object limits
    cdef readonly list lexemes
    cdef readonly bytearray kinds
    cdef readonly list definitions
    cdef readonly list changes
    cdef readonly list ignored
    cdef readonly list imports
    cdef list _offsets
    cdef str _inner
    cdef Py_ssize_t _base
