# Types for weights.py as compiled: of a large schema much is looked at.

cimport cython

from earleymask.grammar.json_schema.scan cimport Scan


@cython.final
cdef class Weights:
    cdef Scan scan
    cdef dict choices
    cdef dict multiples
    cdef dict patterns
    cdef bint has_lists
    cdef set unique
    cdef dict applied
    cdef dict schemas
    cdef readonly Above above
    cdef set near

    cpdef bint is_possible(self) except -1
    cdef bint is_heavy(self, frozenset schemas) except -1
    @cython.locals(found=set, known=set, together=frozenset)
    cpdef set found(self)
    cdef bint is_near(self, schema) except -1
    @cython.locals(known=frozenset, found=set, met=set, stack=list)
    cdef frozenset in_place(self, schema)
    @cython.locals(parts=list)
    cdef list parts_of(self, dict schema)


@cython.final
cdef class Above:
    cdef Scan scan
    cdef dict holders
    cdef dict referring

    @cython.locals(found=set, waiting=list, above=list)
    cpdef set reaching(self, set schemas)
    @cython.locals(path=tuple, tokens=list)
    cdef holder(self, one)

@cython.locals(named=dict, others=list, items=list, names=list, schema=dict)
cdef list meetings(list schemas)
