# The bytes of a snapshot. `_matcher` calls `write`, `read` and `refused` as functions of Python, for few processes need them.

from cpython cimport array
from libc.stdint cimport uint32_t

cdef class Reader:
    cdef bytes data
    cdef Py_ssize_t at, end         # the next byte, and where the checksum begins

    cdef uint32_t number(self) except? 0xFFFFFFFF
    cdef array.array numbers(self, uint32_t n)
    cdef str text(self)
    cdef int check(self, uint32_t n) except -1
    cdef object error(self)

cpdef object refused(str cause, str message)
