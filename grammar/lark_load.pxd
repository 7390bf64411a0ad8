# Types for lark_load.py as compiled: C calls between the methods that read every node of a grammar.

cimport cython


cdef class LarkLoader:
    cdef readonly object parsed
    cdef readonly object model
    cdef readonly object terminals
    cdef readonly dict rules
    cdef readonly dict named
    cdef readonly dict imported
    cdef readonly object importing
    cdef readonly dict symbols
    cdef readonly list pending

    cdef rule_symbol(self, node)
    cdef terminal_symbol(self, node)
    cdef special_symbol(self, node)
    cpdef define(self, lhs, tree)
    @cython.locals(flat=list)
    cdef tuple alternatives(self, tree)
    cdef tuple sequence(self, tree)
    cdef append(self, tree, list symbols)
    cdef start_symbol(self, str start)
