# Regex nodes with unions, whose counts are kept as intervals.

from libc.stdint cimport uint32_t, uint64_t

from earleymask.earley._nodes cimport Nodes
from earleymask.earley._tables cimport ByteSet, Words


cdef class Unions(Nodes):
    cdef Words chain                # members under comparison: place, minimum, maximum of their count

    # Return the union of stack[base:], and remove these nodes from the stack.
    cdef uint32_t make_union(self, size_t base) except? 0xFFFFFFFF nogil

    cdef uint32_t count_place(self, uint32_t node, uint32_t last, size_t entry) except? 0xFFFFFFFF nogil
    cdef int join(self, size_t base, size_t first, size_t second, size_t* current) except -1 nogil
    cdef int absorb(self, size_t base) except -1 nogil
    cdef int merge_counts(self, size_t base) except -1 nogil
    cdef uint32_t with_counts(self, uint32_t node, uint32_t place, uint32_t minimum, uint32_t maximum) except? 0xFFFFFFFF nogil
