# Threads in order of preference, cut at the first match.

from libc.stdint cimport uint32_t

from earleymask.earley._nodes cimport Nodes
from earleymask.earley._tables cimport ByteSet, Words


cdef class Threads:
    cdef Words threads              # the node being built
    cdef Words agenda               # instructions to visit, last first
    cdef uint32_t* visited          # per instruction: the closure that last visited it
    cdef size_t visited_capacity
    cdef uint32_t closure_number

    cdef uint32_t derive(self, Nodes nodes, uint32_t node, uint32_t byte, ByteSet* same) except? 0xFFFFFFFF nogil
    cdef int begin(self, Nodes nodes) except -1 nogil
    cdef int close(self, Nodes nodes, uint32_t start) except -1 nogil
    cdef int push(self, uint32_t pc, uint32_t node) except -1 nogil
    cdef uint32_t make(self, Nodes nodes) except? 0xFFFFFFFF nogil
