# Types for scan.py as compiled: the scan looks at every keyword of a schema.

cimport cython

from earleymask.earley._regex cimport Regexes
from earleymask.grammar.regex.lower cimport lower
from earleymask.grammar.json_schema.algebra cimport Algebra
from earleymask.grammar.json_schema.documents cimport Documents
from earleymask.grammar.json_schema.places cimport Resource


@cython.final
cdef class Scan:
    cdef readonly Documents documents
    cdef Algebra algebra
    cdef bint strict
    cdef Regexes regexes
    cdef set tried
    cdef readonly dict dropped
    cdef readonly dict edges
    cdef readonly dict places
    cdef readonly dict partly
    cdef readonly list unique
    cdef list choices
    cdef list with_contains
    cdef list narrowed
    cdef list large
    cdef list whole
    cdef readonly dict endless
    cdef readonly set plain_numbers
    cdef readonly list negations
    cdef readonly dict targets
    cdef readonly list combined
    cdef list crowded
    cdef dict apart
    cdef readonly list counting
    cdef readonly dict weighted
    cdef readonly dict multiples
    cdef readonly dict with_patterns
    cdef readonly dict with_lists
    cdef readonly list meeting
    cdef set _negated

    @cython.locals(keywords=dict)
    cpdef visit(self, dict schema, Resource resource, tuple path)
    @cython.locals(regexes=Regexes)
    cpdef check_pattern(self, pattern)
    cpdef keywords(self, dict schema)
    @cython.locals(found=list)
    cdef note_edges(self, dict schema, dict keywords, Resource resource, tuple path)
    @cython.locals(done=set, open_=dict, stack=list)
    cpdef find_circle(self)
    @cython.locals(known=dict)
    cdef find_many_cases(self)
    cpdef bint has_apart(self, dict schema) except -1
    cpdef followed(self, schema)
    cdef n_cases(self, schema, dict cases, int depth)
