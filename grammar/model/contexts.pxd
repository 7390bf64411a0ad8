# Types for contexts.py as compiled: the functions that visit each production for each pair of conditions.

cimport cython

from earleymask.grammar.model.avoidance cimport Agenda
from earleymask.grammar.model.model cimport Model


@cython.final
cdef class _Splitter:
    cdef Model model
    cdef dict productions, nodes, new_nodes, later, contexts, lexemes, joined, outs, readers, made
    cdef object terminals, regexes, conditions, found_later, skipped, top, start
    cdef list waiting
    cdef Agenda agenda
    cdef set contextful, kept, unavoidable

    @cython.locals(result=list, key=tuple)
    cdef list lexeme(self, terminal, before)
    cdef join_demanding(self, tuple key, loose, list ways)
    cdef bint is_unsplit(self, symbol, before) except -1
    @cython.locals(key=tuple)
    cdef outs_of(self, symbol, before, tuple reader=*)
    @cython.locals(key=tuple, found=set, states=set, rhs=tuple)
    cdef find_outs(self, start)
    @cython.locals(key=tuple)
    cdef symbol(self, symbol, before, after)
    @cython.locals(rhs=tuple)
    cdef expand(self, lhs, symbol, before, after)
    @cython.locals(ways=list, way=tuple, rest=tuple)
    cdef continue_with(self, lhs, tuple name, tuple rhs, before, after)
    @cython.locals(key=tuple)
    cdef rest(self, tuple name, tuple rhs, before, after)
    @cython.locals(states=set)
    cdef bint leads(self, tuple rhs, before, after) except -1
    @cython.locals(passing=list, pending=set, possible=set, found=dict, leading=dict, kept=dict, ways=dict, afters=dict, beginnings=dict, following=dict, prefixes=list, steps=list, prefix=tuple, step=tuple)
    cdef list ways(self, tuple rhs, before, after)
    cdef list step(self, part, before, after)
