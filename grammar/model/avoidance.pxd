# Types for avoidance.py as compiled: the functions that visit each production, and each need.

cimport cython


@cython.final
cdef class Agenda:
    cdef list keys, is_waiting
    cdef public list waiting
    cdef dict numbers

    cpdef add(self, tuple key)
    cpdef tuple take(self)


@cython.final
cdef class Avoidance:
    cdef dict productions, bits, outs, avoiding, contexts, needs, readers
    cdef list conditions
    cdef Agenda agenda
    cdef object leaf, claims
    cdef tuple leaves

    cdef bit(self, condition)
    cdef set_of(self, conditions)
    cpdef bint always(self, start, accepts) except -1
    @cython.locals(place=tuple, leaves=dict)
    cdef after(self, part, before, bint avoid, tuple reader=*)
    cdef after_any(self, part, befores, bint avoid, tuple reader=*)
    @cython.locals(place=tuple, rhs=tuple)
    cdef find_avoiding(self)
    @cython.locals(
        children=dict, edges=list, ends=set, rhs=tuple, pending=list, possible=list, passing=list, careful=list,
        leading=list, avoiding=list, place=tuple, here=list, node=Py_ssize_t, parent=Py_ssize_t,
    )
    cdef visit(self, symbol, list befores)
    cdef note(self, tuple lhs, tuple place, dict leading, dict avoiding, bint is_first)
    @cython.locals(agenda=list, seen=set, place=tuple, need=tuple)
    cdef bint finishes(self) except -1


@cython.locals(found=list)
cdef list bits_of(conditions)
cdef any_of(sets)
cdef compose(dict first, dict then, dict into)
cdef united(dict relation, befores)
