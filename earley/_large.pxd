# Large structures of Python objects: see `_large.pyx`.


cdef class Table:
    cdef dict first             # the first keys
    cdef list others            # dicts of the other keys, by hash; None: there are none

    cpdef get(self, key)
    cdef dict part_for(self, key)
    cdef dict part(self, key)


cdef class Unvisited(Table):
    pass


cpdef int untrack(one) except -1
cpdef int untrack_tuples(one) except -1
cdef int free_quietly(list given) except -1
cdef bint is_only_one(object one) noexcept
