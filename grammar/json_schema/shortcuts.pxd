# Types for shortcuts.py as compiled: all members that may come first are glanced at.

cimport cython

from earleymask.earley._meter cimport tick
from earleymask.grammar.json_schema.tree cimport Place
from earleymask.grammar.json_schema.text_sets cimport Texts
from earleymask.grammar.json_schema.terms cimport Terms

# Kinds of terms, imported from terms.
cdef int PLACE, BOTH


@cython.locals(place=Place, known=dict, schema=dict)
cpdef plain_scalars(Terms algebra, term)
@cython.locals(place=Place)
cpdef bint is_structured(Terms algebra, term) except -1
@cython.locals(kind=int)
cpdef bint is_shallow(Terms algebra, term) except -1
cpdef bint is_near(Terms algebra, term) except -1
cpdef bint is_something(Terms algebra, term) except -1
cdef bint _has_value(Terms algebra, Place place, int depth) except -1
@cython.locals(schema=dict)
cdef bint _has_plain_value(Terms algebra, Place place, int depth) except -1
cdef bint _has_text(algebra, dict schema) except -1
cdef bint _has_number(dict schema) except -1
cdef bint _has_array(Terms algebra, Place place, dict schema, int depth) except -1
@cython.locals(index=Py_ssize_t)
cdef bint _has_object(Terms algebra, Place place, dict schema, int depth) except -1
@cython.locals(texts=Texts)
cpdef bint have_scalar(algebra, values) except -1
