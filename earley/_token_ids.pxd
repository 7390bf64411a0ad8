# Tokens that are accepted by their ids, over one vocabulary: EOS, special tokens, and sets of ids.

from libc.stdint cimport uint32_t

from earleymask.earley._tables cimport Words
from earleymask.trie._bitmask cimport mask_allows

cdef class Specials:
    cdef Words eos                  # EOS tokens, ascending
    cdef Words named                # special tokens that the grammar names: a token, its symbol, the next token, ...

cdef class TokenIds:
    cdef size_t n
    cdef uint32_t* symbols          # [i]: its symbol
    cdef uint32_t* bits             # [i * n_words]: its ids, a bitmap
    cdef uint32_t** few             # [i]: its ids if these are few, else NULL
    cdef uint32_t* n_ids            # [i]: their number
    cdef uint32_t n_words

    cdef int fill(self, size_t i, list ranges, const uint32_t* existing, bint negated) except -1


cdef inline bint is_eos(Specials specials, uint32_t token) noexcept nogil:
    cdef size_t i
    for i in range(specials.eos.n):
        if specials.eos.data[i] == token:
            return True
    return False


cdef inline bint has_id(TokenIds sets, size_t i, uint32_t token) noexcept nogil:
    return mask_allows(sets.bits + i * sets.n_words, token)


cdef TokenIds token_ids_of(list token_sets, object vocabulary, tuple eos_token_ids)
