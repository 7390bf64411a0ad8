# Memory for the core, from libc. In a debug build a test can make it run out.

from libc cimport stdlib

from ._build cimport DEBUG

# Whether the allocation that asks must fail.
cdef bint refused() noexcept nogil


cdef inline void* malloc(size_t n_bytes) noexcept nogil:
    return NULL if DEBUG and refused() else stdlib.malloc(n_bytes)


cdef inline void* calloc(size_t n, size_t item_size) noexcept nogil:
    return NULL if DEBUG and refused() else stdlib.calloc(n, item_size)


cdef inline void* realloc(void* memory, size_t n_bytes) noexcept nogil:
    return NULL if DEBUG and refused() else stdlib.realloc(memory, n_bytes)


# The same memory, cut down to so many bytes if libc can do that, else as it is.
cdef inline void* shrunk(void* memory, size_t n_bytes) noexcept nogil:
    cdef void* less = realloc(memory, n_bytes)
    return memory if less is NULL else less
