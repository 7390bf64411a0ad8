# Types for applicators.py as compiled: whether other schemas apply is asked at every place.

cimport cython

from earleymask.grammar.json_schema.tree cimport Place
from earleymask.grammar.json_schema.own_values cimport own_values
from earleymask.grammar.json_schema.terms cimport Terms


@cython.locals(found=list, choices=list)
cpdef list conjuncts(Terms algebra, Place place)
@cython.locals(found=list)
cpdef list applied(Terms algebra, Place place)
cpdef target(Terms algebra, Place place, keyword)
@cython.locals(schema=dict, found=list)
cpdef list applied_by(Terms algebra, Place place, keyword)
