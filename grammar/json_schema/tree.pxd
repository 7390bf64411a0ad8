# Types for tree.py as compiled: a place is made for every subschema that is reached.

cimport cython

cdef int DRAFT_7


@cython.final
cdef class Document:
    cdef readonly str uri
    cdef public bint indexed


@cython.final
cdef class Resource:
    cdef readonly str uri
    cdef readonly object schema
    cdef readonly tuple path
    cdef readonly Document document
    cdef readonly int draft
    cdef readonly dict keywords
    cdef readonly object asserts_format
    cdef readonly dict anchors
    cdef readonly set dynamic


@cython.final
cdef class Place:
    cdef readonly object schema
    cdef readonly dict keywords
    cdef readonly Resource resource
    cdef readonly tuple path
    cdef readonly tuple scope
    cdef Place _written


@cython.locals(known=dict, are_known=bint)
cpdef dict counted(dict schema, Resource resource)
cpdef bint is_reference(schema)
