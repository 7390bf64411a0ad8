# Types for survey.py as compiled: the survey looks at every applicator of a schema.

cimport cython

from earleymask.earley._meter cimport tick
from earleymask.grammar.json_schema.documents cimport Documents
from earleymask.grammar.json_schema.tree cimport Place

cdef int _APPLIES, _LIMITS, _NAMES, _STATES
cdef dict _MARKS


@cython.final
cdef class Survey:
    cdef readonly Documents documents
    cdef readonly dict dropped
    cdef readonly list applying
    cdef readonly list stating
    cdef readonly dict edges
    cdef readonly dict targets
    cdef readonly list negations
    cdef list with_contains
    cdef readonly list narrowed
    cdef readonly list large
    cdef readonly list whole
    cdef set _negated
    cdef readonly list combined
    cdef readonly list counting
    cdef readonly dict multiples
    cdef readonly dict with_patterns
    cdef readonly dict with_lists
    cdef readonly list meeting
    cdef dict apart
    cdef readonly list unique
    cdef readonly set endless
    cdef readonly set plain_numbers
    cdef public bint follows_items
    cdef public bint repeats_items
    cdef readonly bint limits_keys
    cdef readonly Py_ssize_t n_names

    @cython.locals(keywords=dict, found=int)
    cpdef bint note(self, Place place) except -1
    @cython.locals(place=Place, found=list, target=Place)
    cpdef read_applicators(self)
    @cython.locals(found=list, names=list, index=Py_ssize_t)
    cpdef list branches(self, Place place, keyword)
    @cython.locals(edges=dict, done=set, open_=dict, stack=list, target=Place, met=dict)
    cpdef list find_circles(self)
    @cython.locals(place=Place, keywords=dict, crowded=list, choices=list)
    cpdef read_statements(self)
    cdef count(self, Place place, keyword)
    cdef n_cases(self, Place place, dict cases, depth)
    cpdef bint has_apart(self, Place place) except -1
    cpdef bint is_written_apart(self, Place place) except -1
    cdef followed(self, Place place)
