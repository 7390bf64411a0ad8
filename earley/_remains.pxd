# What has been dropped and is freed later, a little with each call. All of it needs the GIL.

# Take over an array of n items, from `first` on, which refer to about `n_bytes` bytes. `free_item` frees what item i refers
# to. `n_at_once`: how many of them take some ten microseconds.
cdef void leave(void* array, size_t first, size_t n, size_t n_bytes, size_t n_at_once, void (*free_item)(void*, size_t) noexcept nogil) noexcept
# Free a block of memory: later, if it is large.
cdef void free_block(void* block, size_t n_bytes) noexcept
# Free a little of what is left.
cdef void free_some() noexcept
# Return whether something is left. Does not need the GIL.
cdef bint remain() noexcept nogil
