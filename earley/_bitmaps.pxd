# Bitmaps by content.

from libc.stdint cimport uint32_t, uint64_t

from earleymask.earley._tables cimport Map

cdef class Bitmaps:
    cdef uint32_t** bitmaps
    cdef size_t n, capacity
    cdef size_t n_words             # of each
    cdef Map of_hash                # hash -> bitmap; the newest one if several have this hash

    # Return the bitmap with this content. This object owns it.
    cdef uint32_t* intern(self, const uint32_t* words) except NULL nogil
    cdef size_t n_bytes(self) noexcept nogil
    cdef void free_bitmaps(self) noexcept nogil
