# What a regex is, in all processes.

from libc.stdint cimport uint32_t, uint64_t

from earleymask.earley._regex cimport Regexes

cdef class Keys:
    cdef Regexes regexes
    cdef uint64_t* keys             # by regex; 0: not worked out
    cdef size_t n

    # A hash of the content of one of the regexes that there were when this was made, never 0.
    # Nobody may add to them meanwhile.
    cdef uint64_t key(self, uint32_t regex) noexcept nogil
    cdef uint64_t program_key(self, uint32_t instruction) noexcept nogil
    cdef uint64_t cut_program_key(self, uint32_t program) noexcept nogil
