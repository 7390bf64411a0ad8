# Types for model.py as compiled: lists instead of attributes looked up by name.

cimport cython


cdef class Model:
    cdef object _reporter
    cdef list _kinds
    cdef list _names
    cdef list _origins
    cdef list _trees
    cdef list _productions
    cdef object _n_more_warnings
    cdef readonly dict helpers
    cdef readonly list warnings

    @cython.locals(symbol=Py_ssize_t)
    cdef _add(self, int kind, str name, origin, tree)
    @cython.locals(seen=set, order=list, rhs=tuple)
    cdef list _reachable(self, start)
    cdef _lower(self, symbol, tree, regexes)
    @cython.locals(productive=set, waiting=dict, agenda=list, rhs=tuple, missing=list, entry=list)
    cdef set _productive(self, list reached, set terminals)
    @cython.locals(ids=dict, rhs=tuple, kind=int)
    cdef _build(self, start, list reached, dict nodes, regexes)
