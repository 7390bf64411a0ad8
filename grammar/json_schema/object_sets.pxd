# Types for object_sets.py as compiled: where many schemas are combined, it is what takes the time.

cimport cython

from earleymask.grammar.json_schema.algebra cimport Algebra
from earleymask.grammar.json_schema.shortcuts cimport is_near
from earleymask.grammar.json_schema.terms cimport OfAlgebra
from earleymask.grammar.json_schema.text_sets cimport Texts


@cython.final
cdef class ObjectSets(OfAlgebra):
    cdef dict enumerated
    cdef dict words

    @cython.locals(algebra=Algebra)
    cpdef relative_name(self, base, dict in_base, shape)
    cpdef value_of(self, shape, key)
    @cython.locals(keys=Texts)
    cpdef value_of_other(self, shape, key)
    @cython.locals(algebra=Algebra)
    cpdef narrowed(self, term, other)
    cpdef narrowed_words(self, term, other)
    cpdef words_of(self, term)
    cpdef words_among(self, words, term)
    cpdef near_values(self, term)
    @cython.locals(algebra=Algebra)
    cpdef bint implies(self, term, other) except -1

cpdef bint is_atomic(shape) except -1
