# Types for scope.py as compiled.

cimport cython

from earleymask.earley._meter cimport tick
from earleymask.grammar.lark.tree cimport (
    Change, Choice, Definition, Import, Node, ParsedGrammar, RuleName, Sequence, SpecialToken, TemplateUse, TerminalName,
)


@cython.final
cdef class Scope:
    cdef readonly object modules
    cdef readonly object module
    cdef readonly Scope parent
    cdef public Py_ssize_t at
    cdef readonly ParsedGrammar parsed
    cdef readonly object library
    cdef readonly dict definitions
    cdef readonly dict imported
    cdef readonly dict exported
    cdef readonly dict children
    cdef readonly dict symbols
    cdef readonly dict extended
    cdef readonly set failed

    cpdef tuple resolve(self, str name)
    @cython.locals(definition=Definition, node=Import, child=Scope)
    cpdef tuple own(self, str name)
    @cython.locals(definition=Definition, changes=list)
    cpdef collect(self, list errors=*)
    @cython.locals(tree=Node)
    cpdef _define(self, Definition definition)
    @cython.locals(scope=Scope)
    cpdef tuple place(self, Node node)


cdef class Elsewhere(Node):
    cdef readonly Scope scope
    cdef readonly Node tree
