# Types for refusals.py as compiled: every keyword that may be refused is looked at.

cimport cython

from earleymask.earley._regex cimport Regexes
from earleymask.grammar.json_schema.algebra cimport Algebra
from earleymask.grammar.json_schema.documents cimport Documents
from earleymask.grammar.json_schema.survey cimport Survey
from earleymask.grammar.json_schema.tree cimport Place
from earleymask.grammar.regex.lower cimport lower


@cython.final
cdef class Refusals:
    cdef readonly Documents documents
    cdef Algebra algebra
    cdef bint strict
    cdef Regexes regexes
    cdef set tried
    cdef readonly dict dropped
    cdef readonly list errors
    cdef readonly Survey survey

    @cython.locals(keywords=dict)
    cpdef visit(self, Place place)
    @cython.locals(regexes=Regexes)
    cpdef check_pattern(self, pattern)
