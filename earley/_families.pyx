"""Families of counted regexes: walked once, with every token sorted by the number of repetitions that it begins.

Within `"[^"]{0,80}"` each character leads to another regex, because one repetition fewer may follow. If the text of a
token shows how often it repeats the body, all these regexes are one *family*. `_builder` walks the trie once for
body* tail, counting; from the family it then copies the part for any bounds: one bitmap, and the exits of some levels.
"""

from libc.stdlib cimport free
from libc.string cimport memcpy

from earleymask.earley._part cimport part_key
from earleymask.earley._tables cimport NONE, reserve, words_free
from earleymask.trie._memory cimport calloc, shrunk


cdef class Families:
    """The families of one vocabulary. Needs the lock of the parts."""

    def __cinit__(self, size_t n_words):
        self.n_words = n_words
        self.family_of = Map()

    def __dealloc__(self):
        cdef size_t i
        for i in range(self.n_borrowed, self.n_families):
            free_family(self.families[i])
        free(self.families)

    cdef int borrow(self, Families other) except -1 nogil:
        reserve(<void**> &self.families, &self.families_capacity, other.n_families, sizeof(Family*))
        if other.n_families:
            memcpy(self.families, other.families, other.n_families * sizeof(Family*))
        self.n_families = self.n_borrowed = other.n_families
        return 0

    cdef Family* find(self, uint32_t node, uint32_t state) noexcept nogil:
        cdef uint32_t index = self.family_of.get(part_key(node, state))
        return NULL if index == NONE else self.families[index]

    cdef int keep(self, uint32_t node, uint32_t state, Family* family) except -1 nogil:
        reserve(<void**> &self.families, &self.families_capacity, self.n_families + 1, sizeof(Family*))
        self.family_of.put(part_key(node, state), <uint32_t> self.n_families)
        self.families[self.n_families] = family
        self.n_families += 1
        self.n_bytes += sizeof(Family) + sizeof(uint32_t) * (
            family.n_levels * self.n_words + family.deep.n + family.tokens.n + family.exits.n + family.open.n + family.late.n)
        return 0


cdef Family* new_family(size_t n_words) except NULL nogil:
    cdef Family* family = <Family*> calloc(1, sizeof(Family))
    if family != NULL:
        family.bits = <uint32_t*> calloc((MAX_LEVEL + 1) * n_words + 1, sizeof(uint32_t))
    if family == NULL or family.bits == NULL:
        free(family)
        with gil:
            raise MemoryError("family of parts")
    return family


cdef void free_family(Family* family) noexcept nogil:
    free(family.bits)
    words_free(&family.deep)
    words_free(&family.tokens)
    words_free(&family.exits)
    words_free(&family.open)
    words_free(&family.late)
    free(family)


cdef int close_family(Family* family, size_t n_words) except -1 nogil:
    cdef uint32_t level
    cdef size_t w
    note_most(family, &family.exits)
    note_most(family, &family.open)
    note_most(family, &family.late)
    family.bits = <uint32_t*> shrunk(family.bits, (family.n_levels * n_words + 1) * sizeof(uint32_t))
    for level in range(1, family.n_levels):
        family.counts[level] += family.counts[level - 1]
        for w in range(n_words):
            family.bits[level * n_words + w] |= family.bits[(level - 1) * n_words + w]
    return 0


cdef void note_most(Family* family, const Words* pairs) noexcept nogil:
    cdef size_t i
    for i in range(1, pairs.n, 2):
        family.most = max(family.most, pairs.data[i])


cdef int pair_up(Words* pairs, const Words* items, const Words* levels) except -1 nogil:
    cdef size_t i
    for i in range(items.n):
        words_push(pairs, items.data[i])
        words_push(pairs, levels.data[i])
    return 0


cdef int take_pairs(Words* items, const Words* pairs, uint32_t least, uint32_t most) except -1 nogil:
    cdef size_t i
    for i in range(0, pairs.n, 2):
        if least <= pairs.data[i + 1] <= most:
            words_push(items, pairs.data[i])
    return 0
