from libc.stdint cimport uint32_t

from earleymask.earley._nodes cimport Nodes

# 1 if no string is in the language of the node, for one that has F_SEARCH; notes in the flags what it finds out.
cdef int search(Nodes nodes, uint32_t start) except -1 nogil
