# Masks out of remembered answers. Per grammar and vocabulary.

from libc.stdint cimport uint32_t, uint64_t

from earleymask.earley._answers cimport Answers
from earleymask.earley._chart cimport Chart, Mask
from earleymask.earley._doubtful cimport Doubtful
from earleymask.earley._engine cimport Engine
from earleymask.earley._tables cimport Sequences, Words
from earleymask.earley._token_ids cimport TokenIds
from earleymask.trie._trie cimport TokenTrie

cdef class Masks:
    cdef object __weakref__
    cdef object engine              # a weak reference: the engine keeps us
    cdef TokenTrie trie
    cdef Answers answers
    cdef Doubtful doubtful          # None until asked for, or where no terminal is followed
    cdef Sequences unions           # entries of `answers`, ascending
    cdef Mask** masks               # per union
    cdef size_t masks_capacity
    cdef size_t mask_bytes          # of these
    cdef size_t n_trimmed           # bytes kept when `trim` was last at work
    cdef uint64_t n_looked          # questions and unions when `tidy` last looked at what is kept
    cdef uint32_t n_lone            # masks that are no unions of answers
    cdef uint64_t last_used         # by the clock of the parts
    cdef readonly uint64_t generation   # changes when masks are freed

    # scratch
    cdef uint32_t* scratch          # n_words + 1
    cdef Words ids, tokens
    cdef Words extras               # special tokens to be in the next mask, filled by who asks for it; ascending
    cdef TokenIds token_ids         # None where the grammar has no sets of token ids
    cdef Words extra_sets           # such sets that the next mask is to have, by index; as `extras`

    # counters
    cdef readonly uint64_t n_unions_known, n_unions_made, n_fallbacks, n_flushes

    # The mask of a position of a chart. Needs the engine's lock.
    cdef Mask* mask(self, Chart chart, uint32_t position) except NULL nogil
    # The same, made by the merged walk.
    cdef Mask* remember(self, Chart chart, uint32_t position, const uint32_t* words) except NULL nogil
    # Between calls, with the GIL and the engine's lock: frees what is over the limits.
    cdef int tidy(self) except -1
    cdef int trim(self) except -1
    cdef int flush(self) except -1
    cdef int forget(self) except -1
    cdef size_t kept(self) noexcept
    cdef size_t n_bytes(self) noexcept
    cdef void free_masks(self) noexcept
    cdef Mask* lone_mask(self, const uint32_t* words) except NULL nogil
    cdef Mask* look_through(self, Chart chart, uint32_t position, Mask* mask) except NULL nogil
    # The same for the words of a mask in which no extras are yet.
    cdef int look_through_words(self, Chart chart, uint32_t position, uint32_t* words) except -1 nogil
    cdef int find_refused(self, Chart chart, uint32_t position, const Mask* mask) except -1 nogil
    cdef void clear_refused(self, uint32_t* words) noexcept nogil
    cdef int find_doubtful(self) except -1
    cdef bint is_extra(self, uint32_t token) noexcept nogil
    cdef bint leads_on(self, Chart chart, uint32_t position, uint32_t token) except? -1 nogil
    cdef Mask* new_union(self) except NULL nogil
    cdef Mask* union_of(self) except NULL nogil
    cdef void scratch_from_answers(self, size_t n) noexcept nogil
    cdef int gather(self, Chart chart, uint32_t row, uint32_t answer) except -1 nogil


cdef Masks masks_of(Engine engine, TokenTrie trie)
