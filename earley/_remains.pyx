"""What has been dropped and is freed later, a little with each call.

To free the thousands of parts and states of a vocabulary takes milliseconds, and so does giving the pages of large tables
back to the system. They are dropped in the middle of a mask that somebody waits for. This mask leaves them here, and each of
the next ones frees some of them.
"""

from libc.stdlib cimport free, malloc

cdef enum:
    LARGE = 1 << 18             # bytes of a block that takes some ten microseconds to free
    MOST_BYTES = 1 << 26        # that are left; beyond them, everything is freed at once

cdef struct Remains:
    void* array
    size_t i, n                 # the next item, and how many there are
    size_t n_bytes
    size_t n_at_once
    void (*free_item)(void*, size_t) noexcept nogil
    Remains* next

cdef Remains* remains = NULL
cdef size_t n_left = 0          # bytes


cdef void leave(void* array, size_t first, size_t n, size_t n_bytes, size_t n_at_once, void (*free_item)(void*, size_t) noexcept nogil) noexcept:
    global remains, n_left
    cdef Remains* left = NULL
    cdef size_t i
    if n_left + n_bytes <= MOST_BYTES:
        left = <Remains*> malloc(sizeof(Remains))
    if left == NULL:
        with nogil:
            for i in range(first, n):
                free_item(array, i)
            free(array)
        return
    left.array, left.i, left.n, left.n_bytes, left.n_at_once, left.free_item = array, first, n, n_bytes, n_at_once, free_item
    left.next = remains
    remains = left
    n_left += n_bytes


cdef void free_block(void* block, size_t n_bytes) noexcept:
    if n_bytes < LARGE:
        free(block)
    else:
        leave(block, 0, 0, n_bytes, 0, NULL)


cdef bint remain() noexcept nogil:
    return remains != NULL


cdef void free_some() noexcept:
    global remains, n_left
    cdef Remains* left = remains
    cdef size_t end
    if left == NULL:
        return
    end = min(left.n, left.i + left.n_at_once)
    while left.i < end:
        left.free_item(left.array, left.i)
        left.i += 1
    if left.i == left.n:
        remains = left.next
        n_left -= left.n_bytes
        free(left.array)
        free(left)
