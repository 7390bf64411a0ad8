# Types for documents.py as compiled: references are followed at once.

cimport cython

from earleymask.earley._meter cimport take, tick
from earleymask.grammar.json_schema.tree cimport Document, Place, Resource, counted

# Kinds of values, imported from keywords.
cdef int ANY, DEFINITIONS, DEPENDENCIES, LAST_APPLICATOR, PATTERN_MAP, SCHEMA_LIST, SCHEMA_MAP, SCHEMA_OR_LIST
cdef int DRAFT_4, DRAFT_7, DRAFT_2019, DRAFT_2020


@cython.final
cdef class Documents:
    cdef int _draft
    cdef object _registry
    cdef dict _by_uri
    cdef dict _embedded
    cdef object _limits
    cdef dict _targets
    cdef dict _twice
    cdef dict _places
    cdef dict _elsewhere
    cdef dict _scoped
    cdef public dict reached
    cdef readonly dict remote
    cdef readonly dict own
    cdef public bint is_dynamic
    cdef readonly bint is_ours
    cdef Resource _root

    @cython.locals(place=Place)
    cpdef Place place(self, schema, Resource resource, tuple path, tuple scope=*)
    @cython.locals(place=Place)
    cdef Place _place_elsewhere(self, dict schema, Resource resource, tuple path)
    @cython.locals(place=Place)
    cdef Place _in_scope(self, Place written, tuple scope)
    cpdef Place child(self, Place place, keyword)
    cpdef Place grandchild(self, Place place, keyword, key)
    @cython.locals(resource=Resource, known=dict, held=list)
    cpdef list children(self, Place place, dict keywords=*)
    @cython.locals(entered=Resource)
    cdef Place _within(self, Place place, schema, tuple path)
    @cython.locals(resource=Resource, outermost=Resource, path=tuple)
    cpdef Place target(self, Place place, keyword)
    cdef tuple _scope_in(self, Place place, Resource resource)
    @cython.locals(path=tuple, tokens=list, known=Place, found=list)
    cpdef list parents(self, Place place)

    cdef Resource _document(self, schema, str uri, int draft)
    @cython.locals(draft=int, resource=Resource, other=Resource)
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
    cdef _note_anchors(self, dict schema, Resource resource, tuple path)
    cdef _note_anchor(self, str name, dict schema, Resource resource, tuple path)
    cdef _note_twice(self, tuple key, tuple one, tuple other, Resource resource)
    cpdef check_anchor(self, str name, Resource target, tuple path, Resource resource)
    cdef _check_once(self, tuple key, str what, tuple path, Resource resource)

cpdef push(list stack, int kind, value, Resource resource, tuple path)
cpdef identifier(dict schema, int draft)
cdef name_of(dict schema, int draft)
