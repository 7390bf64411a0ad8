"""A mask over the ids of a vocabulary: the bit of token `t` is bit `t & 31` of word `t >> 5`, and 1 means allowed."""

from libc.stdint cimport uint32_t


cdef inline void mask_allow(uint32_t* mask, uint32_t token) noexcept nogil:
    mask[token >> 5] |= <uint32_t>1 << (token & 31)


cdef inline void mask_refuse(uint32_t* mask, uint32_t token) noexcept nogil:
    mask[token >> 5] &= ~(<uint32_t>1 << (token & 31))


cdef inline bint mask_allows(const uint32_t* mask, uint32_t token) noexcept nogil:
    return (mask[token >> 5] >> (token & 31)) & 1
