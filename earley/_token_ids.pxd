# Symbols that stand for one token out of a set of ids, over one vocabulary.

from libc.stdint cimport uint32_t

from earleymask.trie._bitmask cimport mask_allows

cdef class TokenIds:
    cdef size_t n
    cdef uint32_t* symbols          # [i]: its symbol
    cdef uint32_t* bits             # [i * n_words]: its ids, a bitmap
    cdef uint32_t** few             # [i]: its ids if these are few, else NULL
    cdef uint32_t* n_ids            # [i]: their number
    cdef uint32_t n_words

    cdef int fill(self, size_t i, list ranges, const uint32_t* existing, bint negated) except -1


cdef inline bint has_id(TokenIds sets, size_t i, uint32_t token) noexcept nogil:
    return mask_allows(sets.bits + i * sets.n_words, token)


cdef TokenIds token_ids_of(list token_sets, object vocabulary)
