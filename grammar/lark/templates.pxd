# Types for templates.py as compiled.

cimport cython

from earleymask.grammar.lark.tree cimport RuleName, TemplateUse


@cython.final
cdef class Templates:
    cdef object loader
    cdef readonly dict known

    cpdef symbol(self, TemplateUse node)
    cpdef parameter(self, RuleName node)
