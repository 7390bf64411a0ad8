# Types for array_rules.py as compiled.

cimport cython

from earleymask.grammar.json_schema.load cimport SchemaLoader


@cython.final
cdef class State:
    cdef readonly object length
    cdef readonly tuple claimed
    cdef readonly frozenset used


@cython.final
cdef class ArrayRules:
    cdef SchemaLoader loader
    cdef object shape
    cdef object origin
    cdef dict known
    cdef object settled
    cdef object is_apart
    cdef dict plain
    cdef dict parted
    cdef bint is_endless
    cdef dict others

    cpdef start(self)
    cpdef bint are_apart(self) except -1
    cdef symbol(self, State state)
    cpdef rehearse(self)
    cpdef behind(self, value, State after)
    cdef State with_value(self, value, State after)
