# Types for model.py as compiled: lists instead of attributes that are looked up by name.

cimport cython

from earleymask.earley._meter cimport take, tick
from earleymask.grammar.regex.ast cimport Node


@cython.final
cdef class Model:
    cdef readonly object reporter
    cdef readonly object limits
    cdef Py_ssize_t _most_symbols, _most_productions, _most_production_symbols
    cdef Py_ssize_t _n_productions, _n_production_symbols
    cdef readonly list kinds
    cdef readonly list names
    cdef readonly list origins
    cdef readonly list trees
    cdef readonly list productions
    cdef readonly dict token_sets
    cdef readonly dict makers
    cdef public object parameters
    cdef public dict attributes
    cdef readonly dict commits
    cdef object _n_more_warnings
    cdef readonly dict quoted
    cdef readonly dict helpers
    cdef readonly dict repeats
    cdef readonly list warnings

    cpdef terminal(self, str name, Node tree, origin)
    cpdef ignored(self, str name, Node tree, origin)
    cpdef special(self, str name, origin)
    cpdef token_ids(self, str name, ranges, names, bint negated, origin, bint eos=*)
    cpdef made(self, str name, make, origin)
    cpdef rule(self, str name, origin)
    cpdef helper(self, str name)
    cpdef produce(self, lhs, tuple rhs)
    @cython.locals(symbol=Py_ssize_t)
    cdef _add(self, int kind, str name, origin, tree)
