# Makes the nodes of tree.py extension types: they take a third of the time to make, and Python cannot change them.

cimport cython


cdef class Node:
    cdef readonly Py_ssize_t at

cdef class Name(Node):
    cdef readonly str name

cdef class Written(Node):
    cdef readonly str raw

cdef class RuleName(Name):
    pass

cdef class TerminalName(Name):
    pass

cdef class SpecialToken(Name):
    pass

cdef class String(Written):
    pass

cdef class Regexp(Written):
    pass

cdef class Range(Node):
    cdef readonly str first
    cdef readonly str last

cdef class Sequence(Node):
    cdef readonly list items

cdef class Choice(Node):
    cdef readonly list alternatives

cdef class Repeat(Node):
    cdef readonly Node body
    cdef readonly object minimum
    cdef readonly object maximum
    cdef readonly str operator

cdef class TemplateUse(Node):
    cdef readonly str name
    cdef readonly list arguments

cdef class Extended(Node):
    pass

cdef class Around(Extended):
    cdef readonly Node body

cdef class Intersection(Extended):
    cdef readonly list parts

cdef class Complement(Around):
    pass

cdef class Block(Extended):
    cdef readonly str raw

cdef class GrammarName(Extended):
    cdef readonly str name

cdef class Indexed(Extended):
    cdef readonly str name
    cdef readonly str value

cdef class Condition(Written):
    pass

cdef class Guarded(Around):
    cdef readonly Condition condition

cdef class Parametric(Around):
    pass

cdef class Attribute(Node):
    cdef readonly str name
    cdef readonly Node value
    cdef readonly str number

cdef class Attributed(Extended):
    cdef readonly str name
    cdef readonly list attributes
    cdef readonly Node body

cdef class Definition(Node):
    cdef readonly str name
    cdef readonly Node tree
    cdef readonly bint is_terminal
    cdef readonly tuple params

cdef class Change(Node):
    cdef readonly str operator
    cdef readonly Definition definition

cdef class Import(Node):
    cdef readonly str module
    cdef readonly str name
    cdef readonly str alias

@cython.final
cdef class ParsedGrammar:
    cdef readonly object source
    cdef readonly object limits
    cdef readonly list lexemes
    cdef readonly bytearray kinds
    cdef readonly list definitions
    cdef readonly list changes
    cdef readonly list ignored
    cdef readonly list imports
    cdef list _offsets
    cdef str _inner
    cdef Py_ssize_t _base
