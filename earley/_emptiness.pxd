from libc.stdint cimport uint32_t

from earleymask.earley._nodes cimport Nodes

# Return 1 if the node, which has F_SEARCH, matches nothing; note the answer in its flags.
cdef int search(Nodes nodes, uint32_t start) except -1 nogil
