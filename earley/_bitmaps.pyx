"""Bitmaps by content: equal ones are kept once, however many answers and masks have them."""

from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy

from earleymask.earley._tables cimport NONE, reserve
from earleymask.trie._memory cimport malloc

cdef enum:
    BLOCK = 32                  # words that are hashed at a time


cdef class Bitmaps:
    """Interned bitmaps of a vocabulary. A bitmap keeps its address as long as this object lives."""

    def __cinit__(self, size_t n_words):
        self.n_words = n_words
        self.of_hash = Map()

    def __dealloc__(self):
        if self.n < 128:
            self.free_bitmaps()
        else:
            with nogil:                                     # giving pages back to the system takes milliseconds
                self.free_bitmaps()

    cdef void free_bitmaps(self) noexcept nogil:
        cdef size_t i
        for i in range(self.n):
            free(self.bitmaps[i])
        free(self.bitmaps)

    cdef uint32_t* intern(self, const uint32_t* words) except NULL nogil:
        """Return the bitmap with this content, which is entered if it is new."""
        cdef size_t n_bytes = self.n_words * sizeof(uint32_t)
        cdef uint64_t h = hash_bitmap(words, self.n_words)
        cdef uint32_t index = self.of_hash.get(h)
        cdef uint32_t* copy
        if index != NONE and memcmp(self.bitmaps[index], words, n_bytes) == 0:
            return self.bitmaps[index]
        reserve(<void**> &self.bitmaps, &self.capacity, self.n + 1, sizeof(uint32_t*))
        copy = <uint32_t*> malloc(n_bytes)
        if copy == NULL:
            with gil:
                raise MemoryError("bitmap")
        memcpy(copy, words, n_bytes)
        self.bitmaps[self.n] = copy
        self.n += 1
        self.of_hash.put(h, <uint32_t> (self.n - 1))
        return copy

    cdef size_t n_bytes(self) noexcept nogil:
        return self.n * (self.n_words * sizeof(uint32_t) + sizeof(uint32_t*)) + self.of_hash.n_bytes()


cdef uint32_t NH_KEYS[BLOCK]


cdef void make_keys() noexcept:
    """Fill NH_KEYS with fixed pseudo-random words (SplitMix64, Steele et al. 2014)."""
    cdef uint64_t state = 0, z
    cdef size_t i
    for i in range(BLOCK):
        state += <uint64_t> 0x9E3779B97F4A7C15u
        z = (state ^ (state >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9u
        NH_KEYS[i] = <uint32_t> (z >> 32)


make_keys()


cdef inline uint64_t hash_bitmap(const uint32_t* words, size_t n) noexcept nogil:
    # Sums of products of neighbours (NH of UMAC, Black et al. 1999), block by block, so that the compiler uses vector
    # instructions.
    cdef uint64_t h = n, block, m = 0x9E3779B97F4A7C15u
    cdef size_t k
    while n >= BLOCK:
        block = 0
        for k in range(BLOCK // 2):
            block += (<uint64_t> <uint32_t> (words[2 * k] + NH_KEYS[2 * k])
                      * <uint32_t> (words[2 * k + 1] + NH_KEYS[2 * k + 1]))
        h = (h ^ block) * m
        h ^= h >> 29
        words += BLOCK
        n -= BLOCK
    for k in range(n):
        h = (h ^ words[k]) * m
        h ^= h >> 29
    return h
