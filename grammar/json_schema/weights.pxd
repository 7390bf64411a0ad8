# Types for weights.py as compiled: of a large schema much is looked at.

cimport cython

from earleymask.grammar.json_schema.documents cimport Documents
from earleymask.grammar.json_schema.survey cimport Survey
from earleymask.grammar.json_schema.tree cimport Place


@cython.final
cdef class Weights:
    cdef Survey survey
    cdef dict choices
    cdef dict multiples
    cdef dict patterns
    cdef bint has_lists
    cdef set unique
    cdef dict applied
    cdef readonly Above above
    cdef set near

    cpdef bint is_possible(self) except -1
    cdef bint is_heavy(self, frozenset places) except -1
    @cython.locals(found=set, known=set, together=frozenset, place=Place)
    cpdef set found(self)
    cdef bint is_near(self, Place place) except -1
    @cython.locals(known=frozenset, found=set, met=set, stack=list, edges=dict, one=Place)
    cdef frozenset in_place(self, Place place)


@cython.final
cdef class Above:
    cdef Survey survey
    cdef dict holders
    cdef dict referring

    @cython.locals(found=set, waiting=list, above=list, one=Place, holder=Place)
    cpdef set reaching(self, set places)
    @cython.locals(outer=Place, one=Place)
    cdef Place holder(self, Place place)

@cython.locals(named=dict, others=list, items=list, names=list, keywords=dict, place=Place)
cdef list meetings(Documents documents, places)
