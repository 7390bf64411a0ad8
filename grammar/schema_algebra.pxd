# Types for schema_algebra.py as compiled: everything that a text comes to asks the algebra what it means.

cimport cython

from earleymask.grammar.schema_documents cimport Documents, Place, Resource
from earleymask.grammar.schema_strings cimport Texts

# Kinds of terms.
cdef int PLACE, BOTH, CONSTANT, VALUES


@cython.final
cdef class Algebra:
    cdef object __weakref__
    cdef readonly double seconds
    cdef readonly double deadline
    cdef public bint is_loading
    cdef readonly Documents documents
    cdef readonly object options
    cdef readonly bint is_draft_4
    cdef readonly set decimals
    cdef readonly object sets
    cdef readonly list kinds
    cdef readonly list parts
    cdef readonly dict known
    cdef readonly dict patterns
    cdef readonly set inhabited
    cdef object _evaluation
    cdef public bint has_unique_items
    cdef readonly object dropped
    cdef readonly dict meanings
    cdef readonly dict first
    cdef readonly dict alike
    cdef readonly set in_work

    cpdef begin(self)
    cpdef look(self)
    cpdef place(self, Place place)
    @cython.locals(known=dict)
    cpdef dict keywords(self, Place place)
    cpdef child(self, Place place, keyword)
    cpdef list children(self, Place place, keyword, keys)
    cpdef meaning(self, values)
    cpdef both(self, left, right)
    @cython.locals(found=dict)
    cpdef all_of(self, terms)
    cpdef any_of(self, terms)
    cdef _term(self, int kind, key, part)
    cpdef values(self, term)
    cpdef enter(self, term, what=*)
    cpdef leave(self, term, what=*)
    @cython.locals(kind=int)
    cdef _values(self, term)
    cpdef bint is_nothing(self, term) except -1
    cpdef Place place_of(self, term)
    cpdef asserts_format(self, Resource resource)
    cpdef Texts pattern(self, pattern)
    cpdef bint is_something(self, term) except -1
    @cython.locals(texts=Texts)
    cpdef bint have_scalar(self, values) except -1
    @cython.locals(place=Place, known=dict, schema=dict)
    cpdef plain_scalars(self, term)
    @cython.locals(place=Place)
    cpdef bint is_structured(self, term) except -1
    @cython.locals(kind=int)
    cpdef bint is_shallow(self, term) except -1
    @cython.locals(schema=dict)
    cpdef own_values(self, Place place)
    cdef _only(self, shapes, demanded, bint objects)
    @cython.locals(schema=dict, named=dict, for_all=list)
    cpdef object_shape(self, Place place)
    @cython.locals(schema=dict)
    cpdef array_shape(self, Place place)
    @cython.locals(schema=dict)
    cpdef Texts texts(self, Place place)
    @cython.locals(found=list)
    cpdef list applied(self, Place place)
    cpdef target(self, Place place, keyword)
    @cython.locals(schema=dict, found=list)
    cpdef list applied_by(self, Place place, keyword)
    cpdef list exactly_one(self, list terms, Place place)

cpdef bint is_nothing(values) except -1
