# Growable memory and hash-consing.
#
# Everything that the core remembers (regex nodes, lexer states, skeletons, continuations, rows, positions) is a short
# sequence of 32-bit words, and is interned: equal content has one id, ids count up from 0, and an entry never changes.
# Pointers into a table are valid until the next insertion into the same table.

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from earleymask.earley._meter cimport Meter

cdef enum:
    NONE = 0xFFFFFFFF                       # "no id" in every table


# A set of byte values.
cdef struct ByteSet:
    uint64_t w[4]


cdef inline bint byteset_has(const ByteSet* s, uint32_t byte) noexcept nogil:
    return (s.w[byte >> 6] >> (byte & 63)) & 1


cdef inline void byteset_add(ByteSet* s, uint32_t byte) noexcept nogil:
    s.w[byte >> 6] |= (<uint64_t> 1) << (byte & 63)


cdef inline void byteset_fill(ByteSet* s, uint64_t word) noexcept nogil:
    s.w[0] = s.w[1] = s.w[2] = s.w[3] = word


cdef inline void byteset_and(ByteSet* s, const ByteSet* t) noexcept nogil:
    s.w[0] &= t.w[0]; s.w[1] &= t.w[1]; s.w[2] &= t.w[2]; s.w[3] &= t.w[3]


cdef inline void byteset_and_not(ByteSet* s, const ByteSet* t) noexcept nogil:
    s.w[0] &= ~t.w[0]; s.w[1] &= ~t.w[1]; s.w[2] &= ~t.w[2]; s.w[3] &= ~t.w[3]


cdef inline void byteset_or(ByteSet* s, const ByteSet* t) noexcept nogil:
    s.w[0] |= t.w[0]; s.w[1] |= t.w[1]; s.w[2] |= t.w[2]; s.w[3] |= t.w[3]


# A set of small numbers in an array of words: number i is bit i & 31 of word i >> 5. (Sets of token ids:
# `trie/_bitmask`.)
cdef inline bint bits_have(const uint32_t* bits, uint32_t i) noexcept nogil:
    return (bits[i >> 5] >> (i & 31)) & 1


cdef inline void bits_add(uint32_t* bits, uint32_t i) noexcept nogil:
    bits[i >> 5] |= <uint32_t> 1 << (i & 31)


# Set table[byte] = value for all bytes of the set.
cdef void set_all(uint32_t* table, const ByteSet* s, uint32_t value) noexcept nogil


cdef extern from *:
    """
    #if defined(_MSC_VER)
    #include <intrin.h>
    static inline unsigned int earleymask_lowest_bit(unsigned long long word) {
        unsigned long index;
        return _BitScanForward64(&index, word) ? (unsigned int)index : 64;
    }
    #else
    #define earleymask_lowest_bit(word) ((unsigned int)__builtin_ctzll(word))
    #endif
    static inline unsigned int earleymask_n_bits(unsigned long long word) {
        word -= (word >> 1) & 0x5555555555555555ull;
        word = (word & 0x3333333333333333ull) + ((word >> 2) & 0x3333333333333333ull);
        return (unsigned int)((((word + (word >> 4)) & 0x0F0F0F0F0F0F0F0Full) * 0x0101010101010101ull) >> 56);
    }
    """
    # Index of the lowest 1 in a word that is not 0.
    uint32_t lowest_bit "earleymask_lowest_bit"(uint64_t word) noexcept nogil
    # How many bits of a word are 1.
    uint32_t n_bits "earleymask_n_bits"(uint64_t word) noexcept nogil


# Make *memory hold at least `needed` items of `item_size` bytes; *capacity is in items. Mostly it does already, so only that is
# asked inline.
cdef inline int reserve(void** memory, size_t* capacity, size_t needed, size_t item_size) except -1 nogil:
    return grow(memory, capacity, needed, item_size) if needed > capacity[0] else 0

cdef int grow(void** memory, size_t* capacity, size_t needed, size_t item_size) except -1 nogil


# Set `copy` to a copy of so many bytes, to be freed with `free`; to NULL if there are none.
cdef int copy_of(void** copy, const void* data, size_t n_bytes) except -1 nogil


# A growable array of words, used as list and as stack.
cdef struct Words:
    uint32_t* data
    size_t n
    size_t capacity


cdef inline int words_push(Words* words, uint32_t word) except -1 nogil:
    if words.n == words.capacity:
        reserve(<void**> &words.data, &words.capacity, words.n + 1, sizeof(uint32_t))
    words.data[words.n] = word
    words.n += 1
    return 0

cdef int words_extend(Words* words, const uint32_t* data, size_t n) except -1 nogil
cdef void words_free(Words* words) noexcept nogil


cdef class Sequences:
    cdef Words words                # contents, one after the other
    cdef size_t* starts             # entry i is words[starts[i]:starts[i + 1]]
    cdef uint32_t* hashes           # of each entry
    cdef size_t starts_capacity, hashes_capacity
    cdef uint32_t* slots            # open addressing: id + 1, or 0
    cdef size_t n_slots             # a power of two
    cdef readonly uint32_t n        # entries
    cdef str what                   # names the table in a LimitError
    cdef size_t limit               # words that it may hold
    cdef Meter meter                # counts the steps of finding larger places for all entries; None: see `pause`

    # Return the id of this content, which is entered if it is new. `data` must not point into this table.
    cdef uint32_t intern(self, const uint32_t* data, size_t n) except? 0xFFFFFFFF nogil
    # Return the id of this content, or NONE.
    cdef uint32_t find(self, const uint32_t* data, size_t n) noexcept nogil
    cdef void clear(self) noexcept nogil        # keeps the memory, so entering as much again cannot fail
    cdef size_t n_bytes(self) noexcept nogil


# Drop the entries that are not marked and move the others down, in their order; map_[old id] becomes the new id. Return how
# many entries, from the first on, have stayed where they were. Then their words may be changed in place, and `rehash` makes
# the table usable again. Neither can fail.
cdef size_t keep_marked(Sequences table, const uint8_t* marks, uint32_t* map_) noexcept nogil
cdef void rehash(Sequences table) noexcept nogil
# The two parts of `rehash`: the first gives memory back; the second takes long, and changes nothing but what `intern` and
# `find` read.
cdef void trim(Sequences table) noexcept nogil
cdef void hash_again(Sequences table) noexcept nogil


cdef inline const uint32_t* sequence(Sequences table, uint32_t entry) noexcept nogil:
    return table.words.data + table.starts[entry]


cdef inline size_t sequence_length(Sequences table, uint32_t entry) noexcept nogil:
    return table.starts[entry + 1] - table.starts[entry]


# Key and value side by side, so that a lookup reads one line of the processor's cache.
cdef struct Slot:
    uint64_t key
    uint32_t value                  # NONE marks an empty slot

# Maps 64-bit keys to words; `get` returns NONE for a key that is not there.
cdef class Map:
    cdef Slot* slots
    cdef size_t n, n_slots
    cdef Meter meter                # as in `Sequences`

    cdef uint32_t get(self, uint64_t key) noexcept nogil
    cdef int put(self, uint64_t key, uint32_t value) except -1 nogil
    cdef void clear(self) noexcept nogil
    cdef size_t n_bytes(self) noexcept nogil


cdef void sort_words(uint32_t* data, size_t n) noexcept nogil
cdef void sort_u64(uint64_t* data, size_t n) noexcept nogil
cdef void radix_sort(uint64_t* data, uint64_t* scratch, size_t n) noexcept nogil
# Sort the words and drop repeated ones.
cdef void sort_unique(Words* words) noexcept nogil
