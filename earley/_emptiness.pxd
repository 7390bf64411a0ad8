from libc.stdint cimport uint32_t, uint64_t

from earleymask.earley._nodes cimport Nodes

# Return 1 if the node, which has F_SEARCH, matches nothing; note the answer in its flags.
cdef int search(Nodes nodes, uint32_t start) except -1 nogil

# A heap whose least key is first: add a key; remove and return the least one, if there is one.
cdef int push(uint64_t** heap, size_t* n, size_t* capacity, uint64_t key) except -1 nogil
cdef uint64_t pop(uint64_t* heap, size_t* n) noexcept nogil
