# Types for algebra.py as compiled: the loader asks the algebra about every term that the parser reaches.

cimport cython

from earleymask.grammar.json_schema.applicators cimport applied, conjuncts
from earleymask.grammar.json_schema.tree cimport Place, Resource
from earleymask.grammar.json_schema.shortcuts cimport is_shallow, is_something, plain_scalars
from earleymask.grammar.json_schema.own_values cimport constants, own_values
from earleymask.grammar.json_schema.shapes cimport is_nothing
from earleymask.grammar.json_schema.text_sets cimport Texts
from earleymask.grammar.json_schema.terms cimport Terms, canonical

# Kinds of terms, imported from terms.
cdef int PLACE, BOTH, CONSTANT


@cython.final
cdef class Algebra(Terms):
    cdef readonly object sets
    cdef readonly dict patterns
    cdef readonly set inhabited
    cdef object _evaluation
    cdef object _closing
    cdef readonly bint is_of_names
    cdef Algebra _of_names
    cdef public bint has_unique_items
    cdef public bint follows_items
    cdef public bint repeats_items
    cdef public bint items_run_out
    cdef readonly list engines
    cdef public bint limits_keys
    cdef public bint lists_names
    cdef public bint has_tags
    cdef public set plain_numbers
    cdef readonly dict meanings
    cdef readonly set unclear
    cdef readonly dict first
    cdef readonly dict alike

    cpdef values(self, term)
    @cython.locals(kind=int)
    cdef _values(self, term)
    cpdef written_values(self, term)
    cpdef Algebra of_names(self)
    cpdef bint is_nothing(self, term) except -1
    cpdef meant(self, term)
    cpdef bint is_surely_nothing(self, term) except -1
    cpdef asserts_format(self, Resource resource)
    cpdef Texts pattern(self, pattern)
