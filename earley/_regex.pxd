# Regex nodes with remembered derivatives.

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from earleymask.earley._cuts cimport Cuts
from earleymask.earley._tables cimport ByteSet
from earleymask.earley._threads cimport Threads
from earleymask.earley._unions cimport Unions


cdef class Regexes(Unions):
    cdef Threads threads
    cdef Cuts cutter
    cdef uint32_t any_char          # one Unicode scalar value

    cdef uint32_t derive(self, uint32_t node, uint32_t byte, ByteSet* same) except? 0xFFFFFFFF nogil
    cdef int make_edge_table(self, uint32_t node) except -1 nogil
    cdef uint32_t work_out(self, uint32_t node, uint32_t byte, ByteSet* same) except? 0xFFFFFFFF nogil
    cdef uint32_t make_marked(self, uint32_t body, const uint32_t* marks) except? 0xFFFFFFFF nogil
    cdef uint32_t derive_marked(self, uint32_t node, uint32_t byte, ByteSet* same) except? 0xFFFFFFFF nogil
    cdef uint32_t derive_read(self, uint32_t node, uint32_t byte, ByteSet* same) except? 0xFFFFFFFF nogil
    cdef int empty(self, uint32_t node) except -1 nogil
    cdef uint32_t next_derivative(self, uint32_t node, ByteSet* seen, ByteSet* same) except? 0xFFFFFFFF

    # The constructors and questions that front ends call, typed for those that are compiled.
    cpdef uint32_t literal(self, bytes data, uint32_t rest=*) except? 0xFFFFFFFF
    cpdef uint32_t char_class(self, ranges) except? 0xFFFFFFFF
    cpdef uint32_t concat(self, nodes) except? 0xFFFFFFFF
    cpdef uint32_t choices(self, list texts) except? 0xFFFFFFFF
    cpdef uint32_t union(self, nodes) except? 0xFFFFFFFF
    cpdef uint32_t difference(self, node, other) except? 0xFFFFFFFF
    cpdef uint32_t repeat(self, node, minimum, maximum=*) except? 0xFFFFFFFF
    cpdef bint is_nullable(self, node) except -1
    cpdef bint is_empty(self, node) except -1
