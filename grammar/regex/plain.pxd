# Types for plain.py as compiled: the kinds of node are distinguished by their C types, the core is called in C.

cimport cython

from earleymask.earley._meter cimport tick
from earleymask.earley._regex cimport Regexes
from earleymask.grammar.regex.ast cimport And, Automaton, Chars, Concat, EcmaPattern, Escaped, Literal, Multiples, Node, Not, Repeat, Substring, Union
from earleymask.grammar.regex.threads cimport lower_atom


@cython.final
cdef class Plain:
    cdef Regexes regexes
    cdef object operand
    cdef dict lowered

    @cython.locals(regexes=Regexes)
    cpdef lower(self, Node node)
    cdef lower_operand(self, Node node)


cpdef lower_automaton(Automaton automaton, Regexes regexes)
