# Types for parse.py as compiled.

cimport cython

from earleymask.earley._meter cimport tick
from earleymask.grammar.lark.expressions cimport ExpressionReader
from earleymask.grammar.lark.tree cimport (
    Attribute, Attributed, Change, Definition, Import, Node, Parametric, ParsedGrammar, Sequence,
)


# Copies of the constants in scan.py.
cdef int RULE, TERMINAL, STRING, REGEXP, NUMBER, DIRECTIVE, LINE, NOTHING


@cython.final
cdef class _Parser(ExpressionReader):
    @cython.locals(lexeme=str, kind=int)
    cpdef grammar(self)
    @cython.locals(at=Py_ssize_t, place=Py_ssize_t, name=str, params=tuple)
    cdef Definition definition(self, str lexeme, bint is_terminal)
    cdef tuple parameters(self, bint is_terminal)
    cdef extras(self, bint is_terminal)
    cdef list attributes(self, list before)
    cdef str decimal(self)
    cdef directive(self, str lexeme)
    cdef declaration(self)
    cdef import_statement(self, Py_ssize_t at)
    cdef Import imported(self, Py_ssize_t at, str module, str name, str alias)
    cdef str import_name(self, str hint=*)
    cdef end_of_line(self)
    cpdef bint recover(self)
