# Memory for the core, from libc. In a debug build a test can make it run out.

from libc cimport stdlib
from libc.string cimport memcpy

from ._build cimport DEBUG

cdef extern from *:
    """
    /* glibc lets a block grow without copying it if the system has mapped pages for it alone. It does so for blocks of more
       than 32 MiB at the latest, and such a block remains one when it is cut down. Pages that were never written to take no
       memory. So a block of this size is cut down, and grows to its old size and beyond in some microseconds; to copy it
       takes a millisecond for 2 MB, in which no other thread may get the interpreter's lock. */
    #if defined(__GLIBC__)
    #define EARLEYMASK_MAPPED (((size_t)1 << 25) + 1)
    #else
    #define EARLEYMASK_MAPPED 0
    #endif
    """
    enum:
        MAPPED "EARLEYMASK_MAPPED"

cdef enum:
    # Bytes of a block from which on it gets pages of its own: with fewer, copying takes less than half a millisecond.
    LARGE = 1 << 20
    SMALL = 1 << 16             # bytes of a block that is copied rather than enlarged

# Whether the allocation that asks must fail.
cdef bint refused() noexcept nogil


cdef inline void* malloc(size_t n_bytes) noexcept nogil:
    return NULL if DEBUG and refused() else stdlib.malloc(n_bytes)


cdef inline void* calloc(size_t n, size_t item_size) noexcept nogil:
    return NULL if DEBUG and refused() else stdlib.calloc(n, item_size)


cdef inline void* realloc(void* memory, size_t n_bytes) noexcept nogil:
    return NULL if DEBUG and refused() else stdlib.realloc(memory, n_bytes)


# A block of so many bytes, all 0. If it is large, the system makes its pages when they are first used, not now.
cdef inline void* zeroed(size_t n_bytes) noexcept nogil:
    cdef void* memory
    if LARGE <= n_bytes < MAPPED:
        memory = calloc(1, MAPPED)
        if memory != NULL:
            return shrunk(memory, n_bytes)
    return calloc(1, n_bytes)


# The same memory with more bytes, which are not set. NULL, and the memory remains as it is, if there is no more.
cdef inline void* enlarged(void* memory, size_t n_before, size_t n_bytes) noexcept nogil:
    cdef void* larger
    if n_before < LARGE <= n_bytes < MAPPED:
        larger = malloc(MAPPED)
        if larger != NULL:
            larger = shrunk(larger, n_bytes)
            if n_before:                                # memcpy must not get NULL
                memcpy(larger, memory, n_before)
            stdlib.free(memory)
            return larger
    if n_bytes < SMALL:
        # glibc has a lock for the memory that one thread has allocated first, and `realloc` copies with it. Two threads
        # that fill rows of one batch would often wait.
        larger = malloc(n_bytes)
        if larger != NULL and n_before:
            memcpy(larger, memory, n_before)
            stdlib.free(memory)
        return larger
    return realloc(memory, n_bytes)


# The same memory, cut down to so many bytes if libc can do that, else as it is.
cdef inline void* shrunk(void* memory, size_t n_bytes) noexcept nogil:
    cdef void* less = realloc(memory, n_bytes)
    return memory if less is NULL else less
