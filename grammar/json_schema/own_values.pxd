# Types for own_values.py as compiled: a first mask asks what the keywords of several places say.

cimport cython

from earleymask.grammar.json_schema.tree cimport Place
from earleymask.grammar.json_schema.text_sets cimport Texts
from earleymask.grammar.json_schema.terms cimport Terms


@cython.locals(schema=dict)
cpdef own_values(Terms algebra, Place place, bint is_negated=*)
@cython.locals(schema=dict, named=dict, for_all=list)
cpdef object_shape(Terms algebra, Place place, bint is_negated=*)
@cython.locals(schema=dict)
cpdef array_shape(Terms algebra, Place place)
@cython.locals(schema=dict)
cpdef Texts own_texts(Terms algebra, Place place)
cpdef constants(Terms algebra, list values, bint is_number=*)
