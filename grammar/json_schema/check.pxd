# Types for check.py as compiled: the check looks at every keyword of a schema.

cimport cython

from earleymask.earley._meter cimport tick
from earleymask.grammar.json_schema.documents cimport Documents, push
from earleymask.grammar.json_schema.tree cimport Place, Resource

# Kinds of values, imported from keywords.
cdef int ANY, DEFINITIONS, DEPENDENCIES, LAST_APPLICATOR, LIST, PATTERN_MAP, REFERENCE, SCHEMA, SCHEMA_MAP, TYPE
cdef int DRAFT_4, DRAFT_7
cdef tuple PLAIN_TYPES
cdef frozenset TYPES


@cython.locals(resource=Resource, root=Resource, reached=dict)
cpdef check_schema(Documents documents, visit=*)
@cython.locals(resource=Resource, place=Place, path=tuple)
cdef _go_over(Documents documents, list stack, visit, list errors, set dynamic, dict reached)
@cython.locals(kind=int, known=dict, alone=bint, where=tuple, found=tuple, target=Resource)
cdef _check(Documents documents, dict schema, Resource resource, tuple path, list stack, set dynamic)
