# Types for places.py as compiled: a place is made for every schema that is reached.

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
    cdef readonly Resource resource
    cdef readonly tuple path
    cdef readonly tuple scope
    cdef readonly object documents
    cdef public dict keywords

    cpdef tuple key(self)
    cpdef Place child(self, keyword)
    cpdef Place grandchild(self, keyword, key)
    cpdef dict applied(self)
    @cython.locals(target=Resource)
    cpdef Place ref(self)
    @cython.locals(entered=Resource)
    cdef Place _at(self, schema, tuple path)
    cdef tuple _scope_in(self, Resource resource)


@cython.locals(known=dict)
cpdef dict counted(dict schema, Resource resource)
cpdef bint is_reference(schema)
