# Types for schema_documents.py as compiled: the scan looks at every keyword of a schema, and places are made for all that
# is reached.

cimport cython

# Kinds of values, imported from schema_keywords.
cdef int ANY, DEFINITIONS, DEPENDENCIES, LAST_APPLICATOR, LIST, PATTERN_MAP, REFERENCE, SCHEMA, SCHEMA_LIST, SCHEMA_MAP
cdef int SCHEMA_OR_LIST, TYPE
cdef int DRAFT_4, DRAFT_7, DRAFT_2019, DRAFT_2020
cdef int MAX_ERRORS
cdef tuple PLAIN_TYPES
cdef frozenset TYPES


@cython.final
cdef class Document:
    cdef readonly str uri
    cdef bint indexed


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
    cdef readonly Documents documents
    cdef public dict keywords

    cpdef tuple key(self)
    cpdef Place child(self, keyword)
    cpdef Place grandchild(self, keyword, key)
    @cython.locals(schema=dict, known=dict)
    cpdef dict applied(self)
    @cython.locals(target=Resource)
    cpdef Place ref(self)
    @cython.locals(entered=Resource)
    cdef Place _at(self, schema, tuple path)
    cdef tuple _scope_in(self, Resource resource)


@cython.final
cdef class Documents:
    cdef int _draft
    cdef object _registry
    cdef dict _by_uri
    cdef dict _embedded
    cdef dict _targets
    cdef readonly dict remote
    cdef readonly bint is_dynamic
    cdef Resource _root

    cdef Resource _document(self, schema, str uri, int draft)
    @cython.locals(draft=int, resource=Resource)
    cpdef Resource entered(self, dict schema, Resource around, tuple path)
    cdef _describe(self, Resource resource, int draft)
    cdef _custom(self, Resource resource, uri, tuple path)
    cpdef tuple resolve(self, reference, Resource resource, tuple path)
    @cython.locals(target=Resource)
    cdef tuple _resolve(self, reference, Resource resource, tuple path)
    cdef tuple _pointed(self, pointer, Resource target, reference, Resource resource, tuple path)
    @cython.locals(found=Resource)
    cdef Resource _resource(self, uri, Resource resource, tuple path)
    @cython.locals(resource=Resource)
    cpdef index(self, Document document)
    @cython.locals(resource=Resource, current=Resource, here=set, path=tuple)
    cdef _scan(self, list stack, visit, list errors, set dynamic, dict seen)
    @cython.locals(kind=int, known=dict, alone=bint, where=tuple, found=tuple, target=Resource)
    cdef _check(self, dict schema, Resource resource, tuple path, list stack, set dynamic)


cdef _push(list stack, int kind, value, Resource resource, tuple path)
cpdef identifier(dict schema, int draft)
cdef _note_anchors(dict schema, Resource resource, tuple path)
