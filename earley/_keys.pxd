# Hashes of regexes that are the same in every process.

from libc.stdint cimport uint32_t, uint64_t

from earleymask.earley._regex cimport Regexes

cdef class Keys:
    cdef Regexes regexes
    cdef uint64_t* keys             # by regex; 0: not computed
    cdef size_t n

    # Return a hash of the content of a regex, never 0. The regex must be older than this object, and no regex may be
    # added during the call.
    cdef uint64_t key(self, uint32_t regex) noexcept nogil
    cdef uint64_t program_key(self, uint32_t instruction) noexcept nogil
    cdef uint64_t cut_program_key(self, uint32_t program) noexcept nogil
