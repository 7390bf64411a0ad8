# Types for terms.py as compiled: all that a schema says is a term.

cimport cython

from earleymask.earley._meter cimport take

from earleymask.grammar.json_schema.documents cimport Documents
from earleymask.grammar.json_schema.tree cimport Place


cdef class Terms:
    cdef object __weakref__
    cdef readonly object limits
    cdef readonly Documents documents
    cdef readonly object options
    cdef readonly bint is_plain
    cdef readonly object dropped
    cdef readonly dict weakened
    cdef readonly list kinds
    cdef readonly list parts
    cdef readonly dict known
    cdef readonly set in_work
    cdef readonly set far
    cdef readonly dict something

    cpdef place(self, Place place)
    cpdef dict keywords(self, Place place)
    cpdef child(self, Place place, keyword)
    cpdef list children(self, Place place, keyword, keys)
    cpdef meaning(self, values)
    cpdef intersection(self, left, right)
    @cython.locals(found=dict)
    cpdef intersection_of(self, terms)
    cpdef union_of(self, terms)
    cdef _term(self, int kind, key, part)
    cpdef Place place_of(self, term)
    cpdef enter(self, term, what=*)
    cpdef leave(self, term, what=*)

cpdef canonical(value)


cdef class OfAlgebra:
    cdef object the_algebra
