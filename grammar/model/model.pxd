# Types for model.py as compiled: lists instead of attributes looked up by name, C calls into the core.

cimport cython

from earleymask.earley._engine cimport Engine
from earleymask.earley._regex cimport Regexes
from earleymask.grammar.regex.ast cimport Literal, Node
from earleymask.grammar.regex.lower cimport lower


@cython.final
cdef class Model:
    cdef object _reporter
    cdef object _limits
    cdef double _deadline
    cdef Py_ssize_t _most_symbols, _most_productions, _most_production_symbols
    cdef Py_ssize_t _n_productions, _n_production_symbols
    cdef readonly list kinds
    cdef readonly list names
    cdef readonly list origins
    cdef readonly list trees
    cdef readonly list productions
    cdef dict _token_sets
    cdef dict _contexts
    cdef dict _makers
    cdef public object parameters
    cdef public dict attributes
    cdef object _n_more_warnings
    cdef readonly dict helpers
    cdef readonly list warnings

    cpdef terminal(self, str name, Node tree, origin)
    cpdef ignored(self, str name, Node tree, origin)
    cpdef special(self, str name, origin)
    cpdef token_ids(self, str name, ranges, names, bint negated, origin)
    cpdef made(self, str name, make, origin)
    cpdef rule(self, str name, origin)
    cpdef helper(self, str name)
    cdef _look(self)
    cpdef produce(self, lhs, tuple rhs)
    @cython.locals(symbol=Py_ssize_t)
    cdef _add(self, int kind, str name, origin, tree)
    @cython.locals(productions=list, alternatives=list, reached=list, nodes=dict, regexes=Regexes, productive=set, ignored=dict)
    cpdef compile(self, start)
    @cython.locals(seen=set, order=list, rhs=tuple)
    cdef list _reachable(self, start)
    cdef _lower(self, symbol, Node tree, Regexes regexes)
    cdef bint _is_empty(self, symbol, node, Regexes regexes) except -1
    @cython.locals(productive=set, waiting=dict, agenda=list, rhs=tuple, missing=list, entry=list)
    cdef set _productive(self, list reached, set terminals)
    @cython.locals(engine=Engine, ids=dict, rhs=tuple, kind=int)
    @cython.locals(kind=int)
    cpdef _symbol(self, Engine engine, symbol, dict nodes)
    cdef _build(self, start, list reached, dict nodes, dict ignored, Regexes regexes)
    @cython.locals(nodes=dict, tree=Node)
    cdef dict _ignored_nodes(self, Regexes regexes)
    cdef _with_contexts(self, start, list reached, dict nodes, dict ignored, Regexes regexes)
