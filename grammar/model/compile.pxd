# Types for compile.py as compiled: lists instead of attributes that are looked up by name, C calls into the core.

cimport cython

from earleymask.earley._engine cimport Engine
from earleymask.earley._meter cimport tick
from earleymask.earley._regex cimport Regexes
from earleymask.grammar.loading cimport distinct
from earleymask.grammar.model.model cimport Model
from earleymask.grammar.regex.ast cimport Literal, Node
from earleymask.grammar.regex.lower cimport lower


@cython.locals(seen=bytearray, order=list, rhs=tuple)
cpdef list reachable(list productions, start)


@cython.final
cdef class _Compiler:
    cdef Model model
    cdef list productions
    cdef Regexes regexes
    cdef dict nodes
    cdef dict contexts
    cdef dict ignored
    cdef object found_later

    @cython.locals(model=Model, productions=list, alternatives=list, reached=list, nodes=dict, productive=bytearray, tree=Node)
    cdef run(self, start)
    @cython.locals(model=Model)
    cdef lower(self, symbol, Node tree)
    cdef lower_quoted(self, symbol, Node tree)
    cpdef lower_part(self, symbol, Node tree, list contexts=*, bint lazily=*)
    @cython.locals(tree=Node, symbol=Py_ssize_t, kind=int)
    cdef lower_ignored(self)
    cdef bint is_empty(self, symbol, node) except -1
    @cython.locals(productive=bytearray, waiting=list, agenda=list, rhs=tuple, missing=list, entries=list, entry=list)
    cdef bytearray productive(self, list reached, terminals)
    @cython.locals(engine=Engine, ids=list, rhs=tuple)
    cdef build(self, start, list reached, dict ignored)
    cdef finish(self, Engine engine, start, dict ignored)
    @cython.locals(model=Model, kind=int)
    cpdef add_symbol(self, Engine engine, symbol)
    @cython.locals(added=object, made=object)
    cdef add_terminal(self, Engine engine, symbol)
    cpdef describe(self, Engine engine, symbol, id_)
