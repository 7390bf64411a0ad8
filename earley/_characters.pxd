# Classes of code points, byte by byte.

from libc.stdint cimport uint32_t

from earleymask.earley._nodes cimport Nodes
from earleymask.earley._tables cimport ByteSet, Words

# Derive a K_CHAR and a K_TAIL node, as `Nodes.derive` does.
cdef uint32_t derive_char(Nodes nodes, uint32_t class_, uint32_t byte, ByteSet* same) except? 0xFFFFFFFF nogil
cdef uint32_t derive_tail(Nodes nodes, uint32_t class_, uint32_t prefix, uint32_t left, uint32_t least, uint32_t byte,
                          ByteSet* same) except? 0xFFFFFFFF nogil
# Add a range to those of a class that is being made.
cdef int push_range(Words* words, uint32_t lo, uint32_t hi) except -1
cdef uint32_t encode(uint32_t point, uint32_t* encoded) noexcept nogil


cdef inline uint32_t least_code(uint32_t left) noexcept nogil:
    """Return the smallest code point whose UTF-8 form has `left` continuation bytes."""
    return 0x80 if left == 1 else (0x800 if left == 2 else 0x10000)


cdef inline uint32_t utf8_length(uint32_t point) noexcept nogil:
    return 1 if point < 0x80 else (2 if point < 0x800 else (3 if point < 0x10000 else 4))
